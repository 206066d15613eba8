//! Requests at the same time, stop orders, and a new epoch of the store.

use curtsy_core::host::{Action, Ask, AskKind, Gate, LeaseId, Observation, Reserved, SlotEnds};
use curtsy_core::time::Time;

use crate::script::{Play, at, check, outcome, url, written};

#[test]
fn one_slot_means_one_at_a_time() {
    check(
        "careful",
        "0s /a send | 4s /b ? | 4s /a got ok | 4s /b ?",
        "not before 30s200ms: slots | go",
    );
}

#[test]
fn two_slots_mean_two() {
    check(
        "warehouse",
        "0s /a send | 2s /b send | 4s /c ? | 4s /a got ok | 4s /c ?",
        "not before 30s50ms: slots | go",
    );
}

#[test]
fn one_url_is_fetched_once_at_a_time() {
    check("warehouse", "0s /a send | 2s /a ? | 2s /b ?", "not before 30s50ms: slots | go");
    let mut play = Play::new("warehouse");
    play.play("0s /a send");
    assert_eq!(play.reason("/a", at("2s"), Gate::Slots), "SingleFlight");
    assert_eq!(play.reason("/b", at("2s"), Gate::Slots), "Clear");
}

#[test]
fn a_lease_runs_out_by_itself() {
    check(
        "careful",
        "0s /a lost | 30s199ms999us /b ? | 30s200ms /b ?",
        "not before 30s200ms: slots | go",
    );
}

/// A worker without any of the slots checks again after a second, then ever less often. A worker
/// with all of them expects the end of a lease.
#[test]
fn slots_of_others_are_looked_at_again_soon() {
    let mut play = Play::new("careful");
    play.play("0s /a send");
    (0..16).for_each(|_| play.state.note_handshake(std::time::Duration::from_millis(120)));
    let page = url("/b");
    let scene = play.scene(&page, at("4s"));
    assert_eq!(written(play.state.hand_out_at(&scene, SlotEnds::Deadline)), "30s");
    // It may have been sent at 200 ms: it has taken so long, and may take as long again.
    assert_eq!(written(play.state.hand_out_at(&scene, SlotEnds::Likely)), "7s800ms");
    let scene = play.scene(&page, at("29s500ms"));
    assert_eq!(written(play.state.hand_out_at(&scene, SlotEnds::Likely)), "30s");
    // What the host itself asks for is waited for.
    let mut play = Play::new("careful");
    play.play("0s 429");
    let scene = play.scene(&page, at("1s"));
    assert_eq!(
        play.state.hand_out_at(&scene, SlotEnds::Likely),
        play.state.hand_out_at(&scene, SlotEnds::Deadline)
    );
    assert!(play.state.hand_out_at(&scene, SlotEnds::Likely) > at("5m"));
}

/// Without a delay nothing is kept apart, not even from a start whose time is not known yet.
#[test]
fn without_a_delay_the_second_slot_is_free_at_once() {
    let mut play = Play::new("warehouse");
    play.policy.pace.delay_min = std::time::Duration::ZERO;
    play.policy.pace.delay_max = std::time::Duration::ZERO;
    play.play("0s /a send");
    assert_eq!(play.answer("/b", at("0s")), "go");
}

#[test]
fn slot_timeout_after_ten_seconds_in_audit() {
    let mut play = Play::new("audit");
    play.play("0s /a send | 1s /b send");
    play.slot_since.insert("/c".to_owned(), at("2s"));
    assert_eq!(play.reason("/c", at("11s999ms"), Gate::Slots), "Taken { in_flight: 2 }");
    assert_eq!(play.reason("/c", at("12s"), Gate::Slots), "Timeout");
    assert_eq!(play.answer("/c", at("12s")), "not before 30s50ms: slots");
    // No other preset gives up.
    let mut play = Play::new("warehouse");
    play.play("0s /a send | 2s /b send");
    play.slot_since.insert("/c".to_owned(), at("2s"));
    assert_eq!(play.reason("/c", at("29s"), Gate::Slots), "Taken { in_flight: 2 }");
}

#[test]
fn a_stop_order_parks_the_host_until_a_person_lifts_it() {
    let mut play = Play::new("careful");
    play.stopped = true;
    assert_eq!(play.answer("/page", at("0s")), "not before ever: stop");
    assert_eq!(play.answer("/page", at("1000h")), "not before ever: stop");
    play.stopped = false;
    assert_eq!(play.answer("/page", at("1000h")), "go");
    // Before robots.txt, too.
    let mut cold = Play::cold("careful");
    cold.stopped = true;
    assert_eq!(cold.answer("/page", at("0s")), "not before ever: stop");
}

#[test]
fn a_store_that_began_anew_counts_every_host_as_just_started() {
    let mut play = Play::new("careful");
    play.floor = Some(at("10s"));
    play.quiet_until = Some(at("40s"));
    assert_eq!(play.answer("/page", at("11s")), "not before 40s: pace");
    assert_eq!(play.reason("/page", at("11s"), Gate::Pace), "StoreRestarted");
    assert_eq!(play.answer("/page", at("40s")), "go");
    // Without the quiet, the floor alone.
    play.quiet_until = None;
    assert_eq!(play.answer("/page", at("11s")), "not before 13s: pace");
}

/// The delay is longer than the quiet time. It must not be forgotten when the end of the quiet time
/// is near enough to prepare a turn.
#[test]
fn the_quiet_does_not_hide_a_longer_delay() {
    let mut play = Play::cold("careful").serving("User-agent: *\nCrawl-delay: 120\n");
    play.play("0s ok");
    play.floor = Some(at("10s"));
    play.quiet_until = Some(at("40s"));
    assert_eq!(play.answer("/page", at("39s990ms")), "not before 2m10s: pace");
    // And no turn is booked for it.
    let booked = reserve(&play, at("39s990ms"), LeaseId(9)).map(|r| r.permit.turn().at());
    assert_eq!(booked, None);
}

#[test]
fn a_lease_stays_from_the_booking_to_the_end_of_the_exchange() {
    let play = Play::new("careful");
    let reserved = reserve(&play, at("0s"), LeaseId(9)).expect("may be asked");
    let turn = reserved.permit.into_turn();
    assert_eq!((turn.lease().id, turn.send_by()), (LeaseId(9), at("200ms")));
    assert!(reserved.state.lease(LeaseId(9)).is_some());
    let page = url("/page");
    let observed = |ended| {
        let seen = Observation {
            outcome: outcome("ok"),
            sent: Some(at("0s")),
            first_byte: Some(at("1s")),
            latency: None,
            robots: None,
            ended,
        };
        reserved.state.observe(&turn, &seen, &play.scene(&page, at("1s"))).0
    };
    assert!(observed(None).lease(LeaseId(9)).is_some(), "the body is still to come");
    assert!(observed(Some(at("1s"))).lease(LeaseId(9)).is_none());
}

/// Books `/page`, if its approach may be booked.
fn reserve(play: &Play, now: Time, id: LeaseId) -> Option<Reserved> {
    let page = url("/page");
    let ask = Ask {
        url: &page,
        kind: AskKind::Page,
        charged: false,
        fresh_until: None,
        retry_at: None,
        tries: 0,
        needs_word: false,
        slot_since: None,
    };
    let Action::Approach(approach) = play.decide("/page", now).action else {
        return None;
    };
    play.state.reserve(&approach, &ask, &play.scene(&page, now), id).ok()
}
