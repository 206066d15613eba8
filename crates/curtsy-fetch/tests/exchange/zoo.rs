//! Faults that the zoo found, each by its name, and the cost of bombs.

use std::time::Duration;

use curtsy_lab::zoo::{CaseGroup, Expectation, Zoo, ZooCase, ZooSettings, cases};
use rustix::time::{ClockId, clock_gettime};

use crate::client::{Client, approach, request, robots, run};

/// Opens a zoo with the named cases.
fn zoo(wanted: impl Fn(&ZooCase) -> bool) -> Zoo {
    let mut chosen = cases();
    chosen.retain(wanted);
    assert!(!chosen.is_empty(), "there is such a case");
    Zoo::open(chosen, ZooSettings::default()).unwrap()
}

/// Fetches the home page of a case, or its robots.txt.
#[track_caller]
fn check(name: &str, expected: &str) {
    let zoo = zoo(|case| case.name == name);
    let url = zoo.hosts()[0].url.clone();
    let of_robots = zoo.hosts()[0].case.group == CaseGroup::Robots;
    let client = client(&zoo);
    let ticket = if of_robots { robots(&url) } else { approach(&url) };
    let got = run(async { client.ask(ticket, &request()).await });
    assert_eq!(got.said, expected, "{name}");
}

fn client(zoo: &Zoo) -> Client {
    Client::with(|settings| settings.ca_pem = zoo.ca_pem().into())
}

/// The CPU time of this thread, without other work on this machine.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Once a robots.txt was decoded while its compressed bytes were within the limit: 10 GB of zeros
/// at once.
#[test]
fn a_robots_txt_that_bursts_is_not_unpacked() {
    let before = cpu();
    check("robots-bomb", "200, over body");
    // With the certificates of a whole zoo.
    let spent = cpu() - before;
    assert!(spent < Duration::from_millis(500), "{spent:?}");
}

/// Once a ping counted as the first byte, and the slot was held half as long again.
#[test]
fn pings_are_no_first_byte() {
    check("h2-pings-only", "sent, FirstByteTimeout");
}

/// Once this was a reset, which counts against the host.
#[test]
fn a_body_that_ends_with_its_connection_is_cut_in_http2_too() {
    check("h2-body-close", "200, Truncated");
}

/// Once this was a limit of ours, and the URL was given up.
#[test]
fn a_host_that_asks_for_calm_is_in_trouble() {
    check("h2-goaway-calm", "sent, Reset");
}

/// Once these counted against the host.
#[test]
fn windows_that_are_not_kept_are_no_http() {
    check("h2-window-overflow", "sent, Malformed");
}

/// Once every body that ended in `chunked` was a page, encoded or not, and any other was read until
/// the connection closed.
#[test]
fn transfer_codings_that_nobody_asked_for_are_malformed() {
    check("transfer-gzip", "sent, Malformed");
    check("transfer-twice", "sent, Malformed");
    check("transfer-unknown", "sent, Malformed");
    check("transfer-identity", "200 4\r\npage\r\n0\r\n\r\n");
}

/// "Decoded bytes ≤ cap + 64 KiB and ≤ 100 ms of CPU each."
#[test]
#[expect(clippy::print_stdout, reason = "`./chaos zoo` shows it")]
fn every_bomb_is_stopped_within_a_tenth_of_a_second_of_cpu() {
    let bombs = zoo(|case| {
        case.group == CaseGroup::Coding && case.expect == Expectation::Error("over_limit")
            || case.name == "h2-bomb"
    });
    let mut table = String::new();
    for host in bombs.hosts() {
        let client = client(&bombs);
        // Certificates are made before.
        let spent = run(async {
            let before = cpu();
            let got = client.get(&host.url).await;
            let stopped = ["200, over body", "200, over coding"].contains(&got.said.as_str());
            assert!(stopped, "{}: {}", host.case.name, got.said);
            cpu() - before
        });
        table += &format!("| {} | {:.1} ms |\n", host.case.name, spent.as_secs_f64() * 1e3);
        assert!(spent < Duration::from_millis(100), "{}: {spent:?}", host.case.name);
    }
    println!("{table}");
}
