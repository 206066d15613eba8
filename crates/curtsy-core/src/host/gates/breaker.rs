//! The breaker gate: when a host counts as down, and how it is probed.
//!
//! Five site-wide failures in a row open the breaker. While it is open, the host gets only one
//! probe at a time, after 30, 60, 120, 240, 300 s… Only the probe's own result moves the breaker.
//! The probe's wait is booked with its grant: if the worker dies with the probe, the server saw a
//! start, and the next one keeps the longer gap.

use serde::{Deserialize, Serialize};

use super::{Booking, Errand, GateCase, GateCheck, RequestNews, RequestStep, SlotEnds, Telling};
use crate::chance::{Purpose, draw};
use crate::evidence::counted;
use crate::host::{
    Class, Finding, HostChanges, HostState, JobView, MARGIN_MIN, Outcome, Problem, Scene,
};
use crate::policy::Policy;
use crate::time::Time;

/// Keeps requests away from a host that is down.
pub(super) struct BreakerGate;

/// The state of an open breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BreakerReason {
    /// The host counts as down.
    Down {
        /// Site-wide failures in a row.
        failures: u8,
        /// The number of the wait, counted from one.
        level: u8,
    },
}

/// Whether a host counts as down.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BreakerState {
    /// Site-wide failures in a row.
    pub failures: u8,
    /// When the last failure ended. An answer that came before and is applied later does not end
    /// the row.
    pub failed_at: Option<Time>,
    /// The number of waits since the breaker opened; zero means closed.
    pub level: u8,
    /// When the next probe may start, if the breaker is open.
    pub until: Option<Time>,
}

impl GateCheck for BreakerGate {
    type Reason = BreakerReason;
    const NAME: &'static str = "breaker";
    const CLEAR: &'static str = "circuit closed: the host answers";

    fn of_request(case: &GateCase<'_>, _: &Errand) -> Option<Finding> {
        let breaker = &case.host.breaker;
        let until = breaker.until.filter(|_| breaker.is_open())?;
        let reason = BreakerReason::Down { failures: breaker.failures, level: breaker.level };
        Some(Finding::wait(until, case.scene.now, reason))
    }

    fn earliest(host: &HostState, _: &Scene<'_>, _: SlotEnds) -> Time {
        host.breaker.until.filter(|_| host.breaker.is_open()).unwrap_or(Time::START)
    }

    fn book(host: &mut HostState, booking: &Booking<'_>) {
        if booking.lease.probe {
            host.book_probe(booking.scene, booking.lease.send_by);
        }
    }

    fn learn(host: &mut HostState, heard: &RequestNews<'_>, settled: &mut HostChanges) {
        match heard.step {
            RequestStep::NoLine if heard.is_theirs() => host.learn_of_no_line(heard, settled),
            RequestStep::NoLine => {}
            // The probe was not sent, or failed on our side.
            RequestStep::Sent { turn, ours: true, .. }
                if !heard.is_theirs() && turn.lease().probe =>
            {
                host.unbook_probe(heard.scene.now);
            }
            RequestStep::Sent { .. } => {}
        }
        if let Some((turn, _)) = heard.ended() {
            host.unreached = None;
            host.learn_of_exchange(heard, turn.lease().probe, settled);
        }
        if let Some((_, seen)) = heard.ended_late()
            && host.breaker.is_open()
            && matches!(seen.outcome.class(), Class::SiteWide | Class::Ambiguous)
        {
            host.lengthen_outage(heard.scene, heard.at);
        }
    }

    fn restore(host: &mut HostState, remembered: &HostState, _: Time) {
        let theirs = &remembered.breaker;
        if theirs.until > host.breaker.until {
            host.breaker = theirs.clone();
        } else if host.last_ok <= remembered.last_ok {
            // No ordinary answer came since, so the row of failures continues.
            host.breaker.failures = host.breaker.failures.max(theirs.failures);
            host.breaker.failed_at = host.breaker.failed_at.max(theirs.failed_at);
        }
        host.last_ok = host.last_ok.max(remembered.last_ok);
        host.unreached = host.unreached.or(remembered.unreached);
    }

    fn sentence(
        BreakerReason::Down { failures, level }: BreakerReason,
        telling: &Telling<'_>,
    ) -> String {
        let due = if telling.waits() { "" } else { "; the probe is due" };
        let failures = counted(failures, "failure");
        format!(
            "circuit open: the host appears down after {failures} in a row, wait {level} is in force{due}"
        )
    }
}

tags! {
    BreakerReason { 20 Down { failures, level } }
}

impl BreakerState {
    /// Returns whether the host counts as down, also while a probe is in flight.
    pub fn is_open(&self) -> bool {
        self.level > 0
    }

    /// Closes the breaker.
    pub(in crate::host) fn close(&mut self) {
        *self = BreakerState::default();
    }

    /// Ends the failures until `ended`, when the host answered. The number of later failures is
    /// unknown, so in that case all of them stay.
    fn answered(&mut self, ended: Time) {
        if self.failed_at <= Some(ended) {
            (self.failures, self.failed_at) = (0, None);
        }
    }
}

impl HostState {
    /// Takes back failures that were our own: network, DNS, descriptors or disk.
    pub fn forgive(&mut self, failures: u8) {
        self.breaker.failures = self.breaker.failures.saturating_sub(failures);
        if self.breaker.level == 1 {
            // Our own failures had opened it.
            (self.breaker.level, self.breaker.until) = (0, None);
        }
    }

    /// Returns whether the last connection could not be made, and that was before this job began.
    pub(super) fn failed_before(&self, scene: &Scene<'_>) -> bool {
        self.unreached.is_some() && self.last_start < Some(scene.job.started_at)
    }

    /// Returns why no connection to the host could be made since the job began, if that is so.
    pub fn never_reached(&self, job: &JobView) -> Option<Problem> {
        let tried = self.last_start >= Some(job.started_at);
        self.unreached.filter(|_| tried && self.last_ok < Some(job.started_at))
    }

    fn learn_of_no_line(&mut self, heard: &RequestNews<'_>, settled: &mut HostChanges) {
        if let Outcome::Failed(problem) = heard.outcome {
            self.unreached = Some(problem).filter(|problem| problem.is_unreached());
        }
        if self.breaker.is_open() {
            // The failed dial was the probe.
            self.book_probe(heard.scene, heard.at);
            settled.probe_in = self.breaker.until.map(|until| until - heard.at);
        } else {
            self.learn_of_exchange(heard, false, settled);
        }
    }

    fn learn_of_exchange(
        &mut self,
        heard: &RequestNews<'_>,
        probe: bool,
        settled: &mut HostChanges,
    ) {
        let scene = heard.scene;
        match heard.class {
            Class::SiteWide | Class::Ambiguous => {
                let opened = self.note_failure(scene, probe, heard.at);
                if opened || probe {
                    settled.probe_in = self.breaker.until.map(|until| until - scene.now);
                }
            }
            Class::Nothing | Class::Ours => {}
            class => {
                // Only the probe's own result moves an open breaker.
                if !self.breaker.is_open() {
                    self.breaker.answered(heard.at);
                } else if probe {
                    self.breaker.close();
                    settled.closed = true;
                }
                if class != Class::ToldToWait {
                    self.last_ok = self.last_ok.max(Some(scene.now));
                }
            }
        }
    }

    /// Books a probe. The wait after it counts from its latest start, in case it fails or no result
    /// comes.
    fn book_probe(&mut self, scene: &Scene<'_>, from: Time) {
        let wait = self.breaker_wait(scene.policy, scene.seed, u32::from(self.breaker.level));
        self.breaker.level = self.breaker.level.saturating_add(1);
        self.breaker.until = Some(from + wait);
    }

    /// Takes back a booked probe that was never sent.
    fn unbook_probe(&mut self, now: Time) {
        // `book_probe` added one level. An open breaker keeps at least one.
        self.breaker.level = self.breaker.level.saturating_sub(1).max(1);
        self.breaker.until = Some(now);
    }

    /// Counts a site-wide failure that ended at `ended`. Returns whether it opened the breaker.
    fn note_failure(&mut self, scene: &Scene<'_>, probe: bool, ended: Time) -> bool {
        if self.breaker.is_open() {
            // Only the probe moves an open breaker: its booking raised the level, and the wait now
            // counts from the end of the failure. A request that was in flight when the breaker
            // opened may fail even later.
            self.lengthen_outage(scene, scene.now);
            self.breaker.failures = self.breaker.failures.saturating_add(u8::from(probe));
            return false;
        }
        self.breaker.failures = self.breaker.failures.saturating_add(1);
        self.breaker.failed_at = self.breaker.failed_at.max(Some(ended));
        if self.breaker.failures < scene.policy.breaker.failures {
            return false;
        }
        self.breaker.level = 1;
        self.breaker.until = Some(scene.now + self.breaker_wait(scene.policy, scene.seed, 0));
        true
    }

    /// Lengthens the wait of an open breaker, so that it counts from the end of this failure.
    fn lengthen_outage(&mut self, scene: &Scene<'_>, ended: Time) {
        let level = u32::from(self.breaker.level.saturating_sub(1));
        let wait = self.breaker_wait(scene.policy, scene.seed, level);
        self.breaker.until = self.breaker.until.max(Some(ended + wait));
    }

    fn breaker_wait(&self, policy: &Policy, seed: u64, n: u32) -> std::time::Duration {
        let wait = policy.breaker.curve.wait(n, draw(seed, self.turn, Purpose::Breaker));
        wait + MARGIN_MIN
    }
}
