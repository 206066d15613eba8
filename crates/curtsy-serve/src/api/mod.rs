//! The HTTP API. `openapi.json` describes it and is served unchanged.

mod body;
mod domains;
mod error;
mod events;
mod import;
mod ingest;
mod metrics;
mod runs;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get, post};

use crate::app::App;

pub(crate) use error::{ApiError, with_retry_after};

/// Bytes of a request's body.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024;
/// Bytes of what is imported by hand.
pub(crate) const IMPORT_BYTES_MAX: usize = 4 * 1024 * 1024;

pub(crate) fn routes() -> Router<App> {
    let add = |router: Router<App>, (path, methods)| router.route(path, methods);
    table()
        .into_iter()
        .fold(Router::new(), add)
        .method_not_allowed_fallback(async || ApiError::method_not_allowed())
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

/// Whether a path is asked for by programs: they are answered in JSON, people with a page.
pub(crate) fn is_for_programs(path: &str) -> bool {
    path.starts_with("/api/") || matches!(path, "/healthz" | "/metrics" | "/openapi.json")
}

/// Every path; `openapi.json` describes them all.
fn table() -> Vec<(&'static str, MethodRouter<App>)> {
    let import = post(import::import).layer(DefaultBodyLimit::max(IMPORT_BYTES_MAX));
    vec![
        ("/api/orbit/{slug}/ingest", post(ingest::ingest)),
        ("/api/orbit/{slug}/plan", post(ingest::plan)),
        ("/api/orbit/{slug}/import", import),
        ("/api/orbit/{slug}/runs", get(runs::list)),
        ("/api/orbit/{slug}/runs/{trace_id}", get(runs::run)),
        ("/api/orbit/{slug}/runs/{trace_id}/evidence", get(runs::evidence)),
        ("/api/orbit/{slug}/runs/{trace_id}/tiles", get(runs::tiles)),
        ("/api/orbit/{slug}/runs/{trace_id}/events", get(events::events)),
        ("/api/orbit/{slug}/runs/{trace_id}/cancel", post(runs::cancel)),
        ("/api/domains/{hostname}", get(domains::domain)),
        ("/api/health/checks", get(domains::checks).post(domains::check_now)),
        ("/healthz", get(metrics::alive)),
        ("/metrics", get(metrics::metrics)),
        ("/openapi.json", get(openapi)),
    ]
}

const OPENAPI: &str = include_str!("openapi.json");

async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which methods a path has, `tests/service/openapi.rs` asks a service.
    #[test]
    fn the_description_has_every_path_and_no_other() {
        let document: serde_json::Value = serde_json::from_str(OPENAPI).unwrap();
        let described = document["paths"].as_object().unwrap().keys().map(String::as_str);
        let routed: Vec<&str> = table().into_iter().map(|(path, _)| path).collect();
        assert_eq!(
            described.collect::<std::collections::BTreeSet<_>>(),
            routed.into_iter().collect()
        );
    }
}
