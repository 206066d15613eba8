//! A store in memory, for one process, for tests, and as the reference for other stores.
//!
//! It has versions, caps, a stop list, epochs, holds, claims of URLs, and a clock without steps.
//! Host states are kept encoded, as in every other store. So a million idle hosts are small, and
//! the encoding is always exercised.

mod clock;
mod frontier;
mod journal;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{HostState, JobView, LeaseId, RobotsId};
use curtsy_core::time::Time;
use curtsy_core::url::{HostKey, UrlKey};

use clock::{CorrectedClock, TimeReference};
use frontier::HostQueue;
use journal::{Undo, WriteJournal};

use crate::check::{CommitFacts, QUIET, SlotsTaken, check};
use crate::timetable::{HandOut, Timetable};
use crate::{
    Clock, Commit, Committed, Epoch, Offered, Order, Orders, RobotsFile, Saved, Store, StoreError,
    Taken, UrlRecord, UrlWrite, View, Visit,
};

/// URLs handed out with a host.
const URLS_PER_VISIT: usize = 32;

/// Options of a store in memory.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long nothing is granted in a new epoch: one lease, so that all earlier requests have
    /// ended.
    pub quiet: Duration,
    /// How long a new worker only reads: meanwhile the others correct a step of the clock.
    pub quarantine: Duration,
    /// How far back [`Control::lose`] can undo writes. Zero keeps no journal.
    pub journal: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options { quiet: QUIET, quarantine: Duration::ZERO, journal: Duration::ZERO }
    }
}

/// One worker's handle to a store in memory.
pub struct MemoryStore<C> {
    shared: Rc<RefCell<MemoryStoreState>>,
    clock: C,
    reference: Cell<Option<TimeReference>>,
}

/// The control of a store in memory, for orders, tests and the faults of a simulation.
#[derive(Clone)]
pub struct Control(Rc<RefCell<MemoryStoreState>>);

struct MemoryStoreState {
    options: Options,
    clock: CorrectedClock,
    hosts: HashMap<HostKey, HostEntry>,
    due: Timetable<HostKey>,
    known: HashSet<UrlKey>,
    /// What workers remembered of URLs in this epoch.
    reminded: HashMap<UrlKey, UrlRecord>,
    robots: HashMap<RobotsId, Arc<RobotsFile>>,
    addresses: HashMap<IpAddr, Vec<(LeaseId, Time)>>,
    orders: Arc<Orders>,
    job: JobView,
    epoch: Epoch,
    versions: u64,
    queued: u64,
    sequence: u64,
    journal: WriteJournal,
}

/// A host's state, schedule and queue.
#[derive(Default)]
struct HostEntry {
    state: Box<[u8]>,
    version: u64,
    hand_out: HandOut,
    queue: Option<Box<HostQueue>>,
}

impl HostEntry {
    /// Returns when its first URL is ready.
    fn first_ready(&self) -> Option<Time> {
        self.queue.as_ref().and_then(|queue| queue.first_ready())
    }
}

impl Control {
    /// Returns a new store over a raw clock of microseconds.
    pub fn new(options: Options, raw: impl Fn() -> u64 + 'static) -> Control {
        let now = Time::from_micros(raw());
        let journal = WriteJournal::new(options.journal);
        Control(Rc::new(RefCell::new(MemoryStoreState {
            options,
            clock: CorrectedClock { raw: Box::new(raw), offset: 0, corrections: 0 },
            hosts: HashMap::new(),
            due: Timetable::default(),
            known: HashSet::new(),
            reminded: HashMap::new(),
            robots: HashMap::new(),
            addresses: HashMap::new(),
            orders: Arc::default(),
            job: JobView { started_at: now, pages: 0 },
            epoch: Epoch { id: 1, floor: None, quiet_until: None, emptied: false },
            versions: 0,
            queued: 0,
            sequence: 0,
            journal,
        })))
    }

    /// Returns a worker's handle.
    pub fn handle<C: Clock>(&self, clock: C) -> MemoryStore<C> {
        MemoryStore { shared: Rc::clone(&self.0), clock, reference: Cell::new(None) }
    }

    /// Gives or lifts a stop order.
    pub fn stop(&self, host: &HostKey, stopped: bool) {
        let mut shared = self.0.borrow_mut();
        let now = shared.clock.now();
        let order = shared.orders.next(host, stopped, now);
        shared.order(&order, now);
    }

    /// Loses the writes of the last `span`, as far as the journal goes, and begins a new epoch.
    pub fn lose(&self, span: Duration) {
        let mut shared = self.0.borrow_mut();
        let now = shared.clock.now();
        shared.roll_back(now.back(span));
        shared.new_epoch(now, false);
    }

    /// Loses everything and begins a new epoch.
    pub fn empty(&self) {
        let mut shared = self.0.borrow_mut();
        let now = shared.clock.now();
        shared.hosts.clear();
        shared.due.clear();
        shared.known.clear();
        shared.robots.clear();
        shared.addresses.clear();
        shared.orders = Arc::default();
        shared.journal.clear();
        shared.queued = 0;
        shared.new_epoch(now, true);
    }

    /// Returns the number of URLs that are not settled.
    pub fn queued(&self) -> u64 {
        self.0.borrow().queued
    }

    /// Returns the number of pages that were charged.
    pub fn pages(&self) -> u64 {
        self.0.borrow().job.pages
    }

    /// Returns when a host is handed out next, and its first URLs.
    pub fn schedule(&self, host: &HostKey) -> (Option<Time>, Vec<UrlRecord>) {
        let shared = self.0.borrow();
        let entry = shared.hosts.get(host);
        let queue = entry.and_then(|e| e.queue.as_ref());
        (
            entry.and_then(|e| e.hand_out.due()),
            queue.map(|q| q.first(URLS_PER_VISIT)).unwrap_or_default(),
        )
    }

    /// Returns the state of a host.
    pub fn state(&self, host: &HostKey) -> HostState {
        self.0.borrow().state_of(host).0
    }
}

impl MemoryStoreState {
    fn new_epoch(&mut self, now: Time, emptied: bool) {
        self.reminded.clear();
        self.epoch = Epoch::after_loss(self.epoch.id + 1, now, self.options.quiet, emptied);
    }

    fn state_of(&self, host: &HostKey) -> (HostState, u64) {
        match self.hosts.get(host) {
            Some(entry) if !entry.state.is_empty() => {
                let state = HostState::decode(&entry.state).expect("written by this program");
                (state, entry.version)
            }
            Some(entry) => (HostState::default(), entry.version),
            None => (HostState::default(), 0),
        }
    }

    fn view(&self, host: &HostKey, now: Time) -> View {
        let (state, version) = self.state_of(host);
        View {
            host: host.clone(),
            state: Arc::new(state),
            version,
            now,
            stopped: self.orders.is_stopped(host),
            epoch: self.epoch,
            job: self.job,
        }
    }

    /// Takes over an order, unless a newer one is known.
    fn order(&mut self, order: &Order, now: Time) {
        let old = self.orders.of(&order.host);
        if !Arc::make_mut(&mut self.orders).hear(order) {
            return;
        }
        self.journal.push(now, Undo::Order(order.host.clone(), old));
        if !order.stopped {
            self.reschedule(&order.host, Some(now));
        }
        // A worker that decided under the other order decides again, so a host that it just parked
        // does not stay parked.
        self.versions += 1;
        if let Some(entry) = self.hosts.get_mut(&order.host) {
            entry.version = self.versions;
        }
    }

    fn take(&mut self, hosts: usize, now: Time) -> Vec<Visit> {
        let mut visits = Vec::new();
        if self.epoch.quiet_after(now).is_some() {
            return visits;
        }
        while visits.len() < hosts {
            let first = self.due.iter().next().filter(|(due, _)| *due <= now);
            let Some((_, host)) = first.cloned() else { break };
            let Some(entry) = self.hosts.get_mut(&host) else { break };
            self.due.take(&host, &mut entry.hand_out, now);
            let urls = entry.queue.as_ref().map(|q| q.first(URLS_PER_VISIT)).unwrap_or_default();
            visits.push(Visit { view: self.view(&host, now), urls });
        }
        visits
    }

    /// Reads what a commit is checked against.
    fn found(&mut self, commit: &Commit, now: Time) -> CommitFacts {
        let grant = commit.grant.as_ref();
        let url = grant.and_then(|grant| grant.url);
        let claim = grant.and_then(|grant| grant.address);
        CommitFacts {
            epoch: self.epoch.id,
            version: self.hosts.get(&commit.host).map_or(0, |entry| entry.version),
            claimed: url.is_none_or(|(id, claim)| self.is_claimed(&commit.host, id, claim)),
            stopped: self.orders.is_stopped(&commit.host),
            pages: self.job.pages,
            slots: claim.map(|claim| self.slots_taken(claim.address, now)).unwrap_or_default(),
        }
    }

    fn slots_taken(&mut self, address: IpAddr, now: Time) -> SlotsTaken {
        let Some(slots) = self.addresses.get_mut(&address) else { return SlotsTaken::default() };
        slots.retain(|(_, until)| *until > now);
        let first_end = slots.iter().map(|(_, until)| *until).min();
        SlotsTaken { count: slots.len() as u64, first_end }
    }

    fn commit(&mut self, commit: Commit, now: Time) -> Result<Committed, StoreError> {
        let found = self.found(&commit, now);
        if let Err(conflict) = check(&commit, &found, now) {
            return conflict.answer(&commit, now, || Ok(self.view(&commit.host, now)));
        }
        if let Some(grant) = &commit.grant {
            if let Some(claim) = grant.address {
                let slots = self.addresses.entry(claim.address).or_default();
                slots.push((grant.lease, claim.until));
            }
            if grant.charge.is_some() {
                self.journal.push(now, Undo::Pages(self.job.pages));
                self.job.pages += 1;
            }
        }
        if let Some((address, lease)) = commit.release
            && let Some(slots) = self.addresses.get_mut(&address)
        {
            slots.retain(|(id, _)| *id != lease);
        }
        self.robots.extend(commit.robots);
        if let Some(state) = commit.state {
            self.versions += 1;
            let version = self.versions;
            let entry = self.hosts.entry(commit.host.clone()).or_default();
            let bytes = state.encode().as_slice().into();
            let old = std::mem::replace(&mut entry.state, bytes);
            self.journal.push(now, Undo::State(commit.host.clone(), old, entry.version));
            entry.version = version;
        }
        for write in commit.urls {
            self.write_url(write, now);
        }
        self.reschedule(&commit.host, Some(commit.not_before));
        let version = self.hosts.get(&commit.host).map_or(0, |e| e.version);
        Ok(Committed::Done(Saved { version, now }))
    }

    /// Sets when a host is handed out: not before `not_before`, and not before its first URL is
    /// ready.
    fn reschedule(&mut self, host: &HostKey, not_before: Option<Time>) {
        if let Some(entry) = self.hosts.get_mut(host) {
            let ready = entry.first_ready();
            self.due.give_back(host, &mut entry.hand_out, not_before, ready);
        }
    }
}

impl<C: Clock> Store for MemoryStore<C> {
    async fn offer(&self, records: &[UrlRecord]) -> Result<Offered, StoreError> {
        let now = self.now();
        let mut shared = self.shared.borrow_mut();
        let mut offered = Offered::default();
        for record in records {
            if shared.known.insert(record.id) {
                shared.journal.push(now, Undo::Known(record.id));
                shared.insert_url(record.clone(), now);
                offered.new += 1;
            } else {
                offered.known += 1;
            }
        }
        Ok(offered)
    }

    async fn remind(&self, records: Vec<UrlRecord>) -> Result<(), StoreError> {
        let mut shared = self.shared.borrow_mut();
        for record in records {
            shared.remind(record);
        }
        Ok(())
    }

    async fn order(&self, orders: Vec<Order>) -> Result<(), StoreError> {
        let now = self.now();
        let mut shared = self.shared.borrow_mut();
        for order in orders {
            shared.order(&order, now);
        }
        Ok(())
    }

    async fn take(&self, hosts: usize) -> Result<Taken, StoreError> {
        let now = self.now();
        let listening = self.listens_until();
        let mut shared = self.shared.borrow_mut();
        let visits = if listening.is_some() { Vec::new() } else { shared.take(hosts, now) };
        let next_due = shared.due.first_due();
        let held_back = [listening, shared.epoch.quiet_after(now)];
        let next_due = held_back.into_iter().flatten().max().or(next_due);
        let orders = Arc::clone(&shared.orders);
        Ok(Taken { visits, now, next_due, epoch: shared.epoch, queued: shared.queued, orders })
    }

    async fn waiting(&self, hosts: usize) -> Result<Option<Vec<Visit>>, StoreError> {
        let now = self.now();
        let shared = self.shared.borrow();
        let due_now = shared.due.first_due().is_some_and(|due| due <= now);
        if due_now || shared.due.iter().len() > hosts {
            return Ok(None);
        }
        let visit = |host: &HostKey| {
            let queue = shared.hosts.get(host).and_then(|entry| entry.queue.as_ref());
            let urls = queue.map(|queue| queue.first(URLS_PER_VISIT)).unwrap_or_default();
            Visit { view: shared.view(host, now), urls }
        };
        Ok(Some(shared.due.iter().map(|(_, host)| visit(host)).collect()))
    }

    async fn load(&self, host: &HostKey) -> Result<View, StoreError> {
        let now = self.now();
        Ok(self.shared.borrow().view(host, now))
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        let now = self.now();
        self.shared.borrow_mut().commit(commit, now)
    }

    async fn settle(&self, writes: Vec<UrlWrite>) -> Result<(), StoreError> {
        let now = self.now();
        let mut shared = self.shared.borrow_mut();
        for write in writes {
            let from = write.from.clone();
            shared.write_url(write, now);
            if let Some(host) = from {
                shared.reschedule_unless_held(&host);
            }
        }
        Ok(())
    }

    async fn robots(&self, id: RobotsId) -> Result<Option<Arc<RobotsFile>>, StoreError> {
        Ok(self.shared.borrow().robots.get(&id).cloned())
    }
}
