//! For random events in any order, the server sees manners.
//!
//! Random requests overlap, fail, are refused, lost and handed back. The check knows nothing of
//! gates: only starts, ends and responses, as in a server's log.

use std::collections::BTreeMap;
use std::time::Duration;

use curtsy_core::host::{RequestKind, Verdict};
use curtsy_core::policy::{OnForbidden, RobotsPolicy, Unreachable};
use curtsy_core::time::Time;
use proptest::prelude::*;

use crate::script::{Play, START, span_of, written};

/// The log of the server.
#[derive(Default)]
struct Log {
    /// Every start, and whether it was a probe.
    starts: Vec<(Time, bool)>,
    /// Requests in flight, by path.
    open: BTreeMap<String, Time>,
    /// Refusals: when they ended, and the least wait after them.
    refusals: Vec<(Time, Duration)>,
    /// Site-wide failures in a row, in the order of their ends.
    failures: usize,
    /// Since when the host counts as down: the end of the failure, or of the last probe.
    down: Option<Time>,
    /// Probes since it went down.
    probes: usize,
}

const REPLIES: [&str; 13] = [
    "ok",
    "ok",
    "404",
    "429",
    "429 after 7s",
    "429 after 90s",
    "503 after 20s",
    "503",
    "reset",
    "timeout",
    "500",
    "403",
    "truncated",
];

impl Log {
    fn start(&mut self, now: Time, path: &str, probe: bool, play: &Play, crawl_delay: Duration) {
        let delay = play.policy.pace.delay_min.max(crawl_delay);
        if let Some((last, _)) = self.starts.last() {
            assert!(now - *last >= delay, "{} after {}", written(now), written(*last));
        }
        assert!(self.open.len() < usize::from(play.policy.slots.per_host));
        for (end, wait) in &self.refusals {
            let free = *end + *wait;
            assert!(now >= free, "{} although told to wait until {}", written(now), written(free));
        }
        if let Some(down) = self.down {
            assert!(probe, "a page at {} while down", written(now));
            let gap = [30, 60, 120, 240, 300][self.probes.min(4)];
            assert!(
                now - down >= Duration::from_secs(gap),
                "probe {} at {}",
                self.probes,
                written(now)
            );
        }
        self.starts.push((now, probe));
        self.open.insert(path.to_owned(), now);
    }

    fn end(&mut self, now: Time, path: &str, reply: &str, probe: bool, play: &Play) {
        self.open.remove(path);
        if reply == "unsent" {
            // Nothing reached the server.
            self.starts.retain(|(at, _)| *at != now);
            return;
        }
        let (what, told) = match reply.split_once(" after ") {
            Some((what, told)) => (what, span_of(told)),
            None => (reply, Duration::ZERO),
        };
        let forbidden = play.policy.backoff.forbidden == OnForbidden::BackOff;
        if what == "429" || told > Duration::ZERO || what == "403" && forbidden {
            self.refusals.push((now, told.max(play.policy.backoff.curve.base)));
        }
        let failed = told == Duration::ZERO && matches!(what, "503" | "reset" | "timeout" | "500");
        match (self.down, failed) {
            (None, true) => {
                self.failures += 1;
                if self.failures == usize::from(play.policy.breaker.failures) {
                    (self.down, self.probes) = (Some(now), 0);
                }
            }
            (Some(_), true) if probe => (self.down, self.probes) = (Some(now), self.probes + 1),
            (Some(_), false) if probe => (self.down, self.failures) = (None, 0),
            (None, false) => self.failures = 0,
            (Some(_), _) => {}
        }
        assert_eq!(self.down.is_some(), play.state.breaker.is_open());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_server_sees_manners(
        preset in 0..5_usize, seed in any::<u64>(), crawl_delay in 0..4_u64,
        events in proptest::collection::vec((0..9_000_u64, any::<bool>(), any::<prop::sample::Index>()), 1..80),
    ) {
        let preset = ["careful", "audit", "warehouse", "fleet", "survey"][preset];
        let mut play = Play::cold(preset)
            .serving(&format!("User-agent: *\nCrawl-delay: {crawl_delay}\n"))
            .with(|p| {
                p.risk.active = false;
                p.robots.ttl = Duration::from_secs(100 * 86_400);
                p.budget.time = None;
                p.slots.per_host = if p.slots.per_host == 2 { 3 } else { 1 };
            });
        play.seed = seed;
        play.play("0s ok");
        let mut log = Log { starts: vec![(START, false)], ..Log::default() };
        let mut probes = BTreeMap::new();
        let mut lost: Vec<String> = Vec::new();
        let mut now = START;
        for (n, (gap, begin, reply)) in events.iter().enumerate() {
            now = now + Duration::from_millis(*gap);
            // No exchange outlasts its time: what is still open then ends in that moment.
            let oldest = log.open.iter().min_by_key(|(_, at)| **at);
            let late = oldest.map(|(path, at)| (path.clone(), *at + play.policy.timeout.whole));
            let ending = match late {
                Some((path, end)) if end <= now => {
                    now = end;
                    Some(path)
                }
                _ if *begin => None,
                _ => log.open.keys().find(|path| !lost.contains(path)).cloned(),
            };
            if ending.as_ref().is_some_and(|path| lost.contains(path)) {
                log.open.remove(&ending.unwrap());
                continue;
            }
            if let Some(path) = ending {
                let reply = REPLIES[reply.index(REPLIES.len())];
                play.play(&format!("{}us {path} got {reply}", (now - START).as_micros()));
                let probe = probes[&path];
                log.end(now, &path, reply, probe, &play);
                continue;
            }
            let path = format!("/{n}");
            let decision = play.decide(&path, now);
            match decision.findings.worst().0 {
                Verdict::Go => {
                    let approach = play.send(&path, now);
                    prop_assert!(approach.kind != RequestKind::Robots);
                    log.start(now, &path, approach.probe, &play, Duration::from_secs(crawl_delay));
                    probes.insert(path.clone(), approach.probe);
                    let micros = (now - START).as_micros();
                    match reply.index(30) {
                        // Handed back: nothing reached the server.
                        0 | 1 => {
                            play.play(&format!("{micros}us {path} got unsent"));
                            log.end(now, &path, "unsent", approach.probe, &play);
                        }
                        // Its worker dies: the server may see it until the lease ends.
                        2 if log.down.is_some() => {
                            play.lose(&path);
                            (log.down, log.probes) = (Some(now), log.probes + 1);
                            lost.push(path);
                        }
                        2 => {
                            play.lose(&path);
                            lost.push(path);
                        }
                        _ => {}
                    }
                }
                Verdict::NotBefore(until) if log.open.is_empty() => now = now.max(until),
                _ => {}
            }
        }
    }
}

/// The requests for robots.txt, as the server sees them.
#[derive(Default)]
struct Served {
    /// When it was last requested, and whether it could be fetched.
    last: Option<(Time, bool)>,
    /// The last text, if one was served: the path that it forbids, and when it was last confirmed.
    text: Option<(&'static str, Time)>,
    /// Since when it cannot be fetched.
    failing: Option<Time>,
}

impl Served {
    fn asked(&mut self, now: Time, reply: &str, closes: &'static str, robots: &RobotsPolicy) {
        match self.last {
            Some((last, true)) => assert!(now - last >= robots.ttl, "asked within its TTL"),
            Some((last, false)) => assert!(now - last >= robots.deny_ttl, "asked too soon"),
            None => {}
        }
        let had = matches!(reply, "ok" | "304" | "404");
        self.last = Some((now, had));
        match reply {
            "ok" => self.text = Some((closes, now)),
            "304" => self.text = self.text.map(|(closes, _)| (closes, now)),
            "404" => self.text = None,
            _ => {}
        }
        self.failing = if had { None } else { self.failing.or(Some(now)) };
    }

    fn page(&self, now: Time, path: &str, robots: &RobotsPolicy) {
        let (last, had) = self.last.expect("robots.txt first");
        assert!(now - last < robots.ttl, "past the TTL");
        let kept = self.text.filter(|(_, good)| had || now - *good < robots.keep);
        match kept {
            Some((closes, _)) => assert_ne!(path, closes, "forbidden at {}", written(now)),
            None if had || robots.unreachable == Unreachable::Allow => {}
            None => assert!(self.failing.is_some_and(|since| now - since >= robots.keep)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_server_sees_its_robots_obeyed(
        preset in 0..5_usize,
        events in proptest::collection::vec((0..50_000_u64, any::<bool>(), 0..6_usize, any::<bool>()), 1..150),
    ) {
        let preset = ["careful", "audit", "warehouse", "fleet", "survey"][preset];
        let mut play = Play::cold(preset).with(|p| {
            p.risk.active = false;
            p.budget.time = None;
            p.budget.pages = None;
            p.breaker.failures = 255;
            p.robots.ttl = Duration::from_secs(120);
            p.robots.deny_ttl = Duration::from_secs(30);
            p.robots.keep = Duration::from_secs(600);
        });
        let mut served = Served::default();
        let mut now = START;
        for (gap, first, reply, text) in events {
            now = now + Duration::from_millis(gap);
            let path = if first { "/a" } else { "/b" };
            match play.decide(path, now).findings.worst().0 {
                Verdict::Go => {}
                // Sometimes as early as can be, sometimes whenever.
                Verdict::NotBefore(until) if text => {
                    now = until;
                    if play.decide(path, now).findings.worst().0 != Verdict::Go {
                        continue;
                    }
                }
                _ => continue,
            }
            let micros = (now - START).as_micros();
            let closes = if text { "/a" } else { "/b" };
            play.robots = format!("User-agent: *\nDisallow: {closes}$\n");
            let reply = ["ok", "404", "500", "reset", "304", "truncated"][reply];
            let reply = if reply == "304" && served.text.is_none() { "500" } else { reply };
            let robots = play.policy.robots.clone();
            if play.send(path, now).kind == RequestKind::Robots {
                served.asked(now, reply, closes, &robots);
            } else {
                served.page(now, path, &robots);
            }
            play.play(&format!("{micros}us {path} got {reply}"));
        }
    }
}
