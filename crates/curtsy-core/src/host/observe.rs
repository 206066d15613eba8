//! Taking in what happened.
//!
//! An observation belongs to a permit and is applied to the newest state, whoever wrote that. If the lease is gone from it, the
//! observation was taken in already or the lease ran out: then only what lengthens a wait is kept.

use std::time::Duration;

use super::admit::Scene;
use super::outcome::{Class, Outcome};
use super::robots::RobotsNews;
use super::{HostState, Kind, MARGIN_MIN, Permit, Risk};
use crate::chance::{Purpose, draw};
use crate::policy::{self, Policy};
use crate::robots::RobotsClass;
use crate::time::{Time, micros};

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
        let mut state = self.clone();
        let lease = *permit.lease();
        let ours = state.lease(lease.id).is_some();
        let mut settled = Settled { ours, ..Settled::default() };
        if seen.ended.is_some() {
            state.leases.retain(|l| l.id != lease.id && l.until > scene.now);
        }
        if seen.outcome == Outcome::NotSent {
            if ours {
                state.hand_back(permit, scene.now);
            }
            return (state, settled);
        }
        state.settle_start(permit, seen);
        if seen.outcome.class() == Class::Ours {
            if ours && permit.lease().probe {
                state.unbook_probe(scene.now);
            }
            return (state, settled);
        }
        if seen.outcome.refuses(scene.policy) {
            state.refused(lease.generation, &seen.outcome, scene);
        }
        let Some(ended) = seen.ended else {
            return (state, settled);
        };
        if !ours {
            state.keep_waits(permit, seen, ended, scene);
            return (state, settled);
        }
        state.unreached = None;
        let outcome = said_of_host(&seen.outcome, permit.approach().kind);
        state.note_outcome(&outcome, scene, Some(permit), ended, &mut settled);
        if let Some(latency) = seen.latency
            && seen.outcome.class() == Class::Good
        {
            state.latency.note(latency);
        }
        if let Some(news) = &seen.robots {
            let authority = permit.approach().authority();
            // Without a byte sent, the server has not seen us ask.
            let asked = seen.sent.map(|_| asked_when(permit, seen));
            let policy = &scene.policy.robots;
            state.learn_robots(&authority, news.clone(), policy, asked, scene.now);
        }
        (state, settled)
    }

    /// The lease is gone: what was seen was taken in already, or its lease ran out while the store was away. Either way a failure that
    /// lengthens a wait is told once more, by maximum and as of its end.
    fn keep_waits(&mut self, permit: &Permit, seen: &Observation, ended: Time, scene: &Scene<'_>) {
        if self.breaker.is_open()
            && matches!(seen.outcome.class(), Class::SiteWide | Class::Ambiguous)
        {
            self.lengthen_outage(scene, ended);
        }
        let authority = permit.approach().authority();
        let unknown =
            self.robots_of(&authority).is_none_or(|known| known.asked_at < permit.turn_at());
        if let Some(news @ RobotsNews::Answer { class: RobotsClass::Unreachable, .. }) =
            &seen.robots
            && unknown
        {
            let asked = Some(asked_when(permit, seen));
            self.learn_robots(&authority, news.clone(), &scene.policy.robots, asked, ended);
        }
    }

    /// Takes in that no line could be made. Dialling counts as a start: it reached the server, or tried to.
    pub fn observe_no_line(&self, outcome: &Outcome, scene: &Scene<'_>) -> (HostState, Settled) {
        let mut state = self.clone();
        let mut settled = Settled { ours: true, ..Settled::default() };
        state.turn = state.turn.wrapping_add(1);
        state.last_start = state.last_start.max(Some(scene.now));
        state.note_dial(scene.now, None);
        if outcome.class() == Class::Ours {
            return (state, settled);
        }
        if let Outcome::Failed(problem) = outcome {
            state.unreached = Some(*problem).filter(|problem| problem.is_unreached());
        }
        if state.breaker.is_open() {
            // The failed dial was the probe.
            state.book_probe(scene.policy, scene.seed, scene.now);
            settled.probe_in = state.breaker.until.map(|until| until - scene.now);
            return (state, settled);
        }
        state.note_outcome(outcome, scene, None, scene.now, &mut settled);
        (state, settled)
    }

    /// Takes failures back that turned out to be ours: our own network, DNS, descriptors or disk.
    pub fn forgive(&mut self, failures: u8) {
        self.breaker.failures = self.breaker.failures.saturating_sub(failures);
        if self.breaker.level == 1 {
            // It was opened by failures that were ours.
            (self.breaker.level, self.breaker.until) = (0, None);
        }
    }

    /// Tells what is known of the start while an exchange goes on, so that the next turn need not wait for window and margin.
    pub fn confirm_start(&self, permit: &Permit, sent: Time) -> HostState {
        let mut state = self.clone();
        if state.turn == permit.lease().turn && state.lease(permit.lease().id).is_some() {
            state.last_start = Some(sent + HostState::margin(permit.delay()));
        }
        state
    }

    /// If this was the last start booked, replaces its bound by what is known now.
    fn settle_start(&mut self, permit: &Permit, seen: &Observation) {
        if self.turn != permit.lease().turn || self.last_start.is_none() {
            return;
        }
        // A first byte proves that the server had read the request; without one, margin covers its late reading.
        let by_sending = seen.sent.map(|sent| sent + HostState::margin(permit.delay()));
        let start = match (seen.first_byte, by_sending) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b).unwrap_or(permit.send_by() + HostState::margin(permit.delay())),
        };
        self.last_start = Some(start);
    }

    /// Gives a turn back that was not used.
    fn hand_back(&mut self, permit: &Permit, now: Time) {
        if self.turn == permit.lease().turn {
            // The turn before is not known any more, but this one came after it: its turn time less the delay is a bound.
            self.last_start = Some(permit.turn_at().back(permit.delay()));
        }
        if permit.lease().probe {
            self.unbook_probe(now);
        }
    }

    fn note_outcome(
        &mut self,
        outcome: &Outcome,
        scene: &Scene<'_>,
        permit: Option<&Permit>,
        ended: Time,
        settled: &mut Settled,
    ) {
        let lease = permit.map(Permit::lease);
        self.risk.note(outcome, scene);
        match outcome.class() {
            Class::SiteWide | Class::Ambiguous => {
                let probe = lease.is_some_and(|l| l.probe);
                let opened = self.note_failure(scene, lease, ended);
                if opened || probe {
                    settled.probe_in = self.breaker.until.map(|until| until - scene.now);
                }
            }
            Class::Nothing | Class::Ours => {}
            class => {
                // Only the probe's own result moves an open breaker.
                if !self.breaker.is_open() {
                    self.breaker.answered(ended);
                } else if lease.is_some_and(|l| l.probe) {
                    self.breaker.close();
                    settled.closed = true;
                }
                if class != Class::ToldToWait {
                    self.last_ok = self.last_ok.max(Some(scene.now));
                }
            }
        }
        if outcome.is_ordinary()
            && let Some(permit) = permit
        {
            self.clear_backoff(permit);
        }
    }

    /// A success clears a wait only if it was granted after the wait and nothing was refused since.
    fn clear_backoff(&mut self, permit: &Permit) {
        let current = permit.lease().generation == self.backoff.generation;
        let after = self.backoff.until.is_none_or(|until| permit.turn_at() >= until);
        if current && after {
            self.backoff.until = None;
            self.backoff.streak = 0;
            self.backoff.last_wait = Duration::ZERO;
        }
    }

    /// The host refused or told us to wait.
    fn refused(&mut self, generation: u32, outcome: &Outcome, scene: &Scene<'_>) {
        let told = match outcome {
            Outcome::Answered { retry_after, .. } => retry_after.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        let backoff = &mut self.backoff;
        if generation == backoff.generation {
            let chance = draw(scene.seed, self.turn, Purpose::Backoff);
            let own = scene.policy.backoff.curve.wait(u32::from(backoff.streak), chance);
            backoff.streak = backoff.streak.saturating_add(1);
            backoff.generation = backoff.generation.wrapping_add(1);
            backoff.last_wait = own.max(told).max(backoff.last_wait);
        }
        // One that was told twice, or was under way when another came, only moves the wait later.
        backoff.last_wait = backoff.last_wait.max(told);
        let wait =
            if generation.wrapping_add(1) == backoff.generation { backoff.last_wait } else { told };
        let wait = wait.max(scene.policy.backoff.curve.base);
        backoff.until = backoff.until.max(Some(scene.now + wait + MARGIN_MIN));
    }
}

/// What an answer says of its host. A 501 to `HEAD` speaks of the method, as a 405 does: the host is there.
fn said_of_host(outcome: &Outcome, kind: Kind) -> Outcome {
    match *outcome {
        Outcome::Answered { status: 501, retry_after, friction } if kind == Kind::Probe => {
            Outcome::Answered { status: 405, retry_after, friction }
        }
        other => other,
    }
}

/// When a robots.txt was asked for, at the earliest and at the latest.
fn asked_when(permit: &Permit, seen: &Observation) -> (Time, Time) {
    let latest = seen.first_byte.or(seen.sent).unwrap_or(permit.send_by()) + MARGIN_MIN;
    (permit.turn_at(), latest)
}

impl Risk {
    /// The score at `now`, decayed and rounded: 0 to 100.
    pub fn score(&self, policy: &policy::Risk, now: Time) -> u8 {
        self.exact(policy, now).round() as u8
    }

    fn exact(&self, policy: &policy::Risk, now: Time) -> f32 {
        let Some(as_of) = self.as_of else { return 0.0 };
        let days = micros(now - as_of) as f64 / 86_400e6;
        let left = (f64::from(policy.daily_percent) / 100.0).powf(days);
        (f64::from(self.score) * left).clamp(0.0, 100.0) as f32
    }

    fn note(&mut self, outcome: &Outcome, scene: &Scene<'_>) {
        let (policy, now) = (&scene.policy.risk, scene.now);
        match outcome.friction_points() {
            Some(points) => {
                self.score = (self.exact(policy, now) + f32::from(points)).min(100.0);
                self.as_of = Some(now);
                if self.streak == 0 || self.since < Some(scene.job.started_at) {
                    // A row is one run's own: what an earlier run met does not stop this one.
                    (self.streak, self.since) = (0, Some(now));
                }
                self.streak = self.streak.saturating_add(1);
            }
            None if outcome.is_ordinary() => {
                self.streak = 0;
                self.since = None;
            }
            None => {}
        }
    }
}

/// Lets a face ask for the score without a scene.
impl HostState {
    /// The risk score at `now`.
    pub fn risk_score(&self, policy: &Policy, now: Time) -> u8 {
        self.risk.score(&policy.risk, now)
    }
}
