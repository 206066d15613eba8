//! Days of a whole fleet, with faults, judged by the servers' own log.
//!
//! Each day is made from its seed: 16 workers, 50 hosts, kills, pauses, losses, steps of the clock. Fifty safety days hold P0 to P15 and that no
//! URL is lost. The liveness days hold P16 too: seeds 1 to 15. `curtsy sim` lives as many more as one likes; a seed that fails there belongs here
//! once it is mended.

use curtsy_sim::{Mode, Spec, simulate};

/// Lives the days of these seeds and gives the requests that their servers read.
fn live(mode: Mode, seeds: impl IntoIterator<Item = u64>) -> u64 {
    let mut requests = 0;
    for seed in seeds {
        let outcome = simulate(&Spec::day(seed, mode));
        if !outcome.clean() {
            let mut report = Vec::new();
            outcome.report.print(&mut report).expect("memory takes it");
            panic!(
                "seed {seed} {mode:?} at step {}: lost {:?}\n{}",
                outcome.steps,
                outcome.lost,
                String::from_utf8_lossy(&report)
            );
        }
        requests += outcome.requests;
    }
    requests
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
            5004, 20026, 30009, 30088, 100_088, 100_224, 100_261, 300_138, 300_200, 300_208,
            300_257, 300_277,
        ],
    );
    live(Mode::Liveness, [26, 48, 58]);
}

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
