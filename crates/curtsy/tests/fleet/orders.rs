//! Orders to a running fleet, and what it tells of itself.

use curtsy_lab::sites::Scene;
use curtsy_testkit::services::free_port;
use redis::Commands;
use serde_json::Value;

use crate::fleet::{Fleet, metrics, until};

fn urls(fleet: &Fleet, host: usize, pages: u32) -> Vec<String> {
    (1..=pages).map(|page| fleet.town.url(host, &format!("/p/{page}"))).collect()
}

/// Waits until the only worker was heard of some times more: each time it would have claimed what it may.
#[track_caller]
fn rounds(fleet: &Fleet) {
    let heard = || -> Vec<(String, u64)> {
        fleet.connection().zrange_withscores("curtsy:workers", 0, -1).unwrap()
    };
    let mut last = heard();
    let mut times = 0;
    until("a worker that asks", || {
        let now = heard();
        times += u32::from(now != last);
        last = now;
        times >= 4
    });
}

#[test]
fn a_paused_fleet_begins_nothing_and_goes_on_when_told() {
    let fleet = Fleet::new(Scene::plain(2, 20, 3, 500));
    let _worker = fleet.start(&["--delay", "0s"]);
    fleet.push(&urls(&fleet, 0, 3));
    until("the first events", || fleet.events().len() == 3);
    fleet.run(&["fleet", "pause"]).ends(0);
    fleet.push(&urls(&fleet, 1, 3));
    let status = || -> Value {
        serde_json::from_str(&fleet.run(&["fleet", "status", "--json"]).ends(0).out).unwrap()
    };
    let told = status();
    assert_eq!((&told["paused"], told["workers"].as_object().unwrap().len()), (&true.into(), 1));
    rounds(&fleet);
    assert_eq!((status()["input_queue"].as_u64(), fleet.events().len()), (Some(3), 3));
    fleet.run(&["fleet", "resume"]).ends(0);
    until("the others", || fleet.events().len() == 6);
    fleet.run(&["fleet", "drain"]).ends(0);
    fleet.push(&["http://127.0.0.1:1/"]);
    rounds(&fleet);
    assert_eq!(status()["input_queue"], 1);
    let shown = fleet.run(&["fleet", "status"]).ends(0).out;
    assert!(shown.contains("draining") && shown.contains("heard from"), "{shown}");
}

/// "`curtsy stop HOST`: nothing starts on that host later than 1 s after, in every process and worker"
#[test]
fn a_stopped_host_is_left_alone_by_every_worker() {
    let mut fleet = Fleet::new(Scene::plain(2, 200, 3, 500));
    let workers: Vec<_> = (0..2).map(|_| fleet.start(&["--delay", "50ms"])).collect();
    fleet.push(&urls(&fleet, 0, 150));
    fleet.push(&urls(&fleet, 1, 150));
    let seen = |fleet: &Fleet, host: &str| {
        let log = fleet.town.sites.as_ref().unwrap().log();
        log.iter().filter(|x| x.host.starts_with(host)).count()
    };
    let names: Vec<String> = (0..2)
        .map(|h| fleet.town.url(h, "").replace("http://", "").split(':').next().unwrap().to_owned())
        .collect();
    until("the first requests", || names.iter().all(|name| seen(&fleet, name) > 5));
    let redis = fleet.redis.url();
    fleet.run(&["stop", &names[0], "--redis", &redis]).ends(0);
    let ordered = crate::harness::micros();
    until("the end of the other host", || seen(&fleet, &names[1]) >= 150);
    fleet.run(&["stop", &names[0], "--redis", &redis, "--lift"]).ends(0);
    let lifted = crate::harness::micros();
    fleet.settle();
    for worker in workers {
        assert_eq!(worker.end(), Some(0));
    }
    let log = fleet.town.close();
    let late = log.iter().filter(|x| x.host.starts_with(&names[0]));
    let late = late.filter(|x| x.start > ordered + 1_000_000 && x.start < lifted).count();
    assert_eq!(late, 0, "requests later than a second after the order");
}

#[test]
fn a_worker_tells_its_health_and_the_metrics_of_the_page_fetcher() {
    let fleet = Fleet::new(Scene::plain(2, 20, 3, 500));
    let address = format!("127.0.0.1:{}", free_port());
    let _worker = fleet.start(&["--delay", "0s", "--listen", &address]);
    let ask = |path: &str| curtsy::fleet::ask(&format!("http://{address}/{path}"));
    until("readiness", || ask("readyz").is_ok_and(|(status, _)| status == 200));
    assert_eq!(ask("healthz").unwrap(), (200, "alive".into()));
    assert_eq!(ask("elsewhere").unwrap().0, 404);
    let check = format!("http://{address}/readyz");
    assert_eq!(fleet.run(&["worker", "--check-health", &check]).ends(0).out.trim(), "ready");
    fleet.push(&urls(&fleet, 0, 5));
    fleet.push(&[fleet.town.url(1, "/none"), "nonsense".into()]);
    until("the events", || fleet.events().len() == 5);
    until("the letters", || !fleet.list("page_fetcher_dlq").is_empty());
    until("the gauges", || metrics(&address)["page_fetcher_dlq_size"] == 1.0);
    let told = metrics(&address);
    for (name, value) in [
        ("page_fetcher_pages_fetched_total", 5.0),
        ("page_fetcher_pages_failed_total", 1.0),
        ("page_fetcher_dlq_enqueued_total", 1.0),
        ("page_fetcher_rejected_total", 1.0),
        ("page_fetcher_events_published_total", 5.0),
        ("page_fetcher_input_queue_size", 0.0),
        ("page_fetcher_circuit_breaker_state", 0.0),
        ("page_fetcher_content_size_bytes_count", 5.0),
        ("page_fetcher_requests_total{kind=\"robots\"}", 2.0),
        ("page_fetcher_paused{reason=\"sink\"}", 0.0),
    ] {
        assert_eq!(told.get(name), Some(&value), "{name} in {told:?}");
    }
    let text = ask("metrics").unwrap().1;
    let document = include_str!("../../../../docs/reference/metrics.md");
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let types: Vec<(&str, &str)> = types.collect();
    assert!(types.len() >= 30, "{types:?}");
    for (name, kind) in types {
        let row = format!("| `{name}` | {kind} |");
        assert!(document.contains(&row), "{name} is a {kind} in docs/reference/metrics.md");
    }
}

/// "Begin nothing new, in all workers; what was sent is finished": visits in hand obey it too.
#[test]
fn a_pause_is_obeyed_by_visits_that_are_under_way() {
    let mut fleet = Fleet::new(Scene::plain(2, 100, 3, 500));
    let worker = fleet.start(&["--delay", "300ms"]);
    fleet.push(&urls(&fleet, 0, 60));
    fleet.push(&urls(&fleet, 1, 60));
    until("the first requests", || fleet.asked() > 6);
    fleet.run(&["fleet", "pause"]).ends(0);
    let ordered = crate::harness::micros();
    // Longer than a visit keeps its host.
    for _ in 0..8 {
        rounds(&fleet);
    }
    let resumed = crate::harness::micros();
    assert!(resumed > ordered + 4_000_000, "long enough to see a visit that goes on");
    fleet.run(&["fleet", "resume"]).ends(0);
    let before = fleet.asked();
    until("the fleet that goes on", || fleet.asked() > before + 4);
    assert_eq!(worker.end(), Some(0));
    let log = fleet.town.close();
    let late = log.iter().filter(|x| x.start > ordered + 1_500_000 && x.start < resumed);
    assert_eq!(late.count(), 0, "requests later than a second after the order");
}

#[test]
fn the_orders_of_a_fleet_are_listed_and_lifted_where_they_were_given() {
    let fleet = Fleet::new(Scene::plain(1, 3, 1, 500));
    let redis = fleet.redis.url();
    let block = |args: &[&str]| fleet.run(&[&["block"], args, &["--redis", &redis]].concat());
    assert_eq!(block(&["--list", "--json"]).ends(0).out.trim(), "[]");
    let said = block(&["a.test"]).ends(0).err;
    let lift = format!("`curtsy block a.test --lift --redis {redis}`");
    assert!(said.contains(&lift), "{said}");
    assert!(block(&["a.test"]).ends(0).err.contains("already"));
    block(&["b.test"]).ends(0);
    let listed: Value = serde_json::from_str(&block(&["--list", "--json"]).ends(0).out).unwrap();
    assert_eq!((&listed[0]["host"], &listed[1]["host"]), (&"a.test".into(), &"b.test".into()));
    assert!(block(&[]).ends(0).out.starts_with("a.test\tsince "), "without a host it lists");
    let status = fleet.run(&["fleet", "status"]).ends(0).out;
    assert!(status.contains("blocked    2 hosts"), "{status}");
    assert!(block(&["nosuch.example", "--lift"]).ends(1).err.contains("was not blocked"));
    block(&["a.test", "--lift"]).ends(0);
    block(&["b.test", "--lift"]).ends(0);
    assert!(block(&["--list"]).ends(0).err.contains("no host is blocked"));
}

#[test]
fn a_worker_that_has_left_is_not_counted() {
    let fleet = Fleet::new(Scene::plain(1, 3, 1, 500));
    let worker = fleet.start(&["--delay", "0s"]);
    fleet.push(&urls(&fleet, 0, 2));
    until("the events", || fleet.events().len() == 2);
    let workers = || -> usize {
        let told = fleet.run(&["fleet", "status", "--json"]).ends(0).out;
        serde_json::from_str::<Value>(&told).unwrap()["workers"].as_object().unwrap().len()
    };
    assert_eq!(workers(), 1);
    assert_eq!(worker.end(), Some(0));
    assert_eq!(workers(), 0);
}

/// Whoever only looks leaves a new Redis as it is: `worker --new` finds a new one, and begins at
/// once.
#[test]
fn a_look_at_a_new_redis_writes_nothing() {
    let fleet = Fleet::new(Scene::plain(1, 3, 1, 500));
    let redis = fleet.redis.url();
    let status = fleet.run(&["fleet", "status"]).ends(0).out;
    assert!(!status.contains("quiet"), "{status}");
    fleet.run(&["dlq", "list"]).ends(0);
    fleet.run(&["block", "--list", "--redis", &redis]).ends(0);
    let keys: Vec<String> = fleet.connection().keys("*").unwrap();
    assert!(keys.is_empty(), "{keys:?}");
}

#[test]
fn a_letter_says_in_words_why_it_is_there_and_how_often_its_url_was_asked_for() {
    let fleet = Fleet::new(Scene::plain(1, 3, 1, 500));
    let (gone, inside) = (fleet.town.url(0, "/none"), "http://10.0.0.1/".to_owned());
    fleet.push(&[&gone, &inside]);
    let ran = fleet.worker(&["--until-empty", "--delay", "0s"]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let show = |url: &str| fleet.run(&["dlq", "show", url]).ends(0).out;
    let shown = show(&gone);
    assert!(shown.contains("HTTP 404") && shown.contains("asked     1 time\n"), "{shown}");
    let shown = show(&inside);
    assert!(shown.contains("`--allow-net 10.0.0.0/8`"), "{shown}");
    assert!(shown.contains("asked     0 times\n"), "{shown}");
    for order in ["replay", "purge"] {
        let said = fleet.run(&["dlq", order, "http://nosuch.example/"]).ends(1).err;
        assert!(said.contains("none of these is on the list"), "{said}");
    }
    fleet.run(&["dlq", "purge", &gone]).ends(0);
    let said = fleet.run(&["dlq", "list", "--rejected"]).ends(0).err;
    assert!(said.contains("no rejected entries"), "{said}");
}

/// Docker takes 0 and 1, and reserves 2.
#[test]
fn a_worker_that_cannot_be_asked_is_not_healthy() {
    let fleet = Fleet::new(Scene::plain(1, 3, 1, 500));
    let nobody = format!("http://127.0.0.1:{}/readyz", free_port());
    let said = fleet.run(&["worker", "--check-health", &nobody]).ends(1).err;
    assert!(said.contains("no answer from"), "{said}");
}
