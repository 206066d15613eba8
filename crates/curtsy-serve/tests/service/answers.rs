//! What every answer has in common, also where there is nothing to answer: strict headers, no
//! change by reading, nothing told of the house.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::client::{Answer, send, send_bytes};
use crate::kept::everything;
use crate::place::{Folder, NO_RUN, Service, TOKEN, spec};
use crate::sites::{asked, page, plain, serve};

#[test]
fn every_answer_has_strict_headers() {
    let folder = Folder::new();
    let sites = serve(vec![plain("shop.test")]);
    let service = Service::start(spec(folder.store()));
    let answer = service.ingest("shop", &json!({"url": page(&sites, "shop.test", "/")}));
    let trace = answer["evidence"]["traceId"].as_str().unwrap();
    let mut answers: Vec<(String, Answer)> = Vec::new();
    let mut gets = service.described(&["get"]);
    gets.extend([
        format!("/api/orbit/shop/runs/{trace}"),
        format!("/api/orbit/shop/runs/{trace}/events"),
    ]);
    gets.extend(
        [
            "/",
            "/orbit/shop/import",
            "/domains/shop.test",
            "/admin/orbits/health",
            "/login",
            "/nowhere",
            "/api/nowhere",
        ]
        .map(str::to_owned),
    );
    gets.extend(
        [
            "/assets/style.css",
            "/assets/nothing",
            "/api/orbit/%ff/runs",
            "/api/orbit/SHOP/runs",
            "/orbit/shop/ingest",
        ]
        .map(str::to_owned),
    );
    gets.push(format!("/orbit/shop/runs/{trace}"));
    for target in gets {
        for method in ["GET", "HEAD"] {
            let answer = send(service.address, method, &target, &[service.host()], b"");
            answers.push((format!("{method} {target}"), answer));
        }
    }
    let large = vec![b' '; 70_000];
    answers.push((
        "a long body".to_owned(),
        service.post_bytes("/api/orbit/shop/ingest", &large, &["Content-Type: application/json"]),
    ));
    answers.push((
        "a wrong host".to_owned(),
        send(service.address, "GET", "/", &["Host: x".to_owned()], b""),
    ));
    answers.push((
        "no token".to_owned(),
        send(service.address, "POST", "/api/health/checks", &[service.host()], b""),
    ));
    answers.push((
        "another site".to_owned(),
        service.post_with("/api/health/checks", &json!({}), &["Origin: http://x"]),
    ));
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"] {
        answers.push((
            method.to_owned(),
            send(service.address, method, "/api/orbit/shop/runs", &[service.host()], b""),
        ));
    }
    let statuses: BTreeSet<u16> = answers.iter().map(|(_, answer)| answer.status).collect();
    assert!(
        [200, 400, 401, 403, 404, 405, 413, 421].iter().all(|status| statuses.contains(status)),
        "{statuses:?}"
    );
    for (what, answer) in answers {
        let csp = answer
            .header("content-security-policy")
            .unwrap_or_else(|| panic!("{what}: {answer:?}"));
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'self'",
        ] {
            assert!(csp.contains(part), "{what}: {csp}");
        }
        assert!(!csp.contains("unsafe"), "{what}: {csp}");
        let wanted = [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ];
        for (name, value) in wanted {
            assert_eq!(answer.header(name), Some(value), "{what}: {name}");
        }
        assert!(answer.header("cache-control").is_some(), "{what}");
        let sharing = answer.headers.iter().any(|(name, _)| name.starts_with("access-control-"));
        assert!(!sharing, "{what}: other sites may read it");
    }
}

#[test]
fn reading_changes_nothing() {
    let folder = Folder::new();
    let sites = serve(vec![plain("shop.test")]);
    let service = Service::start(spec(folder.store()));
    let answer = service.ingest("shop", &json!({"url": page(&sites, "shop.test", "/")}));
    let trace = answer["evidence"]["traceId"].as_str().unwrap();
    let (before, asked_before) = (everything(&folder), asked(&sites, "shop.test"));
    let mut gets = service.described(&["get"]);
    let with_run: Vec<String> = gets.iter().map(|path| path.replace(NO_RUN, trace)).collect();
    gets.extend(with_run);
    gets.extend(
        [
            "/",
            "/orbit/shop/import?url=http://shop.test/&mode=user_assisted&tab=manual",
            "/domains/shop.test",
            "/admin/orbits/health",
            "/login",
        ]
        .map(str::to_owned),
    );
    gets.push(format!("/orbit/shop/runs/{trace}"));
    for target in &gets {
        for method in ["GET", "HEAD"] {
            // With the token too: it gives no GET the right to change anything.
            let headers = [service.host(), format!("Authorization: Bearer {TOKEN}")];
            let answer = send(service.address, method, target, &headers, b"");
            assert!(answer.status < 500, "{method} {target}: {}", answer.body);
        }
    }
    // Nor does a body or a header make a POST of it.
    for line in ["X-HTTP-Method-Override: POST", "X-HTTP-Method: POST", "X-Method-Override: POST"] {
        let headers = [
            service.host(),
            format!("Authorization: Bearer {TOKEN}"),
            line.to_owned(),
            "Content-Type: application/json".to_owned(),
        ];
        let order = json!({"url": page(&sites, "shop.test", "/")}).to_string();
        send(
            service.address,
            "GET",
            "/api/orbit/shop/ingest?_method=POST",
            &headers,
            order.as_bytes(),
        )
        .ends(405);
    }
    assert_eq!(everything(&folder), before);
    assert_eq!(asked(&sites, "shop.test"), asked_before);
}

#[test]
fn a_request_that_is_none_harms_nobody() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let host = service.host();
    let long = "a".repeat(1 << 20);
    let many: String = (0..500).map(|n| format!("X-{n}: y\r\n")).collect();
    let cases: [(&str, String); 8] = [
        ("a header of 1 MiB", format!("GET /healthz HTTP/1.1\r\n{host}\r\nX-Long: {long}\r\n\r\n")),
        ("a target of 1 MiB", format!("GET /{long} HTTP/1.1\r\n{host}\r\n\r\n")),
        ("five hundred headers", format!("GET /healthz HTTP/1.1\r\n{host}\r\n{many}\r\n")),
        (
            "two lengths",
            format!(
                "POST /api/health/checks HTTP/1.1\r\n{host}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"
            ),
        ),
        (
            "a negative length",
            format!("POST /api/health/checks HTTP/1.1\r\n{host}\r\nContent-Length: -1\r\n\r\n"),
        ),
        (
            "length and chunks",
            format!(
                "POST /api/health/checks HTTP/1.1\r\n{host}\r\nConnection: close\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            ),
        ),
        ("no version", "GET /healthz\r\n\r\n".to_owned()),
        ("a broken line", "GET\0/ HTTP/1.1\r\n\r\n".to_owned()),
    ];
    for (what, request) in cases {
        let answer = send_bytes(service.address, request.as_bytes());
        assert!((400..500).contains(&answer.status), "{what}: {}", answer.status);
        service.get("/healthz").ends(200);
    }
}

/// The whole of an answer, to be looked through.
pub(crate) fn all_of(answer: &Answer) -> String {
    format!("{:?}\n{}", answer.headers, answer.body)
}

#[test]
fn errors_tell_nothing_of_the_house() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let path = folder.0.to_str().unwrap();
    for target in [
        "/api/nowhere",
        "/nowhere",
        "/api/orbit/%ff/runs",
        "/api/domains/x",
        "/metrics",
        "/api/health/checks",
    ] {
        let answer = service.get(target);
        for told in [path, "service.db", "sqlite", "panicked", "src/", TOKEN] {
            assert!(!all_of(&answer).contains(told), "{target} tells of {told}: {}", answer.body);
        }
        assert!(answer.header("server").is_none());
    }
    let checks: Value = service.get("/api/health/checks").json();
    assert_eq!(checks["checks"].as_array().unwrap().len(), 9);
}
