//! What a person brings by hand: tiles without a request.

use serde_json::{Value, json};

use crate::place::{Folder, Service, spec};

const HTML: &str = "<title>Lucia</title><h1>Trattoria Lucia</h1><p>Call <a href='tel:+493012345678'>030 12345678</a></p>";

fn service() -> (Folder, Service) {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    (folder, service)
}

#[test]
fn a_page_becomes_a_run_with_tiles_and_nothing_is_fetched() {
    let (_folder, service) = service();
    let headers =
        ["Content-Type: text/html; charset=utf-8", "X-Source-Url: https://lucia.test/contact"];
    let answer =
        service.post_bytes("/api/orbit/lucia/import", HTML.as_bytes(), &headers).ends(200).json();
    assert_eq!(answer["success"], true);
    let tiles = answer["tiles"].as_array().unwrap();
    let phone = tiles
        .iter()
        .find(|tile| tile["phone"] == "+493012345678")
        .unwrap_or_else(|| panic!("{tiles:?}"));
    assert_eq!(phone["sourceUrl"], "https://lucia.test/contact");
    let ingest = &answer["evidence"]["nm_ingest"];
    assert_eq!((&ingest["mode"], &ingest["outcome"]), (&json!("user_assisted"), &json!("success")));
    let figures = ["pagesPlanned", "pagesFetched", "pagesUsed", "cacheHits", "cacheMisses"]
        .map(|name| &ingest[name]);
    assert_eq!(figures, [&json!(1), &json!(0), &json!(1), &json!(0), &json!(0)]);
    let kept = service.evidence("lucia", &answer);
    assert_eq!(kept["requests"], json!([]));
    let list = service.get("/api/orbit/lucia/runs").json();
    assert_eq!(list["runs"][0]["url"], "https://lucia.test/contact");
}

#[test]
fn a_text_can_be_brought_too() {
    let (_folder, service) = service();
    let text = "Trattoria Lucia\nCall us: +49 30 12345678\n";
    let answer = service
        .post_bytes("/api/orbit/lucia/import", text.as_bytes(), &["Content-Type: text/plain"])
        .ends(200)
        .json();
    let tiles = answer["tiles"].as_array().unwrap();
    assert!(tiles.iter().any(|tile| tile["phone"] == "+493012345678"), "{tiles:?}");
}

#[test]
fn what_is_no_page_is_refused() {
    let (_folder, service) = service();
    let import = |body: &[u8], headers: &[&str]| {
        service.post_bytes("/api/orbit/lucia/import", body, headers)
    };
    let code = |answer: Value| answer["error"]["code"].as_str().unwrap().to_owned();
    for kind in
        ["application/json", "application/pdf", "image/png", "multipart/form-data; boundary=x"]
    {
        let answer = import(b"x", &[&format!("Content-Type: {kind}")]).ends(415);
        assert_eq!(code(answer.json()), "unsupported_media_type");
    }
    assert_eq!(
        code(
            import(HTML.as_bytes(), &["Content-Type: text/html", "Content-Encoding: gzip"])
                .ends(415)
                .json()
        ),
        "unsupported_media_type"
    );
    for nothing in [&b""[..], b" \r\n\t "] {
        let answer = import(nothing, &["Content-Type: text/html"]).ends(422).json();
        assert_eq!(answer["error"]["message"], "there is nothing to import");
    }
    let long = format!("http://lucia.test/{}", "a".repeat(2_083));
    for source in [&long, "ftp://lucia.test/", "javascript:alert(1)", "http://", "//"] {
        let answer = import(
            HTML.as_bytes(),
            &["Content-Type: text/html", &format!("X-Source-Url: {source}")],
        )
        .ends(422);
        assert_eq!(code(answer.json()), "unprocessable", "{source}");
    }
    let large = vec![b'a'; 4 * 1024 * 1024 + 1];
    assert_eq!(code(import(&large, &["Content-Type: text/html"]).ends(413).json()), "too_large");
    import(&large[1..], &["Content-Type: text/html"]).ends(200);
}
