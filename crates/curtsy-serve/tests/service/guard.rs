//! The service asks no address that a stranger must not have it ask.

use std::net::TcpListener;

use curtsy_lab::sites::Answer as Said;
use serde_json::{Value, json};

use crate::place::{Folder, Service, spec};
use crate::sites::{asked, page, plain, serve};

/// Somebody who listens and hopes that nobody comes.
fn listener(address: &str) -> TcpListener {
    let listener = TcpListener::bind(address).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

/// A service for the public internet: no network is allowed by name.
fn service_for_public(folder: &Folder) -> Service {
    let mut spec = spec(folder.store());
    spec.way.allow_net = Vec::new();
    Service::start(spec)
}

/// Whether a run ended without a page, and without a request.
#[track_caller]
fn assert_refused(service: &Service, answer: &Value, what: &str) {
    let ingest = &answer["evidence"]["nm_ingest"];
    assert_eq!(answer["success"], false, "{what}: {answer}");
    assert_eq!(
        (&ingest["outcome"], &ingest["pagesFetched"]),
        (&json!("error"), &json!(0)),
        "{what}: {ingest}"
    );
    let evidence = service.evidence("shop", answer);
    for request in evidence["requests"].as_array().unwrap() {
        assert_eq!(request["outcome"], "failed", "{what}: {request}");
        assert_eq!(request["statusCode"], Value::Null, "{what}: {request}");
    }
}

#[test]
fn private_addresses_are_not_dialled_however_they_are_spelt() {
    let folder = Folder::new();
    let service = service_for_public(&folder);
    let (v4, any) = (listener("127.0.0.1:0"), listener("0.0.0.0:0"));
    let port = v4.local_addr().unwrap().port();
    let any_port = any.local_addr().unwrap().port();
    let mut urls: Vec<String> = [
        "127.0.0.1",
        "localhost",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "shop.test",
    ]
    .map(|host| format!("http://{host}:{port}/"))
    .to_vec();
    urls.extend([
        format!("http://0.0.0.0:{any_port}/"),
        format!("http://[::]:{any_port}/"),
        format!("http://[::1]:{any_port}/"),
    ]);
    urls.extend(
        [
            "169.254.169.254/latest/meta-data/",
            "10.0.0.1/",
            "172.16.0.1/",
            "192.168.1.1/",
            "100.64.0.1/",
            "[fd00::1]/",
            "[fe80::1]/",
            "[64:ff9b::7f00:1]/",
            "224.0.0.1/",
            "255.255.255.255/",
        ]
        .map(|rest| format!("http://{rest}")),
    );
    for url in urls {
        for order in [
            json!({"url": url, "mode": "light"}),
            json!({"mode": "user_assisted", "userUrls": [url]}),
        ] {
            let answer = service.post("/api/orbit/shop/ingest", &order);
            match answer.status {
                200 => assert_refused(&service, &answer.json(), &url),
                // No URL at all.
                status => assert_eq!(status, 422, "{url}: {}", answer.body),
            }
        }
        let plan = service.post("/api/orbit/shop/plan", &json!({"url": url, "mode": "light"}));
        match plan.status {
            200 => assert_eq!(plan.json()["plan"]["sources"], json!([]), "{url}: {}", plan.body),
            status => assert_eq!(status, 422, "{url}: {}", plan.body),
        }
    }
    assert!(v4.accept().is_err() && any.accept().is_err(), "somebody came");
}

#[test]
fn no_redirect_and_no_sitemap_leads_inside() {
    let folder = Folder::new();
    // The site is allowed; what it leads to is not.
    let inside = listener("127.0.0.9:0");
    let to = format!("http://127.0.0.9:{}/secret", inside.local_addr().unwrap().port());
    let robots = format!("User-agent: *\nAllow: /\nSitemap: {to}/sitemap.xml\n");
    let host = plain("shop.test")
        .robots(&robots)
        .says(Said::moved("/about", 302, &to))
        .says(Said::moved("/menu", 308, "http://169.254.169.254/latest/meta-data/"))
        .says(Said::moved("/faq", 301, "file:///etc/passwd"))
        .links_to(&to);
    let rude =
        plain("rude.test").says_unlinked(Said::moved("/robots.txt", 302, &to)).pages(2, 1, 300);
    let sites = serve(vec![host, rude]);
    let mut spec = spec(folder.store());
    spec.way.allow_net = vec!["127.0.0.1/32".parse().unwrap()];
    let service = Service::start(spec);
    let answer =
        service.ingest("shop", &json!({"url": page(&sites, "shop.test", "/"), "mode": "standard"}));
    let evidence = service.evidence("shop", &answer);
    let pages = evidence["pages"].as_array().unwrap();
    for path in ["/about", "/menu", "/faq"] {
        let row = pages.iter().find(|row| row["url"].as_str().unwrap().ends_with(path));
        let row = row.unwrap_or_else(|| panic!("no {path} in {evidence:#}"));
        assert_eq!(row["used"], false, "{row}");
        assert_eq!(row["title"], Value::Null, "{row}");
    }
    assert!(
        !pages.iter().any(|row| row["url"].as_str().unwrap().contains("127.0.0.9")),
        "another host is no part of the site"
    );
    // Without its robots.txt nothing of a site is asked for.
    let answer =
        service.ingest("shop", &json!({"url": page(&sites, "rude.test", "/"), "mode": "standard"}));
    assert_eq!(answer["evidence"]["nm_ingest"]["pagesFetched"], 0, "{answer}");
    assert_eq!(asked(&sites, "rude.test"), ["/robots.txt"]);
    assert!(inside.accept().is_err(), "somebody came");
}

#[test]
fn only_web_addresses_are_orders() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    for url in [
        "file:///etc/passwd",
        "ftp://shop.test/",
        "gopher://127.0.0.1:6379/_INFO",
        "javascript:alert(1)//://",
        "data://text/plain,x",
        "ws://shop.test/",
    ] {
        service.post("/api/orbit/shop/ingest", &json!({"url": url})).ends(422);
        service
            .post("/api/orbit/shop/ingest", &json!({"mode": "user_assisted", "userUrls": [url]}))
            .ends(422);
        service
            .post("/api/orbit/shop/ingest", &json!({"url": "http://shop.test/", "callback": url}))
            .ends(422);
    }
}

/// A run that could not reach its site says why in its answer, and lists no request that was never
/// sent.
#[test]
fn a_run_that_reached_nobody_says_why_and_lists_nothing_that_was_not_sent() {
    let folder = Folder::new();
    let public = service_for_public(&folder);
    let answer = public.ingest("shop", &json!({"url": "http://10.0.0.1/", "mode": "light"}));
    let reason = answer["reason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("10.0.0.1: "), "{answer}");
    let evidence = public.evidence("shop", &answer);
    assert_eq!(evidence["requests"], json!([]), "nothing was sent");

    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    // No other test listens on this address, so the port stays closed.
    let port = TcpListener::bind("127.0.0.9:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.9:{port}/");
    let answer = service.ingest("shop", &json!({"url": url, "mode": "light"}));
    assert_eq!(answer["reason"], "127.0.0.9: connection refused or unreachable", "{answer}");
    let evidence = service.evidence("shop", &answer);
    let requests = evidence["requests"].as_array().unwrap();
    assert!(requests.iter().all(|request| request["kind"] != "page"), "{requests:?}");
    let page = &evidence["pages"][0];
    assert_eq!(page["evidence"], Value::Null, "robots.txt said nothing: {page}");
}

#[test]
fn the_demonstration_opens_its_own_sites_and_nothing_else_of_this_machine() {
    let folder = Folder::new();
    let demo = curtsy_serve::Demo::start().unwrap();
    let mut spec = spec(folder.store());
    spec.way = demo.way();
    let service = Service::start(spec);
    let answer = service.ingest("shop", &json!({"url": demo.example(), "mode": "light"}));
    assert_eq!(answer["success"], true, "{answer}");
    let other = listener("127.0.0.1:0");
    let url = format!("http://{}/", other.local_addr().unwrap());
    let answer = service.ingest("shop", &json!({"url": url, "mode": "light"}));
    assert_refused(&service, &answer, &url);
    assert!(other.accept().is_err(), "nobody came");
}
