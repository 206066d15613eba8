//! What a scheduler over a thousand, a hundred thousand and a million hosts takes, in memory and in
//! CPU time per decision.
//!
//! - *hosts*: host states at rest, encoded, a due-list, and an index of names, as small as they go.
//!   A decision takes the first host that is due, decodes its state, admits, reserves, observes,
//!   encodes, finds it by its name and reschedules it.
//! - *store*: the store in memory itself with one URL waiting on each host, through `take` and two
//!   commits per decision, as a worker does it. Memory is told for the hosts alone and with their
//!   URLs.
//!
//! Each size runs in a process of its own, so that what one leaves behind doesn't count for the
//! next. Hosts fall due in the order of their delays, not in the order in which they lie in memory.
#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::cell::Cell;
use std::hint::black_box;
use std::process::Command;
use std::rc::Rc;

use cpu_time::ThreadTime;
use curtsy_bench::host::{Around, START, answered, approach, ask};
use curtsy_bench::scheduler::{HostScheduler, Tour, host, rested};
use curtsy_core::host::{HostState, LeaseId, SlotEnds};
use curtsy_core::url::{CrawlUrl, HostKey};
use curtsy_engine::memory::{Control, MemoryStore, Options};
use curtsy_engine::{
    Clock, Commit, Committed, Grant, Mono, Saved, Store, UrlRecord, UrlWrite, View,
};
use futures_util::FutureExt;

const SIZES: [u32; 3] = [1_000, 100_000, 1_000_000];
const DECISIONS: u32 = 1_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [what, size, decisions] = &arguments[..]
        && let (Ok(size), Ok(decisions)) = (size.parse(), decisions.parse())
    {
        match what.as_str() {
            "hosts" => hosts(size, decisions),
            _ => store(size, decisions),
        }
        return;
    }
    let ourselves = std::env::current_exe().expect("the path of this program");
    for (what, header) in [("hosts", HOSTS_HEADER), ("store", STORE_HEADER)] {
        println!("{header}");
        for size in SIZES {
            let child = Command::new(&ourselves)
                .args([what, &size.to_string(), &DECISIONS.to_string()])
                .output();
            let child = child.expect("this program runs again");
            assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
            print!("{}", String::from_utf8_lossy(&child.stdout));
        }
        println!();
    }
}

const HOSTS_HEADER: &str =
    "hosts: states at rest and due-list\n     hosts       MB  bytes a host  ns a decision";
const STORE_HEADER: &str = "store: the store in memory, one URL on each host\n     hosts  hosts MB  bytes a host  with URLs MB  bytes a URL  ns a decision";

fn hosts(size: u32, decisions: u32) {
    let around = Around::without_robots();
    let before = resident();
    let mut scheduler = HostScheduler::over(size, &around);
    let mut tour = Tour::new(size);
    let nanos = nanos(decisions, |n| scheduler.decide(&around, tour.next(), LeaseId(n)));
    let bytes = resident() - before;
    println!("{size:>10} {:>8.1} {:>13} {nanos:>14.0}", megabytes(bytes), bytes / u64::from(size));
    black_box(scheduler);
}

fn store(size: u32, decisions: u32) {
    let around = Around::without_robots();
    let state = rested(&around);
    let before = resident();
    let raw = Rc::new(Cell::new(START.micros()));
    let told = Rc::clone(&raw);
    let control = Control::new(Options::default(), move || told.get());
    let worker = Fleet { store: control.handle(Virtual(Rc::clone(&raw))), around };
    for n in 0..size {
        worker.put(host(n), state.clone());
    }
    let hosts = resident() - before;
    for n in 0..size {
        let url = CrawlUrl::parse(&format!("https://{}/garden/chairs/{n}.html", host(n)));
        let record = UrlRecord::page(url.expect("a URL of ours"), 0);
        let offered = worker.store.offer(&[record]).now_or_never();
        assert_eq!(offered.expect("it never waits").expect("it never fails").new, 1);
    }
    let with_urls = resident() - before;
    let mut tour = Tour::new(size);
    let nanos = nanos(decisions, |n| {
        raw.set(tour.next().micros());
        worker.decide(n);
    });
    assert_eq!(control.queued(), u64::from(size));
    println!(
        "{size:>10} {:>9.1} {:>13} {:>13.1} {:>12} {nanos:>14.0}",
        megabytes(hosts),
        hosts / u64::from(size),
        megabytes(with_urls),
        (with_urls - hosts) / u64::from(size)
    );
}

/// CPU time per decision: the best of ten parts, since others use this machine and its caches too.
/// The first part warms up.
fn nanos(decisions: u32, mut decide: impl FnMut(u64)) -> f64 {
    let part = u64::from(decisions / 10);
    let time = |n: u64| {
        let start = ThreadTime::now();
        (n * part..(n + 1) * part).for_each(&mut decide);
        start.elapsed().as_nanos() as f64 / part as f64
    };
    (0..=10).map(time).skip(1).fold(f64::INFINITY, f64::min)
}

struct Fleet {
    store: MemoryStore<Virtual>,
    around: Around,
}

impl Fleet {
    fn put(&self, host: HostKey, state: HostState) {
        let view = self.store.load(&host).now_or_never();
        let view = view.expect("it never waits").expect("it never fails");
        self.commit(Commit { state: Some(state.into()), ..plain(&view) });
    }

    /// Takes the next host, decides on its URL, books the turn, and writes what came of it; the URL
    /// stays.
    fn decide(&self, id: u64) {
        let taken = self.store.take(1).now_or_never();
        let mut taken = taken.expect("it never waits").expect("it never fails");
        let visit = taken.visits.pop().expect("a host is due");
        let (mut view, record) = (visit.view, &visit.urls[0]);
        let scene = self.around.scene(view.now);
        let ask = ask(&record.url);
        let approach = approach(view.state.admit(&ask, &scene));
        let lease = LeaseId(id);
        let Ok(reserved) = view.state.reserve(&approach, &ask, &scene, lease) else {
            unreachable!("what was admitted can be reserved at the same moment");
        };
        let saved = self.commit(Commit {
            not_before: reserved.state.hand_out_at(&scene, SlotEnds::Deadline),
            grant: Some(Grant {
                lease,
                url: Some((record.id, record.claim)),
                charge: None,
                address: None,
            }),
            urls: vec![becomes(record, lease)],
            state: Some(reserved.state.clone().into()),
            ..plain(&view)
        });
        let turn = reserved.permit.into_turn();
        view.version = saved.version;
        let seen = answered(&turn, view.now);
        let (state, _) = reserved.state.observe(&turn, &seen, &scene);
        let granted = UrlRecord { claim: Some(lease), ..record.clone() };
        self.commit(Commit {
            not_before: state.hand_out_at(&scene, SlotEnds::Deadline),
            urls: vec![becomes(&granted, lease)],
            state: Some(state.into()),
            ..plain(&view)
        });
    }

    fn commit(&self, commit: Commit) -> Saved {
        let done = self.store.commit(commit).now_or_never();
        match done.expect("it never waits").expect("it never fails") {
            Committed::Done(saved) => saved,
            other => unreachable!("nobody else writes: {other:?}"),
        }
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

fn becomes(record: &UrlRecord, claim: LeaseId) -> UrlWrite {
    UrlWrite {
        from: Some(record.host().clone()),
        id: record.id,
        claim: record.claim,
        to: Some(UrlRecord { claim: Some(claim), ..record.clone() }),
    }
}

/// A worker's clock that runs with the store's.
struct Virtual(Rc<Cell<u64>>);

impl Clock for Virtual {
    fn mono(&self) -> Mono {
        Mono(self.0.get())
    }

    async fn sleep_until(&self, _: Mono) {}
}

/// Resident memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    kilobytes.and_then(|kb| kb.parse::<u64>().ok()).expect("a number of kB") * 1024
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
