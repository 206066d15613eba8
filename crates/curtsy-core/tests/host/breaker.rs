//! A host that is down: when it counts as such, and how it is probed.

use std::time::Duration;

use curtsy_core::host::{Anew, RequestKind, SlotEnds, Tries};

use crate::script::{Play, START, at, check, check_with, url, written};

/// Five failures a second apart: the last ends at 4.1 s, since a failure without an answer adds 25
/// ms to each start.
const DOWN: &str =
    "0s /a reset | 1s25ms /b 502 | 2s25ms /c timeout | 3s50ms /d 504 | 4s50ms /e reset";

fn down(preset: &str) -> Play {
    let mut play = Play::new(preset);
    play.play(DOWN);
    play
}

#[test]
fn five_failures_in_a_row_open_it() {
    check("fleet", &format!("{DOWN} | 5s /f ?"), "not before 34s75ms: breaker");
    check("fleet", &format!("{DOWN} | 34s75ms /f ?"), "go: HEAD / as probe");
    // Four do not.
    check("fleet", "0s reset | 2s reset | 4s reset | 6s reset | 8s ?", "go");
    // An answer in between starts the count anew.
    check("fleet", "0s reset | 2s reset | 4s reset | 6s reset | 8s 404 | 10s reset | 12s ?", "go");
}

/// It was dialled a handshake before, so that the connection would stand when the wait was over.
#[test]
fn a_host_that_is_down_is_not_dialled_before_the_wait_for_its_probe_is_over() {
    let mut play = down("fleet");
    let page = url("/f");
    for handshakes in [0, 16] {
        for _ in 0..handshakes {
            play.state.note_handshake(Duration::from_millis(400));
        }
        let due = play.state.hand_out_at(&play.scene(&page, at("5s")), SlotEnds::Deadline);
        assert_eq!(written(due), "34s75ms");
        assert_eq!(play.answer("/f", at("34s74ms")), "not before 34s75ms: breaker");
        assert_eq!(play.answer("/f", at("34s75ms")), "go: HEAD / as probe");
    }
}

#[test]
fn what_counts_as_a_failure_of_the_host() {
    let five = |reply: &str| {
        let mut play = Play::new("fleet");
        for n in 0..5 {
            play.soon("/page", START + Duration::from_secs(n), reply);
        }
        play.state.breaker.level > 0
    };
    for reply in ["reset", "timeout", "500", "501", "502", "503", "504", "505", "520", "524", "529"]
    {
        assert!(five(reply), "{reply}");
    }
    for reply in ["ok", "301", "400", "403", "404", "408", "410", "truncated", "challenge"] {
        assert!(!five(reply), "{reply}");
    }
    // Told to wait is never counted.
    assert!(!five("429"));
    assert!(!five("503 after 1s"));
}

/// The host is down from 0 to 2 h. Returns every start in that time, with its URL.
#[test]
fn a_two_hour_outage() {
    let mut play = Play::new("fleet");
    let outage = Duration::from_secs(2 * 3_600);
    let mut starts = Vec::new();
    let tries = Tries { counted: 3, doubt: Some(at("3s")), open: false };
    let mut now = START;
    loop {
        let (next, _) = play.next_start("/page", now);
        if next >= START + outage {
            break;
        }
        starts.push(play.soon("/page", next, "reset"));
        now = next;
        // The URL itself is never given up: its failures may be the host's.
        assert!(!tries.spent(&play.state, &play.policy));
    }
    let times: Vec<_> = starts.iter().map(|(at, _)| written(*at)).collect();
    // Five pages; then each wait and its 25 ms, and from the second probe on the 200 ms in which
    // the probe before may have been sent.
    let first = [
        "0s",
        "1s25ms",
        "2s50ms",
        "3s75ms",
        "4s100ms", // pages
        "34s125ms",
        "1m34s350ms",
        "3m34s575ms",
        "7m34s800ms",
        "12m35s25ms",
        "17m35s250ms",
    ];
    assert_eq!(times[..first.len()], first);
    let (pages, probes) = starts.split_at(5);
    assert!(pages.iter().all(|(_, kind)| *kind == RequestKind::Page));
    assert!(probes.iter().all(|(_, kind)| *kind == RequestKind::Probe));
    for pair in probes[4..].windows(2) {
        assert_eq!(pair[1].0 - pair[0].0, Duration::from_millis(300_225));
    }
    assert_eq!(probes.len(), 26);
    // Each gap is at least the requirement's, for one start each.
    for (pair, least) in probes.windows(2).zip([60, 120, 240, 300]) {
        assert!(pair[1].0 - pair[0].0 >= Duration::from_secs(least));
    }
    // It is back: the first probe after that closes, and pages go on.
    let (back, kind) = play.soon("/page", now, "ok");
    assert_eq!((written(back).as_str(), kind), ("2h2m39s975ms", RequestKind::Probe));
    assert!(play.settled.closed);
    // The URL has its last try before it.
    assert!(!tries.spent(&play.state, &play.policy));
    assert!(!tries.needs_word(&play.state, &play.policy));
    assert_eq!(play.answer("/page", back + Duration::from_secs(1)), "go");
    assert_eq!(play.state.breaker, Default::default());
}

#[test]
fn the_log_line_names_the_wait() {
    let mut play = down("fleet");
    assert_eq!(play.settled.probe_in, Some(Duration::from_millis(30_025)));
    play.play("34s75ms reset");
    assert_eq!(play.settled.probe_in, Some(Duration::from_millis(60_225)));
}

#[test]
fn any_answer_to_the_probe_that_is_not_site_wide_closes() {
    // 501 to `HEAD` is about the method.
    for reply in ["ok", "405", "501", "404", "403", "301", "410", "truncated"] {
        check_with(down("fleet"), &format!("34s75ms {reply} | 36s ?"), "go");
    }
    // 429 closes, and its own wait holds.
    check_with(down("fleet"), "34s75ms 429 | 36s ?", "not before 36s100ms: backoff");
    check_with(down("fleet"), "34s75ms 429 | 36s100ms ?", "go");
    check_with(down("fleet"), "34s75ms 503 after 10s | 36s ?", "not before 44s100ms: backoff");
    for reply in ["503", "502", "500", "reset", "timeout"] {
        check_with(
            down("fleet"),
            &format!("34s75ms {reply} | 36s ?"),
            "not before 1m34s300ms: breaker",
        );
    }
}

#[test]
fn only_the_probe_moves_an_open_breaker() {
    // /slow was under way when the breaker opened: its success says nothing, and its failure only
    // that the host was down later still.
    let script = "0s /slow send | 1s75ms /a reset | 2s100ms /b reset | 3s125ms /c reset | 4s150ms /d reset | 5s175ms /e reset";
    let warehouse = || {
        let mut play = Play::new("warehouse").with(|p| p.pace.adaptive = false);
        play.play(script);
        play
    };
    for (reply, until) in [("ok", "35s200ms"), ("404", "35s200ms"), ("reset", "36s25ms")] {
        check_with(
            warehouse(),
            &format!("6s /slow got {reply} | 7s ?"),
            &format!("not before {until}: breaker"),
        );
    }
    // A refusal that comes late still makes us wait.
    check_with(warehouse(), "6s /slow got 429 after 2m | 7s ?", "not before 2m6s25ms: backoff");
}

#[test]
fn one_probe_at_a_time() {
    // Whatever else is wanted of the host waits for the probe, with two slots as well.
    check_with(down("fleet"), "34s75ms /a send | 34s100ms /b ?", "not before 1m34s300ms: breaker");
    // The probe is out and its wait is over: the slot is what holds the next back, and there is one
    // even where there are two.
    let mut play = Play::cold("warehouse").serving("User-agent: *\nDisallow: /$\n").with(|p| {
        p.breaker.curve.base = Duration::from_secs(1);
        p.breaker.curve.cap = Duration::from_secs(1);
    });
    play.play("0s ok | 1s reset | 3s reset | 5s reset | 7s reset | 9s reset");
    check_with(
        play,
        "11s /a ? | 11s /a send | 15s /b ? | 41s49ms /b ? | 41s50ms /b ?",
        "go as probe | not before 41s50ms: slots | not before 41s50ms: slots | go as probe",
    );
}

#[test]
fn the_wait_counts_from_the_end_of_a_probe_that_takes_its_time() {
    check_with(
        down("fleet"),
        "34s75ms send | 44s75ms got timeout | 45s ?",
        "not before 1m44s100ms: breaker",
    );
}

#[test]
fn a_probe_whose_worker_died_keeps_the_longer_gap() {
    check_with(
        down("fleet"),
        "34s75ms lost | 35s ? | 1m34s300ms ? | 1m34s300ms lost | 1m35s ?",
        "not before 1m34s300ms: breaker | go: HEAD / as probe | not before 3m34s525ms: breaker",
    );
}

#[test]
fn a_probe_handed_back_unsent_costs_nothing() {
    check_with(
        down("fleet"),
        "34s75ms unsent | 34s100ms ? | 34s100ms reset | 35s ?",
        "go: HEAD / as probe | not before 1m34s325ms: breaker",
    );
}

#[test]
fn a_dial_that_fails_counts_and_is_the_probe_when_open() {
    let script = "0s undialled | 1s undialled | 2s undialled | 3s undialled | 4s undialled";
    check("fleet", &format!("{script} | 5s ?"), "not before 34s25ms: breaker");
    check(
        "fleet",
        &format!("{script} | 34s25ms undialled | 35s ? | 1m34s50ms undialled | 1m35s ?"),
        "not before 1m34s50ms: breaker | not before 3m34s75ms: breaker",
    );
}

#[test]
fn the_probe_is_the_next_url_where_robots_forbid_the_root() {
    let play = Play::cold("fleet").serving("User-agent: *\nDisallow: /$\n");
    check_with(
        play,
        "0s ? | 0s ok | 2s reset | 4s reset | 6s reset | 8s reset | 10s reset | 40s25ms ? | 40s25ms 404 | 42s ?",
        "go: robots | go as probe | go",
    );
}

#[test]
fn the_probe_is_robots_where_that_is_past_its_time() {
    let mut play = Play::cold("careful").with(|p| p.pace.adaptive = false);
    play.play("0s 404 | 4s reset | 8s reset | 12s reset | 16s reset | 20s reset");
    play.policy.robots.ttl = Duration::from_secs(30);
    check_with(play, "50s25ms ? | 50s25ms 404 | 54s ?", "go: robots as probe | go");
}

#[test]
fn failures_that_were_ours_are_taken_back() {
    let mut play = down("fleet");
    play.state.forgive(5);
    assert_eq!(play.answer("/page", at("6s")), "go");
    let mut play = Play::new("fleet");
    play.play("0s reset | 2s reset | 4s reset");
    play.state.forgive(2);
    assert_eq!(play.state.breaker.failures, 1);
}

#[test]
fn an_answer_that_is_told_late_does_not_end_a_row_of_later_failures() {
    let failures = "0s /a send | 2s /b reset | 4s /c reset | 6s /d reset | 8s /e reset";
    let then = "10s /f reset | 12s ?";
    // The answer to /a came first and is written last: its worker's store was slow.
    check(
        "warehouse",
        &format!("{failures} | 9s /a got ok since 1s | {then}"),
        "not before 40s25ms: breaker",
    );
    // One that came after them ends the row.
    check("warehouse", &format!("{failures} | 9s /a got ok | {then}"), "go");
}

/// No server on the user's own machine listened, so no server has seen a request: a later crawl
/// keeps its pace and waits for nothing else. A server that was reached keeps its wait.
#[test]
fn ones_own_machine_is_tried_anew_if_nobody_listened() {
    let mut play = Play::new("careful");
    play.play("0s undialled | 3s undialled | 6s undialled | 9s undialled | 12s undialled");
    assert_eq!(play.answer("/page", at("13s")), "not before 42s25ms: breaker");
    play.state = play.state.tried_anew(Anew::OwnMachine, at("13s")).expect("something changes");
    assert_eq!(play.answer("/page", at("13s")), "not before 15s: pace");

    let mut play = Play::new("careful");
    play.play("0s reset | 4s reset | 8s reset | 12s reset | 16s reset");
    assert!(play.answer("/page", at("17s")).ends_with("breaker"));
    assert_eq!(play.state.tried_anew(Anew::OwnMachine, at("17s")), None);
}
