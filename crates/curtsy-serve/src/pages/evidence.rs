//! What a run did with each page, and why: the rows of its evidence.

use super::link::OutsideUrl;
use super::words;
use crate::records::PageRecord;

/// A page that a run considered.
pub(super) struct PageView {
    pub(super) url: OutsideUrl,
    /// Where it led, if that is somewhere else.
    pub(super) led_to: Option<OutsideUrl>,
    pub(super) title: Option<String>,
    pub(super) kind: String,
    pub(super) decision: String,
    pub(super) status: Option<i64>,
    pub(super) changed: &'static str,
    pub(super) robots: Option<String>,
    /// The delay and who set it.
    pub(super) delay: Option<(String, String)>,
    /// Why its content was not used.
    pub(super) why_not: Option<String>,
    pub(super) reasons: Vec<GateView>,
    pub(super) is_used: bool,
}

/// What one gate said.
pub(super) struct GateView {
    pub(super) gate: String,
    pub(super) verdict: String,
    pub(super) why: String,
}

impl PageView {
    pub(super) fn of(page: &PageRecord) -> PageView {
        let robots = match (page.robots_line, page.robots_rule.as_deref()) {
            (Some(line), Some(rule)) => Some(format!("line {line}: {rule}")),
            (Some(line), None) => Some(format!("line {line}")),
            (None, _) => None,
        };
        let delay = page.delay_ms.and_then(|ms| u64::try_from(ms).ok()).map(words::delay);
        let delay_by = page.delay_by.as_deref().map(words::setter).unwrap_or("nobody");
        PageView {
            url: OutsideUrl::new(&page.url),
            led_to: (page.final_url != page.url).then(|| OutsideUrl::new(&page.final_url)),
            title: page.title.clone().filter(|title| !title.trim().is_empty()),
            kind: page.kind.clone(),
            decision: page.decision.replace('_', " "),
            status: page.status_code,
            changed: match page.changed {
                Some(true) => "changed",
                Some(false) => "same",
                None if page.content_hash.is_some() => "new",
                None => "not known",
            },
            robots,
            delay: delay.map(|delay| (delay, delay_by.to_owned())),
            why_not: why_not(page),
            reasons: gates(page),
            is_used: page.used,
        }
    }
}

fn gates(page: &PageRecord) -> Vec<GateView> {
    let text = |of: &serde_json::Value| of.as_str().unwrap_or_default().to_owned();
    let all = page.reasons.as_array().map(Vec::as_slice).unwrap_or_default();
    let gate = |said: &serde_json::Value| GateView {
        gate: text(&said["gate"]),
        verdict: text(&said["verdict"]),
        why: text(&said["why"]),
    };
    all.iter().map(gate).collect()
}

/// Whether robots.txt forbids the page.
pub(super) fn is_forbidden(page: &PageRecord) -> bool {
    gates(page).iter().any(|said| said.gate == "robots" && said.verdict == "never")
}

/// Why a page's content was not used, in a few words.
pub(super) fn why_not(page: &PageRecord) -> Option<String> {
    if page.used {
        return None;
    }
    if let Some(never) = gates(page).into_iter().find(|said| said.verdict == "never") {
        return Some(never.why);
    }
    let failed = page.error.as_deref().map(|error| problem(error).to_owned());
    let answered = page.status_code.map(|status| format!("the site answered {status}"));
    Some(failed.or(answered).unwrap_or_else(|| page.decision.replace('_', " ")))
}

/// What went wrong with a request, by its name in tables.
fn problem(name: &str) -> &str {
    match name {
        "challenge" => "the site showed a bot check instead of the page",
        "dns" => "the site’s name could not be found",
        "connect" => "the site did not take the connection",
        "reset" => "the connection was cut",
        "connect_timeout" => "the site did not take the connection in time",
        "tls" | "tls_expired" | "tls_name" | "tls_issuer" => {
            "the site’s certificate or encryption is not in order"
        }
        "first_byte_timeout" | "whole_timeout" | "too_slow" => "the answer took too long",
        "malformed" | "coding" => "the answer could not be read",
        "truncated" => "the answer ended too early",
        "over_limit" => "the page is too large",
        "content_type" => "it is no page, but a file of another kind",
        "guard" => "its address is in a network that may not be asked",
        "port" => "its port is not one of a web server",
        "not_sent" => "the request was not sent",
        "unheard" => "the answer was not heard",
        "login_wall" => "it is behind a login, which is never tried",
        "lost_redirect" => "it leads on without an end, or to nowhere",
        other => other,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    pub(in crate::pages) fn page(url: &str) -> PageRecord {
        PageRecord {
            url: url.into(),
            final_url: url.into(),
            kind: "about".into(),
            decision: "fetched".into(),
            status_code: Some(200),
            error: None,
            title: None,
            used: true,
            content_hash: Some("0".repeat(64)),
            changed: None,
            robots_rule: None,
            robots_line: None,
            delay_ms: Some(800),
            delay_by: Some("floor".into()),
            reasons: json!([]),
            decided_at: "2026-01-01T00:00:00.000Z".into(),
            reason: None,
            evidence: None,
        }
    }

    #[test]
    fn a_page_that_was_not_used_says_why() {
        assert_eq!(why_not(&page("/")), None);
        let refused = PageRecord { used: false, status_code: Some(403), ..page("/") };
        assert_eq!(why_not(&refused).unwrap(), "the site answered 403");
        let walled = PageRecord { error: Some("challenge".into()), ..refused };
        assert_eq!(why_not(&walled).unwrap(), "the site showed a bot check instead of the page");
        let reasons =
            json!([{"gate": "robots", "verdict": "never", "why": "robots.txt line 2 forbids it"}]);
        let forbidden = PageRecord { reasons, ..walled };
        assert_eq!(why_not(&forbidden).unwrap(), "robots.txt line 2 forbids it");
        assert!(is_forbidden(&forbidden));
    }

    #[test]
    fn a_line_of_robots_is_quoted() {
        let ruled = PageRecord {
            robots_line: Some(3),
            robots_rule: Some("Disallow: /x".into()),
            ..page("/")
        };
        let view = PageView::of(&ruled);
        assert_eq!(view.robots.as_deref(), Some("line 3: Disallow: /x"));
        assert_eq!(view.delay, Some(("800 ms".to_owned(), "the mode".to_owned())));
        assert_eq!(view.changed, "new");
    }

    #[test]
    fn reasons_of_another_shape_are_shown_as_far_as_they_go() {
        let odd = PageRecord { reasons: json!([7, {"gate": "pace"}]), ..page("/") };
        assert_eq!(PageView::of(&odd).reasons.len(), 2);
        let none = PageRecord { reasons: json!("x"), ..page("/") };
        assert!(PageView::of(&none).reasons.is_empty());
    }
}
