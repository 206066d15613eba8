//! Policy files: an accepted file is written as the same policy, and a refused one has error
//! messages, but not too many.

use curtsy_core::policy::{
    Policy, read_range, read_size, read_span, write_range, write_size, write_span,
};

use crate::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "policy",
    run,
    seeds: SEEDS,
    dictionary: include_str!("../../dictionaries/policy.dict"),
};

fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    amounts(text.trim());
    match Policy::parse(&text) {
        Ok(policy) => {
            let again = Policy::parse(&policy.to_toml());
            let again = again.unwrap_or_else(|error| panic!("it is refused as written: {error}"));
            assert_eq!(again, policy);
            assert_eq!(again.hash(), policy.hash());
            assert!(policy.diff(&again).is_empty());
            for host in policy.host.keys() {
                let _ = policy.for_host(host);
            }
        }
        Err(error) => {
            assert!(!error.faults.is_empty() && error.faults.len() <= 300);
            assert!(error.faults.iter().all(|fault| !fault.problem.is_empty()));
        }
    }
}

fn amounts(text: &str) {
    if let Some(span) = read_span(text) {
        assert_eq!(read_span(&write_span(span)), Some(span), "`{text}`");
    }
    if let Some(range) = read_range(text) {
        assert_eq!(read_range(&write_range(range)), Some(range), "`{text}`");
    }
    if let Some(size) = read_size(text) {
        assert_eq!(read_size(&write_size(size)), Some(size), "`{text}`");
    }
}

const SEEDS: &[&[u8]] = &[
    b"preset = 'audit'\n[robots]\nttl = '2h'\n[pace]\ndelay = '3s'\n",
    b"preset = 'survey'\nmode = 'standard'\n[identity]\ncontact = 'me@example.org'\n[budget]\npages = 10\n",
    b"[host.'example.org']\ndelay = '10s'\n[host.\"*.example.org\"]\nslots = 1\n",
    b"[body]\ndecoded_max = '10 MiB'\naccept = 'text/html'\n[backoff]\ncurve = 'x'\n",
    b"1h30m", b"200ms-500ms", b"10 MiB", b"patience = 'none'\npatience = 3\n[", b"[robots]\ntll = 1979-05-27\nx = [1, {a = 1}]\n",
];
