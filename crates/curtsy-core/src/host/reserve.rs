//! Booking a turn, and the permit that comes of it.
//!
//! `reserve` writes the booking into a new state and gives a *sealed* permit. Only the receipt of a commit that holds this state
//! opens it, so nothing is sent before its reservation is visible to every worker. An open permit is needed to send, tells the
//! latest moment to do so, and is used up by the receipt of the commit that carries its observation.

use std::time::Duration;

use super::admit::{Action, Approach, Ask, Decision, Scene};
use super::gates::Booking;
use super::{Gate, HostState, Kind, Lease, LeaseId, PaceReason, Reason};
use crate::time::Time;
use crate::url::HostKey;

/// A turn that is booked in a state which is not yet written.
#[derive(Debug)]
pub struct Reserved {
    /// The state to commit.
    pub state: HostState,
    /// Opened by the commit's receipt.
    pub permit: SealedPermit,
    /// The decision behind it.
    pub decision: Decision,
}

/// A permit whose reservation nobody can see yet.
#[derive(Debug)]
pub struct SealedPermit {
    permit: Permit,
}

/// The right to send one request, now.
#[derive(Debug)]
pub struct Permit {
    lease: Lease,
    turn_at: Time,
    delay: Duration,
    approach: Approach,
}

/// Proof that a commit was written. Made by a store, and only after the write held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The host whose state was written.
    pub host: HostKey,
    /// The version that it has now.
    pub version: u64,
    /// The store's time of the write.
    pub now: Time,
    /// The leases in the state that was written.
    pub leases: Vec<LeaseId>,
}

impl SealedPermit {
    /// The name of the lease behind it.
    pub fn lease(&self) -> LeaseId {
        self.permit.lease.id
    }

    /// When its turn comes.
    pub fn turn_at(&self) -> Time {
        self.permit.turn_at
    }

    /// Opens the permit, if the receipt is of a state that holds its lease.
    pub fn open(self, receipt: &Receipt) -> Result<Permit, SealedPermit> {
        let ours = receipt.host == *self.permit.approach.url.host();
        if ours && receipt.leases.contains(&self.permit.lease.id) {
            Ok(self.permit)
        } else {
            Err(self)
        }
    }
}

impl Permit {
    /// The lease behind it.
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    /// What may be asked.
    pub fn approach(&self) -> &Approach {
        &self.approach
    }

    /// Not before this moment.
    pub fn turn_at(&self) -> Time {
        self.turn_at
    }

    /// Not after this moment.
    pub fn send_by(&self) -> Time {
        self.lease.send_by
    }

    /// The delay that was in force.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// Uses the permit up, if the receipt is of a state that no longer holds its lease.
    pub fn settle(self, receipt: &Receipt) -> Result<(), Permit> {
        let ours = receipt.host == *self.approach.url.host();
        if ours && !receipt.leases.contains(&self.lease.id) { Ok(()) } else { Err(self) }
    }
}

/// From a turn to the latest write, with one slot. Grant to write stays below the 250 ms in which a signal reaches all workers.
const WINDOW_ONE: Duration = Duration::from_millis(200);
/// The same with several slots, where the next start may wait for it.
const WINDOW_MANY: Duration = Duration::from_millis(50);

impl HostState {
    /// From the turn to the latest write.
    pub(super) fn window(slots: u8) -> Duration {
        if slots > 1 { WINDOW_MANY } else { WINDOW_ONE }
    }

    /// Books the turn of `approach`, if every gate still lets it go on this state at this time; else gives the new decision.
    pub fn reserve(
        &self,
        approach: &Approach,
        ask: &Ask<'_>,
        scene: &Scene<'_>,
        id: LeaseId,
    ) -> Result<Reserved, Decision> {
        let decision = self.admit(ask, scene);
        let window = HostState::window(scene.policy.slots.per_host);
        let booked = match &decision.action {
            Action::Approach(now)
                if now.kind == approach.kind
                    && now.url == approach.url
                    && now.turn <= scene.now + window =>
            {
                now.clone()
            }
            _ => return Err(decision),
        };
        let delay = match decision.findings.of(Gate::Pace).reason {
            Reason::Pace(PaceReason::Delay { micros, .. }) => Duration::from_micros(micros),
            _ => self.delay(scene).0,
        };
        let turn_at = booked.turn.max(scene.now);
        let send_by = turn_at + window;
        let lease = Lease {
            id,
            kind: booked.kind,
            probe: booked.probe,
            url: booked.url.key(),
            turn: self.turn.wrapping_add(1),
            generation: self.backoff.generation,
            send_by,
            until: send_by + scene.policy.timeout.whole,
        };
        let mut state = self.clone();
        state.book(&Booking { lease, delay, scene });
        let permit = SealedPermit { permit: Permit { lease, turn_at, delay, approach: booked } };
        Ok(Reserved { state, permit, decision })
    }
}

impl Kind {
    /// Whether its request is paid from the job's pages.
    pub fn is_page(self) -> bool {
        self == Kind::Page
    }
}
