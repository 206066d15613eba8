//! A crawl during which something goes wrong, and what must hold at its end: nothing is lost, nobody is asked early, repeats carry the same event id.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use curtsy_judge::CrawlerFault;
use curtsy_lab::sites::Scene;
use curtsy_sim::Chance;
use curtsy_testkit::services::{Proxy, Redis};

use crate::fleet::{Fleet, Running, until};
use crate::harness::{assert_clean, judge, micros, open_at, policy};

const MANNERS: &str = "preset = 'fleet'\n[pace]\ndelay = '60ms'\n[timeout]\nfirst_byte = '2s'\nwhole = '3s'\n[retry.curve]\nbase = '300ms'\n";

/// Workers try again after two seconds at the latest.
const TRY_AGAIN: u64 = 2_000_000;
/// Pages that a producer queues for each host at once, and how few may be left before it does.
const QUEUED: u32 = 20;
const FEW: u32 = 10;

/// Hosts and pages that are crawled while something goes wrong.
pub(crate) struct Trial {
    pub(crate) fleet: Fleet,
    hosts: u32,
    /// How many pages of each host were queued.
    pages: u32,
    pub(crate) urls: Vec<String>,
    pub(crate) chance: Chance,
    /// When workers were killed.
    pub(crate) kills: Vec<u64>,
    /// When Redis was away, since and until.
    pub(crate) away: Vec<(u64, u64)>,
    /// When it lost something.
    pub(crate) losses: Vec<u64>,
    /// When workers stood still.
    pub(crate) pauses: Vec<(u64, u64)>,
    /// How often brokers were away or refused.
    pub(crate) outages: usize,
    /// How long after the end of a fault the hosts were asked as often as before.
    pub(crate) recovered: Option<Duration>,
}

impl Trial {
    pub(crate) fn new(seed: u64, hosts: u32, pages: u32) -> Trial {
        Trial::over(seed, hosts, pages, Redis::durable())
    }

    pub(crate) fn over(seed: u64, hosts: u32, pages: u32, redis: Redis) -> Trial {
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
            outages: 0,
            recovered: None,
        };
        trial.queue(pages);
        trial
    }

    /// Puts a line before Redis that can fail. Workers that start from now on use it.
    pub(crate) fn behind_proxy(&mut self) -> Proxy {
        let proxy = Proxy::to(self.fleet.redis.port);
        self.fleet.redis_url = proxy.redis_url();
        proxy
    }

    /// Queues so many further pages of each host.
    pub(crate) fn queue(&mut self, pages: u32) {
        let urls: Vec<String> = (self.pages + 1..=self.pages + pages)
            .flat_map(|page| (0..self.hosts as usize).map(move |host| (host, page)))
            .map(|(host, page)| self.fleet.town.url(host, &format!("/p/{page}")))
            .collect();
        self.fleet.push(&urls);
        self.urls.extend(urls);
        self.pages += pages;
    }

    /// Producers see to it that there is something to do.
    pub(crate) fn refill(&mut self) {
        if self.fleet.waiting() < u64::from(FEW * self.hosts) {
            self.queue(QUEUED);
        }
    }

    /// Waits for what workers come to while they work, and has them work until then.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, is: impl Fn(&Trial) -> bool) {
        until(what, || {
            self.refill();
            is(self)
        });
    }

    pub(crate) fn start(&self) -> Running {
        self.fleet.start(&["--policy", "p.toml"])
    }

    /// A worker whose pages are in a Redis of their own, which loses nothing.
    pub(crate) fn start_with_pages_in(&self, pages: &Redis) -> Running {
        self.fleet
            .start_with(&["--policy", "p.toml"], &[("PAGE_FETCHER_CACHE_REDIS_URL", pages.url())])
    }

    /// Does nothing for a while, in milliseconds.
    pub(crate) fn wait(&mut self, from: u64, to: u64) {
        std::thread::sleep(Duration::from_millis(from + self.chance.below(to - from)));
    }

    /// Lets it work for a while, in milliseconds, with something to do all the time.
    pub(crate) fn work(&mut self, from: u64, to: u64) {
        let end = Instant::now() + Duration::from_millis(from + self.chance.below(to - from));
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            self.refill();
            std::thread::sleep(left.min(Duration::from_millis(100)));
        }
    }

    /// Redis, or the line to it, was in trouble since a moment and is well again.
    pub(crate) fn redis_was_away(&mut self, from: u64) {
        self.away.push((from, micros() + TRY_AGAIN));
    }

    /// Whether anything is left to do.
    pub(crate) fn busy(&self) -> bool {
        self.fleet.events().len() < self.urls.len()
    }

    /// Every URL has its event, repeats have the same name, and the hosts saw nothing that they would mind.
    #[track_caller]
    pub(crate) fn end(mut self, what: &str, workers: Vec<Running>) {
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
        let dead = self.fleet.list("page_fetcher_dlq");
        let policy = policy(&self.fleet.town.path("p.toml"));
        let log = self.fleet.town.close();
        let lost = |at: u64| CrawlerFault::WorkerLost { at, in_flight: open_at(&log, at) };
        let kills = self.kills.iter().map(|&at| lost(at));
        let away =
            self.away.iter().map(|&(from, to)| CrawlerFault::StoreSlow { from, to, by: to - from });
        let losses = self.losses.iter().map(|&at| CrawlerFault::StoreLoss { at });
        let pauses = self.pauses.iter().map(|&(from, to)| CrawlerFault::Pause { from, to });
        // Whoever stands still for longer than a request may take is lost to the others.
        let whole = policy.timeout.whole.as_micros() as u64;
        let gone = self.pauses.iter().filter(|(from, to)| to - from > whole);
        let gone = gone.map(|&(from, _)| lost(from));
        let faults: Vec<CrawlerFault> =
            kills.chain(away).chain(losses).chain(pauses).chain(gone).collect();
        let requests = log.len();
        let report = judge(log, &policy, &faults);
        // A line of the table that `./chaos` makes.
        println!(
            "| {what} | {} | {} | {requests} | {} | {} | {} | {} | {} |",
            self.kills.len() + self.away.len() + self.pauses.len() + self.outages,
            self.urls.len(),
            events.len(),
            events.len() - ids.values().map(BTreeSet::len).sum::<usize>(),
            missing.len(),
            report.violations(),
            self.recovered.map_or("".into(), |after| format!("{:.1} s", after.as_secs_f64())),
        );
        assert!(missing.is_empty(), "{} lost: {missing:?}", missing.len());
        if self.losses.is_empty() {
            let two = ids.iter().find(|(_, ids)| ids.len() > 1);
            assert!(two.is_none(), "a repeat has the name of the first: {two:?}");
        }
        assert!(dead.is_empty(), "{dead:?}");
        assert_clean(&report);
    }
}

/// How many faults: `CURTSY_KILLS=200` has it last longer.
pub(crate) fn kills(usual: usize) -> usize {
    std::env::var("CURTSY_KILLS").map_or(usual, |n| n.parse().unwrap())
}
