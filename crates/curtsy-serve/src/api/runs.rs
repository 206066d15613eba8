//! Runs: what became of them, and how one is cancelled.

use axum::Json;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::body::PathParts;
use super::{ApiError, body};
use crate::app::App;
use crate::orbit::Slug;
use crate::records::{self, RunRecord, SHOWN_MAX};

/// Which part of the list is wanted.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ListPart {
    limit: Option<String>,
    before: Option<String>,
}

/// Runs that are listed, unless more or fewer are asked for.
const LIMIT: i64 = 50;

pub(super) async fn list(
    State(app): State<App>,
    PathParts(slug): PathParts<String>,
    part: Result<Query<ListPart>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<Value>, ApiError> {
    let slug = body::slug(&slug)?;
    let Query(part) = part.map_err(|error| ApiError::bad_request(error.to_string()))?;
    let number = |name: &str, text: Option<String>, max: i64| match text {
        None => Ok(None),
        Some(text) => match text.parse() {
            Ok(number) if (1..=max).contains(&number) => Ok(Some(number)),
            _ => Err(ApiError::bad_request(format!(
                "`{name}` must be a whole number from 1 to {max}"
            ))),
        },
    };
    let limit = number("limit", part.limit, SHOWN_MAX)?;
    let before = number("before", part.before, i32::MAX.into())?;
    let list = move |db: &mut _| RunRecord::list(db, slug.as_str(), before, limit.unwrap_or(LIMIT));
    let runs = app.database.ask(list).await?;
    Ok(Json(json!({"runs": runs})))
}

/// A run of an orbit, or the answer that there is none.
pub(super) async fn find(app: &App, slug: &Slug, trace: &str) -> Result<RunRecord, ApiError> {
    let (slug, trace) = (slug.clone(), body::trace(trace)?.to_owned());
    let found = app.database.ask(move |db| RunRecord::find(db, slug.as_str(), &trace)).await?;
    found.ok_or_else(|| ApiError::not_found("run"))
}

pub(super) async fn run(
    State(app): State<App>,
    PathParts((slug, trace)): PathParts<(String, String)>,
) -> Result<Json<Value>, ApiError> {
    let slug = body::slug(&slug)?;
    let run = find(&app, &slug, &trace).await?;
    let live = app.runs.live(&slug, &run.trace_id).map(|live| live.now());
    Ok(Json(json!({"run": run, "progress": live})))
}

pub(super) async fn evidence(
    State(app): State<App>,
    PathParts((slug, trace)): PathParts<(String, String)>,
) -> Result<Json<Value>, ApiError> {
    let run = find(&app, &body::slug(&slug)?, &trace).await?;
    let trace = run.trace_id.clone();
    let ask = move |db: &mut _| Ok((records::pages(db, &trace)?, records::requests(db, &trace)?));
    let (pages, requests) = app.database.ask(ask).await?;
    Ok(Json(json!({
        "evidence": run.evidence,
        "plan": run.plan,
        "pages": pages,
        "requests": requests,
    })))
}

pub(super) async fn tiles(
    State(app): State<App>,
    PathParts((slug, trace)): PathParts<(String, String)>,
) -> Result<Json<Value>, ApiError> {
    let run = find(&app, &body::slug(&slug)?, &trace).await?;
    let tiles = app.database.ask(move |db| records::tiles(db, &run.trace_id)).await?;
    Ok(Json(json!({"tiles": tiles})))
}

pub(super) async fn cancel(
    State(app): State<App>,
    PathParts((slug, trace)): PathParts<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    app.door.may_change(&headers, None)?;
    let slug = body::slug(&slug)?;
    let run = find(&app, &slug, &trace).await?;
    let Some(live) = app.runs.live(&slug, &run.trace_id) else {
        return Ok(Json(json!({"success": true, "cancelled": false, "outcome": run.outcome}))
            .into_response());
    };
    app.runs.cancel(&live).await?;
    Ok((StatusCode::ACCEPTED, Json(json!({"success": true, "cancelled": true}))).into_response())
}
