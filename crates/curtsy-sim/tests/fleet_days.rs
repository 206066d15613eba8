//! Days of a whole fleet, with faults, judged by the servers' own log.
//!
//! Each day is made from its seed: 16 workers, 50 hosts, kills, pauses, losses, steps of the clock.
//! Fifty safety days hold P0 to P15, P17 and that no URL is lost. The liveness days hold P16 too:
//! seeds 1 to 15. `curtsy sim` lives as many more as one likes; a seed that fails there belongs
//! here once it is mended.

use curtsy_core::policy::Preset;
use curtsy_sim::web::{Mood, Oddity, RobotsAnswer};
use curtsy_sim::{Mode, Outcome, Set, Spec, endless, simulate};

/// Lives the days of these seeds and gives the requests that their servers read.
fn live(mode: Mode, seeds: impl IntoIterator<Item = u64>) -> u64 {
    let mut requests = 0;
    for seed in seeds {
        let outcome = simulate(&Spec::day(seed, mode));
        clean(&outcome, &format!("seed {seed} {mode:?}"));
        requests += outcome.requests;
    }
    requests
}

/// Panics with the judge's report if manners were broken or a URL was lost.
fn clean(outcome: &Outcome, what: &str) {
    if !outcome.clean() {
        let mut report = Vec::new();
        outcome.report.print(&mut report).expect("memory takes it");
        panic!(
            "{what} at step {}: lost {:?}\n{}",
            outcome.steps,
            outcome.lost,
            String::from_utf8_lossy(&report)
        );
    }
}

macro_rules! days {
    ($($name:ident: $mode:ident $seeds:expr, $requests:expr;)*) => {$(
        #[test]
        fn $name() {
            let requests = live(Mode::$mode, $seeds);
            assert!(requests >= $requests, "{requests} requests");
        }
    )*};
}

days! {
    safety_days_1_to_10: Safety 1..=10, 100_000;
    safety_days_11_to_20: Safety 11..=20, 100_000;
    safety_days_21_to_30: Safety 21..=30, 100_000;
    safety_days_31_to_40: Safety 31..=40, 100_000;
    safety_days_41_to_50: Safety 41..=50, 100_000;
    liveness_days: Liveness 1..=15, 100_000;
}

/// Days of longer runs that failed once, each by a bug of its own.
#[test]
fn days_that_failed_once_hold() {
    live(
        Mode::Safety,
        [
            632, 806, 5004, 20026, 30009, 30088, 100_088, 100_224, 100_261, 300_138, 300_200,
            300_208, 300_257, 300_277, 300_510, 500_171, 710_031, 710_268, 720_129, 730_036,
            730_296, 730_299, 730_362, 740_007, 740_013, 740_428, 1_000_250,
        ],
    );
    live(Mode::Liveness, [26, 48, 58, 305, 2_000_145]);
}

/// A store that lost everything and could not be reached right after: whoever noticed the loss in
/// time must not go on as soon as it is back, before those who know of an outage could say so.
#[test]
fn the_quiet_of_an_epoch_waits_for_a_store_that_is_away() {
    emptied_and_away(Set { mood: Mood::Status(504), ..POLITE });
}

/// Whoever heard a stop order gives it back to a store that lost it.
#[test]
fn a_stop_order_outlives_the_store_that_had_it() {
    let outcome = emptied_and_away(Set { stop_after: Some(300), ..POLITE });
    assert!(outcome.requests > 1_000, "before and after the order: {}", outcome.requests);
}

/// Hours in which the store loses everything and goes away, again and again.
fn emptied_and_away(set: Set) -> Outcome {
    let seconds = 4 * 3600;
    let policy = Some(endless(Preset::Survey));
    let set = Some(Set { away: Some(60), emptied: true, ..set });
    let day = Spec::day(1, Mode::Safety);
    let outcome = simulate(&Spec { seconds, faults: false, policy, set, ..day });
    clean(&outcome, "a store that is emptied and away");
    outcome
}

/// Hosts that are well, and nothing happens to them.
const POLITE: Set = Set {
    mood: Mood::Polite,
    mood_after: 60,
    robots: RobotsAnswer::Status(404),
    think: (1_000, 60_000),
    handshake: (500, 30_000),
    late: 12_000,
    one_address: false,
    oddity: Oddity::None,
    stop_after: None,
    away: None,
    emptied: false,
    proxy_shut: None,
};

/// The same seed gives the same day, to the last exchange and the last poll.
#[test]
fn a_day_replays_exactly() {
    let mut spec = Spec::day(7, Mode::Safety);
    spec.seconds = 3600;
    let (once, again) = (simulate(&spec), simulate(&spec));
    assert_eq!((once.steps, once.requests, once.rows), (again.steps, again.requests, again.rows));
    assert_eq!(once.counts, again.counts);
    assert_eq!(once.faults, again.faults);
}
