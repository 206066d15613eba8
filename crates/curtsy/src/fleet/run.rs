//! One worker: opens what it needs, runs the engine, answers questions about its health, and leaves
//! nothing behind.

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::policy::Policy;
use curtsy_engine::{Outside, Over, Point, Sink, Worker, WorkerMemory, WorkerSettings, World};
use curtsy_fetch::{HttpFetch, Outlet, TokioClock};
use curtsy_sink::{KafkaFault, KafkaSettings, KafkaSink};
use curtsy_store::redis::{
    ClientKind, Empty, FleetPages, FleetQueue, LinkOptions, MemoryFile, Options, RedisLink,
    RedisStore, Rights, WireError, fleet,
};
use tokio::net::TcpListener;

use super::dead::DeadLetters;
use super::listen::{WorkerHealth, WorkerPage, serve};
use super::log::{trouble, wall};
use super::meter::{Elsewhere, Meter};
use super::reader::FleetReader;
use super::way_out::WayOut;
use super::{FleetLog, FleetSpec, reach};
use crate::signals::Signals;
use curtsy_crawl::without_login;

/// How often an idle worker looks for work, at least.
const LOOK: Duration = Duration::from_millis(250);
/// How long a new worker only listens: others write to the store more often than that, and remove a
/// step of its clock.
const LISTENS: Duration = Duration::from_millis(1500);
/// How often what is known elsewhere is asked for, and what is remembered is written.
const TICK: Duration = Duration::from_millis(500);
/// A signal to end is obeyed within this: what is under way then is given back by itself.
pub(crate) const ENDS_WITHIN: Duration = Duration::from_secs(9);
/// Rows that are told together.
pub(crate) const FLUSH_ROWS: usize = 200;

/// Why a worker can't work.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// Redis can't be used as it is.
    #[error("redis at `{url}`: {why}")]
    Redis {
        /// Where it is.
        url: String,
        /// What is wrong, and what to do.
        why: WireError,
    },
    /// Redis can't be reached.
    #[error(
        "redis: no answer from `{url}`: {why}\nhint: start Redis, or set PAGE_FETCHER_REDIS_URL"
    )]
    RedisAway {
        /// Where it was looked for.
        url: String,
        /// What was said.
        why: String,
    },
    /// Kafka can't be used.
    #[error(transparent)]
    Kafka(#[from] KafkaFault),
    /// The way out can't be used.
    #[error(transparent)]
    Outlet(#[from] curtsy_fetch::SettingsError),
    /// What is to be found can't be looked for.
    #[error(transparent)]
    Discovery(#[from] curtsy_engine::discover::DiscoveryError),
    /// The folder for what is remembered can't be used.
    #[error(
        "could not use the folder `{path}` for what the worker remembers: {source}\nhint: set PAGE_FETCHER_STATE_DIR"
    )]
    State {
        /// The folder.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Nobody can be listened to there.
    #[error("could not listen on `{address}`: {source}\nhint: set PAGE_FETCHER_LISTEN, or `none`")]
    Listen {
        /// Where.
        address: String,
        /// Why.
        source: std::io::Error,
    },
    /// The runtime can't be had.
    #[error("could not start: {0}")]
    Runtime(std::io::Error),
}

/// What a worker did.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct WorkerReport {
    /// Its name.
    pub worker: String,
    /// Pages that were fetched, confirmed or held.
    pub fetched: u64,
    /// URLs that came to nothing for good.
    pub failed: u64,
    /// Events that the brokers acknowledged.
    pub events: u64,
    /// Requests of all kinds.
    pub requests: u64,
    /// Questions to Redis.
    pub redis_round_trips: u64,
    /// URLs that it had in hand when Redis came back empty, and offered again.
    pub offered_again: u64,
    /// URLs of all workers that waited in Redis before it came back empty, by its last answer. URLs
    /// that no worker held are lost.
    pub waiting_when_emptied: u64,
    /// Whether everything that it held was finished or given back.
    pub clean: bool,
}

/// Runs a worker until it is stopped (Ctrl-C, SIGTERM), or until nothing is left if the spec says
/// so.
pub fn run(spec: &FleetSpec, log: &FleetLog) -> Result<WorkerReport, FleetError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(FleetError::Runtime)?;
    runtime.block_on(work(spec, log))
}

/// The fleet, as a worker sees it.
struct FleetWorld {
    store: RedisStore<RedisLink, TokioClock>,
    fetch: HttpFetch,
    clock: TokioClock,
    /// The point at which it dies, and how often it passes this point before: for tests of a
    /// worker's death.
    dies_at: Option<(Point, Cell<u32>)>,
}

impl World for FleetWorld {
    type Store = RedisStore<RedisLink, TokioClock>;
    type Fetch = HttpFetch;
    type Clock = TokioClock;
    fn store(&self) -> &RedisStore<RedisLink, TokioClock> {
        &self.store
    }
    fn fetch(&self) -> &HttpFetch {
        &self.fetch
    }
    fn clock(&self) -> &TokioClock {
        &self.clock
    }

    async fn reached(&self, point: Point) {
        let Some((deadly, left)) = &self.dies_at else { return };
        if point == *deadly && left.replace(left.get().saturating_sub(1)) == 0 {
            // As sudden as `kill -9`.
            std::process::abort();
        }
    }
}

/// Opens Redis: the link to hosts and queues, and the link to the cached pages, which may be the
/// same.
async fn open_links(
    spec: &FleetSpec,
    lists: &[String; 5],
    log: &FleetLog,
) -> Result<(Rc<RedisLink>, Rc<RedisLink>), FleetError> {
    let names = &spec.names;
    let hosts = LinkOptions {
        quiet: spec.policy.timeout.whole + Duration::from_secs(1),
        empty: if spec.new_store { Empty::New } else { Empty::Lost },
        rights: Rights::of_worker(&[&names.input_queue, &names.dlq_queue, &names.rejected_queue]),
        ..LinkOptions::default()
    };
    let link = link_to(&spec.redis_url, hosts.clone())?;
    reach_hosts(&link, &spec.redis_url, lists).await?;
    let cache_link = match spec.cache_redis_url == spec.redis_url {
        true => Rc::clone(&link),
        false => {
            let rights = Rights::of_pages();
            let pages = LinkOptions { caller: ClientKind::Guest, rights, ..hosts };
            reach_pages(link_to(&spec.cache_redis_url, pages)?, spec, log).await?
        }
    };
    Ok((link, cache_link))
}

/// Opens Kafka. Brokers that do not answer may come back: until then nothing is fetched.
async fn open_kafka(spec: &FleetSpec, name: &str, log: &FleetLog) -> Result<KafkaSink, FleetError> {
    let kafka = KafkaSink::open(KafkaSettings {
        brokers: spec.kafka_brokers.clone(),
        topic: spec.names.topic.clone(),
        client: format!("curtsy-{name}"),
        more: spec.kafka_settings.clone(),
        trace_id: name.to_owned(),
    })?;
    match tokio::task::spawn_blocking(kafka.check()).await {
        Ok(Err(fault @ KafkaFault::Away { .. })) => {
            log.warn("kafka_away", &fault.to_string(), &[]);
        }
        Ok(Err(fault)) => return Err(fault.into()),
        Ok(Ok(())) | Err(_) => {}
    }
    Ok(kafka)
}

/// Runs a worker until it ends, or until a signal and the time that it has then. Returns how it
/// ended; none if it was cut off.
async fn until_end(
    mut running: Pin<&mut impl Future<Output = Over>>,
    beside: impl Future<Output = ()>,
    signals: &mut Signals,
    switch: &Cell<bool>,
    log: &FleetLog,
) -> Option<Over> {
    let mut beside = std::pin::pin!(beside);
    let mut ends_by: Option<tokio::time::Instant> = None;
    loop {
        tokio::select! {
            over = &mut running => return Some(over),
            () = async {
                match ends_by {
                    Some(end) => tokio::time::sleep_until(end).await,
                    None => std::future::pending().await,
                }
            } => return None,
            () = signals.next() => {
                if switch.replace(true) {
                    return None;
                }
                log.info("stopping", "what was sent is waited for, the rest is given back", &[]);
                ends_by = Some(tokio::time::Instant::now() + ENDS_WITHIN);
            }
            () = &mut beside => {}
        }
    }
}

async fn work(spec: &FleetSpec, log: &FleetLog) -> Result<WorkerReport, FleetError> {
    // Who is told to end while it begins has nothing to give back, and says so.
    let mut signals = Signals::listen().map_err(FleetError::Runtime)?;
    let name = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
    let outlet = Outlet::new(&spec.outlet)?;
    let listener = listen(spec).await?;
    let lists = lists(spec);
    let (link, cache_link) = open_links(spec, &lists, log).await?;
    let kafka = open_kafka(spec, &name, log).await?;
    let (file, memory, fault) = MemoryFile::open(&spec.state_dir).map_err(|source| {
        FleetError::State { path: spec.state_dir.display().to_string(), source }
    })?;
    if let Some(fault) = fault {
        log.warn("memory_unreadable", &format!("what was remembered can't be read: {fault}"), &[]);
    }
    let (file, memory) = (RefCell::new(file), Rc::new(RefCell::new(memory)));
    let clock = TokioClock::new();
    let options = Options {
        robots_shown_for: spec.policy.robots.ttl,
        quarantine: LISTENS,
        ..Options::default()
    };
    let store = RedisStore::new(Rc::clone(&link), clock, options);
    let queue = FleetQueue::new(
        Rc::clone(&link),
        name.clone(),
        &spec.names.input_queue,
        &spec.names.rejected_queue,
    );
    let pages = FleetPages::new(cache_link, spec.policy.cache.ttl);
    let dead = DeadLetters::new(&link, &spec.names, &spec.policy, log);
    let way_out = WayOut::new(log, spec.outlet.proxies.any());
    let meter = Meter::new(log, &way_out);
    let reader = FleetReader::new(&spec.policy, spec.follow, log)?;
    let sinks: Vec<&dyn Sink> = vec![&pages, &kafka, &dead, &meter];
    let outside =
        Outside { source: &queue, sinks, cache: &pages, reader: &reader, listener: &meter };
    let settings = WorkerSettings {
        worker: RandomState::new().hash_one(&name),
        visits_max: spec.visits,
        idle_poll: LOOK.min(spec.poll),
        until_empty: spec.until_empty,
        flush_rows: FLUSH_ROWS,
        ..WorkerSettings::default()
    };
    let dies_at = spec.dies_at.map(|(point, times)| (point, Cell::new(times)));
    let world = FleetWorld { store, fetch: HttpFetch::new(&outlet, clock), clock, dies_at };
    let worker = Worker::new(
        world,
        Arc::clone(&spec.policy),
        spec.user_agent.clone(),
        outside,
        settings,
        Rc::clone(&memory),
    );
    let watch = FleetWatch {
        link: &link,
        queue: &queue,
        pages: &pages,
        kafka: &kafka,
        dead: &dead,
        meter: &meter,
        memory: &memory,
        policy: &spec.policy,
        latest: RefCell::default(),
        way_out: &way_out,
        log,
        emptied: Cell::new(0),
        told: RefCell::default(),
    };
    let fields =
        [("worker", name.as_str().into()), ("user_agent", spec.user_agent.as_str().into())];
    log.info("started", "worker started", &fields);

    let (switch, pause) = (worker.stop_switch(), worker.pause_switch());
    let running = std::pin::pin!(worker.run());
    let telling = async {
        match &listener {
            Some(listener) => serve(listener, &watch).await,
            None => std::future::pending().await,
        }
    };
    let beside = async {
        tokio::join!(telling, watch.keep_looking(&lists, &file, &pause));
    };
    let over = until_end(running, beside, &mut signals, &switch, log).await;
    let counts = worker.counts();
    // What is not left in time falls to the others by itself.
    let left = tokio::time::timeout(Duration::from_secs(1), queue.leave()).await;
    let saved = file.borrow_mut().save(&memory.borrow(), wall());
    let (fetched, failed) = meter.pages();
    let clean = matches!(over, Some(Over::Stopped | Over::Empty | Over::Waits(_)));
    let clean = clean && matches!(left, Ok(Ok(()))) && saved.is_ok();
    log.info("ended", "worker ended", &[("worker", name.as_str().into()), ("clean", clean.into())]);
    Ok(WorkerReport {
        worker: name,
        fetched,
        failed,
        events: kafka.published(),
        requests: counts.sent.iter().sum(),
        redis_round_trips: link.round_trips(),
        offered_again: meter.offered_again(),
        waiting_when_emptied: watch.emptied.get(),
        clean,
    })
}

/// How many of the lists are the queue.
const QUEUES: usize = 3;

/// The lists whose lengths are told: the queue in its three parts, dead letters, rejected ones.
fn lists(spec: &FleetSpec) -> [String; 5] {
    let names = &spec.names;
    [
        format!("{}:high", names.input_queue),
        names.input_queue.clone(),
        format!("{}:low", names.input_queue),
        names.dlq_queue.clone(),
        names.rejected_queue.clone(),
    ]
}

async fn listen(spec: &FleetSpec) -> Result<Option<TcpListener>, FleetError> {
    let Some(address) = spec.listen else { return Ok(None) };
    let failed = |source| FleetError::Listen { address: address.to_string(), source };
    TcpListener::bind(address).await.map(Some).map_err(failed)
}

fn link_to(url: &str, options: LinkOptions) -> Result<Rc<RedisLink>, FleetError> {
    RedisLink::new(url, options).map(Rc::new).map_err(|why| unfit(url, why))
}

fn unfit(url: &str, why: WireError) -> FleetError {
    FleetError::Redis { url: without_login(url), why }
}

/// Whether Redis is there and fit.
async fn reach_hosts(
    link: &Rc<RedisLink>,
    url: &str,
    lists: &[String; 5],
) -> Result<(), FleetError> {
    let names: Vec<&str> = lists.iter().map(String::as_str).collect();
    match reach(async || fleet::status(link, &names).await).await {
        Ok(_) => Ok(()),
        Err(error @ (WireError::Unfit(_) | WireError::Refused(_))) => Err(unfit(url, error)),
        Err(error) => {
            Err(FleetError::RedisAway { url: without_login(url), why: error.to_string() })
        }
    }
}

/// Checks the Redis of pages. If it does not answer, it may later: until then nothing is fetched.
async fn reach_pages(
    link: Rc<RedisLink>,
    spec: &FleetSpec,
    log: &FleetLog,
) -> Result<Rc<RedisLink>, FleetError> {
    match link.open().await {
        Ok(()) => {}
        Err(error @ WireError::Unfit(_)) => return Err(unfit(&spec.cache_redis_url, error)),
        Err(error) => {
            log.warn("pages_away", "the Redis of pages can't be used", &trouble(&error.to_string()))
        }
    }
    Ok(link)
}

/// Everything that whoever asks is told about.
struct FleetWatch<'a> {
    link: &'a Rc<RedisLink>,
    queue: &'a FleetQueue<RedisLink>,
    pages: &'a FleetPages<RedisLink>,
    kafka: &'a KafkaSink,
    dead: &'a DeadLetters<'a>,
    meter: &'a Meter<'a>,
    memory: &'a RefCell<WorkerMemory>,
    policy: &'a Policy,
    latest: RefCell<Option<fleet::Status>>,
    way_out: &'a WayOut<'a>,
    log: &'a FleetLog,
    /// URLs that waited in Redis when it came back empty.
    emptied: Cell<u64>,
    /// The trouble with Redis that the log has last been told of.
    told: RefCell<Option<String>>,
}

impl FleetWatch<'_> {
    /// Looks at Redis, and writes what is remembered, every [`TICK`]. This runs beside the worker: a
    /// slow Redis must not hold up the work.
    async fn keep_looking(
        &self,
        lists: &[String; 5],
        file: &RefCell<MemoryFile>,
        pause: &Cell<bool>,
    ) {
        let mut tick = tokio::time::interval(TICK);
        let mut unsaved = false;
        loop {
            tick.tick().await;
            self.look(lists).await;
            // Visits look at this before each turn; the store hands out no further visits.
            pause.set(self.latest.borrow().as_ref().is_some_and(|status| status.paused));
            let saved = file.borrow_mut().save(&self.memory.borrow(), wall());
            if saved.is_err() != unsaved {
                unsaved = saved.is_err();
                if let Err(error) = saved {
                    let message = format!("what is remembered can't be written: {error}");
                    self.log.warn("memory_unwritable", &message, &[]);
                }
            }
        }
    }

    /// Asks Redis what only it knows.
    async fn look(&self, lists: &[String; 5]) {
        let names: Vec<&str> = lists.iter().map(String::as_str).collect();
        // While it can't be asked, what was known last is told.
        if let Ok(Some(status)) = fleet::status(self.link, &names).await {
            let before = self.latest.replace(Some(status.clone()));
            if let Some(before) = before.filter(|b| status.emptied && b.epoch != status.epoch) {
                self.tell_loss(&before);
            }
        }
        self.tell_trouble();
    }

    /// Redis came back empty: how much waited there is known from the last look.
    fn tell_loss(&self, before: &fleet::Status) {
        let listed: u64 = before.lengths.iter().take(QUEUES).sum();
        let waiting = before.queued + before.claims + listed;
        self.emptied.set(self.emptied.get() + waiting);
        let message = "redis came back empty: of the URLs that waited there, those that no worker had in hand must be queued again";
        self.log.warn("store_emptied", message, &[("waiting", waiting.into())]);
    }

    /// A line when Redis can't be used, and one when it can again.
    fn tell_trouble(&self) {
        let now = self.link.trouble();
        let before = self.told.replace(now.clone());
        match now {
            Some(why) if before.as_ref() != Some(&why) => {
                let message = "redis can't be used, so nothing new is begun";
                self.log.warn("redis_away", message, &trouble(&why));
            }
            None if before.is_some() => {
                self.log.info("redis_back", "redis can be used again", &[]);
            }
            _ => {}
        }
    }

    fn elsewhere(&self) -> Elsewhere {
        let latest = self.latest.borrow();
        let status = latest.clone().unwrap_or_default();
        let length = |at: usize| status.lengths.get(at).copied().unwrap_or(0);
        let (dlq_put, poison) = self.dead.counts();
        Elsewhere {
            input_queue: length(0) + length(1) + length(2) + status.claims + status.queued,
            dlq: length(3),
            rejected: length(4),
            dlq_put,
            rejected_put: poison + self.queue.refused(),
            cache: self.pages.hits_and_misses(),
            published: self.kafka.published(),
            round_trips: self.link.round_trips(),
            store_down: self.link.trouble().is_some(),
            network_down: self.way_out.trouble().is_some(),
            ordered: status.paused,
        }
    }
}

impl WorkerPage for FleetWatch<'_> {
    fn health(&self) -> WorkerHealth {
        let mut trouble = Vec::new();
        trouble.extend(self.link.trouble().map(|why| format!("redis: {why}")));
        trouble.extend(self.meter.not_kept());
        trouble.extend(self.way_out.trouble());
        if self.latest.borrow().is_none() && trouble.is_empty() {
            trouble.push("starting".into());
        }
        WorkerHealth { trouble }
    }

    fn metrics(&self) -> String {
        self.meter.render(&self.memory.borrow(), self.policy, wall(), &self.elsewhere())
    }
}
