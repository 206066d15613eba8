//! What was fetched is used for a day; what has changed since is told.

use curtsy_lab::sites::{Answer as Said, Body};
use serde_json::{Value, json};

use crate::place::{Folder, Service, spec, spec_with};
use crate::sites::{asked, assert_judged, bare, business, page, plain, seen, serve, sitemap};

#[test]
fn a_second_run_within_a_day_asks_for_nothing() {
    let folder = Folder::new();
    let sites = serve(vec![business("shop.test")]);
    let service = Service::start(spec(folder.store()));
    let order = json!({"url": page(&sites, "shop.test", "/"), "mode": "light"});
    let first = service.ingest("shop", &order);
    let before = asked(&sites, "shop.test");
    // Another orbit finds what the first has fetched.
    let second = service.ingest("other", &order);
    assert_eq!(asked(&sites, "shop.test"), before);
    let ingest = &second["evidence"]["nm_ingest"];
    assert_eq!(ingest["outcome"], "success", "{ingest}");
    let figures = ["pagesPlanned", "pagesFetched", "pagesUsed", "cacheHits", "cacheMisses"]
        .map(|name| &ingest[name]);
    assert_eq!(figures, [&json!(7), &json!(0), &json!(7), &json!(7), &json!(0)], "{ingest}");
    assert_eq!(second["tiles"], first["tiles"]);
    let evidence = service.evidence("other", &second);
    assert_eq!(evidence["requests"], json!([]));
    for page in evidence["pages"].as_array().unwrap() {
        let wanted =
            if page["url"].as_str().unwrap().contains("/private/") { "refused" } else { "cached" };
        assert_eq!(page["decision"], wanted, "{page}");
        assert_ne!(page["changed"], true, "{page}");
    }
}

/// A page that only the sitemap names is in the second plan as in the first.
#[test]
fn a_sitemap_is_read_from_the_cache_too() {
    let folder = Folder::new();
    let hidden = Said::page("/hidden", "Hidden", "", &[]);
    let sites = serve(vec![bare("shop.test").sitemap(sitemap(&["/hidden"])).says_unlinked(hidden)]);
    let service = Service::start(spec(folder.store()));
    let order = json!({"url": page(&sites, "shop.test", "/"), "mode": "light"});
    let first = service.ingest("shop", &order);
    let second = service.ingest("shop", &order);
    let found = |answer: &Value| {
        let ingest = &answer["evidence"]["nm_ingest"];
        let plan = service.evidence("shop", answer)["plan"]["pages"].clone();
        json!([ingest["discoverySources"], ingest["pagesPlanned"], ingest["outcome"], plan])
    };
    assert_eq!(found(&second), found(&first));
    assert_eq!(asked(&sites, "shop.test"), ["/robots.txt", "/sitemap.xml", "/", "/hidden"]);
}

#[test]
fn a_page_that_changed_is_told() {
    let html = |text: &str| Body::Html(format!("<title>Menu</title><p>{text}</p>"));
    let host = plain("shop.test")
        .says(Said::to("/menu").body(html("Soup 5 EUR")).first(1))
        .says(Said::to("/menu").body(html("Soup 6 EUR")))
        .says(Said::page("/about", "About", "", &[]));
    let folder = Folder::new();
    let sites = serve(vec![host]);
    let service = Service::start(spec_with(folder.store(), &[("cache.ttl", "0s")]));
    let order = json!({"url": page(&sites, "shop.test", "/"), "mode": "light"});
    let changed = |answer: &Value| {
        let evidence = service.evidence("shop", answer);
        let of = |path: &str| {
            let pages = evidence["pages"].as_array().unwrap();
            let page =
                pages.iter().find(|page| page["url"].as_str().unwrap().ends_with(path)).unwrap();
            page["changed"].clone()
        };
        (of("/menu"), of("/about"))
    };
    let first = service.ingest("shop", &order);
    assert_eq!(changed(&first), (Value::Null, Value::Null), "nobody had seen them before");
    let second = service.ingest("shop", &order);
    assert_eq!(second["evidence"]["nm_ingest"]["cacheHits"], 0);
    assert_eq!(changed(&second), (json!(true), json!(false)));
}

#[test]
fn a_plan_costs_discovery_and_the_run_after_it_does_not() {
    let folder = Folder::new();
    let sites = serve(vec![business("shop.test")]);
    let service = Service::start(spec(folder.store()));
    let order = json!({"url": page(&sites, "shop.test", "/"), "mode": "light"});
    let planned = service.post("/api/orbit/shop/plan", &order).ends(200).json();
    assert_eq!(planned["success"], true);
    let discovery = ["/robots.txt", "/sitemap.xml", "/"];
    assert_eq!(asked(&sites, "shop.test"), discovery);
    assert_eq!(planned["requests"], json!({"robots": 1, "sitemap": 1, "page": 1}));
    let plan = &planned["plan"];
    let part = |list: &Value, key: &str| -> Vec<String> {
        list.as_array().unwrap().iter().map(|page| page[key].as_str().unwrap().to_owned()).collect()
    };
    let paths: Vec<String> = part(&plan["pages"], "url")
        .iter()
        .map(|url| url.strip_prefix(&page(&sites, "shop.test", "")).unwrap().to_owned())
        .collect();
    assert_eq!(paths, ["/", "/about", "/services", "/contact", "/menu", "/faq", "/news"]);
    let kinds = part(&plan["pages"], "kind");
    assert_eq!(kinds, ["homepage", "about", "services", "contact", "menu", "faq", "other"]);
    let sources = part(&plan["pages"], "source");
    assert_eq!(
        sources,
        ["homepage", "sitemap", "sitemap", "sitemap", "sitemap", "homepage", "homepage"]
    );
    assert_eq!(part(&plan["forbidden"], "url"), [page(&sites, "shop.test", "/private/books")]);
    assert_eq!((&planned["takesMs"], &plan["delayMs"]), (&json!(7 * 60), &json!(60)));
    assert_eq!(service.get("/api/orbit/shop/runs").json(), json!({"runs": []}), "a plan is no run");

    let answer = service.ingest("shop", &order);
    let asked = asked(&sites, "shop.test");
    assert_eq!(asked[..3], discovery);
    assert_eq!(asked[3..], paths[1..]);
    let ingest = &answer["evidence"]["nm_ingest"];
    assert_eq!(
        (&ingest["cacheHits"], &ingest["cacheMisses"], &ingest["outcome"]),
        (&json!(1), &json!(6), &json!("success")),
        "{ingest}"
    );
    // And the plan again costs nothing.
    let again = service.post("/api/orbit/shop/plan", &order).ends(200).json();
    assert_eq!((&again["requests"], &again["plan"]["pages"]), (&json!({}), &plan["pages"]));
}

/// Where there is no sitemap, the next run need not ask again.
#[test]
fn what_is_not_there_is_not_asked_for_again_at_once() {
    let folder = Folder::new();
    let sites = serve(vec![bare("shop.test")]);
    let service = Service::start(spec(folder.store()));
    let order = json!({"url": page(&sites, "shop.test", "/"), "mode": "light"});
    service.ingest("shop", &order);
    let before = asked(&sites, "shop.test");
    let second = service.ingest("shop", &order);
    assert_eq!(asked(&sites, "shop.test"), before);
    assert_eq!(service.evidence("shop", &second)["requests"], json!([]));
    assert_judged(sites.log(), &service.policy, &[]);
}

/// A page that is gone is known to be gone: its row says so without a request.
#[test]
fn a_page_that_is_not_there_is_remembered_with_its_answer() {
    let folder = Folder::new();
    let gone = Said::to("/about").status(410).header("ETag: \"gone\"");
    let sites = serve(vec![plain("shop.test").says(gone).says(Said::page("/menu", "", "", &[]))]);
    let service = Service::start(spec(folder.store()));
    let order = json!({"url": page(&sites, "shop.test", "/"), "mode": "light"});
    let first = service.ingest("shop", &order);
    let before = asked(&sites, "shop.test");
    let second = service.ingest("shop", &order);
    assert_eq!(asked(&sites, "shop.test"), before);
    let row = |answer: &Value| {
        let evidence = service.evidence("shop", answer);
        let pages = evidence["pages"].as_array().unwrap();
        let page = pages.iter().find(|page| page["kind"] == "about").unwrap();
        json!([page["decision"], page["statusCode"], page["used"]])
    };
    assert_eq!(row(&second), json!(["dead", 410, false]));
    assert_eq!(row(&second), row(&first));
    let ingest = &second["evidence"]["nm_ingest"];
    assert_eq!((&ingest["outcome"], &ingest["cacheHits"]), (&json!("partial"), &json!(2)));
    // When that is no longer fresh, it is asked for as if for the first time.
    let sql = "UPDATE url_fetch_cache SET expires_at = fetched_at";
    folder.database().execute(sql, []).unwrap();
    service.ingest("shop", &order);
    let log = seen(&sites, "shop.test");
    let about: Vec<_> = log.iter().filter(|x| &*x.target == "/about").collect();
    assert_eq!((about.len(), &about[1].if_none_match), (2, &None));
}
