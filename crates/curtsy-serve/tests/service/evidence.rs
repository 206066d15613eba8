//! Why was each page asked for or not, and when?

use curtsy_sim::loopback::Answer as Said;
use serde_json::{Value, json};

use crate::place::{Folder, Service, spec};
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
    assert_eq!(
        (&evidence["plan"]["delayMs"], &evidence["plan"]["delayBy"]),
        (&json!(300), &json!("robots.txt"))
    );
    let log = seen(&sites, "slow.test");
    let first_page = log.iter().position(|exchange| &*exchange.target == "/").unwrap();
    let kept = gaps(&log[first_page..]).iter().all(|gap| *gap >= 300_000);
    assert!(kept, "{log:?}");
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
