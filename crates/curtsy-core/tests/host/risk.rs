//! Friction and the risk score of the survey preset.

use std::time::Duration;

use curtsy_core::host::{Gate, RiskLevel};
use curtsy_core::policy::Mode;

use crate::script::{Play, START, at, check, check_with};

const DAY: Duration = Duration::from_secs(86_400);

/// Returns a survey whose host has this score at the start.
fn scored(score: f32) -> Play {
    let mut play = Play::new("survey");
    play.state.risk.score = score;
    play.state.risk.as_of = Some(START);
    play
}

#[test]
fn what_friction_adds() {
    let check = |reply: &str, expected: u8| {
        let mut play = Play::new("survey");
        play.play(&format!("0s {reply}"));
        assert_eq!(play.state.risk_score(&play.policy, START), expected, "{reply}");
    };
    check("403", 20);
    check("429", 30);
    check("503", 15);
    check("503 after 5s", 15);
    check("challenge", 25);
    check("empty", 10);
    check("ok", 0);
    check("404", 0);
    check("500", 0);
    check("reset", 0);
}

#[test]
fn scores_add_up_to_100_at_most() {
    let mut play = Play::new("survey").with(|p| p.mode = Some(Mode::UserAssisted));
    let mut now = START;
    for expected in [30, 60, 90, 100, 100] {
        now = play.soon("/page", now, "429").0;
        assert_eq!(play.state.risk_score(&play.policy, now), expected);
    }
}

#[test]
fn ten_percent_a_day_continuously_rounded_when_read() {
    let play = scored(80.0);
    let score = |after: Duration| play.state.risk_score(&play.policy, START + after);
    let days: Vec<_> = (0..8).map(|d| score(DAY * d)).collect();
    // 80, 72, 64.8, 58.32, 52.488, 47.2392, 42.51528, 38.263752
    assert_eq!(days, [80, 72, 65, 58, 52, 47, 43, 38]);
    assert_eq!(score(DAY / 2), 76); // 80 × √0.9 = 75.89
    assert_eq!(score(DAY / 24), 80); // 79.65
    assert_eq!(score(DAY * 365), 0);
    // Reading writes nothing: the score that is kept is the one of its moment.
    assert_eq!(play.state.risk.score, 80.0);
}

#[test]
fn new_friction_adds_to_the_decayed_score() {
    let mut play = scored(80.0);
    play.play("72h 403");
    assert_eq!(play.state.risk_score(&play.policy, at("72h")), 78); // 58.32 + 20
}

#[test]
fn levels_begin_where_the_requirement_has_them() {
    let levels = [(0, 20), (21, 50), (51, 80), (81, 100)].map(|(low, high)| {
        assert_eq!(RiskLevel::of(low), RiskLevel::of(high));
        RiskLevel::of(low)
    });
    use RiskLevel::{Critical, High, Low, Medium};
    assert_eq!(levels, [Low, Medium, High, Critical]);
}

#[test]
fn risk_raises_the_delay() {
    let next = |score, mode, expected: &str| {
        let mut play = scored(score);
        play.policy = play.policy.with_mode(mode);
        check_with(play, "0s ok | 0s /b ?", expected);
    };
    next(20.0, Mode::Light, "not before 800ms: pace");
    next(20.0, Mode::Standard, "not before 1s: pace");
    next(20.4, Mode::Light, "not before 800ms: pace"); // rounded when read: 20
    next(20.5, Mode::Light, "not before 1s200ms: pace");
    next(50.0, Mode::Standard, "not before 1s200ms: pace");
    next(51.0, Mode::Standard, "not before 2s: pace");
    next(80.0, Mode::Light, "not before 2s: pace");
}

#[test]
fn critical_stops_automated_modes_and_not_the_user() {
    for mode in [Mode::Light, Mode::Standard] {
        let mut play = scored(81.0);
        play.policy = play.policy.with_mode(mode);
        check_with(play, "0s ?", "never: risk");
    }
    let mut play = scored(100.0);
    play.policy = play.policy.with_mode(Mode::UserAssisted);
    check_with(play, "0s ok | 0s /b ?", "not before 2s: pace");
    // After a day it may be tried again: 81 × 0.9 = 72.9.
    check_with(scored(81.0), "24h ?", "go");
    // Other presets keep the score, and it decides nothing.
    let mut play = Play::new("audit");
    play.state.risk = scored(100.0).state.risk;
    check_with(play, "0s ?", "go");
}

#[test]
fn three_signals_in_a_row_stop_an_automated_run() {
    check("survey", "0s empty | 2s empty | 4s ? | 4s 503 | 30s ?", "go | never: risk");
    let mut play = Play::new("survey");
    play.play("0s empty | 2s empty | 4s empty");
    assert_eq!(play.reason("/page", at("6s"), Gate::Risk), "EarlyStop { streak: 3 }");
    // An ordinary answer in between breaks the row; a failure without an answer neither breaks nor
    // counts.
    check("survey", "0s empty | 2s empty | 4s ok | 6s empty | 8s ?", "go");
    check("survey", "0s empty | 2s empty | 4s reset | 6s empty | 8s ?", "never: risk");
    // The user goes on.
    let user = Play::new("survey").with(|p| p.mode = Some(Mode::UserAssisted));
    check_with(user, "0s empty | 2s empty | 4s empty | 8s ?", "go");
}

#[test]
fn an_earlier_runs_signals_do_not_stop_the_next() {
    let mut play = Play::new("survey");
    play.play("0s empty | 2s empty | 4s empty");
    play.job.started_at = at("1h");
    assert_eq!(play.answer("/page", at("1h")), "go");
}

/// Two signals of an earlier run and three of this one are three in a row in this run.
#[test]
fn a_row_that_began_before_the_run_still_stops_it() {
    let mut play = Play::new("survey");
    play.play("0s empty | 2s empty");
    play.job.started_at = at("1h");
    check_with(play, "1h empty | 1h2s empty | 1h4s ? | 1h4s empty | 1h6s ?", "go | never: risk");
}
