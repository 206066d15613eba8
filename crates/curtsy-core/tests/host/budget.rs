//! The budget of a job.

use curtsy_core::host::Gate;

use crate::script::{Play, at, check, check_with};

#[test]
fn two_hundred_pages_and_not_one_more() {
    let mut play = Play::new("audit");
    let mut now = at("0s");
    for n in 0..200 {
        let path = format!("/{n}");
        now = play.soon(&path, now, "ok").0;
    }
    assert_eq!(play.job.pages, 200);
    assert_eq!(play.answer("/200", at("10m")), "never: budget");
    assert_eq!(play.reason("/200", at("10m"), Gate::Budget), "PageLimit { pages: 200 }");
    // What was charged once is not charged again: its retries go on.
    assert_eq!(play.answer("/199", at("10m")), "go");
}

#[test]
fn a_page_is_charged_once_with_its_first_grant() {
    let mut play = Play::new("audit");
    play.play("0s 408 | 2s 408 | 4s ok | 6s /b lost");
    assert_eq!(play.job.pages, 2);
}

#[test]
fn robots_and_probes_are_free() {
    let mut play = Play::cold("audit");
    play.play("0s 404 | 2s ok");
    assert_eq!(play.job.pages, 1);
    play.job.pages = 200;
    // A page over the limit doesn't even ask for robots.txt.
    let mut over = Play::cold("audit");
    over.job.pages = 200;
    assert_eq!(over.answer("/page", at("0s")), "never: budget");
    let mut play = Play::new("fleet");
    play.play("0s reset | 2s reset | 4s reset | 6s reset | 8s reset | 38s25ms ok");
    assert_eq!(play.job.pages, 1);
}

#[test]
fn sixty_minutes_to_the_microsecond() {
    check("audit", "59m59s999ms999us ? | 1h ?", "go | never: budget");
    let play = Play::new("audit");
    assert_eq!(play.reason("/page", at("1h"), Gate::Budget), "TimeLimit");
    // The time ends retries too.
    check("audit", "0s 408 | 1h ?", "never: budget");
}

#[test]
fn presets_without_a_budget_have_none() {
    for preset in ["careful", "fleet"] {
        let mut play = Play::new(preset);
        play.job.pages = 1_000_000;
        check_with(play, "240h ?", "go");
    }
    let mut play = Play::new("warehouse");
    play.job.pages = 9_999;
    check_with(play, "1h /a ok | 2h /b ? | 2h /a ?", "never: budget | go");
}

#[test]
fn what_needs_no_request_waits_for_no_turn() {
    let mut play = Play::new("careful");
    play.play("0s 429");
    play.fresh_until.insert("/held".to_owned(), at("10m"));
    check_with(play, "1s /held ? | 10m /held ?", "fresh | not before 15m25ms: backoff");
}
