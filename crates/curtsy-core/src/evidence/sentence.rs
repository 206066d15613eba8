//! One sentence for each finding: what `why` prints, and what stands in logs.
//!
//! Lower case and without a full stop, so that it can follow a colon. A wait that is still to come says until when, and how long that
//! is from now.

use std::time::Duration;

use super::robots::rule_text;
use super::timestamp::timestamp;
use crate::host::{
    AUTHORITIES_MAX, Confidence, DelayBy, Finding, Gate, Reason, RiskLevel, Trap, Verdict,
};
use crate::robots::Robots;
use crate::time::Time;
use crate::url::HostKey;

/// What numbers alone can't say.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The robots.txt that the finding names, to quote its line; without it the line's number has to do.
    pub robots: Option<&'a Robots>,
    /// When the sentence is read, to say how long a wait still is.
    pub now: Time,
}

/// The outcome of a single URL that got no slot in time, as the requirement words it.
pub const SLOT_TIMEOUT_TEXT: &str = "Timeout waiting for host concurrency slot";

/// The log line of a breaker that opened, or stays open, as the requirement words it.
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
    // To a tenth: the margin that a wait carries for the way to the server is nobody's concern here.
    let tenths = (wait.as_millis() + 50) / 100;
    let secs = decimals(tenths / 10, tenths % 10, 1);
    format!("Circuit open: {host} appears down. Next probe in {secs}s.")
}

/// What a gate found, for a person.
///
/// ```
/// use curtsy_core::evidence::{Names, sentence};
/// use curtsy_core::host::{DelayBy, Finding, Gate, Reason, Verdict};
/// use curtsy_core::time::Time;
/// let names = Names { robots: None, now: Time::from_secs(1_704_067_200) };
/// let delay = Reason::Delay { micros: 3_000_000, by: DelayBy::Policy };
/// let go = Finding::new(Verdict::Go, delay);
/// assert_eq!(sentence(Gate::Pace, &go, &names), "waits 3 s between two starts (policy)");
/// ```
pub fn sentence(gate: Gate, finding: &Finding, names: &Names<'_>) -> String {
    let mut text = reason(gate, finding, names);
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

fn reason(gate: Gate, finding: &Finding, names: &Names<'_>) -> String {
    let waits = finding.verdict > Verdict::Go;
    let plain = match finding.reason {
        Reason::Clear => clear(gate),
        Reason::RobotsUnknown => "robots.txt is not known yet and is asked for first",
        Reason::RobotsDue if waits => "robots.txt is asked for again when its time is over",
        Reason::RobotsDue => "robots.txt is past its time and is asked for again first",
        Reason::RobotsAsked => "robots.txt is being asked for right now",
        Reason::RobotsAbsent => "the site has no robots.txt, so there are no rules",
        Reason::RobotsRefused => {
            "the site refuses its robots.txt, and the policy takes that as a no"
        }
        Reason::RobotsUnreachable => "robots.txt could not be had, so nothing else may be asked",
        Reason::RobotsUnreachableAllowed => {
            "robots.txt could not be fetched: allowed, low confidence"
        }
        Reason::RobotsExempt => "robots.txt has no say in requests for robots.txt",
        Reason::Fresh => "the page that we hold is still fresh",
        Reason::SingleFlight => "this very URL is being fetched",
        Reason::SlotTimeout => SLOT_TIMEOUT_TEXT,
        Reason::AddressTaken => "all slots of the server's address are taken",
        Reason::TimeLimit => "time limit: the job's time is used up",
        Reason::Stopped => "somebody ordered us to stop asking this host",
        Reason::StoreRestarted => {
            "the store began anew; what was in flight before must surely have ended"
        }
        Reason::RobotsAllows { line, standing, .. } => {
            let Some(line) = line else {
                return format!(
                    "no rule of robots.txt matches, so it is allowed{}",
                    copy(standing)
                );
            };
            return format!(
                "robots.txt line {line} allows it{}{}",
                quoted(line, names),
                copy(standing)
            );
        }
        Reason::RobotsForbids { line, standing, .. } => {
            let Some(line) = line else {
                return format!("robots.txt forbids it{}", copy(standing));
            };
            return format!(
                "robots.txt line {line} forbids it{}{}",
                quoted(line, names),
                copy(standing)
            );
        }
        Reason::AuthorityLimit => {
            return format!(
                "robots.txt is kept for {AUTHORITIES_MAX} authorities of a host, and this is one more"
            );
        }
        Reason::Delay { micros, by } => {
            let delay = span_text(Duration::from_micros(micros));
            return format!("waits {delay} between two starts ({})", setter(by));
        }
        Reason::SlotsTaken { in_flight } => {
            return format!(
                "all slots of the host are taken: {} in flight",
                count(in_flight, "request")
            );
        }
        Reason::ToldToWait { streak, micros } => {
            let (wait, refusals) =
                (span_text(Duration::from_micros(micros)), count(streak, "refusal"));
            let over = if waits { "" } else { "; that is over" };
            return format!("told to wait {wait} after {refusals} in a row{over}");
        }
        Reason::Retry { tries } => {
            return format!("waits for its next try after {}", tries_so_far(tries));
        }
        Reason::Down { failures, level } => {
            let due = if waits { "" } else { "; the probe is due" };
            return format!(
                "circuit open: the host appears down after {} in a row, wait {level} is in force{due}",
                count(failures, "failure")
            );
        }
        Reason::RiskScore { score } => {
            let stops = match finding.verdict {
                Verdict::Never => ": automated modes skip the host",
                _ => "",
            };
            return format!("risk score {score} of 100, {}{stops}", level(score));
        }
        Reason::EarlyStop { streak } => {
            return format!("{} in a row stopped this run early", count(streak, "friction signal"));
        }
        Reason::Trap { trap, limit } => {
            return match trap {
                Trap::Repetition => {
                    format!("looks like a trap: a part of its path comes more than {limit} times")
                }
                Trap::Length => format!("looks like a trap: longer than {limit}"),
                Trap::Session => {
                    format!(
                        "looks like a trap: more than {limit} addresses differ by a session only"
                    )
                }
                Trap::Calendar => {
                    format!("looks like a trap: more than {limit} addresses differ by a date only")
                }
                Trap::Queries => {
                    format!(
                        "looks like a trap: more than {limit} addresses differ by their query only"
                    )
                }
            };
        }
        Reason::PageLimit { pages } => {
            return format!("page limit: {pages} pages are charged already");
        }
    };
    plain.to_owned()
}

/// What "nothing is against it" means at a gate.
fn clear(gate: Gate) -> &'static str {
    match gate {
        Gate::Robots => "robots.txt is not against it",
        Gate::Freshness => "no fresh copy of the page is held",
        Gate::Pace => "no start of the host is to be kept away from",
        Gate::Slots => "a slot of the host is free",
        Gate::Address => "a slot of the server's address is free",
        Gate::Backoff => "the host has not told us to wait",
        Gate::Breaker => "circuit closed: the host answers",
        Gate::Risk => "no friction counts against the host",
        Gate::Budget => "within the job's budget",
        Gate::Stop => "no order to stop is in force",
    }
}

fn quoted(line: u32, names: &Names<'_>) -> String {
    match names.robots.and_then(|robots| rule_text(robots, line)) {
        Some(rule) => format!(": `{rule}`"),
        None => String::new(),
    }
}

fn copy(standing: Confidence) -> &'static str {
    match standing {
        Confidence::Current => "",
        Confidence::LastGood => " (the last good copy; robots.txt can't be had now)",
    }
}

fn setter(by: DelayBy) -> &'static str {
    match by {
        DelayBy::Policy => "policy",
        DelayBy::CrawlDelay => "Crawl-delay",
        DelayBy::Parked => "Crawl-delay, so long that the host is parked",
        DelayBy::Latency => "answers take longer than usual",
        DelayBy::Risk => "risk",
    }
}

fn level(score: u8) -> &'static str {
    match RiskLevel::of(score) {
        RiskLevel::Low => "low",
        RiskLevel::Medium => "medium",
        RiskLevel::High => "high",
        RiskLevel::Critical => "critical",
    }
}

fn count(n: u8, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {what}{plural}")
}

fn tries_so_far(tries: u8) -> String {
    match tries {
        1 => "1 try".to_owned(),
        _ => format!("{tries} tries"),
    }
}

/// A span as people say it: `350 ms`, `2.5 s`, `1 min 30 s`, `2 h 15 min`, `3 d 4 h`. Long ones are rounded up, as a wait should be.
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

/// `whole.part` with at most `places` decimals and no zero at the end.
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
