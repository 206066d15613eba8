//! Tells whoever asked for it that a run has ended, through the same guarded door as every request.

use std::time::Duration;

use curtsy_core::url::CrawlUrl;
use curtsy_crawl::JobSpec;
use curtsy_fetch::{HttpFetch, Outlet, TokioClock};
use serde_json::json;

use crate::records::Due;

/// How long is waited before each try.
pub(crate) const TRIES: [Duration; 3] =
    [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(5)];

/// Tells whoever is to be told; gives what came of it.
pub(super) fn call_back(job: &JobSpec, due: &Due) -> String {
    let body = json!({
        "orbit": due.orbit,
        "traceId": due.trace,
        "outcome": due.outcome,
        "evidence": due.evidence,
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (outlet, callback) = (Outlet::new(&job.outlet), CrawlUrl::parse(&due.callback));
    let (Ok(runtime), Ok(outlet), Ok(callback)) = (runtime, outlet, callback) else {
        return "not told: no way out".to_owned();
    };
    runtime.block_on(async {
        let fetch = HttpFetch::new(&outlet, TokioClock::new());
        let mut came = String::new();
        for wait in TRIES {
            tokio::time::sleep(wait).await;
            came = match fetch.tell(&callback, &job.user_agent, body.to_string().as_bytes()).await {
                Ok(status @ 200..300) => return format!("told: {status}"),
                Ok(status) => format!("not told: answered with {status}"),
                Err(problem) => format!("not told: {problem:?}"),
            };
        }
        came
    })
}
