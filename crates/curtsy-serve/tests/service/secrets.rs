//! What nobody should read stands nowhere: passwords, cookies, tokens, and what pages say besides
//! their facts.
//!
//! Values of a query are part of a page's address. They may stand where a run's own pages are named
//! (`url`, `finalUrl`, the plan, what the user asked for), since that is what the user typed or the
//! site links to, and in the cache. They stand in no list of requests, no friction signal, no note,
//! no figure, no message and no log.

use curtsy_lab::sites::{Answer as Said, Body, Ending};
use serde_json::{Value, json};

use crate::client::{Answer, send};
use crate::kept::places;
use crate::life::Life;
use crate::place::{Folder, NO_RUN, Service, TOKEN};
use crate::sites::{page, plain, serve, sitemap};

/// Said by pages, where no fact of a business stands.
const SAID: &str = "tulip-said-by-a-page";
/// Sent by the site as a cookie.
const COOKIE: &str = "tulip-in-a-cookie";
/// In the user part of addresses.
const PASSWORD: &str = "tulip-password";
/// The value of a query.
const QUERY: &str = "tulip-in-a-query";
/// The value of a callback's query.
const CALLBACK: &str = "tulip-for-the-callback";
/// In what is imported by hand.
const IMPORTED: &str = "tulip-imported";

fn hidden(title: &str) -> Body {
    let script = format!(
        "<script>var token = '{SAID}';</script><!-- {SAID} --><input type='hidden' value='{SAID}'>"
    );
    Body::Html(format!("<!doctype html><title>{title}</title><h1>{title}</h1>{script}"))
}

/// Everything that can be read of a service: pages, answers, figures, errors.
fn everything_said(service: &Service, runs: &[String]) -> Vec<(String, Answer)> {
    let mut targets = service.described(&["get"]);
    targets.extend(
        [
            "/",
            "/orbit/shop/import",
            "/orbit/shop/import?tab=history",
            "/domains/shop.test",
            "/admin/orbits/health",
            "/login",
        ]
        .map(str::to_owned),
    );
    for run in runs {
        let trace = run.rsplit('/').next().unwrap();
        let of_run: Vec<String> = targets
            .iter()
            .filter(|target| target.contains(NO_RUN))
            .map(|target| target.replace(NO_RUN, trace))
            .collect();
        targets.extend(of_run);
        targets.push(format!("/orbit/shop/runs/{trace}"));
    }
    targets.into_iter().map(|target| (target.clone(), service.get(&target))).collect()
}

#[track_caller]
fn assert_absent(text: &str, secrets: &[&str], what: &str) {
    for secret in secrets {
        assert!(!text.contains(secret), "`{secret}` is in {what}:\n{text}");
    }
}

/// A JSON value without what names a run's own pages.
fn without_addresses(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let named = ["url", "finalUrl", "sourceUrl", "plan"];
            let rest = members.iter().filter(|(name, value)| {
                !(named.contains(&name.as_str()) && !is_request(members) && !value.is_number())
            });
            Value::Object(
                rest.map(|(name, value)| (name.clone(), without_addresses(value))).collect(),
            )
        }
        Value::Array(values) => values.iter().map(without_addresses).collect(),
        other => other.clone(),
    }
}

/// Whether an object is a line of the list of requests, whose addresses are shown without their
/// queries.
fn is_request(members: &serde_json::Map<String, Value>) -> bool {
    members.contains_key("askedAt")
}

#[test]
fn secrets_are_in_no_page_no_answer_no_figure_no_error_and_no_log() {
    let folder = Folder::new();
    let with_query = format!("/offer?token={QUERY}");
    let host = plain("shop.test")
        .sitemap(sitemap(&[&with_query]))
        .says(Said::to("/about").body(hidden("About")).header(&format!("Set-Cookie: id={COOKIE}")))
        .says(Said::to(&with_query).body(hidden("Offer")))
        .says(Said::to(&format!("/no?token={QUERY}")).status(403).body(hidden("No")))
        .says(Said::to("/broken").status(500).body(Body::Text(format!("trace: {SAID}"))))
        .says(Said::to("/cut").body(hidden("Cut")).ending(Ending::Truncated))
        .says(Said::moved("/moved", 302, &with_query));
    let sites = serve(vec![host]);
    let life = Life::start(&folder);
    let service = &life.service;
    let with_password =
        page(&sites, "shop.test", "/").replace("http://", &format!("http://owner:{PASSWORD}@"));
    let callback = format!("http://hook.test:1/done?key={CALLBACK}");
    // A password in an address is refused, and not repeated.
    for wrong in [
        json!({"url": with_password}),
        json!({"mode": "user_assisted", "userUrls": [with_password]}),
    ] {
        let refused = service.post_with("/api/orbit/shop/ingest", &wrong, &[]).ends(422);
        assert_absent(&refused.body, &[PASSWORD], "a refusal");
    }
    let home = page(&sites, "shop.test", "/");
    let runs = [
        service.begin("shop", &json!({"url": format!("{home}?start={QUERY}"), "mode": "light", "callback": callback})),
        service.begin("shop", &json!({"mode": "user_assisted", "userUrls": [format!("{home}about"), page(&sites, "shop.test", &with_query)]})),
    ];
    let live: Vec<Answer> =
        runs.iter().map(|run| service.get(&format!("{run}/events")).ends(200)).collect();
    for run in &runs {
        service.wait_for_end(run);
    }
    let brought = format!("<title>Lucia</title><!-- {IMPORTED} --><script>'{IMPORTED}'</script>");
    let source =
        format!("X-Source-Url: https://shop.test/{IMPORTED}?key={QUERY}").replace(IMPORTED, "menu");
    service
        .post_bytes(
            "/api/orbit/shop/import",
            brought.as_bytes(),
            &["Content-Type: text/html", &source],
        )
        .ends(200);

    let never = [SAID, COOKIE, PASSWORD, CALLBACK, IMPORTED, TOKEN];
    for answer in &live {
        assert_absent(&answer.body, &never, "live progress");
        for (_, data) in answer.events() {
            assert_absent(
                &without_addresses(&data).to_string(),
                &[QUERY],
                "live progress but for addresses",
            );
        }
    }
    let mut seen = 0;
    for (target, answer) in everything_said(service, &runs) {
        assert_absent(&format!("{:?} {}", answer.headers, answer.body), &never, &target);
        if target == "/metrics" || answer.status >= 400 {
            assert_absent(&answer.body, &[QUERY, "shop.test"], &target);
        } else if answer.header("content-type") == Some("application/json")
            && target != "/openapi.json"
        {
            seen += usize::from(answer.body.contains(QUERY));
            assert_absent(&without_addresses(&answer.json()).to_string(), &[QUERY], &target);
        }
    }
    assert!(seen > 0, "the query was there to be found");

    // Messages about what was sent do not send it back.
    let orders = [
        json!({"url": format!("http://owner:{PASSWORD}@no host/")}),
        json!({"url": format!("ftp://owner:{PASSWORD}@shop.test/")}),
        json!({"mode": "user_assisted", "userUrls": [format!("http://owner:{PASSWORD}@/")]}),
        json!({"url": "http://shop.test/", "callback": format!("gopher://owner:{PASSWORD}@shop.test/")}),
    ];
    for order in orders {
        let answer = service.post("/api/orbit/shop/ingest", &order).ends(422);
        assert_absent(&answer.body, &[PASSWORD], "a refusal");
    }
    let wrong = [service.host(), format!("Authorization: Bearer {PASSWORD}")];
    let answer = send(service.address, "POST", "/api/health/checks", &wrong, b"").ends(401);
    assert_absent(&answer.body, &[PASSWORD], "a refusal");

    // The file: bodies are in the cache, addresses where pages are named, and nothing else.
    let db = folder.database();
    assert_eq!(places(&db, SAID), ["url_fetch_cache.content"]);
    for secret in [COOKIE, PASSWORD, IMPORTED, TOKEN] {
        assert_eq!(places(&db, secret), [""; 0], "{secret}");
    }
    let allowed = [
        "run_orders.plan",
        "run_orders.url",
        "run_orders.user_urls",
        "run_pages.evidence",
        "run_pages.final_url",
        "run_pages.url",
        "run_tiles.tile",
        "url_fetch_cache.content",
        "url_fetch_cache.headers",
        "url_fetch_cache.url",
    ];
    let named = places(&db, QUERY);
    assert!(named.iter().all(|place| allowed.contains(&place.as_str())), "{named:?}");
    assert_eq!(places(&db, CALLBACK), ["run_orders.callback"], "whom to tell");
    assert_absent(
        &life.said(),
        &[SAID, COOKIE, PASSWORD, QUERY, CALLBACK, IMPORTED, TOKEN],
        "the log",
    );
}
