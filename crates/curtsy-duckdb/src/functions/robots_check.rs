//! `robots_check(urls, …)`: the verdict, the rule and the delay of robots.txt for URLs. Requests
//! robots.txt and nothing else.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::Gate;
use curtsy_crawl::{EachBatch, SeedsAre, Streaming, explain, stream};
use curtsy_engine::Batch;

use super::listing::{Listing, UrlsCall};
use crate::crawling::QueryProgress;
use crate::duck::{Bind, Chunk, SqlError, Type};
use crate::order::{Seeds, sql_error};
use crate::task::StopSignal;

/// `robots_check(urls, …)`.
pub(crate) struct RobotsCheck;

/// What a robots.txt says about a URL.
#[derive(Default)]
pub(crate) struct RobotsVerdictRow {
    url: String,
    allowed: Option<bool>,
    verdict: &'static str,
    rule: Option<String>,
    line: Option<u32>,
    delay: Option<f64>,
    delay_by: Option<&'static str>,
    robots_url: Option<String>,
    why: String,
}

impl Listing for RobotsCheck {
    const NAME: &'static str = "robots_check";
    const URLS: Type = Type::Any;
    const COLUMNS: &'static [(&'static str, Type)] = &[
        ("url", Type::Varchar),
        ("allowed", Type::Boolean),
        ("verdict", Type::Varchar),
        ("rule", Type::Varchar),
        ("line", Type::Integer),
        ("delay_seconds", Type::Double),
        ("delay_by", Type::Varchar),
        ("robots_url", Type::Varchar),
        ("why", Type::Varchar),
    ];
    type Row = RobotsVerdictRow;

    fn call(bind: &Bind<'_>) -> Result<UrlsCall, SqlError> {
        let mut call = UrlsCall::read(bind, Seeds::of)?.naming(bind);
        let job = &mut call.order.job;
        job.seeds_are = SeedsAre::Rules;
        job.discovery.follow_sitemaps = false;
        // A host that cannot be reached now is reported as such, and not waited for.
        let mut policy = (*job.policy).clone();
        policy.patience = Some(Duration::ZERO);
        job.policy = Arc::new(policy);
        Ok(call)
    }

    /// One answer for each URL, malformed URLs first, else in the order of the argument.
    fn rows(call: UrlsCall, stop: StopSignal) -> Result<Vec<RobotsVerdictRow>, SqlError> {
        let UrlsCall { order, malformed, caller } = call;
        let malformed = malformed.into_iter().map(|url| RobotsVerdictRow {
            url,
            verdict: "malformed_url",
            why: "this is no URL that can be crawled".to_owned(),
            ..RobotsVerdictRow::default()
        });
        let mut answers: Vec<RobotsVerdictRow> = malformed.collect();
        let job = &order.job;
        if job.seeds.is_empty() {
            return Ok(answers);
        }
        // The ledger keeps what the crawl learns.
        let mut progress = QueryProgress::begin(caller);
        let asked = async || stop.heard().await;
        let (how, drop_rows) = (Streaming::one_worker(100), |_: &Batch| {});
        stream(job, how, |_| EachBatch(drop_rows), &mut progress, asked).map_err(sql_error)?;
        let mut ledger = order.open_ledger()?;
        for url in &job.seeds {
            let explained = explain(&mut ledger, &job.policy, url).map_err(sql_error)?;
            let of_robots = explained.gates.iter().find(|(gate, ..)| *gate == Gate::Robots);
            let allowed = explained.allowed();
            let by = if explained.delay_by.is_some() { "robots" } else { "floor" };
            let (line, rule) = explained.rule.unzip();
            answers.push(RobotsVerdictRow {
                url: url.as_str().to_owned(),
                allowed,
                verdict: match allowed {
                    Some(true) => "allowed",
                    Some(false) => "disallowed",
                    None => "unreachable",
                },
                rule,
                line,
                delay: allowed.map(|_| explained.delay.as_secs_f64()),
                delay_by: allowed.map(|_| by),
                robots_url: Some(url.authority().robots_url().as_str().to_owned()),
                why: of_robots.map_or(String::new(), |(_, _, why)| why.clone()),
            });
        }
        Ok(answers)
    }

    fn write(out: &mut Chunk<'_>, line: usize, answer: RobotsVerdictRow) {
        out.text(0, line, &answer.url);
        out.or_null(1, line, answer.allowed, Chunk::boolean);
        out.text(2, line, answer.verdict);
        out.or_null(3, line, answer.rule.as_deref(), Chunk::text);
        let number = answer.line.and_then(|number| i32::try_from(number).ok());
        out.or_null(4, line, number, Chunk::integer);
        out.or_null(5, line, answer.delay, Chunk::double);
        out.or_null(6, line, answer.delay_by, Chunk::text);
        out.or_null(7, line, answer.robots_url.as_deref(), Chunk::text);
        out.text(8, line, &answer.why);
    }
}
