//! The state itself: its bytes, its restoration after a loss, and its reproducibility.

use std::time::Duration;

use curtsy_core::evidence::{decode, encode};
use curtsy_core::host::{
    Ask, AskKind, BackoffState, BreakerState, Chase, Findings, Gate, Handshake, HostState, Latency,
    Lease, LeaseId, RequestKind, RiskState, RobotsId, RobotsNews, RobotsStanding, RobotsState,
    Scene, SlotEnds, Verdict,
};
use curtsy_core::policy::{Policy, Preset};
use curtsy_core::robots::RobotsClass;
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, Scheme, UrlKey};
use proptest::prelude::*;

use crate::script::{Play, START, at, url, written};

#[test]
fn a_quiet_host_takes_few_bytes() {
    assert_eq!(HostState::default().encode().len(), 30);
    let mut play = Play::cold("careful").serving("User-agent: *\nCrawl-delay: 5\n");
    play.play("0s ok | 5s ok");
    let bytes = play.state.encode().len();
    assert!(bytes <= 120, "{bytes} bytes");
    assert_eq!(bytes, 99);
}

#[test]
fn a_busy_host_stays_below_a_kilobyte() {
    let mut play = Play::cold("warehouse").serving("User-agent: *\nCrawl-delay: 5\n");
    play.play("0s 301 | 2s http://example.org/ ok | 8s http://example.org/ 429 | 14s http://example.org/ reset");
    play.play("20s http://example.org/a send | 26s http://example.org/b send");
    assert_eq!(play.state.leases.len(), 2);
    let bytes = play.state.encode().len();
    assert!(bytes <= 1024, "{bytes} bytes");
    assert_eq!(bytes, 273);
}

/// States of older programs are read. The fields that they did not have are unknown.
#[test]
fn older_layouts_are_read() {
    let mut play = Play::cold("careful").serving("User-agent: *\nCrawl-delay: 5\n");
    play.play("0s ok | 5s ok");
    let state = HostState { dialled_at: None, unreached: None, ..play.state.clone() };
    let bytes = state.encode();
    assert_eq!(bytes[0], 3);
    // The two fields stand last, a byte each.
    let before_outages = [&[1], &bytes[1..bytes.len() - 2]].concat();
    assert_eq!(HostState::decode(&before_outages).unwrap(), state);
    // Layout 2 had milliseconds before the last start instead.
    let start = state.last_start.unwrap();
    for (ms, written) in
        [(0, &[0][..]), (127, &[127]), (128, &[0x80, 1]), (65_535, &[0xff, 0xff, 3])]
    {
        let relative = [&[2], &bytes[1..bytes.len() - 1], written].concat();
        let dialled_at = Some(start.back(Duration::from_millis(ms)));
        let known = HostState { dialled_at, ..state.clone() };
        assert_eq!(HostState::decode(&relative).unwrap(), known, "{ms} ms");
    }
    assert!(HostState::decode(&[2]).is_err());
}

#[test]
fn bytes_that_are_no_state_are_refused() {
    assert!(HostState::decode(&[]).is_err());
    assert!(HostState::decode(&[9, 1, 2]).is_err());
    assert!(HostState::decode(&[1]).is_err());
}

fn moment() -> impl Strategy<Value = Time> {
    prop_oneof![
        (0..100_000_000_000_u64).prop_map(|t| START + Duration::from_micros(t)),
        any::<u64>().prop_map(Time::from_micros),
    ]
}

fn maybe_moment() -> impl Strategy<Value = Option<Time>> {
    proptest::option::of(moment())
}

fn span() -> impl Strategy<Value = Duration> {
    (0..u64::MAX / 1_000).prop_map(Duration::from_micros)
}

fn kind() -> impl Strategy<Value = RequestKind> {
    prop_oneof![
        Just(RequestKind::Page),
        Just(RequestKind::Robots),
        Just(RequestKind::RobotsHop),
        Just(RequestKind::Sitemap),
        Just(RequestKind::Probe),
    ]
}

prop_compose! {
    fn lease()(
        id in any::<u64>(), kind in kind(), probe in any::<bool>(), url in any::<u128>(),
        turn in any::<u32>(), generation in any::<u32>(), send_by in moment(), until in moment(),
    ) -> Lease {
        let (id, url) = (LeaseId(id), UrlKey::from_u128(url));
        Lease { id, kind, probe, url, turn, generation, send_by, until }
    }
}

fn standing() -> impl Strategy<Value = RobotsStanding> {
    prop_oneof![
        Just(RobotsStanding::Rules),
        Just(RobotsStanding::Absent),
        Just(RobotsStanding::Refused),
        moment().prop_map(RobotsStanding::Unreachable),
        moment().prop_map(|deadline| {
            let to = url("https://www.example.net/robots.txt");
            RobotsStanding::Chasing(Box::new(Chase { to, deadline }))
        }),
    ]
}

prop_compose! {
    fn robots(port: u16)(
        standing in standing(), file in proptest::option::of(any::<[u8; 16]>()), asked_at in moment(),
        asked_by in moment(), good_at in maybe_moment(), crawl_delay_micros in any::<u64>(),
        failing_since in maybe_moment(), last_wait in span(),
    ) -> RobotsState {
        RobotsState {
            scheme: if port == 443 { Scheme::Https } else { Scheme::Http },
            port, standing, file: file.map(RobotsId), asked_at, asked_by, good_at, crawl_delay_micros,
            failing_since, last_wait,
        }
    }
}

fn all_robots() -> impl Strategy<Value = Vec<RobotsState>> {
    prop_oneof![
        Just(Vec::new()),
        robots(443).prop_map(|r| vec![r]),
        (robots(443), robots(80), robots(8080)).prop_map(|(a, b, c)| vec![a, b, c]),
    ]
}

prop_compose! {
    fn state()(
        counts in (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>()),
        last_start in maybe_moment(), leases in proptest::collection::vec(lease(), 0..4), robots in all_robots(),
        backoff in (maybe_moment(), span(), any::<u8>(), any::<u32>()),
        breaker in (any::<u8>(), any::<u8>(), maybe_moment()),
        risk in (0.0..100.0_f32, maybe_moment(), any::<u8>(), maybe_moment()),
        last_ok in maybe_moment(),
    ) -> HostState {
        let (turn, a, b, handshakes) = counts;
        let latency = Latency { ms: a as u16, usual_ms: b as u16, seen: (a >> 16) as u8 };
        let handshake = Handshake { ms: handshakes as u16, seen: (handshakes >> 16) as u8 };
        let mut robots = robots.into_iter();
        HostState {
            turn, last_start, leases, robots: robots.next(), more_robots: robots.collect(),
            backoff: BackoffState { until: backoff.0, last_wait: backoff.1, streak: backoff.2, generation: backoff.3 },
            breaker: BreakerState { failures: breaker.0, failed_at: last_ok, level: breaker.1, until: breaker.2 },
            risk: RiskState { score: risk.0, as_of: risk.1, streak: risk.2, since: risk.3 },
            latency, handshake, last_ok, ..HostState::default()
        }
    }
}

proptest! {
    #[test]
    fn a_state_survives_its_bytes(state in state()) {
        let bytes = state.encode();
        prop_assert!(bytes.len() <= 1024, "{} bytes", bytes.len());
        prop_assert_eq!(HostState::decode(&bytes).unwrap(), state);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(
        state in state(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        let mut bytes = state.encode();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        let _ = HostState::decode(&bytes);
    }

    /// A state that is damaged or years off still leads to some decision.
    #[test]
    fn no_state_makes_a_decision_panic(state in state(), now in moment(), preset in 0..5_usize) {
        let preset = ["careful", "audit", "warehouse", "fleet", "survey"][preset];
        let play = Play::new(preset);
        let page = url("/page");
        let scene = Scene { rules: None, ..play.scene(&page, now) };
        let ask = Ask {
            url: &page, kind: AskKind::Page, charged: false, fresh_until: None,
            retry_at: None, tries: 0, needs_word: false, slot_since: None,
        };
        let decision = state.admit(&ask, &scene);
        let findings: Findings = decision.findings;
        prop_assert_eq!(decode(&encode(&findings)), Ok(findings));
        state.hand_out_at(&scene, SlotEnds::Deadline);
    }

    /// What a worker remembers can only lengthen a wait, and the values of the store stay.
    #[test]
    fn restoring_goes_by_maximum(ours in state(), theirs in state(), now in moment()) {
        let mut both = ours.clone();
        both.restore(&theirs, now);
        prop_assert_eq!(both.turn, ours.turn.max(theirs.turn));
        prop_assert_eq!(both.last_start, ours.last_start.max(theirs.last_start));
        prop_assert_eq!(both.backoff.until, ours.backoff.until.max(theirs.backoff.until));
        prop_assert_eq!(both.breaker.until, ours.breaker.until.max(theirs.breaker.until));
        prop_assert_eq!(both.last_ok, ours.last_ok.max(theirs.last_ok));
        for lease in theirs.in_flight(now).chain(&ours.leases) {
            prop_assert!(both.lease(lease.id).is_some());
        }
        for robots in theirs.all_robots().chain(ours.all_robots()) {
            let kept = both.all_robots().find(|r| (r.scheme, r.port) == (robots.scheme, robots.port));
            prop_assert!(kept.unwrap().asked_by >= robots.asked_by);
        }
        // Twice is once.
        let mut again = both.clone();
        again.restore(&theirs, now);
        prop_assert_eq!(again, both);
    }

    /// The same events lead to the same states and the same decisions.
    #[test]
    fn events_replay_to_the_same_states(
        preset in 0..5_usize, seed in any::<u64>(),
        events in proptest::collection::vec((0..6_000_u64, 0..6_usize, 0..12_usize), 1..60),
    ) {
        let run = || {
            let preset = ["careful", "audit", "warehouse", "fleet", "survey"][preset];
            let mut play = Play::cold(preset).serving("User-agent: *\nDisallow: /p3\nCrawl-delay: 2\n");
            play.policy.backoff.curve.jitter_percent = (10, 20);
            play.policy.retry.curve.jitter_percent = (10, 20);
            play.policy.breaker.curve.jitter_percent = (10, 20);
            play.seed = seed;
            let mut now = START;
            let mut trace = Vec::new();
            for (gap, path, reply) in &events {
                now = now + Duration::from_millis(*gap);
                let path = format!("/p{path}");
                let decision = play.decide(&path, now);
                trace.push((format!("{decision:?}"), play.state.encode()));
                let reply = ["ok", "404", "429", "503", "reset", "403", "429 after 30s", "timeout", "500",
                    "challenge", "unsent", "301"][*reply];
                if decision.findings.worst().0 == Verdict::Go {
                    play.send(&path, now);
                    play.play(&format!("{}us {path} got {reply}", (now - START).as_micros()));
                } else if let Verdict::NotBefore(until) = decision.findings.worst().0
                    && until != Time::NEVER
                {
                    now = now.max(until);
                }
            }
            trace
        };
        prop_assert_eq!(run(), run());
    }
}

/// The store lost everything. The host gets back what a worker remembers.
#[test]
fn a_lost_wait_comes_back() {
    let mut play = Play::new("careful");
    play.play("0s 429 | 15m25ms 429");
    let remembered = play.state.clone();
    play.state = HostState::default();
    assert_eq!(play.answer("/page", at("16m")), "go: robots");
    play.state.restore(&remembered, at("16m"));
    assert_eq!(play.state, remembered);
    assert_eq!(play.answer("/page", at("16m")), "not before 45m50ms: backoff");
}

#[test]
fn leases_come_back_until_they_run_out() {
    let mut play = Play::new("fleet");
    play.play("0s /a send");
    let remembered = play.state.clone();
    let restored = |moment| {
        let mut state = HostState::default();
        state.restore(&remembered, at(moment));
        state.leases.len()
    };
    assert_eq!(restored("10s"), 1);
    assert_eq!(restored("30s199ms"), 1);
    assert_eq!(restored("30s200ms"), 0);
}

/// A worker remembers a streak of hours. The new store has seen one refusal since, whose wait ends
/// later.
#[test]
fn restoring_keeps_the_longer_streak() {
    let mut play = Play::new("careful");
    play.play("0s 429 | 15m25ms 429 | 45m50ms 429");
    let remembered = play.state.clone();
    let mut fresh = Play::new("careful");
    fresh.play("1h40m 429");
    let now = at("1h40m");
    fresh.state.restore(&remembered, now);
    let next = fresh.soon("/page", now, "429").0;
    let wait = fresh.next_start("/page", next).0 - next;
    assert!(wait >= Duration::from_secs(3_600), "{wait:?} after an hour");
}

/// The new store could not fetch robots.txt. A worker remembers the last good copy and its
/// Crawl-delay.
#[test]
fn restoring_keeps_the_last_good_robots() {
    let robots = "User-agent: *\nDisallow: /private\nCrawl-delay: 30\n";
    let mut play = Play::cold("fleet").serving(robots);
    play.play("0s ok");
    let remembered = play.state.clone();
    play.state = HostState::default();
    play.play("1m reset");
    play.state.restore(&remembered, at("1m"));
    assert_eq!(play.answer("/private", at("1m10s")), "never: robots");
    assert_eq!(play.answer("/a", at("1m10s")), "not before 1m30s25ms: pace");
}

/// robots.txt was redirected, and the text at the end of the chain came: one worker remembers the
/// redirect, another its end.
#[test]
fn restoring_keeps_the_end_of_a_robots_chain() {
    let policy = Policy::preset(Preset::Careful).robots;
    let authority = CrawlUrl::parse("http://a.test/").unwrap().authority();
    let text = |id| RobotsNews::Answer {
        class: RobotsClass::Rules,
        file: Some((RobotsId([id; 16]), None)),
        told: None,
    };
    let to = CrawlUrl::parse("http://b.test/robots.txt").unwrap();
    let moved = RobotsNews::Moved(Chase { to, deadline: at("2h1m") });
    let gone = RobotsNews::Answer { class: RobotsClass::Unreachable, file: None, told: None };
    let asked = |moment| Some((at(moment), at(moment)));

    let mut chasing = HostState::default();
    chasing.learn_robots(&authority, text(1), &policy, asked("0s"), at("0s"));
    chasing.learn_robots(&authority, moved, &policy, asked("2h"), at("2h"));
    let mut ended = chasing.clone();
    ended.learn_robots(&authority, text(2), &policy, None, at("2h3s"));
    let mut later = chasing.clone();
    later.learn_robots(&authority, gone, &policy, asked("4h"), at("4h"));

    for order in
        [[&chasing, &ended, &later], [&later, &ended, &chasing], [&ended, &chasing, &later]]
    {
        let mut state = HostState::default();
        for remembered in &order[..2] {
            state.restore(remembered, at("5h"));
        }
        let file = state.robots_of(&authority).unwrap().file;
        assert_eq!(file, Some(RobotsId([2; 16])), "the last good copy is the chain's");
        state.restore(order[2], at("5h"));
        let robots = state.robots_of(&authority).unwrap();
        assert_eq!(robots.file, Some(RobotsId([2; 16])));
        assert!(matches!(robots.standing, RobotsStanding::Unreachable(_)), "what was asked last");
    }
}

/// A worker wanted to fetch robots.txt, stopped for a while, and could not connect, when another
/// had the response for long.
#[test]
fn a_line_that_could_not_be_made_does_not_undo_an_answer() {
    let policy = Policy::preset(Preset::Careful).robots;
    let authority = CrawlUrl::parse("http://a.test/").unwrap().authority();
    let answer = |class| RobotsNews::Answer { class, file: None, told: None };
    let mut state = HostState::default();
    let asked = Some((at("0s"), at("0s")));
    state.learn_robots(&authority, answer(RobotsClass::NoRules), &policy, asked, at("0s"));
    let known = state.clone();
    let gone = answer(RobotsClass::Unreachable);
    state.learn_robots(&authority, gone.clone(), &policy, None, at("28s"));
    assert_eq!(state, known);
    // When it is time to ask again, it does say something.
    state.learn_robots(&authority, gone, &policy, None, at("1h"));
    let standing = &state.robots_of(&authority).unwrap().standing;
    assert_eq!(*standing, RobotsStanding::Unreachable(at("1h5m25ms")));
}

/// A small later signal does not erase a score that stops automated runs.
#[test]
fn restoring_keeps_the_larger_risk() {
    let mut play = Play::new("survey");
    play.state.risk.score = 90.0;
    play.state.risk.as_of = Some(START);
    let remembered = play.state.clone();
    let mut fresh = Play::new("survey");
    fresh.play("1m empty");
    fresh.state.restore(&remembered, at("1m"));
    assert_eq!(fresh.answer("/page", at("2m")), "never: risk");
}

/// The host has become four times as slow, and the new store has only seen it like that.
#[test]
fn restoring_keeps_the_slowdown() {
    let mut play = Play::new("careful");
    play.play("0s ok");
    let mut remembered = play.state.clone();
    remembered.latency = Latency { ms: 400, usual_ms: 100, seen: 8 };
    play.state.latency = Latency { ms: 400, usual_ms: 400, seen: 1 };
    play.state.restore(&remembered, at("0s"));
    assert_eq!(play.answer("/b", at("0s")), "not before 12s: pace");
}

/// When a host falls due for a worker: its handshake and 50 ms before the turn.
#[test]
fn a_host_is_handed_out_shortly_before_its_turn() {
    let mut play = Play::new("careful");
    play.play("0s ok");
    let page = url("/page");
    let due = |play: &Play, now| {
        written(play.state.hand_out_at(&play.scene(&page, at(now)), SlotEnds::Deadline))
    };
    // Of a host that is not known a slow handshake is reckoned with: a third of the delay, and 50
    // ms.
    assert_eq!(due(&play, "1s"), "1s950ms");
    for _ in 0..16 {
        play.state.note_handshake(Duration::from_millis(120));
        // A line that stood already says nothing.
        play.state.note_handshake(Duration::ZERO);
    }
    // A quarter more than the longest handshake, and 50 ms.
    assert_eq!(due(&play, "1s"), "2s800ms");
    assert_eq!(due(&play, "2s900ms"), "2s900ms");
    play.play("3s 429");
    assert_eq!(due(&play, "4s"), "15m2s825ms");
    let gate = Gate::Backoff;
    assert!(play.reason("/page", at("4s"), gate).starts_with("ToldToWait"));
}
