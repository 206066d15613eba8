//! `/`: what this is, whose runs there are, and where to begin.

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::frame::{FormFault, Frame, PageTrouble, answer};
use super::history::RunListRow;
use super::link::in_query;
use super::words::count;
use crate::app::App;
use crate::demo;
use crate::orbit::Slug;
use crate::records::{self, RunRecord};

/// Runs that are shown of each orbit.
const RUNS_SHOWN: i64 = 3;

/// The page.
#[derive(Template)]
#[template(path = "home.html")]
struct HomePage<'p> {
    frame: Frame,
    orbits: Vec<OrbitView>,
    /// What was typed into the form.
    slug: &'p str,
    fault: Option<FormFault>,
    trial: Option<DemoTrial>,
}

struct OrbitView {
    slug: String,
    runs: String,
    last: Vec<RunListRow>,
}

/// What to try in the demonstration.
struct DemoTrial {
    /// Each with what is seen there and the form that is filled in.
    sites: Vec<(String, &'static str, String)>,
}

/// What the form to open an orbit brings.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct HomeQuery {
    slug: Option<String>,
}

/// The orbit of the demonstration.
const TRIAL: &str = "demo";

pub(super) async fn show(
    State(app): State<App>,
    headers: HeaderMap,
    asked: Result<Query<HomeQuery>, QueryRejection>,
) -> Result<Response, PageTrouble> {
    let Query(asked) = asked.unwrap_or_default();
    let typed = asked.slug.as_deref().map(str::trim);
    let fault = match typed.map(Slug::parse) {
        Some(Some(slug)) => {
            return Ok(Redirect::to(&format!("/orbit/{slug}/import")).into_response());
        }
        Some(None) => Some(FormFault::typed(
            "slug",
            "A slug has 1 to 64 lower-case letters, digits and hyphens, with no hyphen at its ends.",
        )),
        None => None,
    };
    let ask = |db: &mut _| {
        let orbits = records::orbits(db)?;
        let with_runs = |(slug, number): (String, i64)| {
            let runs = RunRecord::list(db, &slug, None, RUNS_SHOWN)?;
            Ok((slug, number, runs))
        };
        orbits.into_iter().map(with_runs).collect::<Result<Vec<_>, _>>()
    };
    let orbits = app.database.ask(ask).await?.into_iter().map(|(slug, number, runs)| OrbitView {
        slug,
        runs: count(number.unsigned_abs(), "run"),
        last: runs.iter().map(RunListRow::of).collect(),
    });
    let trial = app.spec.example.as_deref().map(|example| DemoTrial {
        sites: demo::beside(example)
            .into_iter()
            .map(|(url, what)| {
                let form = format!("/orbit/{TRIAL}/import?url={}", in_query(&url));
                (url, what, form)
            })
            .collect(),
    });
    let status = fault.as_ref().map_or(StatusCode::OK, |fault| fault.status);
    let title = if fault.is_some() { "Error: Orbits" } else { "Orbits" };
    let frame = Frame::of(&app, &headers, title, "/");
    let slug = typed.unwrap_or_default();
    let page = HomePage { frame, orbits: orbits.collect(), slug, fault, trial };
    Ok(answer(&app, status, &page))
}
