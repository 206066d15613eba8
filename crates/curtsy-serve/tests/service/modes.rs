//! What does each mode ask for, and how fast?

use serde_json::json;

use crate::place::{Folder, Service, spec, spec_with};
use crate::sites::{asked, gaps, page, plain, seen, serve};

/// Pages that were asked for: neither robots.txt nor sitemaps.
fn pages(asked: &[String]) -> Vec<&str> {
    let page = |target: &&str| *target != "/robots.txt" && !target.contains("sitemap");
    asked.iter().map(String::as_str).filter(page).collect()
}

/// A run on a site of sixty pages, in a mode: so many are planned, and so many are asked for.
fn check_pages(mode: &str, most: usize) {
    let folder = Folder::new();
    let sites = serve(vec![plain("shop.test").pages(60, 40, 500)]);
    let service = Service::start(spec_with(
        folder.store(),
        &[("pace.delay", "10ms"), ("risk.delay", "10ms,10ms,10ms")],
    ));
    let answer =
        service.ingest("shop", &json!({"url": page(&sites, "shop.test", "/"), "mode": mode}));
    let ingest = &answer["evidence"]["nm_ingest"];
    assert_eq!(ingest["pagesPlanned"], most, "{ingest}");
    assert_eq!(ingest["outcome"], "success", "{ingest}");
    let asked = asked(&sites, "shop.test");
    assert_eq!(pages(&asked).len(), most, "{asked:?}");
}

#[test]
fn a_light_run_takes_twelve_pages_at_most() {
    check_pages("light", 12);
}

#[test]
fn a_standard_run_takes_twenty_five_pages_at_most() {
    check_pages("standard", 25);
}

#[test]
fn a_user_assisted_run_takes_the_named_pages_and_no_other() {
    let folder = Folder::new();
    let sites = serve(vec![
        plain("shop.test").pages(60, 40, 500).robots("User-agent: *\nDisallow: /p/7\n"),
    ]);
    let service = Service::start(spec_with(
        folder.store(),
        &[("pace.delay", "10ms"), ("risk.delay", "10ms,10ms,10ms")],
    ));
    let named: Vec<String> =
        (1..=50).map(|n| page(&sites, "shop.test", &format!("/p/{n}"))).collect();
    let order =
        json!({"url": page(&sites, "shop.test", "/"), "mode": "user_assisted", "userUrls": named});
    let answer = service.ingest("shop", &order);
    let ingest = &answer["evidence"]["nm_ingest"];
    assert_eq!(ingest["mode"], "user_assisted");
    assert_eq!(ingest["discoverySources"], json!([]), "nothing was looked for");
    assert_eq!(ingest["pagesPlanned"], 50);
    // 7 is forbidden, and so is nothing else: no other number below 51 begins with it.
    assert_eq!(
        (&ingest["pagesFetched"], &ingest["outcome"]),
        (&json!(49), &json!("partial")),
        "{ingest}"
    );
    let asked = asked(&sites, "shop.test");
    let mut wanted: Vec<String> = (1..=50).filter(|n| *n != 7).map(|n| format!("/p/{n}")).collect();
    let mut got: Vec<String> = pages(&asked).into_iter().map(str::to_owned).collect();
    wanted.sort();
    got.sort();
    assert_eq!(got, wanted);
    assert_eq!(asked[0], "/robots.txt");
    assert_eq!(asked.len(), 50, "{asked:?}");
    let evidence = service.evidence("shop", &answer);
    let forbidden = evidence["pages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|page| page["decision"] == "refused")
        .unwrap();
    assert_eq!(forbidden["url"], page(&sites, "shop.test", "/p/7"));
    assert_eq!(
        (&forbidden["robotsRule"], &forbidden["robotsLine"]),
        (&json!("Disallow: /p/7"), &json!(2))
    );
}

#[test]
fn user_assisted_mode_needs_no_url_besides() {
    let folder = Folder::new();
    let sites = serve(vec![plain("shop.test").pages(3, 2, 500)]);
    let service = Service::start(spec(folder.store()));
    let order = json!({"mode": "user_assisted", "userUrls": [page(&sites, "shop.test", "/p/1")]});
    let answer = service.ingest("shop", &order);
    assert_eq!(answer["evidence"]["nm_ingest"]["outcome"], "success");
    assert_eq!(asked(&sites, "shop.test"), ["/robots.txt", "/p/1"]);
}

/// The seed's own delays, with nothing said about them: 800 ms and 1000 ms.
#[test]
fn each_mode_has_its_own_delay() {
    let check = |mode: &str, least: u64| {
        let folder = Folder::new();
        let sites = serve(vec![plain("shop.test").pages(1, 0, 500)]);
        let mut spec = spec(folder.store());
        // As if nobody had said a word about pace.
        spec.settled.policy.pace =
            curtsy_core::policy::Policy::preset(curtsy_core::policy::Preset::Survey).pace;
        let service = Service::start(spec);
        let url = page(&sites, "shop.test", "/");
        let mut order = json!({"url": url, "mode": mode});
        if mode == "user_assisted" {
            order["userUrls"] = json!([url]);
        }
        service.ingest("shop", &order);
        let log = seen(&sites, "shop.test");
        let gaps = gaps(&log);
        assert!(log.len() > 1 && gaps.iter().all(|gap| *gap >= least * 1000), "{mode}: {gaps:?}");
    };
    std::thread::scope(|threads| {
        for (mode, least) in [("light", 800), ("standard", 1000), ("user_assisted", 1000)] {
            threads.spawn(move || check(mode, least));
        }
    });
}
