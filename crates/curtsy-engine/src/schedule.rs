//! When is a host handed out again, and how long does a visit keep it?

use std::time::Duration;

use curtsy_core::host::{HostState, Scene, SlotEnds};
use curtsy_core::time::Time;

use crate::check::HOLD;
use crate::visit::HostVisit;
use crate::{View, Worker, World};

/// A visit keeps its host if the next turn is no further away than this.
pub(crate) const LINGER: Duration = Duration::from_secs(5);
/// How long after a turn other visits get a host whose slots all have a visit.
const TURN_PASSED: Duration = Duration::from_millis(50);
/// How often a visit that waits for the sinks looks again.
const ROOM_POLL: Duration = Duration::from_millis(10);

/// Whether a visit keeps its host after an exchange, as the exchange's commit says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stay {
    /// Others get the host when this visit seems to be dead.
    Kept,
    /// Others get the host when it is due.
    GivenBack,
}

impl<W: World> Worker<'_, W> {
    /// Returns when a host with this state is due.
    pub(crate) fn due(&self, view: &View, state: &HostState) -> Time {
        let policy = self.policies.of(&view.host);
        state.hand_out_at(&self.scene(&policy, view, view.now, None), SlotEnds::Deadline)
    }

    /// Returns when a host that a visit gives back is likely to be due.
    pub(crate) fn likely_due(&self, view: &View) -> Time {
        let policy = self.policies.of(&view.host);
        view.state.hand_out_at(&self.scene(&policy, view, view.now, None), SlotEnds::Likely)
    }

    /// Returns when a host that a visit keeps is handed out to others. With one slot: when the
    /// visit seems to be dead. With several: at once while there are fewer visits than slots, and
    /// otherwise as soon as the visits have missed a turn. If the policy bounds the wait for a
    /// slot, one more visit looks whether a slot is free, and measures that wait.
    pub(crate) fn due_for_others(&self, view: &View, state: &HostState, now: Time) -> Time {
        let policy = self.policies.of(&view.host);
        let scene = self.scene(&policy, view, now, None);
        if policy.slots.wait.is_some() && !self.has_enough_visits(&view.host) {
            state.hand_out_at(&scene, SlotEnds::Likely)
        } else if policy.slots.per_host == 1 {
            state.hand_out_at(&scene, SlotEnds::Deadline) + HOLD
        } else if self.has_enough_visits(&view.host) {
            state.earliest_start(&scene, SlotEnds::Deadline) + TURN_PASSED
        } else {
            state.hand_out_at(&scene, SlotEnds::Deadline)
        }
    }

    /// Whether a visit keeps its host for a turn that is due at `due`.
    pub(crate) fn may_linger(&self, now: Time, due: Time) -> bool {
        self.may_wait(now, due) && self.has_room_for_rows()
    }

    /// Whether a visit that has kept its host waits for a turn that is due at `due`.
    pub(crate) fn may_wait(&self, now: Time, due: Time) -> bool {
        let paused = self.health.borrow().paused_until(self.now()).is_some();
        due <= now + LINGER && !paused && !self.finish.begins_nothing()
    }

    /// Waits until the sinks keep up. Returns false after a while: then the host falls due again by
    /// itself, and another worker may have room.
    pub(crate) async fn wait_for_room(&self) -> bool {
        let end = self.now() + LINGER;
        while !self.has_room_for_rows() {
            if self.now() >= end || self.finish.is_stopping() {
                return false;
            }
            self.pause(ROOM_POLL).await;
        }
        true
    }
}

impl<W: World> HostVisit<'_, '_, W> {
    /// Returns when the host is handed out after an exchange, and whether this visit keeps it.
    /// `more` says whether the visit has further URLs.
    pub(crate) fn due_after_exchange(
        &self,
        state: &HostState,
        scene: &Scene<'_>,
        more: bool,
    ) -> (Time, Stay) {
        let due = state.hand_out_at(scene, SlotEnds::Deadline);
        match more && self.worker.may_linger(scene.now, due) {
            true => (self.worker.due_for_others(&self.view, state, scene.now), Stay::Kept),
            false => (due, Stay::GivenBack),
        }
    }
}
