//! The permit: the right to send one request, and the one way to get it.
//!
//! [`HostState::reserve`](curtsy_core::host::HostState::reserve) books a turn and gives a sealed
//! permit. [`commit`] asks a store to write the booked state, and looks at the store's answer: if
//! the answer shows that the store holds the lease, there is a [`Receipt`]. [`Permit::open`] takes
//! both. [`Line::send`](crate::Line::send) takes the permit and gives none back.
//!
//! What the types guarantee: a permit exists only after a [`Store`] answered that it holds the
//! permit's lease; it is for that lease's host and URL; it is used once; and its last moment
//! follows from the lease and from the clock readings around that very commit.
//!
//! What the types do not guarantee: that the store tells the truth, that it is the store that the
//! other workers use, and that a worker gives each lease a number of its own
//! ([`LeaseId::of`](curtsy_core::host::LeaseId::of)).

use curtsy_core::host::{Approach, BookedTurn, LeaseId, SealedPermit};
use curtsy_core::time::Time;
use curtsy_core::url::HostKey;

use crate::stamp::Stamp;
use crate::{Clock, Commit, Committed, Mono, Store, StoreError};

/// Proof that a store holds the lease of a grant. Only [`commit`] makes one.
///
/// ```
/// use curtsy_engine::{Clock, Commit, Receipt, Store, commit};
///
/// async fn proven(store: &impl Store, clock: &impl Clock, grant: &Commit) -> Option<Receipt> {
///     commit(store, clock, grant).await.ok()?.receipt
/// }
/// ```
///
/// A receipt cannot be made by hand:
///
/// ```compile_fail,E0451
/// use curtsy_core::host::LeaseId;
/// use curtsy_core::url::HostKey;
/// use curtsy_engine::Receipt;
///
/// fn forged(host: HostKey, lease: LeaseId) -> Receipt {
///     Receipt { host, lease, stamp: todo!() }
/// }
/// ```
///
/// and cannot be copied:
///
/// ```compile_fail,E0599
/// fn two(receipt: curtsy_engine::Receipt) {
///     let copy = receipt.clone();
/// }
/// ```
#[derive(Debug)]
pub struct Receipt {
    host: HostKey,
    lease: LeaseId,
    stamp: Stamp,
}

/// A store's reply to a commit.
#[derive(Debug)]
pub struct CommitReply {
    /// The store's answer.
    pub committed: Committed,
    /// Proof that the store holds the lease of the grant, if the commit was one and the store does.
    pub receipt: Option<Receipt>,
    /// The store's time against the worker's clock.
    pub(crate) stamp: Stamp,
}

/// Sends a commit to the store, and gives a receipt if the store's answer shows the grant's lease.
///
/// Two answers show it: `Done`, where the lease is in the state that was committed, and `Stale`
/// with a state that holds the lease. The second means that an earlier answer was lost.
pub async fn commit<S: Store, C: Clock>(
    store: &S,
    clock: &C,
    commit: &Commit,
) -> Result<CommitReply, StoreError> {
    let m0 = clock.mono();
    let committed = store.commit(commit.clone()).await?;
    let m1 = clock.mono();
    let (now, shown) = match &committed {
        Committed::Done(saved) => (saved.now, commit.state.as_ref()),
        Committed::Stale(view) => {
            (view.now, Some(&view.state).filter(|_| view.host == commit.host))
        }
        // Nothing was written, and nobody needs the time of a refusal.
        Committed::Refused(_) => (Time::START, None),
    };
    let stamp = Stamp { now, m0, m1 };
    let receipt = commit.grant.as_ref().zip(shown).and_then(|(grant, state)| {
        let lease = state.lease(grant.lease)?.id;
        Some(Receipt { host: commit.host.clone(), lease, stamp })
    });
    Ok(CommitReply { committed, receipt, stamp })
}

/// The right to send one request, until a certain moment.
///
/// A line takes the permit and sends one request:
///
/// ```
/// use std::cell::Cell;
/// use curtsy_engine::{Line, Permit, Request};
///
/// async fn once(line: &mut impl Line, permit: Permit, request: &Request) {
///     line.send(permit, request, &Cell::new(None)).await;
/// }
/// ```
///
/// The same permit sends no second request:
///
/// ```compile_fail,E0382
/// use std::cell::Cell;
/// use curtsy_engine::{Line, Permit, Request};
///
/// async fn twice(line: &mut impl Line, permit: Permit, request: &Request) {
///     line.send(permit, request, &Cell::new(None)).await;
///     line.send(permit, request, &Cell::new(None)).await;
/// }
/// ```
///
/// nor does a copy of it, since there is none:
///
/// ```compile_fail,E0599
/// fn two(permit: curtsy_engine::Permit) {
///     let copy = permit.clone();
/// }
/// ```
///
/// The caller chooses neither the last moment:
///
/// ```compile_fail,E0616
/// fn later(permit: &mut curtsy_engine::Permit) {
///     permit.until.0 += 1_000_000;
/// }
/// ```
///
/// nor the URL, which is the one of the booking:
///
/// ```compile_fail,E0560
/// use curtsy_core::url::CrawlUrl;
/// use curtsy_engine::Request;
///
/// fn elsewhere(url: CrawlUrl) -> Request {
///     Request { method: "GET", url, ..Request::default() }
/// }
/// ```
#[derive(Debug)]
pub struct Permit {
    turn: BookedTurn,
    until: Mono,
}

impl Permit {
    /// Opens a sealed permit, if the receipt is of its own lease; otherwise gives it back.
    pub fn open(sealed: SealedPermit, receipt: Receipt) -> Result<Permit, SealedPermit> {
        let turn = sealed.turn();
        if receipt.lease != turn.lease().id || receipt.host != *turn.approach().url.host() {
            return Err(sealed);
        }
        let until = receipt.stamp.deadline(turn.send_by());
        Ok(Permit { turn: sealed.into_turn(), until })
    }

    /// Returns the turn that was granted.
    pub fn turn(&self) -> &BookedTurn {
        &self.turn
    }

    /// Returns what the request may ask for.
    pub fn approach(&self) -> &Approach {
        self.turn.approach()
    }

    /// Returns the latest moment of the worker's clock at which the first byte may leave.
    pub fn until(&self) -> Mono {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use curtsy_core::host::{
        Action, Ask, AskKind, HostState, JobView, Reserved, RobotsNews, Scene,
    };
    use curtsy_core::policy::{Policy, Preset};
    use curtsy_core::robots::RobotsClass;
    use curtsy_core::url::CrawlUrl;
    use futures_util::FutureExt;

    use super::*;
    use crate::memory::{Control, MemoryStore, Options};
    use crate::{Grant, Refusal};

    const NOW: Time = Time::from_secs(1_704_067_200);

    /// A clock that stands still.
    #[derive(Clone, Copy)]
    struct Still;

    impl Clock for Still {
        fn mono(&self) -> Mono {
            Mono(7_000_000)
        }

        async fn sleep_until(&self, _: Mono) {}
    }

    /// Books a turn for a page at [`NOW`].
    fn booked(url: &str, lease: u64) -> Reserved {
        let (url, policy) = (CrawlUrl::parse(url).unwrap(), Policy::preset(Preset::Careful));
        let mut state = HostState::default();
        let absent = RobotsNews::Answer { class: RobotsClass::NoRules, file: None, told: None };
        state.learn_robots(&url.authority(), absent, &policy.robots, Some((NOW, NOW)), NOW);
        let scene = Scene {
            policy: &policy,
            now: NOW,
            seed: 7,
            rules: None,
            job: JobView { started_at: NOW, pages: 0 },
            stopped: false,
            floor: None,
            quiet_until: None,
        };
        let ask = Ask {
            url: &url,
            kind: AskKind::Page,
            charged: false,
            fresh_until: None,
            retry_at: None,
            tries: 0,
            needs_word: false,
            slot_since: None,
        };
        let Action::Approach(approach) = state.admit(&ask, &scene).action else {
            panic!("`{url}` may be asked for");
        };
        state.reserve(&approach, &ask, &scene, LeaseId(lease)).unwrap()
    }

    /// A store whose time is `late` past [`NOW`].
    fn store(late: Duration) -> (Control, MemoryStore<Still>) {
        let control = Control::new(Options::default(), move || (NOW + late).micros());
        let handle = control.handle(Still);
        (control, handle)
    }

    /// The commit of a booking's state, as a grant, on version `version`.
    fn grant(booked: &Reserved, version: u64) -> Commit {
        let turn = booked.permit.turn();
        Commit {
            host: turn.approach().url.host().clone(),
            version,
            epoch: 1,
            state: Some(Arc::new(booked.state.clone())),
            not_before: NOW,
            grant: Some(Grant { lease: turn.lease().id, url: None, charge: None, address: None }),
            release: None,
            robots: Vec::new(),
            urls: Vec::new(),
            exchanged: None,
        }
    }

    fn reply(store: &MemoryStore<Still>, wanted: &Commit) -> CommitReply {
        commit(store, &Still, wanted).now_or_never().expect("memory never waits").unwrap()
    }

    #[test]
    fn a_permit_opens_only_by_the_receipt_of_its_own_lease() {
        let receipt = |url, lease| {
            let (_, store) = store(Duration::ZERO);
            reply(&store, &grant(&booked(url, lease), 0)).receipt.expect("it is written")
        };
        let sealed = booked("https://example.org/page", 9).permit;
        let other_lease = receipt("https://example.org/page", 8);
        let sealed = Permit::open(sealed, other_lease).expect_err("not its lease");
        let other_host = receipt("https://example.net/page", 9);
        let sealed = Permit::open(sealed, other_host).expect_err("not its host");
        let own = receipt("https://example.org/page", 9);
        let permit = Permit::open(sealed, own).expect("its lease on its host");
        assert_eq!(permit.turn().lease().id, LeaseId(9));
        assert_eq!(permit.approach().url.as_str(), "https://example.org/page");
    }

    #[test]
    fn the_last_moment_of_a_permit_counts_from_the_clock_before_its_commit() {
        for (late, left) in [(0, 200), (150, 50), (200, 0), (900, 0)] {
            let booked = booked("https://example.org/page", 9);
            let (_, store) = store(Duration::from_millis(late));
            let receipt = reply(&store, &grant(&booked, 0)).receipt.expect("it is written");
            let permit = Permit::open(booked.permit, receipt).unwrap();
            assert_eq!(permit.until(), Still.mono() + Duration::from_millis(left), "{late} ms");
        }
    }

    #[test]
    fn an_answer_that_was_lost_leads_to_the_permit_of_the_lease_that_was_written() {
        let (_, store) = store(Duration::ZERO);
        let (ours, theirs) =
            (booked("https://example.org/a", 1), booked("https://example.org/b", 2));
        let lost = reply(&store, &grant(&ours, 0));
        assert!(matches!(lost.committed, Committed::Done(_)));
        // Another worker read the state before that, and comes too late.
        let stale = reply(&store, &grant(&theirs, 0));
        assert!(matches!(stale.committed, Committed::Stale(_)) && stale.receipt.is_none());
        let again = reply(&store, &grant(&ours, 0));
        assert!(matches!(again.committed, Committed::Stale(_)));
        Permit::open(ours.permit, again.receipt.expect("the state has the lease")).unwrap();
    }

    #[test]
    fn only_a_grant_that_was_written_has_a_receipt() {
        let booked = booked("https://example.org/page", 9);
        let wanted = grant(&booked, 0);
        let (control, store) = store(Duration::ZERO);
        // The state has the lease, but neither caps nor the stop list were compared.
        let plain = Commit { grant: None, ..wanted.clone() };
        assert!(reply(&store, &plain).receipt.is_none());
        control.stop(&wanted.host, true);
        let view = store.load(&wanted.host).now_or_never().expect("memory never waits").unwrap();
        let refused = reply(&store, &Commit { version: view.version, ..wanted });
        assert!(matches!(refused.committed, Committed::Refused(Refusal::Stopped)));
        assert!(refused.receipt.is_none());
    }
}
