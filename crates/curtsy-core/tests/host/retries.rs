//! The fates of URLs that failed.

use std::time::Duration;

use curtsy_core::host::{Fate, HostState, Outcome, Problem, Tries, fate};
use curtsy_core::policy::{Policy, Preset};

use crate::script::{Play, START, at, check, check_with, outcome};

fn policy(preset: Preset) -> Policy {
    Policy::preset(preset)
}

/// Checks the waits before each retry of a URL that always has the outcome `reply` on a host that
/// answers other requests, until the URL is given up.
fn waits(policy: &Policy, reply: &str) -> Vec<u64> {
    let reply = outcome(reply);
    let mut host = HostState::default();
    let (mut waits, mut tries) = (Vec::new(), Tries::default());
    let mut now = START;
    loop {
        let fate = fate(&reply, tries.settled(&host), policy, 7, now);
        let Fate::Retry { at, tries: next } = fate else {
            return waits;
        };
        let wait = at - now - Duration::from_millis(25);
        assert_eq!(wait.subsec_nanos(), 0);
        // The host answers something else before the next try.
        host.last_ok = Some(now + Duration::from_millis(1));
        if next.spent(&host, policy) {
            return waits;
        }
        waits.push(wait.as_secs());
        assert!(waits.len() < 300, "without an end");
        (tries, now) = (next, at);
    }
}

#[test]
fn as_many_retries_as_the_preset_has() {
    let own = ["408", "425", "500", "501", "505", "truncated"];
    let with_host = ["reset", "timeout", "502", "503", "504", "520"];
    let told = ["429", "429 after 1s", "503 after 9s"];
    for reply in own.iter().chain(&with_host).chain(&told) {
        assert_eq!(waits(&policy(Preset::Careful), reply), [2, 4, 8], "{reply}");
        assert_eq!(waits(&policy(Preset::Audit), reply), [1, 1], "{reply}");
        assert_eq!(waits(&policy(Preset::Warehouse), reply), [1, 1, 2, 3, 5], "{reply}");
        assert_eq!(waits(&policy(Preset::Fleet), reply), [2, 4, 8], "{reply}");
        assert_eq!(waits(&policy(Preset::Survey), reply), [1], "{reply}");
        let mut six = policy(Preset::Warehouse);
        six.retry.max = 6;
        assert_eq!(waits(&six, reply), [1, 1, 2, 3, 5, 8], "{reply}");
        six.retry.max = 0;
        assert!(waits(&six, reply).is_empty(), "{reply}");
    }
}

#[test]
fn what_is_never_retried() {
    for preset in Preset::ALL {
        for reply in ["400", "401", "402", "403", "404", "405", "410", "451", "challenge"] {
            assert_eq!(once(*preset, reply, Tries::default()), Fate::Dead, "{reply}");
        }
        for reply in ["ok", "204", "304", "empty"] {
            assert_eq!(once(*preset, reply, Tries::default()), Fate::Done, "{reply}");
        }
    }
}

/// Returns the fate of a URL with the outcome `reply` after these tries.
fn once(preset: Preset, reply: &str, before: Tries) -> Fate {
    fate(&outcome(reply), before, &policy(preset), 7, START)
}

#[test]
fn what_failed_with_its_host_is_in_doubt() {
    for reply in ["reset", "timeout", "502", "503", "504"] {
        // However many tries there were: whether the host was down is not known yet.
        for counted in [0, 1, 3, 200] {
            let before = Tries { counted, ..Tries::default() };
            let Fate::Retry { tries, .. } = once(Preset::Fleet, reply, before) else {
                panic!("{reply} gives the URL up");
            };
            assert_eq!((tries.counted, tries.doubt), (counted + 1, Some(START)));
            assert!(!tries.spent(&HostState::default(), &policy(Preset::Fleet)));
        }
    }
}

#[test]
fn a_doubt_is_settled_by_what_the_host_does_next() {
    let doubted = Tries { counted: 2, doubt: Some(at("10s")), open: false };
    let settled = |last_ok| doubted.settled(&HostState { last_ok, ..HostState::default() });
    for earlier in [None, Some(at("9s")), Some(at("10s"))] {
        assert_eq!(settled(earlier), doubted);
    }
    // The host answered something else since: the failures count as this one's own.
    assert_eq!(settled(Some(at("11s"))), Tries { counted: 2, ..Tries::default() });
}

#[test]
fn the_last_try_waits_for_the_hosts_word() {
    let policy = policy(Preset::Fleet);
    let doubted = |counted| Tries { counted, doubt: Some(at("10s")), open: false };
    let silent = HostState::default();
    let answers = HostState { last_ok: Some(at("11s")), ..HostState::default() };
    for (counted, needs) in [(1, false), (2, false), (3, true), (4, true)] {
        assert_eq!(doubted(counted).needs_word(&silent, &policy), needs, "{counted}");
        assert!(!doubted(counted).needs_word(&answers, &policy), "{counted}");
        assert!(!doubted(counted).spent(&silent, &policy), "{counted}");
        assert_eq!(doubted(counted).spent(&answers, &policy), counted == 4, "{counted}");
    }
}

#[test]
fn the_hosts_word_is_asked_for_by_a_probe_when_the_retry_is_due() {
    let mut play = Play::new("fleet");
    play.play("0s /a reset | 2s25ms /a reset | 6s50ms /a reset");
    play.retry_at.insert("/a".to_owned(), at("14s"));
    play.needs_word.insert("/a".to_owned());
    // Not before the retry, and others are asked as ever.
    check_with(play, "8s /a ? | 8s /b ? | 14s /a ?", "not before 14s: backoff | go | go: HEAD /");
}

#[test]
fn our_own_sides_failure_costs_the_url_nothing() {
    let policy = policy(Preset::Fleet);
    for problem in [Problem::Proxy, Problem::ProxyLogin, Problem::ProxyRefused] {
        let before = Tries { counted: 3, doubt: Some(at("9s")), open: false };
        let outcome = Outcome::Failed(problem);
        let fate = fate(&outcome, before, &policy, 7, START);
        assert!(matches!(fate, Fate::Retry { tries, .. } if tries == before), "{fate:?}");
    }
}

#[test]
fn a_try_never_heard_of_again_counts() {
    let policy = policy(Preset::Survey);
    let host = HostState::default();
    let first = Tries::default().opened();
    assert_eq!((first.counted, first.open), (0, true));
    assert_eq!(first.settled(&host).counted, 1);
    assert!(!first.spent(&host, &policy));
    let second = first.opened();
    assert_eq!((second.counted, second.settled(&host).counted), (1, 2));
    assert!(second.spent(&host, &policy), "one retry, and both were lost");
}

#[test]
fn a_permit_handed_back_costs_the_url_nothing() {
    let tries = Tries { counted: 2, ..Tries::default() };
    assert_eq!(once(Preset::Fleet, "unsent", tries), Fate::Retry { at: START, tries });
}

#[test]
fn a_retry_waits_for_its_url_and_nobody_else() {
    let mut play = Play::new("fleet");
    play.play("0s /a 408");
    play.retry_at.insert("/a".to_owned(), at("2s25ms"));
    check_with(play, "1s /a ? | 1s /b ? | 2s25ms /a ?", "not before 2s25ms: backoff | go | go");
}

#[test]
fn a_retry_that_is_due_sooner_does_not_undercut_the_hosts_wait() {
    let mut play = Play::new("careful");
    play.play("0s /a 429");
    play.retry_at.insert("/a".to_owned(), at("2m"));
    check_with(play, "1m /a ?", "not before 15m25ms: backoff");
}

#[test]
fn robots_are_not_held_up_by_a_urls_retry() {
    let mut play = Play::cold("fleet");
    play.retry_at.insert("/a".to_owned(), at("1m"));
    check_with(play, "0s /a ?", "go: robots");
    check("fleet", "0s ?", "go");
}
