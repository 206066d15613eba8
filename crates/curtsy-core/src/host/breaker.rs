//! When a host counts as down, and how it is tried again.
//!
//! Five site-wide failures in a row open the breaker. While it is open nothing of the host is asked but one probe at a time, after
//! 30, 60, 120, 240, 300 s…; only the probe's own result moves it. The probe's wait is booked with its grant: if the worker dies
//! with it, the server saw a start all the same, and the next one keeps the longer gap.

use super::{Breaker, HostState, Lease, MARGIN_MIN, Scene};
use crate::chance::{Purpose, draw};
use crate::policy::Policy;
use crate::time::Time;

impl Breaker {
    /// Whether the host counts as down, a probe on its way included.
    pub fn is_open(&self) -> bool {
        self.level > 0
    }

    /// Closes it.
    pub(super) fn close(&mut self) {
        *self = Breaker::default();
    }

    /// The host answered something, and that ended at `ended`: failures until then are over. How many came after is not kept, so all
    /// of them count on.
    pub(super) fn answered(&mut self, ended: Time) {
        if self.failed_at <= Some(ended) {
            (self.failures, self.failed_at) = (0, None);
        }
    }
}

impl HostState {
    /// Books a probe: the wait that follows if it fails, or is never heard of again, counts from its latest start.
    pub(super) fn book_probe(&mut self, policy: &Policy, seed: u64, from: Time) {
        let wait = self.breaker_wait(policy, seed, u32::from(self.breaker.level));
        self.breaker.level = self.breaker.level.saturating_add(1);
        self.breaker.until = Some(from + wait);
    }

    /// Takes a booked probe back that was never sent.
    pub(super) fn unbook_probe(&mut self, now: Time) {
        // One level is what `book_probe` added; an open breaker keeps at least one.
        self.breaker.level = self.breaker.level.saturating_sub(1).max(1);
        self.breaker.until = Some(now);
    }

    /// Counts a site-wide failure that ended at `ended`. Returns whether it opened the breaker.
    pub(super) fn note_failure(
        &mut self,
        scene: &Scene<'_>,
        lease: Option<&Lease>,
        ended: Time,
    ) -> bool {
        let (policy, seed, at) = (scene.policy, scene.seed, scene.now);
        let probe = lease.is_some_and(|l| l.probe);
        if self.breaker.is_open() {
            // Only the probe moves an open breaker: it raised the level when it was booked, and this is the wait that belongs to it, now
            // from the end of the failure. One that was in flight when it opened may fail later still: the wait counts from then.
            self.lengthen_outage(scene, at);
            self.breaker.failures = self.breaker.failures.saturating_add(u8::from(probe));
            return false;
        }
        self.breaker.failures = self.breaker.failures.saturating_add(1);
        self.breaker.failed_at = self.breaker.failed_at.max(Some(ended));
        if self.breaker.failures < policy.breaker.failures {
            return false;
        }
        self.breaker.level = 1;
        self.breaker.until = Some(at + self.breaker_wait(policy, seed, 0));
        true
    }

    /// The wait of an open breaker counts from this end of a failure, if that is later.
    pub(super) fn lengthen_outage(&mut self, scene: &Scene<'_>, ended: Time) {
        let level = u32::from(self.breaker.level.saturating_sub(1));
        let wait = self.breaker_wait(scene.policy, scene.seed, level);
        self.breaker.until = self.breaker.until.max(Some(ended + wait));
    }

    fn breaker_wait(&self, policy: &Policy, seed: u64, n: u32) -> std::time::Duration {
        let wait = policy.breaker.curve.wait(n, draw(seed, self.turn, Purpose::Breaker));
        wait + MARGIN_MIN
    }
}
