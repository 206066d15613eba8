//! Delivers the callback of a run that has ended.

use curtsy_core::url::CrawlUrl;
use curtsy_crawl::JobSpec;
use curtsy_fetch::Callback;
use serde_json::json;

use crate::records::DueCallback;

/// Delivers a callback, and returns what became of it.
pub(super) fn call_back(job: &JobSpec, due: &DueCallback) -> String {
    let body = json!({
        "orbit": due.orbit,
        "traceId": due.trace,
        "outcome": due.outcome,
        "evidence": due.evidence,
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (callback, url) = (Callback::new(&job.outlet), CrawlUrl::parse(&due.callback));
    let (Ok(runtime), Ok(callback), Ok(url)) = (runtime, callback, url) else {
        return "not told: no way out".to_owned();
    };
    let message = body.to_string();
    match runtime.block_on(callback.deliver(&url, &job.user_agent, message.as_bytes())) {
        Ok(status @ 200..300) => format!("told: {status}"),
        Ok(status) => format!("not told: answered with {status}"),
        Err(problem) => format!("not told: {problem:?}"),
    }
}
