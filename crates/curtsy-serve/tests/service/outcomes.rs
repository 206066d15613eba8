//! How runs end: success, partial, blocked, error; and what friction does to the next.

use curtsy_lab::sites::Answer as Said;
use serde_json::{Value, json};

use crate::place::{Folder, Service, spec};
use crate::sites::{asked, gaps, page, plain, seen, serve};

const SIX: [&str; 6] = ["/about", "/services", "/contact", "/pricing", "/menu", "/faq"];

fn ingest_of(answer: &Value) -> &Value {
    &answer["evidence"]["nm_ingest"]
}

#[test]
fn a_page_that_does_not_come_makes_a_run_partial() {
    let folder = Folder::new();
    let sites = serve(vec![
        plain("shop.test")
            .says(Said::page("/about", "About", "", &[]))
            .says(Said::to("/menu").status(404)),
    ]);
    let service = Service::start(spec(folder.store()));
    let answer =
        service.ingest("shop", &json!({"url": page(&sites, "shop.test", "/"), "mode": "light"}));
    let ingest = ingest_of(&answer);
    assert_eq!((&answer["success"], &ingest["outcome"]), (&json!(true), &json!("partial")));
    assert_eq!((&ingest["pagesPlanned"], &ingest["pagesFetched"]), (&json!(3), &json!(2)));
    assert_eq!(
        (&ingest["frictionSignals"], &ingest["domainRiskScore"]),
        (&json!([]), &json!(0)),
        "a 404 is no friction"
    );
}

#[test]
fn a_bot_wall_blocks_a_run_and_is_left_alone() {
    let folder = Folder::new();
    let sites =
        serve(vec![plain("wall.test").says(Said::wall("/")).says_unlinked(Said::wall("/about"))]);
    let service = Service::start(spec(folder.store()));
    let url = page(&sites, "wall.test", "/");
    let answer = service.ingest("shop", &json!({"url": url, "mode": "standard"}));
    let ingest = ingest_of(&answer);
    assert_eq!((&answer["success"], &ingest["outcome"]), (&json!(false), &json!("blocked")));
    let signal = format!("challenge:wall.test:{}/", sites.port());
    assert_eq!(ingest["frictionSignals"], json!([signal]));
    assert_eq!(ingest["domainRiskScore"], 25);
    assert_eq!((&ingest["pagesFetched"], &ingest["pagesUsed"]), (&json!(0), &json!(0)));
    assert_eq!(answer["tiles"], json!([]));
    let walls = asked(&sites, "wall.test").iter().filter(|target| *target == "/").count();
    assert_eq!(walls, 1, "a wall is not tried again");
}

#[test]
fn three_refusals_in_a_row_end_a_run_early() {
    let folder = Folder::new();
    let host =
        SIX.iter().fold(plain("grumpy.test"), |host, path| host.says(Said::to(path).status(403)));
    let sites = serve(vec![host]);
    let service = Service::start(spec(folder.store()));
    let answer =
        service.ingest("shop", &json!({"url": page(&sites, "grumpy.test", "/"), "mode": "light"}));
    let ingest = ingest_of(&answer);
    // The home page came.
    assert_eq!(ingest["outcome"], "partial", "{ingest}");
    let signals: Vec<String> =
        SIX[..3].iter().map(|path| format!("403:grumpy.test:{}{path}", sites.port())).collect();
    assert_eq!(ingest["frictionSignals"], json!(signals));
    assert_eq!(ingest["domainRiskScore"], 60);
    let refused =
        seen(&sites, "grumpy.test").iter().filter(|exchange| exchange.status == Some(403)).count();
    assert_eq!(refused, 3);
    let evidence = service.evidence("shop", &answer);
    let pages = evidence["pages"].as_array().unwrap();
    assert_eq!(pages.len(), 7, "every page that was considered has a row: {pages:?}");
    let menu = pages.iter().find(|page| page["url"].as_str().unwrap().ends_with("/menu")).unwrap();
    assert_eq!(menu["decision"], "refused");
    let risk =
        menu["reasons"].as_array().unwrap().iter().find(|reason| reason["gate"] == "risk").unwrap();
    assert_eq!(risk["verdict"], "never", "{risk}");
    let domain = service.get("/api/domains/grumpy.test").ends(200).json();
    assert_eq!(domain["risk"]["riskScore"], 60);
    let events = domain["risk"]["frictionEvents"].as_array().unwrap();
    let told: Vec<Value> =
        events.iter().map(|event| json!([event["signal"], event["points"]])).collect();
    assert_eq!(told, signals.iter().map(|signal| json!([signal, 20])).collect::<Vec<_>>());
}

#[test]
fn a_critical_host_is_left_alone_but_for_who_names_its_pages() {
    let folder = Folder::new();
    let host =
        SIX.iter().fold(plain("grumpy.test"), |host, path| host.says(Said::to(path).status(403)));
    let sites = serve(vec![host.says_unlinked(Said::page("/kind", "Kind", "", &[]))]);
    let service = Service::start(spec(folder.store()));
    let order = json!({"url": page(&sites, "grumpy.test", "/"), "mode": "light"});
    assert_eq!(ingest_of(&service.ingest("shop", &order))["domainRiskScore"], 60);
    assert_eq!(ingest_of(&service.ingest("shop", &order))["domainRiskScore"], 100);
    let before = asked(&sites, "grumpy.test");
    for mode in ["light", "standard"] {
        let answer = service
            .ingest("shop", &json!({"url": page(&sites, "grumpy.test", "/menu"), "mode": mode}));
        let ingest = ingest_of(&answer);
        assert_eq!(
            (&ingest["outcome"], &ingest["domainRiskScore"]),
            (&json!("blocked"), &json!(100)),
            "{ingest}"
        );
        assert_eq!(answer["success"], false);
    }
    assert_eq!(asked(&sites, "grumpy.test"), before, "a critical host is not asked");

    let named = ["/kind", "/p/1"].map(|path| page(&sites, "grumpy.test", path));
    let order = json!({"mode": "user_assisted", "userUrls": named});
    let answer = service.ingest("shop", &order);
    let ingest = ingest_of(&answer);
    assert_eq!(
        (&ingest["pagesFetched"], &ingest["outcome"]),
        (&json!(1), &json!("partial")),
        "{ingest}"
    );
    let evidence = service.evidence("shop", &answer);
    let kind = &evidence["pages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|page| page["statusCode"] == 200)
        .unwrap();
    // The delay of a high risk, which is 120 ms here.
    assert_eq!((&kind["delayMs"], &kind["delayBy"]), (&json!(120), &json!("risk")));
    let log = seen(&sites, "grumpy.test");
    let late = &log[before.len() - 1..];
    assert!(gaps(late).iter().all(|gap| *gap >= 120_000), "{late:?}");
}

/// A run that had to leave everything has no row, and still tells how its host stands.
#[test]
fn a_run_without_rows_has_the_score_of_its_host() {
    let folder = Folder::new();
    let busy = Said::to("/").status(429).retry_after_seconds(3_600);
    let sites = serve(vec![plain("busy.test").says_unlinked(busy)]);
    let service = Service::start(spec(folder.store()));
    let order = json!({"url": page(&sites, "busy.test", "/"), "mode": "light"});
    for run in ["the one that was told to wait", "one that comes while it waits"] {
        let answer = service.ingest("shop", &order);
        let ingest = &answer["evidence"]["nm_ingest"];
        assert_eq!(ingest["domainRiskScore"], 30, "{run}: {ingest}");
    }
}

#[test]
fn a_site_that_is_down_is_an_error() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    // Nobody listens on a port that was just given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let answer = service
        .ingest("shop", &json!({"url": format!("http://down.test:{port}/"), "mode": "light"}));
    let ingest = ingest_of(&answer);
    assert_eq!(
        (&answer["success"], &ingest["outcome"]),
        (&json!(false), &json!("error")),
        "{ingest}"
    );
    assert_eq!((&ingest["pagesFetched"], &ingest["frictionSignals"]), (&json!(0), &json!([])));
    let evidence = service.evidence("shop", &answer);
    // The page has a row although nothing could be asked.
    let home = &evidence["pages"][0];
    assert_eq!(
        (&home["decision"], &home["error"]),
        (&json!("dead"), &json!("connect")),
        "{evidence:#}"
    );
    let requests = evidence["requests"].as_array().unwrap();
    assert!(
        !requests.is_empty() && requests.iter().all(|request| request["outcome"] == "failed"),
        "{requests:?}"
    );
}

#[test]
fn a_site_that_forbids_everything_is_not_asked_for_pages() {
    let folder = Folder::new();
    let sites = serve(vec![plain("shop.test").robots("User-agent: *\nDisallow: /\n")]);
    let service = Service::start(spec(folder.store()));
    let url = page(&sites, "shop.test", "/");
    for order in
        [json!({"url": url, "mode": "light"}), json!({"mode": "user_assisted", "userUrls": [url]})]
    {
        let answer = service.ingest("shop", &order);
        assert_eq!(answer["success"], false);
        assert_eq!(ingest_of(&answer)["pagesFetched"], 0);
    }
    assert_eq!(asked(&sites, "shop.test"), ["/robots.txt"]);
}
