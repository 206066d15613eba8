//! The contract's nine checks: green as things are, and each red when the behaviour that it checks
//! is broken on purpose.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use curtsy_serve::Break;
use serde_json::{Value, json};

use crate::place::{Folder, Service, WAIT_MAX, spec};

/// The checks in the order of [`Break::ALL`].
const CHECKS: [&str; 9] = [
    "INGEST_001",
    "INGEST_002",
    "INGEST_003",
    "INGEST_004",
    "INGEST_005",
    "INGEST_006",
    "INGEST_007",
    "COMPLY_001",
    "COMPLY_002",
];

/// Carries out all checks in a service of its own and gives what they found.
fn check(breaks: Option<Break>) -> Vec<Value> {
    let folder = Folder::new();
    let mut spec = spec(folder.store());
    spec.breaks = breaks;
    let service = Service::start(spec);
    assert_eq!(service.post("/api/health/checks", &json!({})).status, 202);
    let until = Instant::now() + WAIT_MAX;
    loop {
        let found = service.get("/api/health/checks").json();
        let checks = found["checks"].as_array().expect("nine checks").clone();
        if checks.iter().all(|check| check["passed"].is_boolean()) {
            return checks;
        }
        assert!(Instant::now() < until, "the checks did not end: {found}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn red(checks: &[Value]) -> Vec<&str> {
    let red = checks.iter().filter(|check| check["passed"] == false);
    red.filter_map(|check| check["checkId"].as_str()).collect()
}

#[test]
fn all_checks_are_green_and_say_why() {
    let checks = check(None);
    assert_eq!(red(&checks), [""; 0], "{checks:#?}");
    let ids: Vec<&str> = checks.iter().filter_map(|check| check["checkId"].as_str()).collect();
    assert_eq!(ids, CHECKS);
    // Each has its own time, that of the runs it rests on.
    let took: BTreeSet<u64> = checks.iter().filter_map(|check| check["tookMs"].as_u64()).collect();
    assert!(took.len() > 1, "{took:?}");
    for check in &checks {
        assert!(!check["evidence"].is_null() && check["checkedAt"].is_string(), "{check}");
    }
}

#[test]
fn each_check_turns_red_when_what_it_checks_is_broken() {
    std::thread::scope(|threads| {
        let trials = Break::ALL.map(|breaks| (breaks, threads.spawn(move || check(Some(breaks)))));
        for ((breaks, trial), id) in trials.into_iter().zip(CHECKS) {
            let checks = trial.join().expect("no panic");
            assert!(red(&checks).contains(&id), "{breaks:?} went unnoticed by {id}: {checks:#?}");
        }
    });
}
