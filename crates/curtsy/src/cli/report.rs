//! The end of a crawl for a person: why pages have no content, which budget is used up, who has to wait and what can be done.

use std::fmt::Write;
use std::time::Duration;

use curtsy_crawl::{ReasonCount, Report};

use super::{printable, progress};

/// Reasons that have a line of their own.
const LINES_MAX: usize = 11;

/// Why pages have no content: a line for each of the most frequent reasons, and one for all others.
pub(super) fn reasons(report: &Report) -> String {
    let mut text = String::new();
    // The budget has a line of its own.
    let budget = |reason: &ReasonCount| reason.reason.starts_with("over the ");
    let reasons: Vec<&ReasonCount> =
        report.reasons.iter().filter(|reason| report.budget.is_none() || !budget(reason)).collect();
    if reasons.is_empty() {
        return text;
    }
    let whole: u64 = reasons.iter().map(|reason| reason.urls).sum();
    let _ = writeln!(text, "  {} without a page:", super::count(whole, "URL"));
    let shown = match reasons.len() > LINES_MAX + 1 {
        true => LINES_MAX,
        false => reasons.len(),
    };
    for reason in &reasons[..shown] {
        let _ = writeln!(text, "    {}", line(reason));
    }
    let rest = &reasons[shown..];
    if !rest.is_empty() {
        let urls: u64 = rest.iter().map(|reason| reason.urls).sum();
        let _ = writeln!(text, "    {urls} for {} other reasons", rest.len());
    }
    text
}

/// One reason: `1 name not resolved (exmaple.org)`.
fn line(reason: &ReasonCount) -> String {
    let ReasonCount { reason, urls, hosts, hint } = reason;
    let hosts = match hosts.is_empty() {
        true => String::new(),
        false => format!(" ({})", hosts.join(", ")),
    };
    let hint = hint.as_ref().map(|hint| format!(": {hint}")).unwrap_or_default();
    printable(&format!("{urls} {reason}{hosts}{hint}"))
}

/// The budget that is used up, and what is left.
pub(super) fn budget(report: &Report) -> String {
    let Some(budget) = &report.budget else {
        return String::new();
    };
    let left = super::count(budget.left, "URL");
    let (what, flag) = match budget.limit {
        "pages" => (format!("page limit reached: {}", super::count(budget.max, "page")), "--pages"),
        _ => {
            let span = progress::span(Duration::from_millis(budget.max));
            (format!("time limit reached: {span}"), "--time")
        }
    };
    format!("  {what}; {left} left, a larger {flag} goes on with them\n")
}

/// The hosts that have to wait, who caused it, and what can be done.
pub(super) fn waits(report: &Report) -> String {
    let mut text = String::new();
    for wait in &report.waits {
        let _ = writeln!(text, "  {}", printable(&wait.why));
        for hint in &wait.hints {
            let _ = writeln!(text, "    {}", printable(hint));
        }
    }
    text
}
