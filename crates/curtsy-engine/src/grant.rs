//! From an approach with a standing line to an open permit.
//!
//! Waiting for the turn happens before the grant, with the line open and no slot held; between the grant and the first byte lie two
//! round trips to the store at most. If a store's answer is lost, the commit is repeated with the same version: a newer state
//! that holds our lease shows that the first one was written. Nothing is ever sent on an unknown grant.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{
    Action, AddressSlot, Ask, Findings, Gate, HostState, Kind, LeaseId, Reserved,
};
use curtsy_core::policy::Policy;
use curtsy_core::time::Time;

use crate::dial::Dial;
use crate::visit::{Asked, Seen, Stamp};
use crate::{
    AddressClaim, CachedPage, Clock, Commit, CommitReply, Committed, Grant, Permit, Refusal, Store,
    StoreError, UrlRecord, UrlWrite, Want, Worker, World,
};

/// Decisions on one grant before the visit begins anew.
const ROUNDS_MAX: u32 = 16;
/// The least and largest time before the turn at which the grant is asked for.
const AHEAD: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(40));

/// What asking for a turn came to.
pub(crate) enum Granted {
    /// The turn is ours.
    Open(Permit, Seen),
    /// Something else is right now: decide again.
    Changed(Seen),
    /// A cap is against it until then.
    Wait(Seen, Time),
    /// The job's pages are used up.
    Spent(Seen),
    /// Somebody else has the URL.
    Gone(Seen),
}

/// What is to be granted, and over what.
pub(crate) struct Wanted<'a, 'p> {
    /// Its record and findings become those of the grant.
    pub(crate) asked: &'a mut Asked<'p>,
    /// The address on which its request counts.
    pub(crate) counted_on: Option<std::net::IpAddr>,
    /// How long the line took.
    pub(crate) took: Duration,
    /// When the line was dialled, if it is a new one.
    pub(crate) dialled: Option<Dial>,
}

impl<W: World> Worker<'_, W> {
    /// Waits for the turn and books it.
    pub(crate) async fn grant(&self, mut seen: Seen, mut wanted: Wanted<'_, '_>) -> Granted {
        let clock = self.world.clock();
        let mut looked = None;
        for round in 0..ROUNDS_MAX {
            if round > 0 && self.was_fetched(&seen, &mut wanted).await {
                return Granted::Changed(seen);
            }
            let ahead = (seen.stamp.round_trip() * 2).clamp(AHEAD.0, AHEAD.1);
            let now = seen.stamp.earliest(clock.mono());
            // Somebody may have asked for robots.txt since this visit began.
            let authority = wanted.asked.record.url.authority();
            let rules = self.rules_of(&seen.view.state, wanted.asked.policy, &authority, now).await;
            let scene = self.scene(wanted.asked.policy, &seen.view, now, rules.as_deref());
            let state = &seen.view.state;
            let (record, policy) = (&wanted.asked.record, wanted.asked.policy);
            let ask = ask_of(record, wanted.asked.cached.as_ref(), state, policy);
            if let Want::RobotsHop { deadline, .. } = wanted.asked.record.want
                && now + Duration::from_millis(250) >= deadline
            {
                return Granted::Changed(seen);
            }
            if record.tries.spent(state, policy) {
                // Its host has answered others meanwhile: its tries are used up.
                return Granted::Changed(seen);
            }
            let id = self.new_lease();
            let reserved = match seen.view.state.reserve(&wanted.asked.approach, &ask, &scene, id) {
                Ok(reserved) if reserved.permit.turn().at() <= now + ahead => reserved,
                Ok(reserved) => {
                    let turn_at = reserved.permit.turn().at();
                    seen = self.near(seen, turn_at, ahead, &mut looked).await;
                    continue;
                }
                Err(decision) => match decision.action {
                    Action::Approach(a)
                        if a.url == wanted.asked.approach.url
                            && a.kind == wanted.asked.approach.kind =>
                    {
                        seen = self.near(seen, a.turn, ahead, &mut looked).await;
                        continue;
                    }
                    _ => return Granted::Changed(seen),
                },
            };
            match self.book(seen, &mut wanted, reserved, id).await {
                Booked::Again(newer) => seen = newer,
                Booked::End(granted) => return granted,
            }
        }
        Granted::Changed(seen)
    }

    /// Whether somebody else fetched the page while its turn was waited for: it is in the cache before the state says so.
    async fn was_fetched(&self, seen: &Seen, wanted: &mut Wanted<'_, '_>) -> bool {
        if !matches!(wanted.asked.approach.kind, Kind::Page | Kind::Sitemap) {
            return false;
        }
        let cached = self.held(&wanted.asked.record.url).await;
        let now = seen.stamp.earliest(self.world.clock().mono());
        let fresh = cached.as_ref().is_some_and(|held| held.fresh_until > now);
        wanted.asked.cached = cached;
        fresh
    }

    /// Waits until shortly before the turn. Where the start before it is another visit's and not heard of yet, that tells the turn
    /// anew when half of its delay has passed: then the turn comes sooner, and the state is looked at once more.
    async fn near(
        &self,
        seen: Seen,
        turn: Time,
        ahead: Duration,
        looked: &mut Option<u32>,
    ) -> Seen {
        let clock = self.world.clock();
        let state = &seen.view.state;
        let slots = self.policy_of(&seen.view.host).slots.per_host;
        let sooner =
            state.start_unsure(slots).filter(|_| looked.replace(state.turn) != Some(state.turn));
        let wake = turn.back(ahead + sooner.map_or(Duration::ZERO, |by| by + ahead));
        clock.sleep_until(seen.stamp.not_before(wake)).await;
        if sooner.is_none() {
            return seen;
        }
        let m0 = clock.mono();
        match self.world.store().load(&seen.view.host).await {
            Ok(view) => Seen { stamp: Stamp { now: view.now, m0, m1: clock.mono() }, view },
            // What was known is late, not wrong.
            Err(_) => seen,
        }
    }

    async fn book(
        &self,
        seen: Seen,
        wanted: &mut Wanted<'_, '_>,
        reserved: Reserved,
        id: LeaseId,
    ) -> Booked {
        let for_url = !matches!(wanted.asked.approach.kind, Kind::Robots | Kind::Probe);
        let mut record = wanted.asked.record.clone();
        let charge = wanted.asked.approach.kind.is_page() && !record.charged;
        record.charged |= charge;
        let mut urls = Vec::new();
        if for_url {
            record.claim = Some(id);
            record.tries = record.tries.opened();
            urls.push(UrlWrite {
                from: Some(seen.view.host.clone()),
                id: record.id,
                claim: wanted.asked.record.claim,
                to: Some(record.clone()),
            });
        }
        let mut state = reserved.state;
        state.note_handshake(wanted.took);
        if let Some(dial) = wanted.dialled {
            state.note_dial(seen.stamp.latest(dial.at), dial.booked);
        }
        let lease = *state.lease(id).expect("reserve put it there");
        let state = Arc::new(state);
        let claim = wanted.counted_on.zip(wanted.asked.policy.slots.per_address);
        let slot = claim.map_or(AddressSlot::Uncounted, |(_, cap)| AddressSlot::Held(cap));
        let mut findings = reserved.decision.findings;
        findings.set(Gate::Address, slot.finding());
        let commit = Commit {
            host: seen.view.host.clone(),
            version: seen.view.version,
            epoch: seen.view.epoch.id,
            not_before: match wanted.asked.policy.slots.per_host {
                1 => self.scene_due(&seen.view, &state),
                _ => self.others_at(&seen.view, &state, seen.view.now),
            },
            grant: Some(Grant {
                lease: id,
                url: for_url.then_some((record.id, wanted.asked.record.claim)),
                charge: charge.then(|| wanted.asked.policy.budget.pages.unwrap_or(u64::MAX)),
                address: claim.map(|(address, cap)| AddressClaim {
                    address,
                    cap,
                    until: lease.until,
                }),
            }),
            release: None,
            robots: Vec::new(),
            urls,
            exchanged: None,
            state: Some(Arc::clone(&state)),
        };
        let CommitReply { committed, receipt, stamp } = self.reply_to(&commit).await;
        let permit = receipt.map(|receipt| {
            Permit::open(reserved.permit, receipt).expect("the receipt of this very lease")
        });
        match (committed, permit) {
            (Committed::Done(saved), Some(permit)) => {
                self.owe(&record);
                wanted.is_granted(record, findings);
                Booked::End(Granted::Open(permit, self.wrote(seen, state, saved, stamp)))
            }
            (Committed::Done(_), None) => unreachable!("the state that was written has the lease"),
            (Committed::Stale(view), Some(permit)) => {
                // An earlier answer was lost: the commit had been written.
                self.remember(&view.host, &view.state, view.now);
                self.owe(&record);
                wanted.is_granted(record, findings);
                Booked::End(Granted::Open(permit, Seen { view, stamp }))
            }
            (Committed::Stale(view), None) => {
                self.counts.borrow_mut().stale += 1;
                Booked::Again(Seen { view, stamp })
            }
            (Committed::Refused(refusal), _) => Booked::End(match refusal {
                Refusal::Address(until) => {
                    let slot = AddressSlot::Full(until);
                    wanted.asked.findings.set(Gate::Address, slot.finding());
                    Granted::Wait(seen, until)
                }
                Refusal::Stopped => Granted::Wait(seen, Time::NEVER),
                Refusal::Budget => Granted::Spent(seen),
                Refusal::Gone => Granted::Gone(seen),
            }),
        }
    }

    /// Commits until the store's answer is known.
    pub(crate) async fn commit_known(&self, commit: &Commit) -> (Committed, Stamp) {
        let CommitReply { committed, stamp, .. } = self.reply_to(commit).await;
        (committed, stamp)
    }

    /// Commits until the store's answer is known, and keeps its receipt.
    async fn reply_to(&self, commit: &Commit) -> CommitReply {
        let mut pause = Duration::from_millis(50);
        loop {
            match crate::commit(self.world.store(), self.world.clock(), commit).await {
                Ok(reply) => {
                    if let Committed::Done(_) = reply.committed {
                        // Other workers may not know when the host is due: this worker wakes for it.
                        self.wake_by(reply.stamp.not_before(commit.not_before));
                    }
                    return reply;
                }
                Err(StoreError::Unknown(_) | StoreError::Refused(..)) => {
                    self.pause(pause).await;
                    // What is known here must be told soon after the store is back, before others decide without it.
                    pause = (pause * 2).min(Duration::from_millis(200));
                }
            }
        }
    }
}

impl Wanted<'_, '_> {
    fn is_granted(&mut self, record: UrlRecord, findings: Findings) {
        (self.asked.record, self.asked.findings) = (record, findings);
    }
}

enum Booked {
    Again(Seen),
    End(Granted),
}

/// What the core needs to know of a URL.
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
