//! `POST /api/orbit/:slug/ingest`: runs and answers with the result, or at once for `Prefer:
//! respond-async`.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use curtsy_core::evidence::{RunEvidence, RunOutcome};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::body::PathParts;
use super::{ApiError, body};
use crate::app::App;
use crate::ingest::{IngestOrder, RunAnswer, RunError};

/// What is asked for (seed 004).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct IngestRequest {
    #[serde(default)]
    url: String,
    #[serde(default = "standard")]
    mode: String,
    #[serde(default)]
    user_urls: Vec<String>,
    /// Who is told when the run has ended.
    #[serde(default)]
    callback: Option<String>,
}

fn standard() -> String {
    "standard".to_owned()
}

pub(super) async fn ingest(
    State(app): State<App>,
    PathParts(slug): PathParts<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    app.door.may_change(&headers, None)?;
    let slug = body::slug(&slug)?;
    let asked: IngestRequest = body::json(&headers, body)?;
    let order = IngestOrder::read(slug.clone(), &asked.url, &asked.mode, &asked.user_urls)?;
    let order = order.calling_back(asked.callback.as_deref())?;
    let runs = app.runs.clone();
    let started = tokio::task::spawn_blocking(move || runs.start(order)).await;
    let (live, ended) = started.unwrap_or(Err(RunError::Ending))?;
    let place = format!("/api/orbit/{slug}/runs/{}", live.trace);
    if prefers_async(&headers) {
        let location = HeaderValue::from_str(&place).expect("a slug and a name are plain signs");
        let body = json!({
            "success": true,
            "traceId": live.trace,
            "run": place,
            "events": format!("{place}/events"),
        });
        let said = [
            (header::LOCATION, location),
            (
                header::HeaderName::from_static("preference-applied"),
                HeaderValue::from_static("respond-async"),
            ),
        ];
        return Ok((StatusCode::ACCEPTED, said, Json(body)).into_response());
    }
    let answer = ended.await.unwrap_or(Err(RunError::Ending))?;
    Ok(answered(answer).into_response())
}

/// What a run that has ended is answered with, in the requirement's order.
#[derive(Serialize)]
struct RunResponse<T> {
    success: bool,
    tiles: T,
    evidence: RunEvidence,
    /// Why there is nothing, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

pub(super) fn answered(answer: RunAnswer) -> Json<impl Serialize> {
    let RunAnswer { evidence, tiles, reason } = answer;
    let success = matches!(evidence.ingest.outcome, RunOutcome::Success | RunOutcome::Partial);
    Json(RunResponse { success, tiles, evidence, reason: reason.filter(|_| !success) })
}

/// RFC 7240: what a client would like.
fn prefers_async(headers: &HeaderMap) -> bool {
    let lines = headers.get_all("prefer").iter().filter_map(|line| line.to_str().ok());
    lines
        .flat_map(|line| line.split(','))
        .any(|part| part.trim().eq_ignore_ascii_case("respond-async"))
}

/// `POST /api/orbit/:slug/plan`: what a run would ask for, and how long that takes.
pub(super) async fn plan(
    State(app): State<App>,
    PathParts(slug): PathParts<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    app.door.may_change(&headers, None)?;
    let slug = body::slug(&slug)?;
    let asked: IngestRequest = body::json(&headers, body)?;
    let order = IngestOrder::read(slug, &asked.url, &asked.mode, &asked.user_urls)?;
    if asked.callback.is_some() {
        return Err(ApiError::unprocessable(
            "`callback` belongs to a run: nobody is told of a plan",
        ));
    }
    if !order.mode.is_automated() {
        return Err(ApiError::unprocessable(
            "`user_assisted` has no plan: it fetches the pages that you name",
        ));
    }
    let runs = app.runs.clone();
    let planned = tokio::task::spawn_blocking(move || runs.plan(&order)).await;
    let (report, plan) = planned.unwrap_or(Err(RunError::Ending))?;
    let takes = u64::try_from(plan.takes().as_millis()).unwrap_or(u64::MAX);
    Ok(Json(json!({
        "success": !plan.pages.is_empty(),
        "plan": plan,
        "takesMs": takes,
        "requests": report.requests,
        "frictionSignals": report.evidence.ingest.friction_signals,
        "domainRiskScore": report.evidence.ingest.domain_risk_score,
    }))
    .into_response())
}
