//! The backoff gate: waits that a host demanded, and the waits of a URL between its tries.
//!
//! A Retry-After is the least wait for every worker. Waits never shrink within a streak. Only the
//! success of a request that was granted after the wait, with no refusal since, ends the streak.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Errand, GateCase, GateCheck, RequestNews, RequestStep, SlotEnds, Telling};
use crate::chance::{Purpose, draw};
use crate::evidence::{counted, span_text};
use crate::host::{
    BookedTurn, Finding, HostChanges, HostState, MARGIN_MIN, Outcome, RequestKind, Scene, Verdict,
};
use crate::time::{Time, micros};

/// Keeps the waits that the host demanded.
pub(super) struct BackoffGate;

/// The cause of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BackoffReason {
    /// The host demanded a wait or refused a request.
    ToldToWait {
        /// Refusals in a row.
        streak: u8,
        /// The wait, in microseconds.
        micros: u64,
    },
    /// The URL failed and waits for its next try.
    Retry {
        /// Tries so far.
        tries: u8,
    },
}

/// The wait that a host demanded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BackoffState {
    /// Nothing starts before this time.
    pub until: Option<Time>,
    /// The last wait, which the next wait of the streak is never shorter than.
    pub last_wait: Duration,
    /// Refusals in a row.
    pub streak: u8,
    /// Counts the refusals that lengthened the wait. Two refusals at once count as one, and a late
    /// success clears nothing.
    pub generation: u32,
}

impl GateCheck for BackoffGate {
    type Reason = BackoffReason;
    const NAME: &'static str = "backoff";
    const CLEAR: &'static str = "the host has not told us to wait";

    fn of_request(case: &GateCase<'_>, errand: &Errand) -> Option<Finding> {
        let GateCase { host, ask, scene } = *case;
        let of_host = host.backoff.until.map(|until| {
            let (streak, wait) = (host.backoff.streak, host.backoff.last_wait);
            let reason = BackoffReason::ToldToWait { streak, micros: micros(wait) };
            Finding::wait(until, scene.now, reason)
        });
        // The URL's own wait does not delay a request for robots.txt, or the probe of a host that
        // is down.
        let for_host = errand.kind == RequestKind::Robots
            || errand.kind == RequestKind::Probe && host.breaker.is_open();
        let of_url = ask.retry_at.filter(|at| *at > scene.now && !for_host).map(Verdict::NotBefore);
        match (of_url, of_host) {
            (Some(later), of_host) if of_host.is_none_or(|host| later > host.verdict) => {
                Some(Finding::new(later, BackoffReason::Retry { tries: ask.tries }))
            }
            (_, of_host) => of_host,
        }
    }

    fn earliest(host: &HostState, _: &Scene<'_>, _: SlotEnds) -> Time {
        host.backoff.until.unwrap_or(Time::START)
    }

    fn learn(host: &mut HostState, heard: &RequestNews<'_>, _: &mut HostChanges) {
        let RequestStep::Sent { turn, .. } = heard.step else { return };
        if heard.outcome.refuses(heard.scene.policy) {
            host.refused(turn.lease().generation, &heard.outcome, heard.scene);
        }
        if let Some((turn, _)) = heard.ended()
            && heard.outcome.is_ordinary()
        {
            host.backoff.end_streak(turn);
        }
    }

    fn restore(host: &mut HostState, remembered: &HostState, _: Time) {
        let (ours, theirs) = (&mut host.backoff, &remembered.backoff);
        if theirs.until > ours.until {
            // The lease of the remembered refusal may have the older generation.
            (ours.until, ours.generation) = (theirs.until, theirs.generation);
        }
        ours.streak = ours.streak.max(theirs.streak);
        ours.last_wait = ours.last_wait.max(theirs.last_wait);
    }

    fn sentence(reason: BackoffReason, telling: &Telling<'_>) -> String {
        match reason {
            BackoffReason::ToldToWait { streak, micros } => {
                let wait = span_text(Duration::from_micros(micros));
                let refusals = counted(streak, "refusal");
                let over = if telling.waits() { "" } else { "; that is over" };
                format!("told to wait {wait} after {refusals} in a row{over}")
            }
            BackoffReason::Retry { tries: 1 } => "waits for its next try after 1 try".to_owned(),
            BackoffReason::Retry { tries } => format!("waits for its next try after {tries} tries"),
        }
    }
}

tags! {
    BackoffReason { 18 ToldToWait { streak, micros }, 19 Retry { tries } }
}

impl BackoffState {
    /// Ends the streak if the success was granted after the wait and no refusal came since.
    fn end_streak(&mut self, turn: &BookedTurn) {
        let current = turn.lease().generation == self.generation;
        let after = self.until.is_none_or(|until| turn.at() >= until);
        if current && after {
            self.until = None;
            self.streak = 0;
            self.last_wait = Duration::ZERO;
        }
    }
}

impl HostState {
    /// Lengthens the wait after a refusal of a request that was granted under `generation`.
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
        // A refusal that was applied before, or was in flight during another one, only moves the
        // wait later.
        backoff.last_wait = backoff.last_wait.max(told);
        let wait =
            if generation.wrapping_add(1) == backoff.generation { backoff.last_wait } else { told };
        let wait = wait.max(scene.policy.backoff.curve.base);
        backoff.until = backoff.until.max(Some(scene.now + wait + MARGIN_MIN));
    }
}
