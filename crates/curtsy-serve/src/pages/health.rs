//! `/admin/orbits/health`: what the contract's checks found, while they are carried out and after.

use askama::Template;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::frame::{FormFault, Frame, PageTrouble, answer};
use super::run::Bare;
use super::words::{ShownMoment, sentence, span};
use crate::app::App;
use crate::health::CheckFinding;

/// Seconds after which a browser without script looks again while checks run.
const LOOK_AGAIN: u32 = 5;

const PLACE: &str = "/admin/orbits/health";

/// The page.
#[derive(Template)]
#[template(path = "health.html")]
struct HealthPage {
    frame: Frame,
    checks: Vec<CheckView>,
    /// Whether checks run, or were just asked for.
    is_running: bool,
    fault: Option<FormFault>,
}

struct CheckView {
    id: String,
    category: &'static str,
    description: &'static str,
    state: CheckState,
    summary: String,
    evidence: Option<String>,
    checked: Option<ShownMoment>,
    took: Option<String>,
}

/// How a check stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckState {
    Green,
    Red,
    Never,
}

impl CheckState {
    /// Its name in the page, for style and for tests.
    fn name(self) -> &'static str {
        match self {
            CheckState::Green => "green",
            CheckState::Red => "red",
            CheckState::Never => "never",
        }
    }

    fn said(self) -> &'static str {
        match self {
            CheckState::Green => "Passed",
            CheckState::Red => "Failed",
            CheckState::Never => "Never carried out",
        }
    }
}

impl CheckView {
    fn of(finding: &CheckFinding) -> CheckView {
        let result = &finding.result;
        let evidence = Some(&result.evidence).filter(|evidence| !evidence.is_null());
        CheckView {
            id: finding.check_id.to_owned(),
            category: finding.category,
            description: finding.description,
            state: match result.passed {
                Some(true) => CheckState::Green,
                Some(false) => CheckState::Red,
                None => CheckState::Never,
            },
            summary: sentence(&result.summary),
            evidence: evidence.and_then(|evidence| serde_json::to_string_pretty(evidence).ok()),
            checked: result.checked_at.as_deref().map(ShownMoment::new),
            took: result.took_ms.and_then(|ms| u64::try_from(ms).ok()).map(span),
        }
    }
}

impl HealthPage {
    /// How all of them stand, in a sentence.
    fn said(&self) -> String {
        let count = |state| self.checks.iter().filter(|check| check.state == state).count();
        let (all, green, red) =
            (self.checks.len(), count(CheckState::Green), count(CheckState::Red));
        match count(CheckState::Never) {
            0 if red == 0 => format!("All {all} checks passed."),
            0 => format!("{red} of {all} checks failed."),
            never if never == all => "The checks were never carried out.".to_owned(),
            never => format!("Passed: {green}. Failed: {red}. Never carried out: {never}."),
        }
    }
}

/// What a link to the page brings.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct HealthQuery {
    /// Somebody has just asked for the checks: they begin at any moment.
    asked: String,
}

pub(super) async fn show(
    State(app): State<App>,
    headers: HeaderMap,
    asked: Result<Query<HealthQuery>, QueryRejection>,
) -> Result<Response, PageTrouble> {
    let Query(HealthQuery { asked }) = asked.unwrap_or_default();
    page(&app, &headers, !asked.is_empty(), None).await
}

pub(super) async fn check_now(
    State(app): State<App>,
    headers: HeaderMap,
    form: Result<Form<Bare>, FormRejection>,
) -> Result<Response, PageTrouble> {
    let Form(form) = form.unwrap_or_default();
    if let Err(error) = app.door.may_change(&headers, Some(&form.csrf)) {
        return page(&app, &headers, false, Some(error.into())).await;
    }
    app.health.ask_for();
    Ok(Redirect::to(&format!("{PLACE}?asked=now")).into_response())
}

async fn page(
    app: &App,
    headers: &HeaderMap,
    was_asked: bool,
    fault: Option<FormFault>,
) -> Result<Response, PageTrouble> {
    let checks = app.health.results().await?;
    let is_running = was_asked || app.health.is_running();
    let status = fault.as_ref().map_or(StatusCode::OK, |fault| fault.status);
    let title = if fault.is_some() { "Error: Health" } else { "Health" };
    let mut frame = Frame::of(app, headers, title, PLACE);
    frame.refresh = is_running.then_some(LOOK_AGAIN);
    let checks = checks.iter().map(CheckView::of).collect();
    Ok(answer(app, status, &HealthPage { frame, checks, is_running, fault }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::CheckRecord;

    fn page(passed: &[Option<bool>]) -> HealthPage {
        let check = |passed: &Option<bool>| {
            CheckView::of(&CheckFinding {
                check_id: "INGEST_001",
                category: "ingestion",
                description: "x",
                result: CheckRecord { passed: *passed, ..CheckRecord::default() },
            })
        };
        let checks = passed.iter().map(check).collect();
        HealthPage { frame: Frame::plain("", "/"), checks, is_running: false, fault: None }
    }

    #[test]
    fn the_sentence_says_how_all_checks_stand() {
        assert_eq!(page(&[Some(true); 9]).said(), "All 9 checks passed.");
        assert_eq!(page(&[Some(true), Some(false)]).said(), "1 of 2 checks failed.");
        assert_eq!(page(&[None; 9]).said(), "The checks were never carried out.");
        let mixed = page(&[Some(true), None, Some(false)]);
        assert_eq!(mixed.said(), "Passed: 1. Failed: 1. Never carried out: 1.");
    }
}
