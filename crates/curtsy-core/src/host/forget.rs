//! Clears a host's history, or what changed settings make obsolete.

use std::time::Duration;

use super::{HostState, RobotsStanding};
use crate::time::Time;

/// Why a host is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anew {
    /// Our own settings have changed.
    Settings,
    /// The host is this machine, and its user begins a crawl. The last connection found no
    /// listener, so no server was asked.
    OwnMachine,
}

impl HostState {
    /// Returns the state without the host's history: risk and latencies. What the host may still
    /// demand stays: starts and requests in flight, waits, and robots.txt as long as it applies.
    pub fn forgotten(&self) -> HostState {
        HostState {
            turn: self.turn,
            last_start: self.last_start,
            leases: self.leases.clone(),
            robots: self.robots.clone(),
            more_robots: self.more_robots.clone(),
            backoff: self.backoff.clone(),
            breaker: self.breaker.clone(),
            dialled_at: self.dialled_at,
            ..HostState::default()
        }
    }

    /// Returns the state without what was held against the host while no request could reach it, or
    /// `None` if nothing changes. What the host itself said stays, and so does its pace.
    pub fn tried_anew(&self, why: Anew, now: Time) -> Option<HostState> {
        if why == Anew::OwnMachine && self.unreached.is_none() {
            return None;
        }
        let mut state = self.clone();
        let all = state.robots.iter_mut().chain(&mut state.more_robots);
        for robots in all {
            let unheard = robots.failing_since.is_some_and(|since| robots.asked_by < since);
            if unheard && let RobotsStanding::Unreachable(retry) = &mut robots.standing {
                *retry = now.min(*retry);
                robots.last_wait = Duration::ZERO;
            }
        }
        let unreached = match why {
            Anew::Settings => {
                state.last_ok.is_none() && state.all_robots().all(|r| r.asked_by == Time::START)
            }
            Anew::OwnMachine => true,
        };
        if unreached {
            state.breaker.close();
        }
        (state != *self).then_some(state)
    }
}
