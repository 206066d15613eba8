//! `POST /api/orbit/:slug/import`: tiles of a given text or page. Nothing is fetched.

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;

use super::body::PathParts;
use super::ingest::answered;
use super::{ApiError, IMPORT_BYTES_MAX, body};
use crate::app::App;
use crate::ingest::{Brought, RunError};

pub(super) async fn import(
    State(app): State<App>,
    PathParts(slug): PathParts<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<impl IntoResponse, ApiError> {
    app.door.may_change(&headers, None)?;
    let slug = body::slug(&slug)?;
    let bytes = body::bytes(&headers, body, IMPORT_BYTES_MAX)?;
    let text = |name| headers.get(name).and_then(|value: &header::HeaderValue| value.to_str().ok());
    let content_type = text("content-type").unwrap_or("text/plain");
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if !matches!(kind.as_str(), "text/html" | "application/xhtml+xml" | "text/plain") {
        return Err(ApiError::unsupported("what is imported must be `text/html` or `text/plain`"));
    }
    let brought = Brought::read(slug, text("x-source-url"), content_type, bytes.to_vec())?;
    let runs = app.runs.clone();
    let imported = tokio::task::spawn_blocking(move || runs.import(brought)).await;
    let answer = imported.unwrap_or(Err(RunError::Ending))?;
    Ok(answered(answer))
}
