//! Patience, retries, resets and our own side, in virtual time: how a crawl ends against hosts that
//! never get well.

use std::time::Duration;

use curtsy_core::host::{BudgetReason, HostState, Problem};
use curtsy_core::policy::Preset;
use curtsy_engine::Over;
use curtsy_sim::web::{HostModel, Mood, Oddity, RobotsAnswer};

use crate::crawl::{Crawl, host};

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Waits of five minutes never added up: a crawl with ten minutes of patience went on for ever.
#[test]
fn short_waits_add_up_to_patience() {
    let down = HostModel { robots: vec![(0, RobotsAnswer::Status(503))], ..host(0) };
    let mut crawl = Crawl::new(Preset::Careful, vec![down], &["http://h0.test/p/1"]);
    crawl.settings.patience = Some(secs(600));
    let ended = crawl.live();
    let Over::Waits(_) = ended.over else { panic!("{:?}", ended.over) };
    // robots.txt is asked for at once and after five minutes. A third time would be later than ten
    // minutes after the start.
    assert_eq!(ended.starts.len(), 2, "{:?}", ended.starts);
    let gap = ended.starts[1] - ended.starts[0];
    assert!(gap >= secs(300) && gap < secs(301), "{gap:?}");
    assert!(ended.after < secs(303), "it ends as soon as that is known: {:?}", ended.after);
    assert_eq!(ended.rows, 0, "the page is still queued");
}

/// Nothing was decided while all hosts waited, so a crawl of 60 s ended after 300 s.
#[test]
fn a_time_limit_ends_a_crawl_whose_hosts_all_wait() {
    let down = HostModel { robots: vec![(0, RobotsAnswer::Status(503))], ..host(0) };
    let mut backing_off = Crawl::new(Preset::Careful, vec![down], &["http://h0.test/p/1"]);
    backing_off.settings.patience = Some(secs(3600));
    let mut slow =
        Crawl::new(Preset::Careful, vec![host(0)], &["http://h0.test/p/1", "http://h0.test/p/2"]);
    slow.policy.pace.delay_min = secs(600);
    slow.policy.pace.delay_max = secs(600);
    slow.settings.patience = Some(secs(3600));
    for mut crawl in [backing_off, slow] {
        crawl.policy.budget.time = Some(secs(60));
        let ended = crawl.live();
        assert_eq!(ended.over, Over::Spent(BudgetReason::TimeLimit));
        assert!(ended.after >= secs(60) && ended.after < secs(61), "{:?}", ended.after);
        assert_eq!(ended.starts.len(), 1, "robots.txt: {:?}", ended.starts);
        assert_eq!(ended.rows, 0, "what is left stays in the queue");
    }
}

/// Each page that comes begins patience anew.
#[test]
fn progress_renews_patience() {
    let down = HostModel { robots: vec![(0, RobotsAnswer::Status(503))], ..host(0) };
    let mut crawl = Crawl::new(Preset::Careful, vec![down, host(1)], &["http://h0.test/p/1"]);
    // Pages of the other host come for longer than two waits.
    crawl.urls.extend((0..400).map(|page| format!("http://h1.test/p/{page}")));
    crawl.settings.patience = Some(secs(600));
    let ended = crawl.live();
    let Over::Waits(_) = ended.over else { panic!("{:?}", ended.over) };
    assert_eq!(ended.rows, 400);
    assert!(ended.after > secs(1500), "{:?}", ended.after);
}

/// A host name with a typo kept a crawl waiting.
#[test]
fn a_name_that_does_not_resolve_ends_a_crawl() {
    let mut crawl = Crawl::new(Preset::Careful, vec![], &["http://exmaple.test/"]);
    crawl.settings.patience = Some(secs(600));
    let ended = crawl.live();
    assert_eq!(ended.over, Over::Empty);
    assert_eq!(ended.endings.keys().collect::<Vec<_>>(), ["Dead"]);
    assert!(ended.after < secs(10), "{:?}", ended.after);
}

/// What the proxy answered was taken for the site's robots.txt.
#[test]
fn a_proxy_that_wants_a_password_ends_a_crawl_and_changes_nothing() {
    for url in ["http://h0.test/p/1", "https://h0.test/p/1"] {
        let mut crawl = Crawl::new(Preset::Careful, vec![host(0)], &[url]);
        crawl.proxy_shut = 3600;
        let ended = crawl.live();
        assert_eq!(ended.over, Over::Ours(Problem::ProxyLogin));
        assert_eq!((ended.rows, ended.starts.len()), (0, 0));
        assert!(ended.after < secs(2), "{:?}", ended.after);
        // Only that a dial was made is known.
        let HostState { robots, breaker, backoff, unreached, .. } = ended.state("h0.test");
        let fresh = HostState::default();
        assert_eq!((robots, unreached), (None, None));
        assert_eq!((breaker, backoff), (fresh.breaker, fresh.backoff));
    }
}

/// A worker of a fleet does not end: it goes on when the password is right, and robots.txt comes
/// first then.
#[test]
fn a_worker_that_goes_on_loses_nothing_to_its_proxy() {
    let mut crawl = Crawl::new(Preset::Fleet, vec![host(0)], &["http://h0.test/p/1"]);
    crawl.settings.until_empty = false;
    crawl.proxy_shut = 600;
    let ended = crawl.live_until(1);
    assert_eq!(ended.endings.keys().collect::<Vec<_>>(), ["Fetched"]);
    assert_eq!(ended.starts.len(), 2, "robots.txt, then the page: {:?}", ended.starts);
    assert!(ended.starts[0] >= secs(600));
}

/// P17: a host that accepts and closes was dialled 14 times in 20 ms.
#[test]
fn a_host_that_closes_each_connection_is_dialled_a_delay_apart() {
    let shut = HostModel { moods: vec![(0, Mood::Shut)], ..host(0) };
    for preset in [Preset::Careful, Preset::Audit, Preset::Warehouse, Preset::Fleet] {
        let urls = ["http://h0.test/p/1", "http://h0.test/p/2", "http://h0.test/p/3"];
        let mut crawl = Crawl::new(preset, vec![shut.clone()], &urls);
        crawl.settings.patience = Some(secs(1200));
        let delay = crawl.policy.pace.delay_min;
        let ended = crawl.live();
        assert!(ended.accepted.len() >= 3, "{preset:?}: {:?}", ended.accepted);
        for pair in ended.accepted.windows(2) {
            assert!(pair[1] - pair[0] >= delay, "{preset:?}: {:?}", ended.accepted);
        }
    }
}

/// A crawl with several slots whose page limit was reached went on for ever: a page that waited for
/// a slot was remembered by a claim that the store did not know any more, and one whose row needed
/// no request was remembered as still owed.
#[test]
fn a_crawl_whose_pages_are_used_up_ends() {
    for seed in 0..200 {
        // Some pages redirect, some are slow, some fail for a while.
        let odd = HostModel { oddity: Oddity::Mixed, seed, ..host(0) };
        let mut crawl = Crawl::new(Preset::Audit, vec![odd], &[]);
        crawl.urls.extend((0..60).map(|page| format!("http://h0.test/p/{page}")));
        crawl.policy.pace.delay_min = Duration::ZERO;
        crawl.policy.pace.delay_max = Duration::ZERO;
        crawl.policy.budget.pages = Some(20 + seed % 7);
        crawl.settings.patience = Some(secs(600));
        let pages = crawl.policy.budget.pages.unwrap();
        let ended = crawl.live();
        match ended.over {
            Over::Spent(_) => assert_eq!(ended.rows as u64, pages, "{seed}: each page has its row"),
            // A page that was charged waits for its host: it redirects to where nobody listens.
            Over::Waits(_) => assert!((ended.rows as u64) < pages, "{seed}"),
            over => panic!("{seed}: {over:?}"),
        }
    }
}
