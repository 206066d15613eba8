//! What is not done, and what is said about it.

use serde_json::{Value, json};

use crate::client::Answer;
use crate::place::{Folder, Service, spec};

/// Fails unless the answer is this refusal.
#[track_caller]
fn assert_refused(answer: &Answer, status: u16, code: &str, message: &str) {
    assert_eq!(answer.status, status, "{}", answer.body);
    let body = answer.json();
    assert_eq!(body["success"], false, "{body}");
    assert_eq!(body["error"]["code"], code, "{body}");
    assert_eq!(body["error"]["message"], message);
}

#[test]
fn an_order_that_cant_be_carried_out_is_refused_with_what_would_do() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let many: Vec<String> = (0..51).map(|n| format!("http://shop.test/{n}")).collect();
    let long = format!("http://shop.test/{}", "a".repeat(2_083));
    let url = "http://shop.test/";
    let cases: [(Value, &str); 19] = [
        (
            json!({"url": url, "depth": 3}),
            "unknown field `depth`, expected one of `url`, `mode`, `userUrls`, `callback` at line 1 column 8",
        ),
        (
            json!({"url": url, "userurls": []}),
            "unknown field `userurls`, expected one of `url`, `mode`, `userUrls`, `callback` at line 1 column 37",
        ),
        (json!({"url": 7}), "invalid type: integer `7`, expected a string at line 1 column 8"),
        (json!({"url": null}), "invalid type: null, expected a string at line 1 column 11"),
        (
            json!({"url": url, "userUrls": url}),
            "invalid type: string \"http://shop.test/\", expected a sequence at line 1 column 57",
        ),
        (json!([url]), "invalid type: sequence, expected an object at line 1 column 0"),
        (json!("light"), "invalid type: string \"light\", expected an object at line 1 column 7"),
        (
            json!({"url": url, "mode": "deep"}),
            "`mode` is `deep`, which is none of `light`, `standard`, `user_assisted`",
        ),
        (
            json!({"url": url, "mode": "LIGHT"}),
            "`mode` is `LIGHT`, which is none of `light`, `standard`, `user_assisted`",
        ),
        (
            json!({"url": url, "mode": "light", "userUrls": [url]}),
            "`userUrls` belongs to the mode `user_assisted`; the others choose pages by themselves",
        ),
        (
            json!({"url": url, "userUrls": [url]}),
            "`userUrls` belongs to the mode `user_assisted`; the others choose pages by themselves",
        ),
        (
            json!({"url": url, "mode": "user_assisted"}),
            "`userUrls` is empty: the mode `user_assisted` fetches just the pages that are named there",
        ),
        (
            json!({"url": url, "mode": "user_assisted", "userUrls": many}),
            "`userUrls` has 51 addresses, and 50 are the most",
        ),
        (
            json!({"url": url, "mode": "user_assisted", "userUrls": [url, "ftp://shop.test/"]}),
            "`userUrls`: `ftp://shop.test/` is no URL that can be crawled: scheme `ftp` can't be crawled",
        ),
        (json!({}), "`url`: `` is no URL that can be crawled: not a URL: empty host"),
        (json!({"url": ""}), "`url`: `` is no URL that can be crawled: not a URL: empty host"),
        (
            json!({"url": "http://"}),
            "`url`: `http://` is no URL that can be crawled: not a URL: empty host",
        ),
        (
            json!({"url": "file:///etc/passwd"}),
            "`url`: `file:///etc/passwd` is no URL that can be crawled: scheme `file` can't be crawled",
        ),
        (json!({"url": long}), "`url`: an address of 2100 bytes; 2083 are the most"),
    ];
    for (order, message) in cases {
        for call in ["ingest", "plan"] {
            let answer = service.post(&format!("/api/orbit/shop/{call}"), &order);
            assert_refused(&answer, 422, "unprocessable", message);
        }
    }
    let list = service.get("/api/orbit/shop/runs").json();
    assert_eq!(list, json!({"runs": []}), "nothing was begun");
}

#[test]
fn a_body_must_be_json_and_say_so() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let ingest =
        |body: &[u8], headers: &[&str]| service.post_bytes("/api/orbit/shop/ingest", body, headers);
    let json = "Content-Type: application/json";
    let unreadable = |body: &[u8], why: &str| {
        assert_refused(
            &ingest(body, &[json]),
            400,
            "bad_request",
            &format!("the body is not JSON: {why}"),
        );
    };
    unreadable(b"", "EOF while parsing a value at line 1 column 0");
    unreadable(b"{\"url\":", "EOF while parsing a value at line 1 column 7");
    unreadable(b"url=http://shop.test/", "expected value at line 1 column 1");
    unreadable(b"{\"url\":\"\xff\"}", "invalid unicode code point at line 1 column 9");
    unreadable(b"{} {}", "trailing characters at line 1 column 4");

    let order = br#"{"url":"http://shop.test/"}"#;
    let wrong = "the body must be `Content-Type: application/json`";
    let kinds = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonx",
        "",
    ];
    for kind in kinds {
        let answer = ingest(order, &[&format!("Content-Type: {kind}")]);
        assert_refused(&answer, 415, "unsupported_media_type", wrong);
    }
    assert_refused(&ingest(order, &[]), 415, "unsupported_media_type", wrong);
    let packed = "packed bodies are not read: leave `Content-Encoding` out";
    for coding in ["gzip", "br", "identity"] {
        let answer = ingest(order, &[json, &format!("Content-Encoding: {coding}")]);
        assert_refused(&answer, 415, "unsupported_media_type", packed);
    }
    let large = vec![b' '; 64 * 1024 + 1];
    let message = "the body is longer than 65536 bytes, which is the most";
    assert_refused(&ingest(&large, &[json]), 413, "too_large", message);
}

#[test]
fn what_belongs_to_a_run_is_no_part_of_a_plan() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let named = json!({"mode": "user_assisted", "userUrls": ["http://shop.test/"]});
    let called = json!({"url": "http://shop.test/", "callback": "http://hook.test/"});
    for (order, message) in [
        (named, "`user_assisted` has no plan: it fetches the pages that you name"),
        (called, "`callback` belongs to a run: nobody is told of a plan"),
    ] {
        let answer = service.post("/api/orbit/shop/plan", &order);
        assert_refused(&answer, 422, "unprocessable", message);
    }
}

#[test]
fn what_is_not_there_is_not_found() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let trace = "0".repeat(32);
    for rest in ["", "/evidence", "/tiles", "/events"] {
        let answer = service.get(&format!("/api/orbit/shop/runs/{trace}{rest}"));
        assert_refused(&answer, 404, "not_found", "there is no such run");
    }
    let cancel = service.post(&format!("/api/orbit/shop/runs/{trace}/cancel"), &json!({}));
    assert_refused(&cancel, 404, "not_found", "there is no such run");
    for host in ["shop.test", "no%20host", "..", "%5B::1%5D", "127.0.0.1", &"0".repeat(254)] {
        let answer = service.get(&format!("/api/domains/{host}"));
        assert_refused(&answer, 404, "not_found", "there is no such host");
    }
}

#[test]
fn a_method_that_a_path_lacks_is_refused_with_those_that_it_has() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let message = "this path has no such method: the header `Allow` names those that it has";
    let answer = service.get("/api/orbit/shop/ingest");
    assert_refused(&answer, 405, "method_not_allowed", message);
    assert_eq!(answer.header("allow"), Some("POST"));
    let answer = service.post("/api/orbit/shop/runs", &json!({}));
    assert_refused(&answer, 405, "method_not_allowed", message);
    assert_eq!(answer.header("allow"), Some("GET,HEAD"));
}
