//! A store in memory: for one process, for tests, and as the measure of what a store must do.
//!
//! It is complete: versions, caps, stop list, epochs, holds, URL claims, and a clock whose steps are taken out. Host states rest
//! encoded, as they do in every other store, so a million quiet hosts are small and the encoding is used all the time.

mod clock;
mod frontier;
mod journal;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{HostState, JobView, LeaseId, RobotsId};
use curtsy_core::time::Time;
use curtsy_core::url::{HostKey, UrlKey};

use clock::Reference;
use frontier::Queue;
use journal::{Journal, Undo};

use crate::visit::HOLD;
use crate::{
    Clock, Commit, Committed, Epoch, Offered, Order, Orders, Refusal, RobotsFile, Saved, Store,
    StoreError, Taken, UrlRecord, UrlWrite, View, Visit,
};

/// URLs handed out with a host.
const URLS_PER_VISIT: usize = 32;

/// How a store in memory behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long nothing is granted in a new epoch: one lease, so that what was in flight before has ended.
    pub quiet: Duration,
    /// How long a worker that is new here only listens: until then the others have taken out a step of the clock.
    pub quarantine: Duration,
    /// How much of the past can be lost by [`Control::lose`]; zero keeps no journal.
    pub journal: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            quiet: Duration::from_secs(31),
            quarantine: Duration::ZERO,
            journal: Duration::ZERO,
        }
    }
}

/// One worker's handle to a store in memory.
pub struct MemoryStore<C> {
    shared: Rc<RefCell<Shared>>,
    clock: C,
    reference: Cell<Option<Reference>>,
}

/// The other end of a store in memory: for orders, for tests and for the faults of a simulation.
#[derive(Clone)]
pub struct Control(Rc<RefCell<Shared>>);

struct Shared {
    options: Options,
    raw: Box<dyn Fn() -> u64>,
    /// What is added to the raw clock, so that its steps are not seen.
    offset: i64,
    /// Counts changes of the offset: a reference from before one proves nothing.
    corrections: u32,
    hosts: HashMap<HostKey, Entry>,
    due: BTreeSet<(Time, HostKey)>,
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
    journal: Journal,
}

/// A host at rest.
#[derive(Default)]
struct Entry {
    state: Box<[u8]>,
    version: u64,
    not_before: Option<Time>,
    due: Option<Time>,
    /// Whether a visit has it: then its due time is when it is given to others.
    held: bool,
    /// Whether it is to be looked at before anything may be asked.
    look: bool,
    queue: Option<Box<Queue>>,
}

impl Entry {
    /// When the host is handed out, if its first URL is ready then.
    fn due_from(&self, ready: Time) -> Time {
        match self.look {
            true => ready,
            false => ready.max(self.not_before.unwrap_or(Time::START)),
        }
    }
}

impl Control {
    /// A new store over a raw clock of microseconds.
    pub fn new(options: Options, raw: impl Fn() -> u64 + 'static) -> Control {
        let now = Time::from_micros(raw());
        let journal = Journal::new(options.journal);
        Control(Rc::new(RefCell::new(Shared {
            options,
            raw: Box::new(raw),
            offset: 0,
            corrections: 0,
            hosts: HashMap::new(),
            due: BTreeSet::new(),
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

    /// A worker's handle.
    pub fn handle<C: Clock>(&self, clock: C) -> MemoryStore<C> {
        MemoryStore { shared: Rc::clone(&self.0), clock, reference: Cell::new(None) }
    }

    /// Orders that nothing more is asked of a host, or lifts the order.
    pub fn stop(&self, host: &HostKey, stopped: bool) {
        let mut shared = self.0.borrow_mut();
        let now = shared.raw_now();
        let order = shared.orders.next(host, stopped, now);
        shared.order(&order, now);
    }

    /// Loses what was written within `span` (at most what the journal keeps) and begins a new epoch.
    pub fn lose(&self, span: Duration) {
        let mut shared = self.0.borrow_mut();
        let now = shared.raw_now();
        shared.roll_back(now.back(span));
        shared.new_epoch(now, false);
    }

    /// Loses everything and begins a new epoch.
    pub fn empty(&self) {
        let mut shared = self.0.borrow_mut();
        let now = shared.raw_now();
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

    /// URLs that are not settled.
    pub fn queued(&self) -> u64 {
        self.0.borrow().queued
    }

    /// Pages charged so far.
    pub fn pages(&self) -> u64 {
        self.0.borrow().job.pages
    }

    /// When a host is handed out next, and its first URLs: for whoever asks why nothing happens.
    pub fn schedule(&self, host: &HostKey) -> (Option<Time>, Vec<UrlRecord>) {
        let shared = self.0.borrow();
        let entry = shared.hosts.get(host);
        let queue = entry.and_then(|e| e.queue.as_ref());
        (entry.and_then(|e| e.due), queue.map(|q| q.first(URLS_PER_VISIT)).unwrap_or_default())
    }

    /// The state of a host.
    pub fn state(&self, host: &HostKey) -> HostState {
        self.0.borrow().state_of(host).0
    }
}

impl Shared {
    fn raw_now(&self) -> Time {
        Time::from_micros((self.raw)().saturating_add_signed(self.offset))
    }

    fn new_epoch(&mut self, now: Time, emptied: bool) {
        self.reminded.clear();
        self.epoch = Epoch {
            id: self.epoch.id + 1,
            floor: Some(now),
            quiet_until: Some(now + self.options.quiet),
            emptied,
        };
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

    /// An order, unless a newer one is in force.
    fn order(&mut self, order: &Order, now: Time) {
        let old = self.orders.of(&order.host);
        if !Arc::make_mut(&mut self.orders).hear(order) {
            return;
        }
        self.journal.push(now, Undo::Order(order.host.clone(), old));
        if !order.stopped {
            self.reschedule(&order.host, Some(now));
        }
        // Whoever decided under the other order decides again: a host parked just now must not stay parked.
        self.versions += 1;
        if let Some(entry) = self.hosts.get_mut(&order.host) {
            entry.version = self.versions;
        }
    }

    fn take(&mut self, hosts: usize, now: Time) -> Vec<Visit> {
        let mut visits = Vec::new();
        if self.epoch.quiet_until.is_some_and(|quiet| quiet > now) {
            return visits;
        }
        while visits.len() < hosts {
            let Some((due, host)) = self.due.first().cloned() else {
                break;
            };
            if due > now {
                break;
            }
            // Handed out, not removed: it falls due again by itself.
            self.set_due(&host, Some(now + HOLD));
            let Some(entry) = self.hosts.get_mut(&host) else {
                continue;
            };
            entry.held = true;
            entry.look = false;
            let urls = entry.queue.as_ref().map(|q| q.first(URLS_PER_VISIT)).unwrap_or_default();
            visits.push(Visit { view: self.view(&host, now), urls });
        }
        visits
    }

    fn commit(&mut self, commit: Commit, now: Time) -> Committed {
        let version = self.hosts.get(&commit.host).map_or(0, |e| e.version);
        // Told even on an old state: a visit with an old list must not wait for turns of what is gone.
        if commit.epoch == self.epoch.id
            && let Some((id, claim)) = commit.grant.as_ref().and_then(|g| g.url)
            && !self.is_claimed(&commit.host, id, claim)
        {
            return self.gone_or_ours(&commit, now);
        }
        if commit.epoch != self.epoch.id || commit.version != version {
            return Committed::Stale(self.view(&commit.host, now));
        }
        if let Some(grant) = &commit.grant {
            if self.orders.is_stopped(&commit.host) {
                return Committed::Refused(Refusal::Stopped);
            }
            if grant.charge.is_some_and(|cap| self.job.pages >= cap) {
                return Committed::Refused(Refusal::Budget);
            }
            if let Some(claim) = grant.address {
                let slots = self.addresses.entry(claim.address).or_default();
                slots.retain(|(_, until)| *until > now);
                if slots.len() >= usize::from(claim.cap) {
                    let free = slots.iter().map(|(_, until)| *until).min().unwrap_or(now);
                    // Slots are given back early far more often than they run out: look again soon.
                    return Committed::Refused(Refusal::Address(
                        free.min(now + Duration::from_secs(1)),
                    ));
                }
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
        for (id, file) in commit.robots {
            self.robots.insert(id, file);
        }
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
        Committed::Done(Saved { version, now })
    }

    /// A grant for a URL that is not there under that claim: somebody else has it, or this very grant had worked and its answer got lost.
    fn gone_or_ours(&self, commit: &Commit, now: Time) -> Committed {
        let view = self.view(&commit.host, now);
        let lease = commit.grant.as_ref().map(|g| g.lease);
        match lease.is_some_and(|id| view.state.lease(id).is_some()) {
            true => Committed::Stale(view),
            false => Committed::Refused(Refusal::Gone),
        }
    }

    /// Sets when a host is handed out: not before `not_before`, and not before its first URL is ready.
    fn reschedule(&mut self, host: &HostKey, not_before: Option<Time>) {
        let Some(entry) = self.hosts.get_mut(host) else {
            return;
        };
        entry.not_before = not_before.or(entry.not_before);
        entry.held = false;
        let ready = entry.queue.as_ref().and_then(|q| q.first_ready());
        let due = ready.map(|ready| entry.due_from(ready));
        self.set_due(host, due);
    }

    fn set_due(&mut self, host: &HostKey, due: Option<Time>) {
        let Some(entry) = self.hosts.get_mut(host) else {
            return;
        };
        if entry.due == due {
            return;
        }
        if let Some(old) = entry.due.take() {
            self.due.remove(&(old, host.clone()));
        }
        if let Some(due) = due {
            self.due.insert((due, host.clone()));
        }
        entry.due = due;
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
        let next_due = shared.due.first().map(|(due, _)| *due);
        let held_back = [listening, shared.epoch.quiet_until.filter(|q| *q > now)];
        let next_due = held_back.into_iter().flatten().max().or(next_due);
        let orders = Arc::clone(&shared.orders);
        Ok(Taken { visits, now, next_due, epoch: shared.epoch, queued: shared.queued, orders })
    }

    async fn waiting(&self, hosts: usize) -> Result<Option<Vec<Visit>>, StoreError> {
        let now = self.now();
        let shared = self.shared.borrow();
        let due_now = shared.due.first().is_some_and(|(due, _)| *due <= now);
        if due_now || shared.due.len() > hosts {
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
        Ok(self.shared.borrow_mut().commit(commit, now))
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
