//! What our own side does wrong is not held against a site; and connections that a host closes at once are a delay apart (P17), however
//! many workers there are.

use std::time::{Duration, Instant};

use curtsy_judge::{Judge, Manners, Rule};
use curtsy_lab::sites::{Answer, Host, Scene};

use curtsy_testkit::services::free_port;
use serde_json::Value;

use crate::fleet::{Fleet, metrics, until};
use crate::harness::{LOGIN, assert_clean, server};

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
    let listen = format!("127.0.0.1:{}", free_port());
    let mut worker = fleet.start(&["--delay", "20ms", "--proxy", &proxy, "--listen", &listen]);
    let end = Instant::now() + Duration::from_secs(120);
    while !fleet.log().contains("a user and a password") {
        let ended = worker.0.try_wait().unwrap();
        assert!(Instant::now() < end && ended.is_none(), "{ended:?}: {}", fleet.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    let told = lines(&fleet, "proxy_failed");
    let why = format!("the proxy `{proxy}` wants a user and a password (407)");
    assert_eq!((told.len(), &told[0]["why"]), (1, &why.as_str().into()));
    assert!(told[0]["hint"].as_str().unwrap().contains("--proxy"), "{told:?}");
    let ready = || curtsy::fleet::ask(&format!("http://{listen}/readyz"));
    until("the worker that is not ready", || {
        ready().is_ok_and(|(status, said)| status == 503 && said == format!("proxy: {why}"))
    });
    assert_eq!(metrics(&listen)["page_fetcher_paused{reason=\"network\"}"], 1.0);
    assert!(fleet.list("page_fetcher_dlq").is_empty());
    assert!(lines(&fleet, "robots_unreachable").is_empty(), "no site is blamed");
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

/// A proxy that is down is told in one line, however many URLs wait, and the worker is not ready.
#[test]
fn a_proxy_that_is_down_is_told_once_and_the_worker_is_not_ready() {
    let fleet = Fleet::new(Scene::plain(3, 3, 1, 500));
    let (proxy, listen) = [free_port(), free_port()].map(|port| format!("127.0.0.1:{port}")).into();
    fleet.push(&fleet.pages(3, 3));
    let proxy = format!("http://{proxy}");
    let _worker = fleet.start(&["--delay", "20ms", "--proxy", &proxy, "--listen", &listen]);
    let failed = "page_fetcher_unreached_total{reason=\"proxy\"}";
    until("the line", || !lines(&fleet, "proxy_failed").is_empty());
    until("some tries more", || metrics(&listen)[failed] > 3.0);
    let told = lines(&fleet, "proxy_failed");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0]["why"].as_str().unwrap().contains(&proxy), "{told:?}");
    let (status, said) = curtsy::fleet::ask(&format!("http://{listen}/readyz")).unwrap();
    assert!(status == 503 && said.contains("can't be reached"), "{status}: {said}");
    assert_eq!(fleet.asked(), 0, "no site was asked");
}

/// A closed port and a host that speaks no TLS: each is told once, counted, and its breaker opens.
#[test]
fn hosts_that_cannot_be_reached_are_told_once_and_their_breakers_open() {
    let fleet = Fleet::new(Scene::plain(1, 3, 1, 500));
    let (address, _) = server(b"what is this?");
    let closed = format!("http://127.0.0.8:{}/closed", free_port());
    let garbage = format!("https://{address}/tls");
    fleet.push(&[closed, garbage]);
    let listen = format!("127.0.0.1:{}", free_port());
    let _worker = fleet.start(&["--delay", "50ms", "--listen", &listen]);
    until("the breakers", || lines(&fleet, "circuit_open").len() >= 2);
    let mut told: Vec<(String, String)> = lines(&fleet, "host_unreached")
        .iter()
        .map(|line| (line["host"].as_str().unwrap().into(), line["why"].as_str().unwrap().into()))
        .collect();
    told.sort();
    let expected = [
        ("127.0.0.1".into(), "no TLS spoken there".into()),
        ("127.0.0.8".into(), "connection refused or unreachable".into()),
    ];
    assert_eq!(told, expected);
    let open = lines(&fleet, "circuit_open");
    let says = |host: &str| format!("Circuit open: {host} appears down. Next probe in 30s.");
    for host in ["127.0.0.1", "127.0.0.8"] {
        assert!(open.iter().any(|line| line["message"] == says(host)), "{open:?}");
    }
    let counted = metrics(&listen);
    for reason in ["connect", "tls"] {
        let name = format!("page_fetcher_unreached_total{{reason=\"{reason}\"}}");
        assert_eq!(counted[&name], 5.0, "{name}");
    }
    assert!(fleet.list("page_fetcher_dlq").is_empty());
}

/// The lines of the workers' log about an event.
fn lines(fleet: &Fleet, event: &str) -> Vec<Value> {
    let log = fleet.log();
    let read = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    read.filter(|line| line["event"] == event).collect()
}

/// Three workers, and a host that accepts connections and closes them.
#[test]
fn connections_that_are_closed_at_once_are_a_delay_apart() {
    let host = Host { shut_percent: 100, ..Host::named("a.test") };
    let mut fleet = Fleet::new(Scene { hosts: vec![host], ..Scene::default() });
    let urls: Vec<String> = (0..20).map(|n| fleet.town.url(0, &format!("/{n}"))).collect();
    fleet.push(&urls);
    let quick =
        ["--delay", "300ms", "--set", "breaker.curve.base=1s", "--set", "breaker.curve.cap=1s"];
    let workers: Vec<_> = (0..3).map(|_| fleet.start(&quick)).collect();
    let end = Instant::now() + Duration::from_secs(120);
    // Each connection is accepted and closed.
    while fleet.town.sites.as_ref().unwrap().connections().len() < 16 {
        assert!(Instant::now() < end, "{}", fleet.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(workers);
    let left = fleet.town.sites.take().unwrap().stop().unwrap();
    assert!(left.log.is_empty(), "nothing was read: {:?}", left.log);
    let delay_min = Duration::from_millis(300);
    let mut judge = Judge::new(Manners { delay_min, ..Manners::default() });
    left.connections.into_iter().for_each(|event| judge.see(event));
    let report = judge.finish();
    assert_clean(&report);
    assert!(report.rule(Rule::P17).judged >= 4, "{:?}", report.rule(Rule::P17));
}
