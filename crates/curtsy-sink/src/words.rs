//! The words in columns: one word for one thing.

use std::time::Duration;

use curtsy_core::host::{
    AskKind, BackoffReason, DelayBy, Findings, Friction, Gate, Outcome, PaceReason, Problem,
    Reason, RequestKind, RobotsId, RobotsReason, SlotsReason, Verdict,
};
use curtsy_engine::{Ending, Page, Step, Then};

/// The word for the outcome of a URL.
pub(crate) fn ending(ending: &Ending) -> &'static str {
    match ending {
        Ending::Fetched(outcome) if outcome.status() == Some(304) => "confirmed",
        Ending::Fetched(_) => "fetched",
        Ending::Cached => "cached",
        Ending::Refused(_) => "refused",
        Ending::Dead(_) => "dead",
        Ending::Unheard => "unheard",
        Ending::LostRedirect => "lost_redirect",
        Ending::LoginWall(_) => "login_wall",
    }
}

/// The word for what followed a request on the way to a row.
pub(crate) fn then(then: &Then) -> &'static str {
    match then {
        Then::Decide => "decide",
        Then::Retry(_) => "retry",
        Then::Follow(_) => "follow",
    }
}

pub(crate) fn ask_kind(kind: AskKind) -> &'static str {
    match kind {
        AskKind::Page => "page",
        AskKind::Check => "check",
        AskKind::Sitemap => "sitemap",
        AskKind::RobotsHop => "robots_hop",
        AskKind::Rules => "rules",
    }
}

/// The word for a kind of request.
pub fn kind(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Page => "page",
        RequestKind::Robots => "robots",
        RequestKind::RobotsHop => "robots_hop",
        RequestKind::Sitemap => "sitemap",
        RequestKind::Probe => "probe",
    }
}

pub(crate) fn problem(problem: Problem) -> &'static str {
    match problem {
        Problem::Dns => "dns",
        Problem::Connect => "connect",
        Problem::Reset => "reset",
        Problem::ConnectTimeout => "connect_timeout",
        // The reason distinguishes the two.
        Problem::Tls | Problem::TlsAbsent => "tls",
        Problem::FirstByteTimeout => "first_byte_timeout",
        Problem::WholeTimeout => "whole_timeout",
        Problem::Malformed => "malformed",
        Problem::Truncated => "truncated",
        Problem::TooSlow => "too_slow",
        Problem::OverLimit(_) => "over_limit",
        Problem::ContentType => "content_type",
        Problem::Guard => "guard",
        Problem::TlsExpired => "tls_expired",
        Problem::TlsName => "tls_name",
        Problem::TlsIssuer => "tls_issuer",
        Problem::Coding => "coding",
        Problem::Port => "port",
        Problem::Proxy => "proxy",
        Problem::ProxyLogin => "proxy_login",
        Problem::OwnLogin => "own_login",
        Problem::ProxyRefused => "proxy_refused",
    }
}

/// The word for the friction of a response.
pub(crate) fn friction(outcome: &Outcome) -> Option<&'static str> {
    match *outcome {
        Outcome::Answered { friction: Some(Friction::Challenge), .. } => Some("challenge"),
        Outcome::Answered { friction: Some(Friction::Unusual), .. } => Some("unusual"),
        _ => None,
    }
}

/// The wait that a response asked for.
pub(crate) fn wait_ms(outcome: &Outcome) -> Option<i64> {
    match *outcome {
        Outcome::Answered { retry_after, .. } => Some(millis(retry_after?)),
        _ => None,
    }
}

/// A duration in milliseconds. One that does not fit becomes the largest number.
pub(crate) fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// The word for why there is no page, where a status does not say.
pub fn error_of(outcome: &Outcome) -> Option<&'static str> {
    match *outcome {
        Outcome::Failed(failed) => Some(problem(failed)),
        Outcome::NotSent => Some("not_sent"),
        Outcome::Answered { friction: Some(Friction::Challenge), .. } => Some("challenge"),
        Outcome::Answered { .. } => None,
    }
}

/// The same for a request on the way to a row. A request may not have been sent because the URL
/// waited for a slot too long.
pub(crate) fn step_error(step: &Step) -> Option<&'static str> {
    if is_slot_timeout(step) { Some("slot_timeout") } else { error_of(&step.outcome) }
}

/// Whether a URL waited for a slot of its host as long as the policy allows.
pub(crate) fn is_slot_timeout(step: &Step) -> bool {
    step.outcome == Outcome::NotSent
        && step.findings.of(Gate::Slots).reason == SlotsReason::Timeout.into()
}

/// The same for the outcome of a URL.
pub(crate) fn error(ending: &Ending) -> Option<&'static str> {
    match ending {
        Ending::Fetched(outcome) | Ending::Dead(outcome) => error_of(outcome),
        Ending::LostRedirect => Some("lost_redirect"),
        Ending::LoginWall(_) => Some("login_wall"),
        Ending::Unheard => Some("unheard"),
        Ending::Refused(Gate::Slots) => Some("slot_timeout"),
        Ending::Cached | Ending::Refused(_) => None,
    }
}

/// The word for unusual access to a page.
pub(crate) fn access(page: &Page) -> Option<&'static str> {
    if page.head.own { Some("own") } else { page.document.is_login().then_some("login") }
}

/// What findings say in columns of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FindingColumns {
    /// The robots.txt that decided, and the line.
    pub robots: Option<(RobotsId, Option<u32>)>,
    /// The delay between two request starts on the host, in milliseconds.
    pub delay_ms: Option<i64>,
    /// What set the wait in force.
    pub delay_by: Option<&'static str>,
    /// The gate with the largest verdict, unless all are clear.
    pub gate: Option<Gate>,
}

impl FindingColumns {
    /// Reads findings.
    pub fn of(findings: &Findings) -> FindingColumns {
        let mut said = FindingColumns::default();
        if let Reason::Robots(
            RobotsReason::Allows { file, line, .. } | RobotsReason::Forbids { file, line, .. },
        ) = findings.of(Gate::Robots).reason
        {
            said.robots = Some((file, line));
        }
        if let Reason::Pace(PaceReason::Delay { micros, by }) = findings.of(Gate::Pace).reason {
            said.delay_ms = i64::try_from(micros.div_ceil(1000)).ok();
            said.delay_by = Some(match by {
                DelayBy::Policy => "floor",
                DelayBy::CrawlDelay | DelayBy::Parked => "robots",
                DelayBy::Latency => "latency",
                DelayBy::Risk => "risk",
            });
        }
        // A wait longer than the pace has set the turn.
        let waits = |gate| findings.of(gate).verdict > Verdict::Go;
        if waits(Gate::Breaker) {
            said.delay_by = Some("breaker");
        } else if waits(Gate::Backoff) {
            said.delay_by = Some("retry_after");
            if let Reason::Backoff(BackoffReason::ToldToWait { micros, .. }) =
                findings.of(Gate::Backoff).reason
            {
                let wait = i64::try_from(micros.div_ceil(1000)).ok();
                said.delay_ms = said.delay_ms.max(wait);
            }
        }
        let (worst, gate) = findings.worst();
        said.gate = (worst > Verdict::Go).then_some(gate);
        said
    }
}
