//! When did this worker last dial a host?
//!
//! New connections to a host are a delay apart, whatever becomes of them (P17). The host's state tells of connections that led to a
//! request or failed; this table also knows those that are being made now, or were made and never used.

use std::collections::BTreeMap;
use std::time::Duration;

use curtsy_core::url::HostKey;

use crate::Mono;

/// Hosts after which those are dropped whose delay has passed.
const PRUNE_AT: usize = 4096;

/// The last dial to each host, as long as it matters.
#[derive(Default)]
pub(crate) struct Dials {
    last: BTreeMap<HostKey, Dial>,
    prune_at: usize,
}

struct Dial {
    at: Mono,
    delay: Duration,
}

impl Dials {
    /// When the host was last dialled, or is about to be.
    pub(crate) fn last(&self, host: &HostKey) -> Option<Mono> {
        self.last.get(host).map(|dial| dial.at)
    }

    /// The host is dialled at `at`, and the next time a delay later at the earliest.
    pub(crate) fn note(&mut self, host: &HostKey, at: Mono, now: Mono, delay: Duration) {
        if self.last.len() >= self.prune_at.max(PRUNE_AT) {
            self.last.retain(|_, dial| dial.at + dial.delay > now);
            // Each entry is looked at a bounded number of times, however many hosts have long delays.
            self.prune_at = self.last.len() * 2;
        }
        self.last.insert(host.clone(), Dial { at, delay });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_past_is_forgotten() {
        let host = |n: u64| HostKey::parse(&format!("h{n}.test")).unwrap();
        let mut dials = Dials::default();
        for n in 0..3 * PRUNE_AT as u64 {
            let now = Mono(n * 1_000);
            dials.note(&host(n), now, now, Duration::from_secs(1));
        }
        assert!(dials.last.len() <= PRUNE_AT, "{}", dials.last.len());
        assert_eq!(dials.last(&host(0)), None);
        assert_eq!(dials.last(&host(12_287)), Some(Mono(12_287_000)));
    }
}
