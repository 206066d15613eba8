//! Crawls of many hosts with moods of their own, judged by the hosts' own log.
//!
//! Real time and real sockets. The delays are those of the presets, scaled down by a policy file; everything else is as the preset has it.

use curtsy_sim::loopback::Scene;

use crate::harness::{Town, assert_clean, judge, number, policy};

/// Hosts with mixed moods, each at its own address.
const HOSTS: u32 = 36;

fn check(preset: &str, scaled: &str) {
    let mut town = Town::new(Scene::mixed(HOSTS));
    let seeds = town.seeds();
    std::fs::write(town.path("p.toml"), format!("preset = '{preset}'\n{scaled}")).unwrap();
    let args =
        ["--from", seeds.to_str().unwrap(), "--policy", "p.toml", "--patience", "5s", "--quiet"];
    let ran = town.crawl(&args);
    assert!(matches!(ran.code, Some(0 | 3)), "{:?} {}", ran.code, ran.err);
    let db = town.db("crawl.db");
    let hosts = "SELECT count(DISTINCT host) FROM pages WHERE decision = 'fetched'";
    assert!(number(&db, hosts) >= 25, "{} hosts\n{}", number(&db, hosts), ran.err);
    let policy = policy(&town.path("p.toml"));
    let log = town.close();
    assert!(log.len() > 200, "{} exchanges", log.len());
    assert_clean(&judge(log, &policy, &[]));
}

const SCALED: &str = "
[robots]
deny_ttl = '3s'
[backoff.curve]
base = '500ms'
cap = '8s'
[retry.curve]
base = '300ms'
cap = '4s'
[breaker.curve]
base = '2s'
cap = '8s'
[timeout]
first_byte = '4s'
whole = '10s'
";

#[test]
fn careful_keeps_its_manners() {
    check("careful", &format!("[pace]\ndelay = '150ms'\n{SCALED}"));
}

#[test]
fn audit_keeps_its_manners() {
    check("audit", &format!("[pace]\ndelay = '60ms..150ms'\n{SCALED}"));
}

#[test]
fn warehouse_keeps_its_manners() {
    check("warehouse", &format!("[pace]\ndelay = '100ms'\n{SCALED}"));
}

#[test]
fn survey_keeps_its_manners() {
    // Twenty-five pages are few for thirty-six hosts.
    check("survey", &format!("[budget]\npages = 500\n{SCALED}"));
}

#[test]
fn two_crawls_at_once_have_one_pace() {
    let mut town = Town::new(Scene::plain(12, 40, 5, 500));
    std::fs::write(town.path("p.toml"), "preset = 'warehouse'\n[pace]\ndelay = '100ms'\n").unwrap();
    // Each has pages of its own on the same hosts: what one has fetched, the other need not ask for.
    for half in 0..2 {
        let pages = (0..12).flat_map(|host| (1..30).map(move |page| (host, page)));
        let mine = pages.filter(|(_, page)| page % 2 == half);
        let seeds: Vec<_> =
            mine.map(|(host, page)| town.url(host, &format!("/p/{page}"))).collect();
        std::fs::write(town.path(&format!("{half}.txt")), seeds.join("\n")).unwrap();
    }
    let args = |from, into| {
        ["--from", from, "--policy", "p.toml", "--no-links", "--no-sitemaps", "--into", into]
    };
    let mut other = town.start_crawl(&args("1.txt", "other.db"));
    town.crawl(&args("0.txt", "crawl.db")).ends(0);
    assert!(other.wait().unwrap().success());
    let fetched = "SELECT count(*) FROM pages WHERE decision = 'fetched'";
    assert_eq!(
        number(&town.db("crawl.db"), fetched) + number(&town.db("other.db"), fetched),
        12 * 29
    );
    let policy = policy(&town.path("p.toml"));
    assert_clean(&judge(town.close(), &policy, &[]));
}
