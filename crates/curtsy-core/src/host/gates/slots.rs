//! The slots gate: requests in flight to a host.
//!
//! A slot is a named lease with a deadline in the host's state, so it cannot leak. A lease names
//! its URL, which makes requests for pages and robots.txt single-flight.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Booking, Errand, GateCase, GateCheck, RequestNews, RequestStep, SlotEnds, Telling};
use crate::evidence::{SLOT_TIMEOUT_TEXT, counted};
use crate::host::{Finding, HostChanges, HostState, Lease, LeaseId, Scene, Verdict};
use crate::time::Time;

/// The least time until a host without a free slot is checked again.
const LOOK: Duration = Duration::from_secs(1);

/// Limits the requests in flight to a host.
pub(super) struct SlotsGate;

/// Why a URL gets no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SlotsReason {
    /// All slots of the host are taken.
    Taken {
        /// Requests in flight.
        in_flight: u8,
    },
    /// The URL is being fetched already.
    SingleFlight,
    /// No slot was free within the time that the policy allows.
    Timeout,
}

impl GateCheck for SlotsGate {
    type Reason = SlotsReason;
    const NAME: &'static str = "slots";
    const CLEAR: &'static str = "a slot of the host is free";

    fn of_request(case: &GateCase<'_>, errand: &Errand) -> Option<Finding> {
        let GateCase { host, ask, scene } = *case;
        let now = scene.now;
        let url = errand.url.key();
        if let Some(same) = host.in_flight(now).find(|lease| lease.url == url) {
            let until = Verdict::NotBefore(same.until);
            return Some(Finding::new(until, SlotsReason::SingleFlight));
        }
        // One probe at a time: any request in flight while the breaker is open may be the probe.
        let slots = if host.breaker.is_open() { 1 } else { scene.policy.slots.per_host };
        let in_flight = u8::try_from(host.in_flight(now).count()).unwrap_or(u8::MAX);
        if in_flight < slots {
            return None;
        }
        let free = host.in_flight(now).map(|lease| lease.until).min().unwrap_or(now);
        let given_up = scene.policy.slots.wait.zip(ask.slot_since);
        let reason = match given_up {
            Some((wait, since)) if since + wait <= now => SlotsReason::Timeout,
            _ => SlotsReason::Taken { in_flight },
        };
        Some(Finding::new(Verdict::NotBefore(free), reason))
    }

    fn earliest(host: &HostState, scene: &Scene<'_>, ends: SlotEnds) -> Time {
        let taken = host.in_flight(scene.now).count();
        if taken < usize::from(scene.policy.slots.per_host) {
            return Time::START;
        }
        let free = host.in_flight(scene.now).map(|lease| lease.until).min();
        match (free, ends) {
            (None, _) => Time::START,
            (Some(free), SlotEnds::Deadline) => free,
            (Some(free), SlotEnds::Likely) => host.likely_free(free, scene),
        }
    }

    fn book(host: &mut HostState, booking: &Booking<'_>) {
        host.leases.retain(|lease| lease.until > booking.scene.now);
        host.leases.push(booking.lease);
    }

    fn learn(host: &mut HostState, heard: &RequestNews<'_>, _: &mut HostChanges) {
        if let RequestStep::Sent { turn, seen, .. } = heard.step
            && seen.ended.is_some()
        {
            let (id, now) = (turn.lease().id, heard.scene.now);
            host.leases.retain(|lease| lease.id != id && lease.until > now);
        }
    }

    fn restore(host: &mut HostState, remembered: &HostState, now: Time) {
        for lease in remembered.in_flight(now) {
            if host.lease(lease.id).is_none() {
                host.leases.push(*lease);
            }
        }
    }

    fn sentence(reason: SlotsReason, _: &Telling<'_>) -> String {
        match reason {
            SlotsReason::Taken { in_flight } => {
                let requests = counted(in_flight, "request");
                format!("all slots of the host are taken: {requests} in flight")
            }
            SlotsReason::SingleFlight => "this very URL is being fetched".to_owned(),
            SlotsReason::Timeout => SLOT_TIMEOUT_TEXT.to_owned(),
        }
    }
}

tags! {
    SlotsReason { 14 Taken { in_flight }, 15 SingleFlight, 16 Timeout }
}

impl HostState {
    /// Returns the lease with this id, if it is in the state.
    pub fn lease(&self, id: LeaseId) -> Option<&Lease> {
        self.leases.iter().find(|l| l.id == id)
    }

    /// Returns the leases that have not ended at `now`.
    pub fn in_flight(&self, now: Time) -> impl Iterator<Item = &Lease> {
        self.leases.iter().filter(move |l| l.until > now)
    }

    /// Returns when a slot with the deadline `until` is likely to be free. Most slots are given
    /// back long before their deadline, and not every store reports it. The longer a slot has been
    /// taken, the longer the estimate.
    pub fn likely_free(&self, until: Time, scene: &Scene<'_>) -> Time {
        let taken_at = self.in_flight(scene.now).map(|lease| lease.send_by).max();
        let taken_for = taken_at.map_or(Duration::ZERO, |at| scene.now - at);
        until.min(scene.now + LOOK.max(taken_for) + self.lead(scene))
    }
}
