//! `sitemap(url, …)`: the URLs that the sitemaps of a site list.

use curtsy_crawl::{Unwatched, list_sitemaps};
use curtsy_sink::read::SitemapUrl;

use super::listing::{Listing, UrlsCall};
use crate::duck::{Bind, Chunk, SqlError, Type};
use crate::order::sql_error;
use crate::task::StopSignal;

/// `sitemap(url, …)`.
pub(crate) struct SitemapFunction;

impl Listing for SitemapFunction {
    const NAME: &'static str = "sitemap";
    const URLS: Type = Type::Any;
    const COLUMNS: &'static [(&'static str, Type)] = &[
        ("url", Type::Varchar),
        ("lastmod", Type::Timestamp),
        ("changefreq", Type::Varchar),
        ("priority", Type::Double),
        ("sitemap", Type::Varchar),
    ];
    type Row = SitemapUrl;

    fn call(bind: &Bind<'_>) -> Result<UrlsCall, SqlError> {
        UrlsCall::read_site(bind)
    }

    fn rows(call: UrlsCall, stop: StopSignal) -> Result<Vec<SitemapUrl>, SqlError> {
        let asked = async || stop.heard().await;
        let listed = list_sitemaps(&call.order.job, &mut Unwatched, asked);
        listed.map(|(urls, _)| urls).map_err(sql_error)
    }

    fn write(out: &mut Chunk<'_>, line: usize, listed: SitemapUrl) {
        out.text(0, line, &listed.url);
        let lastmod = listed.lastmod.and_then(|at| i64::try_from(at.micros()).ok());
        out.or_null(1, line, lastmod, Chunk::timestamp);
        out.or_null(2, line, listed.changefreq.as_deref(), Chunk::text);
        out.or_null(3, line, listed.priority, Chunk::double);
        out.text(4, line, &listed.sitemap);
    }
}
