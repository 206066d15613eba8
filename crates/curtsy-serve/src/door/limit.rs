//! How often one address may do something: so many at once, and as many again in a minute.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Instant;

/// Addresses that are remembered; when there are more, those that are full again are forgotten.
pub(crate) const ADDRESSES_MAX: usize = 10_000;

pub(super) struct RateLimit {
    a_minute: f64,
    left: HashMap<IpAddr, (f64, Instant)>,
}

impl RateLimit {
    pub(super) fn new(a_minute: u32) -> RateLimit {
        RateLimit { a_minute: a_minute.into(), left: HashMap::new() }
    }

    /// Takes one; false if none is left.
    pub(super) fn take(&mut self, who: IpAddr) -> bool {
        let left = self.now(who);
        if left < 1.0 {
            return false;
        }
        if self.left.len() >= ADDRESSES_MAX {
            let (full, now) = (self.a_minute, Instant::now());
            self.left.retain(|_, (left, at)| *left + grown(full, now, *at) < full);
        }
        self.left.insert(who, (left - 1.0, Instant::now()));
        true
    }

    /// Whether none is left.
    pub(super) fn is_empty(&self, who: IpAddr) -> bool {
        self.now(who) < 1.0
    }

    fn now(&self, who: IpAddr) -> f64 {
        let full = self.a_minute;
        let now = Instant::now();
        self.left.get(&who).map_or(full, |(left, at)| (left + grown(full, now, *at)).min(full))
    }
}

fn grown(a_minute: f64, now: Instant, at: Instant) -> f64 {
    now.duration_since(at).as_secs_f64() / 60.0 * a_minute
}
