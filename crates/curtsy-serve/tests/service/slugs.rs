//! Names in paths: whatever is no slug and no run leads nowhere.

use serde_json::json;

use crate::client::send;
use crate::place::{Folder, NO_RUN, Service, TOKEN, spec};

/// Texts that are no slugs, as they stand in a path.
fn no_slugs() -> Vec<String> {
    let plain = [
        "..",
        ".",
        "%2e%2e",
        "%2E%2E%2f%2E%2E",
        "..%2f..%2fetc%2fpasswd",
        "..%5c..",
        "a%2fb",
        "a%5cb",
        "%00",
        "a%00",
        "a%00b",
        "%0a",
        "a%0d%0ab",
        "A",
        "Shop",
        "sHop",
        "-a",
        "a-",
        "-",
        "a_b",
        "a.b",
        "a%20b",
        "%20",
        "a%09",
        "a~b",
        "a'b",
        "a%22b",
        "a;b",
        "a%3bb",
        "%27%20OR%201=1--",
        "%3Cscript%3E",
        "%C3%A4",
        "%E2%80%8B",
        "%EF%BC%A1",
        "a%CC%88",
        "%F0%9F%92%A9",
        "%E2%80%AEa",
        "%ff",
        "%c0%ae%c0%ae",
        "%ed%a0%80",
        "%25",
        "%252e%252e",
        "%7B%7D",
    ];
    let mut all: Vec<String> = plain.map(str::to_owned).to_vec();
    all.extend([65, 100, 10_000].map(|length| "a".repeat(length)));
    all
}

#[test]
fn what_is_no_slug_is_refused_on_every_path() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let rest = [
        "runs",
        &format!("runs/{NO_RUN}"),
        &format!("runs/{NO_RUN}/evidence"),
        &format!("runs/{NO_RUN}/tiles"),
        &format!("runs/{NO_RUN}/events"),
    ];
    for slug in no_slugs() {
        for rest in rest {
            let answer = service.get(&format!("/api/orbit/{slug}/{rest}"));
            assert_eq!(answer.status, 400, "{slug}/{rest}: {}", answer.body);
            assert_eq!(answer.json()["error"]["code"], "bad_request");
            assert!(answer.body.len() < 400, "what was sent is not sent back: {}", answer.body);
        }
        for page in [format!("/orbit/{slug}/import"), format!("/orbit/{slug}/runs/{NO_RUN}")] {
            let answer = service.get(&page);
            assert!(matches!(answer.status, 400 | 404), "{page}: {}", answer.status);
        }
    }
    // Half of them: only so many changes may be made in a minute.
    for slug in no_slugs().iter().step_by(2) {
        for call in ["ingest", "plan", "import", &format!("runs/{NO_RUN}/cancel")] {
            let order = json!({"url": "http://shop.test/"});
            let answer = service.post(&format!("/api/orbit/{slug}/{call}"), &order);
            assert_eq!(answer.status, 400, "{slug}/{call}: {}", answer.body);
        }
    }
    let count: i64 = folder
        .database()
        .query_row("SELECT count(*) FROM ingestion_runs", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 0);
}

#[test]
fn a_slug_may_be_spelt_with_percent_signs_but_means_the_same() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    for slug in ["a", "7", "trattoria-lucia", &"x".repeat(64), "%61", "%74rattoria"] {
        service.get(&format!("/api/orbit/{slug}/runs")).ends(200);
    }
}

#[test]
fn what_is_no_run_is_not_found() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let (short, long, upper) = ("0".repeat(31), "0".repeat(33), "ABCDEF01".repeat(4));
    let huge = "0".repeat(10_000);
    let names = [
        "..",
        "%2e%2e",
        "%00",
        "x",
        "%27%20OR%20%271%27=%271",
        "%E2%80%8B",
        "%25",
        &"g".repeat(32),
        &short,
        &long,
        &upper,
        &huge,
    ];
    for name in names {
        for rest in ["", "/evidence", "/tiles", "/events"] {
            let answer = service.get(&format!("/api/orbit/shop/runs/{name}{rest}"));
            assert_eq!(answer.status, 404, "{name}{rest}: {}", answer.body);
            assert_eq!(answer.json()["error"]["code"], "not_found");
        }
        assert!(matches!(service.get(&format!("/orbit/shop/runs/{name}")).status, 404));
        service.post(&format!("/api/orbit/shop/runs/{name}/cancel"), &json!({})).ends(404);
    }
    service.get("/api/orbit/shop/runs/%ff").ends(400);
}

#[test]
fn paths_beside_the_table_lead_nowhere() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let targets = [
        "/api",
        "/api/",
        "/api/orbit",
        "/api/orbit/",
        "/api/orbit//runs",
        "/api/orbit/shop",
        "/api/orbit/shop/",
        "/api/orbit/shop/runs/",
        "//api/orbit/shop/runs",
        "/api/orbit/shop//runs",
        "/API/orbit/shop/runs",
        "/api/orbit/shop/runs.json",
        "/api/orbit/shop/runs;x",
        "/api%2Forbit/shop/runs",
        "/./api/orbit/shop/runs",
        "/x/../api/orbit/shop/runs",
        "/assets/../Cargo.toml",
        "/assets/%2e%2e/%2e%2e/Cargo.toml",
        "/assets/..%2f..%2fCargo.toml",
        "/assets/%2Fetc%2Fpasswd",
        "/assets/style.css%00.png",
        "/.git/config",
        "/service.db",
        "/metrics/",
        "/healthz/x",
    ];
    for target in targets {
        let answer = service.get(target);
        assert!(matches!(answer.status, 400 | 404), "{target}: {} {}", answer.status, answer.body);
        assert!(!answer.body.contains("[package]") && !answer.body.contains("root:"), "{target}");
    }
    // No method is another one.
    for method in ["get", "Post", "TRACE", "CONNECT", "BREW"] {
        let headers = [service.host(), format!("Authorization: Bearer {TOKEN}")];
        let answer = send(service.address, method, "/api/health/checks", &headers, b"");
        assert!(matches!(answer.status, 400 | 405), "{method}: {}", answer.status);
    }
}
