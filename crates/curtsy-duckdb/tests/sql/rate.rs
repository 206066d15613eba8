//! Rate limiting.

use std::time::Duration;

use curtsy_judge::Exchange;
use curtsy_lab::sites::{Answer, Host, Range, Scene};

use crate::harness::{QUICK, Town, gaps, list};

fn scene(host: Host) -> Scene {
    Scene { seed: 1, hosts: vec![host], ..Scene::default() }
}

/// Requests to this path, in their order.
fn to<'l>(log: &'l [Exchange], path: &'l str) -> impl Iterator<Item = &'l Exchange> {
    log.iter().filter(move |x| &*x.target == path)
}

/// `delay_by` says what set the delay.
#[test]
fn crawl_delay_holds_for_all_threads_together() {
    let host = Host::named("h.test").pages(9, 3, 500).robots("User-agent: *\nCrawl-delay: 0.3\n");
    let mut town = Town::new(scene(host), QUICK);
    let duck = town.duck();
    duck.crawl(&town.pages(0, 1, 9), "threads 8, max_parallel_per_domain 8");
    assert_eq!(duck.number("SELECT count(*) FROM pages WHERE http_status = 200"), 8);
    assert_eq!(duck.texts("SELECT DISTINCT delay_by FROM pages"), ["robots"]);
    let log = town.assert_clean();
    assert_eq!(log.len(), 9, "robots.txt and eight pages");
    assert!(gaps(&log).iter().all(|gap| *gap >= 300.0), "{:?}", gaps(&log));
}

/// "Never go below robots.txt specified delay or user-configured minimum": the larger of both
/// counts.
#[test]
fn the_users_own_delay_is_a_minimum_too() {
    let host = Host::named("h.test").pages(5, 3, 500).robots("User-agent: *\nCrawl-delay: 0.01\n");
    let mut town = Town::new(scene(host), "preset = 'warehouse'\n[pace]\ndelay = '250ms'\n");
    let duck = town.duck();
    duck.crawl(&town.pages(0, 1, 5), "threads 4");
    let log = town.assert_clean();
    assert!(gaps(&log).iter().all(|gap| *gap >= 250.0), "{:?}", gaps(&log));
}

/// "When ANY thread receives HTTP 429 from a domain: MUST block ALL threads from making requests to
/// that domain, MUST respect `Retry-After` header if present"; "On successful request to
/// previously-blocked domain: … Other threads can resume immediately".
#[test]
fn one_429_blocks_all_threads_for_as_long_as_it_says() {
    let busy = Answer::to_all().after_ms(200).first(1).status(429).retry_after_seconds(2);
    let mut host = Host::named("h.test").pages(41, 3, 500).says_unlinked(busy);
    host.think = Range::ms(30, 60);
    let mut town = Town::new(scene(host), QUICK);
    let duck = town.duck();
    duck.crawl(&town.pages(0, 1, 41), "threads 8, max_parallel_per_domain 4");
    assert_eq!(duck.number("SELECT count(*) FROM pages WHERE http_status = 200"), 40);
    let log = town.assert_clean();
    let told = log.iter().find(|x| x.status == Some(429)).unwrap();
    let early = |x: &&Exchange| x.start > told.end + 250_000 && x.start < told.end + 2_000_000;
    assert_eq!(log.iter().filter(early).count(), 0, "{log:?}");
    let after: Vec<_> = log.iter().filter(|x| x.start >= told.end + 2_000_000).collect();
    assert!(after.len() >= 2, "others were waiting");
    // Not at the pace of the block any more.
    assert!(gaps(after).iter().all(|gap| *gap < 1_900.0));
}

/// "MUST use Fibonacci backoff if no Retry-After header", "Block duration increases with
/// consecutive 429s"; on success "MUST immediately clear the block" and "MUST reset consecutive
/// error counter".
#[test]
fn refusals_without_a_time_are_waited_for_by_fibonacci_until_a_success() {
    let host = Host::named("h.test")
        .pages(5, 3, 500)
        .says_unlinked(Answer::to("/a").first(4).status(429))
        .says_unlinked(Answer::to("/a"))
        .says_unlinked(Answer::to("/b").first(1).status(429))
        .says_unlinked(Answer::to("/b"));
    let mut town = Town::new(scene(host), QUICK);
    let duck = town.duck();
    duck.crawl(&list([town.url(0, "/a")]), "threads 4");
    duck.crawl(&list([town.url(0, "/b"), town.url(0, "/p/1")]), "threads 4");
    let log = town.assert_clean();
    let waits = gaps(to(&log, "/a"));
    assert_eq!(waits.len(), 4, "{waits:?}");
    for (wait, least) in waits.iter().zip([1000.0, 1000.0, 2000.0, 3000.0]) {
        assert!(*wait >= least, "{waits:?}");
    }
    // Without the reset the next wait would be five seconds.
    let again = gaps(to(&log, "/b"));
    assert!(again.len() == 1 && (1000.0..4500.0).contains(&again[0]), "{again:?}");
}

/// "Capped at `max_retry_backoff_seconds`": the waits that are ours; what the site says itself is
/// not cut.
#[test]
fn the_cap_shortens_our_own_waits_and_never_the_sites() {
    let host = Host::named("h.test")
        .pages(1, 1, 500)
        .says_unlinked(Answer::to("/a").first(4).status(429))
        .says_unlinked(Answer::to("/a"))
        .says_unlinked(Answer::to("/b").first(1).status(429).retry_after_seconds(2))
        .says_unlinked(Answer::to("/b"));
    let mut town = Town::new(scene(host), QUICK);
    let duck = town.duck();
    duck.crawl(&list([town.url(0, "/a")]), "max_retry_backoff_seconds 1");
    duck.crawl(&list([town.url(0, "/b")]), "max_retry_backoff_seconds 1");
    assert_eq!(duck.number("SELECT count(*) FROM pages WHERE http_status = 200"), 2);
    let log = town.close();
    // Without the cap the third and the fourth would be two and three seconds.
    let waits = gaps(to(&log, "/a"));
    assert!(
        waits.len() == 4 && waits.iter().all(|wait| (1000.0..1900.0).contains(wait)),
        "{waits:?}"
    );
    assert!(gaps(to(&log, "/b"))[0] >= 2000.0);
}

/// "Track response times per domain", "Gradually increase delay if responses slow down", "Never go
/// below … user-configured minimum".
#[test]
fn a_site_that_slows_down_is_asked_more_slowly() {
    let mut slow = Answer::to_all().after_ms(1000);
    slow.first_byte = Duration::from_millis(300);
    let mut host = Host::named("h.test").pages(19, 3, 500).says_unlinked(slow);
    host.think = Range::ms(20, 20);
    let mut town = Town::new(scene(host), "preset = 'warehouse'\n[pace]\ndelay = '100ms'\n");
    let duck = town.duck();
    duck.crawl(&town.pages(0, 1, 19), "threads 4, max_parallel_per_domain 1");
    let log = town.assert_clean();
    let (before, after): (Vec<_>, Vec<_>) = log.iter().partition(|x| x.end - x.start < 200_000);
    assert!(before.len() >= 5 && after.len() >= 5, "{} {}", before.len(), after.len());
    let last = gaps(after);
    // The answer itself takes 300 ms; the rest is the delay, which was 100 ms.
    assert!(last.last().unwrap() > &500.0, "{last:?}");
    let by = duck.texts("SELECT DISTINCT delay_by FROM pages ORDER BY ALL");
    assert_eq!(by, ["floor", "latency"]);
}
