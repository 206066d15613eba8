//! Waits that a host demands, and refusals.

use std::time::Duration;

use crate::script::{Play, START, at, check, check_with, written};

/// Checks the waits after this many refusals in a row, each requested again as soon as possible.
fn waits(preset: &str, replies: &[&str]) -> Vec<Duration> {
    let mut play = Play::new(preset).with(|p| {
        p.pace.adaptive = false;
        p.risk.active = false;
        (p.pace.delay_min, p.pace.delay_max) = (Duration::ZERO, Duration::ZERO);
    });
    let mut now = START;
    let mut waits = Vec::new();
    for reply in replies {
        now = play.soon("/page", now, reply).0;
        waits.push(play.next_start("/page", now).0 - now - Duration::from_millis(25));
    }
    waits
}

fn secs(preset: &str, replies: &[&str]) -> Vec<u64> {
    let waits = waits(preset, replies);
    assert!(waits.iter().all(|w| w.subsec_nanos() == 0), "{waits:?}");
    waits.iter().map(Duration::as_secs).collect()
}

#[test]
fn a_second_429_doubles_the_slowdown() {
    check("careful", "0s 429 | 15m ? | 15m25ms ?", "not before 15m25ms: backoff | go");
    check(
        "careful",
        "0s 429 | 15m25ms 429 | 44m ? | 45m50ms ?",
        "not before 45m50ms: backoff | go",
    );
}

#[test]
fn careful_doubles_from_15_minutes_to_24_hours() {
    let minutes: Vec<_> = secs("careful", &["429"; 10]).iter().map(|s| s / 60).collect();
    assert_eq!(minutes, [15, 30, 60, 120, 240, 480, 960, 1440, 1440, 1440]);
}

#[test]
fn a_403_counts_the_same_in_careful_and_not_elsewhere() {
    assert_eq!(secs("careful", &["403", "429", "403"]), [900, 1800, 3600]);
    for preset in ["audit", "warehouse", "fleet"] {
        let mut play = Play::new(preset);
        play.play("0s 403");
        assert_eq!(play.state.backoff, Default::default(), "{preset}");
    }
}

#[test]
fn warehouse_waits_by_fibonacci() {
    let expected = [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 600, 600];
    assert_eq!(secs("warehouse", &["429"; 16]), expected);
    assert_eq!(secs("audit", &["429"; 16]), expected);
    assert_eq!(secs("survey", &["429"; 2]), [1, 1]);
}

#[test]
fn fleet_doubles_from_2_to_300_seconds() {
    assert_eq!(secs("fleet", &["429"; 10]), [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
}

#[test]
fn jitter_lengthens_by_10_to_20_percent_never_passes_the_cap_and_never_shrinks() {
    for seed in 0..200 {
        let mut play = Play::new("careful").with(|p| {
            p.pace.adaptive = false;
            p.backoff.curve.jitter_percent = (10, 20);
        });
        play.seed = seed;
        let (mut now, mut before) = (START, Duration::ZERO);
        for n in 0..12 {
            now = play.soon("/page", now, "429").0;
            let wait = play.next_start("/page", now).0 - now - Duration::from_millis(25);
            let plain = Duration::from_secs(900) * 2_u32.pow(n);
            let cap = Duration::from_secs(86_400);
            assert!(wait >= plain.mul_f64(1.1).min(cap), "seed {seed}: {wait:?} after {n}");
            assert!(wait <= plain.mul_f64(1.2).min(cap), "seed {seed}: {wait:?} after {n}");
            assert!(wait >= before, "seed {seed}: {wait:?} after {before:?}");
            before = wait;
        }
    }
}

#[test]
fn a_longer_retry_after_is_a_floor() {
    check("careful", "0s 429 after 2h | 1h ?", "not before 2h25ms: backoff");
    check("fleet", "0s 429 after 2h | 1h ?", "not before 2h25ms: backoff");
    // Above every cap of ours, too.
    check("fleet", "0s 429 after 48h | 24h ?", "not before 48h25ms: backoff");
    check("careful", "0s 403 after 20m | 1m ?", "not before 20m25ms: backoff");
}

#[test]
fn a_shorter_one_does_not_undercut_our_own() {
    check("careful", "0s 429 after 5s | 1m ?", "not before 15m25ms: backoff");
    check("fleet", "0s 429 after 1s | 1s500ms ?", "not before 2s25ms: backoff");
}

#[test]
fn waits_of_a_streak_never_shrink() {
    // After an hour was asked for once, the next refusal does not wait for less.
    assert_eq!(secs("fleet", &["429 after 1h", "429", "429 after 1s"]), [3600; 3]);
}

#[test]
fn a_503_with_retry_after_is_told_to_wait() {
    check("fleet", "0s 503 after 60s | 30s ?", "not before 1m25ms: backoff");
    let mut play = Play::new("fleet");
    play.play("0s 503 after 60s");
    assert_eq!(play.state.breaker.failures, 0);
    // Without a value it is a failure of the host, and no wait of its own.
    check("fleet", "0s 503 | 1s ?", "go");
}

#[test]
fn a_success_granted_after_the_wait_clears() {
    check("careful", "0s 429 | 15m25ms ok | 16m 429 | 17m ?", "not before 31m25ms: backoff");
    // A 404 is an ordinary answer, a 403 is not; neither is a challenge.
    check("careful", "0s 429 | 15m25ms 404 | 16m 429 | 17m ?", "not before 31m25ms: backoff");
    check("careful", "0s 429 | 15m25ms challenge | 16m 429 | 17m ?", "not before 46m25ms: backoff");
    // A failure in between clears nothing.
    check("careful", "0s 429 | 15m25ms reset | 16m 429 | 17m ?", "not before 46m25ms: backoff");
}

#[test]
fn a_success_that_was_under_way_clears_nothing() {
    let script = "0s /slow send | 2s /a 429 | 2s500ms /slow got ok | 3s ?";
    check("audit", script, "not before 3s25ms: backoff");
    check(
        "audit",
        &format!("{script} | 3s25ms /a 429 | 3s500ms ? | 4s50ms 429 | 5s ?"),
        "not before 3s25ms: backoff | not before 4s50ms: backoff | not before 6s75ms: backoff",
    );
}

#[test]
fn two_refusals_at_once_count_once() {
    let mut play = Play::new("audit");
    play.play("0s /a send | 1s /b send | 2s /a got 429 | 2s100ms /b got 429");
    assert_eq!(play.state.backoff.streak, 1);
    // The later one counts from its own end.
    assert_eq!(play.answer("/c", at("2s200ms")), "not before 3s125ms: backoff");
}

#[test]
fn a_refusal_told_twice_counts_once() {
    let mut play = Play::new("fleet");
    play.play("0s send | 1s told 429 after 10s");
    assert_eq!(play.answer("/b", at("2s")), "not before 30s200ms: slots");
    assert_eq!(written(play.state.backoff.until.unwrap()), "11s25ms");
    play.play("3s got 429 after 10s");
    assert_eq!(play.state.backoff.streak, 1);
    assert_eq!(play.answer("/b", at("4s")), "not before 13s25ms: backoff");
}

/// The second of two refusals in flight demands a longer wait than the first caused.
#[test]
fn the_longest_retry_after_of_two_at_once_holds() {
    check(
        "audit",
        "0s /a send | 1s /b send | 2s /a got 429 | 2s100ms /b got 429 after 60s | 3s ?",
        "not before 1m2s125ms: backoff",
    );
    check(
        "audit",
        "0s /a send | 1s /b send | 2s /a got 429 after 60s | 2s100ms /b got 429 | 3s ?",
        "not before 1m2s125ms: backoff",
    );
    // And the next wait of the streak is not shorter.
    check(
        "audit",
        "0s /a send | 1s /b send | 2s /a got 429 | 2s100ms /b got 429 after 60s | 1m2s125ms 429 | 1m3s ?",
        "not before 2m2s150ms: backoff",
    );
}

/// A refusal of a request that was granted before the wait, after a success has cleared the wait,
/// counts all the same.
#[test]
fn a_refusal_that_comes_after_the_clearing_success_still_waits() {
    check(
        "audit",
        "0s /slow send | 1s /a 429 | 2s25ms /b ok | 2s500ms /slow got 429 | 3s ?",
        "not before 3s525ms: backoff",
    );
    // However many refusals there were meanwhile.
    check(
        "audit",
        "0s /slow send | 1s /a 429 | 2s25ms /b 429 | 3s50ms /c ok | 4s /slow got 429 | 4s500ms ?",
        "not before 5s25ms: backoff",
    );
}

#[test]
fn a_refusal_heard_after_its_lease_ran_out_still_counts() {
    let mut play = Play::new("fleet");
    // The lease of /slow ended at 30.2 s, and the next grant swept it out.
    check_with(
        {
            play.play("0s /slow send | 31s /b ok");
            play
        },
        "33s /slow got 429 after 60s | 34s ?",
        "not before 1m33s25ms: backoff",
    );
}
