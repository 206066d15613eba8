//! Several workers, one set of manners, judged by the hosts' own log.

use std::process::Stdio;

use curtsy_lab::sites::{Answer, Range, Scene};
use curtsy_testkit::services::Redis;
use serde_json::Value;

use crate::fleet::Fleet;
use crate::harness::{SCALED, assert_clean, judge, policy};

/// The manners of these workers.
fn manners() -> String {
    format!("preset = 'fleet'\n[pace]\ndelay = '150ms'\n{SCALED}")
}

/// "4 worker processes, one Redis, 200 loopback hosts of mixed moods, with the judge on the merged server log: 0 violations": `CURTSY_HOSTS=200`.
#[test]
fn four_workers_keep_their_manners() {
    let hosts = std::env::var("CURTSY_HOSTS").map_or(40, |n| n.parse().unwrap());
    let mut fleet = Fleet::new(Scene::mixed(hosts));
    std::fs::write(fleet.town.path("p.toml"), manners()).unwrap();
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
        let now = (fleet.asked(), fleet.list("page_fetcher_dlq").len());
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

/// "≤ 4 Redis round trips a page". `CURTSY_PAGES=400` with a release build shows how many pages a second pass through one Redis.
#[test]
fn a_page_takes_no_more_than_four_questions_to_redis() {
    let pages: u32 = std::env::var("CURTSY_PAGES").map_or(40, |n| n.parse().unwrap());
    let workers: usize = std::env::var("CURTSY_WORKERS").map_or(4, |n| n.parse().unwrap());
    let redis = Redis::with(&["--appendonly", "yes", "--appendfsync", "everysec"]);
    let mut fleet = Fleet::over(Scene::plain(50, pages + 1, 3, 2_000), redis);
    let urls: Vec<String> = (1..=pages)
        .flat_map(|page| (0..50).map(move |host| (host, page)))
        .map(|(host, page)| fleet.town.url(host, &format!("/p/{page}")))
        .collect();
    fleet.push(&urls);
    let running: Vec<_> = (0..workers)
        .map(|_| {
            let mut worker = fleet.worker(&["--until-empty", "--json", "--delay", "0s"]);
            worker.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    let ended = running.into_iter().map(|worker| worker.wait_with_output().unwrap());
    let reports: Vec<Value> =
        ended.map(|ended| serde_json::from_slice(&ended.stdout).unwrap()).collect();
    let sum = |field: &str| reports.iter().filter_map(|r| r[field].as_u64()).sum::<u64>();
    let (fetched, asked) = (sum("fetched"), sum("redis_round_trips"));
    assert_eq!(fetched, urls.len() as u64, "{reports:?}");
    let log = fleet.town.close();
    let (first, last) = (log.iter().map(|x| x.start).min(), log.iter().map(|x| x.end).max());
    let secs = (last.unwrap() - first.unwrap()) as f64 / 1e6;
    println!(
        "{workers} workers: {fetched} pages in {secs:.2} s, {:.0} a second; {:.2} questions to Redis a page",
        fetched as f64 / secs,
        asked as f64 / fetched as f64,
    );
    assert!(asked <= 4 * fetched, "{asked} questions for {fetched} pages");
}

/// "robots.txt fetched exactly once a host by 16 cold workers": `CURTSY_WORKERS=16 CURTSY_HOSTS=200`.
#[test]
fn cold_workers_ask_for_each_robots_txt_once() {
    let hosts: u32 = std::env::var("CURTSY_HOSTS").map_or(40, |n| n.parse().unwrap());
    let workers: usize = std::env::var("CURTSY_WORKERS").map_or(8, |n| n.parse().unwrap());
    let mut scene = Scene::plain(hosts, 4, 3, 500);
    for host in &mut scene.hosts {
        host.robots = Some("User-agent: *\nDisallow: /p/3\n".into());
        host.think = Range::ms(0, 300);
    }
    let mut fleet = Fleet::new(scene);
    std::fs::write(fleet.town.path("p.toml"), manners()).unwrap();
    let running: Vec<_> = (0..workers).map(|_| fleet.start(&["--policy", "p.toml"])).collect();
    fleet.push(&fleet.pages(hosts, 3));
    fleet.settle();
    for worker in running {
        assert_eq!(worker.end(), Some(0), "{}", fleet.log());
    }
    let policy = policy(&fleet.town.path("p.toml"));
    let log = fleet.town.close();
    let robots = log.iter().filter(|x| &*x.target == "/robots.txt").count();
    let refused = log.iter().filter(|x| &*x.target == "/p/3").count();
    println!("{workers} workers, {hosts} hosts: {robots} requests for robots.txt");
    assert_eq!((robots, refused), (hosts as usize, 0));
    assert_clean(&judge(log, &policy, &[]));
}

/// "429s obeyed by all workers": every second page of each host says that everybody must wait. `CURTSY_HOSTS=100 CURTSY_PAGES=40` makes it 2,000 of them.
#[test]
fn what_one_worker_is_told_all_of_them_obey() {
    let hosts: u32 = std::env::var("CURTSY_HOSTS").map_or(12, |n| n.parse().unwrap());
    let pages: u32 = std::env::var("CURTSY_PAGES").map_or(8, |n| n.parse().unwrap());
    let mut scene = Scene::plain(hosts, pages + 1, 3, 500);
    for host in &mut scene.hosts {
        // Each is refused once, and answered when it is asked again.
        host.answers = (1..=pages)
            .filter(|page| page % 2 == 0)
            .map(|page| {
                Answer::to(&format!("/p/{page}")).first(1).status(429).retry_after_seconds(1)
            })
            .collect();
    }
    let mut fleet = Fleet::new(scene);
    std::fs::write(fleet.town.path("p.toml"), manners()).unwrap();
    let running: Vec<_> = (0..4).map(|_| fleet.start(&["--policy", "p.toml"])).collect();
    let urls = fleet.pages(hosts, pages);
    fleet.push(&urls);
    fleet.settle();
    for worker in running {
        assert_eq!(worker.end(), Some(0), "{}", fleet.log());
    }
    assert_eq!(fleet.events().len(), urls.len());
    let policy = policy(&fleet.town.path("p.toml"));
    let log = fleet.town.close();
    let refusals = log.iter().filter(|x| x.status == Some(429)).count();
    println!("{refusals} refusals, {} requests", log.len());
    assert!(refusals >= (hosts * pages / 2) as usize);
    assert_clean(&judge(log, &policy, &[]));
}
