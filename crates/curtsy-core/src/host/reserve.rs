//! Books a turn and returns the sealed permit for its request.
//!
//! [`HostState::reserve`] writes the booking into a new state. The permit stays sealed until that
//! state is where every worker sees it: `curtsy_engine::Permit::open` opens it with the receipt of
//! a commit. The turn itself is plain data. It stays with the worker when the permit is used up,
//! and is what [`HostState::observe`] applies the outcome to.

use std::time::Duration;

use super::admit::{Action, Approach, Ask, Decision, Scene};
use super::gates::Booking;
use super::{Gate, HostState, Lease, LeaseId, PaceReason, Reason, RequestKind};
use crate::time::Time;

/// A turn that is booked in a state which is not yet committed.
#[derive(Debug)]
pub struct Reserved {
    /// The state to commit.
    pub state: HostState,
    /// The permit, sealed until the commit has a receipt.
    pub permit: SealedPermit,
    /// The decision behind the booking.
    pub decision: Decision,
}

/// A permit whose lease no other worker can see yet. Only [`HostState::reserve`] makes one.
///
/// It has no way to be copied, so a booking leads to one permit:
///
/// ```compile_fail,E0599
/// fn two(sealed: curtsy_core::host::SealedPermit) {
///     let copy = sealed.clone();
/// }
/// ```
///
/// and no way to be made by hand:
///
/// ```compile_fail,E0451
/// use curtsy_core::host::{BookedTurn, SealedPermit};
///
/// fn forged(turn: BookedTurn) -> SealedPermit {
///     SealedPermit { turn }
/// }
/// ```
#[derive(Debug)]
pub struct SealedPermit {
    turn: BookedTurn,
}

/// A booked turn: its lease, its time, and the request that it is for.
#[derive(Clone, Debug)]
pub struct BookedTurn {
    lease: Lease,
    at: Time,
    delay: Duration,
    approach: Approach,
}

impl SealedPermit {
    /// Returns the booked turn.
    ///
    /// ```
    /// use curtsy_core::host::{LeaseId, SealedPermit};
    ///
    /// fn lease(sealed: &SealedPermit) -> LeaseId {
    ///     sealed.turn().lease().id
    /// }
    /// ```
    pub fn turn(&self) -> &BookedTurn {
        &self.turn
    }

    /// Gives the permit up and returns the booked turn. No permit can be made of a turn.
    pub fn into_turn(self) -> BookedTurn {
        self.turn
    }
}

impl BookedTurn {
    /// Returns the lease of the turn.
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Returns the URL and the kind of the turn's request.
    pub fn approach(&self) -> &Approach {
        &self.approach
    }

    /// Returns when the turn begins.
    pub fn at(&self) -> Time {
        self.at
    }

    /// Returns the latest moment at which the first byte may leave.
    pub fn send_by(&self) -> Time {
        self.lease.send_by
    }

    /// Returns the delay that was in force when the turn was booked.
    pub fn delay(&self) -> Duration {
        self.delay
    }
}

/// The span from a turn to the latest write, with one slot. It stays below the 250 ms in which a
/// stop order reaches all workers.
const WINDOW_ONE: Duration = Duration::from_millis(200);
/// The same with several slots, where the next start may have to wait for this one.
const WINDOW_MANY: Duration = Duration::from_millis(50);

impl HostState {
    /// Returns the span from a turn to the latest write.
    pub(super) fn window(slots: u8) -> Duration {
        if slots > 1 { WINDOW_MANY } else { WINDOW_ONE }
    }

    /// Books the turn of `approach`, if every gate still lets it go on this state at this time;
    /// otherwise returns the new decision.
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
        let at = booked.turn.max(scene.now);
        let send_by = at + window;
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
        let permit = SealedPermit { turn: BookedTurn { lease, at, delay, approach: booked } };
        Ok(Reserved { state, permit, decision })
    }
}

impl RequestKind {
    /// Returns whether a request of this kind counts as a page of the job.
    pub fn is_page(self) -> bool {
        self == RequestKind::Page
    }
}
