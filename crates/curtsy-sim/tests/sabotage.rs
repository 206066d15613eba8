//! The judge's strength: every planted fault is caught within 200 requests of its first effect, and
//! nothing else is called a fault.
#![allow(clippy::print_stdout)]

use std::collections::BTreeSet;
use std::time::Duration;

use curtsy_core::policy::{Policy, Preset};
use curtsy_sim::web::{Mood, Oddity, RobotsAnswer, SECOND, Told};
use curtsy_sim::{Mode, Sabotage, Set, Spec, simulate};

const REQUESTS_MAX: u64 = 200;
const SEEDS: std::ops::RangeInclusive<u64> = 1..=3;

/// A small run in which a fault has its chance; the fault itself is not yet planted.
fn scene(fault: Sabotage, seed: u64) -> Spec {
    let mut policy = Policy::preset(Preset::Careful);
    policy.identity.contact = Some("mailto:sim@example.org".into());
    policy.pace.adaptive = false;
    // Longer than a visit lingers: every start is decided on what the store says.
    (policy.pace.delay_min, policy.pace.delay_max) =
        (Duration::from_secs(6), Duration::from_secs(6));
    let mut set = Set {
        mood: Mood::Polite,
        mood_after: 120,
        robots: text("User-agent: *\nDisallow: /p/3\n"),
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
    let mut mode = Mode::Safety;
    let (mut seconds, mut pages) = (4 * 3600, 40);
    let busy = |policy: &mut Policy, set: &mut Set, slots| {
        (policy.pace.delay_min, policy.pace.delay_max) =
            (Duration::from_millis(500), Duration::from_millis(500));
        policy.slots.per_host = slots;
        set.think = (3 * SECOND, 5 * SECOND);
    };
    match fault {
        Sabotage::CrawlDelayIgnored => set.robots = text("User-agent: *\nCrawl-delay: 10\n"),
        Sabotage::CrawlDelayCut => set.robots = text("User-agent: *\nCrawl-delay: 7.9\n"),
        Sabotage::LocalFallback => {
            (policy.pace.delay_min, policy.pace.delay_max) =
                (Duration::from_secs(4), Duration::from_secs(4));
            set.away = Some(30);
            seconds = 1800;
        }
        Sabotage::WritesAtOnce => set.handshake = (0, 2 * SECOND),
        Sabotage::FollowsRedirects => set.oddity = Oddity::Mixed,
        Sabotage::SlotsPlusOne => busy(&mut policy, &mut set, 2),
        Sabotage::LeasesForgotten => {
            busy(&mut policy, &mut set, 2);
            // There is always something that a third visit could ask for.
            pages = 160;
        }
        Sabotage::LeasesLeak => mode = Mode::Liveness,
        Sabotage::AddressCapIgnored => {
            busy(&mut policy, &mut set, 2);
            policy.slots.per_address = Some(2);
            set.one_address = true;
            seconds = 600;
        }
        Sabotage::RetryAfterIgnored => set.mood = Mood::SomeTooMany(30, Told::Seconds(120)),
        Sabotage::DatesIgnored => {
            set.mood = Mood::SomeTooMany(30, Told::Date(3600));
            policy.backoff.curve.base = Duration::from_secs(60);
        }
        Sabotage::BusyIgnored => set.mood = Mood::Busy(Told::Seconds(600)),
        Sabotage::RobotsIgnored | Sabotage::WildcardsIgnored => {
            set.robots = text("User-agent: *\nDisallow: /*7$\n")
        }
        Sabotage::WaitCapped => set.mood = Mood::SomeTooMany(30, Told::Seconds(900)),
        Sabotage::JitterShortens => {
            set.mood = Mood::SomeTooMany(30, Told::Nothing);
            policy.backoff.curve.jitter_percent = (0, 0);
        }
        Sabotage::NoGrowth => {
            set.mood = Mood::SomeTooMany(70, Told::Nothing);
            policy.backoff.curve.base = Duration::from_secs(60);
        }
        Sabotage::ForbiddenIsNothing => set.mood = Mood::Status(403),
        Sabotage::SuccessClearsBlock => {
            busy(&mut policy, &mut set, 4);
            set.mood = Mood::SomeTooMany(20, Told::Seconds(120));
        }
        Sabotage::RetriesWithoutEnd | Sabotage::RetriesAtOnce | Sabotage::MoreRetries => {
            set.mood = Mood::Some(80, 408);
            // Few URLs, so that their retries come soon.
            pages = 8;
        }
        Sabotage::PagesForgotten => pages = 8,
        Sabotage::NoValidators => policy.robots.ttl = Duration::from_secs(600),
        Sabotage::BreakerNeverOpens | Sabotage::BreakerOpensLate | Sabotage::BreakerHalved => {
            // They go down while their robots.txt is known.
            set.mood = Mood::Status(504);
            set.mood_after = 2 * 3600;
            policy.robots.ttl = Duration::from_secs(86_400);
        }
        Sabotage::RobotsTtlTenfold => policy.robots.ttl = Duration::from_secs(600),
        Sabotage::OtherProduct => set.robots = text("User-agent: curtsy\nDisallow: /p/\n"),
        Sabotage::UnreachableIsAbsent | Sabotage::FailsOpen | Sabotage::AsksAgainTooSoon => {
            set.robots = RobotsAnswer::Status(503);
        }
        Sabotage::ProxyIsSite => {
            set.proxy_shut = Some(2 * 3600);
            policy.robots.ttl = Duration::from_secs(86_400);
        }
        Sabotage::DialsForgotten => set.mood = Mood::Shut,
        Sabotage::DialsUnbooked => {
            busy(&mut policy, &mut set, 2);
            set.mood = Mood::Shut;
        }
        Sabotage::ReconnectsTwice => {
            // The hosts close their idle connections in the middle of a wave.
            busy(&mut policy, &mut set, 1);
            set.mood = Mood::Shut;
            (seconds, pages) = (600, 160);
        }
        Sabotage::HappyEyeballs => set.handshake = (0, 2 * SECOND),
        Sabotage::RedialsAfterReset => set.mood = Mood::Reset,
        Sabotage::DialsInBreakersWait => {
            set.mood = Mood::Refuse;
            set.mood_after = 2 * 3600;
            policy.robots.ttl = Duration::from_secs(86_400);
        }
        Sabotage::StopIgnored => set.stop_after = Some(3600),
        Sabotage::BudgetIgnored => policy.budget.pages = Some(60),
        _ => {}
    }
    Spec {
        seed,
        seconds,
        workers: 4,
        hosts: 6,
        waves: 4,
        pages,
        mode,
        faults: false,
        links: false,
        policy: Some(policy),
        stop_at_first: true,
        trace: None,
        set: Some(set),
        sabotage: None,
    }
}

fn text(text: &str) -> RobotsAnswer {
    RobotsAnswer::Text(text.as_bytes().into(), Some("\"r1\"".into()))
}

#[test]
fn every_planted_fault_is_caught() {
    let mut missed = Vec::new();
    println!("| fault | caught by | requests, at most |\n|---|---|---|");
    for &fault in Sabotage::ALL {
        let (mut rules, mut most) = (BTreeSet::new(), 0);
        for seed in SEEDS {
            let spec = scene(fault, seed);
            let honest = simulate(&spec);
            if !honest.clean() {
                let (first, lost) = (&honest.report.first, &honest.lost);
                missed.push(format!("{fault:?}, seed {seed}: without it {first:?}, lost {lost:?}"));
            }
            let sabotaged = simulate(&Spec { sabotage: Some(fault), ..spec });
            let first = &sabotaged.report.first;
            let found = first.iter().find(|v| fault.breaks().contains(&v.rule));
            match (found, sabotaged.since_sabotage) {
                (Some(found), Some(since)) if since <= REQUESTS_MAX => {
                    rules.insert(found.rule);
                    most = since.max(most);
                }
                (_, since) => missed.push(format!("{fault:?}, seed {seed}: {since:?}, {first:?}")),
            }
        }
        let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
        println!("| {} | {} | {most} |", fault.what(), rules.join(", "));
    }
    assert!(Sabotage::ALL.len() >= 25);
    assert!(missed.is_empty(), "{} missed:\n{}", missed.len(), missed.join("\n"));
}
