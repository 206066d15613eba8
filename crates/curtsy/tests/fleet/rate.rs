//! How many pages a second a fleet brings, and what they cost. `./bench fleet` runs these with the release build; they say nothing in a debug build.

use std::process::Command;
use std::time::Duration;

use curtsy_lab::sites::Scene;

use crate::fleet::{Fleet, Running, until};

/// What a fleet did.
struct Measured {
    pages: usize,
    /// From the first request to the last, by the hosts' own log.
    span: Duration,
    /// CPU time of workers and of Redis.
    workers: Duration,
    redis: Duration,
}

impl Measured {
    fn rate(&self) -> f64 {
        self.pages as f64 / self.span.as_secs_f64()
    }

    fn each(&self, cpu: Duration) -> f64 {
        cpu.as_secs_f64() * 1e6 / self.pages as f64
    }
}

/// Has workers bring pages of 10 KB with this delay between them.
fn measure(workers: usize, hosts: u32, pages: u32, delay: &str) -> Measured {
    let fleet = Fleet::new(Scene::plain(hosts, pages + 1, 25, 10_240));
    fleet.push(&fleet.pages(hosts, pages));
    let running: Vec<Running> = (0..workers).map(|_| fleet.start(&["--delay", delay])).collect();
    until("the end", || fleet.is_settled());
    let cpu = |pid: u32| cpu_of(pid);
    let (spent, redis) =
        (running.iter().map(|worker| cpu(worker.0.id())).sum(), cpu(fleet.redis.pid().unwrap()));
    for worker in running {
        assert_eq!(worker.end(), Some(0), "{}", fleet.log());
    }
    let log = fleet.town.sites.as_ref().unwrap().log();
    let starts = || log.iter().filter(|x| x.target.starts_with("/p/")).map(|x| x.start);
    let (first, last) = (starts().min().unwrap(), starts().max().unwrap());
    let brought = starts().count();
    assert_eq!(brought, (hosts * pages) as usize, "each page once");
    Measured { pages: brought, span: Duration::from_micros(last - first), workers: spent, redis }
}

/// CPU time that a process has used.
fn cpu_of(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The name may contain spaces; what is counted from comes after it.
    let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 2..].split(' ').collect();
    let ticks: u64 = [11, 12].iter().map(|&at: &usize| fields[at].parse::<u64>().unwrap()).sum();
    let said = Command::new("getconf").arg("CLK_TCK").output().unwrap().stdout;
    let per_second: u64 = String::from_utf8(said).unwrap().trim().parse().unwrap();
    Duration::from_millis(ticks * 1000 / per_second)
}

fn number(name: &str, usual: u32) -> u32 {
    std::env::var(name).map_or(usual, |n| n.parse().unwrap())
}

/// "≥ 2,000 pages/s through one Redis with 4 workers on loopback if two cores allow"
#[test]
#[ignore = "a measurement: `./bench fleet` runs it"]
fn pages_a_second() {
    println!("\n| workers | pages | pages a second | worker CPU µs a page | Redis CPU µs a page |");
    println!("| --- | --- | --- | --- | --- |");
    for workers in [1, 2, 4] {
        let m = measure(workers, 50, number("CURTSY_PAGES", 200), "0s");
        println!(
            "| {workers} | {} | {:.0} | {:.0} | {:.0} |",
            m.pages,
            m.rate(),
            m.each(m.workers),
            m.each(m.redis)
        );
    }
}

/// "4 workers ≥ 0.95 × the rate of 1 where one suffices": delays set the rate.
#[test]
#[ignore = "a measurement: `./bench fleet` runs it"]
fn four_workers_are_as_fast_as_one_where_one_suffices() {
    let pages = number("CURTSY_PAGES", 60);
    let [one, four] = [1, 4].map(|workers| measure(workers, 50, pages, "200ms"));
    let most = 50.0 / 0.2;
    println!(
        "\none worker {:.1} pages a second, four {:.1}; at most {most}",
        one.rate(),
        four.rate()
    );
    assert!(four.rate() >= 0.95 * one.rate(), "four workers are slower than one");
}
