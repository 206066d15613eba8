//! The workers of a crawl, for crawls into a file and into a face.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use curtsy_core::host::Gate;
use curtsy_engine::discover::Discovery;
use curtsy_engine::{
    Cache, Outside, Over, Worker, WorkerCounts, WorkerMemory, WorkerSettings, World,
};
use curtsy_fetch::{HttpFetch, Outlet, TokioClock};
use curtsy_sink::{PRIVATE_ADDRESS, UNKNOWN_ISSUER};
use curtsy_store::{MachineStore, StoreHandle, SystemClock};
use tokio::sync::watch;

use crate::feed::SeedSource;
use crate::sharing::Sharing;
use crate::tally::{Counted, Tally};
use crate::{CrawlError, JobSpec, Wait, Waiting, attend};

/// Visits for each connection that a process may have: most visits wait for their turn without a
/// connection.
const VISITS_PER_CONNECTION: u32 = 4;
pub(crate) const VISITS_MAX: u32 = 4096;
/// How often an idle worker looks for work that another one has found.
const IDLE_POLL: Duration = Duration::from_millis(50);

/// What all workers of a crawl share.
pub(crate) struct Crew<'c> {
    pub(crate) spec: &'c JobSpec,
    pub(crate) crawl: &'c MachineStore,
    pub(crate) outlet: Outlet,
    pub(crate) discovery: Discovery,
    pub(crate) seeds: SeedSource,
    /// The number of workers.
    pub(crate) workers: usize,
    /// Rows that a worker hands on at once.
    pub(crate) flush_rows: usize,
    /// Whether a caller waits for a single page. A wait that is too long is then the page's
    /// outcome.
    pub(crate) single: bool,
    /// The page cache of all crawls, if this one uses it.
    pub(crate) sharing: Option<Sharing>,
    /// An error of the page cache.
    pub(crate) sharing_said: Option<String>,
}

impl<'c> Crew<'c> {
    /// Checks the order before anything is begun.
    pub(crate) fn check(spec: &JobSpec) -> Result<(Outlet, Discovery), CrawlError> {
        let outlet = Outlet::new(&spec.outlet)?;
        let discovery = Discovery::new(spec.discovery.clone())?;
        Ok((outlet, discovery))
    }

    /// Returns the crew of an open crawl.
    pub(crate) fn new(
        spec: &'c JobSpec,
        crawl: &'c MachineStore,
        (outlet, discovery): (Outlet, Discovery),
        workers: usize,
        flush_rows: usize,
    ) -> Crew<'c> {
        let seeds = SeedSource::new(spec.seeds.clone(), spec.seeds_are);
        let (sharing, sharing_said) = Sharing::open(spec);
        Crew {
            spec,
            crawl,
            outlet,
            discovery,
            seeds,
            workers,
            flush_rows,
            single: false,
            sharing,
            sharing_said,
        }
    }

    /// Returns the store of a worker, for the worker's own thread.
    pub(crate) fn store(&self, which: usize) -> StoreHandle<SystemClock> {
        let store = self.crawl.handle_of(which, self.workers);
        if let Some(sharing) = &self.sharing {
            sharing.before_leases_end(&store);
        }
        store
    }

    /// Returns the pages that a crawl holds, with the shared cache behind them.
    pub(crate) fn shelves<'s>(&'s self, own: Box<dyn Cache + 's>) -> Box<dyn Cache + 's> {
        match &self.sharing {
            Some(sharing) => Box::new(sharing.behind(own, self.crawl)),
            None => own,
        }
    }

    /// Runs one worker on this thread until nothing is left or until it is stopped. A second stop
    /// cuts the worker off, and the result is none.
    pub(crate) async fn work(
        &self,
        store: StoreHandle<SystemClock>,
        outside: Outside<'_>,
        mut told: watch::Receiver<u32>,
    ) -> (Option<Over>, WorkerCounts) {
        let clock = TokioClock::new();
        let fetch = HttpFetch::new(&self.outlet, clock);
        let world = MachineWorld { store, fetch, clock };
        let policy = &self.spec.policy;
        let connections = policy.slots.total_connections;
        let visits = match policy.pace.delay_max.is_zero() {
            // No visit waits for a turn: more visits would only compete for connections.
            true => connections.clamp(1, VISITS_MAX),
            false => connections.saturating_mul(VISITS_PER_CONNECTION).clamp(64, VISITS_MAX),
        };
        let worker = chance();
        self.crawl.note_worker(worker);
        let mut settings = WorkerSettings {
            worker,
            visits_max: (visits as usize).div_ceil(self.workers),
            until_empty: true,
            patience: policy.patience,
            flush_rows: self.flush_rows,
            slot_timeout_ends: self.single,
            ..WorkerSettings::default()
        };
        if self.workers > 1 {
            // Workers do not notify each other of found URLs.
            settings.idle_poll = IDLE_POLL;
        }
        let memory = Rc::new(RefCell::new(WorkerMemory::default()));
        let agent = self.spec.user_agent.clone();
        let worker = Worker::new(world, Arc::clone(policy), agent, outside, settings, memory);
        let switch = worker.stop_switch();
        let mut running = std::pin::pin!(worker.run());
        let over = loop {
            tokio::select! {
                over = &mut running => break Some(over),
                heard = told.changed() => {
                    let twice = *told.borrow_and_update() > 1;
                    if twice || heard.is_err() {
                        // The second signal cuts the worker off. Nothing is lost: the effect is
                        // that of a kill.
                        break None;
                    }
                    switch.set(true);
                }
            }
        };
        (over, worker.counts())
    }
}

impl Crew<'_> {
    /// Returns the hosts that must wait and why, if the crawl ended because of them or was stopped
    /// while they waited. `began` is the start of the crawl.
    pub(crate) async fn waits(
        &self,
        over: Option<Over>,
        tally: &Tally,
        counted: &Counted,
        began: Instant,
    ) -> Vec<Wait> {
        let waited = match over {
            // Rows are progress, so the time since the last row is never less than the time that
            // counts for the patience.
            Some(Over::Waits(_)) => Some(counted.last_row.unwrap_or(began).elapsed()),
            Some(Over::Stopped) | None => None,
            Some(Over::Empty | Over::Ours(_) | Over::Spent(_)) => return Vec::new(),
        };
        let now = self.crawl.now();
        let mut waiting = attend::waiting(self, tally).await;
        if waited.is_none() {
            // A stopped crawl need not report a host that only waits for its turn.
            waiting.retain(|w| !matches!(w.gate, Gate::Pace | Gate::Slots));
        }
        let policy = &self.spec.policy;
        let wait = |w: &Waiting| Wait::new(w, counted.setbacks.get(&w.host), policy, now, waited);
        waiting.iter().map(wait).collect()
    }

    /// Adds hints to the reasons: the network that `--allow-net` would have to allow, or further
    /// root certificates.
    pub(crate) fn complete(&self, counted: &mut Counted) {
        if let Some(issuer) = counted.reasons.get_mut(UNKNOWN_ISSUER) {
            issuer.hint = Some("`--ca-file` adds roots".to_owned());
        }
        let Some(private) = counted.reasons.get_mut(PRIVATE_ADDRESS) else { return };
        let flags: BTreeSet<String> =
            self.outlet.refusals().into_iter().filter_map(|refused| refused.allow).collect();
        let flags: Vec<String> = flags.into_iter().collect();
        private.hint = (!flags.is_empty()).then(|| format!("`{}` allows it", flags.join(" ")));
    }
}

/// The world of a worker on this machine.
struct MachineWorld {
    store: StoreHandle<SystemClock>,
    fetch: HttpFetch,
    clock: TokioClock,
}

impl World for MachineWorld {
    type Store = StoreHandle<SystemClock>;
    type Fetch = HttpFetch;
    type Clock = TokioClock;
    fn store(&self) -> &StoreHandle<SystemClock> {
        &self.store
    }
    fn fetch(&self) -> &HttpFetch {
        &self.fetch
    }
    fn clock(&self) -> &TokioClock {
        &self.clock
    }
}

/// Returns a random number.
pub(crate) fn chance() -> u64 {
    RandomState::new().hash_one(std::process::id())
}
