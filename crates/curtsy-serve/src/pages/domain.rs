//! `/domains/:hostname`: what is known of a host, whoever asked for it.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use curtsy_core::url::HostKey;

use super::chart::{Plot, RiskChart, Timeline};
use super::frame::{Frame, PageTrouble, answer};
use super::history::RunListRow;
use super::link::in_query;
use super::words::{self, ShownMoment};
use crate::app::App;
use crate::ingest::now;
use crate::records::{self, RunRecord};

/// The page.
#[derive(Template)]
#[template(path = "domain.html")]
struct DomainPage {
    frame: Frame,
    host: String,
    score: u8,
    level: &'static str,
    /// What the level means for automated runs.
    means: &'static str,
    last_fetch: Option<ShownMoment>,
    risk: Option<RiskChart>,
    timeline: Option<Timeline>,
    runs: Vec<RunListRow>,
    plot: Plot,
}

pub(super) async fn show(
    State(app): State<App>,
    Path(host): Path<String>,
    headers: HeaderMap,
) -> Result<Response, PageTrouble> {
    let host = HostKey::parse(&host).map_err(|_| PageTrouble::nothing("host"))?;
    let name = host.as_str().to_owned();
    let ask = move |db: &mut _| {
        let runs = RunRecord::of_host(db, &name)?;
        Ok((records::risk(db, &name)?, records::requests_to(db, &name)?, runs))
    };
    let (record, requests, runs) = app.database.ask(ask).await?;
    if record.is_none() && runs.is_empty() {
        return Err(PageTrouble::nothing("host"));
    }
    let (now, daily) = (now(), app.spec.settled.policy.risk.daily_percent);
    let risk =
        record.as_ref().and_then(|record| RiskChart::of(&record.friction_events, daily, now));
    let score = match (&risk, &record) {
        (Some(chart), _) => chart.now,
        (None, Some(record)) => record.score_at(now, daily),
        (None, None) => 0,
    };
    let place = format!("/domains/{}", in_query(host.as_str()));
    let level = words::level(score);
    let page = DomainPage {
        frame: Frame::of(&app, &headers, host.as_str(), &place),
        host: host.as_str().to_owned(),
        score,
        level,
        means: means(level),
        last_fetch: record.and_then(|record| record.last_fetch_at).as_deref().map(ShownMoment::new),
        risk,
        timeline: Timeline::of(&requests),
        runs: runs.iter().map(RunListRow::of).collect(),
        plot: Plot::new(),
    };
    Ok(answer(&app, StatusCode::OK, &page))
}

/// What a level means (seed 004).
fn means(level: &str) -> &'static str {
    match level {
        "low" => "Runs go at their usual pace.",
        "medium" => "Runs wait longer between requests.",
        "high" => "Runs wait longer still, and ask for as little as they can.",
        _ => "Automated runs leave this host alone until the score has fallen.",
    }
}
