//! The contract of every store.
//!
//! The checks run without faults, and with the simulator's faults between worker and store: replies
//! that are lost after the work was done, and refusals. Time is virtual, so a hold of ten seconds
//! takes none.

mod claims;
mod frontier;
mod grants;
mod loss;
mod writes;

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{HostState, Lease, LeaseId, RequestKind, RobotsId};
use curtsy_core::url::{CrawlUrl, HostKey};
use curtsy_engine::{
    Commit, Committed, Grant, Offered, Order, Refusal, RobotsFile, Store, StoreError, Taken,
    UrlRecord, UrlWrite, View, Visit,
};

use curtsy_sim::executor::{Executor, Stepped, Universe};
use curtsy_sim::store_faults::{FaultyStore, Weather};
use curtsy_sim::{Chance, Life, SimClock};

/// A store under test, with the levers that the suite pulls.
pub trait Rig {
    /// What its workers get.
    type Store: Store;
    /// A new worker's handle.
    fn handle(&self, clock: SimClock) -> Self::Store;
    /// A stop order, or its end.
    fn stop(&self, host: &HostKey, stopped: bool);
    /// Loses everything and begins a new epoch.
    fn empty(&self);
    /// Ends the process and starts another on the same files; false if nothing outlives a process.
    fn reopen(&self) -> bool;
}

/// How workers reach the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Straight.
    Straight,
    /// A fifth of all answers is lost and a fifth of all calls refused, as this seed has it.
    Faulty(u64),
}

type Trying = Pin<Box<dyn Future<Output = ()>>>;

/// Makes the list of checks from functions.
macro_rules! checks {
    ($($module:ident: $($name:ident),+;)+) => {
        fn checks<R: Rig + 'static>() -> Vec<(&'static str, fn(Rc<StoreTrial<R>>) -> Trying)> {
            vec![$($((
                stringify!($name),
                |trial| Box::pin(async move { $module::$name(&trial).await }),
            )),+),+]
        }
    };
}

checks! {
    frontier:
        a_new_url_is_added_and_a_known_one_is_not,
        a_settled_url_stays_known,
        take_does_not_remove_a_host,
        a_host_that_is_held_is_not_handed_out_again,
        take_hands_out_no_more_than_it_is_asked_for,
        hosts_come_in_the_order_in_which_they_fall_due,
        a_host_is_not_handed_out_before_its_time,
        a_host_is_not_handed_out_before_its_first_url_is_ready,
        a_url_that_comes_later_waits_for_its_host,
        what_is_ready_goes_first_then_ranks_then_arrival,
        urls_of_a_rank_go_by_worth_then_arrival,
        what_is_worth_more_overtakes_a_long_queue,
        a_hop_of_robots_txt_has_its_host_looked_at_once,
        a_long_queue_keeps_its_order_and_loses_nothing,
        many_hosts_all_have_their_visit,
        the_next_due_time_is_told;
    writes:
        what_is_committed_is_loaded_by_every_worker,
        every_write_of_a_state_has_a_new_version,
        a_commit_of_the_schedule_alone_keeps_the_version,
        a_commit_on_an_old_version_is_stale_and_writes_nothing,
        a_commit_of_another_epoch_is_stale,
        a_host_that_nobody_wrote_has_version_zero,
        robots_files_are_kept_by_their_hash,
        time_never_goes_back,
        time_passes_as_the_worker_clocks_do;
    grants:
        a_grant_is_seen_by_every_other_worker,
        a_repeated_grant_shows_its_lease,
        a_page_is_charged_once_and_the_cap_holds,
        a_refused_grant_writes_nothing,
        a_stop_order_refuses_and_its_end_lets_go,
        a_stop_order_has_everybody_decide_again,
        slots_of_an_address_are_capped_and_given_back,
        slots_of_an_address_run_out;
    claims:
        a_url_that_somebody_else_has_is_gone,
        a_url_that_is_settled_is_gone,
        a_grant_on_an_old_list_is_told_so_even_on_an_old_version,
        a_write_with_an_old_claim_is_left_out,
        a_settle_with_an_old_claim_is_left_out,
        a_redirect_moves_the_record_to_its_new_host,
        a_moved_record_is_not_doubled,
        a_record_keeps_all_that_was_written_to_it;
    loss:
        an_emptied_store_begins_a_new_epoch,
        what_is_remembered_is_taken_over_in_the_queue,
        what_is_remembered_is_taken_over_by_what_comes_later,
        orders_are_told_to_workers_and_taken_back_from_them,
        an_older_order_does_not_undo_a_newer_one,
        a_restart_keeps_states_and_versions,
        a_restart_keeps_the_queue_with_its_claims,
        a_restart_keeps_known_urls_and_charged_pages,
        a_restart_keeps_stop_orders_slots_and_robots_files,
        a_restart_keeps_what_is_remembered,
        a_restart_begins_no_epoch_and_takes_no_time_back;
}

/// Runs every check, each over a store of its own, and panics with the names of those that fail.
pub fn keep_the_contract<R: Rig + 'static>(way: Way, make: impl Fn(Rc<Universe>) -> R) {
    let make = &make;
    let checks = checks::<R>().into_iter();
    crate::keep(checks.map(|(name, check)| (name, move || run_check(check, way, make))));
}

fn run_check<R: Rig + 'static>(
    check: fn(Rc<StoreTrial<R>>) -> Trying,
    way: Way,
    make: &impl Fn(Rc<Universe>) -> R,
) {
    let universe = Universe::new(START);
    let seed = if let Way::Faulty(seed) = way { seed } else { 0 };
    let chance = Chance::new(seed);
    let weather = Rc::new(Weather::default());
    if way != Way::Straight {
        weather.lost_reply.set(200_000);
        weather.refusal.set(200_000);
    }
    let trial = Rc::new(StoreTrial {
        rig: make(Rc::clone(&universe)),
        universe: Rc::clone(&universe),
        weather,
        way,
        chance: RefCell::new(chance),
        leases: Cell::new(1),
    });
    let mut executor = Executor::new(Rc::clone(&universe), Chance::new(seed));
    let task = executor.spawn(check(trial));
    let end = START + CHECK_MAX;
    loop {
        match executor.step(end) {
            Stepped::Ended(id) if id == task => return,
            Stepped::Limit => panic!("does not end"),
            _ => {}
        }
    }
}

/// The true time at which every check begins.
const START: u64 = 1_798_761_600 * 1_000_000;
/// How long a check may take, in its own time.
const CHECK_MAX: u64 = 86_400 * 1_000_000;

/// One check at work.
pub(crate) struct StoreTrial<R: Rig> {
    rig: R,
    universe: Rc<Universe>,
    weather: Rc<Weather>,
    way: Way,
    chance: RefCell<Chance>,
    leases: Cell<u64>,
}

impl<R: Rig> StoreTrial<R> {
    /// A worker that is new here.
    fn worker(&self) -> TrialWorker<R::Store> {
        let base = self.chance.borrow_mut().below(1 << 40);
        let life = Life::new(Rc::clone(&self.universe), base, "contract");
        let store = self.rig.handle(SimClock(Rc::clone(&life)));
        let line = match self.way {
            Way::Straight => StoreLine::Straight(store),
            Way::Faulty(_) => StoreLine::Faulty(FaultyStore::new(
                store,
                Rc::clone(&self.universe),
                Rc::clone(&self.weather),
                life,
                self.chance.borrow_mut().fork(),
            )),
        };
        TrialWorker { line, universe: Rc::clone(&self.universe) }
    }

    /// A worker, a page that the worker queued at `a.test`, and what it loads of that host then.
    async fn queued(&self) -> (TrialWorker<R::Store>, UrlRecord, View) {
        let (worker, page) = (self.worker(), page("http://a.test/1"));
        worker.offer(vec![page.clone()]).await;
        let view = worker.load(&host("a.test")).await;
        (worker, page, view)
    }

    /// Lets time go by.
    async fn pass(&self, span: Duration) {
        self.universe.sleep_until(self.universe.now() + span.as_micros() as u64).await;
    }

    /// A lease that nobody has.
    fn lease(&self) -> LeaseId {
        self.leases.set(self.leases.get() + 1);
        LeaseId(self.leases.get())
    }
}

enum StoreLine<S> {
    Straight(S),
    Faulty(FaultyStore<S>),
}

/// A worker as the engine is one: it asks again until it knows.
pub(crate) struct TrialWorker<S> {
    line: StoreLine<S>,
    universe: Rc<Universe>,
}

/// Repeats a call until its answer is known.
macro_rules! known {
    ($self:ident, $store:ident => $call:expr) => {
        loop {
            let answer = match &$self.line {
                StoreLine::Straight($store) => $call.await,
                StoreLine::Faulty($store) => $call.await,
            };
            match answer {
                Ok(answer) => break answer,
                Err(error) => $self.again(&error).await,
            }
        }
    };
}

impl<S: Store> TrialWorker<S> {
    async fn again(&self, error: &StoreError) {
        assert!(matches!(self.line, StoreLine::Faulty(_)), "a store that is well refuses: {error}");
        self.universe.sleep_until(self.universe.now() + 10_000).await;
    }

    async fn offer(&self, records: Vec<UrlRecord>) -> Offered {
        known!(self, store => store.offer(&records))
    }

    async fn remind(&self, records: Vec<UrlRecord>) {
        known!(self, store => store.remind(records.clone()))
    }

    async fn order(&self, orders: Vec<Order>) {
        known!(self, store => store.order(orders.clone()))
    }

    async fn take(&self, hosts: usize) -> Taken {
        known!(self, store => store.take(hosts))
    }

    async fn load(&self, host: &HostKey) -> View {
        known!(self, store => store.load(host))
    }

    async fn commit(&self, commit: Commit) -> Committed {
        known!(self, store => store.commit(commit.clone()))
    }

    async fn settle(&self, writes: Vec<UrlWrite>) {
        known!(self, store => store.settle(writes.clone()))
    }

    async fn robots(&self, id: RobotsId) -> Option<Arc<RobotsFile>> {
        known!(self, store => store.robots(id))
    }

    /// Whether answers can get lost here: then counts of what was done are not told apart from
    /// counts of what had been done.
    fn is_straight(&self) -> bool {
        matches!(self.line, StoreLine::Straight(_))
    }

    /// Takes until a host is handed out, at most so long. A lost answer holds a host as any other
    /// does.
    async fn visit_within(&self, host: &HostKey, span: Duration) -> Option<Visit> {
        let end = self.universe.now() + span.as_micros() as u64;
        loop {
            let taken = self.take(64).await;
            if let Some(visit) = taken.visits.into_iter().find(|v| v.view.host == *host) {
                return Some(visit);
            }
            if self.universe.now() >= end {
                return None;
            }
            self.universe.sleep_until(self.universe.now() + 100_000).await;
        }
    }

    /// A visit to a host that is due, or is held for as long as a hold takes.
    async fn visit(&self, host: &HostKey) -> Visit {
        let span = if self.is_straight() { Duration::ZERO } else { HOLD * 8 };
        self.visit_within(host, span).await.unwrap_or_else(|| panic!("`{host}` is handed out"))
    }

    /// Writes a change of a host's state, on whatever is newest.
    async fn change(&self, host: &HostKey, change: impl Fn(&mut HostState)) -> View {
        loop {
            let view = self.load(host).await;
            let mut state = Arc::clone(&view.state);
            change(Arc::make_mut(&mut state));
            let commit = Commit { state: Some(state), ..plain(&view) };
            if let Committed::Done(_) = self.commit(commit).await {
                return self.load(host).await;
            }
            if !self.is_straight() {
                let newer = self.load(host).await;
                let mut again = Arc::clone(&newer.state);
                change(Arc::make_mut(&mut again));
                // Its answer had got lost: it had worked.
                if newer.version != view.version && again == newer.state {
                    return newer;
                }
            }
        }
    }

    /// Commits, and has a lost answer count as what was done.
    async fn done(&self, commit: Commit) {
        let wanted = commit.state.clone();
        match self.commit(commit).await {
            Committed::Done(_) => {}
            Committed::Stale(view)
                if !self.is_straight() && Some(&view.state) == wanted.as_ref() => {}
            other => panic!("a commit is done: {other:?}"),
        }
    }
}

/// How long a host that was handed out is held.
const HOLD: Duration = Duration::from_secs(10);

fn host(name: &str) -> HostKey {
    HostKey::parse(name).expect("a host of ours")
}

fn page(url: &str) -> UrlRecord {
    UrlRecord::page(CrawlUrl::parse(url).expect("a URL of ours"), 0)
}

#[track_caller]
fn refused(committed: Committed, expected: Refusal) {
    assert!(matches!(&committed, Committed::Refused(why) if *why == expected), "{committed:?}");
}

/// A commit that changes nothing but the schedule.
fn plain(view: &View) -> Commit {
    Commit {
        host: view.host.clone(),
        version: view.version,
        epoch: view.epoch.id,
        state: None,
        not_before: view.now,
        grant: None,
        release: None,
        robots: Vec::new(),
        urls: Vec::new(),
        exchanged: None,
    }
}

/// A grant of a URL, with its lease in the state and its claim in the record.
fn grant(view: &View, record: &UrlRecord, lease: LeaseId) -> Commit {
    let mut state = HostState::clone(&view.state);
    state.turn += 1;
    let until = view.now + Duration::from_secs(30);
    state.leases.push(Lease {
        id: lease,
        kind: RequestKind::Page,
        probe: false,
        url: record.id,
        turn: state.turn,
        generation: 0,
        send_by: view.now,
        until,
    });
    Commit {
        state: Some(state.into()),
        grant: Some(Grant {
            lease,
            url: Some((record.id, record.claim)),
            charge: None,
            address: None,
        }),
        urls: vec![becomes(record, UrlRecord { claim: Some(lease), ..record.clone() })],
        ..plain(view)
    }
}

/// A change of a record.
fn becomes(from: &UrlRecord, to: UrlRecord) -> UrlWrite {
    UrlWrite { from: Some(from.host().clone()), id: from.id, claim: from.claim, to: Some(to) }
}

/// A record's end.
fn settled(record: &UrlRecord) -> UrlWrite {
    UrlWrite { from: Some(record.host().clone()), id: record.id, claim: record.claim, to: None }
}

fn ids(visit: &Visit) -> Vec<String> {
    visit.urls.iter().map(|record| record.url.to_string()).collect()
}
