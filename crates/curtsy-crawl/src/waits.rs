//! Hosts that must wait at the end of a crawl: the cause of the wait, its length, and what the user
//! can do.

use std::time::Duration;

use curtsy_core::evidence::{span_text, timestamp};
use curtsy_core::host::{
    BackoffReason, BreakerReason, DelayBy, Gate, PaceReason, Reason, RobotsReason, StopReason,
};
use curtsy_core::policy::{OnForbidden, Policy};
use curtsy_core::time::Time;
use curtsy_sink::UNKNOWN_ISSUER;
use serde::Serialize;

use crate::tally::Setback;
use crate::{Waiting, shown_time, shown_url};

/// A host that must wait longer than the crawl's patience.
#[derive(Clone, Debug, Serialize)]
pub struct Wait {
    /// The host.
    pub host: String,
    /// Its URLs without an outcome.
    pub queued: u64,
    /// When it may be requested again; none if a person has to allow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The wait from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// The gate at which it waits.
    pub gate: &'static str,
    /// The URL whose response caused the wait, without the values of its query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The response in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// When that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The explanation as a sentence.
    pub why: String,
    /// What the user can do besides waiting.
    pub hints: Vec<String>,
}

impl Wait {
    /// Describes a host that waits, with the request that caused the wait, if that is known.
    /// `waited` is the time since the crawl's last progress, if the crawl ended because of its
    /// patience.
    pub(crate) fn new(
        waiting: &Waiting,
        cause: Option<&Setback>,
        policy: &Policy,
        now: Time,
        waited: Option<Duration>,
    ) -> Wait {
        let host = waiting.host.as_str();
        let until = (waiting.until != Time::NEVER).then_some(waiting.until);
        let reason = waiting.reason;
        // No response causes these waits.
        let cause =
            cause.filter(|_| !matches!(waiting.gate, Gate::Pace | Gate::Stop | Gate::Slots));
        let caused = cause.map(|cause| {
            let url = shown_url(cause.url.as_str());
            format!("{url} {} at {}", cause.answer, shown_time(cause.at, now))
        });
        let span = match reason {
            Reason::Backoff(BackoffReason::ToldToWait { micros, .. }) => {
                Duration::from_micros(micros)
            }
            _ => waiting.wait,
        };
        let again = match until {
            Some(until) => format!("until {}", shown_time(until, now)),
            None => "until somebody lifts it".to_owned(),
        };
        let preset = policy.preset.name();
        let least = policy.for_host(host).backoff.curve.base;
        let asked = cause.and_then(|cause| cause.asked);
        let more_than_asked = asked.filter(|asked| *asked < least).map(|asked| (asked, least));
        let why = match reason {
            Reason::Backoff(BackoffReason::ToldToWait { .. }) => {
                let caused = caused
                    .unwrap_or_else(|| format!("{host} told an earlier or another crawl to wait"));
                let span = span_text(span);
                let then = format!("before {host} is asked again ({again})");
                match more_than_asked {
                    Some((asked, least)) => format!(
                        "{caused} and asked for {}; {preset} waits at least {}, this time {span}, {then}",
                        span_text(asked),
                        span_text(least),
                    ),
                    None => format!("{caused}; {preset} waits {span} {then}"),
                }
            }
            Reason::Breaker(BreakerReason::Down { failures, .. }) => {
                let caused = caused.map(|caused| format!(": {caused}")).unwrap_or_default();
                format!(
                    "{host} appears down after {failures} failures in a row{caused}; it is left alone {again}"
                )
            }
            Reason::Robots(RobotsReason::Unreachable) => {
                let caused =
                    caused.unwrap_or_else(|| format!("robots.txt of {host} could not be fetched"));
                format!("{caused}; without its robots.txt nothing of {host} may be asked, {again}")
            }
            Reason::Pace(PaceReason::Delay {
                micros,
                by: DelayBy::CrawlDelay | DelayBy::Parked,
            }) => {
                let span = span_text(Duration::from_micros(micros));
                format!(
                    "robots.txt of {host} asks for a Crawl-delay of {span}; its next turn is not {again}"
                )
            }
            Reason::Backoff(BackoffReason::Retry { .. }) => {
                let caused = caused.unwrap_or_else(|| format!("a request to {host} failed"));
                format!("{caused}; the URL is not tried again {again}")
            }
            Reason::Stop(StopReason::Ordered) => format!("{host} is blocked"),
            _ => format!("{host} waits {again}: {}", waiting.why),
        };
        let mut hints = Vec::new();
        if reason == Reason::Stop(StopReason::Ordered) {
            hints.push(format!("`curtsy block {host} --lift` lets it be asked again"));
        } else if let (Some(_), Some(waited)) = (until, waited) {
            let span = patience(waited.saturating_add(waiting.wait));
            hints.push(format!("`--patience {span}` waits for it"));
        }
        if cause.is_some_and(|cause| cause.answer.contains(UNKNOWN_ISSUER)) {
            hints.push("`--ca-file` adds roots".to_owned());
        }
        let forbidden = cause.is_some_and(|cause| cause.answer == "answered 403");
        if forbidden && policy.backoff.forbidden == OnForbidden::BackOff {
            hints.push(
                "`--set backoff.forbidden=permanent` gives up such a URL alone, from then on"
                    .to_owned(),
            );
        }
        if let (Reason::Backoff(BackoffReason::ToldToWait { .. }), Some((asked, _))) =
            (reason, more_than_asked)
        {
            let asked = asked.as_secs().max(1);
            hints.push(format!(
                "`--set backoff.curve.base={asked}s` waits as long as the site asks, from then on"
            ));
        }
        Wait {
            host: host.to_owned(),
            queued: waiting.queued,
            until: until.map(timestamp),
            wait_ms: until.map(|_| u64::try_from(waiting.wait.as_millis()).unwrap_or(u64::MAX)),
            gate: waiting.gate.name(),
            url: cause.map(|cause| shown_url(cause.url.as_str())),
            answer: cause.map(|cause| cause.answer.clone()),
            at: cause.map(|cause| timestamp(cause.at)),
            why,
            hints,
        }
    }
}

/// Returns a duration for `--patience` that outlasts a wait: a fifth more, in seconds, minutes or
/// hours.
fn patience(wait: Duration) -> String {
    let secs = wait.as_secs() * 6 / 5 + 1;
    let minutes = secs.div_ceil(60);
    match secs {
        0..120 => format!("{secs}s"),
        120..7200 => format!("{minutes}m"),
        _ => format!("{}h", minutes.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use curtsy_core::policy::{Layers, Reach};
    use curtsy_core::url::{CrawlUrl, HostKey};

    #[test]
    fn patience_outlasts_the_wait() {
        for (secs, expected) in
            [(1, "2s"), (50, "61s"), (900, "19m"), (7200, "3h"), (86_400, "29h")]
        {
            assert_eq!(patience(Duration::from_secs(secs)), expected);
        }
    }

    fn told_to_wait(asked: Option<Duration>, waited: Option<Duration>) -> Wait {
        let policy = Layers::default().settle(Reach::AllowedNet).unwrap().policy;
        let wait = Duration::from_secs(300);
        let now = Time::from_secs(1_704_067_200);
        let waiting = Waiting {
            host: HostKey::parse("example.org").unwrap(),
            until: now + wait,
            wait,
            queued: 1,
            why: String::new(),
            gate: Gate::Backoff,
            reason: Reason::Backoff(BackoffReason::ToldToWait { micros: 1_022_000_000, streak: 1 }),
        };
        let url = CrawlUrl::parse("https://example.org/b").unwrap();
        let cause = Setback { url, answer: "answered 429".to_owned(), asked, at: now };
        Wait::new(&waiting, Some(&cause), &policy, now, waited)
    }

    #[test]
    fn the_advice_counts_what_was_waited_already() {
        let secs = Duration::from_secs;
        let hint = |waited| told_to_wait(None, waited).hints;
        assert_eq!(hint(Some(secs(0))), ["`--patience 7m` waits for it"]);
        assert_eq!(hint(Some(secs(301))), ["`--patience 13m` waits for it"]);
        assert_eq!(hint(None), [""; 0], "a crawl that was stopped did not run out of patience");
    }

    #[test]
    fn a_wait_that_is_longer_than_the_site_asked_for_says_so() {
        let said = told_to_wait(Some(Duration::from_secs(15)), None);
        assert!(
            said.why.contains(
                "answered 429 at 00:00:00 UTC and asked for 15 s; careful waits at least 15 min, this time 17 min 2 s, before"
            ),
            "{}",
            said.why
        );
        assert!(said.hints[0].starts_with("`--set backoff.curve.base=15s`"), "{:?}", said.hints);
        // A wait as long as the site asked for needs no explanation.
        let said = told_to_wait(Some(Duration::from_secs(3600)), None);
        assert!(!said.why.contains("asked for"), "{}", said.why);
    }
}
