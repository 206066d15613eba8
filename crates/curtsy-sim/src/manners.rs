//! What a policy promises, in the judge's own terms.
//!
//! The judge knows no policy, so that an error in reading one can't hide from it; somebody has to
//! translate. Chance only ever lengthens our waits, so what is promised of a curve is the curve
//! without its jitter.

use std::time::Duration;

use curtsy_core::policy::{CacheMode, Curve, Forbidden, Growth, OnForbidden, Policy, Unreachable};
use curtsy_judge::{Access, HostManners, Manners};

/// The promises that a policy makes.
///
/// ```
/// use curtsy_core::policy::{Policy, Preset};
/// use curtsy_judge::Manners;
/// let promised = curtsy_sim::manners_of(&Policy::preset(Preset::Careful));
/// assert_eq!(promised.delay_min, Manners::default().delay_min);
/// ```
pub fn manners_of(policy: &Policy) -> Manners {
    let hosts = policy.host.iter().map(|(host, section)| {
        let manners = HostManners {
            delay: section.delay,
            slots: section.slots.map(u16::from),
            retries: section.retries,
            // A policy bounds the pages of a job, not of a host.
            pages: None,
        };
        (host.clone(), manners)
    });
    // Risk raises the delay up to that of its high level; liveness is measured against the largest
    // that may be in force.
    let risk_delay = if policy.risk.active { policy.risk.delay[2] } else { Duration::ZERO };
    Manners {
        product: Some(policy.product_token().to_owned()),
        delay_min: policy.pace.delay_min,
        delay_max: policy.pace.delay_max.max(risk_delay),
        adaptive: policy.pace.adaptive.then_some(policy.pace.adaptive_max),
        crawl_delay_park: policy.pace.crawl_delay_park,
        slots: policy.slots.per_host.into(),
        address_slots: policy.slots.per_address,
        robots_ttl: policy.robots.ttl,
        deny_ttl: policy.robots.deny_ttl,
        unreachable: match policy.robots.unreachable {
            Unreachable::Allow => Access::Allow,
            Unreachable::Deny => Access::Deny,
        },
        forbidden: match policy.robots.forbidden {
            Forbidden::Allow => Access::Allow,
            Forbidden::Deny => Access::Deny,
        },
        keep_last_good: policy.robots.keep,
        robots_chain: policy.robots.chain_deadline,
        redirects_max: Some(policy.body.redirects_max),
        backoff: curve_of(&policy.backoff.curve),
        backs_off_on_403: policy.backoff.forbidden == OnForbidden::BackOff,
        retries: policy.retry.max,
        retry: curve_of(&policy.retry.curve),
        breaker_failures: policy.breaker.failures,
        breaker_waits: waits_of(&policy.breaker.curve),
        cache_mode: match policy.cache.mode {
            CacheMode::Off => curtsy_judge::CachePromise::Off,
            CacheMode::Http => curtsy_judge::CachePromise::Http,
            CacheMode::Validators => curtsy_judge::CachePromise::Validators,
            CacheMode::Fixed => curtsy_judge::CachePromise::Fixed,
        },
        fresh_for: policy.cache.ttl,
        pages: policy.budget.pages,
        // Whoever waits no longer for the first byte may never have heard the answer.
        heard_within: policy.timeout.first_byte.min(policy.timeout.whole),
        hosts: hosts.collect(),
        ..Manners::default()
    }
}

fn curve_of(curve: &Curve) -> curtsy_judge::WaitCurve {
    curtsy_judge::WaitCurve {
        base: curve.base,
        growth: match curve.growth {
            Growth::Times(factor) => curtsy_judge::WaitGrowth::Times(factor),
            Growth::Fibonacci => curtsy_judge::WaitGrowth::Fibonacci,
        },
        cap: curve.cap,
    }
}

/// The waits of a curve one by one, up to the one that repeats.
fn waits_of(curve: &Curve) -> Vec<Duration> {
    let (base, cap) = (curve.base.as_secs_f64(), curve.cap.as_secs_f64());
    let (mut this, mut next) = (1.0f64, 1.0f64);
    let mut waits = Vec::new();
    while waits.len() < WAITS_MAX {
        waits.push(Duration::from_secs_f64((base * this).min(cap)));
        if base * this >= cap {
            break;
        }
        (this, next) = match curve.growth {
            Growth::Times(factor) => (this * factor, next),
            Growth::Fibonacci => (next, this + next),
        };
    }
    waits
}

/// A curve that doesn't grow repeats its first wait; one that grows has reached any cap of ours
/// long before.
const WAITS_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use curtsy_core::policy::Preset;

    #[test]
    fn careful_promises_what_the_judge_expects_by_default() {
        let promised = manners_of(&Policy::preset(Preset::Careful));
        let expected = Manners {
            product: Some("curtsy".to_owned()),
            retry: promised.retry,
            ..Manners::default()
        };
        assert_eq!(promised, expected);
    }

    #[test]
    fn probes_of_every_preset_come_after_30_60_120_240_300_seconds() {
        for preset in Preset::ALL {
            let waits = manners_of(&Policy::preset(*preset)).breaker_waits;
            assert_eq!(waits, [30, 60, 120, 240, 300].map(Duration::from_secs), "{preset:?}");
        }
    }

    #[test]
    fn a_survey_may_wait_as_long_as_its_risk_asks() {
        let promised = manners_of(&Policy::preset(Preset::Survey));
        assert_eq!(promised.delay_min, Duration::from_millis(1000));
        assert_eq!(promised.delay_max, Duration::from_millis(2000));
    }

    #[test]
    fn a_host_keeps_its_own_section() {
        let policy = Policy::parse("[host.\"a.test\"]\ndelay = '0s'\nslots = 4").unwrap();
        let host = &manners_of(&policy).hosts["a.test"];
        assert_eq!(host.delay, Some((Duration::ZERO, Duration::ZERO)));
        assert_eq!((host.slots, host.retries, host.pages), (Some(4), None, None));
    }

    #[test]
    fn a_curve_that_never_reaches_its_cap_ends() {
        let curve = Curve {
            base: Duration::from_secs(1),
            growth: Growth::Times(1.0),
            cap: Duration::from_secs(2),
            jitter_percent: (0, 0),
        };
        assert_eq!(waits_of(&curve).len(), WAITS_MAX);
        let fibonacci = Curve { growth: Growth::Fibonacci, cap: Duration::from_secs(6), ..curve };
        assert_eq!(waits_of(&fibonacci), [1, 1, 2, 3, 5, 6].map(Duration::from_secs));
    }
}
