//! The check of a commit, which is the same for every store, and the constants that stores share.
//!
//! In the transaction that writes a commit, a store reads what it holds (a [`CommitFacts`]) and
//! calls [`check`]. The stores in memory, on SQLite and on Postgres call this function. The Redis
//! script `commit.lua` (`curtsy-store/src/redis/scripts`) makes the same steps in the same order
//! and with the same names; a change here is a change there. The contract in `curtsy_testkit::store`
//! runs over all of them.
//!
//! The first step that fails is the answer, and nothing is written:
//!
//! 1. **gone**: the grant's URL is not in the host's queue under the claim that the writer knows.
//!    Another worker has the URL or has settled it. This is answered for an old version too: a
//!    visit with an old list must not wait for turns of URLs that are gone. After a change of the
//!    epoch this step is left out, since the queue may be gone as well.
//! 2. **stale**: the store's epoch or the version of the host's state is not the one that the
//!    writer has seen. The writer decides again on the state that it is given.
//! 3. **stopped**: a stop order for the host is in force.
//! 4. **budget**: the grant charges a page, and the job has charged as many as its cap allows.
//! 5. **address**: the grant takes a slot of an address, and all of them are taken.
//!
//! Steps 1, 3, 4 and 5 concern grants only. A commit without a grant sends nothing, so only step 2
//! can refuse it. Redis has one more answer between steps 2 and 3, `reminded`, which refuses
//! nothing: the caller merges newer reminders into its records and repeats the call.

use std::time::Duration;

use curtsy_core::time::Time;

use crate::{Commit, Committed, Epoch, Refusal, View};

pub use crate::orders::LIFTED_MAX;

/// How long a host that a store hands out, or that a visit keeps, is not handed out to others.
pub const HOLD: Duration = Duration::from_secs(10);
/// After how long an address without a free slot is tried again, unless a slot ends sooner. Slots
/// are returned early far more often than they run out.
pub const ADDRESS_RECHECK: Duration = Duration::from_secs(1);
/// How long nothing is granted in a new epoch: one lease, so that all earlier requests have ended.
pub const QUIET: Duration = Duration::from_secs(31);
/// A store's clock that is off by more than this has stepped; less is drift and delay.
pub const CLOCK_STEP: Duration = Duration::from_secs(1);

/// What a store holds at the moment of a commit, as far as [`check`] compares it.
#[derive(Clone, Copy, Debug)]
pub struct CommitFacts {
    /// The number of the store's epoch.
    pub epoch: u64,
    /// The version of the host's state, zero for an unknown host.
    pub version: u64,
    /// Whether the grant's URL is in the host's queue under the claim that the writer knows. True
    /// if the commit has no grant or its grant names no URL.
    pub claimed: bool,
    /// Whether a stop order for the host is in force.
    pub stopped: bool,
    /// Pages that were charged to the job.
    pub pages: u64,
    /// Slots that are taken of the grant's address. Default if it takes none.
    pub slots: SlotsTaken,
}

/// The slots of an address that are taken: those whose leases have not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotsTaken {
    /// How many there are.
    pub count: u64,
    /// When the first of them ends.
    pub first_end: Option<Time>,
}

/// The step of [`check`] that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// The URL is not in the queue under the known claim.
    Gone,
    /// The epoch or the version has changed.
    Stale,
    /// The host is stopped.
    Stopped,
    /// The job's pages are used up.
    Budget,
    /// All slots of the address are taken. The first of them ends then.
    Address(Time),
}

/// Checks a commit against what the store holds. On success the store writes all of the commit.
///
/// The [module](self) specifies the steps.
pub fn check(commit: &Commit, found: &CommitFacts, now: Time) -> Result<(), Conflict> {
    let same_epoch = commit.epoch == found.epoch;
    if same_epoch && !found.claimed {
        return Err(Conflict::Gone);
    }
    if !same_epoch || commit.version != found.version {
        return Err(Conflict::Stale);
    }
    let Some(grant) = &commit.grant else { return Ok(()) };
    if found.stopped {
        return Err(Conflict::Stopped);
    }
    if grant.charge.is_some_and(|cap| found.pages >= cap) {
        return Err(Conflict::Budget);
    }
    if grant.address.is_some_and(|claim| found.slots.count >= u64::from(claim.cap)) {
        return Err(Conflict::Address(found.slots.first_end.unwrap_or(now)));
    }
    Ok(())
}

impl Conflict {
    /// Returns the store's answer to the commit. `view` reads the host as the store has it; it is
    /// called only if the answer depends on the host's state.
    pub fn answer<E>(
        self,
        commit: &Commit,
        now: Time,
        view: impl FnOnce() -> Result<View, E>,
    ) -> Result<Committed, E> {
        Ok(Committed::Refused(match self {
            Conflict::Stale => return view().map(Committed::Stale),
            Conflict::Gone => {
                let (view, grant) = (view()?, commit.grant.as_ref());
                // The grant itself has succeeded, and the answer to it was lost.
                if grant.is_some_and(|grant| view.state.lease(grant.lease).is_some()) {
                    return Ok(Committed::Stale(view));
                }
                Refusal::Gone
            }
            Conflict::Stopped => Refusal::Stopped,
            Conflict::Budget => Refusal::Budget,
            Conflict::Address(end) => Refusal::Address(end.min(now + ADDRESS_RECHECK)),
        }))
    }
}

impl Epoch {
    /// Returns an epoch that begins at `at` because something was lost.
    pub fn after_loss(id: u64, at: Time, quiet: Duration, emptied: bool) -> Epoch {
        Epoch { id, floor: Some(at), quiet_until: Some(at + quiet), emptied }
    }

    /// Returns the end of the quiet time in which nothing is granted; `None` if it is over.
    pub fn quiet_after(&self, now: Time) -> Option<Time> {
        self.quiet_until.filter(|quiet| *quiet > now)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;

    use curtsy_core::host::{HostState, JobView, Lease, LeaseId, RequestKind};
    use curtsy_core::url::{HostKey, UrlKey};

    use super::*;
    use crate::{AddressClaim, Grant};

    const NOW: Time = Time::from_secs(100);
    const FACTS: CommitFacts = CommitFacts {
        epoch: 7,
        version: 3,
        claimed: true,
        stopped: false,
        pages: 0,
        slots: SlotsTaken { count: 0, first_end: None },
    };

    fn report() -> Commit {
        Commit {
            host: HostKey::parse("a.test").unwrap(),
            version: 3,
            epoch: 7,
            state: None,
            not_before: NOW,
            grant: None,
            release: None,
            robots: Vec::new(),
            urls: Vec::new(),
            exchanged: None,
        }
    }

    fn granting() -> Commit {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let grant = Grant {
            lease: LeaseId(1),
            url: Some((UrlKey::from_u128(1), None)),
            charge: Some(10),
            address: Some(AddressClaim { address, cap: 2, until: NOW }),
        };
        Commit { grant: Some(grant), ..report() }
    }

    #[track_caller]
    fn check_both(found: CommitFacts, grant: Result<(), Conflict>, other: Result<(), Conflict>) {
        assert_eq!(check(&granting(), &found, NOW), grant, "a grant");
        assert_eq!(check(&report(), &found, NOW), other, "no grant");
    }

    #[test]
    fn a_commit_that_nothing_has_changed_for_is_written() {
        check_both(FACTS, Ok(()), Ok(()));
    }

    #[test]
    fn an_older_epoch_or_version_is_stale_for_every_commit() {
        let stale = Err(Conflict::Stale);
        check_both(CommitFacts { epoch: 8, ..FACTS }, stale, stale);
        check_both(CommitFacts { version: 4, ..FACTS }, stale, stale);
    }

    #[test]
    fn a_url_that_is_gone_is_reported_on_an_old_version_and_not_in_another_epoch() {
        let gone = CommitFacts { claimed: false, ..FACTS };
        assert_eq!(check(&granting(), &gone, NOW), Err(Conflict::Gone));
        let old = CommitFacts { version: 4, ..gone };
        assert_eq!(check(&granting(), &old, NOW), Err(Conflict::Gone));
        let lost = CommitFacts { epoch: 8, ..gone };
        assert_eq!(check(&granting(), &lost, NOW), Err(Conflict::Stale));
    }

    #[test]
    fn orders_caps_and_slots_refuse_grants_only_and_in_this_order() {
        let slots = SlotsTaken { count: 2, first_end: Some(Time::from_secs(109)) };
        let mut found = CommitFacts { stopped: true, pages: 10, slots, ..FACTS };
        check_both(found, Err(Conflict::Stopped), Ok(()));
        found.stopped = false;
        check_both(found, Err(Conflict::Budget), Ok(()));
        found.pages = 9;
        check_both(found, Err(Conflict::Address(Time::from_secs(109))), Ok(()));
        found.slots.count = 1;
        check_both(found, Ok(()), Ok(()));
    }

    fn answer(conflict: Conflict, state: HostState) -> Committed {
        let commit = granting();
        let view = View {
            host: commit.host.clone(),
            state: Arc::new(state),
            version: 3,
            now: NOW,
            stopped: false,
            epoch: Epoch::after_loss(7, Time::START, QUIET, false),
            job: JobView { started_at: Time::START, pages: 0 },
        };
        conflict.answer(&commit, NOW, || Ok::<_, std::convert::Infallible>(view)).unwrap()
    }

    #[test]
    fn a_grant_that_succeeded_before_is_stale_and_not_gone() {
        let gone = answer(Conflict::Gone, HostState::default());
        assert!(matches!(gone, Committed::Refused(Refusal::Gone)), "{gone:?}");
        let lease = Lease {
            id: LeaseId(1),
            kind: RequestKind::Page,
            probe: false,
            url: UrlKey::from_u128(1),
            turn: 1,
            generation: 0,
            send_by: NOW,
            until: NOW,
        };
        let ours = HostState { leases: vec![lease], ..HostState::default() };
        let stale = answer(Conflict::Gone, ours);
        assert!(matches!(stale, Committed::Stale(_)), "{stale:?}");
    }

    #[test]
    fn an_address_is_tried_again_after_a_second_or_when_a_slot_ends() {
        for (end, again) in [(100, 100), (101, 101), (109, 101)] {
            let refused = answer(Conflict::Address(Time::from_secs(end)), HostState::default());
            let again = Time::from_secs(again);
            assert!(
                matches!(refused, Committed::Refused(Refusal::Address(at)) if at == again),
                "{refused:?}"
            );
        }
    }
}
