//! What a crawl that ends while hosts must wait says about them: who caused the wait, how long it is, and what can be done.

use std::time::Duration;

use curtsy_core::evidence::{span_text, timestamp};
use curtsy_core::host::{DelayBy, Gate, Reason};
use curtsy_core::policy::{OnForbidden, Policy};
use curtsy_core::time::Time;
use curtsy_sink::UNKNOWN_ISSUER;
use serde::Serialize;

use crate::tally::Setback;
use crate::{Waiting, shown_time, shown_url};

/// A host that must wait longer than a crawl does.
#[derive(Clone, Debug, Serialize)]
pub struct Wait {
    /// The host.
    pub host: String,
    /// Its URLs that are not settled.
    pub queued: u64,
    /// When it may be asked again; none if somebody has to allow it first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// How long that is from now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// The gate at which it waits.
    pub gate: &'static str,
    /// The URL whose answer caused the wait, without the values of its query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What that URL answered, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// All of it as a sentence.
    pub why: String,
    /// What can be done besides waiting.
    pub hints: Vec<String>,
}

impl Wait {
    /// What is said about a host that waits, with the request that caused it, if that is known.
    pub(crate) fn new(
        waiting: &Waiting,
        cause: Option<&Setback>,
        policy: &Policy,
        now: Time,
    ) -> Wait {
        let host = waiting.host.as_str();
        let until = (waiting.until != Time::NEVER).then_some(waiting.until);
        let reason = waiting.reason;
        // A pace is nobody's answer.
        let cause =
            cause.filter(|_| !matches!(waiting.gate, Gate::Pace | Gate::Stop | Gate::Slots));
        let caused = cause.map(|cause| {
            let url = shown_url(cause.url.as_str());
            format!("{url} {} at {}", cause.answer, shown_time(cause.at, now))
        });
        let span = match reason {
            Reason::ToldToWait { micros, .. } => Duration::from_micros(micros),
            _ => waiting.wait,
        };
        let again = match until {
            Some(until) => format!("until {}", shown_time(until, now)),
            None => "until somebody lifts it".to_owned(),
        };
        let preset = policy.preset.name();
        let why = match reason {
            Reason::ToldToWait { .. } => {
                let caused = caused
                    .unwrap_or_else(|| format!("{host} told an earlier or another crawl to wait"));
                let span = span_text(span);
                format!("{caused}; {preset} waits {span} before {host} is asked again ({again})")
            }
            Reason::Down { failures, .. } => {
                let caused = caused.map(|caused| format!(": {caused}")).unwrap_or_default();
                format!(
                    "{host} appears down after {failures} failures in a row{caused}; it is left alone {again}"
                )
            }
            Reason::RobotsUnreachable => {
                let caused =
                    caused.unwrap_or_else(|| format!("robots.txt of {host} could not be fetched"));
                format!("{caused}; without its robots.txt nothing of {host} may be asked, {again}")
            }
            Reason::Delay { micros, by: DelayBy::CrawlDelay | DelayBy::Parked } => {
                let span = span_text(Duration::from_micros(micros));
                format!(
                    "robots.txt of {host} asks for a Crawl-delay of {span}; its next turn is not {again}"
                )
            }
            Reason::Retry { .. } => {
                let caused = caused.unwrap_or_else(|| format!("a request to {host} failed"));
                format!("{caused}; the URL is not tried again {again}")
            }
            Reason::Stopped => format!("{host} is blocked"),
            _ => format!("{host} waits {again}: {}", waiting.why),
        };
        let mut hints = Vec::new();
        if reason == Reason::Stopped {
            hints.push(format!("`curtsy block {host} --lift` lets it be asked again"));
        } else if until.is_some() {
            hints.push(format!("`--patience {}` waits for it", patience(waiting.wait)));
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

/// A span for `--patience` that outlasts a wait: whole minutes, a fifth more.
fn patience(wait: Duration) -> String {
    let minutes = (wait.as_secs() * 6 / 5).div_ceil(60) + 1;
    match minutes {
        0..120 => format!("{minutes}m"),
        _ => format!("{}h", minutes.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_outlasts_the_wait() {
        for (secs, expected) in [(1, "2m"), (900, "19m"), (7200, "3h"), (86_400, "29h")] {
            assert_eq!(patience(Duration::from_secs(secs)), expected);
        }
    }
}
