//! Why was each page asked for or not, and when?

use curtsy_lab::sites::Answer as Said;
use serde_json::{Value, json};

use crate::place::{Folder, Service, spec, spec_with};
use crate::sites::{business, gaps, page, plain, seen, serve};

fn find<'e>(pages: &'e Value, path: &str) -> &'e Value {
    let pages = pages.as_array().unwrap();
    let found = pages.iter().find(|page| page["url"].as_str().unwrap().ends_with(path));
    found.unwrap_or_else(|| panic!("no page {path} in {pages:?}"))
}

#[test]
fn a_forbidden_page_has_a_row_with_the_line_that_forbids_it() {
    let folder = Folder::new();
    let sites = serve(vec![business("shop.test")]);
    let service = Service::start(spec(folder.store()));
    let answer =
        service.ingest("shop", &json!({"url": page(&sites, "shop.test", "/"), "mode": "light"}));
    let evidence = service.evidence("shop", &answer);
    assert_eq!(evidence["evidence"], answer["evidence"]);
    let forbidden = find(&evidence["pages"], "/private/books");
    assert_eq!(forbidden["decision"], "refused");
    assert_eq!(forbidden["robotsRule"], "Disallow: /private/");
    assert_eq!(forbidden["robotsLine"], 2);
    assert_eq!(forbidden["statusCode"], Value::Null);
    assert_eq!(forbidden["used"], false);
    let robots = forbidden["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .find(|reason| reason["gate"] == "robots")
        .unwrap();
    assert_eq!(robots["verdict"], "never", "{robots}");
    assert_eq!(forbidden["reason"], "refused by robots.txt: line 2");
    let record = &forbidden["evidence"];
    let url = page(&sites, "shop.test", "/private/books");
    let said = json!({"allowed": false, "matchedRule": "Disallow: /private/", "crawlDelay": null});
    assert_eq!(
        (&record["type"], &record["confidence"]),
        (&json!("blocked_by_robots"), &json!("high"))
    );
    for (name, value) in said.as_object().unwrap() {
        assert_eq!((&record["content"][name], &record["metadata"][name]), (value, value), "{name}");
    }
    assert_eq!(record["metadata"]["url"], url);
    assert_eq!(record["content"]["timestamp"], forbidden["decidedAt"]);
    let about = find(&evidence["pages"], "/about");
    assert_eq!(
        (&about["decision"], &about["statusCode"], &about["used"]),
        (&json!("fetched"), &json!(200), &json!(true))
    );
    assert_eq!((&about["robotsRule"], &about["robotsLine"]), (&json!("Allow: /"), &json!(3)));
    assert_eq!((&about["kind"], &about["title"]), (&json!("about"), &json!("about")));
    assert_eq!((&about["delayMs"], &about["delayBy"]), (&json!(60), &json!("floor")));
    let plan = &evidence["plan"];
    assert_eq!(plan["forbidden"][0]["url"], page(&sites, "shop.test", "/private/books"));
    assert_eq!((&plan["delayMs"], &plan["delayBy"]), (&json!(60), &json!("mode")));
}

#[test]
fn a_crawl_delay_is_kept_and_named() {
    let folder = Folder::new();
    let host = plain("slow.test").robots("User-agent: *\nCrawl-delay: 0.3\n").pages(1, 0, 300);
    let sites = serve(vec![host.says(Said::page("/about", "About", "", &[]))]);
    let service = Service::start(spec(folder.store()));
    let answer =
        service.ingest("shop", &json!({"url": page(&sites, "slow.test", "/"), "mode": "light"}));
    let evidence = service.evidence("shop", &answer);
    let about = find(&evidence["pages"], "/about");
    assert_eq!((&about["delayMs"], &about["delayBy"]), (&json!(300), &json!("robots")));
    let record = &about["evidence"];
    assert_eq!(record["type"], "robots_allowed");
    assert_eq!((&record["content"]["crawlDelay"], &about["reason"]), (&json!(0.3), &Value::Null));
    assert_eq!(
        (&evidence["plan"]["delayMs"], &evidence["plan"]["delayBy"]),
        (&json!(300), &json!("robots.txt"))
    );
    let log = seen(&sites, "slow.test");
    let first_page = log.iter().position(|exchange| &*exchange.target == "/").unwrap();
    let kept = gaps(&log[first_page..]).iter().all(|gap| *gap >= 300_000);
    assert!(kept, "{log:?}");
}

/// "If no slot available within 10 seconds: returns error". Here after 300 ms, while another run
/// has the host's only slot.
#[test]
fn a_single_page_that_gets_no_slot_has_that_as_its_outcome() {
    let folder = Folder::new();
    let held = Said::to("/p/1").behind("slot");
    let sites = serve(vec![plain("shop.test").pages(4, 2, 300).says_unlinked(held)]);
    let fields = [
        ("slots.wait", "300ms"),
        ("timeout.first_byte", "10m"),
        ("timeout.whole", "10m"),
        ("patience", "10m"),
    ];
    let service = Service::start(spec_with(folder.store(), &fields));
    let order = |path: &str| json!({"mode": "user_assisted", "userUrls": [page(&sites, "shop.test", path)]});
    let first = service.begin("first", &order("/p/1"));
    while sites.at_gate("slot") == 0 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let answer = service.ingest("second", &order("/p/2"));
    let evidence = service.evidence("second", &answer);
    let waited = find(&evidence["pages"], "/p/2");
    let text = "Timeout waiting for host concurrency slot";
    assert_eq!((&waited["error"], &waited["reason"]), (&json!("slot_timeout"), &json!(text)));
    assert_eq!(waited["evidence"]["type"], "slot_timeout");
    assert_eq!(waited["evidence"]["content"]["error"], text);
    sites.open("slot");
    service.wait_for_end(&first);
}

#[test]
fn every_request_is_listed_as_the_site_saw_it() {
    let folder = Folder::new();
    let moved = Said::moved("/old", 301, "/about");
    let sites = serve(vec![business("shop.test").says(moved).says(Said::to("/gone").status(404))]);
    let service = Service::start(spec(folder.store()));
    let answer =
        service.ingest("shop", &json!({"url": page(&sites, "shop.test", "/"), "mode": "light"}));
    let evidence = service.evidence("shop", &answer);
    let requests = evidence["requests"].as_array().unwrap();
    let listed: Vec<(String, u64)> = requests
        .iter()
        .map(|request| {
            (request["url"].as_str().unwrap().to_owned(), request["statusCode"].as_u64().unwrap())
        })
        .collect();
    let saw: Vec<(String, u64)> = seen(&sites, "shop.test")
        .iter()
        .map(|exchange| {
            (page(&sites, "shop.test", &exchange.target), exchange.status.unwrap().into())
        })
        .collect();
    assert_eq!(listed, saw);
    assert_eq!(requests[0]["kind"], "robots");
    assert_eq!(requests[1]["kind"], "sitemap");
    assert!(
        requests
            .iter()
            .all(|request| request["outcome"] == "answered" && request["askedAt"].is_string())
    );
    let old = find(&evidence["pages"], "/old");
    assert_eq!(old["finalUrl"], page(&sites, "shop.test", "/about"));
    assert_eq!(find(&evidence["pages"], "/gone")["statusCode"], 404);
}
