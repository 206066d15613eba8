//! `/orbit/:slug/runs/:trace`: a run while it works, and what it came to.

use askama::Template;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use curtsy_core::evidence::{RunEvidence, mode_name};
use serde::Deserialize;

use super::frame::{Frame, PageTrouble, answer, html, slug, trace};
use super::history::Site;
use super::link::{OutsideUrl, in_query};
use super::result::{EndedRun, ResultView};
use super::words::{self, ShownMoment, count, span};
use crate::ServeSpec;
use crate::app::App;
use crate::ingest::{Shown, Stop};
use crate::orbit::Slug;
use crate::records::{self, RunRecord};

/// Seconds after which a browser without script looks again.
const LOOK_AGAIN: u32 = 3;

/// The page.
#[derive(Template)]
#[template(path = "run.html")]
struct RunPage<'p> {
    frame: Frame,
    slug: &'p Slug,
    trace: String,
    mode: String,
    site: Site,
    host: Option<HostView>,
    started: Option<ShownMoment>,
    live: Option<LiveView>,
    result: Option<ResultView>,
}

/// A host with a page of its own.
struct HostView {
    name: String,
    place: String,
}

/// A run at work.
struct LiveView {
    phase: &'static str,
    planned: Option<u64>,
    done: u64,
    requests: u64,
    elapsed: String,
    /// Hosts that are waited for, each with why and for how long.
    waits: Vec<(String, String)>,
    pages: Vec<LivePage>,
    notes: Vec<String>,
    /// Whether somebody cancelled it.
    is_ending: bool,
}

struct LivePage {
    url: OutsideUrl,
    kind: &'static str,
    decision: String,
    status: Option<u16>,
}

/// What a run is doing, by the name of its phase. The script reads them from the page.
const PHASES: [(&str, &str); 4] = [
    ("discovering", "Looking for pages: robots.txt, sitemaps, home page"),
    ("fetching", "Fetching pages"),
    ("reading", "Reading what was fetched"),
    ("done", "Done"),
];

impl LiveView {
    fn of(shown: &Shown, stop: Stop) -> LiveView {
        let waits = shown.waiting.iter().map(|wait| (wait.host.clone(), wait.why.clone()));
        let pages = shown.pages.iter().map(|page| LivePage {
            url: OutsideUrl::new(&page.url),
            kind: page.kind,
            decision: page.decision.replace('_', " "),
            status: page.status,
        });
        LiveView {
            phase: shown.phase,
            planned: shown.pages_planned,
            done: shown.pages_done,
            requests: shown.requests,
            elapsed: span(shown.elapsed_ms),
            waits: waits.collect(),
            pages: pages.collect(),
            notes: shown.notes.clone(),
            is_ending: stop == Stop::Cancelled,
        }
    }

    fn phases(&self) -> [(&'static str, &'static str); 4] {
        PHASES
    }

    fn doing(&self) -> &'static str {
        PHASES.iter().find(|(name, _)| *name == self.phase).map_or("At work", |(_, doing)| doing)
    }

    fn progress(&self) -> String {
        match self.planned {
            Some(planned) => format!("{} of {}", self.done, count(planned, "page")),
            None => format!("{} so far", count(self.done, "page")),
        }
    }
}

impl<'p> RunPage<'p> {
    fn new(frame: Frame, slug: &'p Slug, run: &RunRecord) -> RunPage<'p> {
        let site = Site::of(run);
        let host = run.hostname.as_deref().filter(|_| !matches!(site, Site::Brought));
        RunPage {
            frame,
            slug,
            trace: run.trace_id.clone(),
            mode: words::mode(&run.mode).to_owned(),
            host: host.map(|name| HostView {
                name: name.to_owned(),
                place: format!("/domains/{}", in_query(name)),
            }),
            site,
            started: run.started_at.as_deref().map(ShownMoment::new),
            live: None,
            result: None,
        }
    }
}

/// The HTML of a run that met a wall, by its evidence alone.
pub(super) fn blocked_html(spec: &ServeSpec, evidence: &RunEvidence) -> String {
    let slug = Slug::parse("health-check").expect("a slug");
    let run = RunRecord {
        id: 0,
        trace_id: evidence.trace_id.clone(),
        orbit_slug: slug.as_str().to_owned(),
        mode: mode_name(evidence.ingest.mode).to_owned(),
        started_at: None,
        completed_at: None,
        outcome: Some(evidence.ingest.outcome.name().to_owned()),
        evidence: serde_json::to_value(evidence).ok(),
        url: None,
        hostname: None,
        plan: None,
        cancelled_at: None,
    };
    let ended = EndedRun { slug: &slug, run: &run, pages: &[], tiles: &[], is_imported: false };
    let mut page = RunPage::new(Frame::plain("Run", "/"), &slug, &run);
    page.result = Some(ResultView::of(&ended));
    html(spec, &page)
}

fn place(slug: &Slug, trace: &str) -> String {
    format!("/orbit/{slug}/runs/{trace}")
}

pub(super) async fn show(
    State(app): State<App>,
    Path((orbit, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, PageTrouble> {
    let (slug, trace) = (slug(&orbit)?, trace(&name)?);
    // A run leaves this list after its end is stored: a run that is not on it has ended or was cut
    // off.
    let live = app.runs.live(&slug, &trace).map(|live| (live.now(), live.stopped()));
    let (orbit, name) = (slug.clone(), trace.clone());
    let ask = move |db: &mut _| {
        let Some(run) = RunRecord::find(db, orbit.as_str(), &name)? else { return Ok(None) };
        if run.completed_at.is_none() {
            return Ok(Some((run, None)));
        }
        let pages = records::pages(db, &name)?;
        let tiles = records::tiles(db, &name)?;
        let named = records::order_of(db, &name)?.map(|order| order.user_urls.len());
        // Whoever names no page in this mode brought one.
        let is_imported = run.mode == "user_assisted" && named == Some(0);
        Ok(Some((run, Some((pages, tiles, is_imported)))))
    };
    let found = app.database.ask(ask).await?;
    let (run, ended) = found.ok_or_else(|| PageTrouble::nothing("run"))?;
    let frame = Frame::of(&app, &headers, "Run", &place(&slug, &trace));
    let mut page = RunPage::new(frame, &slug, &run);
    match (&ended, &live) {
        (Some((pages, tiles, is_imported)), _) => {
            let ended =
                EndedRun { slug: &slug, run: &run, pages, tiles, is_imported: *is_imported };
            let result = ResultView::of(&ended);
            page.frame.title = format!("{} · {slug}", result.heading);
            page.result = Some(result);
        }
        (None, Some((shown, stop))) => {
            page.frame.title = format!("Run at work · {slug}");
            page.frame.refresh = Some(LOOK_AGAIN);
            page.live = Some(LiveView::of(shown, *stop));
        }
        (None, None) => page.frame.title = format!("Run cut off · {slug}"),
    }
    Ok(answer(&app, StatusCode::OK, &page))
}

/// A form that holds nothing but its own token.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Bare {
    pub(super) csrf: String,
}

pub(super) async fn cancel(
    State(app): State<App>,
    Path((orbit, name)): Path<(String, String)>,
    headers: HeaderMap,
    form: Result<Form<Bare>, FormRejection>,
) -> Result<Response, PageTrouble> {
    let (slug, trace) = (slug(&orbit)?, trace(&name)?);
    let Form(form) = form.unwrap_or_default();
    app.door.may_change(&headers, Some(&form.csrf))?;
    // One that has ended meanwhile is shown as it is.
    if let Some(live) = app.runs.live(&slug, &trace) {
        app.runs.cancel(&live).await?;
    }
    Ok(Redirect::to(&place(&slug, &trace)).into_response())
}
