//! The promises of the crawler, which the judge holds it to.
//!
//! The promises are plain data. The default is that of the `careful` preset; a caller that knows a
//! policy fills them in. The judge does not read policies itself, so an error in reading one cannot
//! hide from it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::rule::Rule;

/// The promises of the crawler.
#[derive(Clone, Debug, PartialEq)]
pub struct Manners {
    /// Whether the crawler is held to these promises, or only to the demands of the site.
    pub held_to: HeldTo,
    /// The product token of the user agent; `None` uses the first in the log.
    pub product: Option<String>,
    /// The least span between two starts on a host.
    pub delay_min: Duration,
    /// The upper end of a random delay, by which liveness is judged.
    pub delay_max: Duration,
    /// The largest delay after slow responses; `None` if the pace does not adapt.
    pub adaptive: Option<Duration>,
    /// A Crawl-delay above this parks the host. Liveness is not judged for a parked host.
    pub crawl_delay_park: Duration,
    /// Requests in flight to one host.
    pub slots: u16,
    /// Requests in flight to one server address; `None` is no limit.
    pub address_slots: Option<u16>,
    /// How long a fetched robots.txt applies.
    pub robots_ttl: Duration,
    /// How long to wait after robots.txt could not be fetched.
    pub deny_ttl: Duration,
    /// The meaning of an unreachable robots.txt.
    pub unreachable: Access,
    /// The meaning of 401 and 403 on robots.txt.
    pub forbidden: Access,
    /// How long the last good robots.txt is obeyed while it is unreachable. After that it counts as
    /// a 404.
    pub keep_last_good: Duration,
    /// How long a chain of robots redirects may take.
    pub robots_chain: Duration,
    /// Redirects of one URL; `None` does not judge the length of chains.
    pub redirects_max: Option<u8>,
    /// The waits after consecutive 429 answers without a Retry-After.
    pub backoff: WaitCurve,
    /// Whether the host waits after a 403 as after a 429.
    pub backs_off_on_403: bool,
    /// Retries of one URL after the first try.
    pub retries: u8,
    /// The least waits before them.
    pub retry: WaitCurve,
    /// How long a URL with a final 4xx is not requested again.
    pub settled_for: Duration,
    /// Consecutive site-wide failures after which a host counts as down.
    pub breaker_failures: u8,
    /// The least gaps between probes of a host that is down. The last one repeats.
    pub breaker_waits: Vec<Duration>,
    /// What decides how long a page is fresh.
    pub cache_mode: CachePromise,
    /// How long a page without caching headers is fresh.
    pub fresh_for: Duration,
    /// How long the crawler is expected to remember a validator.
    pub validators_for: Duration,
    /// The limit of different pages in the whole log.
    pub pages: Option<u64>,
    /// A response that took longer is not held against the crawler, which may have closed the
    /// connection before.
    pub heard_within: Duration,
    /// The exceptions for single hosts, by name.
    pub hosts: BTreeMap<String, HostManners>,
}

/// What a crawler is held to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeldTo {
    /// All its promises: all rules.
    #[default]
    Promises,
    /// The demands of the site, whether the crawler promised to obey them or not: robots.txt (P2),
    /// Crawl-delay (P4), Retry-After (P7), and stop orders (P12).
    Wishes,
}

impl HeldTo {
    /// Returns whether this rule is judged.
    pub fn includes(self, rule: Rule) -> bool {
        self == HeldTo::Promises || matches!(rule, Rule::P2 | Rule::P4 | Rule::P7 | Rule::P12)
    }
}

/// The exceptions for one host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostManners {
    /// The least and the largest delay.
    pub delay: Option<(Duration, Duration)>,
    /// Requests in flight.
    pub slots: Option<u16>,
    /// Retries of one URL after the first try.
    pub retries: Option<u8>,
    /// The limit of different pages.
    pub pages: Option<u64>,
}

/// Whether something may be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It may.
    Allow,
    /// It may not.
    Deny,
}

/// How waits grow from one to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaitCurve {
    /// The first wait.
    pub base: Duration,
    /// How each wait follows from the one before.
    pub growth: WaitGrowth,
    /// What the wait never exceeds.
    pub cap: Duration,
}

/// How each wait follows from the one before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WaitGrowth {
    /// Each is this many times the one before.
    Times(f64),
    /// 1, 1, 2, 3, 5, 8… times the base.
    Fibonacci,
}

/// What decides how long a page is fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachePromise {
    /// Nothing is cached: P10 is not judged.
    Off,
    /// Cache-Control, else `fresh_for`.
    Http,
    /// Only validators are judged.
    Validators,
    /// `fresh_for`, whatever the page says. Validators are not expected.
    Fixed,
}

impl WaitCurve {
    /// Returns the wait after the `streak`-th event in a row, counted from 1, in microseconds.
    pub(crate) fn wait(&self, streak: u32) -> u64 {
        let (base, cap) = (micros(self.base), micros(self.cap));
        let steps = streak.saturating_sub(1);
        let wait = match self.growth {
            // A float beyond u64 saturates in the cast, so a long streak ends at the cap.
            WaitGrowth::Times(factor) => {
                (base as f64 * factor.max(1.0).powi(steps.min(1000) as i32)) as u64
            }
            WaitGrowth::Fibonacci => {
                let (mut this, mut next) = (1u64, 1u64);
                for _ in 0..steps.min(90) {
                    (this, next) = (next, this.saturating_add(next));
                }
                base.saturating_mul(this)
            }
        };
        wait.min(cap)
    }
}

impl Manners {
    /// Returns the manners of a crawler that promised nothing: only the demands of the site count,
    /// and in doubt nothing is charged.
    pub fn neutral() -> Manners {
        let none =
            WaitCurve { base: Duration::ZERO, growth: WaitGrowth::Times(1.0), cap: Duration::ZERO };
        Manners {
            held_to: HeldTo::Wishes,
            delay_min: Duration::ZERO,
            delay_max: Duration::ZERO,
            // RFC 9309 §2.4: a crawler may use its copy for a day.
            robots_ttl: Duration::from_secs(86_400),
            deny_ttl: Duration::ZERO,
            unreachable: Access::Allow,
            backoff: none,
            backs_off_on_403: false,
            cache_mode: CachePromise::Off,
            ..Manners::default()
        }
    }
}

impl Default for Manners {
    fn default() -> Manners {
        let seconds = Duration::from_secs;
        Manners {
            held_to: HeldTo::Promises,
            product: None,
            delay_min: seconds(3),
            delay_max: seconds(3),
            adaptive: Some(seconds(30)),
            crawl_delay_park: seconds(300),
            slots: 1,
            address_slots: Some(16),
            robots_ttl: seconds(3600),
            deny_ttl: seconds(300),
            unreachable: Access::Deny,
            forbidden: Access::Allow,
            keep_last_good: seconds(30 * 86_400),
            robots_chain: seconds(60),
            redirects_max: Some(5),
            backoff: WaitCurve {
                base: seconds(900),
                growth: WaitGrowth::Times(2.0),
                cap: seconds(86_400),
            },
            backs_off_on_403: true,
            retries: 3,
            retry: WaitCurve {
                base: seconds(2),
                growth: WaitGrowth::Times(2.0),
                cap: seconds(86_400),
            },
            settled_for: seconds(900),
            breaker_failures: 5,
            breaker_waits: [30, 60, 120, 240, 300].map(seconds).to_vec(),
            cache_mode: CachePromise::Http,
            fresh_for: seconds(900),
            validators_for: seconds(86_400),
            pages: None,
            heard_within: seconds(10),
            hosts: BTreeMap::new(),
        }
    }
}

/// Returns a span in microseconds. Spans beyond half a million years are all equal.
pub(crate) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_grow_to_their_cap_and_stay() {
        let careful = Manners::default().backoff;
        let minutes: Vec<u64> = (1..=9).map(|k| careful.wait(k) / 60_000_000).collect();
        assert_eq!(minutes, [15, 30, 60, 120, 240, 480, 960, 1440, 1440]);
        assert_eq!(careful.wait(u32::MAX), 86_400_000_000);
        let fibonacci = WaitCurve {
            base: Duration::from_secs(1),
            growth: WaitGrowth::Fibonacci,
            cap: Duration::from_secs(600),
        };
        let seconds: Vec<u64> = (1..=8).map(|k| fibonacci.wait(k) / 1_000_000).collect();
        assert_eq!(seconds, [1, 1, 2, 3, 5, 8, 13, 21]);
        assert_eq!(fibonacci.wait(u32::MAX), 600_000_000);
    }
}
