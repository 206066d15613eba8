//! `kill -9`, again and again, and the same command each time.
//!
//! `CURTSY_KILLS=100 cargo nextest run -p curtsy --test crawl killed` is the long version, with 5,000 pages.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use curtsy_judge::CrawlerFault;
use curtsy_lab::sites::{Answer, Host, Scene};

use crate::harness::{Town, assert_clean, judge, micros, number, open_at, policy};

#[test]
fn a_crawl_that_is_killed_loses_nothing_and_keeps_its_manners() {
    let kills: u32 = std::env::var("CURTSY_KILLS").map_or(12, |n| n.parse().unwrap());
    let pages = if kills >= 100 { 500 } else { 80 };
    let mut town = Town::new(Scene::plain(10, pages, 8, 1_000));
    let seeds = town.seeds();
    // Leases of a process that was killed end with the time that a request may take.
    let text = "preset = 'warehouse'\n[pace]\ndelay = '50ms'\nadaptive = false\n[timeout]\nfirst_byte = '1s'\nwhole = '1s'\n";
    std::fs::write(town.path("p.toml"), text).unwrap();
    let args = ["--from", seeds.to_str().unwrap(), "--policy", "p.toml", "--quiet"];

    let mut killed_at = Vec::new();
    for n in 0..kills {
        let mut child = town.start_crawl(&args);
        std::thread::sleep(Duration::from_millis(u64::from(80 + n * 7919 % 400)));
        let at = micros();
        child.kill().unwrap();
        child.wait().unwrap();
        killed_at.push(at);
    }
    let ran = town.crawl(&["--from", seeds.to_str().unwrap(), "--policy", "p.toml"]).ends(0);
    assert!(ran.err.contains("done"), "{}", ran.err);

    let db = town.db("crawl.db");
    let all = i64::from(10 * pages);
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE http_status = 200"), all);
    assert_eq!(number(&db, "SELECT count(DISTINCT url) FROM pages WHERE http_status = 200"), all);
    // A process that was killed before it had begun anything leaves no run behind.
    let runs = number(&db, "SELECT count(*) FROM runs");
    assert!((2..=i64::from(kills) + 1).contains(&runs), "{runs} runs");

    let log = town.close();
    let faults: Vec<CrawlerFault> = killed_at
        .iter()
        .map(|&at| CrawlerFault::Kill { at, in_flight: open_at(&log, at) })
        .collect();
    let mut asked: BTreeMap<String, u32> = BTreeMap::new();
    for x in &log {
        *asked.entry(format!("{}{}", x.host, x.target)).or_default() += 1;
    }
    let repeats: u32 = asked.values().map(|n| n - 1).sum();
    let allowed: u32 = killed_at.iter().map(|&at| open_at(&log, at)).sum();
    assert!(repeats <= allowed, "{repeats} repeats, {allowed} may be");
    #[allow(clippy::print_stdout, reason = "the figures are what the long version is run for")]
    {
        println!(
            "{all} pages, {kills} kills, {runs} runs: {repeats} requests repeated, {allowed} may be"
        );
    }
    assert_clean(&judge(log, &policy(&town.path("p.toml")), &faults));
}

/// A request may take an hour here: a lease that ran to its end would end the second run with exit code 3.
#[test]
fn a_request_that_a_kill_broke_off_holds_its_host_up_for_seconds_and_says_so() {
    let host = Host::named("a").pages(12, 4, 1_000);
    let host = host.says(Answer::page("/p/5", "Five", "", &[]).behind("five"));
    let mut town = Town::new(Scene { hosts: vec![host], ..Scene::default() });
    let text = "preset = 'warehouse'\n[pace]\ndelay = '50ms'\nadaptive = false\n[slots]\nper_host = 1\n[timeout]\nfirst_byte = '1h'\nwhole = '1h'\n";
    std::fs::write(town.path("p.toml"), text).unwrap();
    let url = town.url(0, "/");
    let args = [url.as_str(), "--policy", "p.toml", "--json"];

    let mut child = town.start_crawl(&args);
    let sites = town.sites.as_ref().unwrap();
    while sites.at_gate("five") == 0 {
        assert!(child.try_wait().unwrap().is_none(), "the crawl ended before it was killed");
        std::thread::sleep(Duration::from_millis(20));
    }
    let at = micros();
    child.kill().unwrap();
    child.wait().unwrap();
    sites.open("five");

    let ran = town.crawl(&args).ends(0);
    let why = "a request of the last run, which was killed, may still be in flight";
    assert!(ran.err.contains(why), "{}", ran.err);
    let db = town.db("crawl.db");
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE http_status = 200"), 12);
    let log = town.close();
    let fault = CrawlerFault::Kill { at, in_flight: open_at(&log, at) };
    assert_clean(&judge(log, &policy(&town.path("p.toml")), &[fault]));
}

/// Another program that read the file and closed it took itself for its last user and removed the write-ahead log from under the crawl.
#[test]
fn a_reader_that_comes_and_goes_takes_nothing_from_a_crawl_that_is_killed() {
    let mut town = Town::new(Scene::plain(1, 60, 8, 1_000));
    let url = town.url(0, "/");
    let args = [url.as_str(), "--delay", "40ms", "--policy", "warehouse", "--quiet"];
    let mut child = town.start_crawl(&args);
    // As `sqlite3 crawl.db 'SELECT …'` does it, by a program that nobody here wrote.
    let read = "import sqlite3, sys; db = sqlite3.connect('crawl.db')
print(db.execute(\"SELECT count(*) FROM pages WHERE decision = 'fetched'\").fetchone()[0]); db.close()";
    let count = || {
        let ran = Command::new("python3").args(["-c", read]).current_dir(&town.folder).output();
        String::from_utf8(ran.unwrap().stdout).unwrap().trim().parse::<i64>().unwrap_or(0)
    };
    while count() < 5 {}
    let wal = town.path("crawl.db-wal");
    assert!(wal.exists(), "the log is still there");
    while count() < 15 {}
    assert!(wal.exists(), "the log is still there");
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = count();
    assert!(kept >= 15, "{kept} of at least 15 rows are there after the kill");
    town.crawl(&args).ends(0);
    assert_eq!(count(), 60);
    let log = town.close();
    let asked = log.iter().filter(|x| x.target.starts_with("/p/") || &*x.target == "/").count();
    assert!(asked <= 60 + 5, "{asked} requests for 60 pages and one kill");
}
