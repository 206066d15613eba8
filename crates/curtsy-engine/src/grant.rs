//! From an approach with an open line to an open permit.
//!
//! The wait for the turn comes before the grant, with the line open and no slot held. Between the
//! grant and the first byte lie two round trips to the store at most. A commit without an answer is
//! repeated with the same version: a newer state that holds our lease shows that it was written.
//! Nothing is sent on a grant that is unknown.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{
    Action, AddressSlot, Ask, Gate, HostState, LeaseId, RequestKind, Reserved, SlotEnds,
};
use curtsy_core::policy::Policy;
use curtsy_core::time::Time;

use crate::dial::Dial;
use crate::stamp::Stamp;
use crate::visit::{HostVisit, PlannedRequest};
use crate::{
    AddressClaim, CachedPage, Clock, Commit, CommitReply, Committed, Grant, Permit, Refusal, Store,
    UrlRecord, UrlWrite, Want, World,
};

/// Rounds of one grant before the visit decides again.
const ROUNDS_MAX: u32 = 16;
/// The least and the longest time before the turn at which the grant is committed.
const AHEAD: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(40));
/// How long before its deadline a hop of a robots.txt is given up.
const HOP_SLACK: Duration = Duration::from_millis(250);

/// The result of a request for a turn.
pub(crate) enum GrantResult {
    /// The turn is granted.
    Open(Permit),
    /// The decision has changed: decide again.
    Changed,
    /// A cap is against it until then.
    Wait(Time),
    /// The job's pages are used up.
    Spent,
    /// Another worker has the URL.
    Gone,
}

/// A turn that a visit wants.
pub(crate) struct GrantRequest<'a> {
    /// Its record and findings become those of the grant.
    pub(crate) planned: &'a mut PlannedRequest,
    /// The address on which the request counts.
    pub(crate) counted_on: Option<std::net::IpAddr>,
    /// How long the line took.
    pub(crate) took: Duration,
    /// When the line was dialled, if it is new.
    pub(crate) dial: Option<Dial>,
}

impl<W: World> HostVisit<'_, '_, W> {
    /// Waits for the turn and books it.
    pub(crate) async fn grant(&mut self, mut wanted: GrantRequest<'_>) -> GrantResult {
        let mut looked = None;
        for round in 0..ROUNDS_MAX {
            if round > 0 && self.was_fetched(&mut wanted).await {
                return GrantResult::Changed;
            }
            let PlannedRequest { record, approach, cached, .. } = &*wanted.planned;
            let ahead = (self.stamp.round_trip() * 2).clamp(AHEAD.0, AHEAD.1);
            let now = self.earliest_now();
            if let Want::RobotsHop { deadline, .. } = record.want
                && now + HOP_SLACK >= deadline
            {
                return GrantResult::Changed;
            }
            let state = &self.view.state;
            if record.tries.spent(state, self.policy) {
                // The host has answered other requests meanwhile: the URL's tries are used up.
                return GrantResult::Changed;
            }
            // Another visit may have fetched robots.txt since this visit began.
            let authority = record.url.authority();
            let rules = self.worker.rules_of(state, self.policy, &authority, now).await;
            let scene = self.scene(now, rules.as_deref());
            // A reservation is a new state of the host: it is made only once the turn is near.
            let turn = state.earliest_start(&scene, SlotEnds::Deadline);
            if turn > now + state.lead(&scene) {
                return GrantResult::Changed;
            }
            if turn > now + ahead {
                self.wait_until_near(turn, ahead, &mut looked).await;
                continue;
            }
            let ask = ask_of(record, cached.as_ref(), state, self.policy);
            let id = self.worker.identity.new_lease();
            let turn = match state.reserve(approach, &ask, &scene, id) {
                Ok(reserved) if reserved.permit.turn().at() <= now + ahead => {
                    match self.book(&mut wanted, reserved, id).await {
                        Some(result) => return result,
                        None => continue,
                    }
                }
                // The URL's own wait, such as a retry, ends later than the host's.
                Ok(reserved) => reserved.permit.turn().at(),
                Err(decision) => match decision.action {
                    Action::Approach(a) if a.url == approach.url && a.kind == approach.kind => {
                        a.turn
                    }
                    _ => return GrantResult::Changed,
                },
            };
            self.wait_until_near(turn, ahead, &mut looked).await;
        }
        GrantResult::Changed
    }

    /// Whether another visit fetched the page meanwhile: the page is in the cache before the host's
    /// state shows it.
    async fn was_fetched(&self, wanted: &mut GrantRequest<'_>) -> bool {
        if !matches!(wanted.planned.approach.kind, RequestKind::Page | RequestKind::Sitemap) {
            return false;
        }
        let cached = self.worker.cached(&wanted.planned.record.url).await;
        let now = self.earliest_now();
        let fresh = cached.as_ref().is_some_and(|cached| cached.fresh_until > now);
        wanted.planned.cached = cached;
        fresh
    }

    /// Waits until shortly before the turn. If the last start is another visit's and not confirmed
    /// yet, that visit confirms it when half of its delay has passed. The turn then comes sooner,
    /// and the state is read once more.
    async fn wait_until_near(&mut self, turn: Time, ahead: Duration, looked: &mut Option<u32>) {
        let worker = self.worker;
        let state = &self.view.state;
        let slots = worker.policies.of(&self.view.host).slots.per_host;
        let sooner =
            state.start_unsure(slots).filter(|_| looked.replace(state.turn) != Some(state.turn));
        let wake = turn.back(ahead + sooner.map_or(Duration::ZERO, |by| by + ahead));
        worker.world.clock().sleep_until(self.stamp.not_before(wake)).await;
        if sooner.is_none() {
            return;
        }
        let m0 = worker.now();
        // Without an answer, the turn that is known is late, not wrong.
        if let Ok(view) = worker.world.store().load(&self.view.host).await {
            self.stamp = Stamp { now: view.now, m0, m1: worker.now() };
            self.view = view;
        }
    }

    /// Commits a reservation. Returns none if another worker wrote first: then the visit has that
    /// worker's state.
    async fn book(
        &mut self,
        wanted: &mut GrantRequest<'_>,
        reserved: Reserved,
        id: LeaseId,
    ) -> Option<GrantResult> {
        let (worker, policy) = (self.worker, self.policy);
        let for_url = wanted.planned.is_for_url();
        let claim_before = wanted.planned.record.claim;
        let mut record = wanted.planned.record.clone();
        let charge = wanted.planned.approach.kind.is_page() && !record.charged;
        record.charged |= charge;
        let mut urls = Vec::new();
        if for_url {
            record.claim = Some(id);
            record.tries = record.tries.opened();
            urls.push(UrlWrite {
                from: Some(self.view.host.clone()),
                id: record.id,
                claim: claim_before,
                to: Some(record.clone()),
            });
        }
        let mut state = reserved.state;
        state.note_handshake(wanted.took);
        if let Some(dial) = wanted.dial {
            state.note_dial(self.stamp.latest(dial.at), dial.booked);
        }
        let until = state.lease(id).expect("reserve put it there").until;
        let state = Arc::new(state);
        let counted = wanted.counted_on.zip(policy.slots.per_address);
        let slot = counted.map_or(AddressSlot::Uncounted, |(_, cap)| AddressSlot::Held(cap));
        let mut findings = reserved.decision.findings;
        findings.set(Gate::Address, slot.finding());
        let not_before = match policy.slots.per_host {
            1 => worker.due(&self.view, &state),
            _ => worker.due_for_others(&self.view, &state, self.view.now),
        };
        let commit = Commit {
            grant: Some(Grant {
                lease: id,
                url: for_url.then_some((record.id, claim_before)),
                charge: charge.then(|| policy.budget.pages.unwrap_or(u64::MAX)),
                address: counted.map(|(address, cap)| AddressClaim { address, cap, until }),
            }),
            urls,
            ..Commit::of_state(&self.view, Some(Arc::clone(&state)), not_before)
        };
        let CommitReply { committed, receipt, stamp } = worker.commit_known(&commit).await;
        let permit = receipt.map(|receipt| {
            Permit::open(reserved.permit, receipt).expect("the receipt of this very lease")
        });
        let permit = match (committed, permit) {
            (Committed::Done(saved), Some(permit)) => {
                self.wrote(state, saved, stamp);
                permit
            }
            (Committed::Done(_), None) => unreachable!("the state that was written has the lease"),
            (Committed::Stale(view), Some(permit)) => {
                // The commit was written, and its answer was lost.
                let mut memory = worker.memory.borrow_mut();
                memory.remember(&view.host, &view.state, view.now);
                (self.view, self.stamp) = (view, stamp);
                permit
            }
            (Committed::Stale(view), None) => {
                self.adopt(view, stamp);
                return None;
            }
            (Committed::Refused(refusal), _) => {
                return Some(match refusal {
                    Refusal::Address(until) => {
                        let slot = AddressSlot::Full(until);
                        wanted.planned.findings.set(Gate::Address, slot.finding());
                        GrantResult::Wait(until)
                    }
                    Refusal::Stopped => GrantResult::Wait(Time::NEVER),
                    Refusal::Budget => GrantResult::Spent,
                    Refusal::Gone => GrantResult::Gone,
                });
            }
        };
        worker.owe(&record);
        (wanted.planned.record, wanted.planned.findings) = (record, findings);
        Some(GrantResult::Open(permit))
    }
}

/// Returns the question to the core whether a URL may be requested.
pub(crate) fn ask_of<'a>(
    record: &'a UrlRecord,
    cached: Option<&CachedPage>,
    host: &HostState,
    policy: &Policy,
) -> Ask<'a> {
    Ask {
        url: &record.url,
        kind: record.kind(),
        charged: record.charged,
        fresh_until: cached.map(|c| c.fresh_until),
        retry_at: record.ready,
        tries: record.tries.counted,
        needs_word: record.tries.needs_word(host, policy),
        slot_since: record.slot_since,
    }
}
