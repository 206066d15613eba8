//! A host's state after its history was forgotten, or after settings have changed.

use std::time::Duration;

use super::{HostState, RobotsStanding};
use crate::time::Time;

/// Why a host is tried anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anew {
    /// Settings of ours have changed.
    Settings,
    /// The host is this machine, and its user begins a crawl: the last connection found nobody who listens, so nobody was asked.
    OwnMachine,
}

impl HostState {
    /// The state of a host whose history is to be forgotten: risk and times of answers go. What the host may still ask for stays:
    /// starts and requests in flight, waits, and what its robots.txt says for as long as that is in force.
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

    /// The state of a host that is tried anew: what was held against it while no request of ours could reach it goes. None if there is
    /// nothing to change. What the host itself said stays, and so does its pace.
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
