//! How figures, moments and names are said on pages.

use std::fmt;
use std::time::Duration;

use askama::filters::HtmlSafe;
use curtsy_core::evidence::{read_timestamp, timestamp};
use curtsy_core::host::RiskLevel;
use curtsy_core::time::Time;

use super::link::escaped;

/// A moment, for people and for programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShownMoment(String);

impl ShownMoment {
    /// Reads a moment as tables have it.
    pub(super) fn new(text: &str) -> ShownMoment {
        ShownMoment(text.to_owned())
    }

    pub(super) fn at(time: Time) -> ShownMoment {
        ShownMoment(timestamp(time))
    }
}

impl fmt::Display for ShownMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match read_timestamp(&self.0) {
            Some(time) => {
                let iso = timestamp(time);
                write!(f, "<time datetime=\"{iso}\">{}</time>", spoken(&iso))
            }
            // Whatever stands there is shown as it is.
            None => write!(f, "{}", escaped(&self.0)),
        }
    }
}

/// What it writes is made of digits, or escaped above.
impl HtmlSafe for ShownMoment {}

/// `2024-02-29T12:34:56.789Z` as `29 Feb 2024, 12:34:56 UTC`.
fn spoken(iso: &str) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = iso[5..7].parse::<usize>().ok().and_then(|month| MONTHS.get(month.checked_sub(1)?));
    let day = iso[8..10].trim_start_matches('0');
    format!("{day} {} {}, {} UTC", month.unwrap_or(&"?"), &iso[..4], &iso[11..19])
}

/// A span as people say it: `800 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min`.
pub(super) fn span(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => {
            let tenths = (ms + 50) / 100;
            match tenths % 10 {
                0 => format!("{} s", tenths / 10),
                tenth => format!("{}.{tenth} s", tenths / 10),
            }
        }
        60_000..3_600_000 => two(ms / 60_000, "min", ms / 1_000 % 60, "s"),
        _ => two(ms / 3_600_000, "h", ms / 60_000 % 60, "min"),
    }
}

/// A delay between requests, always in milliseconds, so that delays can be compared.
pub(super) fn delay(ms: u64) -> String {
    format!("{ms} ms")
}

fn two(large: u64, of: &str, small: u64, part: &str) -> String {
    match small {
        0 => format!("{large} {of}"),
        _ => format!("{large} {of} {small} {part}"),
    }
}

pub(super) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// `1 page`, `2 pages`.
pub(super) fn count(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// A sentence as programs write it, as people begin one.
pub(super) fn sentence(text: &str) -> String {
    let mut signs = text.chars();
    let first = signs.next().map(char::to_uppercase);
    let end = if text.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    first.into_iter().flatten().chain(signs).chain(end.chars()).collect()
}

/// A mode as the page calls it.
pub(super) fn mode(name: &str) -> &str {
    match name {
        "light" => "Light",
        "standard" => "Standard",
        "user_assisted" => "User-assisted",
        other => other,
    }
}

pub(super) fn level(score: u8) -> &'static str {
    match RiskLevel::of(score) {
        RiskLevel::Low => "low",
        RiskLevel::Medium => "medium",
        RiskLevel::High => "high",
        RiskLevel::Critical => "critical",
    }
}

/// Who set a delay.
pub(super) fn setter(name: &str) -> &str {
    match name {
        "floor" | "mode" => "the mode",
        "robots" | "robots.txt" => "the site’s robots.txt",
        "latency" => "slow answers",
        "risk" => "the host’s risk",
        "breaker" => "failures in a row",
        "retry_after" => "the site’s Retry-After",
        other => other,
    }
}

/// Where a page was found.
pub(super) fn source(name: &str) -> &str {
    match name {
        "sitemap" => "sitemap",
        "robots" => "robots.txt",
        "homepage" => "home page",
        other => other,
    }
}

/// What an outcome is called.
pub(super) fn outcome(name: &str) -> &str {
    match name {
        "success" => "Success",
        "partial" => "Partial",
        "blocked" => "Blocked",
        "error" => "Error",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_said_shortly() {
        let cases = [
            (0, "0 ms"),
            (800, "800 ms"),
            (1_000, "1 s"),
            (4_249, "4.2 s"),
            (59_940, "59.9 s"),
            (60_000, "1 min"),
            (200_000, "3 min 20 s"),
            (7_500_000, "2 h 5 min"),
        ];
        for (ms, said) in cases {
            assert_eq!(span(ms), said);
        }
    }

    #[test]
    fn a_moment_is_said_for_people_and_programs() {
        let shown = ShownMoment::new("2024-02-09T12:34:56.789Z").to_string();
        let said = "<time datetime=\"2024-02-09T12:34:56.789Z\">9 Feb 2024, 12:34:56 UTC</time>";
        assert_eq!(shown, said);
        assert_eq!(ShownMoment::new("<b>").to_string(), "&#60;b&#62;");
    }

    #[test]
    fn sentences_begin_large_and_end() {
        assert_eq!(sentence("there is no such run"), "There is no such run.");
        assert_eq!(sentence("Really?"), "Really?");
        assert_eq!(sentence(""), ".");
    }
}
