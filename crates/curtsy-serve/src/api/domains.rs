//! What is known of a host, and what the contract's checks found.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use curtsy_core::url::HostKey;
use serde_json::{Value, json};

use super::ApiError;
use super::body::PathParts;
use crate::app::App;
use crate::records::{self, RunRecord};

pub(super) async fn domain(
    State(app): State<App>,
    PathParts(host): PathParts<String>,
) -> Result<Json<Value>, ApiError> {
    // A long row of noughts is a number, and so an address; it is no name that anybody gave.
    let named = Some(host).filter(|host| host.len() <= HostKey::NAME_BYTES_MAX);
    let host = named.and_then(|host| HostKey::parse(&host).ok());
    let host = host.ok_or_else(|| ApiError::not_found("host"))?;
    let name = host.as_str().to_owned();
    let ask = move |db: &mut _| {
        let runs = RunRecord::of_host(db, &name)?;
        Ok((records::risk(db, &name)?, records::requests_to(db, &name)?, runs))
    };
    let (risk, requests, runs) = app.database.ask(ask).await?;
    if risk.is_none() && runs.is_empty() {
        return Err(ApiError::not_found("host"));
    }
    Ok(Json(json!({"hostname": host.as_str(), "risk": risk, "requests": requests, "runs": runs})))
}

pub(super) async fn checks(State(app): State<App>) -> Result<Json<Value>, ApiError> {
    let results = app.health.results().await?;
    Ok(Json(json!({"checks": results, "running": app.health.is_running()})))
}

pub(super) async fn check_now(
    State(app): State<App>,
    headers: HeaderMap,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    app.door.may_change(&headers, None)?;
    app.health.ask_for();
    Ok((StatusCode::ACCEPTED, Json(json!({"success": true}))))
}
