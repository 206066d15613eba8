//! The sentences and records about decisions, exactly as people and programs read them.

use std::time::Duration;

use curtsy_core::evidence::{
    DiscoverySource, FindingsError, RobotsEvidence, RunEvidence, RunFigures, RunOutcome,
    SLOT_TIMEOUT_TEXT, SentenceContext, circuit_open, decode, encode, friction_signal, sentence,
};
use curtsy_core::host::{
    AddressReason, BackoffReason, BreakerReason, BudgetReason, Confidence, DelayBy, Finding,
    Findings, FreshnessReason, Friction, Gate, Outcome, PaceReason, Problem, Reason, RiskReason,
    RobotsId, RobotsReason, SlotsReason, StopReason, TrapReason, TrapShape, Verdict,
};
use curtsy_core::policy::Mode;
use curtsy_core::robots::Robots;
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, HostKey, Region};
use proptest::prelude::*;
use serde_json::json;

/// 2024-01-01T00:00:00Z.
const NOW: Time = Time::from_secs(1_704_067_200);
const FILE: RobotsId = RobotsId([0xC5; 16]);

const ROBOTS: &[u8] = b"User-agent: *\n\
    Allow: /public\n\
    Crawl-delay: 2\n\
    \n\
    disallow :/private # not yours\n\
    Disallow /no-colon\n\
    Disallow: /bell\x07\x1b[31m\n";

/// Returns the sentence for a finding of the named gate.
#[track_caller]
fn check(gate: Gate, verdict: Verdict, reason: Reason, expected: &str) {
    let robots = Robots::parse(ROBOTS);
    let names = SentenceContext { robots: Some(&robots), now: NOW };
    let text = sentence(gate, &Finding::new(verdict, reason), &names);
    assert_eq!(text, expected);
    assert!(!text.ends_with('.') && !text.contains('\n'));
    // A text that the requirements give stays as given.
    let given = text.starts_with(SLOT_TIMEOUT_TEXT);
    assert!(given || text.starts_with(|c: char| c.is_lowercase() || c.is_ascii_digit()));
}

fn until(span: Duration) -> Verdict {
    Verdict::NotBefore(NOW + span)
}

fn line(line: u32) -> Reason {
    Reason::Robots(RobotsReason::Forbids {
        file: FILE,
        line: Some(line),
        standing: Confidence::Current,
    })
}

#[test]
fn a_rule_is_quoted_with_its_line() {
    let go = |line, standing, expected| {
        let reason = Reason::Robots(RobotsReason::Allows { file: FILE, line, standing });
        check(Gate::Robots, Verdict::Go, reason, expected);
    };
    go(Some(2), Confidence::Current, "robots.txt line 2 allows it: `Allow: /public`");
    go(None, Confidence::Current, "no rule of robots.txt matches, so it is allowed");
    go(
        Some(2),
        Confidence::LastGood,
        "robots.txt line 2 allows it: `Allow: /public` (the last good copy; robots.txt can't be had now)",
    );
    let no = |n, expected| check(Gate::Robots, Verdict::Never, line(n), expected);
    no(5, "robots.txt line 5 forbids it: `disallow: /private`");
    no(6, "robots.txt line 6 forbids it: `Disallow: /no-colon`");
    no(7, "robots.txt line 7 forbids it: `Disallow: /bell\u{FFFD}\u{FFFD}[31m`");
    // A text that is not the one that decided has no such line: the number stands alone.
    no(99, "robots.txt line 99 forbids it");
    let reason = Reason::Robots(RobotsReason::Forbids {
        file: FILE,
        line: None,
        standing: Confidence::Current,
    });
    check(Gate::Robots, Verdict::Never, reason, "robots.txt forbids it");
}

#[test]
fn without_the_text_the_number_has_to_do() {
    let names = SentenceContext { robots: None, now: NOW };
    let found = Finding::new(Verdict::Never, line(5));
    assert_eq!(sentence(Gate::Robots, &found, &names), "robots.txt line 5 forbids it");
}

#[test]
fn a_long_rule_is_cut() {
    let text = format!("User-agent: *\nDisallow: /{}\n", "é".repeat(3_000));
    let robots = Robots::parse(text.as_bytes());
    let names = SentenceContext { robots: Some(&robots), now: NOW };
    let text = sentence(Gate::Robots, &Finding::new(Verdict::Never, line(2)), &names);
    assert!(text.ends_with("é…`") && text.chars().count() < 600);
}

#[test]
fn robots_without_a_rule() {
    let go = |reason, expected| check(Gate::Robots, Verdict::Go, reason, expected);
    go(Reason::Robots(RobotsReason::Unknown), "robots.txt is not known yet and is asked for first");
    go(
        Reason::Robots(RobotsReason::Due),
        "robots.txt is past its time and is asked for again first",
    );
    check(
        Gate::Robots,
        until(Duration::from_secs(90)),
        Reason::Robots(RobotsReason::Due),
        "robots.txt is asked for again when its time is over; until 2024-01-01T00:01:30.000Z, in 1 min 30 s",
    );
    check(
        Gate::Robots,
        until(Duration::from_secs(60)),
        Reason::Robots(RobotsReason::Asked),
        "robots.txt is being asked for right now; until 2024-01-01T00:01:00.000Z, in 1 min",
    );
    go(Reason::Robots(RobotsReason::Absent), "the site has no robots.txt, so there are no rules");
    check(
        Gate::Robots,
        Verdict::Never,
        Reason::Robots(RobotsReason::Refused),
        "the site refuses its robots.txt, and the policy takes that as a no",
    );
    check(
        Gate::Robots,
        until(Duration::from_secs(300)),
        Reason::Robots(RobotsReason::Unreachable),
        "robots.txt could not be had, so nothing else may be asked; until 2024-01-01T00:05:00.000Z, in 5 min",
    );
    go(
        Reason::Robots(RobotsReason::UnreachableAllowed),
        "robots.txt could not be fetched: allowed, low confidence",
    );
    go(Reason::Robots(RobotsReason::Exempt), "robots.txt has no say in requests for robots.txt");
    check(
        Gate::Robots,
        Verdict::Never,
        Reason::Robots(RobotsReason::AuthorityLimit),
        "robots.txt is kept for 64 authorities of a host, and this is one more",
    );
}

#[test]
fn pace_says_who_set_it() {
    let delay = |micros, by, expected| {
        check(Gate::Pace, Verdict::Go, Reason::Pace(PaceReason::Delay { micros, by }), expected);
    };
    delay(3_000_000, DelayBy::Policy, "waits 3 s between two starts (policy)");
    delay(2_500_000, DelayBy::CrawlDelay, "waits 2.5 s between two starts (Crawl-delay)");
    delay(
        600_000_000,
        DelayBy::Parked,
        "waits 10 min between two starts (Crawl-delay, so long that the host is parked)",
    );
    delay(
        9_000_000,
        DelayBy::Latency,
        "waits 9 s between two starts (answers take longer than usual)",
    );
    delay(1_200_000, DelayBy::Risk, "waits 1.2 s between two starts (risk)");
    let reason = Reason::Pace(PaceReason::Delay { micros: 3_000_000, by: DelayBy::Policy });
    check(
        Gate::Pace,
        until(Duration::from_millis(1_250)),
        reason,
        "waits 3 s between two starts (policy); until 2024-01-01T00:00:01.250Z, in 1.25 s",
    );
    check(
        Gate::Pace,
        until(Duration::from_secs(30)),
        Reason::Pace(PaceReason::StoreRestarted),
        "the store began anew; what was in flight before must surely have ended; until 2024-01-01T00:00:30.000Z, in 30 s",
    );
}

#[test]
fn slots_and_freshness() {
    let later = until(Duration::from_secs(30));
    let tail = "; until 2024-01-01T00:00:30.000Z, in 30 s";
    let slots = |reason, expected: &str| {
        check(Gate::Slots, later, reason, &format!("{expected}{tail}"));
    };
    slots(
        Reason::Slots(SlotsReason::Taken { in_flight: 2 }),
        "all slots of the host are taken: 2 requests in flight",
    );
    slots(
        Reason::Slots(SlotsReason::Taken { in_flight: 1 }),
        "all slots of the host are taken: 1 request in flight",
    );
    slots(Reason::Slots(SlotsReason::SingleFlight), "this very URL is being fetched");
    slots(Reason::Slots(SlotsReason::Timeout), "Timeout waiting for host concurrency slot");
    slots(Reason::Address(AddressReason::Taken), "all slots of the server's address are taken");
    slots(Reason::Freshness(FreshnessReason::Fresh), "the page that we hold is still fresh");
    assert_eq!(
        curtsy_core::evidence::SLOT_TIMEOUT_TEXT,
        "Timeout waiting for host concurrency slot"
    );
}

#[test]
fn waits_and_failures() {
    let told = Reason::Backoff(BackoffReason::ToldToWait { streak: 2, micros: 900_000_000 });
    check(
        Gate::Backoff,
        until(Duration::from_secs(840)),
        told,
        "told to wait 15 min after 2 refusals in a row; until 2024-01-01T00:14:00.000Z, in 14 min",
    );
    check(
        Gate::Backoff,
        Verdict::Go,
        told,
        "told to wait 15 min after 2 refusals in a row; that is over",
    );
    check(
        Gate::Backoff,
        until(Duration::from_secs(2)),
        Reason::Backoff(BackoffReason::Retry { tries: 1 }),
        "waits for its next try after 1 try; until 2024-01-01T00:00:02.000Z, in 2 s",
    );
    let down = Reason::Breaker(BreakerReason::Down { failures: 5, level: 1 });
    check(
        Gate::Breaker,
        until(Duration::from_secs(30)),
        down,
        "circuit open: the host appears down after 5 failures in a row, wait 1 is in force; until 2024-01-01T00:00:30.000Z, in 30 s",
    );
    check(
        Gate::Breaker,
        Verdict::Go,
        down,
        "circuit open: the host appears down after 5 failures in a row, wait 1 is in force; the probe is due",
    );
    // Read later than it was written: the wait is not made up again.
    check(
        Gate::Backoff,
        Verdict::NotBefore(NOW.back(Duration::from_secs(60))),
        told,
        "told to wait 15 min after 2 refusals in a row; until 2023-12-31T23:59:00.000Z, which is past",
    );
}

#[test]
fn risk_budget_and_stop() {
    let risk = |score, verdict, expected| {
        check(Gate::Risk, verdict, Reason::Risk(RiskReason::Score { score }), expected);
    };
    risk(20, Verdict::Go, "risk score 20 of 100, low");
    risk(21, Verdict::Go, "risk score 21 of 100, medium");
    risk(51, Verdict::Go, "risk score 51 of 100, high");
    risk(81, Verdict::Go, "risk score 81 of 100, critical");
    risk(100, Verdict::Never, "risk score 100 of 100, critical: automated modes skip the host");
    let no = |gate, reason, expected| check(gate, Verdict::Never, reason, expected);
    no(
        Gate::Risk,
        Reason::Risk(RiskReason::EarlyStop { streak: 3 }),
        "3 friction signals in a row stopped this run early",
    );
    no(
        Gate::Budget,
        Reason::Budget(BudgetReason::PageLimit { pages: 200 }),
        "page limit: 200 pages are charged already",
    );
    no(
        Gate::Budget,
        Reason::Budget(BudgetReason::TimeLimit),
        "time limit: the job's time is used up",
    );
    check(
        Gate::Stop,
        Verdict::NotBefore(Time::NEVER),
        Reason::Stop(StopReason::Ordered),
        "somebody ordered us to stop asking this host; until a person lifts it",
    );
}

#[test]
fn a_clear_gate_says_what_is_clear() {
    let expected: [_; Gate::ALL.len()] = [
        "robots.txt is not against it",
        "no fresh copy of the page is held",
        "no start of the host is to be kept away from",
        "a slot of the host is free",
        "not looked at: no request was granted",
        "the host has not told us to wait",
        "circuit closed: the host answers",
        "no friction counts against the host",
        "within the job's budget",
        "no order to stop is in force",
        "does not look like a trap",
    ];
    for (gate, expected) in Gate::ALL.into_iter().zip(expected) {
        check(gate, Verdict::Go, Reason::Clear, expected);
    }
}

#[test]
fn the_log_line_of_an_open_breaker_is_the_requirements() {
    let host = HostKey::parse("example.com").unwrap();
    let line = |millis| circuit_open(&host, Duration::from_millis(millis));
    assert_eq!(line(30_000), "Circuit open: example.com appears down. Next probe in 30s.");
    assert_eq!(line(240_025), line(240_000));
    assert_eq!(line(2_500), "Circuit open: example.com appears down. Next probe in 2.5s.");
}

/// Returns the record of a robots finding, as JSON.
fn record(finding: Finding, crawl_delay: Option<Duration>) -> serde_json::Value {
    let robots = Robots::parse(ROBOTS);
    let names = SentenceContext { robots: Some(&robots), now: NOW };
    let url = CrawlUrl::parse("https://example.com/page").unwrap();
    serde_json::to_value(RobotsEvidence::of(&finding, &url, crawl_delay, &names)).unwrap()
}

#[test]
fn robots_allowed_to_the_letter() {
    let robots = Robots::parse(ROBOTS);
    let names = SentenceContext { robots: Some(&robots), now: NOW };
    let url = CrawlUrl::parse("https://example.com/page").unwrap();
    let reason = Reason::Robots(RobotsReason::Allows {
        file: FILE,
        line: Some(2),
        standing: Confidence::Current,
    });
    let found = Finding::new(Verdict::Go, reason);
    let evidence = RobotsEvidence::of(&found, &url, Some(Duration::from_secs(2)), &names).unwrap();
    assert_eq!(
        serde_json::to_string_pretty(&evidence.content).unwrap(),
        r#"{
  "allowed": true,
  "matchedRule": "Allow: /public",
  "crawlDelay": 2,
  "timestamp": "2024-01-01T00:00:00.000Z"
}"#
    );
    assert_eq!(
        serde_json::to_string_pretty(&evidence.metadata).unwrap(),
        r#"{
  "url": "https://example.com/page",
  "allowed": true,
  "matchedRule": "Allow: /public",
  "crawlDelay": 2
}"#
    );
    let whole = serde_json::to_value(&evidence).unwrap();
    assert_eq!(whole["type"], "robots_allowed");
    assert_eq!(whole["confidence"], "high");
}

#[test]
fn blocked_by_robots() {
    let whole = record(Finding::new(Verdict::Never, line(5)), Some(Duration::from_millis(500)));
    assert_eq!(
        whole,
        json!({
            "type": "blocked_by_robots",
            "content": {
                "allowed": false,
                "matchedRule": "disallow: /private",
                "crawlDelay": 0.5,
                "timestamp": "2024-01-01T00:00:00.000Z"
            },
            "metadata": {
                "url": "https://example.com/page",
                "allowed": false,
                "matchedRule": "disallow: /private",
                "crawlDelay": 0.5
            },
            "confidence": "high"
        })
    );
}

#[test]
fn how_sure_robots_evidence_is() {
    let check = |verdict, reason, expected: &str| {
        let whole = record(Finding::new(verdict, reason), None);
        let text = match whole.is_null() {
            true => "nothing".to_owned(),
            false => {
                assert!(whole["content"]["matchedRule"].is_null());
                assert!(whole["content"]["crawlDelay"].is_null());
                let (kind, sure) = (&whole["type"], &whole["confidence"]);
                format!("{} {}", kind.as_str().unwrap(), sure.as_str().unwrap())
            }
        };
        assert_eq!(text, expected, "{reason:?}");
    };
    let later = until(Duration::from_secs(300));
    let allows =
        |standing| Reason::Robots(RobotsReason::Allows { file: FILE, line: None, standing });
    check(Verdict::Go, allows(Confidence::Current), "robots_allowed high");
    check(Verdict::Go, allows(Confidence::LastGood), "robots_allowed low");
    check(Verdict::Go, Reason::Robots(RobotsReason::Absent), "robots_allowed high");
    check(Verdict::Go, Reason::Robots(RobotsReason::UnreachableAllowed), "robots_allowed low");
    check(later, Reason::Robots(RobotsReason::Unreachable), "blocked_by_robots low");
    check(Verdict::Never, Reason::Robots(RobotsReason::Refused), "blocked_by_robots high");
    check(Verdict::Never, Reason::Robots(RobotsReason::AuthorityLimit), "blocked_by_robots low");
    check(Verdict::Go, Reason::Robots(RobotsReason::Unknown), "nothing");
    check(Verdict::Go, Reason::Robots(RobotsReason::Due), "nothing");
    check(later, Reason::Robots(RobotsReason::Asked), "nothing");
    check(Verdict::Go, Reason::Robots(RobotsReason::Exempt), "nothing");
}

#[test]
fn a_run_reports_to_the_letter() {
    let figures = RunFigures {
        sources: vec![DiscoverySource::Sitemap, DiscoverySource::Robots, DiscoverySource::Homepage],
        planned: 25,
        fetched: 20,
        fresh: 3,
        used: 21,
        cache_hits: 3,
        cache_misses: 22,
        friction: vec!["403:example.com/admin".to_owned()],
        kept_off: false,
        our_fault: false,
        risk_score: 20,
        took: Duration::from_micros(25_300_999),
    };
    let evidence = RunEvidence::new("abc123".to_owned(), Mode::Standard, figures);
    assert_eq!(
        serde_json::to_string_pretty(&evidence).unwrap(),
        r#"{
  "traceId": "abc123",
  "nm_policyVersion": "orbitBehaviourContract.v1.1.0",
  "nm_ingest": {
    "mode": "standard",
    "discoverySources": [
      "sitemap",
      "robots",
      "homepage"
    ],
    "pagesPlanned": 25,
    "pagesFetched": 20,
    "pagesUsed": 21,
    "cacheHits": 3,
    "cacheMisses": 22,
    "outcome": "partial",
    "frictionSignals": [
      "403:example.com/admin"
    ],
    "domainRiskScore": 20,
    "durationMs": 25300
  }
}"#
    );
    for (mode, name) in [(Mode::Light, "light"), (Mode::UserAssisted, "user_assisted")] {
        let evidence = RunEvidence::new(String::new(), mode, RunFigures::default());
        assert_eq!(serde_json::to_value(&evidence).unwrap()["nm_ingest"]["mode"], name);
    }
}

#[test]
fn how_a_run_ended() {
    let check = |planned, fetched, fresh, friction: bool, our_fault, expected| {
        let figures = RunFigures {
            planned,
            fetched,
            fresh,
            friction: vec!["429:example.com/".to_owned(); usize::from(friction)],
            our_fault,
            ..RunFigures::default()
        };
        assert_eq!(figures.outcome(), expected, "{figures:?}");
    };
    check(12, 12, 0, false, false, RunOutcome::Success);
    check(12, 4, 8, true, false, RunOutcome::Success);
    check(12, 0, 12, false, false, RunOutcome::Success);
    check(12, 11, 0, false, false, RunOutcome::Partial);
    check(12, 0, 1, true, false, RunOutcome::Partial);
    check(12, 0, 0, true, false, RunOutcome::Blocked);
    check(0, 0, 0, true, false, RunOutcome::Blocked);
    check(12, 5, 0, true, true, RunOutcome::Error);
    check(12, 0, 0, false, true, RunOutcome::Error);
    // The host is down, or robots.txt forbids all of the plan.
    check(12, 0, 0, false, false, RunOutcome::Error);
    check(0, 0, 0, false, false, RunOutcome::Success);
}

#[test]
fn friction_signals_name_no_query() {
    let check = |status, friction, url: &str, expected: Option<&str>| {
        let outcome = Outcome::Answered { status, retry_after: None, friction };
        let url = CrawlUrl::parse(url).unwrap();
        assert_eq!(friction_signal(&outcome, &url).as_deref(), expected);
    };
    let admin = "https://example.com/admin?user=me&key=s3cret";
    check(403, None, admin, Some("403:example.com/admin"));
    check(429, None, "http://example.com", Some("429:example.com/"));
    check(503, None, admin, Some("503:example.com/admin"));
    check(200, Some(Friction::Challenge), admin, Some("challenge:example.com/admin"));
    check(403, Some(Friction::Challenge), admin, Some("challenge:example.com/admin"));
    check(
        200,
        Some(Friction::Unusual),
        "http://example.com:8080/a",
        Some("unusual:example.com:8080/a"),
    );
    check(200, None, admin, None);
    check(404, None, admin, None);
    let url = CrawlUrl::parse(admin).unwrap();
    assert_eq!(friction_signal(&Outcome::Failed(Problem::Dns), &url), None);
}

/// Gives each reason an index, without a wildcard: a new reason does not compile until it is
/// tested.
fn place(reason: &Reason) -> usize {
    match reason {
        Reason::Clear => 0,
        Reason::Robots(RobotsReason::Unknown) => 1,
        Reason::Robots(RobotsReason::Due) => 2,
        Reason::Robots(RobotsReason::Asked) => 3,
        Reason::Robots(RobotsReason::Allows { .. }) => 4,
        Reason::Robots(RobotsReason::Forbids { .. }) => 5,
        Reason::Robots(RobotsReason::Absent) => 6,
        Reason::Robots(RobotsReason::Refused) => 7,
        Reason::Robots(RobotsReason::Unreachable) => 8,
        Reason::Robots(RobotsReason::UnreachableAllowed) => 9,
        Reason::Robots(RobotsReason::Exempt) => 10,
        Reason::Robots(RobotsReason::AuthorityLimit) => 11,
        Reason::Freshness(FreshnessReason::Fresh) => 12,
        Reason::Pace(PaceReason::Delay { .. }) => 13,
        Reason::Slots(SlotsReason::Taken { .. }) => 14,
        Reason::Slots(SlotsReason::SingleFlight) => 15,
        Reason::Slots(SlotsReason::Timeout) => 16,
        Reason::Address(AddressReason::Taken) => 17,
        Reason::Backoff(BackoffReason::ToldToWait { .. }) => 18,
        Reason::Backoff(BackoffReason::Retry { .. }) => 19,
        Reason::Breaker(BreakerReason::Down { .. }) => 20,
        Reason::Risk(RiskReason::Score { .. }) => 21,
        Reason::Risk(RiskReason::EarlyStop { .. }) => 22,
        Reason::Budget(BudgetReason::PageLimit { .. }) => 23,
        Reason::Budget(BudgetReason::TimeLimit) => 24,
        Reason::Stop(StopReason::Ordered) => 25,
        Reason::Pace(PaceReason::StoreRestarted) => 26,
        Reason::Trap(TrapReason::Looks { .. }) => 27,
        Reason::Address(AddressReason::Held { .. }) => 28,
        Reason::Address(AddressReason::Uncounted) => 29,
        Reason::Trap(TrapReason::Vain { .. }) => 30,
        Reason::Trap(TrapReason::Endless { .. }) => 31,
    }
}

/// Returns every reason, its numbers made from `a`, `b` and `file`.
fn reasons(file: [u8; 16], a: u64, b: u8) -> Vec<Reason> {
    let file = RobotsId(file);
    let line = (!a.is_multiple_of(5)).then_some(a as u32);
    let standing = match b % 2 {
        0 => Confidence::Current,
        _ => Confidence::LastGood,
    };
    let by = match b % 5 {
        0 => DelayBy::Policy,
        1 => DelayBy::CrawlDelay,
        2 => DelayBy::Parked,
        3 => DelayBy::Latency,
        _ => DelayBy::Risk,
    };
    let region = Region::ALL[usize::from(b) % 4];
    let trap = match b % 6 {
        0 => TrapShape::Repetition,
        1 => TrapShape::Length,
        2 => TrapShape::Session,
        3 => TrapShape::Calendar,
        4 => TrapShape::Queries,
        _ => TrapShape::Depth,
    };
    vec![
        Reason::Clear,
        Reason::Robots(RobotsReason::Unknown),
        Reason::Robots(RobotsReason::Due),
        Reason::Robots(RobotsReason::Asked),
        Reason::Robots(RobotsReason::Allows { file, line, standing }),
        Reason::Robots(RobotsReason::Forbids { file, line, standing }),
        Reason::Robots(RobotsReason::Absent),
        Reason::Robots(RobotsReason::Refused),
        Reason::Robots(RobotsReason::Unreachable),
        Reason::Robots(RobotsReason::UnreachableAllowed),
        Reason::Robots(RobotsReason::Exempt),
        Reason::Robots(RobotsReason::AuthorityLimit),
        Reason::Freshness(FreshnessReason::Fresh),
        Reason::Pace(PaceReason::Delay { micros: a, by }),
        Reason::Slots(SlotsReason::Taken { in_flight: b }),
        Reason::Slots(SlotsReason::SingleFlight),
        Reason::Slots(SlotsReason::Timeout),
        Reason::Address(AddressReason::Taken),
        Reason::Backoff(BackoffReason::ToldToWait { streak: b, micros: a }),
        Reason::Backoff(BackoffReason::Retry { tries: b }),
        Reason::Breaker(BreakerReason::Down { failures: b, level: a as u8 }),
        Reason::Risk(RiskReason::Score { score: b }),
        Reason::Risk(RiskReason::EarlyStop { streak: b }),
        Reason::Budget(BudgetReason::PageLimit { pages: a }),
        Reason::Budget(BudgetReason::TimeLimit),
        Reason::Stop(StopReason::Ordered),
        Reason::Pace(PaceReason::StoreRestarted),
        Reason::Trap(TrapReason::Looks { trap, limit: a as u32 }),
        Reason::Address(AddressReason::Held { slots: a as u16 }),
        Reason::Address(AddressReason::Uncounted),
        Reason::Trap(TrapReason::Vain { region, read: a as u32, new: b.into(), limit: 48 }),
        Reason::Trap(TrapReason::Endless { region, read: b.into(), pages: a }),
    ]
}

#[test]
fn every_reason_has_a_sentence_and_survives_its_bytes() {
    for (n, reason) in reasons([7; 16], 12_345_678_901, 3).into_iter().enumerate() {
        assert_eq!(place(&reason), n);
        for verdict in [Verdict::Go, until(Duration::from_secs(5)), Verdict::Never] {
            let found = Finding::new(verdict, reason);
            let names = SentenceContext { robots: None, now: NOW };
            assert!(sentence(Gate::Slots, &found, &names).len() > 10);
            let mut findings = Findings::CLEAR;
            findings.set(Gate::Slots, found);
            assert_eq!(decode(&encode(&findings)), Ok(findings));
        }
    }
}

/// Returns the findings of a page that went through with a reason at every gate that has one, and
/// of a page that waits at as many gates as possible.
#[test]
fn a_row_spends_few_bytes() {
    let allowed = Finding::new(
        Verdict::Go,
        Reason::Robots(RobotsReason::Allows {
            file: FILE,
            line: Some(60_000),
            standing: Confidence::Current,
        }),
    );
    let delay = Reason::Pace(PaceReason::Delay { micros: 3_000_000, by: DelayBy::Policy });
    let mut fetched = Findings::CLEAR;
    fetched.set(Gate::Robots, allowed);
    fetched.set(Gate::Pace, Finding::new(Verdict::Go, delay));
    fetched
        .set(Gate::Risk, Finding::new(Verdict::Go, Reason::Risk(RiskReason::Score { score: 0 })));
    assert_eq!(encode(&fetched).len(), 30);

    let mut waits = fetched;
    let mut wait = |gate, span, reason| waits.set(gate, Finding::new(until(span), reason));
    let day = Duration::from_secs(86_400);
    let parked = Reason::Pace(PaceReason::Delay { micros: 86_400_000_000, by: DelayBy::Parked });
    wait(Gate::Pace, day, parked);
    wait(Gate::Slots, Duration::from_secs(30), Reason::Slots(SlotsReason::Taken { in_flight: 2 }));
    wait(Gate::Address, Duration::from_secs(31), Reason::Address(AddressReason::Taken));
    let told = Reason::Backoff(BackoffReason::ToldToWait { streak: 200, micros: 86_400_000_000 });
    wait(Gate::Backoff, day * 30, told);
    let down = Reason::Breaker(BreakerReason::Down { failures: 255, level: 200 });
    wait(Gate::Breaker, Duration::from_secs(300), down);
    waits.set(
        Gate::Stop,
        Finding::new(Verdict::NotBefore(Time::NEVER), Reason::Stop(StopReason::Ordered)),
    );
    let bytes = encode(&waits).len();
    assert!(bytes <= 100, "{bytes} bytes");
    assert_eq!(decode(&encode(&waits)), Ok(waits));
}

#[test]
fn damaged_findings_are_refused() {
    assert_eq!(decode(&[]), Err(FindingsError::Damaged));
    assert_eq!(decode(&[0]), Err(FindingsError::Damaged));
    assert_eq!(decode(&[0, 0]), Err(FindingsError::Layout(0)));
    let mut findings = Findings::CLEAR;
    findings
        .set(Gate::Budget, Finding::new(Verdict::Never, Reason::Budget(BudgetReason::TimeLimit)));
    let mut bytes = encode(&findings);
    bytes.push(0);
    assert_eq!(decode(&bytes), Err(FindingsError::Damaged));
    bytes.truncate(2);
    assert_eq!(decode(&bytes), Err(FindingsError::Damaged));
}

/// A row of version 0.1.0 holds a trap as a finding of the budget: gate 8 of ten, verdict `Never`,
/// tag 27, a calendar, limit 4.
#[test]
fn a_trap_in_an_old_row_is_the_trap_gates_finding() {
    let bytes = [0x00, 0x05, 2 << 6 | 27, 3, 4];
    let expected = TrapReason::Looks { trap: TrapShape::Calendar, limit: 4 }.refusal();
    assert_eq!(decode(&bytes), Ok(expected));
    // The eleventh gate has a byte of its own; rows without it are as before.
    assert_eq!(encode(&expected), [0x00, 0x08, 1, 2 << 6 | 27, 3, 4]);
}

fn findings() -> impl Strategy<Value = Findings> {
    let moment = prop_oneof![
        Just(Verdict::Go),
        Just(Verdict::Never),
        Just(Verdict::NotBefore(Time::NEVER)),
        any::<u64>().prop_map(|t| Verdict::NotBefore(Time::from_micros(t))),
        (0..90_000_000_000_u64).prop_map(|t| Verdict::NotBefore(NOW + Duration::from_micros(t))),
    ];
    let number = prop_oneof![any::<u64>(), 0..100_u64, 0..4_000_000_000_u64];
    let reason = (any::<[u8; 16]>(), number, any::<u8>(), prop_oneof![0..27_usize, 28..30_usize])
        .prop_map(|(file, a, b, n)| reasons(file, a, b)[n]);
    let finding = prop_oneof![
        Just(Finding::CLEAR),
        (moment, reason).prop_map(|(verdict, reason)| Finding::new(verdict, reason)),
    ];
    proptest::array::uniform11(finding).prop_map(Findings)
}

proptest! {
    #[test]
    fn findings_survive_their_bytes(findings in findings()) {
        prop_assert_eq!(decode(&encode(&findings)), Ok(findings));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(findings) = decode(&bytes) {
            prop_assert_eq!(decode(&encode(&findings)), Ok(findings));
        }
    }

    #[test]
    fn nor_do_bytes_that_were_findings_once(
        findings in findings(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        let mut bytes = encode(&findings);
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        let _ = decode(&bytes);
    }
}
