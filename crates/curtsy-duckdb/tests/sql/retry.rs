//! Errors: what is retried, how often, and when.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use curtsy_judge::Exchange;
use curtsy_lab::sites::{Answer, Ending, Host, Scene};
use serde_json::json;

use crate::harness::{QUICK, Town, gaps, list};

/// The waits of the requirements, and a breaker that does not affect a single URL.
const PATIENT: &str =
    "preset = 'warehouse'\n[pace]\ndelay = '20ms'\nadaptive = false\n[breaker]\nfailures = 100\n";

fn town(host: Host) -> Town {
    Town::new(Scene { seed: 1, hosts: vec![host], ..Scene::default() }, PATIENT)
}

fn to<'l>(log: &'l [Exchange], path: &str) -> Vec<&'l Exchange> {
    log.iter().filter(|x| &*x.target == path).collect()
}

/// "HTTP 5XX (Server Errors)" are retried: "Max 5 retries per URL", "Fibonacci backoff: 1, 1, 2, 3,
/// 5, 8, 13... seconds".
#[test]
fn a_server_error_is_tried_five_times_more_by_fibonacci() {
    let host = Host::named("h.test").pages(2, 1, 500).says_unlinked(Answer::to("/x").status(500));
    let mut town = town(host);
    let duck = town.duck();
    let told = duck.crawl(&list([town.url(0, "/x"), town.url(0, "/p/1")]), "threads 4");
    assert_eq!(told["ended"], "complete");
    let rows = duck.rows("SELECT http_status, body, decision FROM pages WHERE url LIKE '%/x'");
    assert_eq!(json!(rows), json!([[500, null, "dead"]]));
    let log = town.assert_clean();
    let waits = gaps(to(&log, "/x"));
    assert_eq!(waits.len(), 5, "{waits:?}");
    for (wait, least) in waits.iter().zip([1000.0, 1000.0, 2000.0, 3000.0, 5000.0]) {
        assert!(*wait >= least, "{waits:?}");
    }
}

/// "Network timeouts/failures" are retried, and one that passes ends well. "Capped at
/// `max_retry_backoff_seconds`".
#[test]
fn what_fails_for_a_while_is_fetched_in_the_end() {
    let host = Host::named("h.test")
        .pages(1, 1, 500)
        .says_unlinked(Answer::to("/reset").first(3).ending(Ending::Reset))
        .says_unlinked(Answer::to("/reset"))
        .says_unlinked(Answer::to("/short").first(1).ending(Ending::Truncated))
        .says_unlinked(Answer::to("/short"))
        .says_unlinked(Answer::to("/busy").first(4).status(503))
        .says_unlinked(Answer::to("/busy"));
    let mut town = town(host);
    let duck = town.duck();
    let urls = ["/reset", "/short", "/busy"].map(|path| town.url(0, path));
    duck.crawl(&list(&urls), "threads 4, max_retry_backoff_seconds 1");
    let rows = duck.rows("SELECT http_status, error, body IS NOT NULL FROM pages");
    assert_eq!(json!(rows), json!([[200, null, true], [200, null, true], [200, null, true]]));
    let log = town.close();
    assert_eq!(["/reset", "/short", "/busy"].map(|path| to(&log, path).len()), [4, 2, 5]);
    for path in ["/reset", "/busy"] {
        let waits = gaps(to(&log, path));
        assert!(waits.iter().all(|wait| *wait >= 1000.0), "{waits:?}");
    }
}

/// Why there is no page, in words; NULL where there is one.
#[test]
fn a_row_without_a_page_says_why() {
    let host = Host::named("h.test")
        .pages(2, 1, 500)
        .robots("User-agent: *\nDisallow: /private\n")
        .says_unlinked(Answer::to("/gone").status(410));
    let town = town(host);
    let duck = town.duck();
    let urls = ["/gone", "/none", "/private", "/p/1"].map(|path| town.url(0, path));
    duck.crawl(&list(&urls), "threads 1");
    let rows = duck.rows("SELECT reason FROM pages ORDER BY reason NULLS LAST");
    let expected = [["gone (410)"], ["not found (404)"], ["refused by robots.txt: line 2"]];
    assert_eq!(json!(rows[..3]), json!(expected));
    assert_eq!(json!(rows[3..]), json!([[null]]));
}

/// "If no slot available within 10 seconds: returns error". Here after 300 ms, while another crawl
/// has both slots of the host.
#[test]
fn a_single_url_that_gets_no_slot_has_that_as_its_outcome() {
    let held = |path: &str| Answer::to(path).behind("slots");
    let host = Host::named("h.test").pages(4, 1, 500).says(held("/p/1")).says(held("/p/2"));
    let policy = "preset = 'audit'\n[pace]\ndelay = '0s'\n[slots]\nwait = '300ms'\n";
    let town = Town::new(Scene { seed: 1, hosts: vec![host], ..Scene::default() }, policy);
    let (duck, other) = (town.duck(), town.duck());
    let both = list([town.url(0, "/p/1"), town.url(0, "/p/2")]);
    let waits = other.start(&format!("SELECT count(*) FROM crawl({both}, sitemaps := false)"));
    let sites = town.sites.as_ref().unwrap();
    while sites.at_gate("slots") < 2 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let sql = format!(
        "SELECT decision, error, reason FROM crawl(['{}'], sitemaps := false)",
        town.url(0, "/p/3")
    );
    let text = "Timeout waiting for host concurrency slot";
    assert_eq!(json!(duck.rows(&sql)), json!([["refused", "slot_timeout", text]]));
    sites.open("slots");
    waits.wait().unwrap();
}

/// "HTTP 4XX (except 429): permanent failure".
#[test]
fn client_errors_are_not_tried_again() {
    let statuses = [400, 401, 403, 404, 410, 418, 451];
    let mut host = Host::named("h.test").pages(1, 1, 500);
    for status in statuses {
        host = host.says_unlinked(Answer::to(&format!("/{status}")).status(status));
    }
    let mut town = town(host);
    let duck = town.duck();
    let urls = list(statuses.map(|status| town.url(0, &format!("/{status}"))));
    duck.crawl(&urls, "threads 4");
    let got = duck.rows("SELECT http_status FROM pages ORDER BY ALL");
    assert_eq!(json!(got), json!(statuses.map(|status| [status])));
    // The next crawl of the same query does not retry it either.
    duck.crawl(&urls, "threads 4");
    assert_eq!(town.asked(0).len(), 1 + statuses.len());
    town.assert_clean();
}

/// "Network timeouts/failures (status_code <= 0)": the status is NULL here, with an error. A try
/// that failed while nothing else of its host answered counts only when something has: else an
/// outage of the host would use up the tries of all its pages.
#[test]
fn a_page_that_never_comes_has_no_status_and_an_error() {
    let host = Host::named("h.test")
        .pages(40, 1, 500)
        .robots("User-agent: *\nCrawl-delay: 0.2\n")
        .says_unlinked(Answer::to("/never").ending(Ending::Empty));
    let mut town = Town::new(Scene { seed: 1, hosts: vec![host], ..Scene::default() }, QUICK);
    let duck = town.duck();
    let others = (1..40).map(|n| town.url(0, &format!("/p/{n}")));
    let urls = list(std::iter::once(town.url(0, "/never")).chain(others));
    duck.crawl(&urls, "threads 4, max_retry_backoff_seconds 1, patience '20s'");
    let row = duck
        .rows("SELECT http_status, body, content_type, error FROM pages WHERE url LIKE '%/never'");
    assert_eq!(json!(row), json!([[null, null, null, "reset"]]));
    let tries = town.asked(0).iter().filter(|path| *path == "/never").count();
    assert_eq!(tries, 6, "one try and five retries");
    assert_eq!(duck.number("SELECT count(*) FROM pages WHERE http_status = 200"), 39);
    town.close();
}

/// P17: connections that a host closes at once are a delay apart, however many threads a query has.
#[test]
fn connections_that_are_closed_at_once_are_a_delay_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let accepted = Arc::new(Mutex::new(Vec::new()));
    let times = Arc::clone(&accepted);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            times.lock().unwrap().push(Instant::now());
            drop(stream);
        }
    });
    let policy =
        "preset = 'audit'\npatience = '4s'\n[pace]\ndelay = '300ms'\n[robots]\ndeny_ttl = '1s'\n";
    let town = Town::new(Scene { hosts: vec![Host::named("h.test")], ..Scene::default() }, policy);
    let duck = town.duck();
    duck.crawl(&list((0..6).map(|n| format!("http://{address}/{n}"))), "threads 4");
    let times = accepted.lock().unwrap();
    assert!(times.len() >= 3, "it was dialled {} times", times.len());
    for pair in times.windows(2) {
        let gap = pair[1] - pair[0];
        assert!(gap >= Duration::from_millis(300), "dialled again after {gap:?}");
    }
}
