//! robots.txt is fetched first, applies for its TTL, and may be unreachable.

use std::time::Duration;

use curtsy_core::host::{Action, Ask, AskKind, Chase, Gate, RequestKind, RobotsNews, Scene};
use curtsy_core::policy::{Forbidden, Unreachable};
use curtsy_core::robots::RobotsClass;

use crate::script::{Play, START, at, check_with, url};

const RULES: &str = "User-agent: *\nDisallow: /private\nAllow: /private/press\n";

fn cold(preset: &str) -> Play {
    Play::cold(preset).serving(RULES)
}

#[test]
fn unknown_robots_are_asked_for_first_whoever_asks() {
    for preset in ["careful", "audit", "warehouse", "fleet", "survey"] {
        check_with(
            cold(preset),
            "0s /private ? | 0s ok | 4s /private ? | 4s /private/press ? | 4s /a ?",
            "go: robots | never: robots | go | go",
        );
    }
}

#[test]
fn one_request_for_robots_at_a_time() {
    check_with(
        cold("warehouse"),
        "0s /a send | 2s /b ? | 2s /a got ok | 2s /b ?",
        "not before 30s50ms: slots | go",
    );
}

#[test]
fn each_authority_has_its_own() {
    check_with(
        cold("fleet"),
        "0s ok | 2s http://example.org/private ? | 2s http://example.org/private 404 | 4s http://example.org/private ? | 4s /private ?",
        "go: robots | go | never: robots",
    );
}

#[test]
fn the_line_that_decides_is_in_the_finding() {
    let mut play = cold("careful");
    play.play("0s ok");
    let reason = |path| play.reason(path, at("4s"), Gate::Robots);
    let file = "00000000000000000000000000000000";
    assert_eq!(
        reason("/private/diary"),
        format!("Forbids {{ file: {file}, line: Some(2), standing: Current }}")
    );
    assert_eq!(
        reason("/private/press"),
        format!("Allows {{ file: {file}, line: Some(3), standing: Current }}")
    );
    assert_eq!(reason("/"), format!("Allows {{ file: {file}, line: None, standing: Current }}"));
}

/// A page must be sent by 1 h less 100 ms, and may be sent two windows of 200 ms after its
/// admission. robots.txt itself was read at 25 ms at the latest, and is not requested within its
/// hour.
#[test]
fn the_ttl_covers_every_page_and_robots_are_not_asked_early() {
    for reply in ["ok", "404"] {
        check_with(
            cold("careful"),
            &format!("0s {reply} | 59m59s499ms ? | 59m59s500ms ? | 1h ? | 1h25ms ?"),
            "go | not before 1h25ms: robots | not before 1h25ms: robots | go: robots",
        );
    }
    // With several slots the window is 50 ms.
    check_with(
        cold("audit").with(|p| p.budget.time = None),
        "0s ok | 59m59s799ms ? | 59m59s800ms ?",
        "go | not before 1h25ms: robots",
    );
    check_with(
        cold("fleet"),
        "0s ok | 23h59m59s499ms ? | 23h59m59s500ms ?",
        "go | not before 24h25ms: robots",
    );
}

#[test]
fn a_text_confirmed_by_304_has_its_time_anew() {
    check_with(
        cold("careful"),
        "0s ok | 1h25ms 304 | 1h1m /private ? | 2h ? | 2h50ms ?",
        "never: robots | not before 2h50ms: robots | go: robots",
    );
}

#[test]
fn a_new_text_rules_at_once() {
    let mut play = cold("careful");
    play.play("0s ok");
    play.robots = "User-agent: *\nDisallow: /a\n".to_owned();
    check_with(
        play,
        "30m /a ? | 1h25ms ok | 1h1m /a ? | 1h1m /private ?",
        "go | never: robots | go",
    );
}

#[test]
fn unreachable_denies_for_the_deny_ttl() {
    for preset in ["careful", "warehouse", "survey"] {
        for reply in ["500", "503", "reset", "timeout", "truncated"] {
            check_with(
                cold(preset).with(|p| p.pace.adaptive = false),
                &format!("0s {reply} | 4s ? | 5m25ms ? | 5m25ms ok | 5m30s ? | 5m30s /private ?"),
                "not before 5m25ms: robots | go: robots | go | never: robots",
            );
        }
    }
}

#[test]
fn a_retry_after_on_robots_is_a_floor_and_waits_never_shrink() {
    check_with(
        cold("warehouse"),
        "0s 503 after 10m | 1m ? | 10m25ms 500 | 11m ?",
        "not before 10m25ms: robots | not before 20m50ms: robots",
    );
    check_with(cold("warehouse"), "0s 429 after 10m | 1m ?", "not before 10m25ms: robots");
}

#[test]
fn unreachable_allows_with_low_confidence_where_the_preset_says_so() {
    for preset in ["audit", "fleet"] {
        for reply in ["500", "reset", "truncated"] {
            let mut play = cold(preset);
            play.play(&format!("0s {reply}"));
            assert_eq!(play.answer("/private", at("4s")), "go", "{preset}");
            assert_eq!(play.reason("/private", at("4s"), Gate::Robots), "UnreachableAllowed");
            // Asked again after the deny-TTL all the same.
            assert_eq!(play.answer("/a", at("5m")), "not before 5m25ms: robots");
            assert_eq!(play.answer("/a", at("5m25ms")), "go: robots");
        }
    }
}

#[test]
fn an_attempt_that_never_reached_the_server_allows_nothing() {
    check_with(
        cold("fleet"),
        "0s undialled | 2s ? | 5m25ms ? | 5m25ms reset | 5m30s ?",
        "not before 5m25ms: robots | go: robots | go",
    );
    // A last good copy of which the server has heard nothing within the TTL does not rule either.
    check_with(
        cold("careful"),
        "0s ok | 1h25ms undialled | 1h1m /a ? | 1h1m /private ?",
        "not before 1h5m50ms: robots | not before 1h5m50ms: robots",
    );
    // Nor does one from long ago: the server has not seen us ask within the TTL.
    check_with(
        cold("audit").with(|p| p.budget.time = None),
        "0s reset | 2s ? | 5m25ms undialled | 59m59s /a undialled | 1h1m ?",
        "go | not before 1h4m59s25ms: robots",
    );
}

/// RFC 9309 §2.3.1.4, and seed 000: a server error means that everything is forbidden, whatever an
/// older copy said.
#[test]
fn unreachable_robots_forbid_everything_even_where_a_good_copy_is_held() {
    for preset in ["careful", "warehouse", "survey"] {
        for (failure, due) in [("500", "5m50ms"), ("429", "5m50ms"), ("reset", "5m50ms")] {
            let day = cold(preset).policy.robots.ttl.as_secs() / 3600;
            let mut play = cold(preset).with(|p| {
                p.budget.time = None;
                p.pace.adaptive = false;
                p.backoff.curve.base = Duration::from_secs(1);
                p.backoff.curve.cap = Duration::from_secs(1);
            });
            play.play(&format!("0s ok | {day}h25ms {failure}"));
            let soon = at(&format!("{day}h1m"));
            let until = format!("not before {day}h{due}: robots");
            for path in ["/a", "/private"] {
                assert_eq!(play.answer(path, soon), until, "{preset} {failure}");
            }
            assert_eq!(play.answer("/a", at(&format!("{day}h{due}"))), "go: robots", "{preset}");
        }
    }
}

#[test]
fn where_unreachable_robots_allow_everything_the_last_good_copy_is_obeyed() {
    let mut play = cold("audit").with(|p| p.budget.time = None);
    play.play("0s ok | 1h25ms 500");
    assert_eq!(play.answer("/private", at("1h1m")), "never: robots");
    assert_eq!(play.answer("/a", at("1h1m")), "go");
    assert_eq!(
        play.reason("/private", at("1h1m"), Gate::Robots),
        "Forbids { file: 00000000000000000000000000000000, line: Some(2), standing: LastGood }"
    );
    assert_eq!(play.answer("/a", at("1h5m")), "not before 1h5m50ms: robots");
    assert_eq!(play.answer("/a", at("1h5m50ms")), "go: robots");
}

#[test]
fn a_ttl_below_the_deny_ttl_does_not_stop_a_host_that_may_go_on() {
    let play = cold("audit").with(|p| {
        p.budget.time = None;
        p.robots.ttl = Duration::from_secs(60);
    });
    check_with(play, "0s 500 | 30s ? | 61s ? | 4m59s ? | 5m25ms ?", "go | go | go | go: robots");
}

#[test]
fn a_new_job_tries_a_host_again_that_could_not_be_reached() {
    let mut play = cold("careful");
    play.play("0s undialled");
    assert_eq!(play.answer("/a", at("1m")), "not before 5m25ms: robots");
    play.job.started_at = at("50s");
    assert_eq!(play.answer("/a", at("1m")), "go: robots", "settings may be right by now");
    // One that answered with an error is left alone, whatever job asks.
    let mut play = cold("careful");
    play.play("0s 500");
    play.job.started_at = at("50s");
    assert_eq!(play.answer("/a", at("1m")), "not before 5m25ms: robots");
}

#[test]
fn a_crawl_delay_outlives_its_robots() {
    let play = Play::cold("careful").serving("User-agent: *\nCrawl-delay: 20\n").with(|p| {
        p.pace.adaptive = false;
        p.robots.unreachable = Unreachable::Allow;
    });
    check_with(play, "0s ok | 1h25ms 500 | 1h1s ?", "not before 1h20s25ms: pace");
}

/// Good at 0, failing since 1 h: 30 days of failing count as a 404.
#[test]
fn after_thirty_days_there_are_no_rules() {
    let play = cold("careful").with(|p| {
        p.pace.adaptive = false;
        p.breaker.failures = 255;
    });
    check_with(
        play,
        "0s ok | 1h25ms 500 | 719h58m 500 | 719h59m /private ? | 720h ? | 720h5m 500 | 720h6m ? | 720h58m 500 | 721h24ms ? | 721h25ms /private ? | 721h5m ?",
        "not before 720h3m25ms: robots | not before 720h3m25ms: robots | not before 720h10m25ms: robots | not before 721h3m25ms: robots | go | go: robots",
    );
}

#[test]
fn refused_robots_are_none_or_a_no() {
    for reply in ["401", "403"] {
        check_with(cold("fleet"), &format!("0s {reply} | 2s /private ?"), "go");
        let deny = cold("fleet").with(|p| p.robots.forbidden = Forbidden::Deny);
        check_with(deny, &format!("0s {reply} | 2s /a ?"), "never: robots");
        let deny = cold("fleet").with(|p| p.robots.forbidden = Forbidden::Deny);
        // A no for the TTL, and then it is asked again.
        check_with(deny, &format!("0s {reply} | 24h25ms /a ?"), "go: robots");
    }
    // A 403 is a refusal to careful, wherever it comes from.
    check_with(cold("careful"), "0s 403 | 1m ?", "not before 15m25ms: backoff");
}

#[test]
fn a_moved_robots_is_waited_for_until_the_chain_has_had_its_time() {
    check_with(
        cold("careful"),
        "0s 301 | 4s ? | 59s999ms ? | 1m ? | 6m ?",
        "not before 1m: robots | not before 1m: robots | not before 6m: robots | go: robots",
    );
    // Where the last good copy is obeyed, it is not used meanwhile, but afterwards.
    check_with(
        cold("careful").with(|p| p.robots.unreachable = Unreachable::Allow),
        "0s ok | 1h25ms 301 | 1h10s /a ? | 1h1m25ms /a ? | 1h1m25ms /private ?",
        "not before 1h1m25ms: robots | go | never: robots",
    );
    // The end of the chain speaks for the first authority.
    let mut play = cold("careful");
    play.play("0s 301");
    let news = RobotsNews::Answer { class: RobotsClass::NoRules, file: None, told: None };
    let authority = url("/").authority();
    let policy = play.policy.robots.clone();
    play.state.learn_robots(&authority, news, &policy, None, at("10s"));
    assert_eq!(play.answer("/private", at("10s")), "go");
    // It was asked for at 0 s: that is what the TTL counts from.
    assert_eq!(play.answer("/a", at("1h")), "not before 1h25ms: robots");
}

#[test]
fn more_authorities_than_are_kept_are_refused() {
    let mut play = Play::cold("fleet");
    for port in 0..64 {
        let authority = url(&format!("http://example.org:{}/", 1_000 + port)).authority();
        let news = RobotsNews::Moved(Chase { to: url("/"), deadline: at("1m") });
        let policy = play.policy.robots.clone();
        play.state.learn_robots(&authority, news, &policy, Some((START, START)), START);
    }
    check_with(
        play,
        "2s http://example.org:1063/ ? | 2s http://example.org:1064/ ? | 2s /a ?",
        "not before 1m: robots | never: robots | never: robots",
    );
}

/// Returns the approach for an ask of this kind.
fn approached(play: &Play, path: &str, kind: AskKind, scene: &Scene<'_>) -> Option<RequestKind> {
    let url = url(path);
    let ask = Ask {
        url: &url,
        kind,
        charged: false,
        fresh_until: None,
        retry_at: None,
        tries: 0,
        needs_word: false,
        slot_since: None,
    };
    match play.state.admit(&ask, scene).action {
        Action::Approach(approach) => Some(approach.kind),
        _ => None,
    }
}

#[test]
fn a_hop_of_anothers_robots_is_not_checked_against_ours() {
    let mut play = cold("fleet");
    let page = url("/");
    let hop = AskKind::RobotsHop;
    // Nothing is known of this host, and the hop goes on.
    let scene = play.scene(&page, at("0s"));
    assert_eq!(approached(&play, "/private/r.txt", hop, &scene), Some(RequestKind::RobotsHop));
    assert_eq!(approached(&play, "/robots.txt", hop, &scene), Some(RequestKind::Robots));
    play.play("0s ok");
    let scene = play.scene(&page, at("2s"));
    assert_eq!(approached(&play, "/private/r.txt", hop, &scene), Some(RequestKind::RobotsHop));
    assert_eq!(approached(&play, "/private/s.xml", AskKind::Sitemap, &scene), None);
    assert_eq!(approached(&play, "/s.xml", AskKind::Sitemap, &scene), Some(RequestKind::Sitemap));
    // It waits for its turn like everybody.
    let scene = play.scene(&page, at("100ms"));
    assert_eq!(approached(&play, "/private/r.txt", hop, &scene), None);
}

#[test]
fn a_text_that_is_not_at_hand_is_asked_for_rather_than_guessed() {
    let mut play = cold("fleet");
    play.play("0s ok");
    let page = url("/a");
    let scene = Scene { rules: None, ..play.scene(&page, at("2s")) };
    assert_eq!(approached(&play, "/a", AskKind::Page, &scene), Some(RequestKind::Robots));
}

#[test]
fn a_chain_that_may_take_longer_does() {
    let play = cold("careful").with(|p| p.robots.chain_deadline = Duration::from_secs(10));
    check_with(play, "0s 301 | 4s ?", "not before 10s: robots");
}
