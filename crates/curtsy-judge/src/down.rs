//! P15: a host that is down is probed, one start at a time, ever more slowly.
//!
//! Five failures in a row that say "the site is down" (no answer, 502, 503 without Retry-After,
//! 504, 52x, and 500, 501, 505) open the breaker. Then one start per gap is allowed, counted from
//! the end of the failure, until another answer comes. Requests that were in flight when the fifth
//! one failed are allowed.

use std::sync::Arc;

use crate::answer::told_to_wait;
use crate::bench::{Bench, DELTA, Earlier, SeenExchange, span};
use crate::exchange::Exchange;
use crate::manners::{Manners, micros};
use crate::rule::Rule;

/// Whether one host looks down.
#[derive(Default)]
pub(crate) struct Down {
    failures: u8,
    last_end: u64,
    open: Option<OpenBreaker>,
    /// Whether the crawler may keep the breaker open for longer than this log can prove.
    unsure: bool,
}

/// A wait after a host failed, and the exchange that caused it.
struct OpenBreaker {
    level: usize,
    wait: u64,
    by: Arc<SeenExchange>,
    probe: Option<Arc<SeenExchange>>,
}

/// What a response shows about the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostHealth {
    /// The host answers.
    Up,
    /// The host is down.
    SiteWide,
    /// The host may be down: 500, 501, 505.
    Ambiguous,
}

impl HostHealth {
    pub(crate) fn of(x: &Exchange) -> HostHealth {
        match x.status {
            None => HostHealth::SiteWide,
            Some(503) if told_to_wait(x).is_some() => HostHealth::Up,
            Some(502..=504 | 520..=529) => HostHealth::SiteWide,
            Some(500 | 501 | 505) => HostHealth::Ambiguous,
            Some(_) => HostHealth::Up,
        }
    }
}

impl Down {
    /// Returns whether the crawler may be waiting for the host, so that liveness is not judged.
    pub(crate) fn may_be_open(&self) -> bool {
        self.open.is_some() || self.unsure
    }

    /// Judges a start on the host.
    pub(crate) fn starts(&mut self, seen: &Arc<SeenExchange>, host: &str, bench: &mut Bench) {
        let Some(open) = &mut self.open else { return };
        let x = &seen.x;
        let end = open.by.x.end;
        if !bench.late(x.at_earliest(), end.saturating_add(DELTA)) {
            return; // on its way already
        }
        bench.judged(Rule::P15);
        let until = end.saturating_add(open.wait);
        if bench.early(x.start, until) {
            if bench.faults.wait_lost(end, x.start) || bench.faults.told_late(end, x.start) {
                bench.excused(Rule::P15);
                return; // started without knowledge of the outage: not a probe
            } else {
                bench.charge(Rule::P15, host, Earlier::Seen(&open.by), x, || {
                    format!(
                        "started {} after the last failure of a host that is down; the gap is {}",
                        span(x.start.saturating_sub(end)),
                        span(open.wait)
                    )
                });
            }
        } else if let Some(probe) = &open.probe
            && bench.coarse == 0
        {
            bench.charge(Rule::P15, host, Earlier::Seen(probe), x, || {
                "started while a probe of a host that is down was in flight".to_owned()
            });
        }
        open.probe = Some(Arc::clone(seen));
    }

    /// Handles an exchange that broke off through no fault of the host. If it was the probe,
    /// another one may start.
    pub(crate) fn lost(&mut self, seen: &Arc<SeenExchange>) {
        if HostHealth::of(&seen.x) == HostHealth::Up {
            // The crawler may have received its head.
            *self = Down { unsure: self.open.is_some(), ..Down::default() };
        } else if let Some(open) = &mut self.open
            && open.probe.as_ref().is_some_and(|p| p.number == seen.number)
        {
            open.probe = None;
        }
    }

    /// Handles the end of an exchange on the host.
    pub(crate) fn ended(&mut self, seen: &Arc<SeenExchange>, manners: &Manners, bench: &Bench) {
        let x = &seen.x;
        let health = HostHealth::of(x);
        let probed = self.open.as_ref().is_some_and(|open| {
            let probe = open.probe.as_ref();
            probe.is_some_and(|probe| probe.number == seen.number)
        });
        if health == HostHealth::Up {
            // A late answer to a request that was in flight closes nothing for a crawler that
            // trusts only its probe.
            let unsure = self.open.is_some() && !probed;
            *self = Down { unsure, ..Down::default() };
            return;
        }
        // Nobody knows a killed worker's failure, and the crawler's own dead network says nothing
        // about the host.
        if bench.faults.cut_off(x) {
            self.lost(seen);
            return;
        }
        match &mut self.open {
            // The crawler may read a 500 on the probe as up or as down.
            Some(_) if probed && health == HostHealth::Ambiguous => {
                *self = Down { unsure: true, ..Down::default() };
            }
            Some(open) if probed => {
                open.level += 1;
                open.wait = gap(manners, open.level);
                open.by = Arc::clone(seen);
                open.probe = None;
            }
            Some(_) => {} // only the probe counts
            None => {
                if bench.faults.store_lost(self.last_end, x.start) {
                    self.failures = 0;
                }
                self.failures = self.failures.saturating_add(1);
                self.last_end = x.end;
                if self.failures >= manners.breaker_failures.max(1) {
                    self.open = Some(OpenBreaker {
                        level: 0,
                        wait: gap(manners, 0),
                        by: Arc::clone(seen),
                        probe: None,
                    });
                }
            }
        }
    }
}

fn gap(manners: &Manners, level: usize) -> u64 {
    let waits = &manners.breaker_waits;
    waits.get(level).or(waits.last()).map_or(0, |&wait| micros(wait))
}
