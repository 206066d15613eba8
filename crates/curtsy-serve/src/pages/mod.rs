//! Web pages: rendered on the server, usable without script, by keyboard and by screen reader.
//!
//! A module has the view of a page (plain data, tested) and its handlers. `templates/` has the
//! HTML, `assets/` the style and a small script that updates two pages. Crawled text is escaped,
//! and a link only if [`link::OutsideUrl`] permits it. An invalid form is shown again with its
//! values.

mod assets;
pub(crate) mod by_hand;
mod chart;
mod domain;
mod evidence;
mod frame;
mod friction;
mod health;
mod history;
mod home;
mod import;
mod link;
mod login;
mod mode;
mod plan;
mod result;
mod run;
mod tiles;
mod words;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use curtsy_core::evidence::RunEvidence;

use crate::ServeSpec;
use crate::api::{self, ApiError};
use crate::app::App;
use crate::orbit::Slug;

use frame::PageTrouble;

/// Bytes of a form: fifty addresses at their longest, as forms write them.
pub(crate) const FORM_BYTES_MAX: usize = 512 * 1024;

pub(crate) fn routes() -> Router<App> {
    let by_hand = post(by_hand::import).layer(DefaultBodyLimit::max(by_hand::FORM_BYTES_MAX));
    Router::new()
        .route("/", get(home::show))
        .route("/orbit/{slug}/import", by_hand.get(import::show))
        .route("/orbit/{slug}/plan", post(import::plan))
        .route("/orbit/{slug}/ingest", post(import::ingest))
        .route("/orbit/{slug}/runs/{trace_id}", get(run::show))
        .route("/orbit/{slug}/runs/{trace_id}/cancel", post(run::cancel))
        .route("/domains/{hostname}", get(domain::show))
        .route("/admin/orbits/health", get(health::show).post(health::check_now))
        .route("/login", get(login::show).post(login::sign_in))
        .route("/logout", post(login::sign_out))
        .route("/assets/{name}", get(assets::asset))
        .layer(DefaultBodyLimit::max(FORM_BYTES_MAX))
}

/// The answer to whoever asks for what is not there.
pub(crate) async fn nothing_here(uri: Uri) -> Response {
    match api::is_for_programs(uri.path()) {
        true => ApiError::not_found("thing").into_response(),
        false => PageTrouble::nothing("page").into_response(),
    }
}

/// The page for whoever is turned away.
pub(crate) fn refused(error: ApiError) -> Response {
    PageTrouble::from(error).into_response()
}

/// The import page's HTML, as its handler makes it for whoever is not signed in.
pub(crate) fn import_html(spec: &ServeSpec, slug: &Slug) -> String {
    import::import_html(spec, slug)
}

/// The HTML of a blocked run's result, as its handler makes it.
pub(crate) fn blocked_html(spec: &ServeSpec, evidence: &RunEvidence) -> String {
    run::blocked_html(spec, evidence)
}
