//! `crawl_plan(url, …)`: how many pages a crawl of a site would fetch, how long that would take,
//! and which pages come first. Requests robots.txt and sitemaps only.

use std::sync::Arc;

use curtsy_crawl::{SitePlan, Unwatched, list_sitemaps};

use super::listing::{Listing, UrlsCall};
use crate::duck::{Bind, Chunk, SqlError, Type};
use crate::order::sql_error;
use crate::task::StopSignal;

/// `crawl_plan(url, …)`.
pub(crate) struct CrawlPlan;

impl Listing for CrawlPlan {
    const NAME: &'static str = "crawl_plan";
    const URLS: Type = Type::Varchar;
    const COLUMNS: &'static [(&'static str, Type)] = &[
        ("position", Type::Bigint),
        ("kind", Type::Varchar),
        ("url", Type::Varchar),
        ("pages_listed", Type::Bigint),
        ("pages_planned", Type::Bigint),
        ("delay_seconds", Type::Double),
        ("delay_by", Type::Varchar),
        ("planned_seconds", Type::Double),
        ("all_seconds", Type::Double),
    ];
    /// The plan, and the index of a chosen page.
    type Row = (Arc<SitePlan>, usize);

    fn call(bind: &Bind<'_>) -> Result<UrlsCall, SqlError> {
        UrlsCall::read_site(bind)
    }

    fn rows(call: UrlsCall, stop: StopSignal) -> Result<Vec<(Arc<SitePlan>, usize)>, SqlError> {
        let (job, asked) = (&call.order.job, async || stop.heard().await);
        let (listed, _) = list_sitemaps(job, &mut Unwatched, asked).map_err(sql_error)?;
        let plan = Arc::new(SitePlan::new(job, &listed).map_err(sql_error)?);
        // A site that lists nothing has one row, which says so.
        Ok((0..plan.chosen.len().max(1)).map(|at| (Arc::clone(&plan), at)).collect())
    }

    fn write(out: &mut Chunk<'_>, line: usize, (plan, at): (Arc<SitePlan>, usize)) {
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let chosen = plan.chosen.get(at);
        out.bigint(0, line, count(at + 1));
        out.or_null(1, line, chosen.map(|(kind, _)| *kind), Chunk::text);
        out.or_null(2, line, chosen.map(|(_, url)| url.as_str()), Chunk::text);
        out.bigint(3, line, i64::try_from(plan.listed).unwrap_or(i64::MAX));
        out.bigint(4, line, count(plan.chosen.len()));
        out.double(5, line, plan.delay.as_secs_f64());
        // The words of the column `delay_by` in the table of pages.
        out.text(6, line, if plan.delay_by.is_none() { "floor" } else { "robots" });
        out.double(7, line, plan.chosen_take.as_secs_f64());
        out.double(8, line, plan.all_take.as_secs_f64());
    }
}
