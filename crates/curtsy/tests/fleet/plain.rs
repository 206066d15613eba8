//! What one worker does with a queue: pages, events, letters, keys, metrics.

use std::collections::{BTreeMap, BTreeSet};

use curtsy_lab::sites::Scene;
use redis::Commands;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::fleet::Fleet;

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

const FAST: [&str; 6] =
    ["--delay", "0s", "--set", "retry.curve.base=100ms", "--set", "breaker.curve.base=1s"];

/// "Page Fetcher consumes URLs from `crawler_queue`, fetches pages, caches content in Redis, and publishes `WebpageEvent` to Kafka `webpage_log`."
#[test]
fn pages_events_and_letters_are_where_consumers_look_for_them() {
    let mut scene = Scene::plain(2, 10, 3, 2000);
    scene.hosts[0].robots = Some("User-agent: *\nDisallow: /p/9\n".into());
    let fleet = Fleet::new(scene);
    let refused = fleet.town.url(0, "/p/9");
    let good: Vec<String> =
        (1..9).flat_map(|n| [0, 1].map(|h| fleet.town.url(h, &format!("/p/{n}")))).collect();
    // Another spelling of a URL is answered by itself, and asked for once.
    let other = good[0].replace("http://", "HTTP://");
    let missing = fleet.town.url(0, "/not-there");
    fleet.push(&good);
    fleet.push(&[&other, &missing, &refused]);
    fleet.push(&[&b"not a url"[..], b"ftp://a.test/", b"\xff\xfe", b""]);
    let ran = fleet.worker(&["--until-empty", "--json"]).args(FAST).output().unwrap();
    let text = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{text}");
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(report["clean"], true, "{report}");

    assert_eq!(fleet.check_events(), good.len() + 1);
    let mut wanted: Vec<String> = good.iter().chain([&other]).cloned().collect();
    wanted.sort();
    let events: BTreeMap<String, Value> =
        fleet.events().into_iter().map(|e| (e["url"].as_str().unwrap().to_owned(), e)).collect();
    assert_eq!(events.keys().cloned().collect::<Vec<_>>(), wanted);
    let mut db = fleet.connection();
    for (url, event) in &events {
        let key = format!("webpage:{}", sha256(url.as_bytes()));
        assert_eq!(event["cache_key"].as_str(), Some(key.as_str()));
        assert_eq!(
            (&event["type"], &event["status_code"]),
            (&"webpage_fetched".into(), &200.into())
        );
        let body: Vec<u8> = db.get(&key).unwrap();
        assert_eq!(event["content_length"].as_u64(), Some(body.len() as u64));
        assert_eq!(event["content_hash"].as_str(), Some(sha256(&body).as_str()));
        assert!(body.starts_with(b"<"), "raw HTML");
        let ttl: i64 = db.ttl(&key).unwrap();
        assert!((1..=3600).contains(&ttl), "{ttl} s");
        assert!(event["event_id"].as_str().is_some_and(|id| id.len() == 32));
    }

    assert_eq!(fleet.list("page_fetcher_dlq"), std::slice::from_ref(&missing));
    let why: String = db.hget("page_fetcher_dlq:reasons", &missing).unwrap();
    let why: Value = serde_json::from_str(&why).unwrap();
    assert_eq!(why["reason"], "HTTP 404");
    let rejected: Vec<Vec<u8>> = db.lrange("page_fetcher_rejected", 0, -1).unwrap();
    assert_eq!(rejected, [&b"not a url"[..], b"ftp://a.test/", b"\xff\xfe", b""]);
    let why: String = db.hget("page_fetcher_rejected:reasons", "ftp://a.test/").unwrap();
    assert!(why.contains("ftp"), "{why}");
    // Redis is as its operator expects it.
    let host = fleet.town.url(0, "").replace("http://", "");
    let name = host.split(':').next().unwrap();
    let kind: String = redis::cmd("TYPE").arg(format!("rate_limit:{name}")).query(&mut db).unwrap();
    assert_eq!(kind, "hash");
    let robots: String = db.get(format!("robots:http://{host}")).unwrap();
    assert!(robots.contains("Disallow: /p/9"), "{robots}");
    assert!(text.contains("skipped_robots"), "a refusal is a line of the log: {text}");
}

/// "docs/reference/fleet.md": how an operator looks through letters.
#[test]
fn letters_are_listed_shown_replayed_and_purged() {
    let fleet = Fleet::new(Scene::plain(1, 5, 3, 500));
    let missing: Vec<String> = (0..3).map(|n| fleet.town.url(0, &format!("/no/{n}"))).collect();
    fleet.push(&missing);
    fleet.push(&["nonsense"]);
    fleet.worker(&["--until-empty"]).args(FAST).status().unwrap();
    let listed = fleet.run(&["dlq", "list"]).ends(0).out;
    assert_eq!(listed.lines().count(), 3, "{listed}");
    assert!(listed.lines().all(|line| line.ends_with("HTTP 404")), "{listed}");
    let shown = fleet.run(&["dlq", "show", &missing[1], "--json"]).ends(0).out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(
        (&shown["url"], &shown["why"]["reason"]),
        (&missing[1].clone().into(), &"HTTP 404".into())
    );
    fleet.run(&["dlq", "show", "http://elsewhere.test/"]).ends(1);
    let said = fleet.run(&["dlq", "replay", &missing[0]]).ends(0).err;
    assert_eq!(said.trim(), "replayed 1 letter");
    assert_eq!(fleet.list("crawler_queue"), [missing[0].clone()]);
    assert_eq!(fleet.run(&["dlq", "purge"]).ends(0).err.trim(), "purged 2 letters");
    assert_eq!(fleet.run(&["dlq", "purge", "--rejected"]).ends(0).err.trim(), "purged 1 letter");
    assert!(fleet.list("page_fetcher_dlq").is_empty());
    assert!(fleet.list("page_fetcher_rejected").is_empty());
}

/// A URL that is queued again within its time is answered from the cache, by an event of its own; one that is queued twice at once is fetched once.
#[test]
fn what_is_held_is_told_again_and_not_asked_for_again() {
    let mut fleet = Fleet::new(Scene::plain(1, 5, 3, 500));
    let url = fleet.town.url(0, "/p/1");
    fleet.push(&[&url, &url]);
    fleet.worker(&["--until-empty"]).args(FAST).status().unwrap();
    fleet.push(&[&url]);
    fleet.worker(&["--until-empty"]).args(FAST).status().unwrap();
    let events = fleet.events();
    let ids: Vec<&str> = events.iter().map(|e| e["event_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2, "{events:?}");
    assert_ne!(ids[0], ids[1]);
    assert_eq!(events[0]["content_hash"], events[1]["content_hash"]);
    let asked = fleet.town.close();
    assert_eq!(asked.iter().filter(|x| &*x.target == "/p/1").count(), 1);
}

/// "Malformed queue entries": each is rejected with its reason, and whatever else is queued is not disturbed.
#[test]
fn what_is_no_url_is_rejected_with_its_reason() {
    let mut fleet = Fleet::new(Scene::plain(1, 20, 3, 500));
    let long = |length: usize| [fleet.town.url(0, "/").as_bytes(), &vec![b'x'; length]].concat();
    let entries: [(Vec<u8>, &str); 9] = [
        (b"\xff\xfehttp://a.test/".to_vec(), "is not UTF-8"),
        (b"".to_vec(), "not a URL"),
        (b"javascript:alert(1)".to_vec(), "scheme `javascript`"),
        (b"data:text/html,x".to_vec(), "scheme `data`"),
        (b"http://a\0.test/".to_vec(), "domain name"),
        (b"\0".to_vec(), "not a URL"),
        (b"http://".to_vec(), "empty host"),
        (long(20_000), "longer than 8192"),
        (vec![b'h'; 3 << 20], "URL of 3145728 bytes"),
    ];
    let good: Vec<String> = (1..=9).map(|n| fleet.town.url(0, &format!("/p/{n}"))).collect();
    for ((entry, _), good) in entries.iter().zip(&good) {
        fleet.push(&[&entry[..], good.as_bytes()]);
    }
    let ran = fleet.worker(&["--until-empty"]).args(FAST).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let mut db = fleet.connection();
    let rejected: Vec<Vec<u8>> = db.lrange("page_fetcher_rejected", 0, -1).unwrap();
    for (entry, says) in &entries {
        let start = String::from_utf8_lossy(&entry[..entry.len().min(40)]);
        assert!(rejected.contains(entry), "{start:?}");
        let why: String = db.hget("page_fetcher_rejected:reasons", entry).unwrap();
        let why: Value = serde_json::from_str(&why).unwrap();
        let why = why["reason"].as_str().unwrap();
        assert!(why.contains(says), "{start:?}: {why}");
        assert!(why.len() < 500, "{} bytes of reason", why.len());
    }
    assert_eq!(rejected.len(), entries.len());
    let fetched: BTreeSet<String> =
        fleet.events().iter().map(|event| event["url"].as_str().unwrap().to_owned()).collect();
    assert_eq!(fetched, good.into_iter().collect());
    assert!(fleet.list("page_fetcher_dlq").is_empty());
    assert_eq!(fleet.town.close().len(), 10, "nine pages and robots.txt");
}
