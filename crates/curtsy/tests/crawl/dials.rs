//! New connections to a host are at least the delay apart, whatever becomes of them (P17): crawls of
//! sites that refuse, reset and close connections, judged by `curtsy judge` from the sites' own log.

use std::time::Duration;

use curtsy_lab::sites::{Answer, Ending, Host, Scene, Sites, SitesSettings, Window};
use serde_json::Value;

use crate::harness::{SCALED, Town};

/// A site that closes a third of all connections unread, and idle ones soon; that resets, closes or
/// truncates some answers; and that refuses connections for a second.
fn rough() -> Host {
    let ends = |path: &str, ending| Answer { ending, ..Answer::to(path) };
    let host = Host::named("a.test")
        .pages(8, 4, 500)
        .says(ends("/reset", Ending::Reset))
        .says(ends("/empty", Ending::Empty))
        .says(ends("/cut", Ending::TruncatedByReset));
    Host {
        shut_percent: 34,
        idle_max: Some(Duration::from_millis(300)),
        refuse: vec![Window::ms(1_500, 2_500)],
        close_after: Some(3),
        ..host
    }
}

/// Sites whose log is also a file.
fn town() -> Town {
    let mut town = Town::empty();
    let log = Some(town.path("access.jsonl"));
    let scene = Scene { hosts: vec![rough()], seed: 7, ..Scene::default() };
    town.sites = Some(Sites::start(scene, SitesSettings { log, ..Default::default() }).unwrap());
    town
}

/// Ends the sites, has `curtsy judge` read their log, and returns the judge's row of P17. The whole
/// log must be clean.
fn judged(town: &mut Town, policy: &[&str]) -> Value {
    let left = town.sites.take().unwrap().stop().unwrap();
    let accepted = left.connections.len() - left.connections.iter().filter(|c| is_close(c)).count();
    let args = [&["judge", "access.jsonl", "--json"], policy].concat();
    let ran = town.run(&args).ends(0);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let report = report.get("report").cloned().unwrap_or(report);
    assert_eq!(report["connections"], accepted, "{report:#}");
    let rules = report["rules"].as_array().unwrap();
    rules.iter().find(|row| row["rule"] == "P17").unwrap().clone()
}

fn is_close(event: &curtsy_judge::ConnectionEvent) -> bool {
    event.change != curtsy_judge::ConnectionChange::Accepted
}

#[test]
fn a_careful_crawl_of_a_rough_site_connects_a_delay_apart() {
    let mut town = town();
    std::fs::write(town.path("policy.toml"), format!("preset = 'careful'\n{SCALED}")).unwrap();
    let url = town.url(0, "/");
    let args = ["--policy", "policy.toml", "--pages", "8", "--patience", "12s"];
    town.crawl(&[&[url.as_str()], &args[..]].concat());
    let row = judged(&mut town, &["--policy", "policy.toml"]);
    assert_eq!(row["violations"], 0, "{row}");
    assert!(row["judged"].as_u64().unwrap() >= 4, "{row}");
}

#[test]
fn two_crawls_of_a_rough_site_connect_a_delay_apart() {
    let mut town = town();
    std::fs::write(town.path("policy.toml"), format!("preset = 'audit'\n{SCALED}")).unwrap();
    let urls = |crawl: usize| -> Vec<String> {
        let own = (crawl..8).step_by(2).map(|n| town.url(0, &format!("/p/{n}")));
        // Each crawl has its own tries of a URL, so no URL is in both.
        let bad = ["/reset", "/empty", "/cut"].into_iter().skip(crawl).step_by(2);
        own.chain(bad.map(|path| town.url(0, path))).collect()
    };
    let mut crawls: Vec<_> = (0..2)
        .map(|crawl| {
            let (urls, into) = (urls(crawl), format!("{crawl}.db"));
            let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
            let args = ["--policy", "policy.toml", "--delay", "200ms", "--patience", "10s"];
            let alone = ["--no-sitemaps", "--into", &into];
            town.start_crawl(&[&urls[..], &args[..], &alone[..]].concat())
        })
        .collect();
    for crawl in &mut crawls {
        crawl.wait().unwrap();
    }
    let row = judged(&mut town, &["--policy", "policy.toml", "--set", "pace.delay=200ms"]);
    assert_eq!(row["violations"], 0, "{row}");
    assert!(row["judged"].as_u64().unwrap() >= 10, "{row}");
}
