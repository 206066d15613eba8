//! A run while it works: asked for without waiting, followed, cancelled.

use std::time::Duration;

use curtsy_lab::sites::Answer as Said;
use serde_json::{Value, json};

use crate::place::{Folder, Service, spec, spec_with};
use crate::sites::{asked, business, micros, page, plain, seen, serve};

#[test]
fn a_run_can_be_begun_and_followed_to_its_end() {
    let folder = Folder::new();
    let sites = serve(vec![business("shop.test")]);
    let service = Service::start(spec(folder.store()));
    let order = json!({"url": page(&sites, "shop.test", "/"), "mode": "light"});
    let answer = service
        .post_with("/api/orbit/shop/ingest", &order, &["Prefer: wait=1, Respond-Async"])
        .ends(202);
    assert_eq!(answer.header("preference-applied"), Some("respond-async"));
    let run = answer.header("location").unwrap().to_owned();
    let body = answer.json();
    let trace = body["traceId"].as_str().unwrap();
    assert_eq!(run, format!("/api/orbit/shop/runs/{trace}"));
    assert_eq!(
        body,
        json!({"success": true, "traceId": trace, "run": run, "events": format!("{run}/events")})
    );

    let stream = service.get(&format!("{run}/events")).ends(200);
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    let events = stream.events();
    let (last, progress) = events.split_last().unwrap();
    assert_eq!(last, &("done".to_owned(), json!({"outcome": "success"})));
    assert!(
        !progress.is_empty() && progress.iter().all(|(name, _)| name == "progress"),
        "{events:?}"
    );
    let figure = |data: &Value, name: &str| data[name].as_u64().unwrap();
    let counts =
        |name| -> Vec<u64> { progress.iter().map(|(_, data)| figure(data, name)).collect() };
    assert!(counts("pagesDone").is_sorted() && counts("requests").is_sorted(), "{events:?}");
    let (_, end) = progress.last().unwrap();
    assert_eq!((&end["phase"], &end["outcome"]), (&json!("done"), &json!("success")));
    assert_eq!(
        (figure(end, "pagesPlanned"), figure(end, "pagesDone")),
        (7, 8),
        "the forbidden page has ended too"
    );
    assert_eq!((&end["traceId"], &end["mode"]), (&json!(trace), &json!("light")));

    let kept = service.wait(&run, |answer| answer["progress"].is_null());
    assert_eq!(kept["run"]["cancelledAt"], Value::Null);
    assert_eq!(
        (&kept["run"]["outcome"], &kept["run"]["traceId"]),
        (&json!("success"), &json!(trace))
    );
    // Whoever comes late hears the end.
    let late = service.get(&format!("{run}/events")).ends(200).events();
    assert_eq!(late, [("done".to_owned(), json!({"outcome": "success"}))]);
}

#[test]
fn the_reason_for_a_wait_is_told() {
    let folder = Folder::new();
    let busy = Said::to("/about").first(1).status(429).retry_after_seconds(2);
    let sites =
        serve(vec![plain("busy.test").says(busy).says(Said::page("/about", "About", "", &[]))]);
    let service = Service::start(spec(folder.store()));
    let run =
        service.begin("shop", &json!({"url": page(&sites, "busy.test", "/"), "mode": "light"}));
    let events = service.get(&format!("{run}/events")).ends(200).events();
    let waits: Vec<&Value> =
        events.iter().filter_map(|(_, data)| data["waiting"].as_array()).flatten().collect();
    let told = |wait: &&&Value| {
        let (host, why) = (&wait["host"], wait["why"].as_str().unwrap());
        host == "busy.test" && why.starts_with("told to wait 2 s after 1 refusal in a row; until ")
    };
    let wait = waits.iter().find(told).unwrap_or_else(|| panic!("{waits:?}"));
    assert!((1..=2_000).contains(&wait["ms"].as_u64().unwrap()), "{wait}");
    let ended = service.wait_for_end(&run);
    let ingest = &ended["evidence"]["nm_ingest"];
    assert_eq!(ingest["frictionSignals"], json!([format!("429:busy.test:{}/about", sites.port())]));
    assert_eq!(
        (&ingest["domainRiskScore"], &ingest["outcome"]),
        (&json!(30), &json!("success")),
        "{ingest}"
    );
    let log = seen(&sites, "busy.test");
    let told = log.iter().position(|exchange| exchange.status == Some(429)).unwrap();
    assert!(log[told + 1].start >= log[told].start + 2_000_000, "it was waited");
}

#[test]
fn a_request_in_flight_is_no_wait() {
    let folder = Folder::new();
    let held = Said::page("/about", "About", "", &[]).behind("about");
    let sites = serve(vec![plain("shop.test").says(held)]);
    let answered = [("timeout.first_byte", "10m"), ("timeout.whole", "10m")];
    let service = Service::start(spec_with(folder.store(), &answered));
    let run =
        service.begin("shop", &json!({"url": page(&sites, "shop.test", "/"), "mode": "light"}));
    while sites.at_gate("about") == 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let elapsed = |answer: &Value| answer["progress"]["elapsedMs"].as_u64().unwrap();
    let before = elapsed(&service.get(&run).json());
    let later = service.wait(&run, |answer| elapsed(answer) > before);
    assert_eq!(later["progress"]["waiting"], json!([]), "{later:#}");
    sites.open("about");
    assert_eq!(service.wait_for_end(&run)["outcome"], "success");
}

#[test]
fn a_run_that_is_cancelled_between_two_requests_sends_no_other() {
    let folder = Folder::new();
    let sites = serve(vec![plain("shop.test").pages(20, 10, 500)]);
    let service = Service::start(spec_with(folder.store(), &[("pace.delay", "4s")]));
    let named: Vec<String> =
        (1..=9).map(|n| page(&sites, "shop.test", &format!("/p/{n}"))).collect();
    let run = service.begin("shop", &json!({"mode": "user_assisted", "userUrls": named}));
    let waits = |answer: &Value| {
        let (done, waiting) =
            (&answer["progress"]["pagesDone"], &answer["progress"]["waiting"][0]["ms"]);
        done.as_u64() >= Some(1) && waiting.as_u64() > Some(0)
    };
    service.wait(&run, waits);
    service.post(&format!("{run}/cancel"), &json!({})).ends(202);
    let cancelled = micros();
    service.wait_for_end(&run);
    let log = seen(&sites, "shop.test");
    assert!(log.iter().all(|x| x.start <= cancelled), "{log:?}");
}

#[test]
fn a_cancelled_run_asks_for_nothing_more_and_is_closed_with_evidence() {
    let folder = Folder::new();
    let sites = serve(vec![plain("shop.test").pages(60, 40, 500)]);
    let service = Service::start(spec_with(folder.store(), &[("pace.delay", "150ms")]));
    let run =
        service.begin("shop", &json!({"url": page(&sites, "shop.test", "/"), "mode": "standard"}));
    let at_work =
        |answer: &Value| answer["progress"]["pagesDone"].as_u64().is_some_and(|done| done >= 3);
    service.wait(&run, at_work);
    let cancel = service.post(&format!("{run}/cancel"), &json!({})).ends(202).json();
    assert_eq!(cancel, json!({"success": true, "cancelled": true}));
    let ended = service.wait_for_end(&run);
    let asked_by_then = asked(&sites, "shop.test");
    let ingest = &ended["evidence"]["nm_ingest"];
    assert_eq!((&ended["outcome"], &ingest["outcome"]), (&json!("partial"), &json!("partial")));
    let fetched = ingest["pagesFetched"].as_u64().unwrap();
    assert!((3..25).contains(&fetched), "{ingest}");
    assert_eq!(ingest["pagesPlanned"], 25);
    assert!(ended["cancelledAt"].is_string(), "{ended:#}");
    let listed = service.get("/api/orbit/shop/runs").json()["runs"][0].clone();
    assert_eq!(listed["cancelledAt"], ended["cancelledAt"]);
    let shown = service.get(run.strip_prefix("/api").unwrap()).ends(200).body;
    assert!(shown.contains("<h1>The run was cancelled</h1>"), "{shown}");
    let history = service.get("/orbit/shop/import?tab=history").ends(200).body;
    assert!(history.contains("Partial</span> cancelled"), "{history}");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(asked(&sites, "shop.test"), asked_by_then, "nothing more is asked");
    // Once more is no harm, and says how it ended.
    let again = service.post(&format!("{run}/cancel"), &json!({})).ends(200).json();
    assert_eq!(again, json!({"success": true, "cancelled": false, "outcome": "partial"}));
    // Only who may change something may cancel, and only runs of that orbit.
    let trace = run.rsplit('/').next().unwrap();
    service.post(&format!("/api/orbit/other/runs/{trace}/cancel"), &json!({})).ends(404);
}

#[test]
fn a_run_that_is_cancelled_while_it_waits_does_not_ask_when_the_wait_is_over() {
    let folder = Folder::new();
    let busy = Said::to("/").status(429).retry_after_seconds(3);
    let sites = serve(vec![plain("busy.test").says_unlinked(busy)]);
    let service = Service::start(spec(folder.store()));
    let run =
        service.begin("shop", &json!({"url": page(&sites, "busy.test", "/"), "mode": "light"}));
    let waits = |answer: &Value| {
        let waiting = answer["progress"]["waiting"].as_array();
        waiting.is_some_and(|waits| {
            waits.iter().any(|wait| wait["why"].as_str().unwrap().starts_with("told to wait"))
        })
    };
    service.wait(&run, waits);
    service.post(&format!("{run}/cancel"), &json!({})).ends(202);
    let ended = service.wait_for_end(&run);
    assert_eq!(ended["outcome"], "blocked", "{ended}");
    assert_eq!(asked(&sites, "busy.test").iter().filter(|target| *target == "/").count(), 1);
}
