//! Applies the outcome of a request to the state of its host.
//!
//! An observation belongs to a booked turn and is applied to the newest state, whichever worker
//! wrote that. If the state no longer has the turn's lease, the observation was applied before or
//! the lease ran out: then only what lengthens a wait is kept.

use std::time::Duration;

use super::gates::{RequestNews, RequestStep};
use super::{BookedTurn, HostState, Outcome, RobotsNews, Scene};
use crate::time::Time;

/// The result of one request, in the store's clock.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The outcome.
    pub outcome: Outcome,
    /// The latest moment at which our first byte can have left, if it left.
    pub sent: Option<Time>,
    /// The latest moment of the response's first byte, if one came: by then the server had read the
    /// request.
    pub first_byte: Option<Time>,
    /// The time to the first byte.
    pub latency: Option<Duration>,
    /// News about robots.txt, if the request was for robots.txt.
    pub robots: Option<RobotsNews>,
    /// When the exchange ended; `None` while it goes on. A refusal is observed when its head is
    /// read.
    pub ended: Option<Time>,
}

/// The changes of an observation, beyond the state itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostChanges {
    /// If the breaker opened, or stayed open with a longer wait, the time until the next probe.
    pub probe_in: Option<Duration>,
    /// Whether the breaker closed.
    pub closed: bool,
    /// Whether the state still had the lease of the turn.
    pub ours: bool,
}

impl HostState {
    /// Returns the state after a request, and what that changed. An observation of an exchange that
    /// has ended removes the turn's lease.
    pub fn observe(
        &self,
        turn: &BookedTurn,
        seen: &Observation,
        scene: &Scene<'_>,
    ) -> (HostState, HostChanges) {
        let ours = self.lease(turn.lease().id).is_some();
        let outcome = seen.outcome.said_by_host(turn.approach().kind);
        let at = seen.ended.unwrap_or(scene.now);
        self.hear(RequestStep::Sent { turn, seen, ours }, outcome, at, scene)
    }

    /// Returns the state after a failed connection, and what that changed.
    pub fn observe_no_line(
        &self,
        outcome: &Outcome,
        scene: &Scene<'_>,
    ) -> (HostState, HostChanges) {
        self.hear(RequestStep::NoLine, *outcome, scene.now, scene)
    }

    fn hear(
        &self,
        step: RequestStep<'_>,
        outcome: Outcome,
        at: Time,
        scene: &Scene<'_>,
    ) -> (HostState, HostChanges) {
        let mut state = self.clone();
        let ours = !matches!(step, RequestStep::Sent { ours: false, .. });
        let mut settled = HostChanges { ours, ..HostChanges::default() };
        let class = outcome.class();
        state.learn(&RequestNews { step, outcome, class, at, scene }, &mut settled);
        (state, settled)
    }
}
