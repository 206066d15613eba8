//! Several workers, one set of manners, judged by the hosts' own log.

use curtsy_sim::loopback::Scene;

use crate::fleet::Fleet;
use crate::harness::{assert_clean, judge, policy};

const SCALED: &str = "
preset = 'fleet'
[pace]
delay = '150ms'
[robots]
deny_ttl = '3s'
[backoff.curve]
base = '500ms'
cap = '8s'
[retry.curve]
base = '300ms'
cap = '4s'
[breaker.curve]
base = '2s'
cap = '8s'
[timeout]
first_byte = '4s'
whole = '10s'
";

/// "4 worker processes, one Redis, 200 loopback hosts of mixed moods, with the judge on the merged server log: 0 violations": `CURTSY_HOSTS=200`.
#[test]
fn four_workers_keep_their_manners() {
    let hosts = std::env::var("CURTSY_HOSTS").map_or(40, |n| n.parse().unwrap());
    let mut fleet = Fleet::new(Scene::mixed(hosts));
    std::fs::write(fleet.town.path("p.toml"), SCALED).unwrap();
    let urls: Vec<String> = (0..hosts as usize)
        .flat_map(|host| (0..6).map(move |page| (host, page)))
        .map(|(host, page)| match page {
            0 => fleet.town.url(host, "/"),
            page => fleet.town.url(host, &format!("/p/{page}")),
        })
        .collect();
    let workers: Vec<_> = (0..4).map(|_| fleet.start(&["--policy", "p.toml"])).collect();
    fleet.push(&urls);
    // Hosts that are down for good never settle: what can be done is done when nothing changes any more.
    let mut done = (0, 0);
    let mut same = 0;
    while same < 40 {
        std::thread::sleep(std::time::Duration::from_millis(250));
        let asked = fleet.town.sites.as_ref().unwrap().log().len();
        let now = (asked, fleet.list("page_fetcher_dlq").len());
        same = if now == done { same + 1 } else { 0 };
        done = now;
    }
    for worker in workers {
        assert_eq!(worker.end(), Some(0), "{}", fleet.log());
    }
    let events = fleet.events();
    assert!(events.len() > hosts as usize * 3, "{} events", events.len());
    let policy = policy(&fleet.town.path("p.toml"));
    let log = fleet.town.close();
    let robots = log.iter().filter(|x| &*x.target == "/robots.txt").count();
    println!("{} requests, {robots} for robots.txt, {} events", log.len(), events.len());
    assert_clean(&judge(log, &policy, &[]));
}
