//! What a run came to: its summary, what stood in the way, and what to do next.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value as Json;

use super::evidence::{PageView, is_forbidden, why_not};
use super::friction::{Signal, signals};
use super::link::in_query;
use super::tiles::{TileGroup, groups};
use super::words::{self, ShownMoment, count, span};
use crate::ingest::URLS_MAX;
use crate::orbit::Slug;
use crate::records::{PageRecord, RunRecord};

/// Reasons that are told in a few words; the table has all of them.
const REASONS_MAX: usize = 8;

/// What a run came to.
pub(super) struct ResultView {
    /// `success`, `partial`, `blocked` or `error`.
    pub(super) outcome: &'static str,
    pub(super) heading: &'static str,
    pub(super) said: String,
    pub(super) figures: Vec<(&'static str, String)>,
    pub(super) friction: Vec<Signal>,
    /// Why pages were not used: `2 pages: the site answered 403`.
    pub(super) reasons: Vec<String>,
    /// Whether the host's risk alone kept the run away.
    pub(super) kept_off: bool,
    /// Whether the run was user-assisted already.
    pub(super) was_assisted: bool,
    pub(super) is_imported: bool,
    /// When somebody cancelled it.
    pub(super) cancelled: Option<ShownMoment>,
    /// The form for the user-assisted mode, with the pages that could not be had.
    pub(super) assisted: String,
    /// How many those are: `3 pages`.
    pub(super) not_had: Option<String>,
    /// The form for an import by hand.
    pub(super) manual: String,
    /// The form for the same run again.
    pub(super) again: String,
    pub(super) groups: Vec<TileGroup>,
    pub(super) pages: Vec<PageView>,
}

/// A run that has ended, with what was kept of it.
pub(super) struct EndedRun<'r> {
    pub(super) slug: &'r Slug,
    pub(super) run: &'r RunRecord,
    pub(super) pages: &'r [PageRecord],
    pub(super) tiles: &'r [Json],
    /// Whether somebody brought it by hand.
    pub(super) is_imported: bool,
}

impl ResultView {
    pub(super) fn of(ended: &EndedRun<'_>) -> ResultView {
        let EndedRun { slug, run, pages, tiles, is_imported } = *ended;
        let evidence = run.evidence.clone().unwrap_or_default();
        let ingest = &evidence["nm_ingest"];
        let outcome = outcome(run, ingest);
        let friction = signals(&texts(&ingest["frictionSignals"]));
        let number = |name: &str| ingest[name].as_u64();
        let planned = number("pagesPlanned").unwrap_or_default();
        let used = number("pagesUsed").unwrap_or_default();
        let missing = not_had(run, pages);
        let url = in_query(run.url.as_deref().unwrap_or_default());
        let place = format!("/orbit/{slug}/import");
        let mode = in_query(&run.mode);
        ResultView {
            outcome,
            heading: heading(outcome, run.cancelled_at.is_some()),
            said: said(run, outcome, is_imported, used, planned),
            figures: figures(ingest, run),
            kept_off: friction.is_empty() && outcome == "blocked",
            friction,
            reasons: reasons(pages),
            was_assisted: run.mode == "user_assisted",
            is_imported,
            cancelled: run.cancelled_at.as_deref().map(ShownMoment::new),
            assisted: format!("{place}?url={url}&mode=user_assisted&from={}", run.trace_id),
            not_had: (!missing.is_empty()).then(|| count(missing.len() as u64, "page")),
            manual: format!("{place}?tab=manual&url={}", if is_imported { "" } else { &url }),
            again: format!("{place}?url={url}&mode={mode}"),
            groups: groups(tiles),
            pages: pages.iter().map(PageView::of).collect(),
        }
    }

    /// How many tiles there are: `12 tiles`.
    pub(super) fn tiles(&self) -> String {
        count(self.groups.iter().map(TileGroup::count).sum::<usize>() as u64, "tile")
    }

    pub(super) fn badge(&self) -> &'static str {
        match self.outcome {
            "success" => "good",
            "partial" => "fair",
            _ => "bad",
        }
    }
}

/// The outcome as one of the four that there are.
fn outcome(run: &RunRecord, ingest: &Json) -> &'static str {
    let said = run.outcome.as_deref().or(ingest["outcome"].as_str());
    let known = ["success", "partial", "blocked"];
    known.into_iter().find(|name| said == Some(name)).unwrap_or("error")
}

fn heading(outcome: &str, is_cancelled: bool) -> &'static str {
    match outcome {
        "partial" | "error" if is_cancelled => "The run was cancelled",
        "success" => "The run is done",
        "partial" => "Some pages could not be had",
        "blocked" => "The site did not let us in",
        _ => "No page could be read",
    }
}

fn said(run: &RunRecord, outcome: &str, is_imported: bool, used: u64, planned: u64) -> String {
    let is_cancelled = run.cancelled_at.is_some();
    match outcome {
        "success" if is_imported => "What you brought was read. Nothing was fetched.".to_owned(),
        "success" if planned == 0 => "There was nothing to fetch.".to_owned(),
        "success" => format!(
            "Every planned page was fetched or was still fresh. {} went into the result.",
            count(used, "page")
        ),
        "partial" => format!("{} of {planned} planned pages went into the result.", used),
        "blocked" => {
            "No page was read. What follows says what stood in the way and what you can do."
                .to_owned()
        }
        _ if is_cancelled => "No page was read before the run was cancelled.".to_owned(),
        _ => "No page was read, and the site showed no sign of keeping us out.".to_owned(),
    }
}

/// The figures of the summary, as the evidence has them.
fn figures(ingest: &Json, run: &RunRecord) -> Vec<(&'static str, String)> {
    let number = |name: &str| ingest[name].as_u64();
    let plain =
        |name: &str| number(name).map_or_else(|| "not recorded".to_owned(), |n| n.to_string());
    let risk = number("domainRiskScore").map(|score| {
        let score = score.min(100) as u8;
        format!("{score} of 100, {}", words::level(score))
    });
    let sources = texts(&ingest["discoverySources"]);
    let sources: Vec<&str> = sources.iter().map(|source| words::source(source)).collect();
    let or_none = |text: String, none: &str| if text.is_empty() { none.to_owned() } else { text };
    vec![
        ("Outcome", run.outcome.as_deref().map_or("Error", words::outcome).to_owned()),
        ("Mode", words::mode(&run.mode).to_owned()),
        ("Pages planned", plain("pagesPlanned")),
        ("Pages fetched", plain("pagesFetched")),
        ("Pages used", plain("pagesUsed")),
        ("Cache hits", plain("cacheHits")),
        ("Cache misses", plain("cacheMisses")),
        ("Friction signals", texts(&ingest["frictionSignals"]).len().to_string()),
        ("Risk of the host", risk.unwrap_or_else(|| "not recorded".to_owned())),
        ("Duration", number("durationMs").map_or_else(|| "not recorded".to_owned(), span)),
        ("Found through", or_none(sources.join(", "), "no discovery")),
    ]
}

/// Why pages were not used, the most frequent first.
fn reasons(pages: &[PageRecord]) -> Vec<String> {
    let mut reasons: Vec<(String, u64)> = Vec::new();
    for why in pages.iter().filter_map(why_not) {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, times)) => *times += 1,
            None => reasons.push((why, 1)),
        }
    }
    reasons.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    let told = reasons.into_iter().take(REASONS_MAX);
    told.map(|(why, times)| format!("{}: {why}", count(times, "page"))).collect()
}

/// The pages of a run that failed and may succeed in another mode: not those that robots.txt
/// forbids or that do not exist.
pub(super) fn not_had(run: &RunRecord, pages: &[PageRecord]) -> Vec<String> {
    let gone = |page: &PageRecord| matches!(page.status_code, Some(404 | 410));
    let settled: HashSet<&str> = pages
        .iter()
        .filter(|page| page.used || gone(page) || is_forbidden(page))
        .map(|page| page.url.as_str())
        .collect();
    let listed = |name: &str| {
        let pages = run.plan.as_ref().and_then(|plan| plan[name].as_array());
        let urls = pages.into_iter().flatten().filter_map(|page| page["url"].as_str());
        urls.map(str::to_owned).collect::<Vec<_>>()
    };
    let forbidden: HashSet<String> = listed("forbidden").into_iter().collect();
    let considered = pages.iter().map(|page| page.url.clone());
    let all = run.url.iter().cloned().chain(listed("pages")).chain(considered);
    let mut told = BTreeSet::new();
    all.filter(|url| !settled.contains(url.as_str()) && !forbidden.contains(url))
        .filter(|url| told.insert(url.clone()))
        .take(URLS_MAX)
        .collect()
}

fn texts(list: &Json) -> Vec<String> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::evidence::tests::page;
    use super::*;
    use serde_json::json;

    fn run(plan: Json) -> RunRecord {
        RunRecord {
            id: 1,
            trace_id: "0".repeat(32),
            orbit_slug: "demo".into(),
            mode: "standard".into(),
            started_at: None,
            completed_at: None,
            outcome: Some("blocked".into()),
            evidence: None,
            url: Some("http://a.test/".into()),
            hostname: Some("a.test".into()),
            plan: Some(plan),
            cancelled_at: None,
        }
    }

    #[test]
    fn pages_to_name_are_those_that_another_mode_may_have() {
        let plan = json!({
            "pages": [{"url": "http://a.test/"}, {"url": "http://a.test/menu"}, {"url": "http://a.test/gone"}],
            "forbidden": [{"url": "http://a.test/private"}],
        });
        let refused =
            |url: &str, status| PageRecord { used: false, status_code: Some(status), ..page(url) };
        let never =
            json!([{"gate": "robots", "verdict": "never", "why": "robots.txt line 1 forbids it"}]);
        let pages = [
            page("http://a.test/about"),
            refused("http://a.test/", 403),
            refused("http://a.test/gone", 404),
            PageRecord { reasons: never, ..refused("http://a.test/private", 0) },
        ];
        assert_eq!(not_had(&run(plan), &pages), ["http://a.test/", "http://a.test/menu"]);
    }

    #[test]
    fn there_are_never_more_pages_to_name_than_may_be_named() {
        let urls: Vec<Json> =
            (0..90).map(|n| json!({"url": format!("http://a.test/{n}")})).collect();
        assert_eq!(not_had(&run(json!({"pages": urls})), &[]).len(), URLS_MAX);
    }

    #[test]
    fn evidence_that_lacks_a_marker_is_shown_as_lacking_it() {
        let ingest = json!({"pagesPlanned": 3, "domainRiskScore": 60});
        let figures = figures(&ingest, &run(json!({})));
        let said =
            |name: &str| figures.iter().find(|(known, _)| *known == name).unwrap().1.as_str();
        assert_eq!(said("Pages planned"), "3");
        assert_eq!(said("Cache hits"), "not recorded");
        assert_eq!(said("Risk of the host"), "60 of 100, high");
    }

    #[test]
    fn a_cancelled_run_says_so_whatever_it_had() {
        let cancelled = |outcome: &str| {
            let at = Some("2026-01-01T00:00:00.000Z".to_owned());
            let run =
                RunRecord { cancelled_at: at, outcome: Some(outcome.into()), ..run(json!({})) };
            let slug = Slug::parse("demo").unwrap();
            let ended =
                EndedRun { slug: &slug, run: &run, pages: &[], tiles: &[], is_imported: false };
            let view = ResultView::of(&ended);
            assert!(view.cancelled.is_some());
            (view.heading, view.said)
        };
        assert_eq!(cancelled("partial").0, "The run was cancelled");
        let nothing = ("The run was cancelled", "No page was read before the run was cancelled.");
        assert_eq!(cancelled("error"), (nothing.0, nothing.1.to_owned()));
        assert_eq!(cancelled("blocked").0, "The site did not let us in");
    }

    #[test]
    fn reasons_are_counted() {
        let refused = PageRecord { used: false, status_code: Some(403), ..page("/") };
        let gone = PageRecord { used: false, status_code: Some(404), ..page("/") };
        let pages = [gone, refused.clone(), refused, page("/")];
        let said = reasons(&pages);
        assert_eq!(said, ["2 pages: the site answered 403", "1 page: the site answered 404"]);
    }
}
