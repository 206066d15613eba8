//! Taking in what happened.
//!
//! An observation belongs to a permit and is applied to the newest state, whoever wrote that. If the lease is gone from it, the
//! observation was taken in already or the lease ran out: then only what lengthens a wait is kept.

use std::time::Duration;

use super::gates::{Heard, Step};
use super::{HostState, Outcome, Permit, RobotsNews, Scene};
use crate::time::Time;

/// What one request came to, in the store's clock.
#[derive(Clone, Debug)]
pub struct Observation {
    /// What the web did.
    pub outcome: Outcome,
    /// The latest moment at which our first byte can have left, if it left.
    pub sent: Option<Time>,
    /// The latest moment of the answer's first byte, if one came: by then the server had read the request.
    pub first_byte: Option<Time>,
    /// How long the first byte took.
    pub latency: Option<Duration>,
    /// What was learnt about robots.txt, if that was asked for.
    pub robots: Option<RobotsNews>,
    /// When the exchange ended; none while it goes on: a refusal is told already when its head is read.
    pub ended: Option<Time>,
}

/// What an observation changed, beyond the state itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// The breaker opened, or stayed open with a longer wait: the next probe is due after this.
    pub probe_in: Option<Duration>,
    /// The breaker closed.
    pub closed: bool,
    /// Whether this permit's lease was still there.
    pub ours: bool,
}

impl HostState {
    /// Takes in what a request came to. The permit stays open until the commit of the new state is receipted.
    pub fn observe(
        &self,
        permit: &Permit,
        seen: &Observation,
        scene: &Scene<'_>,
    ) -> (HostState, Settled) {
        let ours = self.lease(permit.lease().id).is_some();
        let outcome = seen.outcome.said_by_host(permit.approach().kind);
        let at = seen.ended.unwrap_or(scene.now);
        self.hear(Step::Sent { permit, seen, ours }, outcome, at, scene)
    }

    /// Takes in that no line could be made.
    pub fn observe_no_line(&self, outcome: &Outcome, scene: &Scene<'_>) -> (HostState, Settled) {
        self.hear(Step::NoLine, *outcome, scene.now, scene)
    }

    fn hear(
        &self,
        step: Step<'_>,
        outcome: Outcome,
        at: Time,
        scene: &Scene<'_>,
    ) -> (HostState, Settled) {
        let mut state = self.clone();
        let ours = !matches!(step, Step::Sent { ours: false, .. });
        let mut settled = Settled { ours, ..Settled::default() };
        let class = outcome.class();
        state.learn(&Heard { step, outcome, class, at, scene }, &mut settled);
        (state, settled)
    }
}
