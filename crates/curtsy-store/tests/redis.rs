//! The store in Redis passes the contract of every store, over a real server, in virtual time.
#![cfg(feature = "redis")]

mod place;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use curtsy_core::host::LeaseId;
use curtsy_core::url::{CrawlUrl, HostKey};
use curtsy_engine::{Store, UrlRecord, UrlWrite};
use curtsy_sim::executor::Universe;
use curtsy_sim::{Backing, Mode, SimClock, Spec, simulate_over};
use curtsy_store::redis::{
    ARRIVE, Empty, LinkOptions, Options, RawClock, RedisScript, RedisStore, Server as Told, Wire,
    WireError, arrive, is_unknown_script,
};
use curtsy_testkit::store::{Rig, Way, keep_the_contract};
use redis::{Cmd, Connection, RedisError, Value};

use curtsy_testkit::services::Redis as Server;
use place::lived;

/// A connection that answers before anything else happens, so virtual time does not pass meanwhile.
struct Blocking {
    connection: RefCell<Connection>,
    options: LinkOptions,
    raw: RawClock,
}

impl Blocking {
    fn new(server: &Server, options: LinkOptions, raw: RawClock) -> Rc<Blocking> {
        let client = redis::Client::open(server.url()).unwrap();
        let connection = RefCell::new(client.get_connection().unwrap());
        let wire = Rc::new(Blocking { connection, options, raw });
        wire.greet(None).unwrap();
        wire
    }

    fn query(&self, command: &Cmd) -> Result<Value, RedisError> {
        command.query(&mut *self.connection.borrow_mut())
    }

    fn greet(&self, known: Option<u64>) -> Result<(), RedisError> {
        let told = Told { run: "a".into(), lossless: true };
        let mut command = redis::cmd("EVAL");
        command.arg(ARRIVE.text).arg(0);
        for part in arrive(&told, &(self.raw)().to_string(), &self.options, known) {
            command.arg(part);
        }
        self.query(&command).map(|_| ())
    }

    fn flush(&self) {
        self.query(&redis::cmd("FLUSHDB")).unwrap();
    }
}

impl Wire for Blocking {
    async fn run(&self, script: &'static RedisScript, command: &Cmd) -> Result<Value, WireError> {
        let mut answer = self.query(command);
        if answer.as_ref().is_err_and(is_unknown_script) {
            self.query(redis::cmd("SCRIPT").arg("LOAD").arg(script.text)).unwrap();
            answer = self.query(command);
        }
        answer.map_err(|e| WireError::NotDone(e.to_string()))
    }

    async fn greet_again(&self, known: Option<u64>) -> Result<(), WireError> {
        self.greet(known).map_err(|e| WireError::NotDone(e.to_string()))
    }
}

struct InRedis {
    server: Rc<Server>,
    wire: Rc<Blocking>,
    raw: RawClock,
    options: Options,
}

impl InRedis {
    /// A store that no worker has used.
    fn new(server: &Rc<Server>, universe: Rc<Universe>) -> InRedis {
        let raw: RawClock = Rc::new(move || universe.now());
        InRedis::over(server, raw, LinkOptions::default(), Options::default())
    }

    fn over(server: &Rc<Server>, raw: RawClock, link: LinkOptions, options: Options) -> InRedis {
        let new = LinkOptions { empty: Empty::New, ..link.clone() };
        Blocking::new(server, new.clone(), Rc::clone(&raw)).flush();
        Blocking::new(server, new, Rc::clone(&raw));
        let wire = Blocking::new(server, link, Rc::clone(&raw));
        InRedis { server: Rc::clone(server), wire, raw, options }
    }

    fn store(&self, clock: SimClock) -> RedisStore<Blocking, SimClock> {
        let store = RedisStore::new(Rc::clone(&self.wire), clock, self.options.clone());
        store.with_clock(Rc::clone(&self.raw))
    }

    fn control(&self) -> RedisStore<Blocking, Still> {
        let store = RedisStore::new(Rc::clone(&self.wire), Still, self.options.clone());
        store.with_clock(Rc::clone(&self.raw))
    }
}

/// The clock of a client that makes one call.
struct Still;

impl curtsy_engine::Clock for Still {
    fn mono(&self) -> curtsy_engine::Mono {
        curtsy_engine::Mono(0)
    }

    async fn sleep_until(&self, _: curtsy_engine::Mono) {}
}

impl Rig for InRedis {
    type Store = RedisStore<Blocking, SimClock>;

    fn handle(&self, clock: SimClock) -> Self::Store {
        self.store(clock)
    }

    fn stop(&self, host: &HostKey, stopped: bool) {
        now(self.control().stop(host, stopped)).unwrap();
    }

    fn empty(&self) {
        self.wire.flush();
    }

    fn reopen(&self) -> bool {
        true
    }
}

impl Backing for InRedis {
    type Store = RedisStore<Blocking, SimClock>;

    fn handle(&self, clock: SimClock) -> Self::Store {
        self.store(clock)
    }

    fn stop(&self, host: &HostKey, stopped: bool) {
        Rig::stop(self, host, stopped);
    }

    /// The loss of a killed server is tested with real ones. Here nothing is lost.
    fn lose(&self, _: Duration) {}

    fn empty(&self) {
        self.wire.flush();
    }

    fn queued(&self) -> u64 {
        now(self.control().queued()).unwrap()
    }

    fn describe(&self, host: &HostKey) -> String {
        let queue =
            self.wire.query(redis::cmd("ZRANGE").arg(format!("curtsy:queue:{host}")).arg(&[
                "0",
                "-1",
                "WITHSCORES",
            ]));
        let state = now(Store::load(&self.control(), host));
        format!("on port {}: {state:#?}\n{queue:?}", self.server.port)
    }
}

/// The answer of a call that does not wait.
fn now<T>(call: impl Future<Output = T>) -> T {
    let mut call = std::pin::pin!(call);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    match call.as_mut().poll(&mut cx) {
        std::task::Poll::Ready(answer) => answer,
        std::task::Poll::Pending => panic!("a blocking connection answers at once"),
    }
}

#[test]
fn redis_keeps_the_contract() {
    let server = Rc::new(Server::forgetful());
    keep_the_contract(Way::Straight, |universe| InRedis::new(&server, universe));
}

#[test]
fn redis_keeps_the_contract_behind_faults() {
    let server = Rc::new(Server::forgetful());
    for seed in 1..=3 {
        keep_the_contract(Way::Faulty(seed), |universe| InRedis::new(&server, universe));
    }
}

/// A worker from before there was a worth wrote a queue: rank, depth and a number of 8 bytes.
#[test]
fn a_queue_with_places_of_an_older_worker_is_worked_off() {
    let server = Rc::new(Server::forgetful());
    let time = Rc::new(Cell::new(1_000_000_000_u64));
    let raw: RawClock = Rc::new(move || time.replace(time.get() + 1));
    let rig = InRedis::over(&server, raw, LinkOptions::default(), Options::default());
    let store = rig.control();
    let url = |path: &str| CrawlUrl::parse(&format!("http://a.test/{path}")).unwrap();
    let host = HostKey::parse("a.test").unwrap();
    let old = [UrlRecord::page(url("old"), 0), UrlRecord::page(url("old-deep"), 1)];
    now(store.offer(&old)).unwrap();
    let (queue, urls) = ("curtsy:queue:a.test", "curtsy:urls:a.test");
    for record in &old {
        let id = record.id.as_u128().to_be_bytes();
        let found = rig.wire.query(redis::cmd("HGET").arg(urls).arg(&id)).unwrap();
        let mut bytes: Vec<u8> = redis::from_redis_value(found).unwrap();
        let member = |bytes: &[u8]| [&bytes[..11], &id[..]].concat();
        let removed = rig.wire.query(redis::cmd("ZREM").arg(queue).arg(member(&bytes))).unwrap();
        assert_eq!(removed, Value::Int(1));
        bytes.copy_within(2..4, 1);
        bytes[3] = 0;
        rig.wire.query(redis::cmd("ZADD").arg(queue).arg(0).arg(member(&bytes))).unwrap();
        rig.wire.query(redis::cmd("HSET").arg(urls).arg(&id).arg(&bytes)).unwrap();
    }
    let later = UrlRecord { worth: 1, ..UrlRecord::page(url("later"), 0) };
    now(store.offer(&[later.clone(), UrlRecord::page(url("new"), 0)])).unwrap();
    let visit = now(store.take(1)).unwrap().visits.remove(0);
    let order: Vec<&str> = visit.urls.iter().map(|url| url.url.path_and_query()).collect();
    assert_eq!(order, ["/old", "/new", "/old-deep", "/later"]);
    assert_eq!((&visit.urls[0], &visit.urls[2]), (&old[0], &old[1]), "read as they were");
    // Each is changed once, then settled.
    let change = |record: &UrlRecord, claim, to| UrlWrite {
        from: Some(host.clone()),
        id: record.id,
        claim,
        to,
    };
    let claim = Some(LeaseId(7));
    let claimed = |record: &UrlRecord| Some(UrlRecord { claim, ..record.clone() });
    let claims = visit.urls.iter().map(|url| change(url, None, claimed(url)));
    now(store.settle(claims.collect())).unwrap();
    now(store.settle(visit.urls.iter().map(|url| change(url, claim, None)).collect())).unwrap();
    assert_eq!(now(store.take(1)).unwrap().queued, 0);
    assert_eq!(rig.wire.query(redis::cmd("ZCARD").arg(queue)).unwrap(), Value::Int(0));
}

/// A store that was emptied is not a new one, even if a worker that never saw it comes back first.
#[test]
fn an_emptied_store_is_no_new_one_to_a_worker_that_knew_it() {
    let server = Rc::new(Server::forgetful());
    let time = Rc::new(Cell::new(1_000_000_000_u64));
    let clock = Rc::clone(&time);
    let raw: RawClock = Rc::new(move || clock.replace(clock.get() + 1));
    let rig = InRedis::over(&server, Rc::clone(&raw), LinkOptions::default(), Options::default());
    let (old, other) = (rig.control(), rig.control());
    let epoch = |store: &RedisStore<Blocking, Still>| now(store.take(0)).unwrap().epoch;
    let before = epoch(&old);
    assert_eq!(epoch(&other), before);
    assert_eq!((before.floor, before.emptied), (None, false), "it is a new store");

    rig.wire.flush();
    let new = LinkOptions { empty: Empty::New, ..LinkOptions::default() };
    let newcomer = InRedis { wire: Blocking::new(&server, new, raw), ..rig };
    let newcomer = newcomer.control();
    let begun = epoch(&newcomer);
    assert_eq!((begun.floor, begun.emptied), (None, false), "it never saw the other store");

    let lost = epoch(&old);
    assert!(lost.emptied && lost.id > begun.id && lost.quiet_until > lost.floor, "{lost:?}");
    assert_eq!(epoch(&other), lost, "the loss is said once");
    assert_eq!(epoch(&newcomer), lost, "and everybody is quiet");
}

/// Runs some hours and returns the requests that the servers received.
fn live(server: &Rc<Server>, seed: u64, hours: u64, mode: Mode) -> u64 {
    let mut spec = Spec::day(seed, mode);
    spec.seconds = hours * 3600;
    let outcome = simulate_over(&spec, |universe, step, quiet| {
        let raw = move || universe.now().saturating_add_signed(step.get());
        let link = LinkOptions { quiet, ..LinkOptions::default() };
        let options = Options { quarantine: QUARANTINE, ..Options::default() };
        InRedis::over(server, Rc::new(raw), link, options)
    });
    lived(&spec, &outcome)
}

/// As in the simulator's own store.
const QUARANTINE: Duration = Duration::from_secs(11);

#[test]
fn a_fleet_lives_hours_with_faults_over_redis() {
    let server = Rc::new(Server::forgetful());
    // `CURTSY_SEEDS=1..20` runs more of them.
    let seeds = std::env::var("CURTSY_SEEDS").unwrap_or("1..2".into());
    let (first, end) = seeds.split_once("..").expect("`CURTSY_SEEDS` is like 1..20");
    let seeds = first.parse().unwrap()..end.parse().unwrap();
    let requests: u64 = seeds.map(|seed| live(&server, seed, 2, Mode::Safety)).sum();
    assert!(requests > 1_000, "{requests} requests");
}
