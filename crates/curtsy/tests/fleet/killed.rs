//! Workers, Redis and brokers that go away and come back: nothing is lost, nobody is asked early, repeats carry the same event id.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use curtsy_engine::Point;
use curtsy_judge::Fault;
use curtsy_sim::Chance;
use curtsy_sim::loopback::Scene;
use curtsy_sim::services::Redis;

use crate::fleet::{Fleet, Running};
use crate::harness::{assert_clean, judge, micros, open_at, policy};

const MANNERS: &str = "preset = 'fleet'\n[pace]\ndelay = '60ms'\n[timeout]\nfirst_byte = '2s'\nwhole = '3s'\n[retry.curve]\nbase = '300ms'\n";

/// Hosts and pages that are crawled while something goes wrong.
struct Trial {
    fleet: Fleet,
    hosts: u32,
    /// How many pages of each host were queued.
    pages: u32,
    urls: Vec<String>,
    chance: Chance,
    /// When workers were killed.
    kills: Vec<u64>,
    /// When Redis was away, since and until.
    away: Vec<(u64, u64)>,
    /// When it lost something.
    losses: Vec<u64>,
    /// When workers stood still.
    pauses: Vec<(u64, u64)>,
}

impl Trial {
    fn new(seed: u64, hosts: u32, pages: u32) -> Trial {
        Trial::over(seed, hosts, pages, Redis::durable())
    }

    fn over(seed: u64, hosts: u32, pages: u32, redis: Redis) -> Trial {
        let fleet = Fleet::over(Scene::plain(hosts, 1_000_000, 3, 800), redis);
        std::fs::write(fleet.town.path("p.toml"), MANNERS).unwrap();
        let mut trial = Trial {
            fleet,
            hosts,
            pages: 0,
            urls: Vec::new(),
            chance: Chance::new(seed),
            kills: Vec::new(),
            away: Vec::new(),
            losses: Vec::new(),
            pauses: Vec::new(),
        };
        trial.queue(pages);
        trial
    }

    /// Queues so many further pages of each host.
    fn queue(&mut self, pages: u32) {
        let urls: Vec<String> = (self.pages + 1..=self.pages + pages)
            .flat_map(|page| (0..self.hosts as usize).map(move |host| (host, page)))
            .map(|(host, page)| self.fleet.town.url(host, &format!("/p/{page}")))
            .collect();
        self.fleet.push(&urls);
        self.urls.extend(urls);
        self.pages += pages;
    }

    fn start(&self) -> Running {
        self.fleet.start(&["--policy", "p.toml"])
    }

    /// A worker whose pages are in a Redis of their own, which loses nothing.
    fn start_with_pages_in(&self, pages: &Redis) -> Running {
        self.fleet
            .start_with(&["--policy", "p.toml"], &[("PAGE_FETCHER_CACHE_REDIS_URL", pages.url())])
    }

    fn wait(&mut self, from: u64, to: u64) {
        std::thread::sleep(Duration::from_millis(from + self.chance.below(to - from)));
    }

    /// Whether anything is left to do.
    fn busy(&self) -> bool {
        self.fleet.events().len() < self.urls.len()
    }

    /// Every URL has its event, repeats have the same name, and the hosts saw nothing that they would mind.
    fn end(mut self, workers: Vec<Running>) {
        self.fleet.settle();
        for worker in workers {
            assert_eq!(worker.end(), Some(0), "{}", self.fleet.log());
        }
        let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let events = self.fleet.events();
        for event in &events {
            let text = |name: &str| event[name].as_str().unwrap().to_owned();
            ids.entry(text("url")).or_default().insert(text("event_id"));
        }
        let missing: Vec<_> = self.urls.iter().filter(|url| !ids.contains_key(*url)).collect();
        assert!(missing.is_empty(), "{} lost: {missing:?}", missing.len());
        if self.losses.is_empty() {
            assert!(ids.values().all(|ids| ids.len() == 1), "a repeat has the name of the first");
        }
        assert!(self.fleet.list("page_fetcher_dlq").is_empty());
        let policy = policy(&self.fleet.town.path("p.toml"));
        let log = self.fleet.town.close();
        let lost =
            self.kills.iter().map(|&at| Fault::WorkerLost { at, in_flight: open_at(&log, at) });
        let away = self.away.iter().map(|&(from, to)| Fault::StoreSlow { from, to, by: to - from });
        let losses = self.losses.iter().map(|&at| Fault::StoreLoss { at });
        let pauses = self.pauses.iter().map(|&(from, to)| Fault::Pause { from, to });
        let faults: Vec<Fault> = lost.chain(away).chain(losses).chain(pauses).collect();
        println!(
            "{} URLs, {} requests, {} events, {} faults",
            self.urls.len(),
            log.len(),
            events.len(),
            faults.len()
        );
        assert_clean(&judge(log, &policy, &faults));
    }
}

/// `CURTSY_KILLS=200` has it last longer.
fn kills(usual: usize) -> usize {
    std::env::var("CURTSY_KILLS").map_or(usual, |n| n.parse().unwrap())
}

#[test]
fn workers_that_are_killed_lose_nothing() {
    let kills = kills(8);
    let mut trial = Trial::new(1, 8, 10 * kills.max(8) as u32 / 4);
    let mut workers: Vec<Running> = (0..3).map(|_| trial.start()).collect();
    for n in 0..kills {
        trial.wait(200, 1200);
        let at = n % workers.len();
        workers[at].0.kill().unwrap();
        workers[at].0.wait().unwrap();
        trial.kills.push(micros());
        workers[at] = trial.start();
    }
    trial.end(workers);
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
            if trial.fleet.waiting() < 80 {
                trial.queue(20);
            }
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
    trial.end(vec![last]);
}

/// With `appendfsync always` a Redis that is killed has lost nothing, and nobody waits longer than it takes to come back.
#[test]
fn a_redis_that_is_killed_and_keeps_every_write_loses_nothing() {
    let mut trial = Trial::new(2, 8, 30);
    let workers: Vec<Running> = (0..2).map(|_| trial.start()).collect();
    for _ in 0..kills(3) {
        trial.wait(500, 1500);
        let from = micros();
        trial.fleet.redis.kill();
        trial.wait(0, 700);
        trial.fleet.redis.run();
        // Workers try again after two seconds at the latest.
        trial.away.push((from, micros() + 2_000_000));
    }
    trial.end(workers);
}

/// "when the broker is away the worker stops claiming, and nothing is fetched that can't be kept"
#[test]
fn while_the_broker_is_away_nothing_is_fetched_that_cannot_be_kept() {
    let trial = Trial::new(3, 6, 200);
    let worker = trial.start();
    let end = Instant::now() + Duration::from_secs(60);
    while trial.fleet.events().len() < 20 {
        assert!(Instant::now() < end, "{}", trial.fleet.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    trial.fleet.kafka.broker_down(1).unwrap();
    let asked = |trial: &Trial| trial.fleet.town.sites.as_ref().unwrap().log().len();
    // What is on its way is finished; then the hosts have their rest.
    let mut before = asked(&trial);
    let mut still = 0;
    while still < 8 {
        assert!(Instant::now() < end, "it does not stop: {}", trial.fleet.log());
        std::thread::sleep(Duration::from_millis(250));
        let now = asked(&trial);
        still = if now == before { still + 1 } else { 0 };
        before = now;
    }
    assert!(before < trial.urls.len(), "there is something left to do");
    trial.fleet.kafka.broker_up(1).unwrap();
    assert!(trial.urls.len() > 300 && !trial.fleet.log().is_empty());
    trial.end(vec![worker]);
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
    trial.end(vec![last]);
}

/// A Redis that does not keep every write: each restart begins an epoch, in which nothing is asked early.
#[test]
fn a_redis_that_may_have_lost_writes_has_nobody_asked_early() {
    let redis = Redis::with(&["--appendonly", "yes", "--appendfsync", "everysec"]);
    let mut trial = Trial::over(5, 8, 30, redis);
    let workers: Vec<Running> = (0..2).map(|_| trial.start()).collect();
    trial.wait(2500, 3000);
    let from = micros();
    trial.fleet.redis.kill();
    trial.fleet.redis.run();
    trial.losses.push(from);
    trial.away.push((from, micros() + 2_000_000));
    trial.end(workers);
}

/// "an empty Redis starts a new epoch: every host counts as just started, nothing is sent for one lease length": and producers queue again what was
/// only in the queue.
#[test]
fn a_redis_that_comes_back_empty_has_nobody_asked_early() {
    let mut trial = Trial::over(6, 8, 30, Redis::forgetful());
    let pages = Redis::forgetful();
    let workers: Vec<Running> = (0..2).map(|_| trial.start_with_pages_in(&pages)).collect();
    trial.wait(2500, 3000);
    let from = micros();
    trial.fleet.redis.wipe();
    trial.losses.push(from);
    trial.away.push((from, micros() + 2_000_000));
    // Workers find out by themselves; what they had in hand is in the queue twice, and fetched once.
    trial.fleet.push(&trial.urls);
    trial.end(workers);
}

/// SIGSTOP: what a worker does after it is not what it would have done before.
#[test]
fn a_worker_that_stood_still_breaks_nothing() {
    let mut trial = Trial::new(7, 8, 60);
    let workers: Vec<Running> = (0..2).map(|_| trial.start()).collect();
    for n in 0..4 {
        trial.wait(800, 1600);
        let from = micros();
        workers[n % 2].signal("-STOP");
        trial.wait(500, 1500);
        workers[n % 2].signal("-CONT");
        trial.pauses.push((from, micros() + 500_000));
    }
    trial.end(workers);
}
