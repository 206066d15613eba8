//! Several processes on one ledger, and processes that are killed: acknowledged writes are kept,
//! and no process starts in another's turn.

mod place;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use curtsy_core::host::{HostState, Lease, LeaseId, RequestKind};
use curtsy_core::url::{CrawlUrl, HostKey};
use curtsy_engine::{Commit, Committed, Grant, Refusal, Store, UrlRecord, UrlWrite, View};
use curtsy_store::{Ledger, MachineStore, Options, StoreHandle, SystemClock};

use place::{Folder, now};

/// Kills of one run. Each comes after up to 120 ms.
const KILLS: u64 = 25;
/// Grants of each of two processes that race for one host.
const GRANTS: u64 = 1000;

fn page(host: &str, n: u64) -> UrlRecord {
    let url = CrawlUrl::parse(&format!("http://{host}/{n}")).unwrap();
    UrlRecord::page(url, 0)
}

/// The grant of a page. It increments the host's turn.
fn grant(view: &View, record: &UrlRecord, lease: LeaseId) -> Commit {
    let mut state = HostState::clone(&view.state);
    state.turn += 1;
    // A lease of now: the one before has ended.
    state.leases = vec![Lease {
        id: lease,
        kind: RequestKind::Page,
        probe: false,
        url: record.id,
        turn: state.turn,
        generation: 0,
        send_by: view.now,
        until: view.now + Duration::from_secs(30),
    }];
    let claimed = UrlRecord { claim: Some(lease), ..record.clone() };
    Commit {
        host: view.host.clone(),
        version: view.version,
        epoch: view.epoch.id,
        state: Some(state.into()),
        not_before: view.now,
        grant: Some(Grant {
            lease,
            url: Some((record.id, record.claim)),
            charge: Some(u64::MAX),
            address: None,
        }),
        release: None,
        robots: Vec::new(),
        urls: vec![write(record, Some(claimed))],
        exchanged: None,
    }
}

fn write(record: &UrlRecord, to: Option<UrlRecord>) -> UrlWrite {
    UrlWrite { from: Some(record.host().clone()), id: record.id, claim: record.claim, to }
}

/// The task of a child process, if this is one.
#[test]
fn child() {
    let Ok(what) = std::env::var("CURTSY_STORE_CHILD") else { return };
    let words: Vec<&str> = what.split(' ').collect();
    let [job, ledger, crawl, from] = words[..] else { panic!("{what}") };
    let from = from.parse().unwrap();
    let crawl =
        MachineStore::open(Path::new(ledger), Path::new(crawl), Options::default()).unwrap();
    match job {
        "write" => write_on(&crawl.handle(), from),
        _ => {
            meet(Path::new(ledger), from);
            race(&crawl.handle(), from);
        }
    }
}

fn start(job: &str, folder: &Folder, crawl: &Path, from: u64) -> Child {
    let what = format!("{job} {} {} {from}", folder.ledger().display(), crawl.display());
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env("CURTSY_STORE_CHILD", what)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reports to the parent what was acknowledged.
fn tell(line: std::fmt::Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "= {line}").unwrap();
    out.flush().unwrap();
}

/// Offers, is granted and settles pages for ever, and reports each answer.
fn write_on(store: &StoreHandle<SystemClock>, from: u64) {
    for n in from.. {
        let host = format!("h{}.test", n % 7);
        let record = page(&host, n);
        now(store.offer(std::slice::from_ref(&record))).unwrap();
        tell(format_args!("offered {n}"));
        let view = now(store.load(record.host())).unwrap();
        let lease = LeaseId(n);
        let Committed::Done(receipt) = now(store.commit(grant(&view, &record, lease))).unwrap()
        else {
            panic!("nobody else is here");
        };
        tell(format_args!("granted {n} {}", receipt.version));
        if n % 3 != 0 {
            let granted = UrlRecord { claim: Some(lease), ..record };
            now(store.settle(vec![write(&granted, None)])).unwrap();
            tell(format_args!("settled {n}"));
        }
    }
}

#[test]
fn acknowledged_writes_survive_kill_9() {
    let folder = Folder::new("kill");
    let (mut offered, mut granted, mut settled) =
        (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
    for kill in 0..KILLS {
        let next = offered.last().map_or(0, |n| n + 1);
        let mut child = start("write", &folder, &folder.crawl(), next + 1);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let killer = std::thread::spawn(move || {
            // At any moment: sometimes while it opens, mostly while it writes.
            std::thread::sleep(Duration::from_millis(kill * 37 % 120));
            child.kill().unwrap();
            child.wait().unwrap();
        });
        for line in lines {
            let line = line.unwrap();
            let Some(told) = line.strip_prefix("= ") else { continue };
            let words: Vec<&str> = told.split(' ').collect();
            let n: u64 = words[1].parse().unwrap();
            match words[0] {
                "offered" => drop(offered.insert(n)),
                "granted" => drop(granted.insert(n, words[2].parse::<u64>().unwrap())),
                _ => drop(settled.insert(n)),
            }
        }
        killer.join().unwrap();
        check(&folder, &offered, &granted, &settled);
    }
    assert!(settled.len() > 100, "{} pages were settled between kills", settled.len());
}

fn check(
    folder: &Folder,
    offered: &BTreeSet<u64>,
    granted: &BTreeMap<u64, u64>,
    settled: &BTreeSet<u64>,
) {
    let crawl = MachineStore::open(&folder.ledger(), &folder.crawl(), Options::default()).unwrap();
    let store = crawl.handle();
    let all: Vec<_> = offered.iter().map(|n| page(&format!("h{}.test", n % 7), *n)).collect();
    assert_eq!(now(store.offer(&all)).unwrap().new, 0, "what was offered is known");
    assert!(crawl.pages() >= granted.len() as u64, "what was charged is charged");
    let mut turns: BTreeMap<HostKey, (u32, u64)> = BTreeMap::new();
    for (n, version) in granted {
        let host = page(&format!("h{}.test", n % 7), *n).host().clone();
        let (turn, last) = turns.entry(host).or_default();
        *turn += 1;
        *last = (*last).max(*version);
    }
    for (host, (turn, version)) in turns {
        let view = now(store.load(&host)).unwrap();
        assert!(view.state.turn >= turn, "{host}: every grant that was told is in its state");
        assert!(view.version >= version, "{host}");
    }
    for n in settled {
        let record = page(&format!("h{}.test", n % 7), *n);
        let view = now(store.load(record.host())).unwrap();
        let claimed = UrlRecord { claim: Some(LeaseId(*n)), ..record };
        let refused = now(store.commit(grant(&view, &claimed, LeaseId(u64::MAX)))).unwrap();
        assert!(matches!(refused, Committed::Refused(Refusal::Gone)), "page {n} was settled");
    }
    // In each life at most one more write of each kind was not acknowledged.
    let open = (offered.len() - settled.len()) as u64;
    assert!(crawl.queued() + KILLS >= open && crawl.queued() <= open + KILLS, "none is lost");
}

/// Waits for the other process, so that both run at the same time.
fn meet(ledger: &Path, worker: u64) {
    let here = |worker| ledger.with_extension(format!("worker-{worker}"));
    std::fs::write(here(worker), "").unwrap();
    for _ in 0..10_000 {
        if here(1).exists() && here(2).exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("the other one does not come");
}

/// Takes turns on one host, and reports each.
fn race(store: &StoreHandle<SystemClock>, worker: u64) {
    let host = HostKey::parse("one.test").unwrap();
    let records: Vec<UrlRecord> =
        (0..GRANTS).map(|n| page("one.test", worker * GRANTS + n)).collect();
    now(store.offer(&records)).unwrap();
    let mut view = now(store.load(&host)).unwrap();
    let mut stale = 0;
    for (n, record) in records.iter().enumerate() {
        let lease = LeaseId(worker << 32 | n as u64);
        loop {
            match now(store.commit(grant(&view, record, lease))).unwrap() {
                Committed::Done(receipt) => {
                    view = now(store.load(&host)).unwrap();
                    tell(format_args!("granted {} {}", receipt.version, lease.0));
                    break;
                }
                Committed::Stale(newer) => {
                    assert!(newer.version > view.version, "somebody wrote");
                    stale += 1;
                    view = newer;
                }
                other => panic!("{other:?}"),
            }
        }
    }
    tell(format_args!("stale {stale}"));
}

#[test]
fn two_processes_never_take_the_same_turn() {
    let folder = Folder::new("race");
    let children = [1, 2].map(|worker| {
        let crawl = folder.path().join(format!("crawl-{worker}.db"));
        start("race", &folder, &crawl, worker)
    });
    let (mut versions, mut stale) = (BTreeSet::new(), 0);
    for mut child in children {
        let out = BufReader::new(child.stdout.take().unwrap());
        for line in out.lines() {
            let line = line.unwrap();
            if let Some(told) = line.strip_prefix("= granted ") {
                let version: u64 = told.split(' ').next().unwrap().parse().unwrap();
                assert!(versions.insert(version), "version {version} was given twice");
            }
            if let Some(told) = line.strip_prefix("= stale ") {
                stale += told.parse::<u64>().unwrap();
            }
        }
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(versions.len() as u64, 2 * GRANTS);
    assert!(stale > 0, "they met");
    let mut ledger = Ledger::open(&folder.ledger(), SystemClock, Duration::ZERO).unwrap();
    let state = ledger.state(&HostKey::parse("one.test").unwrap()).unwrap();
    assert_eq!(u64::from(state.turn), 2 * GRANTS, "each grant had a turn of its own");
}

#[test]
fn a_grant_of_one_crawl_is_stale_for_another() {
    let folder = Folder::new("stale");
    let crawls = [1, 2].map(|n| {
        let path = folder.path().join(format!("crawl-{n}.db"));
        MachineStore::open(&folder.ledger(), &path, Options::default()).unwrap()
    });
    let [one, other] = [crawls[0].handle(), crawls[1].handle()];
    let record = page("one.test", 1);
    let mut ledger = Ledger::open(&folder.ledger(), SystemClock, Duration::ZERO).unwrap();
    for store in [&one, &other] {
        assert_eq!(
            now(store.offer(std::slice::from_ref(&record))).unwrap().new,
            1,
            "frontiers are apart"
        );
    }
    let view = now(other.load(record.host())).unwrap();
    let first = now(one.load(record.host())).unwrap();
    assert!(matches!(now(one.commit(grant(&first, &record, LeaseId(1)))), Ok(Committed::Done(_))));
    match now(other.commit(grant(&view, &record, LeaseId(2)))).unwrap() {
        Committed::Stale(newer) => assert!(newer.state.lease(LeaseId(1)).is_some()),
        result => panic!("{result:?}"),
    }
    // The very next grant sees a stop order of a third process.
    let view = now(other.load(record.host())).unwrap();
    ledger.stop(record.host(), true).unwrap();
    let told = now(other.commit(grant(&view, &record, LeaseId(3)))).unwrap();
    assert!(matches!(told, Committed::Stale(view) if view.stopped));
    let view = now(other.load(record.host())).unwrap();
    let refused = now(other.commit(grant(&view, &record, LeaseId(3)))).unwrap();
    assert!(matches!(refused, Committed::Refused(Refusal::Stopped)));
    ledger.stop(record.host(), false).unwrap();
    assert!(!now(other.take(8)).unwrap().visits[0].view.stopped);
}
