//! A Redis that has no room: it is said, nothing is lost or asked for twice, and everything goes on when there is room again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use curtsy_judge::Exchange;
use curtsy_lab::sites::Scene;
use curtsy_testkit::services::{Redis, free_port};
use redis::Commands;

use crate::fleet::{Fleet, Running, until};
use crate::harness::micros;
use crate::trial::Trial;
use crate::trouble::refused;

/// What is left of a server's memory while something is tried. What a worker's connections take comes and goes with it.
const ROOM: u64 = 64 * 1024;

/// Leaves a server so much room; none takes the bound away.
fn leave_room(server: &Redis, room: Option<u64>) {
    let mut db = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    let info: String = redis::cmd("INFO").arg("memory").query(&mut db).unwrap();
    let used = info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
    set_most(server, room.map_or(0, |room| used.trim().parse::<u64>().unwrap() + room));
}

/// Sets how many bytes a server may have; 0 is no bound.
fn set_most(server: &Redis, bytes: u64) {
    let mut db = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    let bytes = bytes.to_string();
    redis::cmd("CONFIG").arg(&["SET", "maxmemory", &bytes]).query::<()>(&mut db).unwrap();
}

/// Every page and every robots.txt was asked for once. What a slow machine did not answer in time may be asked for again.
#[track_caller]
pub(crate) fn assert_once(log: &[Exchange]) {
    let mut times: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for exchange in log.iter().filter(|exchange| exchange.complete) {
        *times.entry((&exchange.host, &exchange.target)).or_default() += 1;
    }
    times.retain(|_, times| *times > 1);
    assert!(times.is_empty(), "asked for more than once: {times:?}");
}

/// Waits until no host is asked any more, for this long.
#[track_caller]
fn rest(trial: &Trial, span: Duration) {
    let (mut before, mut since) = (trial.fleet.asked(), Instant::now());
    until("rest", || {
        let now = trial.fleet.asked();
        if now != before {
            (before, since) = (now, Instant::now());
        }
        since.elapsed() >= span
    });
    assert!(before < trial.urls.len(), "there is something left to do");
}

/// A worker that tells how it does, and where.
fn told_by(trial: &Trial, variables: &[(&str, String)]) -> (Running, String) {
    let address = format!("127.0.0.1:{}", free_port());
    let args = ["--policy", "p.toml", "--listen", &address];
    (trial.fleet.start_with(&args, variables), format!("http://{address}"))
}

#[track_caller]
fn goes_on(mut trial: Trial, what: &str, from: u64, workers: Vec<Running>) {
    trial.redis_was_away(from);
    trial.fleet.settle();
    assert_once(&trial.fleet.town.sites.as_ref().unwrap().log());
    trial.end(what, workers);
}

/// It is full until leases have run out: then whoever has an answer in hand must be heard before anybody asks again. `CURTSY_SECONDS=12` has it last longer than
/// rows in hand are held without another word.
#[test]
fn a_redis_that_is_full_has_everybody_wait_and_go_on() {
    let seconds: u64 = std::env::var("CURTSY_SECONDS").map_or(4, |n| n.parse().unwrap());
    let mut trial = Trial::new(21, 8, 60);
    let (first, address) = told_by(&trial, &[]);
    let workers = vec![first, trial.start()];
    until("the first pages", || trial.fleet.asked() > 80);
    let _: () = trial.fleet.connection().rpush("page_fetcher_dlq", "http://a.test/old").unwrap();
    let from = micros();
    leave_room(&trial.fleet.redis, Some(ROOM));
    until("the worker's word", || trial.fleet.log().contains("this Redis is full"));
    // What was purged or stopped may have made a little room already: then it is said that it is back before all of it is.
    let read = trial.fleet.log().len();
    // At the brim one or the other still gets through; now nobody does.
    set_most(&trial.fleet.redis, 1);
    rest(&trial, Duration::from_secs(seconds));

    // It is said wherever somebody looks, with what to do.
    let (status, said) = curtsy::fleet::ask(&format!("{address}/readyz")).unwrap();
    assert_eq!(status, 503, "{said}");
    assert!(
        said.contains("redis: this Redis is full") && said.contains("hint: raise it"),
        "{said}"
    );
    let metrics = curtsy::fleet::ask(&format!("{address}/metrics")).unwrap().1;
    assert!(metrics.contains("page_fetcher_paused{reason=\"store\"} 1"), "{metrics}");
    let said = trial.fleet.run(&["fleet", "status"]).ends(2).err;
    assert!(said.contains("this Redis is full") && !said.contains("is it running"), "{said}");
    let lines = || trial.fleet.log().matches("\"redis_away\"").count();
    let before = lines();
    // What makes room can be done, and so can what an owner asks for.
    assert_eq!(trial.fleet.run(&["dlq", "purge"]).ends(0).err.trim(), "purged 1 letter");
    let redis = trial.fleet.redis.url();
    trial.fleet.run(&["stop", "a.test", "--redis", &redis]).ends(0);

    assert_eq!(lines(), before, "it is said once, not every second");

    leave_room(&trial.fleet.redis, None);
    until("the worker's word", || trial.fleet.log()[read..].contains("\"redis_back\""));
    // Room that comes and goes: some are let through, others are not.
    for _ in 0..8 {
        trial.wait(50, 250);
        leave_room(&trial.fleet.redis, Some(trial.chance.below(ROOM)));
        trial.wait(50, 250);
        leave_room(&trial.fleet.redis, None);
    }
    goes_on(trial, "Redis is full", from, workers);
}

#[test]
fn a_full_redis_of_pages_has_everybody_wait_and_go_on() {
    let trial = Trial::new(22, 8, 40);
    let pages = Redis::forgetful();
    let (worker, address) = told_by(&trial, &[("PAGE_FETCHER_CACHE_REDIS_URL", pages.url())]);
    let workers = vec![worker, trial.start_with_pages_in(&pages)];
    until("the first pages", || trial.fleet.asked() > 60);
    let from = micros();
    leave_room(&pages, Some(ROOM));
    until("the worker's word", || trial.fleet.log().contains("pages: this Redis is full"));
    rest(&trial, Duration::from_secs(2));
    let (status, said) = curtsy::fleet::ask(&format!("{address}/readyz")).unwrap();
    assert_eq!(status, 503, "{said}");
    assert!(
        said.contains("pages: this Redis is full") && said.contains("hint: raise it"),
        "{said}"
    );
    leave_room(&pages, None);
    until("the worker's word", || trial.fleet.log().contains("\"sink_back\""));
    goes_on(trial, "the Redis of pages is full", from, workers);
}

#[test]
fn a_worker_that_begins_at_a_full_redis_says_so() {
    let fleet = Fleet::new(Scene::plain(1, 3, 2, 500));
    fleet.push(&[fleet.town.url(0, "/p/1")]);
    set_most(&fleet.redis, 1);
    refused(&mut fleet.worker(&["--until-empty"]), &["this Redis is full", "hint: raise it"]);
    assert_eq!(fleet.list("crawler_queue"), [fleet.town.url(0, "/p/1")]);
    leave_room(&fleet.redis, None);
    let ran = fleet.worker(&["--until-empty", "--delay", "0s"]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(fleet.events().len(), 1);
}
