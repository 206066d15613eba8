//! Several orbits ingest one host at the same time: the host sees one visitor.

use serde_json::{Value, json};

use crate::place::{Folder, Service, spec_with};
use crate::sites::{assert_judged, gaps, page, plain, seen, serve};

/// Runs these orders at once, each for an orbit of its own; gives their answers.
fn at_once(service: &Service, orders: &[Value]) -> Vec<Value> {
    std::thread::scope(|threads| {
        let runs: Vec<_> = orders
            .iter()
            .enumerate()
            .map(|(n, order)| threads.spawn(move || service.ingest(&format!("orbit-{n}"), order)))
            .collect();
        runs.into_iter().map(|run| run.join().expect("no panic")).collect()
    })
}

/// As many requests as were open at once.
fn most_at_once(log: &[curtsy_judge::Exchange]) -> usize {
    let open_at = |at: u64| log.iter().filter(|x| x.start <= at && at < x.end).count();
    log.iter().map(|x| open_at(x.start)).max().unwrap_or(0)
}

#[track_caller]
fn assert_one_visitor(service: &Service, log: Vec<curtsy_judge::Exchange>) {
    assert_eq!(most_at_once(&log), 1);
    let delay = service.policy.pace.delay_min.as_micros() as u64;
    let gaps = gaps(&log);
    assert!(gaps.iter().all(|gap| *gap >= delay), "{gaps:?}");
    let robots = log.iter().filter(|x| &*x.target == "/robots.txt").count();
    assert_eq!(robots, 1, "one robots.txt for all");
    assert_judged(log, &service.policy, &[]);
}

#[test]
fn two_orbits_and_one_who_names_pages_keep_one_pace() {
    let folder = Folder::new();
    // An answer takes longer than the delay, so that slots count too.
    let mut host = plain("victim.test").pages(60, 40, 500);
    host.think = curtsy_lab::sites::Range::ms(80, 120);
    let sites = serve(vec![host]);
    let service = Service::start(spec_with(folder.store(), &[("patience", "60s")]));
    let url = page(&sites, "victim.test", "/");
    let named: Vec<String> =
        (41..=50).map(|n| page(&sites, "victim.test", &format!("/p/{n}"))).collect();
    let orders = [
        json!({"url": url, "mode": "light"}),
        json!({"url": url, "mode": "standard"}),
        json!({"mode": "user_assisted", "userUrls": named}),
    ];
    for answer in at_once(&service, &orders) {
        assert_eq!(answer["evidence"]["nm_ingest"]["outcome"], "success", "{answer}");
    }
    assert_one_visitor(&service, seen(&sites, "victim.test"));
}

#[test]
fn ten_orbits_are_no_heavier_on_a_host_than_one() {
    let folder = Folder::new();
    let sites = serve(vec![plain("victim.test").pages(60, 40, 500)]);
    let service = Service::start(spec_with(folder.store(), &[("patience", "60s")]));
    let orders: Vec<Value> = (0..10)
        .map(|orbit| {
            // Every spelling of the host is the same host.
            let spellings = ["victim.test", "VICTIM.test", "victim.test.", "v%69ctim.test"];
            let host = spellings[orbit % spellings.len()];
            let pages: Vec<String> =
                (0..5).map(|n| page(&sites, host, &format!("/p/{}", 1 + orbit * 5 + n))).collect();
            json!({"mode": "user_assisted", "userUrls": pages})
        })
        .collect();
    for answer in at_once(&service, &orders) {
        assert_eq!(answer["evidence"]["nm_ingest"]["pagesFetched"], 5, "{answer}");
    }
    let log = seen(&sites, "victim.test");
    assert_eq!(log.len(), 51);
    assert_one_visitor(&service, log);
}

#[test]
fn what_one_orbit_is_told_to_wait_for_holds_for_the_others() {
    let folder = Folder::new();
    let busy = curtsy_lab::sites::Answer::to("/p/1").first(1).status(429).retry_after_seconds(2);
    let sites = serve(vec![plain("busy.test").pages(30, 20, 500).says_unlinked(busy)]);
    let service = Service::start(spec_with(folder.store(), &[("patience", "60s")]));
    let order = |from: u32| {
        let pages: Vec<String> =
            (from..from + 5).map(|n| page(&sites, "busy.test", &format!("/p/{n}"))).collect();
        json!({"mode": "user_assisted", "userUrls": pages})
    };
    at_once(&service, &[order(1), order(10), order(20)]);
    assert_one_visitor(&service, seen(&sites, "busy.test"));
}
