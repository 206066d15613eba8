//! What the store on SQLite costs a page, in CPU time: 50 hosts busy at once, no delay, 25 links on
//! a page of which about 24 are known.
//!
//! A page is its share of a `take`, a grant, an observation, an offer of its links, and its share
//! of a `settle` for 100 rows, as the engine asks for them. Answers come after a random number of
//! the worker's turns, so that what happens at the same moment is as little as in a crawl. The same
//! loop runs over a store that does nothing, whose time is what the loop itself takes; over the
//! store in memory; and over SQLite with one worker and with two on two threads. CPU time is that
//! of the whole process.
#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::hint::black_box;
use std::net::IpAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use cpu_time::ProcessTime;
use curtsy_bench::host::{Around, START};
use curtsy_core::host::{HostState, JobView, Lease, LeaseId, RequestKind, RobotsId};
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, HostKey, UrlKey};
use curtsy_engine::memory::{Control, Options as MemoryOptions};
use curtsy_engine::{
    Clock, Commit, Committed, Epoch, Grant, Mono, Offered, Order, RobotsFile, Saved, Store,
    StoreError, Taken, UrlRecord, UrlWrite, View, Visit,
};
use curtsy_store::{MachineStore, Options};
use futures_util::stream::{FuturesUnordered, StreamExt};

const HOSTS: usize = 50;
const PAGES: usize = 200;
const LINKS: usize = 25;
const ROWS: usize = 100;
const ROUNDS: usize = 7;
/// Turns of the worker until an answer comes, at most.
const TURNS: u64 = 8;

fn main() {
    let web = Arc::new(Web::new(PAGES));
    if std::env::args().any(|argument| argument == "sqlite") {
        // For a profiler.
        (0..ROUNDS).for_each(|_| println!("{:.1}", on_disk(&web, 1, false).0));
        return;
    }
    println!(
        "CPU µs a page, {HOSTS} hosts × {PAGES} pages, {LINKS} links each; median of {ROUNDS}"
    );
    let mut table: [(&str, Vec<f64>); 5] = [
        ("the loop alone", Vec::new()),
        ("in memory", Vec::new()),
        ("SQLite, 1 worker", Vec::new()),
        ("SQLite, 2 workers", Vec::new()),
        ("SQLite, 1 worker, slots of addresses", Vec::new()),
    ];
    for _ in 0..ROUNDS {
        table[0].1.push(cost(&web, || alone(&web)));
        table[1].1.push(cost(&web, || in_memory(&web)));
        table[2].1.push(on_disk(&web, 1, false).0);
        table[3].1.push(on_disk(&web, 2, false).0);
        table[4].1.push(on_disk(&web, 1, true).0);
    }
    let alone = median(&mut table[0].1);
    for (what, costs) in &mut table {
        let cost = median(costs);
        println!("{what:<38} {cost:>7.1}   without the loop {:>7.1}", cost - alone);
    }
    let long = Arc::new(Web::new(20_000));
    let (cost, grown) = on_disk(&long, 1, false);
    println!(
        "a million URLs on {HOSTS} hosts            {cost:>7.1}   memory grew by {grown:.1} MB"
    );
}

fn median(costs: &mut [f64]) -> f64 {
    costs.sort_by(f64::total_cmp);
    costs[costs.len() / 2]
}

/// CPU µs a page.
fn cost(web: &Web, run: impl FnOnce()) -> f64 {
    let start = ProcessTime::now();
    run();
    start.elapsed().as_nanos() as f64 / 1000.0 / web.len() as f64
}

fn alone(web: &Arc<Web>) {
    let store = Nothing { web: Arc::clone(web), taken: RefCell::default(), state: rested().into() };
    crawl(&store, web, 0..HOSTS, 1, false);
}

fn in_memory(web: &Arc<Web>) {
    let raw = Rc::new(Cell::new(START.micros()));
    let told = Rc::clone(&raw);
    let control = Control::new(MemoryOptions::default(), move || {
        told.set(told.get() + 1);
        told.get()
    });
    crawl(&control.handle(Still), web, 0..HOSTS, 1, false);
    assert_eq!(control.queued(), 0);
}

/// CPU µs a page, and how much memory was taken meanwhile, in MB.
fn on_disk(web: &Arc<Web>, workers: usize, slots: bool) -> (f64, f64) {
    let folder = Folder::new();
    let (ledger, file) = (folder.0.join("hosts.db"), folder.0.join("crawl.db"));
    let store = MachineStore::open(&ledger, &file, Options::default()).expect("a new crawl");
    let before = resident();
    let cost = cost(web, || {
        std::thread::scope(|scope| {
            for n in 0..workers {
                let (store, web) = (store.clone(), Arc::clone(web));
                let hosts = n * HOSTS / workers..(n + 1) * HOSTS / workers;
                scope.spawn(move || crawl(&store.handle(), &web, hosts, 1 + n as u64, slots));
            }
        });
    });
    assert_eq!(store.queued(), 0, "every URL has ended");
    (cost, (resident() - before) as f64 / 1e6)
}

/// The pages of all hosts and what they link to.
struct Web {
    pages: Vec<Vec<CrawlUrl>>,
    by_key: HashMap<UrlKey, (usize, usize)>,
}

impl Web {
    fn new(pages: usize) -> Web {
        let url = |host: usize, page: usize| {
            let url = format!("http://www.host-{host}.example/garden/chairs/{page}.html");
            CrawlUrl::parse(&url).expect("a URL of ours")
        };
        let pages: Vec<Vec<CrawlUrl>> =
            (0..HOSTS).map(|h| (0..pages).map(|p| url(h, p)).collect()).collect();
        let all = pages.iter().enumerate();
        let by_key = all.flat_map(|(h, pages)| {
            pages.iter().enumerate().map(move |(p, url)| (url.key(), (h, p)))
        });
        Web { by_key: by_key.collect(), pages }
    }

    fn len(&self) -> usize {
        self.pages.iter().map(Vec::len).sum()
    }

    /// One new page, and others that are known.
    fn links(&self, record: &UrlRecord) -> Vec<UrlRecord> {
        let (host, page) = self.by_key[&record.id];
        let pages = &self.pages[host];
        let to = |n: usize| match n {
            0 => (page * 2 + 1) % pages.len(),
            1 => (page * 2 + 2) % pages.len(),
            n => page.saturating_sub(n * 3),
        };
        (0..LINKS).map(|n| UrlRecord::page(pages[to(n)].clone(), record.depth + 1)).collect()
    }
}

/// A worker's loop, as the engine's is one: visits at once, rows in batches.
fn crawl(store: &impl Store, web: &Web, hosts: std::ops::Range<usize>, seed: u64, slots: bool) {
    let worker = Worker {
        store,
        web,
        slots,
        chance: Cell::new(seed << 40),
        ended: RefCell::default(),
        state: rested().into(),
    };
    let visits_max = hosts.len();
    run(async {
        let seeds: Vec<_> = hosts.map(|h| UrlRecord::page(web.pages[h][0].clone(), 0)).collect();
        store.offer(&seeds).await.expect("it is well");
        let mut visits = FuturesUnordered::new();
        loop {
            if visits.len() < visits_max {
                let taken = store.take(visits_max - visits.len()).await.expect("it is well");
                if taken.queued == 0 && visits.is_empty() {
                    break;
                }
                visits.extend(taken.visits.into_iter().map(|visit| worker.visit(visit)));
            }
            if visits.next().await.is_none() || worker.ended.borrow().len() >= ROWS {
                worker.flush().await;
            }
        }
    });
}

struct Worker<'w, S> {
    store: &'w S,
    web: &'w Web,
    slots: bool,
    chance: Cell<u64>,
    ended: RefCell<Vec<UrlWrite>>,
    state: Arc<HostState>,
}

impl<S: Store> Worker<'_, S> {
    async fn visit(&self, visit: Visit) {
        let mut view = visit.view;
        if view.version == 0 {
            view.state = self.state.clone();
        }
        // Those whose rows are on their way are held.
        let mut ready = visit.urls;
        ready.retain(|record| record.ready.is_none_or(|ready| ready <= view.now));
        let last = ready.len();
        for (n, record) in ready.into_iter().enumerate() {
            let lease = LeaseId(self.draw());
            view = self.commit(grant(&view, &record, lease, self.slots)).await;
            turns(self.draw() % TURNS).await;
            let granted = UrlRecord { claim: Some(lease), charged: true, ..record };
            let claim = LeaseId(self.draw());
            let held = UrlRecord {
                claim: Some(claim),
                ready: Some(view.now + Duration::from_secs(900)),
                ..granted.clone()
            };
            let mut state = HostState::clone(&view.state);
            state.leases.clear();
            let not_before = match n + 1 == last {
                true => Time::START,
                false => view.now + Duration::from_secs(10),
            };
            let commit = Commit {
                state: Some(state.into()),
                not_before,
                release: Some((ADDRESS, lease)),
                urls: vec![becomes(&granted, Some(held.clone()))],
                ..plain(&view)
            };
            view = self.commit(commit).await;
            self.store.offer(&self.web.links(&held)).await.expect("it is well");
            self.ended.borrow_mut().push(becomes(&held, None));
            if self.ended.borrow().len() >= ROWS {
                self.flush().await;
            }
        }
    }

    async fn flush(&self) {
        let ended = std::mem::take(&mut *self.ended.borrow_mut());
        if !ended.is_empty() {
            self.store.settle(ended).await.expect("it is well");
        }
    }

    async fn commit(&self, commit: Commit) -> View {
        let host = commit.host.clone();
        let state = commit.state.clone().expect("with a state");
        let epoch = commit.epoch;
        match self.store.commit(commit).await.expect("it is well") {
            Committed::Done(saved) => View {
                host,
                state,
                version: saved.version,
                now: saved.now,
                stopped: false,
                epoch: Epoch { id: epoch, floor: None, quiet_until: None, emptied: false },
                job: JobView { started_at: START, pages: 0 },
            },
            other => unreachable!("a host has one visit: {other:?}"),
        }
    }

    fn draw(&self) -> u64 {
        let n = self.chance.get() + 1;
        self.chance.set(n);
        (n ^ (n >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(31)
    }
}

const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

fn grant(view: &View, record: &UrlRecord, lease: LeaseId, slots: bool) -> Commit {
    let mut state = HostState::clone(&view.state);
    state.turn += 1;
    state.last_start = Some(view.now);
    state.leases.push(Lease {
        id: lease,
        kind: RequestKind::Page,
        probe: false,
        url: record.id,
        turn: state.turn,
        generation: 0,
        send_by: view.now,
        until: view.now + Duration::from_secs(30),
    });
    let until = view.now + Duration::from_secs(30);
    let address = curtsy_engine::AddressClaim { address: ADDRESS, cap: 1000, until };
    let granted = UrlRecord { claim: Some(lease), charged: true, ..record.clone() };
    Commit {
        state: Some(state.into()),
        not_before: view.now + Duration::from_secs(10),
        grant: Some(Grant {
            lease,
            url: Some((record.id, record.claim)),
            charge: Some(u64::MAX),
            address: slots.then_some(address),
        }),
        urls: vec![becomes(record, Some(granted))],
        ..plain(view)
    }
}

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

fn becomes(from: &UrlRecord, to: Option<UrlRecord>) -> UrlWrite {
    UrlWrite { from: Some(from.host().clone()), id: from.id, claim: from.claim, to }
}

/// A host that was asked before.
fn rested() -> HostState {
    Around::without_robots().quiet()
}

/// Lets the worker's other visits go on so many times.
async fn turns(mut left: u64) {
    poll_fn(|cx| match left {
        0 => Poll::Ready(()),
        _ => {
            left -= 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

/// Polls until it ends: somebody is always ready.
fn run(future: impl Future<Output = ()>) {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    while future.as_mut().poll(&mut cx).is_pending() {}
}

/// A store that does nothing but answer.
struct Nothing {
    web: Arc<Web>,
    taken: RefCell<HashMap<usize, usize>>,
    state: Arc<HostState>,
}

impl Nothing {
    fn view(&self, host: HostKey) -> View {
        View {
            host,
            state: self.state.clone(),
            version: 1,
            now: START,
            stopped: false,
            epoch: Epoch { id: 1, floor: None, quiet_until: None, emptied: false },
            job: JobView { started_at: START, pages: 0 },
        }
    }
}

impl Store for Nothing {
    async fn offer(&self, records: &[UrlRecord]) -> Result<Offered, StoreError> {
        Ok(Offered { new: 0, known: black_box(records).len() })
    }

    async fn remind(&self, _: Vec<UrlRecord>) -> Result<(), StoreError> {
        Ok(())
    }

    async fn order(&self, _: Vec<Order>) -> Result<(), StoreError> {
        Ok(())
    }

    async fn take(&self, hosts: usize) -> Result<Taken, StoreError> {
        let mut visits = Vec::new();
        let mut queued = 0;
        for (host, pages) in self.web.pages.iter().enumerate() {
            let mut taken = self.taken.borrow_mut();
            let from = taken.entry(host).or_default();
            queued += (pages.len() - *from) as u64;
            if *from < pages.len() && visits.len() < hosts {
                let to = (*from + 32).min(pages.len());
                let urls = pages[*from..to].iter().map(|u| UrlRecord::page(u.clone(), 0));
                visits
                    .push(Visit { urls: urls.collect(), view: self.view(pages[0].host().clone()) });
                *from = to;
            }
        }
        let epoch = self.view(self.web.pages[0][0].host().clone()).epoch;
        let orders = Arc::default();
        Ok(Taken { visits, now: START, next_due: None, epoch, queued, orders })
    }

    async fn load(&self, host: &HostKey) -> Result<View, StoreError> {
        Ok(self.view(host.clone()))
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        black_box(commit);
        Ok(Committed::Done(Saved { version: 1, now: START }))
    }

    async fn settle(&self, writes: Vec<UrlWrite>) -> Result<(), StoreError> {
        black_box(writes);
        Ok(())
    }

    async fn robots(&self, _: RobotsId) -> Result<Option<Arc<RobotsFile>>, StoreError> {
        Ok(None)
    }
}

/// A clock that proves nothing.
struct Still;

impl Clock for Still {
    fn mono(&self) -> Mono {
        Mono(0)
    }

    async fn sleep_until(&self, _: Mono) {}
}

/// A folder that goes with the measurement.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let path = std::env::temp_dir().join(format!("curtsy-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Resident memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    kilobytes.and_then(|kb| kb.parse::<u64>().ok()).expect("a number of kB") * 1024
}
