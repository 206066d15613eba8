//! Lines to Redis that are cut, stalled, slow, or lose answers: what was done without anybody hearing of it is not done twice, and nothing is lost.

use std::time::{Duration, Instant};

use curtsy_testkit::services::{Trouble, Way};

use crate::fleet::Running;
use crate::harness::micros;
use crate::trial::{Trial, kills};

#[test]
fn lines_to_redis_that_are_cut_lose_nothing() {
    let mut trial = Trial::new(11, 4, 20);
    let proxy = trial.behind_proxy();
    let workers: Vec<Running> = (0..2).map(|_| trial.start()).collect();
    trial.work(2000, 2500);
    for _ in 0..kills(3) {
        trial.work(300, 1200);
        let from = micros();
        proxy.begin(Trouble::Cut);
        trial.work(0, 1500);
        proxy.heal();
        trial.redis_was_away(from);
    }
    assert!(proxy.cuts() >= kills(3) as u64, "{} cuts", proxy.cuts());
    trial.end("lines to Redis cut", workers);
}

/// A worker waits for an answer for two seconds, then it connects again: what it had asked is done when the line is well again, after whatever it asked since.
#[test]
fn lines_to_redis_that_stall_or_are_slow_lose_nothing() {
    let mut trial = Trial::new(12, 4, 20);
    let proxy = trial.behind_proxy();
    let workers: Vec<Running> = (0..2).map(|_| trial.start()).collect();
    trial.work(2000, 2500);
    for n in 0..kills(4) {
        trial.work(300, 1200);
        let from = micros();
        let slow = Duration::from_millis(20 + trial.chance.below(300));
        let troubles = [Way::There, Way::Back, Way::Both].map(Trouble::Stall);
        proxy.begin(*troubles.get(n % 4).unwrap_or(&Trouble::Delay(slow)));
        trial.work(500, 3500);
        proxy.heal();
        trial.redis_was_away(from);
    }
    trial.end("lines to Redis stalled or slow", workers);
}

/// The most telling of all: a script ran, and nobody knows.
#[test]
fn answers_of_redis_that_are_lost_lose_nothing_else() {
    let losses = kills(8);
    let mut trial = Trial::new(13, 4, 20);
    let proxy = trial.behind_proxy();
    let workers: Vec<Running> = (0..2).map(|_| trial.start()).collect();
    trial.work(2000, 2500);
    for n in 0..losses {
        trial.work(200, 1500);
        let (from, cuts) = (micros(), proxy.cuts());
        // Within the next answer or soon after; every third time while a worker is being greeted as well, which takes some six thousand bytes.
        let after = trial.chance.below(if n % 3 == 2 { 7000 } else { 400 }) as usize;
        proxy.begin(Trouble::LoseAnswers { after });
        let end = Instant::now() + Duration::from_secs(10);
        while proxy.cuts() == cuts {
            assert!(Instant::now() < end, "nobody asks Redis: {}", trial.fleet.log());
            trial.refill();
            std::thread::sleep(Duration::from_millis(2));
        }
        proxy.heal();
        trial.redis_was_away(from);
    }
    assert!(proxy.cuts() >= losses as u64);
    trial.end("answers of Redis lost", workers);
}
