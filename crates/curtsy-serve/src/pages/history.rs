//! Runs as rows: what became of each.

use std::fmt;

use askama::filters::HtmlSafe;

use super::link::OutsideUrl;
use super::words::{self, ShownMoment, span};
use crate::ingest::NOWHERE;
use crate::records::RunRecord;

/// Runs of the past.
#[derive(Default)]
pub(super) struct Past {
    pub(super) runs: Vec<RunListRow>,
    /// The run before which older ones are shown.
    pub(super) older: Option<i64>,
    /// Whether these are not the newest.
    pub(super) is_older: bool,
}

/// A run.
pub(super) struct RunListRow {
    pub(super) slug: String,
    pub(super) trace: String,
    pub(super) started: Option<ShownMoment>,
    pub(super) site: Site,
    pub(super) mode: String,
    /// None while it works.
    pub(super) outcome: Option<String>,
    pub(super) is_cancelled: bool,
    /// Used of planned.
    pub(super) pages: Option<(u64, u64)>,
    pub(super) took: Option<String>,
}

/// What a run was about.
pub(super) enum Site {
    Address(OutsideUrl),
    /// A text that somebody brought without an address.
    Brought,
    Unknown,
}

impl Site {
    pub(super) fn of(run: &RunRecord) -> Site {
        match run.url.as_deref() {
            Some(NOWHERE) => Site::Brought,
            Some(url) => Site::Address(OutsideUrl::new(url)),
            None => Site::Unknown,
        }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Site::Address(address) => address.fmt(f),
            Site::Brought => f.write_str("a text that was brought without an address"),
            Site::Unknown => f.write_str("not recorded"),
        }
    }
}

/// What it writes is our own, or an address that is safe itself.
impl HtmlSafe for Site {}

impl RunListRow {
    pub(super) fn of(run: &RunRecord) -> RunListRow {
        let ingest = run.evidence.as_ref().map(|evidence| &evidence["nm_ingest"]);
        let number = |name: &str| ingest.and_then(|ingest| ingest[name].as_u64());
        RunListRow {
            slug: run.orbit_slug.clone(),
            trace: run.trace_id.clone(),
            started: run.started_at.as_deref().map(ShownMoment::new),
            site: Site::of(run),
            mode: words::mode(&run.mode).to_owned(),
            outcome: run.outcome.as_deref().map(|name| words::outcome(name).to_owned()),
            is_cancelled: run.cancelled_at.is_some(),
            pages: number("pagesUsed").zip(number("pagesPlanned")),
            took: number("durationMs").map(span),
        }
    }

    /// The outcome's name for style: a word of ours, whatever the table says.
    pub(super) fn badge(&self) -> &'static str {
        match self.outcome.as_deref() {
            Some("Success") => "good",
            Some("Partial") => "fair",
            Some(_) => "bad",
            None => "open",
        }
    }
}

/// The rows of a page that shows so many. One run more than that tells that there are older ones.
pub(super) fn past(runs: &[RunRecord], shown: usize, is_older: bool) -> Past {
    let more = runs.len() > shown;
    let runs = &runs[..runs.len().min(shown)];
    let older = runs.last().filter(|_| more).map(|run| run.id);
    Past { runs: runs.iter().map(RunListRow::of).collect(), older, is_older }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(id: i64) -> RunRecord {
        RunRecord {
            id,
            trace_id: format!("{id:032x}"),
            orbit_slug: "demo".into(),
            mode: "light".into(),
            started_at: None,
            completed_at: None,
            outcome: Some("partial".into()),
            evidence: Some(
                json!({"nm_ingest": {"pagesUsed": 3, "pagesPlanned": 5, "durationMs": 1500}}),
            ),
            url: Some(NOWHERE.into()),
            hostname: None,
            plan: None,
            cancelled_at: None,
        }
    }

    #[test]
    fn a_page_of_history_says_where_older_runs_begin() {
        let runs: Vec<RunRecord> = (1..=4).rev().map(run).collect();
        let part = past(&runs, 3, false);
        assert_eq!((part.runs.len(), part.older), (3, Some(2)));
        let last = past(&runs[3..], 3, true);
        assert_eq!((last.runs.len(), last.older), (1, None));
    }

    #[test]
    fn a_row_says_what_became_of_a_run() {
        let row = RunListRow::of(&run(1));
        assert!(matches!(row.site, Site::Brought));
        assert_eq!(
            (row.pages, row.took.as_deref(), row.badge()),
            (Some((3, 5)), Some("1.5 s"), "fair")
        );
    }

    #[test]
    fn evidence_that_lacks_something_is_shown_without_it() {
        let row = RunListRow::of(&RunRecord { evidence: Some(json!({})), outcome: None, ..run(1) });
        assert_eq!((row.pages, row.took.as_deref(), row.badge()), (None, None, "open"));
    }
}
