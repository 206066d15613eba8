//! Workers and Redis that go away and come back: nothing is lost, nobody is asked early, repeats carry the same event id.

use std::time::{Duration, Instant};

use curtsy_engine::Point;
use curtsy_testkit::services::Redis;
use redis::Commands;

use crate::fleet::{Running, until};
use crate::harness::micros;
use crate::trial::{Trial, kills};

#[test]
fn workers_that_are_killed_lose_nothing() {
    let mut trial = Trial::new(1, 8, 20);
    let mut workers: Vec<Running> = (0..4).map(|_| trial.start()).collect();
    for n in 0..kills(6) {
        // Whoever is new only listens for a second and a half.
        trial.work(500, 2000);
        let at = n % workers.len();
        workers[at].0.kill().unwrap();
        workers[at].0.wait().unwrap();
        trial.kills.push(micros());
        workers[at] = trial.start();
    }
    trial.end("workers killed at any time", workers);
}

/// Each of the twelve points of a visit at which a worker can die, again and again: `CURTSY_KILLS=200` has it be two hundred deaths.
#[test]
fn workers_that_die_at_the_named_points_lose_nothing() {
    let deaths = kills(12).max(12);
    let mut trial = Trial::new(8, 8, 20);
    let mut mortals: Vec<Running> = Vec::new();
    let (mut begun, mut looked) = (0, Instant::now());
    let end = Instant::now() + Duration::from_secs(20 * deaths as u64);
    while trial.kills.len() < deaths {
        // Producers see to it that every worker has something to die of.
        if looked.elapsed() > Duration::from_millis(100) {
            looked = Instant::now();
            trial.refill();
        }
        // Three at a time, each at the next point.
        while mortals.len() < 3 {
            let point = Point::ALL[begun % Point::ALL.len()];
            begun += 1;
            let at = format!("{point:?}:{}", trial.chance.below(6));
            mortals.push(trial.fleet.start(&["--policy", "p.toml", "--die-at", &at]));
        }
        mortals.retain_mut(|mortal| match mortal.0.try_wait().unwrap() {
            None => true,
            Some(status) => {
                assert!(!status.success(), "it died: {status}");
                trial.kills.push(micros());
                false
            }
        });
        assert!(Instant::now() < end, "{} deaths\n{}", trial.kills.len(), trial.fleet.log());
        std::thread::sleep(Duration::from_millis(2));
    }
    for mortal in mortals {
        // One that was not to die yet ends like any other; one that dies meanwhile is one more.
        if mortal.end() != Some(0) {
            trial.kills.push(micros());
        }
    }
    let last = trial.start();
    trial.end("workers killed at the named points", vec![last]);
}

/// With `appendfsync always` a Redis that is killed has lost nothing, and nobody waits longer than it takes to come back.
#[test]
fn a_redis_that_is_killed_and_keeps_every_write_loses_nothing() {
    let mut trial = Trial::new(2, 8, 30);
    let workers: Vec<Running> = (0..2).map(|_| trial.start()).collect();
    for _ in 0..kills(3) {
        trial.work(500, 1500);
        let from = micros();
        trial.fleet.redis.kill();
        trial.wait(0, 700);
        trial.fleet.redis.run();
        trial.redis_was_away(from);
    }
    trial.end("Redis killed, every write kept", workers);
}

/// SIGTERM: what was sent is finished, the rest is given back, and another worker goes on at once.
#[test]
fn a_worker_that_is_told_to_end_gives_back_what_it_has() {
    let mut trial = Trial::new(4, 8, 100);
    for _ in 0..4 {
        let worker = trial.start();
        trial.wait(2000, 3000);
        assert_eq!(worker.end(), Some(0), "{}", trial.fleet.log());
    }
    assert!(trial.fleet.log().contains("\"clean\":true"));
    assert!(trial.busy() || !trial.fleet.events().is_empty());
    let last = trial.start();
    trial.end("workers told to end", vec![last]);
}

/// A Redis that does not keep every write: each restart begins an epoch, in which nothing is asked early.
#[test]
fn a_redis_that_may_have_lost_writes_has_nobody_asked_early() {
    let redis = Redis::with(&["--appendonly", "yes", "--appendfsync", "everysec"]);
    let mut trial = Trial::over(5, 8, 20, redis);
    let workers: Vec<Running> = (0..2).map(|_| trial.start()).collect();
    for _ in 0..kills(1) {
        // Nothing is sent for a while after each.
        let before = trial.fleet.asked();
        until("a request", || trial.fleet.asked() > before);
        trial.work(1000, 2000);
        let from = micros();
        trial.fleet.redis.kill();
        trial.fleet.redis.run();
        trial.losses.push(from);
        trial.redis_was_away(from);
    }
    trial.end("Redis killed, writes perhaps lost", workers);
}

/// "an empty Redis starts a new epoch: every host counts as just started, nothing is sent for one lease length": and producers queue again what was
/// only in the queue.
#[test]
fn a_redis_that_comes_back_empty_has_nobody_asked_early() {
    let mut trial = Trial::over(6, 8, 30, Redis::forgetful());
    let pages = Redis::forgetful();
    let workers: Vec<Running> = (0..2).map(|_| trial.start_with_pages_in(&pages)).collect();
    // Workers notice the loss of what they have seen: they must have begun.
    until("the first pages", || trial.fleet.asked() > 40);
    let from = micros();
    trial.fleet.redis.wipe();
    trial.losses.push(from);
    trial.redis_was_away(from);
    // Workers find out by themselves, and say how much is gone; what they had in hand is in the queue twice, and fetched once.
    let said = |what: &str| trial.fleet.log().contains(what);
    until("the word of the loss", || said("\"store_emptied\"") && said("\"offered_again\""));
    trial.fleet.push(&trial.urls);
    trial.end("Redis emptied", workers);
}

/// A worker that never saw the old Redis comes back to the empty one first, and takes it for a new
/// one (`--new`). The loss is noticed by a worker that knew the old one.
#[test]
fn a_redis_that_was_emptied_is_no_new_one_though_a_new_worker_comes_first() {
    let mut trial = Trial::over(9, 8, 30, Redis::forgetful());
    let pages = Redis::forgetful();
    let first = trial.start_with_pages_in(&pages);
    until("the first pages", || trial.fleet.asked() > 20);
    let from = micros();
    first.signal("-STOP");
    trial.fleet.redis.wipe();
    let second = trial.start_with_pages_in(&pages);
    let has_begun = || trial.fleet.connection().exists::<_, bool>("curtsy:store").unwrap();
    until("the second worker", has_begun);
    first.signal("-CONT");
    trial.losses.push(from);
    trial.pauses.push((from, micros() + 500_000));
    trial.redis_was_away(from);
    let said = |what: &str| trial.fleet.log().contains(what);
    until("the word of the loss", || said("\"store_emptied\"") && said("\"offered_again\""));
    trial.fleet.push(&trial.urls);
    trial.end("Redis emptied, and a new worker first", vec![first, second]);
}

/// SIGSTOP: what a worker does after it is not what it would have done before. `CURTSY_STILL=60` has each stand still for so many seconds, so that all that
/// it held has been taken over meanwhile.
#[test]
fn a_worker_that_stood_still_breaks_nothing() {
    let still = std::env::var("CURTSY_STILL").map(|seconds| 1000 * seconds.parse::<u64>().unwrap());
    let (least, most) = still.map_or((500, 1500), |still| (still, still + 1));
    let mut trial = Trial::new(7, 8, 20);
    let workers: Vec<Running> = (0..2).map(|_| trial.start()).collect();
    for n in 0..4 {
        trial.work(800, 1600);
        // One, the other, and both.
        let chosen = match n % 3 {
            0 => &workers[..1],
            1 => &workers[1..],
            _ => &workers[..],
        };
        let from = micros();
        chosen.iter().for_each(|worker| worker.signal("-STOP"));
        trial.work(least, most);
        chosen.iter().for_each(|worker| worker.signal("-CONT"));
        trial.pauses.push((from, micros() + 500_000));
    }
    trial.end("workers stopped for a while", workers);
}
