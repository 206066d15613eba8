//! New connections to a host: P17.

use curtsy_judge::Rule;

use crate::notation::{check, check_excused, judged, printed};

#[test]
fn p17_keeps_new_connections_a_delay_apart() {
    check("careful", "0s accept=1 | 3s accept=2 | 6s accept=3", "clean");
    check("careful", "0s accept=1 | 2.999999s accept=2", "P17");
    // Whatever became of the one before: refused, reset, closed by either side.
    check("careful", "0s accept=1 | 1ms close=1 | 20ms accept=2", "P17");
    check("careful", "0s accept=1 | 1ms leave=1 | 20ms accept=2", "P17");
    let reset = "0s accept=1 | 1ms robots none conn=1 | 2ms close=1";
    check("careful", &format!("{reset} | 20ms accept=2"), "P17");
    check("careful", &format!("{reset} | 3s accept=2"), "clean");
    // One pace for all spellings and ports of a host; two hosts have two.
    check("careful", "0s accept=1 | 1s accept=2 host=A.TEST.", "P17");
    check("careful", "0s accept=1 | 1s accept=2 host=b.test", "clean");
    check("careful delay=0s", "0s accept=1 | 0s accept=2", "clean");
    check("careful own-site", "0s accept=1 host=own.test | 0s accept=2 host=own.test", "clean");
    // A connection that carries many requests is one connection.
    check("careful", "0s accept=1 | 0s robots ok conn=1 | 3s GET /a 200 conn=1", "clean");
}

#[test]
fn p17_knows_the_crawl_delay() {
    let slow = "0s accept=1 | 0s robots ok conn=1 body=Crawl-delay:10";
    check("careful", &format!("{slow} | 10s accept=2"), "clean");
    check("careful", &format!("{slow} | 9s accept=2"), "P17");
    // What was served less than δ ago need not be known.
    check("careful", "0s accept=1 | 3s robots ok body=Crawl-delay:10 | 3.25s accept=2", "clean");
    check("careful", "0s accept=1 | 3s robots ok body=Crawl-delay:10 | 3.26s accept=2", "P17");
    check_excused("careful", &format!("{slow} | 1s store-loss | 9s accept=2"), "clean", "P17");
}

/// Two slots, so that one connection is idle while another is new.
#[test]
fn p17_allows_one_reconnect_for_a_request_that_an_idle_connection_lost() {
    let two = "0s accept=1 | 0s robots ok conn=1 | 3s accept=2 | 3s GET /a 200 conn=2";
    let lost = format!("{two} | 3.9s close=1");
    check("careful", &format!("{lost} | 4s accept=3"), "clean");
    check("careful", &format!("{two} | 4s accept=3"), "P17");
    // The client closed it itself: nothing was lost.
    check("careful", &format!("{two} | 3.9s leave=1 | 4s accept=3"), "P17");
    // One reconnect, and the next connection is a delay after it.
    check("careful", &format!("{lost} | 4s accept=3 | 4.1s accept=4"), "P17");
    check("careful", &format!("{lost} | 4s accept=3 | 6.9s accept=4"), "P17");
    check("careful", &format!("{lost} | 4s accept=3 | 7s accept=4"), "clean");
    // Two idle connections are two reconnects, but their requests were a delay apart.
    let both = format!("{lost} | 3.9s close=2");
    check("careful", &format!("{both} | 4s accept=3 | 4.1s accept=4"), "P17");
    check("careful", &format!("{both} | 4s accept=3 | 7s accept=4"), "clean");
    // A connection that was not idle lost no request by idling: it was reset, or never used.
    let busy = "0s accept=1 | 0s robots ok conn=1 | 3s accept=2 | 3s GET /a none took=1s conn=2";
    check("careful", &format!("{busy} | 4s close=2 | 4s accept=3"), "P17");
    let unused = "0s accept=1 | 3s accept=2 | 3.9s close=1 | 4s accept=3";
    check("careful", unused, "P17");
    // An old loss was made good by the next connection.
    check("careful", &format!("{lost} | 9s accept=3 | 9.1s accept=4"), "P17");
}

#[test]
fn p17_is_not_judged_where_the_log_does_not_show_enough() {
    let late = judged("careful", "0s accept=1 | 3s accept=2 late | 5s accept=3 | 8s accept=4");
    let tally = late.rule(Rule::P17);
    assert_eq!((tally.judged, tally.violations, tally.not_judged), (1, 0, 2));
    let unknown = judged("careful", "0s accept=1 host=? | 0s accept=2 host=?");
    let tally = unknown.rule(Rule::P17);
    assert_eq!((tally.judged, tally.violations, tally.not_judged), (0, 0, 2));
    let says = "note: 2 connections without a request, of an unknown host: not judged";
    assert!(printed(&unknown).contains(says), "{}", printed(&unknown));
    let without = judged("careful", "0s robots ok | 3s GET /a 200");
    let says = "note: the log holds no accepted connections: P17 is not judged";
    assert!(printed(&without).contains(says), "{}", printed(&without));
}

#[test]
fn p17_says_what_happened() {
    let report = judged("careful", "0s accept=1 | 2s accept=2");
    let first = &report.first[0];
    assert_eq!(first.what, "connected 2 s after the connection before, the delay is 3 s");
    let lines: Vec<String> = first.lines().collect();
    assert_eq!(
        lines,
        [
            r#"{"accept":0,"conn":1,"port":80,"host":"a.test"}"#,
            r#"{"accept":2000000,"conn":2,"port":80,"host":"a.test"}"#
        ]
    );
}
