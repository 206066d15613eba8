//! Failures of a database: it is killed, disconnected, stalled, emptied, restored, and its clock
//! steps. Acknowledged writes are kept, nothing is acknowledged twice, and no wait is unbounded.
#![cfg(feature = "postgres")]

mod place;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use curtsy_core::host::LeaseId;
use curtsy_core::url::HostKey;
use curtsy_engine::{Committed, Store, StoreError, View};
use curtsy_store::{LedgerPlace, MachineClock, MachineStore, OpenError, Options, StoreHandle};
use curtsy_testkit::services::{Postgres, Proxy, Trouble, Way};
use postgres::{Client, NoTls};

use place::{now, turn};

const QUIET: Duration = Duration::from_secs(31);
const HOUR: u64 = 3_600_000_000;
/// How often the server is killed under a writer.
const KILLS: usize = 6;

fn host() -> HostKey {
    HostKey::parse("a.test").unwrap()
}

fn try_open(database: &str) -> Result<MachineStore, OpenError> {
    MachineStore::open_passing(LedgerPlace::Postgres(database.to_owned()), Options::default())
}

fn view<H: MachineClock>(store: &StoreHandle<H>) -> View {
    now(store.load(&host())).unwrap()
}

fn sql(database: &str) -> Client {
    Client::connect(database, NoTls).unwrap()
}

/// Books a turn, however often that must be repeated. The state shows a lost answer. Returns the
/// version if it was acknowledged.
fn book<H: MachineClock>(store: &StoreHandle<H>, lease: LeaseId) -> Option<u64> {
    let mut known = None;
    loop {
        let view = match known.take().map_or_else(|| now(store.load(&host())), Ok) {
            Ok(view) => view,
            Err(_) => {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
        };
        if view.state.lease(lease).is_some() {
            return None;
        }
        match now(store.commit(turn(&view, lease))) {
            Ok(Committed::Done(receipt)) => return Some(receipt.version),
            Ok(Committed::Stale(newer)) => known = Some(newer),
            Ok(Committed::Refused(refusal)) => panic!("{refusal:?}"),
            Err(StoreError::Unknown(_) | StoreError::Refused(..)) => {}
        }
    }
}

#[test]
fn a_killed_server_loses_nothing_and_acknowledges_nothing_twice() {
    let mut server = Postgres::start();
    let database = server.database();
    let (over, booked) = (AtomicBool::new(false), AtomicU64::new(0));
    let before = view(&try_open(&database).unwrap().handle());
    let versions = std::thread::scope(|threads| {
        let writer = threads.spawn(|| {
            let crawl = try_open(&database).unwrap();
            let store = crawl.handle();
            let mut versions = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let lease = LeaseId(booked.load(Ordering::Relaxed) + 1);
                versions.extend(book(&store, lease));
                booked.fetch_add(1, Ordering::Relaxed);
            }
            versions
        });
        for kill in 0..KILLS {
            let written = booked.load(Ordering::Relaxed);
            while booked.load(Ordering::Relaxed) < written + 20 {
                std::thread::sleep(Duration::from_millis(1));
            }
            // At any moment.
            std::thread::sleep(Duration::from_micros(kill as u64 * 379));
            server.kill();
            server.run();
        }
        over.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    let turns = booked.load(Ordering::Relaxed);
    let after = view(&try_open(&database).unwrap().handle());
    assert_eq!(u64::from(after.state.turn), turns, "each turn was booked once");
    assert!(versions.is_sorted_by(|a, b| a < b), "no version is told twice");
    assert!(versions.len() as u64 + KILLS as u64 >= turns, "most answers were heard");
    assert_eq!(after.epoch, before.epoch, "nothing was lost");
}

#[test]
fn a_lost_answer_is_found_in_the_state() {
    let server = Postgres::start();
    let database = server.database();
    let proxy = Proxy::to(server.port);
    let name = database.rsplit('/').next().unwrap();
    let crawl = try_open(&proxy.postgres_url(name)).unwrap();
    let store = crawl.handle();
    let (mut turns, mut lost) = (0, 0);
    // The connection breaks after each part of an answer: to the lock, the read, the write, the
    // end.
    for after in (0..600).step_by(13) {
        let known = view(&store);
        proxy.begin(Trouble::LoseAnswers { after });
        let lease = LeaseId(after as u64 + 1);
        let told = now(store.commit(turn(&known, lease)));
        proxy.heal();
        turns += 1;
        match told {
            Ok(told) => assert!(matches!(told, Committed::Done(_)), "{told:?}"),
            Err(_) => {
                lost += 1;
                assert!(crawl.trouble().is_some_and(|why| why.contains("hint: is the server up?")));
                book(&store, lease);
            }
        }
        assert_eq!(view(&store).state.turn, turns, "after {after} bytes");
    }
    assert!(lost > 10, "{lost} answers were lost");
    assert_eq!(crawl.trouble(), None);
}

#[test]
fn a_stalled_server_is_not_waited_for() {
    let server = Postgres::start();
    let database = server.database();
    let proxy = Proxy::to(server.port);
    let name = database.rsplit('/').next().unwrap();
    let crawl = try_open(&proxy.postgres_url(name)).unwrap();
    let store = crawl.handle();
    book(&store, LeaseId(1));
    let known = view(&store);
    proxy.begin(Trouble::Stall(Way::Both));
    let asked = Instant::now();
    assert!(matches!(
        now(store.commit(turn(&known, LeaseId(2)))),
        Err(StoreError::Refused("commit", _))
    ));
    assert!(asked.elapsed() < Duration::from_secs(12), "{:?}", asked.elapsed());
    // For a while no request is sent.
    let asked = Instant::now();
    assert!(now(store.load(&host())).is_err());
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    proxy.begin(Trouble::Cut);
    proxy.heal();
    book(&store, LeaseId(2));
    assert_eq!(view(&store).state.turn, 2);
}

#[test]
fn a_writer_that_stops_in_the_middle_is_not_waited_for_long() {
    let server = Postgres::start();
    let database = server.database();
    let crawl = try_open(&database).unwrap();
    let store = crawl.handle();
    let known = view(&store);
    let mut other = sql(&database);
    other.batch_execute("BEGIN; SELECT * FROM curtsy_ledger FOR UPDATE").unwrap();
    let Err(StoreError::Refused("commit", why)) = now(store.commit(turn(&known, LeaseId(1))))
    else {
        panic!("somebody else has the lock");
    };
    assert!(why.contains("is locked by another program"), "{why}");
    assert!(now(store.load(&host())).is_ok(), "reading needs no lock");
    other.batch_execute("ROLLBACK").unwrap();
    assert!(matches!(now(store.commit(turn(&known, LeaseId(1)))), Ok(Committed::Done(_))));
}

/// A machine, and a server whose clock is set by hand.
#[derive(Clone)]
struct Clocks(Arc<Mutex<(u64, u64)>>);

impl Clocks {
    fn new() -> Clocks {
        Clocks(Arc::new(Mutex::new((HOUR, 500_000 * HOUR))))
    }

    fn pass(&self, micros: u64) {
        let mut clocks = self.0.lock().unwrap();
        clocks.0 += micros;
        clocks.1 += micros;
    }

    fn step(&self, by: i64) {
        let mut clocks = self.0.lock().unwrap();
        clocks.1 = clocks.1.saturating_add_signed(by);
    }
}

impl MachineClock for Clocks {
    fn monotonic(&self) -> u64 {
        self.0.lock().unwrap().0
    }
    fn since_boot(&self) -> u64 {
        self.monotonic()
    }
    fn wall(&self) -> u64 {
        unreachable!("a ledger in a database has the server's time")
    }
    fn boot(&self) -> String {
        unreachable!("a ledger in a database does not end with a boot")
    }
    fn server(&self) -> Option<u64> {
        Some(self.0.lock().unwrap().1)
    }
}

fn open_with(database: &str, clocks: &Clocks) -> MachineStore<Clocks> {
    let options = Options { quiet: QUIET, ..Options::default() };
    MachineStore::open_passing_with(
        LedgerPlace::Postgres(database.to_owned()),
        options,
        clocks.clone(),
    )
    .unwrap()
}

#[test]
fn steps_of_the_clock_are_taken_out() {
    let server = Postgres::start();
    let (database, clocks) = (server.database(), Clocks::new());
    let (one, other) = (open_with(&database, &clocks), open_with(&database, &clocks));
    let (a, b) = (one.handle(), other.handle());
    let begin = view(&a).now;
    let mut passed = 0;
    for by in [5 * HOUR as i64, -(7 * HOUR as i64), 2_000_000, -2_000_000] {
        clocks.pass(10_000_000);
        clocks.step(by);
        passed += 10_000_000;
        // Either of two processes corrects it: one by reading, the other by writing.
        match by > 0 {
            true => drop(view(&a)),
            false => drop(book(&b, LeaseId(passed))),
        }
        for store in [&a, &b] {
            let now = view(store).now;
            assert_eq!((now - begin).as_micros() as u64, passed, "after a step of {by} µs");
        }
    }
    // Less than a second is drift: time stands still rather than go back.
    clocks.step(-900_000);
    assert_eq!((view(&a).now - begin).as_micros() as u64, passed);
    clocks.pass(900_000);
    assert_eq!((view(&a).now - begin).as_micros() as u64, passed);
    assert_eq!(view(&a).epoch.floor, None, "a clock that steps loses nothing");
}

#[test]
fn a_clock_that_went_back_between_processes_is_corrected() {
    let server = Postgres::start();
    let (database, clocks) = (server.database(), Clocks::new());
    let crawl = open_with(&database, &clocks);
    book(&crawl.handle(), LeaseId(1));
    let before = view(&crawl.handle());
    drop(crawl);
    clocks.step(-(HOUR as i64));
    let after = view(&open_with(&database, &clocks).handle());
    assert!(after.now >= before.now, "{:?} comes after {:?}", after.now, before.now);
    assert_eq!(after.epoch, before.epoch);
    // Time without any process counts.
    clocks.pass(HOUR);
    let later = view(&open_with(&database, &clocks).handle());
    assert_eq!((later.now - after.now).as_micros() as u64, HOUR);
}

/// A ledger that was damaged or replaced is another one, with nothing of the old content.
#[track_caller]
fn check_lost(loss: &str, version: u64) {
    let server = Postgres::start();
    let (database, clocks) = (server.database(), Clocks::new());
    let crawl = open_with(&database, &clocks);
    let store = crawl.handle();
    book(&store, LeaseId(1));
    let copy = view(&store);
    let mut client = sql(&database);
    client.batch_execute("CREATE TABLE copy AS SELECT * FROM curtsy_ledger").unwrap();
    book(&store, LeaseId(2));
    let before = view(&store);
    client.batch_execute(loss).unwrap();
    let Committed::Stale(after) = now(store.commit(turn(&before, LeaseId(3)))).unwrap() else {
        panic!("it was lost");
    };
    assert!(after.epoch.id > before.epoch.id);
    assert_eq!(after.epoch.floor, Some(after.now), "every host counts as just started");
    assert_eq!(after.epoch.quiet_until, Some(after.now + QUIET));
    assert!(after.now >= before.now && after.now >= copy.now);
    assert_eq!(after.version, version);
    assert_eq!(view(&open_with(&database, &clocks).handle()).epoch, after.epoch, "once");
    assert!(matches!(now(store.commit(turn(&after, LeaseId(3)))), Ok(Committed::Done(_))));
}

#[test]
fn a_ledger_that_is_taken_away_is_noticed() {
    check_lost(
        "DROP TABLE curtsy_ledger, curtsy_hosts, curtsy_robots, curtsy_slots, curtsy_stops, curtsy_version",
        0,
    );
    check_lost("DELETE FROM curtsy_ledger; DELETE FROM curtsy_hosts", 0);
}

#[test]
fn a_ledger_from_an_older_copy_is_noticed() {
    check_lost(
        "DELETE FROM curtsy_ledger; INSERT INTO curtsy_ledger SELECT * FROM copy; UPDATE curtsy_hosts SET version = 7",
        7,
    );
}

#[track_caller]
fn check_refused(database: &str, what: &str, hint: &str) {
    let told = try_open(database).err().expect("it is refused").to_string();
    let (first, second) = told.split_once('\n').unwrap_or_else(|| panic!("no hint: {told}"));
    assert!(first.contains(what), "{told}");
    assert!(second.starts_with("hint: ") && second.contains(hint), "{told}");
    assert!(!told.contains("s3cret"), "{told}");
}

#[test]
fn an_error_of_opening_says_why() {
    let server = Postgres::start();
    let database = server.database();
    drop(try_open(&database).unwrap());
    let mut client = sql(&database);
    client.batch_execute("UPDATE curtsy_version SET version = 99").unwrap();
    check_refused(&database, "its ledger has version 99", "upgrade this program");
    client.batch_execute("UPDATE curtsy_version SET version = 1").unwrap();
    drop(try_open(&database).unwrap());

    let other = server.database();
    sql(&other).batch_execute("CREATE TABLE curtsy_hosts (a INT)").unwrap();
    check_refused(&other, "a table `curtsy_hosts` that curtsy did not make", "rename that table");

    server.run_sql("postgres", "CREATE DATABASE old ENCODING 'SQL_ASCII' TEMPLATE template0");
    check_refused(&server.url("old"), "its encoding is `SQL_ASCII`", "ENCODING 'UTF8'");

    check_refused("postgres://ann:s3cret@127.0.0.1:x/c", "no address of a database", "postgres://");
    let secret = format!("{database}?sslmode=require");
    check_refused(&secret, "TLS to a database is not supported", "a server on this machine");
    let nobody = "postgres://ann:s3cret@127.0.0.1:1/c";
    check_refused(nobody, "can't open `postgres://ann@127.0.0.1:1/c`: ", "is the server up");

    let mine = server.database();
    sql(&mine).batch_execute("CREATE ROLE ann LOGIN").unwrap();
    let as_ann = mine.replace("app@", "ann:s3cret@");
    check_refused(&as_ann, "permission denied for schema public", "needs CREATE on the schema");
}
