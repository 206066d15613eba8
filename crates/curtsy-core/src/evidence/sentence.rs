//! One sentence for each finding, for `why` and for logs. The gates have the words.
//!
//! A sentence is in lower case and without a full stop, so that it can follow a colon. A future
//! wait has its end and the time until then.

use std::time::Duration;

use super::timestamp::timestamp;
use crate::host::{Finding, Gate, Verdict};
use crate::robots::Robots;
use crate::time::Time;
use crate::url::HostKey;

/// What a sentence needs beyond the numbers of the finding.
#[derive(Clone, Copy, Debug)]
pub struct SentenceContext<'a> {
    /// The robots.txt of the finding, to quote its line. Without it the sentence has the line's
    /// number only.
    pub robots: Option<&'a Robots>,
    /// When the sentence is read, to compute the rest of a wait.
    pub now: Time,
}

/// The outcome of a single URL that got no slot in time, as the requirement words it.
pub const SLOT_TIMEOUT_TEXT: &str = "Timeout waiting for host concurrency slot";

/// Returns the log line of a breaker that opened, or stays open, as the requirement words it.
///
/// ```
/// use curtsy_core::evidence::circuit_open;
/// use curtsy_core::url::HostKey;
/// use std::time::Duration;
/// let host = HostKey::parse("example.org").unwrap();
/// assert_eq!(
///     circuit_open(&host, Duration::from_millis(30_025)),
///     "Circuit open: example.org appears down. Next probe in 30s.",
/// );
/// ```
pub fn circuit_open(host: &HostKey, wait: Duration) -> String {
    // In tenths: the margin of a wait for the way to the server is of no interest here.
    let tenths = (wait.as_millis() + 50) / 100;
    let secs = decimals(tenths / 10, tenths % 10, 1);
    format!("Circuit open: {host} appears down. Next probe in {secs}s.")
}

/// Returns a gate's finding as a sentence.
///
/// ```
/// use curtsy_core::evidence::{SentenceContext, sentence};
/// use curtsy_core::host::{DelayBy, Finding, Gate, PaceReason, Verdict};
/// use curtsy_core::time::Time;
/// let names = SentenceContext { robots: None, now: Time::from_secs(1_704_067_200) };
/// let delay = PaceReason::Delay { micros: 3_000_000, by: DelayBy::Policy };
/// let go = Finding::new(Verdict::Go, delay);
/// assert_eq!(sentence(Gate::Pace, &go, &names), "waits 3 s between two starts (policy)");
/// ```
pub fn sentence(gate: Gate, finding: &Finding, names: &SentenceContext<'_>) -> String {
    let said = finding.reason.sentence(finding.verdict, names);
    let mut text = said.unwrap_or_else(|| gate.clear().to_owned());
    if let Verdict::NotBefore(at) = finding.verdict {
        if at == Time::NEVER {
            text.push_str("; until a person lifts it");
        } else if at > names.now {
            let left = span_text(at - names.now);
            text.push_str(&format!("; until {}, in {left}", timestamp(at)));
        } else {
            text.push_str(&format!("; until {}, which is past", timestamp(at)));
        }
    }
    text
}

/// Returns a number with its noun: `1 request`, `2 requests`.
pub(crate) fn counted(n: u8, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {noun}{plural}")
}

/// Returns a span as people write it: `350 ms`, `2.5 s`, `1 min 30 s`, `2 h 15 min`, `3 d 4 h`.
/// Long spans are rounded up, as a wait should be.
pub fn span_text(span: Duration) -> String {
    let micros = span.as_micros();
    if micros < SECOND {
        return format!("{} ms", decimals(micros / 1_000, micros % 1_000, 3));
    }
    if micros < MINUTE {
        let millis = micros.div_ceil(1_000);
        return format!("{} s", decimals(millis / 1_000, millis % 1_000, 3));
    }
    let grain = match micros {
        0..HOUR => SECOND,
        HOUR..DAY => MINUTE,
        _ => HOUR,
    };
    let mut rest = micros.div_ceil(grain) * grain;
    let mut text = String::new();
    for (unit, name) in [(DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s")] {
        if rest >= unit {
            let gap = if text.is_empty() { "" } else { " " };
            text.push_str(&format!("{gap}{} {name}", rest / unit));
            rest %= unit;
        }
    }
    text
}

/// Returns `whole.part` with at most `places` decimals and no trailing zero.
fn decimals(whole: u128, part: u128, places: usize) -> String {
    if part == 0 {
        return whole.to_string();
    }
    let text = format!("{whole}.{part:0places$}");
    text.trim_end_matches('0').to_owned()
}

const SECOND: u128 = 1_000_000;
const MINUTE: u128 = 60 * SECOND;
const HOUR: u128 = 60 * MINUTE;
const DAY: u128 = 24 * HOUR;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(micros: u64, expected: &str) {
        assert_eq!(span_text(Duration::from_micros(micros)), expected);
    }

    #[test]
    fn spans_as_people_say_them() {
        check(0, "0 ms");
        check(500, "0.5 ms");
        check(350_000, "350 ms");
        check(1_000_000, "1 s");
        check(2_500_000, "2.5 s");
        check(59_999_999, "60 s");
        check(90_000_000, "1 min 30 s");
        check(900_025_000, "15 min 1 s");
        check(3_600_000_000, "1 h");
        check(3_540_000_001, "59 min 1 s");
        check(8_100_000_000, "2 h 15 min");
        check(86_400_000_000, "1 d");
        check(4 * 86_400_000_000 - 1, "4 d");
        check(u64::MAX, "213503982 d 9 h");
    }
}
