//! Putting back what a store lost.
//!
//! A worker that finds its last receipt gone writes what it remembers again, by maximum: a wait can come back, a success can't take
//! one away.

use std::time::Duration;

use super::robots::RobotsStanding;
use super::{HostState, Risk};
use crate::time::Time;

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

    /// The state of a host that is tried anew because settings of ours have changed: what was held against it while no request of ours could
    /// reach it goes. None if there is nothing to change. What the host itself said stays, and so does its pace.
    pub fn tried_anew(&self, now: Time) -> Option<HostState> {
        let mut state = self.clone();
        let all = state.robots.iter_mut().chain(&mut state.more_robots);
        for robots in all {
            let unheard = robots.failing_since.is_some_and(|since| robots.asked_by < since);
            if unheard && let RobotsStanding::Unreachable(retry) = &mut robots.standing {
                *retry = now.min(*retry);
                robots.last_wait = Duration::ZERO;
            }
        }
        if state.last_ok.is_none() && state.all_robots().all(|r| r.asked_by == Time::START) {
            state.breaker.close();
        }
        (state != *self).then_some(state)
    }

    /// Takes over from `remembered` everything that lengthens a wait, its robots.txt, and its leases that have not run out: some may
    /// have ended since, but nobody can know.
    pub fn restore(&mut self, remembered: &HostState, now: Time) {
        self.turn = self.turn.max(remembered.turn);
        self.dialled_at = self.dialled_at.max(remembered.dialled_at);
        self.last_start = self.last_start.max(remembered.last_start);
        for lease in remembered.in_flight(now) {
            if self.lease(lease.id).is_none() {
                self.leases.push(*lease);
            }
        }
        for theirs in remembered.all_robots() {
            match self.robots_mut(theirs.scheme, theirs.port) {
                Some(ours) if theirs.is_newer_than(ours) => {
                    let older = ours.clone();
                    ours.clone_from(theirs);
                    ours.keep_good(&older);
                }
                Some(ours) => ours.keep_good(theirs),
                None => self.add_robots(theirs.clone()),
            }
        }
        let (ours, theirs) = (&mut self.backoff, &remembered.backoff);
        if theirs.until > ours.until {
            // The lease that brought it may be of the old count.
            (ours.until, ours.generation) = (theirs.until, theirs.generation);
        }
        ours.streak = ours.streak.max(theirs.streak);
        ours.last_wait = ours.last_wait.max(theirs.last_wait);
        if remembered.breaker.until > self.breaker.until {
            self.breaker = remembered.breaker.clone();
        } else if self.last_ok <= remembered.last_ok {
            // No ordinary answer since: the row of failures goes on.
            self.breaker.failures = self.breaker.failures.max(remembered.breaker.failures);
            self.breaker.failed_at = self.breaker.failed_at.max(remembered.breaker.failed_at);
        }
        if remembered.risk.as_of > self.risk.as_of {
            let score = self.risk.score.max(remembered.risk.score);
            self.risk = Risk { score, ..remembered.risk.clone() };
        } else {
            self.risk.score = self.risk.score.max(remembered.risk.score);
        }
        self.latency.restore(&remembered.latency);
        self.handshake.ms = self.handshake.ms.max(remembered.handshake.ms);
        self.handshake.seen = self.handshake.seen.max(remembered.handshake.seen);
        self.last_ok = self.last_ok.max(remembered.last_ok);
        self.unreached = self.unreached.or(remembered.unreached);
    }
}
