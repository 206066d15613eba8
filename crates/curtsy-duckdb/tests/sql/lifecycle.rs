//! Lifecycles: databases that close, queries that are stopped, processes that are killed.

use std::collections::BTreeMap;

use curtsy_judge::CrawlerFault;
use curtsy_lab::sites::Scene;

use crate::harness::{QUICK, Town, crawl_sql, list, open_at};

/// Opens, crawls and closes fifty times in one process: nothing leaks, and nothing hangs.
#[test]
fn a_database_that_was_crawled_into_closes_and_opens_again() {
    let quick = QUICK.replace("20ms", "0s");
    let town = Town::new(Scene::plain(1, 200, 3, 500), &quick);
    let duck = town.duck_of(crate::harness::NEW);
    let mut after_first = None;
    for round in 0..50 {
        duck.open(&town, "pages.db");
        duck.crawl(&town.pages(0, 1, round + 2), "threads 4");
        assert_eq!(duck.number("SELECT count(*) FROM pages"), i64::from(round) + 1);
        if round % 5 == 1 {
            duck.refused("CRAWL (SELECT nothing) INTO pages");
            // A crawl whose rows are never taken.
            let all = town.pages(0, 100, 110);
            duck.first_rows(&format!("FROM crawl({all})"), 1).wait().unwrap();
        }
        duck.close();
        assert!(town.path("pages.db").exists() && !town.path("pages.db.wal").exists());
        let left = (duck.proc("task").len(), duck.proc("fd").len());
        let first = *after_first.get_or_insert(left);
        assert_eq!(left, first, "threads and open files after round {round}");
    }
}

/// "Cancelling a query stops the crawl": fetched pages stay.
#[test]
fn an_interrupt_ends_a_crawl_and_keeps_its_rows() {
    let mut town = Town::new(Scene::plain(2, 300, 3, 500), QUICK);
    let duck = town.duck_on("pages.db");
    let all = list((1..300).flat_map(|n| [0, 1].map(|host| town.url(host, &format!("/p/{n}")))));
    for threads in [1, 8] {
        let before = town.log().len();
        let crawl = duck.start(&crawl_sql(&all, &format!("threads {threads}")));
        town.wait_until(|log| log.len() > before + 60);
        duck.interrupt();
        let error = crawl.wait().unwrap_err();
        assert!(error.contains("INTERRUPT"), "{error}");
        assert_eq!(duck.crawlers(), 0, "with {threads} threads");
        let ended = town.log().len();
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert_eq!(town.log().len(), ended, "nothing is asked for any more");
        let rows = duck.number("SELECT count(*) FROM pages WHERE http_status = 200");
        assert!(rows > 0 && rows as usize <= ended, "{rows} rows of {ended} requests");
    }
    // The same for the function, which has no table.
    let before = town.log().len();
    let crawl = duck.start(&format!("SELECT count(*) FROM crawl({all})"));
    town.wait_until(|log| log.len() > before + 10);
    duck.interrupt();
    assert!(crawl.wait().unwrap_err().contains("INTERRUPT"));
    assert_eq!(duck.crawlers(), 0);
    // The same for a wait for a host.
    let waits = format!("FROM sitemap('{}', delay := '20s')", town.url(0, "/"));
    let sitemap = duck.start(&waits);
    std::thread::sleep(std::time::Duration::from_millis(500));
    duck.interrupt();
    assert!(sitemap.wait().unwrap_err().contains("INTERRUPT"));
    assert_eq!(duck.number("SELECT 7"), 7, "the connection goes on");
    town.close();
}

/// A query for one row does not crawl a whole site.
#[test]
fn limit_stops_a_crawl() {
    let mut town = Town::new(Scene::plain(1, 300, 3, 500), QUICK);
    let duck = town.duck();
    let all = town.pages(0, 1, 300);
    let rows = duck.rows(&format!("SELECT url FROM crawl({all}, threads := 4) LIMIT 1"));
    assert_eq!(rows.len(), 1);
    assert_eq!(duck.crawlers(), 0);
    assert!(town.log().len() < 100, "{} requests for one row", town.log().len());
    // A result whose first rows only are taken, and which is then dropped.
    let before = town.log().len();
    duck.first_rows(&format!("FROM crawl({all}, threads := 4)"), 1).wait().unwrap();
    assert!(town.log().len() - before <= 299);
    assert_eq!(duck.crawlers(), 0);
    town.close();
}

/// `kill -9` during a crawl: committed rows stay, the next crawl of the same query adds the rest,
/// and every page has one row.
#[test]
fn a_crawl_that_is_killed_goes_on_where_it_was() {
    let policy = format!("{QUICK}[timeout]\nfirst_byte = '1s'\nwhole = '1s'\n");
    let mut town = Town::new(Scene::plain(4, 60, 3, 500), &policy);
    let all: Vec<String> = (1..60)
        .flat_map(|n| (0..4).map(move |host| (host, n)))
        .map(|(host, n)| town.url(host, &format!("/p/{n}")))
        .collect();
    let sql = crawl_sql(&list(&all), "threads 4");
    let mut killed = Vec::new();
    for round in 0..3 {
        let duck = town.duck_on("pages.db");
        duck.run("SET http_timeout = 1");
        let before = town.log().len();
        let _crawl = duck.start(&sql);
        town.wait_until(|log| log.len() > before + 30 + 5 * round);
        killed.push(duck.kill());
    }
    let duck = town.duck_on("pages.db");
    duck.run("SET http_timeout = 1");
    let kept = duck.number("SELECT count(*) FROM pages");
    assert!(kept > 20, "{kept} rows were committed");
    duck.start(&sql).wait().unwrap();
    let rows = duck.rows(
        "SELECT count(*), count(DISTINCT url), count(*) FILTER (http_status = 200) FROM pages",
    );
    assert_eq!(serde_json::json!(rows), serde_json::json!([[all.len(), all.len(), all.len()]]));
    let log = town.log();
    let faults: Vec<CrawlerFault> =
        killed.iter().map(|&at| CrawlerFault::Kill { at, in_flight: open_at(&log, at) }).collect();
    let log = town.assert_clean_but(&faults);
    let mut asked: BTreeMap<String, u32> = BTreeMap::new();
    for x in &log {
        *asked.entry(format!("{}{}", x.host, x.target)).or_default() += 1;
    }
    let again: u32 = asked.values().map(|n| n - 1).sum();
    assert!(again <= 3 * 100, "{again} requests were repeated");
}

/// DuckDB's progress bar moves during a crawl.
#[test]
fn progress_is_told() {
    let mut town = Town::new(Scene::plain(1, 120, 3, 500), QUICK);
    let duck = town.duck();
    duck.run("SET enable_progress_bar = true; SET enable_progress_bar_print = false; SET progress_bar_time = 0");
    let crawl = duck.start(&crawl_sql(&town.pages(0, 1, 120), "threads 2"));
    let mut seen = Vec::new();
    while town.log().len() < 115 {
        seen.push(duck.progress());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    crawl.wait().unwrap();
    let between: Vec<f64> =
        seen.iter().copied().filter(|part| *part > 0.0 && *part < 100.0).collect();
    assert!(between.len() > 3 && between.is_sorted(), "{seen:?}");
    town.close();
}
