//! Who may change something, and who is turned away at the door.

use serde_json::json;

use crate::client::send;
use crate::kept::places;
use crate::place::{Folder, Service, TOKEN, spec};

/// Forms of the pages: whatever of them changes something.
const FORMS: [&str; 6] = [
    "/orbit/shop/ingest",
    "/orbit/shop/plan",
    "/orbit/shop/import",
    "/orbit/shop/runs/00000000000000000000000000000000/cancel",
    "/admin/orbits/health",
    "/logout",
];

#[test]
fn nothing_is_changed_without_the_token() {
    let wrong = "f".repeat(32);
    // Base64 of `token:0123…`.
    let basic = "Authorization: Basic dG9rZW46MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
    let cases: [(&str, Vec<String>); 9] = [
        ("", vec![]),
        ("", vec![format!("Authorization: Bearer {wrong}")]),
        ("", vec!["Authorization: Bearer".to_owned()]),
        ("", vec!["Authorization: Bearer ".to_owned()]),
        ("", vec![format!("Authorization: Token {TOKEN}")]),
        ("", vec![basic.to_owned()]),
        (
            "",
            vec![
                format!("Authorization: Bearer {wrong}"),
                format!("Authorization: Bearer {TOKEN}"),
            ],
        ),
        ("", vec![format!("Cookie: curtsy_session={TOKEN}"), format!("X-Csrf-Token: {TOKEN}")]),
        (&format!("?token={TOKEN}&access_token={TOKEN}&authorization=Bearer%20{TOKEN}"), vec![]),
    ];
    for (query, headers) in cases {
        // A service for each: whoever guesses too often is not heard any more.
        let folder = Folder::new();
        let service = Service::start(spec(folder.store()));
        let mut changing = service.described(&["post", "put", "patch", "delete"]);
        assert_eq!(changing.len(), 5, "{changing:?}");
        changing.extend(FORMS.map(str::to_owned));
        for path in changing {
            let kind = match path.starts_with("/api/") {
                true => "Content-Type: application/json",
                false => "Content-Type: application/x-www-form-urlencoded",
            };
            let mut all = vec![service.host(), kind.to_owned()];
            all.extend(headers.iter().cloned());
            let body = match path.starts_with("/api/") {
                true => r#"{"url":"http://shop.test/"}"#,
                false => "url=http%3A%2F%2Fshop.test%2F&mode=light&text=hello",
            };
            let answer =
                send(service.address, "POST", &format!("{path}{query}"), &all, body.as_bytes());
            assert_eq!(answer.status, 401, "{path}{query} {headers:?}: {}", answer.body);
            if path.starts_with("/api/") {
                assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
                assert_eq!(answer.json()["error"]["code"], "unauthorized");
            }
        }
        assert_eq!(service.run_count("shop"), 0, "{headers:?}");
    }
}

#[test]
fn the_token_is_taken_however_its_scheme_is_spelt() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let headers = [service.host(), format!("Authorization: {scheme} {TOKEN}")];
        send(service.address, "POST", "/api/health/checks", &headers, b"").ends(202);
    }
}

#[test]
fn a_foreign_host_is_turned_away() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let port = service.address.port();
    let ask =
        |host: &str| send(service.address, "GET", "/healthz", &[format!("Host: {host}")], b"");
    let own = [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("LocalHost:{port}"),
        format!("[::1]:{port}"),
    ];
    for host in own.iter().map(String::as_str).chain(["ingest.example", "INGEST.Example"]) {
        ask(host).ends(200);
    }
    let foreign = [
        "example.org".to_owned(),
        format!("example.org:{port}"),
        "127.0.0.1".to_owned(),
        "localhost".to_owned(),
        format!("127.0.0.1:{}", port ^ 1),
        format!("127.0.0.2:{port}"),
        format!("0.0.0.0:{port}"),
        format!("127.1:{port}"),
        format!("localhost.:{port}"),
        format!("localhost.example.org:{port}"),
        "ingest.example.".to_owned(),
        "ingest.example:80".to_owned(),
        "x.ingest.example".to_owned(),
        format!("127.0.0.1:{port}@example.org"),
        format!("example.org@127.0.0.1:{port}"),
        format!("127.0.0.1:{port}, example.org"),
        String::new(),
        "\u{e4}.example".to_owned(),
    ];
    for host in foreign {
        let answer = ask(&host);
        // What is no name of a host at all is refused before it comes to us.
        assert!(matches!(answer.status, 421 | 400), "{host}: {} {}", answer.status, answer.body);
        if answer.status == 421 {
            assert_eq!(answer.json()["error"]["code"], "wrong_host");
        }
    }
    let two = send(service.address, "GET", "/healthz", &[service.host(), service.host()], b"");
    assert!(matches!(two.status, 421 | 400), "{}", two.status);
    let none = send(service.address, "GET", "/healthz", &[], b"");
    assert!(matches!(none.status, 421 | 400), "{}", none.status);
    // A target that is a whole URL says whom it is meant for.
    let whole = |target: &str| send(service.address, "GET", target, &[service.host()], b"");
    whole("http://example.org/healthz").ends(421);
    whole(&format!("http://{}/healthz", service.address)).ends(200);
    // Nobody but `Host` is asked.
    let forwarded =
        ["Host: example.org".to_owned(), format!("X-Forwarded-Host: {}", service.address)];
    send(service.address, "GET", "/healthz", &forwarded, b"").ends(421);
}

/// Fails unless somebody is turned away with a page that says why.
#[track_caller]
fn assert_page(answer: &crate::client::Answer, status: u16, says: &str) {
    assert_eq!(answer.status, status, "{}", answer.body);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(answer.header("content-security-policy").is_some());
    assert!(answer.body.contains(says), "{}", answer.body);
}

#[test]
fn a_person_is_turned_away_with_a_page() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    for path in ["/", "/orbit/shop/import", "/admin/orbits/health", "/nowhere"] {
        let host = ["Host: example.org".to_owned()];
        let answer = send(service.address, "GET", path, &host, b"");
        assert_page(&answer, 421, "is not a name of this service");
    }
    let foreign = [service.host(), "Origin: http://example.org".to_owned()];
    for path in FORMS {
        let answer = send(service.address, "POST", path, &foreign, b"");
        assert_page(&answer, 403, "comes from a page of another site");
    }
    // Whoever guesses too often.
    let guess = || send(service.address, "GET", "/login?code=x", &[service.host()], b"");
    let refused = (0..1_000).map(|_| guess()).find(|answer| answer.status != 401);
    let refused = refused.expect("a limit");
    assert_page(&refused, 429, "Too many requests from this address");
    assert_eq!(refused.header("retry-after"), Some("60"));
    let metrics = service.get("/metrics").ends(429);
    assert_eq!(metrics.json()["error"]["code"], "too_many_requests");
}

#[test]
fn another_sites_page_changes_nothing() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let port = service.address.port();
    // Even with the token: a browser was made to send it.
    let call = |lines: &[&str]| service.post_with("/api/health/checks", &json!({}), lines);
    let foreign = [
        "Origin: http://example.org".to_owned(),
        format!("Origin: http://127.0.0.1:{}", port ^ 1),
        "Origin: http://127.0.0.1".to_owned(),
        "Origin: null".to_owned(),
        "Origin: ".to_owned(),
        format!("Origin: ftp://127.0.0.1:{port}"),
        format!("Origin: http://127.0.0.1:{port}.example.org"),
        // Ours, but not the one that was asked.
        format!("Origin: http://localhost:{port}"),
        "Sec-Fetch-Site: cross-site".to_owned(),
        "Sec-Fetch-Site: same-site".to_owned(),
        "Sec-Fetch-Site: whatever".to_owned(),
    ];
    for line in &foreign {
        let answer = call(&[line]).ends(403).json();
        assert_eq!(
            answer["error"]["message"], "this request comes from a page of another site",
            "{line}"
        );
    }
    let own = format!("Origin: http://{}", service.address);
    call(&[&format!("Origin: http://example.org\r\n{own}")]).ends(403);
    call(&[&own, "Sec-Fetch-Site: cross-site"]).ends(403);
    call(&[&own, "Sec-Fetch-Site: same-origin"]).ends(202);
    call(&["Sec-Fetch-Site: none"]).ends(202);
}

#[test]
fn off_loopback_reading_needs_the_token_too() {
    let folder = Folder::new();
    let mut spec = spec(folder.store());
    spec.bind = "0.0.0.0:0".parse().unwrap();
    let service = Service::start(spec);
    let address = ([127, 0, 0, 1], service.address.port()).into();
    let host = format!("Host: {address}");
    let ask = |target: &str, more: &[String]| {
        send(address, "GET", target, &[std::slice::from_ref(&host), more].concat(), b"")
    };
    for open in ["/healthz", "/login", "/assets/style.css"] {
        ask(open, &[]).ends(200);
    }
    let token = [format!("Authorization: Bearer {TOKEN}")];
    for closed in ["/api/orbit/shop/runs", "/api/health/checks", "/metrics", "/openapi.json"] {
        ask(closed, &[]).ends(401);
        ask(closed, &token).ends(200);
    }
    for closed in ["/", "/orbit/shop/import", "/admin/orbits/health", "/nowhere"] {
        let answer = ask(closed, &[]).ends(303);
        assert_eq!(answer.header("location"), Some("/login"), "{closed}");
    }
    ask("/", &token).ends(200);
}

#[test]
fn a_token_is_made_once_and_can_be_made_anew() {
    let folder = Folder::new();
    let with_own = || {
        let mut spec = spec(folder.store());
        spec.token = None;
        spec
    };
    let call = |service: &Service, token: &str| {
        let headers = [service.host(), format!("Authorization: Bearer {token}")];
        send(service.address, "POST", "/api/health/checks", &headers, b"").status
    };
    let mut first = Service::start(with_own());
    let token = first.new_token.clone().expect("the first start shows it");
    assert_eq!((token.len(), call(&first, &token)), (64, 202));
    assert_eq!(places(&folder.database(), &token), [""; 0], "only its hash is kept");
    first.end();
    let mut second = Service::start(with_own());
    assert_eq!((second.new_token.clone(), call(&second, &token)), (None, 202));
    second.end();
    let newer = curtsy_serve::rotate_token(&folder.store()).unwrap();
    let third = Service::start(with_own());
    assert_eq!((call(&third, &token), call(&third, &newer)), (401, 202));
}
