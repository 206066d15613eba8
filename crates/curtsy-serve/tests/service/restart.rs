//! A service that is killed in the middle of a run, and started again.

use std::collections::{BTreeMap, BTreeSet};

use curtsy_judge::{CrawlerFault, Exchange};
use curtsy_lab::sites::{Answer as Said, Host, Sites};
use serde_json::{Value, json};

use crate::life::Life;
use crate::place::{Folder, Service, spec_with};
use crate::sites::{assert_judged, business, micros, page, plain, seen, serve};

fn done(answer: &Value) -> u64 {
    answer["progress"]["pagesDone"].as_u64().unwrap_or(0)
}

/// A site of forty pages that holds some of them back, each behind a gate of its own.
fn holding(paths: &[&str]) -> Host {
    let host = plain("shop.test").pages(40, 30, 500);
    paths.iter().fold(host, |host, path| host.says_unlinked(Said::to(path).behind(path)))
}

/// Waits until a run has nothing in hand but the request for a page that is held back, kills the
/// service, and lets the page go. Gives when that was.
fn kill_at(life: Life, sites: &Sites, run: &str, gate: &str) -> u64 {
    while sites.at_gate(gate) == 0 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let log = seen(sites, "shop.test");
    let came = log.iter().filter(|x| x.complete && is_page(&x.target)).map(|x| &x.target);
    let pages = came.collect::<BTreeSet<_>>().len() as u64;
    life.service.wait(run, |answer| done(answer) >= pages);
    let at = micros();
    life.kill();
    sites.open(gate);
    at
}

fn is_page(path: &str) -> bool {
    path != "/robots.txt" && !path.ends_with(".xml")
}

/// Fails if anything was asked for twice but for what was in flight at a kill.
#[track_caller]
fn assert_asked_once(log: &[Exchange], in_flight: &[&str]) {
    let mut times = BTreeMap::<&str, usize>::new();
    for exchange in log {
        *times.entry(&exchange.target).or_default() += 1;
    }
    for (target, times) in times {
        let excused = in_flight.iter().filter(|path| **path == target).count();
        assert!(times <= 1 + excused, "{target} was asked for {times} times");
    }
}

fn faults(kills: &[u64]) -> Vec<CrawlerFault> {
    kills.iter().map(|at| CrawlerFault::Kill { at: *at, in_flight: 1 }).collect()
}

#[test]
fn a_killed_run_goes_on_by_itself_and_asks_for_nothing_twice() {
    let folder = Folder::new();
    let sites = serve(vec![holding(&["/p/9"])]);
    let life = Life::start(&folder);
    let run = life
        .service
        .begin("shop", &json!({"url": page(&sites, "shop.test", "/"), "mode": "standard"}));
    let killed = kill_at(life, &sites, &run, "/p/9");

    let life = Life::start(&folder);
    assert_eq!(life.service.resumed, 1);
    let ended = life.service.wait_for_end(&run);
    let ingest = &ended["evidence"]["nm_ingest"];
    assert_eq!(ingest["outcome"], "success", "{ended:#}");
    assert_eq!(ingest["pagesPlanned"], 25);
    let hits = ingest["cacheHits"].as_u64().unwrap();
    assert!(hits >= 2, "what the first life had fetched is used: {ingest}");
    assert_eq!(hits + ingest["pagesFetched"].as_u64().unwrap(), 25);
    let evidence = life.service.get(&format!("{run}/evidence")).ends(200).json();
    assert_eq!(
        evidence["pages"].as_array().unwrap().len(),
        25,
        "a row for each page, and one only"
    );
    let policy = life.service.policy.clone();
    drop(life);

    let log = seen(&sites, "shop.test");
    assert_asked_once(&log, &["/p/9"]);
    assert_judged(log, &policy, &faults(&[killed]));
}

#[test]
fn named_pages_go_on_too() {
    let folder = Folder::new();
    let sites = serve(vec![holding(&["/p/6"])]);
    let life = Life::start(&folder);
    let named: Vec<String> =
        (1..=20).map(|n| page(&sites, "shop.test", &format!("/p/{n}"))).collect();
    let run = life.service.begin("shop", &json!({"mode": "user_assisted", "userUrls": named}));
    let killed = kill_at(life, &sites, &run, "/p/6");
    let life = Life::start(&folder);
    let ended = life.service.wait_for_end(&run);
    let ingest = &ended["evidence"]["nm_ingest"];
    assert_eq!(ended["outcome"], "success", "{ended:#}");
    assert_eq!((&ingest["pagesPlanned"], &ingest["cacheHits"]), (&json!(20), &json!(5)));
    let policy = life.service.policy.clone();
    drop(life);
    let log = seen(&sites, "shop.test");
    assert_asked_once(&log, &["/p/6"]);
    assert_judged(log, &policy, &faults(&[killed]));
}

#[test]
fn a_run_that_is_killed_again_and_again_is_closed_with_evidence() {
    let folder = Folder::new();
    let gates = ["/p/3", "/p/6", "/p/9"];
    let sites = serve(vec![holding(&gates)]);
    let mut life = Life::start(&folder);
    let named: Vec<String> =
        (1..=20).map(|n| page(&sites, "shop.test", &format!("/p/{n}"))).collect();
    let run = life.service.begin("shop", &json!({"mode": "user_assisted", "userUrls": named}));
    let mut kills = Vec::new();
    for (gate, resumed) in gates.into_iter().zip([1, 1, 0]) {
        kills.push(kill_at(life, &sites, &run, gate));
        life = Life::start(&folder);
        assert_eq!(life.service.resumed, resumed);
    }
    let ended = life.service.wait_for_end(&run);
    assert_eq!(ended["outcome"], "error");
    assert_eq!(ended["evidence"]["nm_ingest"]["outcome"], "error");
    assert_eq!(ended["evidence"]["traceId"], ended["traceId"]);
    let policy = life.service.policy.clone();
    drop(life);
    let log = seen(&sites, "shop.test");
    assert_asked_once(&log, &gates);
    assert_judged(log, &policy, &faults(&kills));
}

#[test]
fn a_run_that_was_cancelled_does_not_go_on_after_a_kill() {
    let folder = Folder::new();
    let sites = serve(vec![holding(&["/p/3"])]);
    let life = Life::start(&folder);
    let named: Vec<String> =
        (1..=20).map(|n| page(&sites, "shop.test", &format!("/p/{n}"))).collect();
    let run = life.service.begin("shop", &json!({"mode": "user_assisted", "userUrls": named}));
    while sites.at_gate("/p/3") == 0 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    life.service.post(&format!("{run}/cancel"), &json!({})).ends(202);
    life.kill();
    sites.open("/p/3");
    let life = Life::start(&folder);
    let ended = life.service.wait_for_end(&run);
    assert!(ended["cancelledAt"].is_string(), "{ended:#}");
    let asked: BTreeSet<String> =
        seen(&sites, "shop.test").iter().map(|x| x.target.to_string()).collect();
    assert!(!asked.contains("/p/4"), "{asked:?}");
}

#[test]
fn a_service_that_is_told_to_end_goes_on_with_its_runs_when_it_starts_again() {
    let folder = Folder::new();
    let sites = serve(vec![business("shop.test"), plain("other.test").pages(20, 15, 500)]);
    let spec = || spec_with(folder.store(), &[("pace.delay", "100ms")]);
    let mut service = Service::start(spec());
    let whole =
        service.ingest("shop", &json!({"url": page(&sites, "shop.test", "/"), "mode": "light"}));
    let run =
        service.begin("shop", &json!({"url": page(&sites, "other.test", "/"), "mode": "light"}));
    service.wait(&run, |answer| done(answer) >= 3);
    service.end();
    let asked_by_then = seen(&sites, "other.test").len();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(seen(&sites, "other.test").len(), asked_by_then, "nobody asks any more");

    let service = Service::start(spec());
    assert_eq!(service.resumed, 1, "what had ended is not begun again");
    let ended = service.wait_for_end(&run);
    assert_eq!(ended["outcome"], "success");
    assert_eq!(service.evidence("shop", &whole)["evidence"], whole["evidence"]);
    let policy = service.policy.clone();
    drop(service);
    let log = seen(&sites, "other.test");
    assert_asked_once(&log, &[]);
    assert_judged(sites.log(), &policy, &[]);
}
