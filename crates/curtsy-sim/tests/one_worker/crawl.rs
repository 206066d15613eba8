//! A small crawl by one worker: hosts, URLs and a policy go in, how it ended comes out.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::HostState;
use curtsy_core::policy::{Policy, Preset};
use curtsy_core::url::{CrawlUrl, HostKey, Scheme};
use curtsy_engine::memory::{Control, Options};
use curtsy_engine::{Batch, Boxed, Outside, Over, Sink, SinkError, Worker, WorkerSettings};
use curtsy_judge::{Exchange, LogEntry};
use curtsy_sim::executor::{Executor, Stepped, Universe};
use curtsy_sim::net::{SimFetch, Web};
use curtsy_sim::outside::{SimCache, SimReader, SimSink, SimSource};
use curtsy_sim::web::{HostModel, Mood, Oddity, RobotsAnswer, SECOND, address};
use curtsy_sim::{Chance, Life, SimClock, SimWorld, Tamper};

const START: u64 = 1_800_000_000 * SECOND;
/// No crawl here takes longer: whoever does, does not end.
const LONGEST: u64 = 86_400 * SECOND;

/// Steps of the executor: hundreds of times as many as any crawl here takes.
const STEPS_MAX: u64 = 200_000;

/// A crawl to come.
pub(crate) struct Crawl {
    pub(crate) policy: Policy,
    pub(crate) settings: WorkerSettings,
    pub(crate) hosts: Vec<HostModel>,
    pub(crate) urls: Vec<String>,
    /// How long a batch of rows takes to be kept, in microseconds.
    pub(crate) batch_takes: u64,
    /// How long the worker's proxy wants a password, in seconds from the start.
    pub(crate) proxy_shut: u64,
}

/// How a crawl ended.
pub(crate) struct Ended {
    pub(crate) over: Over,
    pub(crate) after: Duration,
    pub(crate) rows: usize,
    pub(crate) endings: BTreeMap<String, u64>,
    /// When the servers read requests, since the start.
    pub(crate) starts: Vec<Duration>,
    /// When connections were made to the first host, since the start.
    pub(crate) accepted: Vec<Duration>,
    control: Control,
}

impl Ended {
    /// What is known of a host.
    pub(crate) fn state(&self, host: &str) -> HostState {
        self.control.state(&HostKey::parse(host).unwrap())
    }
}

impl Crawl {
    /// One that ends when nothing is left, by a preset without what chance or latency would change.
    pub(crate) fn new(preset: Preset, hosts: Vec<HostModel>, urls: &[&str]) -> Crawl {
        let mut policy = Policy::preset(preset);
        policy.pace.adaptive = false;
        Crawl {
            policy,
            settings: WorkerSettings { worker: 1, until_empty: true, ..WorkerSettings::default() },
            hosts,
            urls: urls.iter().map(|url| (*url).to_owned()).collect(),
            batch_takes: 0,
            proxy_shut: 0,
        }
    }

    /// Lives it to its end.
    #[track_caller]
    pub(crate) fn live(self) -> Ended {
        self.live_until(usize::MAX)
    }

    /// Lives it until so many rows are kept, and tells the worker to end then.
    #[track_caller]
    pub(crate) fn live_until(self, rows: usize) -> Ended {
        let universe = Universe::new(START);
        let web = Web::new(Rc::clone(&universe), self.hosts);
        let control = {
            let universe = Rc::clone(&universe);
            Control::new(Options::default(), move || universe.now())
        };
        let source = SimSource::new(Rc::clone(&universe));
        for url in &self.urls {
            source.add(CrawlUrl::parse(url).unwrap());
        }
        let kept = SimSink::default();
        let sink = Slow { universe: Rc::clone(&universe), takes: self.batch_takes, kept };
        let cache = SimCache::default();
        let outside = Outside {
            source: &source,
            sinks: vec![&sink],
            cache: &cache,
            reader: &SimReader,
            listener: &(),
        };
        let life = Life::new(Rc::clone(&universe), 0, "t/1");
        life.shut_proxy(START + self.proxy_shut * SECOND);
        let clock = SimClock(Rc::clone(&life));
        let way = Rc::clone(&web);
        let fetch = SimFetch::new(way, Rc::clone(&life), Chance::new(1), Tamper::default());
        let world = SimWorld { store: control.handle(clock.clone()), fetch, clock, life };
        let policy = Arc::new(self.policy);
        let worker =
            Worker::new(world, policy, "t/1".into(), outside, self.settings, Rc::default());
        let ended = Cell::new(None);
        let mut executor = Executor::new(Rc::clone(&universe), Chance::new(2));
        executor.spawn(async {
            let over = worker.run().await;
            ended.set(Some((over, universe.now())));
        });
        let mut lines: Vec<Exchange> = Vec::new();
        for step in 0.. {
            if ended.get().is_some() {
                break;
            }
            assert!(step < STEPS_MAX, "it does not end, and no time passes");
            let stepped = executor.step(START + LONGEST);
            assert!(!matches!(stepped, Stepped::Limit), "it does not end");
            let entries = std::iter::from_fn(|| web.next_line());
            lines.extend(entries.filter_map(LogEntry::exchange));
            if sink.kept.len() >= rows {
                worker.stop_switch().set(true);
            }
        }
        let (over, at) = ended.get().unwrap();
        let since = |at: u64| Duration::from_micros(at - START);
        let first = web.hosts.keys().min().cloned();
        let accepted = first.map(|host| web.accepted(&host)).unwrap_or_default();
        Ended {
            over,
            after: since(at),
            rows: sink.kept.len(),
            endings: sink.kept.endings.borrow().clone(),
            starts: lines.iter().map(|line| since(line.start)).collect(),
            accepted: accepted.into_iter().map(since).collect(),
            control,
        }
    }
}

/// A host without moods of its own, whose every step takes the same time.
pub(crate) fn host(n: u64) -> HostModel {
    HostModel {
        name: format!("h{n}.test").into(),
        ip: address(n),
        authorities: vec![(Scheme::Http, 80)],
        handshake: (1_000, 1_000),
        think: (1_000, 1_000),
        way: (100, 100),
        late: 0,
        skew: 0,
        keep_alive: 60 * SECOND,
        robots: vec![(0, RobotsAnswer::Status(404))],
        moods: vec![(0, Mood::Polite)],
        pages: 1_000,
        links: false,
        oddity: Oddity::None,
        seed: 1,
    }
}

/// Takes its time for each batch, however few rows it has.
struct Slow {
    universe: Rc<Universe>,
    takes: u64,
    kept: SimSink,
}

impl Sink for Slow {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        Box::pin(async move {
            self.universe.sleep_until(self.universe.now() + self.takes).await;
            self.kept.write(batch).await
        })
    }
}
