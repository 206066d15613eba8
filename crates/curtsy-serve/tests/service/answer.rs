//! Is the API that of the requirement? The request and the answer as seed 004 writes them.

use curtsy_lab::sites::{Answer as Said, Body};
use serde_json::{Value, json};

use crate::place::{Folder, Service, spec};
use crate::sites::{asked, business, page, plain, serve};

/// A name, and whether a value is what should stand there.
type Named = (&'static str, fn(&Value) -> bool);

/// `nm_ingest` as the seed has it: names in their order, and what each is.
const NM_INGEST: [Named; 11] = [
    ("mode", Value::is_string),
    ("discoverySources", is_texts),
    ("pagesPlanned", Value::is_u64),
    ("pagesFetched", Value::is_u64),
    ("pagesUsed", Value::is_u64),
    ("cacheHits", Value::is_u64),
    ("cacheMisses", Value::is_u64),
    ("outcome", Value::is_string),
    ("frictionSignals", is_texts),
    ("domainRiskScore", Value::is_u64),
    ("durationMs", Value::is_u64),
];

fn is_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|texts| texts.iter().all(Value::is_string))
}

/// Where each of these names stands in a text, which must have them in this order.
#[track_caller]
fn assert_in_order(text: &str, names: impl IntoIterator<Item = &'static str>) {
    let mut last = 0;
    for name in names {
        let at = text
            .find(&format!("\"{name}\":"))
            .unwrap_or_else(|| panic!("`{name}` is not in {text}"));
        assert!(at >= last, "`{name}` comes too early in {text}");
        last = at;
    }
}

#[test]
fn the_seeds_request_has_the_seeds_answer() {
    let folder = Folder::new();
    let sites = serve(vec![business("shop.test")]);
    let service = Service::start(spec(folder.store()));
    let order = json!({"url": page(&sites, "shop.test", ""), "mode": "standard", "userUrls": []});
    let answer = service.post("/api/orbit/shop/ingest", &order).ends(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));

    let body = answer.json();
    let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), 3, "{keys:?}");
    assert_eq!(body["success"], true);
    assert!(body["tiles"].is_array());
    let evidence = body["evidence"].as_object().unwrap();
    assert_eq!(evidence.len(), 3, "{evidence:?}");
    assert_eq!(evidence["nm_policyVersion"], "orbitBehaviourContract.v1.1.0");
    assert!(evidence["traceId"].as_str().is_some_and(|trace| trace.len() == 32), "{evidence:?}");
    let ingest = evidence["nm_ingest"].as_object().unwrap();
    assert_eq!(ingest.len(), NM_INGEST.len(), "{ingest:?}");
    for (name, is_right) in NM_INGEST {
        assert!(is_right(&ingest[name]), "`{name}` in {ingest:?}");
    }
    assert_in_order(&answer.body, ["success", "tiles", "evidence"]);
    assert_in_order(&answer.body, ["traceId", "nm_policyVersion", "nm_ingest"]);
    assert_in_order(&answer.body, NM_INGEST.map(|(name, _)| name));

    let ingest = &body["evidence"]["nm_ingest"];
    assert_eq!(ingest["mode"], "standard");
    assert_eq!(ingest["outcome"], "success", "{ingest} {:?}", asked(&sites, "shop.test"));
    assert_eq!(ingest["discoverySources"], json!(["sitemap", "robots", "homepage"]));
    let pages = ["pagesPlanned", "pagesFetched", "pagesUsed", "cacheHits", "cacheMisses"]
        .map(|name| &ingest[name]);
    assert_eq!(pages, [&json!(7), &json!(7), &json!(7), &json!(0), &json!(7)], "{ingest}");
    assert_eq!(ingest["frictionSignals"], json!([]));
    assert_eq!(ingest["domainRiskScore"], 0);
}

#[test]
fn discovery_comes_first_and_key_pages_next() {
    let folder = Folder::new();
    let sites = serve(vec![business("shop.test")]);
    let service = Service::start(spec(folder.store()));
    service.ingest("shop", &json!({"url": page(&sites, "shop.test", "/"), "mode": "light"}));
    let asked = asked(&sites, "shop.test");
    assert_eq!(asked[..6], ["/robots.txt", "/sitemap.xml", "/", "/about", "/services", "/contact"]);
    assert!(!asked.iter().any(|target| target.starts_with("/private/")), "{asked:?}");
}

#[test]
fn the_mode_is_standard_unless_one_is_named() {
    let folder = Folder::new();
    let sites = serve(vec![plain("shop.test")]);
    let service = Service::start(spec(folder.store()));
    let answer = service.ingest("shop", &json!({"url": page(&sites, "shop.test", "/")}));
    assert_eq!(answer["evidence"]["nm_ingest"]["mode"], "standard");
}

#[test]
fn what_a_page_says_comes_back_as_tiles_with_where_it_was_seen() {
    let contact =
        "<title>Contact</title><h1>Contact</h1><a href='tel:+493012345678'>030 12345678</a>";
    let contact = Said::to("/contact").body(Body::Html(contact.to_owned()));
    let folder = Folder::new();
    let sites = serve(vec![plain("shop.test").says(contact)]);
    let service = Service::start(spec(folder.store()));
    let answer =
        service.ingest("shop", &json!({"url": page(&sites, "shop.test", "/"), "mode": "light"}));
    let tiles = answer["tiles"].as_array().unwrap();
    let phone = tiles
        .iter()
        .find(|tile| tile["phone"] == "+493012345678")
        .unwrap_or_else(|| panic!("{tiles:?}"));
    assert_eq!(phone["kind"], "contact");
    assert_eq!(phone["sourceUrl"], page(&sites, "shop.test", "/contact"));
    assert!(phone["confidence"].as_f64().is_some_and(|sure| (0.5..=1.0).contains(&sure)));
    assert_eq!(phone["evidence"][0]["url"], page(&sites, "shop.test", "/contact"));
    let trace = answer["evidence"]["traceId"].as_str().unwrap();
    let kept = service.get(&format!("/api/orbit/shop/runs/{trace}/tiles")).ends(200).json();
    assert_eq!(kept["tiles"], answer["tiles"]);
}
