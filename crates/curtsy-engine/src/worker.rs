//! A worker: one future with a bounded set of visits.
//!
//! [`Worker`] holds what all visits of a worker share. Each part with a story of its own is a type
//! with a file of its own: the [outbox](crate::outbox), [robots rules](crate::rules_cache), the
//! [store's clock](crate::store_clock), [what ends the work](crate::finish), and so on. The loop
//! over events is in [`crate::run`], a visit to one host in [`crate::visit`].

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::Scene;
use curtsy_core::policy::Policy;
use curtsy_core::robots::AgentRules;
use curtsy_core::time::Time;
use curtsy_core::url::{Authority, HostKey, UrlKey};

use crate::bounded_set::BoundedSet;
use crate::finish::Finish;
use crate::health::NetworkHealth;
use crate::host_policies::HostPolicies;
use crate::identity::WorkerIdentity;
use crate::memo::WorkerMemory;
use crate::outbox::{FinishedUrl, Outbox};
use crate::rules_cache::RulesCache;
use crate::store_clock::StoreClock;
use crate::visiting::Visiting;
use crate::{
    Cache, Clock, Epoch, Listener, Mono, Reader, Sink, Source, Step, StoreError, View, World,
};

/// The pause before a store that gave no answer is called again: short, because others decide
/// meanwhile without what is to be written.
pub(crate) const STORE_RETRY: Duration = Duration::from_millis(200);

/// The limits of a worker, and how long it waits.
#[derive(Clone, Debug)]
pub struct WorkerSettings {
    /// A number that no other worker, past or present, has.
    pub worker: u64,
    /// Visits at once.
    pub visits_max: usize,
    /// The pause of an idle worker before it polls its store again.
    pub idle_poll: Duration,
    /// How long a row waits for others before it is written.
    pub flush_after: Duration,
    /// A batch is written as soon as it has this many rows.
    pub flush_rows: usize,
    /// A batch is written as soon as its bodies have this many bytes.
    pub flush_bytes: usize,
    /// Whether the worker ends when the queue is empty and the source has nothing more.
    pub until_empty: bool,
    /// With `until_empty`: the worker also ends after this time without progress, or when nothing
    /// falls due within it. `None` waits for ever.
    pub patience: Option<Duration>,
    /// Whether a URL ends that waited for a slot as long as the policy permits, for a caller that
    /// wants this URL alone. Otherwise the URL goes back to the queue.
    pub slot_timeout_ends: bool,
}

impl Default for WorkerSettings {
    fn default() -> WorkerSettings {
        WorkerSettings {
            worker: 0,
            visits_max: 64,
            idle_poll: Duration::from_secs(5),
            flush_after: Duration::from_millis(100),
            flush_rows: 100,
            flush_bytes: 8 * 1024 * 1024,
            until_empty: false,
            patience: None,
            slot_timeout_ends: false,
        }
    }
}

/// What a worker reads from and writes to, besides its world.
pub struct Outside<'o> {
    /// Seeds.
    pub source: &'o dyn Source,
    /// Rows. Each sink must accept a batch.
    pub sinks: Vec<&'o dyn Sink>,
    /// Pages for later crawls.
    pub cache: &'o dyn Cache,
    /// Reads documents.
    pub reader: &'o dyn Reader,
    /// Hears what happens.
    pub listener: &'o dyn Listener,
}

/// What a worker has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounts {
    /// Requests written, by kind: page, robots, robots hop, sitemap, probe.
    pub sent: [u64; 5],
    /// Permits that were handed back unused.
    pub handed_back: u64,
    /// Commits that found a newer state.
    pub stale: u64,
    /// Rows that the sinks accepted.
    pub rows: u64,
    /// Breakers that opened.
    pub breaker_opened: u64,
    /// Outages of our own network.
    pub own_trouble: u64,
    /// Epochs after the first.
    pub recoveries: u64,
}

/// One worker.
pub struct Worker<'o, W: World> {
    pub(crate) world: W,
    pub(crate) outside: Outside<'o>,
    pub(crate) settings: WorkerSettings,
    pub(crate) policies: HostPolicies,
    pub(crate) identity: WorkerIdentity,
    pub(crate) memory: Rc<RefCell<WorkerMemory>>,
    pub(crate) rules: RulesCache,
    pub(crate) outbox: RefCell<Outbox>,
    pub(crate) visiting: RefCell<Visiting>,
    /// When the earliest host falls due that this worker wrote since its last take.
    pub(crate) wake_at: Cell<Option<Mono>>,
    pub(crate) store_clock: StoreClock,
    pub(crate) health: RefCell<NetworkHealth>,
    pub(crate) finish: Finish,
    pub(crate) once: Once,
    pub(crate) counts: RefCell<WorkerCounts>,
}

/// Work that is done once for each page or authority.
#[derive(Default)]
pub(crate) struct Once {
    /// Authorities whose entrances, such as sitemaps, have been offered.
    pub(crate) entered: RefCell<BoundedSet<Authority>>,
    /// Stale pages whose links have been offered.
    pub(crate) led_on: RefCell<BoundedSet<UrlKey>>,
}

impl<'o, W: World> Worker<'o, W> {
    /// Returns a worker that has not begun.
    pub fn new(
        world: W,
        policy: Arc<Policy>,
        user_agent: String,
        outside: Outside<'o>,
        mut settings: WorkerSettings,
        memory: Rc<RefCell<WorkerMemory>>,
    ) -> Worker<'o, W> {
        let store_clock = StoreClock::new(policy.timeout.whole);
        settings.idle_poll = settings.idle_poll.min(store_clock.poll_max());
        Worker {
            finish: Finish::new(world.clock().mono()),
            rules: RulesCache::new(&user_agent),
            identity: WorkerIdentity::new(user_agent, settings.worker),
            policies: HostPolicies::new(policy),
            outbox: RefCell::new(Outbox::new()),
            visiting: RefCell::default(),
            wake_at: Cell::new(None),
            health: RefCell::default(),
            once: Once::default(),
            counts: RefCell::default(),
            world,
            outside,
            settings,
            memory,
            store_clock,
        }
    }

    /// Returns a switch that lets the worker finish its requests in flight and end.
    pub fn stop_switch(&self) -> Rc<Cell<bool>> {
        self.finish.stop_switch()
    }

    /// Returns a switch that lets the worker finish its requests in flight and begin nothing, until
    /// it is switched off again. Hosts that wait go back to the store.
    pub fn pause_switch(&self) -> Rc<Cell<bool>> {
        self.finish.pause_switch()
    }

    /// Returns what the worker has done so far.
    pub fn counts(&self) -> WorkerCounts {
        self.counts.borrow().clone()
    }

    pub(crate) fn now(&self) -> Mono {
        self.world.clock().mono()
    }

    /// Sleeps on the worker's own clock.
    pub(crate) async fn pause(&self, span: Duration) {
        self.world.clock().sleep_until(self.now() + span).await;
    }

    /// Calls the store until it answers.
    pub(crate) async fn until_answered<T>(
        &self,
        mut call: impl AsyncFnMut(&W::Store) -> Result<T, StoreError>,
    ) -> T {
        loop {
            match call(self.world.store()).await {
                Ok(answer) => return answer,
                Err(_) => self.pause(STORE_RETRY).await,
            }
        }
    }

    /// Returns what surrounds a decision on a host.
    pub(crate) fn scene<'a>(
        &self,
        policy: &'a Policy,
        view: &View,
        now: Time,
        rules: Option<&'a AgentRules>,
    ) -> Scene<'a> {
        let noted = self.memory.borrow().epoch;
        Scene {
            policy,
            now,
            seed: view.host.seed(),
            rules,
            job: view.job,
            stopped: view.stopped,
            floor: view.epoch.floor,
            quiet_until: self.store_clock.quiet_until(&view.epoch, noted, now),
        }
    }

    /// Whether this worker has as many visits to a host as the host has slots: more would only wait
    /// for each other. If the policy bounds the wait for a slot, there is one more visit, which
    /// measures that wait.
    pub(crate) fn has_enough_visits(&self, host: &HostKey) -> bool {
        let slots = &self.policies.of(host).slots;
        let waits = usize::from(slots.wait.is_some());
        self.visiting.borrow().count(host) >= usize::from(slots.per_host) + waits
    }

    /// Makes sure that the worker takes again by `at`, when a host that it wrote falls due.
    pub(crate) fn wake_by(&self, at: Mono) {
        if self.wake_at.get().is_none_or(|known| at < known) {
            self.wake_at.set(Some(at));
        }
    }

    /// Whether rows can be written as fast as pages are fetched.
    pub(crate) fn has_room_for_rows(&self) -> bool {
        self.outbox.borrow().has_room(self.now(), &self.settings)
    }

    /// Puts a URL that has ended into the outbox.
    pub(crate) fn finish_url(&self, url: FinishedUrl) {
        let now = self.now();
        self.finish.progressed(now);
        self.paid(url.record.id);
        self.outbox.borrow_mut().push(url, now);
    }

    /// Puts a step into the outbox.
    pub(crate) fn step(&self, step: Step) {
        self.outbox.borrow_mut().push_step(step);
    }

    /// Notes the store's epoch. Returns whether it is another than before.
    pub(crate) fn note_epoch(&self, epoch: Epoch) -> bool {
        let before = self.memory.borrow_mut().epoch.replace(epoch.id);
        before.is_some_and(|before| before != epoch.id)
    }
}
