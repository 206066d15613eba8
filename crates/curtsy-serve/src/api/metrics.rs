//! Figures for whoever watches over the service. No host, no orbit and no address is in them.

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use crate::app::App;

pub(super) async fn alive() -> &'static str {
    "ok\n"
}

pub(super) async fn metrics(State(app): State<App>) -> impl IntoResponse {
    let mut text = app.health.metrics();
    text.push_str(&format!(
        "# HELP curtsy_serve_runs Runs at work.\n# TYPE curtsy_serve_runs gauge\ncurtsy_serve_runs {}\n",
        app.runs.count()
    ));
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}
