//! How soon hosts are asked as often as before, once what went wrong is over: "back to 95 % of the rate within max(longest delay, request deadline) + 10 s",
//! by the hosts' own log.

use std::time::Duration;

use curtsy_testkit::services::{Proxy, Redis, Trouble, Way};

use crate::fleet::Running;
use crate::harness::micros;
use crate::trial::Trial;

/// A delay at which politeness sets the rate, and not the machine.
const MANNERS: &str = "preset = 'fleet'\n[pace]\ndelay = '400ms'\n[timeout]\nfirst_byte = '2s'\nwhole = '3s'\n[retry.curve]\nbase = '300ms'\n";
const HOSTS: u32 = 12;
/// max(longest delay, request deadline) + 10 s, with these manners.
const BOUND: Duration = Duration::from_secs(3 + 10);
/// The part of the usual rate that counts as recovered.
const PERCENT: usize = 95;
/// Over how long a rate is measured, in microseconds.
const SPAN: u64 = 5_000_000;

/// A fleet that works undisturbed, and what it takes to disturb it.
struct Steady {
    trial: Trial,
    proxy: Proxy,
    workers: Vec<Running>,
}

/// Sees how often hosts are asked, lets something go wrong, and waits until they are asked as often again.
#[track_caller]
fn recovers(what: &str, redis: Redis, fault: impl FnOnce(&mut Steady)) {
    let mut trial = Trial::over(14, HOSTS, 20, redis);
    std::fs::write(trial.fleet.town.path("p.toml"), MANNERS).unwrap();
    let proxy = trial.behind_proxy();
    let workers = (0..2).map(|_| trial.start()).collect();
    let mut steady = Steady { trial, proxy, workers };
    // Workers only listen for a second and a half, and robots.txt comes first.
    steady.trial.work(3000, 3001);
    let from = micros();
    steady.trial.work(SPAN / 1000, SPAN / 1000 + 1);
    let usual = in_span(&starts(&steady.trial), from);
    assert!(usual > 0, "{}", steady.trial.fleet.log());

    fault(&mut steady);
    let over = micros();
    let Steady { mut trial, proxy, workers } = steady;
    let back = loop {
        trial.work(200, 201);
        let whole = micros() - SPAN;
        let starts = starts(&trial);
        let candidates = starts.iter().copied().filter(|at| (over..whole).contains(at));
        let mut back = candidates.filter(|&at| 100 * in_span(&starts, at) >= PERCENT * usual);
        if let Some(back) = back.next() {
            break back;
        }
        let late = Duration::from_micros(whole.saturating_sub(over));
        assert!(late <= BOUND, "not back after {late:?}:\n{}", trial.fleet.log());
    };
    trial.recovered = Some(Duration::from_micros(back - over));
    trial.end(what, workers);
    drop(proxy);
}

/// When hosts were asked, in order.
fn starts(trial: &Trial) -> Vec<u64> {
    let log = trial.fleet.town.sites.as_ref().unwrap().log();
    let mut starts: Vec<u64> = log.iter().map(|x| x.start).collect();
    starts.sort_unstable();
    starts
}

/// How many of them are in the span that begins at a moment.
fn in_span(starts: &[u64], from: u64) -> usize {
    let before = |at: u64| starts.partition_point(|start| *start < at);
    before(from + SPAN) - before(from)
}

impl Steady {
    fn line_in_trouble(&mut self, trouble: Trouble, ms: u64) {
        let from = micros();
        self.proxy.begin(trouble);
        self.trial.work(ms, ms + 1);
        self.proxy.heal();
        self.trial.redis_was_away(from);
    }

    fn redis_killed(&mut self, ms: u64) {
        let from = micros();
        self.trial.fleet.redis.kill();
        self.trial.wait(ms, ms + 1);
        self.trial.fleet.redis.run();
        self.trial.redis_was_away(from);
    }

    fn broker_away(&mut self, ms: u64) {
        self.trial.fleet.kafka.broker_down(1).unwrap();
        self.trial.work(ms, ms + 1);
        self.trial.fleet.kafka.broker_up(1).unwrap();
        self.trial.outages += 1;
    }

    fn worker_still(&mut self, ms: u64) {
        let from = micros();
        self.workers[0].signal("-STOP");
        self.trial.work(ms, ms + 1);
        self.workers[0].signal("-CONT");
        self.trial.pauses.push((from, micros() + 500_000));
    }

    /// Nobody takes its place: the other one does all of it.
    fn worker_killed(&mut self) {
        drop(self.workers.remove(0));
        self.trial.kills.push(micros());
    }
}

#[test]
fn the_rate_is_back_soon_after_lines_to_redis_were_cut() {
    recovers("back after lines to Redis were cut for 2 s", Redis::durable(), |steady| {
        steady.line_in_trouble(Trouble::Cut, 2000);
    });
}

#[test]
#[ignore = "half a minute: `./chaos` runs it"]
fn the_rate_is_back_soon_after_lines_to_redis_stalled() {
    recovers("back after lines to Redis stalled for 5 s", Redis::durable(), |steady| {
        steady.line_in_trouble(Trouble::Stall(Way::Both), 5000);
    });
}

#[test]
#[ignore = "half a minute: `./chaos` runs it"]
fn the_rate_is_back_soon_after_redis_was_killed() {
    recovers("back after Redis was killed for 2 s", Redis::durable(), |steady| {
        steady.redis_killed(2000);
    });
}

/// A new epoch: nothing is sent for one request's time.
#[test]
#[ignore = "half a minute: `./chaos` runs it"]
fn the_rate_is_back_soon_after_redis_lost_writes() {
    let redis = Redis::with(&["--appendonly", "yes", "--appendfsync", "everysec"]);
    recovers("back after Redis was killed for 2 s and lost writes", redis, |steady| {
        steady.trial.losses.push(micros());
        steady.redis_killed(2000);
    });
}

#[test]
#[ignore = "half a minute: `./chaos` runs it"]
fn the_rate_is_back_soon_after_the_broker_was_away() {
    recovers("back after the broker was away for 5 s", Redis::durable(), |steady| {
        steady.broker_away(5000);
    });
}

/// Longer than an event may be on its way.
#[test]
#[ignore = "half a minute: `./chaos` runs it"]
fn the_rate_is_back_soon_after_the_broker_was_away_for_long() {
    recovers("back after the broker was away for 15 s", Redis::durable(), |steady| {
        steady.broker_away(15_000);
    });
}

#[test]
#[ignore = "half a minute: `./chaos` runs it"]
fn the_rate_is_back_soon_after_a_worker_was_killed() {
    recovers("back after one of two workers was killed", Redis::durable(), Steady::worker_killed);
}

#[test]
#[ignore = "half a minute: `./chaos` runs it"]
fn the_rate_is_back_soon_after_a_worker_stood_still() {
    recovers("back after a worker stood still for 20 s", Redis::durable(), |steady| {
        steady.worker_still(20_000);
    });
}
