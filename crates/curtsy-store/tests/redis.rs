//! The store in Redis keeps the contract of every store, over a real server, in virtual time.
#![cfg(feature = "redis")]

mod place;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use curtsy_core::url::HostKey;
use curtsy_sim::executor::Universe;
use curtsy_sim::{Backing, Mode, SimClock, Spec, simulate_over};
use curtsy_store::redis::{
    ARRIVE, Empty, LinkOptions, Options, RawClock, RedisStore, Script, Server as Told, Wire,
    WireError, arrive, is_unknown_script,
};
use curtsy_testkit::store::{Rig, Way, keep_the_contract};
use redis::{Cmd, Connection, RedisError, Value};

use curtsy_testkit::services::Redis as Server;
use place::lived;

/// A connection that answers before anything else happens: virtual time does not pass meanwhile.
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
        wire.greet().unwrap();
        wire
    }

    fn query(&self, command: &Cmd) -> Result<Value, RedisError> {
        command.query(&mut *self.connection.borrow_mut())
    }

    fn greet(&self) -> Result<(), RedisError> {
        let told = Told { run: "a".into(), lossless: true };
        let mut command = redis::cmd("EVAL");
        command.arg(ARRIVE.text).arg(0);
        for part in arrive(&told, &(self.raw)().to_string(), &self.options) {
            command.arg(part);
        }
        self.query(&command).map(|_| ())
    }

    fn flush(&self) {
        self.query(&redis::cmd("FLUSHDB")).unwrap();
    }
}

impl Wire for Blocking {
    async fn run(&self, script: &'static Script, command: &Cmd) -> Result<Value, WireError> {
        let mut answer = self.query(command);
        if answer.as_ref().is_err_and(is_unknown_script) {
            self.query(redis::cmd("SCRIPT").arg("LOAD").arg(script.text)).unwrap();
            answer = self.query(command);
        }
        answer.map_err(|e| WireError::NotDone(e.to_string()))
    }

    async fn greet_again(&self) -> Result<(), WireError> {
        self.greet().map_err(|e| WireError::NotDone(e.to_string()))
    }
}

struct InRedis {
    server: Rc<Server>,
    wire: Rc<Blocking>,
    raw: RawClock,
    options: Options,
}

impl InRedis {
    /// A store that nobody was in before.
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

/// The clock of somebody who asks once.
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

    /// What a killed server loses is tried with real ones; here nothing is lost.
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
        let state = now(curtsy_engine::Store::load(&self.control(), host));
        format!("on port {}: {state:#?}\n{queue:?}", self.server.port)
    }
}

/// The answer of a call that waits for nobody.
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

/// Lives some hours and gives the requests that the servers read.
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

/// As the simulator's own store has it.
const QUARANTINE: Duration = Duration::from_secs(11);

#[test]
fn a_fleet_lives_hours_with_faults_over_redis() {
    let server = Rc::new(Server::forgetful());
    // `CURTSY_SEEDS=1..20` lives more of them.
    let seeds = std::env::var("CURTSY_SEEDS").unwrap_or("1..2".into());
    let (first, end) = seeds.split_once("..").expect("`CURTSY_SEEDS` is like 1..20");
    let seeds = first.parse().unwrap()..end.parse().unwrap();
    let requests: u64 = seeds.map(|seed| live(&server, seed, 2, Mode::Safety)).sum();
    assert!(requests > 1_000, "{requests} requests");
}
