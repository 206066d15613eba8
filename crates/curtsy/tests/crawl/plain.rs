//! Plain crawls: what is found, what the rows hold, how it ends.

use curtsy_sim::loopback::Scene;

use crate::harness::{Town, assert_clean, judge, number, policy, texts};

#[test]
fn every_page_of_a_site_becomes_a_row() {
    let mut town = Town::new(Scene::plain(2, 40, 5, 2_000));
    let seeds = town.seeds();
    std::fs::write(town.path("p.toml"), "preset = 'warehouse'\n[pace]\ndelay = '10ms'\n").unwrap();
    let ran =
        town.crawl(&["--from", seeds.to_str().unwrap(), "--policy", "p.toml", "--json"]).ends(0);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&report["fetched"], &report["ended"]), (&80.into(), &"complete".into()));
    let db = town.db("crawl.db");
    let fetched = "SELECT count(*) FROM pages WHERE http_status = 200 AND length(body) > 1900 AND title <> ''";
    assert_eq!(number(&db, fetched), 80);
    assert_eq!(number(&db, "SELECT count(*) FROM decisions WHERE kind = 'robots'"), 2);
    assert!(number(&db, "SELECT count(*) FROM links") >= 80);
    assert_eq!(number(&db, "SELECT count(*) FROM runs WHERE outcome = 'complete'"), 1);
    let policy = policy(&town.path("p.toml"));
    assert_clean(&judge(town.close(), &policy, &[]));
}

#[test]
fn the_same_command_again_has_nothing_left_to_do() {
    let mut town = Town::new(Scene::plain(1, 5, 3, 500));
    let url = town.url(0, "/");
    let args = [url.as_str(), "--delay", "10ms", "--policy", "warehouse"];
    town.crawl(&args).ends(0);
    town.crawl(&args).ends(0);
    let db = town.db("crawl.db");
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE http_status = 200"), 5);
    assert_eq!(number(&db, "SELECT count(*) FROM runs"), 2);
    let log = town.close();
    let pages = log.iter().filter(|x| &*x.target != "/robots.txt" && x.status == Some(200)).count();
    assert_eq!(pages, 5, "no page was asked for twice");
}

#[test]
fn depth_pages_and_filters_are_kept() {
    let town = Town::new(Scene::plain(1, 60, 6, 500));
    let url = town.url(0, "/");
    let crawl = |into: &str, more: &[&str]| {
        let args =
            [&[url.as_str(), "--delay", "0s", "--policy", "warehouse", "--into", into], more];
        town.crawl(&args.concat());
        town.db(into)
    };
    let fetched = "SELECT count(*) FROM pages WHERE decision = 'fetched'";
    assert_eq!(number(&crawl("pages.db", &["--pages", "7"]), fetched), 7);
    let deep = crawl("depth.db", &["--depth", "1"]);
    assert_eq!(number(&deep, "SELECT max(depth) FROM pages"), 1);
    let none = crawl("seed.db", &["--depth", "0"]);
    assert_eq!(number(&none, fetched), 1);
    let some = crawl("some.db", &["--include", "/p/1*", "--exclude", "/p/11"]);
    let found = texts(&some, "SELECT url FROM pages WHERE depth > 0");
    assert!(found.iter().all(|u| u.contains("/p/1") && !u.ends_with("/p/11")), "{found:?}");
}

#[test]
fn a_budget_says_so_in_the_rows_that_it_cost() {
    let town = Town::new(Scene::plain(1, 30, 6, 500));
    let url = town.url(0, "/");
    let ran =
        town.crawl(&[&url, "--delay", "0s", "--policy", "warehouse", "--pages", "10"]).ends(0);
    assert!(ran.err.contains("by budget"), "{}", ran.err);
    let db = town.db("crawl.db");
    let gates = texts(&db, "SELECT DISTINCT gate FROM decisions WHERE decision = 'refused'");
    assert_eq!(gates, ["budget"]);
}
