//! The delay between requests to one host, and who sets it.

use std::time::Duration;

use curtsy_core::host::{Gate, Latency};

use crate::script::{Play, START, at, check, check_with};

/// Returns a host that serves this robots.txt, which was requested at the start.
fn asking(preset: &str, robots: &str) -> Play {
    let mut play = Play::cold(preset)
        .serving(robots)
        .with(|p| p.robots.ttl = Duration::from_secs(1_000 * 86_400));
    play.play("0s ok");
    play
}

#[test]
fn the_presets_own_delay() {
    check("careful", "0s ok | 1s /b ?", "not before 3s: pace");
    check("warehouse", "0s ok | 0s /b ?", "not before 1s: pace");
    check("fleet", "0s ok | 0s /b ? | 1s /b ?", "not before 1s: pace | go");
    check("survey", "0s ok | 0s /b ?", "not before 1s: pace");
}

#[test]
fn a_start_without_an_answer_may_have_been_seen_late() {
    check("careful", "0s reset | 1s ?", "not before 3s30ms: pace"); // 1 % of the delay
    check("fleet", "0s reset | 0s ?", "not before 1s25ms: pace"); // but 25 ms at least
    // Nothing heard at all: sent at the end of the window, 200 ms, and the lease runs 30 s.
    check("careful", "0s lost | 1s /b ? | 31s /b ?", "not before 30s200ms: slots | go");
    // With two slots the next start need not wait for the lease, but for window, margin and delay.
    check("warehouse", "0s /a lost | 0s /b ?", "not before 1s75ms: pace");
    // Handed back: the turn is free again.
    check("careful", "0s unsent | 0s ?", "go");
    // Unless somebody started after it.
    check(
        "warehouse",
        "0s /a send | 1s75ms /b send | 1s100ms /a got unsent | 1s200ms /c ?",
        "not before 2s150ms: pace",
    );
}

#[test]
fn an_answer_proves_when_the_request_was_read() {
    // The answer's first byte came 10 ms after the request, so that is when the server had it at
    // the latest.
    check("fleet", "0s send | 10ms got ok | 1s /b ?", "not before 1s10ms: pace");
    // A slow answer doesn't cost rate: the margin bounds it.
    check("fleet", "0s send | 900ms got ok | 1s /b ?", "not before 1s25ms: pace");
}

#[test]
fn crawl_delay_raises_and_never_lowers() {
    let robots = |delay: &str| asking("fleet", &format!("User-agent: *\nCrawl-delay: {delay}\n"));
    check_with(robots("7"), "1s ?", "not before 7s: pace");
    check_with(robots("2.5"), "1s ?", "not before 2s500ms: pace");
    check_with(robots("0.5"), "0s ?", "not before 1s: pace");
    check_with(robots("-3"), "0s ?", "not before 1s: pace");
    let reason = robots("2.5").reason("/page", START, Gate::Pace);
    assert_eq!(reason, "Delay { micros: 2500000, by: CrawlDelay }");
}

#[test]
fn the_largest_crawl_delay_of_a_hosts_authorities_holds() {
    let mut play = asking("fleet", "User-agent: *\nCrawl-delay: 2\n");
    play.robots = "User-agent: *\nCrawl-delay: 9\n".to_owned();
    check_with(
        play,
        "2s http://example.org/ ok | 3s ? | 3s http://example.org/ ?",
        "not before 11s: pace | not before 11s: pace",
    );
}

#[test]
fn a_crawl_delay_learnt_later_applies_to_the_last_start() {
    let mut play = Play::cold("fleet").with(|p| p.robots.ttl = Duration::from_secs(60));
    play.robots = "User-agent: *\n".to_owned();
    play.play("0s ok | 1s /a ok | 59s /b ok");
    play.robots = "User-agent: *\nCrawl-delay: 30\n".to_owned();
    // robots.txt itself was the last start; it is the one that counts.
    check_with(play, "1m25ms ok | 1m1s ?", "not before 1m30s25ms: pace");
    // A policy that changes applies at once, too.
    let mut play = Play::new("fleet");
    play.play("0s ok");
    play.policy.pace.delay_min = Duration::from_secs(10);
    play.policy.pace.delay_max = Duration::from_secs(10);
    check_with(play, "2s ?", "not before 10s: pace");
}

#[test]
fn a_very_long_crawl_delay_parks_and_is_never_shortened() {
    let play = asking("careful", "User-agent: *\nCrawl-delay: 301\n");
    assert_eq!(play.reason("/page", START, Gate::Pace), "Delay { micros: 301000000, by: Parked }");
    check_with(play, "1m ? | 5m1s ?", "not before 5m1s: pace | go");
    let play = asking("careful", "User-agent: *\nCrawl-delay: 300\n");
    assert_eq!(
        play.reason("/page", START, Gate::Pace),
        "Delay { micros: 300000000, by: CrawlDelay }"
    );
}

#[test]
fn answers_that_take_longer_lengthen_the_delay_in_proportion() {
    let slow = |latency_ms, preset, expected: &str| {
        let mut play = Play::new(preset);
        play.play("0s ok");
        play.state.latency = latency(latency_ms);
        check_with(play, "0s /b ?", expected);
    };
    slow(100, "careful", "not before 3s: pace");
    slow(50, "careful", "not before 3s: pace");
    slow(200, "careful", "not before 6s: pace");
    slow(250, "careful", "not before 7s500ms: pace");
    slow(1_000, "careful", "not before 30s: pace");
    slow(5_000, "careful", "not before 30s: pace");
    slow(300, "warehouse", "not before 3s: pace");
    slow(300, "fleet", "not before 1s: pace");
}

#[test]
fn an_adaptive_delay_neither_caps_nor_undercuts_a_crawl_delay() {
    let mut play = asking("careful", "User-agent: *\nCrawl-delay: 60\n");
    play.state.latency = latency(1_000);
    check_with(play, "0s ?", "not before 1m: pace");
    let mut play = asking("careful", "User-agent: *\nCrawl-delay: 10\n");
    play.state.latency = latency(200);
    check_with(play, "0s ?", "not before 20s: pace");
}

#[test]
fn the_pace_rises_with_slow_answers_and_falls_back() {
    let mut play = Play::new("careful");
    let mut now = START;
    let mut exchange = |play: &mut Play, ms: u64| {
        now = play.next_start("/page", now).0;
        play.send("/page", now);
        now = now + Duration::from_millis(ms);
        let took = now - START;
        play.play(&format!("{}us got ok", took.as_micros()));
        play.state.delay(&play.scene(&crate::script::url("/"), now)).0
    };
    for _ in 0..20 {
        assert_eq!(exchange(&mut play, 100), Duration::from_secs(3));
    }
    let mut slow = Duration::ZERO;
    for n in 0..20 {
        let delay = exchange(&mut play, 400);
        // Quick to rise; then the usual time begins to follow, very slowly.
        assert!(delay > slow || n > 5, "rises");
        slow = delay;
    }
    // Four times as slow, against a baseline that has moved by a few milliseconds only.
    assert!(slow > Duration::from_millis(9_000) && slow <= Duration::from_secs(12), "{slow:?}");
    let mut quick = slow;
    for _ in 0..200 {
        let delay = exchange(&mut play, 100);
        assert!(delay <= quick, "falls");
        quick = delay;
    }
    assert_eq!(quick, Duration::from_secs(3));
}

#[test]
fn audit_draws_its_delay_anew_for_each_turn() {
    let delays = |seed| {
        let mut play = Play::new("audit");
        play.seed = seed;
        let mut now = START;
        let delays: Vec<_> = (0..150)
            .map(|n| {
                let from = now;
                now = play.soon(&format!("/{n}"), now, "ok").0;
                now - from
            })
            .skip(1)
            .collect();
        delays
    };
    let mine = delays(7);
    assert!(mine.iter().all(|d| (200..=500).contains(&d.as_millis())));
    let mut distinct = mine.clone();
    distinct.sort();
    distinct.dedup();
    assert!(distinct.len() > 140, "{} of {}", distinct.len(), mine.len());
    let mean = mine.iter().sum::<Duration>() / mine.len() as u32;
    assert!((320..380).contains(&mean.as_millis()), "{mean:?}");
    // The same host draws the same, another host other ones.
    assert_eq!(mine, delays(7));
    assert_ne!(mine, delays(8));
}

#[test]
fn two_workers_see_the_same_draw() {
    let mut play = Play::new("audit");
    play.play("0s ok");
    let asked: Vec<_> = ["0s", "50ms", "100ms", "199ms"].map(|t| play.answer("/b", at(t))).into();
    assert!(asked.windows(2).all(|pair| pair[0] == pair[1]), "{asked:?}");
}

fn latency(ms: u16) -> Latency {
    Latency { ms, usual_ms: 100, seen: 8 }
}

#[test]
fn one_quick_answer_is_no_measure_of_what_is_usual() {
    let slower = |answers: &[u64]| {
        let mut play = Play::new("careful");
        for (n, ms) in answers.iter().enumerate() {
            play.play(&format!("{}s /{n} send | {}s{ms}ms /{n} got ok", 40 * n, 40 * n));
        }
        (play.state.latency.slower() * 100.0).round() / 100.0
    };
    assert_eq!(slower(&[10, 400, 400, 400]), 1.0);
    // Seven of 100 ms and one of 500 make 150 the usual; the next slow one moves a quarter of the
    // way.
    assert_eq!(slower(&[100, 100, 100, 100, 100, 100, 100, 500]), 1.0);
    assert_eq!(slower(&[100, 100, 100, 100, 100, 100, 100, 500, 950]), 2.29);
}
