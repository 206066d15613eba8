//! A run while it works: what its watchers see, and how it is told to end.

use std::time::Duration;

use curtsy_core::evidence::mode_name;
use curtsy_core::policy::Mode;
use curtsy_core::url::CrawlUrl;
use curtsy_crawl::{Progress, Watch, printable};
use serde::Serialize;
use tokio::sync::watch;

use crate::ingest::keeper::without_query;
use crate::ingest::survey::SurveyPlan;
use crate::orbit::Slug;

/// How often watchers are told how a run stands.
const EVERY: Duration = Duration::from_millis(250);

/// A run at work.
pub(crate) struct Live {
    pub(crate) trace: String,
    pub(crate) slug: Slug,
    shown: watch::Sender<Shown>,
    stop: watch::Sender<Stop>,
}

/// Whether a run is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It goes on.
    No,
    /// Somebody cancelled it: it is closed with what it has.
    Cancelled,
    /// The program ends: the next one goes on with it.
    Ending,
}

/// What watchers see.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Shown {
    pub(crate) trace_id: String,
    pub(crate) mode: &'static str,
    pub(crate) url: String,
    /// `discovering`, `fetching`, `reading`, `done`.
    pub(crate) phase: &'static str,
    pub(crate) pages_planned: Option<u64>,
    pub(crate) pages_done: u64,
    pub(crate) requests: u64,
    pub(crate) elapsed_ms: u64,
    /// Whom the run waits for, and why.
    pub(crate) waiting: Vec<Waits>,
    pub(crate) pages: Vec<ShownPage>,
    pub(crate) notes: Vec<String>,
    pub(crate) outcome: Option<String>,
}

/// A page that has ended.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownPage {
    pub(crate) url: String,
    pub(crate) kind: &'static str,
    pub(crate) decision: &'static str,
    pub(crate) status: Option<u16>,
}

/// A wait.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Waits {
    pub(crate) host: String,
    pub(crate) ms: u64,
    pub(crate) why: String,
}

impl Live {
    pub(crate) fn new(trace: String, slug: Slug, url: String, mode: Mode) -> Live {
        let shown = Shown {
            trace_id: trace.clone(),
            mode: mode_name(mode),
            url,
            phase: if mode.is_automated() { "discovering" } else { "fetching" },
            pages_planned: None,
            pages_done: 0,
            requests: 0,
            elapsed_ms: 0,
            waiting: Vec::new(),
            pages: Vec::new(),
            notes: Vec::new(),
            outcome: None,
        };
        Live { trace, slug, shown: watch::Sender::new(shown), stop: watch::Sender::new(Stop::No) }
    }

    /// Follows the run.
    pub(crate) fn follow(&self) -> watch::Receiver<Shown> {
        self.shown.subscribe()
    }

    /// How it stands.
    pub(crate) fn now(&self) -> Shown {
        self.shown.borrow().clone()
    }

    /// Tells it to end. The first word counts.
    pub(crate) fn stop(&self, how: Stop) {
        self.stop.send_if_modified(|stop| {
            let first = *stop == Stop::No;
            if first {
                *stop = how;
            }
            first
        });
    }

    /// Whether it was told to end.
    pub(crate) fn stopped(&self) -> Stop {
        *self.stop.borrow()
    }

    /// Waits until it is told to end.
    pub(crate) async fn asked_to_stop(&self) {
        let mut hears = self.stop.subscribe();
        // The sender lives as long as we do.
        let _ = hears.wait_for(|stop| *stop != Stop::No).await;
    }

    pub(crate) fn planned(&self, plan: &SurveyPlan) {
        self.shown.send_modify(|shown| {
            shown.pages_planned = Some(plan.pages.len() as u64);
            shown.phase = "fetching";
        });
    }

    pub(crate) fn plans(&self, pages: u64) {
        self.shown.send_modify(|shown| shown.pages_planned = Some(pages));
    }

    pub(crate) fn page(&self, page: ShownPage) {
        self.shown.send_modify(|shown| {
            shown.pages_done += 1;
            shown.pages.push(page);
        });
    }

    /// A page that would have to wait too long.
    pub(crate) fn left(&self, url: &CrawlUrl, why: &str) {
        let text = format!("{} was left: {}", without_query(url), printable(why));
        self.shown.send_modify(|shown| shown.notes.push(text));
    }

    /// Something of ours that went wrong.
    pub(crate) fn failed(&self, why: &str) {
        self.shown.send_modify(|shown| shown.notes.push(printable(why)));
    }

    pub(crate) fn reads(&self) {
        self.shown.send_modify(|shown| {
            shown.phase = "reading";
            shown.waiting.clear();
        });
    }

    pub(crate) fn done(&self, outcome: &str) {
        self.shown.send_modify(|shown| {
            shown.phase = "done";
            shown.waiting.clear();
            shown.outcome = Some(outcome.to_owned());
        });
    }
}

/// Watches the crawl of a run.
pub(super) struct RunWatch<'l>(pub(super) &'l Live);

impl Watch for RunWatch<'_> {
    fn every(&self) -> Duration {
        EVERY
    }

    fn see(&mut self, progress: &Progress) {
        let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        self.0.shown.send_modify(|shown| {
            shown.requests = progress.requests;
            shown.elapsed_ms = millis(progress.took);
            let waiting = progress.waiting.iter().map(|waits| Waits {
                host: waits.host.as_str().to_owned(),
                ms: millis(waits.wait),
                why: printable(&waits.why),
            });
            shown.waiting = waiting.collect();
        });
    }

    fn note(&mut self, text: &str) {
        self.0.shown.send_modify(|shown| shown.notes.push(printable(text)));
    }
}
