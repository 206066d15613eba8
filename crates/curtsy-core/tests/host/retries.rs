//! What becomes of a URL that failed.

use std::time::Duration;

use curtsy_core::host::{Fate, Tries, fate};
use curtsy_core::policy::{Policy, Preset};

use crate::script::{Play, START, at, check, check_with, outcome};

fn policy(preset: Preset) -> Policy {
    Policy::preset(preset)
}

/// The waits before each retry of a URL that always comes to `reply`, until it is given up.
fn waits(preset: Preset, reply: &str) -> Vec<u64> {
    let policy = policy(preset);
    let mut waits = Vec::new();
    let mut counted = 0;
    while let Fate::Retry { at, tries } = fate(&outcome(reply), &policy, 7, counted, START) {
        let wait = at - START - Duration::from_millis(25);
        assert_eq!(wait.subsec_nanos(), 0);
        waits.push(wait.as_secs());
        assert_eq!((tries.counted, tries.doubt, tries.open), (counted + 1, None, false));
        counted = tries.counted;
        assert!(waits.len() < 50);
    }
    assert_eq!(fate(&outcome(reply), &policy, 7, counted, START), Fate::Dead);
    waits
}

#[test]
fn as_many_retries_as_the_preset_has() {
    for reply in ["408", "425", "500", "501", "505", "truncated"] {
        assert_eq!(waits(Preset::Careful, reply), [2, 4, 8]);
        assert_eq!(waits(Preset::Audit, reply), [1, 1]);
        assert_eq!(waits(Preset::Warehouse, reply), [1, 1, 2, 3, 5]);
        assert_eq!(waits(Preset::Fleet, reply), [2, 4, 8]);
        assert_eq!(waits(Preset::Survey, reply), [1]);
    }
}

#[test]
fn what_is_never_retried() {
    for preset in Preset::ALL {
        for reply in ["400", "401", "402", "403", "404", "405", "410", "451", "challenge"] {
            let fate = fate(&outcome(reply), &policy(*preset), 7, 0, START);
            assert_eq!(fate, Fate::Dead, "{reply}");
        }
        for reply in ["ok", "204", "304", "empty"] {
            let fate = fate(&outcome(reply), &policy(*preset), 7, 0, START);
            assert_eq!(fate, Fate::Done, "{reply}");
        }
    }
}

#[test]
fn what_failed_with_its_host_is_in_doubt() {
    for reply in ["reset", "timeout", "502", "503", "504", "429", "503 after 9s"] {
        // Whatever was counted before, no outage uses tries up.
        for counted in [0, 1, 3, 200] {
            let fate = fate(&outcome(reply), &policy(Preset::Fleet), 7, counted, START);
            let Fate::Retry { tries, .. } = fate else {
                panic!("{reply} gives the URL up");
            };
            assert_eq!((tries.counted, tries.doubt), (counted, Some(START)));
        }
    }
}

#[test]
fn a_doubt_is_settled_by_the_hosts_next_ordinary_answer() {
    let doubted = Tries { counted: 1, doubt: Some(at("10s")), open: false };
    assert_eq!(doubted.settled(None), 1);
    assert_eq!(doubted.settled(Some(at("9s"))), 1);
    assert_eq!(doubted.settled(Some(at("10s"))), 1);
    // The host answered another URL since: the failure was this one's own.
    assert_eq!(doubted.settled(Some(at("11s"))), 2);
}

#[test]
fn a_url_that_fails_on_a_host_that_answers_is_given_up() {
    for preset in Preset::ALL {
        let policy = policy(*preset);
        let mut tries = Tries::default();
        let mut last_ok = None;
        let mut n = 0;
        while !tries.spent(last_ok, &policy) {
            n += 1;
            let now = START + Duration::from_secs(60 * n);
            let counted = tries.settled(last_ok);
            let Fate::Retry { tries: next, .. } =
                fate(&outcome("timeout"), &policy, 7, counted, now)
            else {
                panic!("not by a single time-out");
            };
            tries = next;
            last_ok = Some(now + Duration::from_secs(1));
        }
        assert_eq!(n, u64::from(policy.retry.max) + 1, "{}", preset.name());
    }
}

#[test]
fn a_try_never_heard_of_again_counts() {
    let policy = policy(Preset::Survey);
    let first = Tries::default().opened();
    assert_eq!((first.counted, first.open), (0, true));
    assert_eq!(first.settled(None), 1);
    assert!(!first.spent(None, &policy));
    let second = first.opened();
    assert_eq!((second.counted, second.settled(None)), (1, 2));
    assert!(second.spent(None, &policy), "one retry, and both were lost");
}

#[test]
fn a_permit_handed_back_costs_the_url_nothing() {
    let fate = fate(&outcome("unsent"), &policy(Preset::Fleet), 7, 2, START);
    let tries = Tries { counted: 2, ..Tries::default() };
    assert_eq!(fate, Fate::Retry { at: START, tries });
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
