//! How many exchanges the judge takes in per second of CPU: `cargo run --release --example
//! judge_speed -p curtsy-judge`.
//!
//! 50 hosts at 3 s each, a robots.txt of a dozen rules every hour, one answer in 50 a failure of
//! some kind, every page asked once.
#![allow(clippy::disallowed_methods, reason = "a measurement reads the machine's clock")]
#![allow(clippy::print_stdout, reason = "the result of a measurement is its output")]

use std::sync::Arc;

use curtsy_judge::{Exchange, Judge, Manners, SecondMatcher};

fn main() {
    let exchanges = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_000u64);
    for second in [SecondMatcher::Sampled, SecondMatcher::Always] {
        measure(exchanges, second);
    }
}

fn measure(exchanges: u64, second: SecondMatcher) {
    let log = Synthetic::new(exchanges).collect::<Vec<_>>();
    let mut judge = Judge::new(Manners::default()).with_second_matcher(second);
    let before = cpu_ns();
    for x in log {
        judge.see(x);
    }
    let report = judge.finish();
    let spent = cpu_ns() - before;
    assert!(report.clean(), "the synthetic log is polite: {:?}", report.first);
    println!(
        "{second:?}: {exchanges} exchanges, {:.0} ns each, {:.0} per CPU-second",
        spent as f64 / exchanges as f64,
        exchanges as f64 * 1e9 / spent as f64
    );
}

struct Synthetic {
    left: u64,
    number: u64,
    hosts: Vec<Arc<str>>,
    agent: Arc<str>,
    robots: Arc<[u8]>,
    get: Arc<str>,
}

impl Synthetic {
    fn new(exchanges: u64) -> Synthetic {
        let rules: String = (0..12).map(|i| format!("Disallow: /private{i}/*.html$\n")).collect();
        Synthetic {
            left: exchanges,
            number: 0,
            hosts: (0..50).map(|i| format!("host{i}.test").into()).collect(),
            agent: "curtsy/0.1 (+me@example.org)".into(),
            robots: format!("User-agent: *\n{rules}Crawl-delay: 1\n").into_bytes().into(),
            get: "GET".into(),
        }
    }
}

impl Iterator for Synthetic {
    type Item = Exchange;

    fn next(&mut self) -> Option<Exchange> {
        self.left = self.left.checked_sub(1)?;
        let (round, host) = (self.number / 50, (self.number % 50) as usize);
        self.number += 1;
        let start = round * 3_050_000 + host as u64 * 60_000;
        // 1181 rounds of 3.05 s are just over the TTL of an hour.
        let robots = round % 1181 == 0;
        let target: String = match robots {
            true => "/robots.txt".into(),
            false => format!("/section/{}/page-{}.html", round % 97, self.number),
        };
        let status = match self.number % 50 {
            7 if !robots => [404, 500, 301][(round % 3) as usize],
            _ => 200,
        };
        let mut x = Exchange::get(start, "", &target, status);
        x.host = Arc::clone(&self.hosts[host]);
        x.method = Arc::clone(&self.get);
        x.end = start + 80_000 + (self.number % 7) * 10_000;
        x.local = Some([10, 0, 0, (host % 5) as u8].into());
        x.user_agent = Some(Arc::clone(&self.agent));
        x.robots_body = robots.then(|| Arc::clone(&self.robots));
        x.location = (status == 301).then(|| "/moved".into());
        Some(x)
    }
}

/// Nanoseconds that this thread has spent on a CPU.
fn cpu_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}
