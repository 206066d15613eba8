//! A ledger in Postgres passes the contract of every store: without faults, with faults, and for
//! several crawls at once. Against a real server.
#![cfg(feature = "postgres")]

mod place;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use curtsy_core::host::LeaseId;
use curtsy_core::url::{CrawlUrl, HostKey};
use curtsy_engine::{AddressClaim, Commit, Committed, Grant, Refusal, Store, UrlRecord};
use curtsy_sim::executor::Universe;
use curtsy_sim::{Mode, SimClock, Spec, simulate_over};
use curtsy_store::{LedgerPlace, MachineClock, MachineStore, Options, StoreHandle};
use curtsy_testkit::services::Postgres;
use curtsy_testkit::store::{Rig, Way, keep_the_contract};

use place::crawls::{Crawls, options};
use place::{Virtual, lived, now, turn};

/// Turns of each of two crawls that race for one host.
const TURNS: u64 = 300;

fn host(name: &str) -> HostKey {
    HostKey::parse(name).unwrap()
}

/// A crawl of this machine on a database.
fn open(database: &str) -> MachineStore {
    MachineStore::open_passing(LedgerPlace::Postgres(database.to_owned()), Options::default())
        .unwrap()
}

struct InPostgres(MachineStore<Virtual>);

impl InPostgres {
    fn new(server: &Postgres, universe: Rc<Universe>) -> InPostgres {
        let place = LedgerPlace::Postgres(server.database());
        let opened = MachineStore::open_passing_with(place, Options::default(), Virtual(universe));
        InPostgres(opened.unwrap())
    }
}

impl Rig for InPostgres {
    type Store = StoreHandle<Virtual>;

    fn handle(&self, _: SimClock) -> Self::Store {
        self.0.handle()
    }

    fn stop(&self, host: &HostKey, stopped: bool) {
        self.0.stop(host, stopped).unwrap();
    }

    fn empty(&self) {
        self.0.empty().unwrap();
    }

    /// The frontier ends with the crawl.
    fn reopen(&self) -> bool {
        false
    }
}

/// The threads of a crawl's workers share it.
#[test]
fn a_crawl_may_be_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<MachineStore>();
}

#[test]
fn postgres_keeps_the_contract() {
    let server = Postgres::start();
    keep_the_contract(Way::Straight, |universe| InPostgres::new(&server, universe));
}

#[test]
fn postgres_keeps_the_contract_behind_faults() {
    let server = Postgres::start();
    for seed in 1..=2 {
        keep_the_contract(Way::Faulty(seed), |universe| InPostgres::new(&server, universe));
    }
}

/// A machine in virtual time whose database has a clock that steps.
#[derive(Clone)]
struct Stepping {
    machine: Virtual,
    step: Rc<Cell<i64>>,
}

impl MachineClock for Stepping {
    fn monotonic(&self) -> u64 {
        self.machine.monotonic()
    }
    fn since_boot(&self) -> u64 {
        self.machine.since_boot()
    }
    fn wall(&self) -> u64 {
        self.machine.wall()
    }
    fn boot(&self) -> String {
        self.machine.boot()
    }
    fn server(&self) -> Option<u64> {
        Some(self.machine.wall().saturating_add_signed(self.step.get()))
    }
}

/// Runs some hours and returns the requests that the servers received.
fn live(server: &Postgres, seed: u64, hours: u64, crawls: usize) -> u64 {
    let mut spec = Spec::day(seed, Mode::Safety);
    spec.seconds = hours * 3600;
    let outcome = simulate_over(&spec, |universe, step, quiet| {
        let place = LedgerPlace::Postgres(server.database());
        let hours = Stepping { machine: Virtual(universe), step };
        let open =
            |_| MachineStore::open_passing_with(&place, options(quiet), hours.clone()).unwrap();
        Crawls::new((0..crawls).map(open).collect(), None)
    });
    lived(&spec, &outcome)
}

#[test]
fn three_crawls_live_an_hour_with_faults_on_one_database() {
    let server = Postgres::start();
    // `CURTSY_SEEDS=1..20` runs more of them.
    let seeds = std::env::var("CURTSY_SEEDS").unwrap_or("1..2".into());
    let (first, end) = seeds.split_once("..").expect("`CURTSY_SEEDS` is like 1..20");
    let seeds = first.parse().unwrap()..end.parse().unwrap();
    let requests: u64 = seeds.map(|seed| live(&server, seed, 1, 3)).sum();
    assert!(requests > 300, "{requests} requests");
}

#[test]
fn every_crawl_sees_what_the_others_write() {
    let server = Postgres::start();
    let database = server.database();
    let (one, other) = (open(&database), open(&database));
    let (a, b) = (one.handle(), other.handle());
    let known = now(b.load(&host("a.test"))).unwrap();
    let view = now(a.load(&host("a.test"))).unwrap();
    assert_eq!((view.epoch, view.version), (known.epoch, 0));
    assert_eq!((view.epoch.floor, view.epoch.quiet_until), (None, None), "a first ledger");

    // A turn that one crawl has booked is taken for the other.
    let Committed::Done(receipt) = now(a.commit(turn(&view, LeaseId(1)))).unwrap() else {
        panic!("nobody wrote before");
    };
    let Committed::Stale(newer) = now(b.commit(turn(&known, LeaseId(2)))).unwrap() else {
        panic!("somebody wrote before");
    };
    assert_eq!((newer.version, newer.state.turn), (receipt.version, 1));
    assert!(newer.state.lease(LeaseId(1)).is_some());
    assert!(newer.now >= receipt.now, "they have one time");

    // So is a slot of an address.
    let records = ["a.test", "b.test"].map(|name| {
        let url = CrawlUrl::parse(&format!("http://{name}/")).unwrap();
        UrlRecord::page(url, 0)
    });
    let at_address = |store: &StoreHandle<_>, record: &UrlRecord, lease| {
        now(store.offer(std::slice::from_ref(record))).unwrap();
        let view = now(store.load(record.host())).unwrap();
        let address = Ipv4Addr::new(192, 0, 2, 7).into();
        let until = view.now + Duration::from_secs(30);
        let address = Some(AddressClaim { address, cap: 1, until });
        let grant = Grant { lease, url: None, charge: None, address };
        now(store.commit(Commit { grant: Some(grant), ..turn(&view, lease) })).unwrap()
    };
    assert!(matches!(at_address(&a, &records[0], LeaseId(3)), Committed::Done(_)));
    let refused = at_address(&b, &records[1], LeaseId(4));
    assert!(matches!(refused, Committed::Refused(Refusal::Address(_))), "{refused:?}");

    // A stop order and its end are seen before the very next grant.
    one.stop(&host("b.test"), true).unwrap();
    let refused = at_address(&b, &records[1], LeaseId(5));
    assert!(matches!(refused, Committed::Refused(Refusal::Stopped)), "{refused:?}");
    assert!(now(b.take(0)).unwrap().orders.is_stopped(&host("b.test")));
    other.stop(&host("b.test"), false).unwrap();
    assert!(!now(a.load(&host("b.test"))).unwrap().stopped);

    // A crawl that begins later sees all of this.
    drop((one, other, a, b));
    let later = open(&database);
    let after = now(later.handle().load(&host("a.test"))).unwrap();
    assert_eq!((after.epoch, after.state.turn), (view.epoch, 2));
}

/// Books turns of one host, and returns their versions.
fn race(database: &str, worker: u64) -> Vec<u64> {
    let crawl = open(database);
    let store = crawl.handle();
    let mut view = now(store.load(&host("one.test"))).unwrap();
    let mut versions = Vec::new();
    while versions.len() < TURNS as usize {
        let lease = LeaseId(worker << 32 | versions.len() as u64);
        match now(store.commit(turn(&view, lease))).unwrap() {
            Committed::Done(receipt) => {
                versions.push(receipt.version);
                view = now(store.load(&host("one.test"))).unwrap();
            }
            Committed::Stale(newer) => {
                assert!(newer.version > view.version, "somebody wrote");
                view = newer;
            }
            Committed::Refused(refusal) => panic!("{refusal:?}"),
        }
    }
    versions
}

#[test]
fn two_crawls_never_take_the_same_turn() {
    let server = Postgres::start();
    let database = server.database();
    let raced: Vec<u64> = std::thread::scope(|threads| {
        let racers = [1, 2].map(|worker| {
            let database = &database;
            threads.spawn(move || race(database, worker))
        });
        racers.into_iter().flat_map(|racer| racer.join().unwrap()).collect()
    });
    let versions: BTreeSet<u64> = raced.iter().copied().collect();
    assert_eq!(versions.len() as u64, 2 * TURNS, "no version is given twice");
    let view = now(open(&database).handle().load(&host("one.test"))).unwrap();
    assert_eq!(u64::from(view.state.turn), 2 * TURNS, "each turn is in the state");
    assert_eq!(Some(&view.version), versions.last());
}
