//! What our own side does wrong is not held against a site; and connections that a host closes at once are a delay apart (P17), however
//! many workers there are.

use std::time::{Duration, Instant};

use curtsy_sim::loopback::{Answer, Host, Scene};

use crate::fleet::Fleet;
use crate::harness::{LOGIN, server};

/// A worker whose proxy wants a password takes no answer of the proxy for an answer of the site: no robots.txt, no dead letter. A worker
/// without the proxy then reads robots.txt and obeys it.
#[test]
fn what_a_proxy_answers_is_never_the_sites_word() {
    let robots = "User-agent: *\nDisallow: /private\n";
    let host = Host::named("a.test").robots(robots).says(Answer::to("/private")).pages(3, 1, 500);
    let mut fleet = Fleet::new(Scene { hosts: vec![host], ..Scene::default() });
    let (open, shut) = (fleet.town.url(0, "/p/1"), fleet.town.url(0, "/private"));
    fleet.push(&[&open, &shut]);
    let (proxy, _) = server(LOGIN);
    let proxy = format!("http://{proxy}");
    let mut worker = fleet.start(&["--delay", "20ms", "--proxy", &proxy]);
    let end = Instant::now() + Duration::from_secs(120);
    while !fleet.log().contains("a user and a password") {
        let ended = worker.0.try_wait().unwrap();
        assert!(Instant::now() < end && ended.is_none(), "{ended:?}: {}", fleet.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(fleet.list("page_fetcher_dlq").is_empty());
    drop(worker);

    let ran = fleet.worker(&["--until-empty", "--delay", "20ms"]).output().unwrap();
    let text = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{text}");
    assert!(fleet.list("page_fetcher_dlq").is_empty());
    let events: Vec<_> = fleet.events().iter().map(|event| event["url"].clone()).collect();
    assert_eq!(events, [open]);
    let asked: Vec<_> = fleet.town.close().into_iter().map(|x| x.target.to_string()).collect();
    assert_eq!(asked, ["/robots.txt", "/p/1"]);
}

/// Three workers, and a host that accepts connections and closes them.
#[test]
fn connections_that_are_closed_at_once_are_a_delay_apart() {
    let fleet = Fleet::new(Scene::default());
    let (address, accepted) = server(b"");
    let urls: Vec<String> = (0..20).map(|n| format!("http://{address}/{n}")).collect();
    fleet.push(&urls);
    let quick =
        ["--delay", "300ms", "--set", "breaker.curve.base=1s", "--set", "breaker.curve.cap=1s"];
    let workers: Vec<_> = (0..3).map(|_| fleet.start(&quick)).collect();
    let end = Instant::now() + Duration::from_secs(120);
    while accepted.lock().unwrap().len() < 8 {
        assert!(Instant::now() < end, "{}", fleet.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(workers);
    let times = accepted.lock().unwrap();
    for pair in times.windows(2) {
        let gap = pair[1] - pair[0];
        assert!(gap >= Duration::from_millis(300), "dialled again after {gap:?}");
    }
}
