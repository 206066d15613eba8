//! Content handling: size, types, compression.

use curtsy_lab::sites::{Answer, Body, Coding, Host, PageParts, Scene};
use serde_json::{Value as Json, json};

use crate::harness::{QUICK, Town, list};
use crate::raw::Raw;

fn town(host: Host) -> Town {
    Town::new(Scene { seed: 1, hosts: vec![host], ..Scene::default() }, QUICK)
}

fn page_of(bytes: u32) -> Body {
    Body::Page(PageParts { bytes, ..PageParts::default() })
}

/// "Default max: 10MB (`max_response_bytes`)", "Responses exceeding limit: marked as error, body
/// discarded": as it is after unpacking.
#[test]
fn a_response_that_is_too_large_is_an_error_without_a_body() {
    let host = Host::named("h.test")
        .pages(1, 1, 500)
        .says_unlinked(Answer::to("/small").body(page_of(3_000)))
        .says_unlinked(Answer::to("/large").body(page_of(5_000)))
        .says_unlinked(Answer::to("/packed").body(page_of(50_000)).coding(Coding::Gzip))
        .says_unlinked(Answer::to("/huge").body(page_of(10 * 1024 * 1024 + 1)));
    let mut town = town(host);
    let duck = town.duck();
    let urls = ["/small", "/large", "/packed"].map(|path| town.url(0, path));
    duck.crawl(&list(&urls), "max_response_bytes 4096");
    let told = "SELECT http_status, body IS NULL, error FROM pages ORDER BY url";
    let too_large = json!([200, true, "over_limit"]);
    assert_eq!(json!(duck.rows(told)), json!([too_large, too_large, [200, false, null]]));
    duck.run("DROP TABLE pages");
    duck.crawl(&list([town.url(0, "/large"), town.url(0, "/huge")]), "");
    assert_eq!(json!(duck.rows(told)), json!([too_large, [200, false, null]]), "10 MiB by default");
    // The error was not retried.
    assert_eq!(town.asked(0).iter().filter(|path| *path == "/huge").count(), 1);
    town.assert_clean();
}

/// "`accept_content_types`: whitelist (supports wildcards like `text/*`)", "`reject_content_types`:
/// blacklist (checked after accept)", "Rejected responses: marked as error, body discarded",
/// "Content-type rejection: skip".
#[test]
fn content_types_are_filtered() {
    let says = |path: &str, kind: &str| {
        let mut answer = Answer::to(path).body(Body::Text("{}".to_owned()));
        answer.content_type = Some(kind.to_owned());
        answer
    };
    let host = Host::named("h.test")
        .pages(1, 1, 500)
        .says_unlinked(says("/html", "text/html; charset=utf-8"))
        .says_unlinked(says("/json", "application/json"))
        .says_unlinked(says("/plain", "text/plain"))
        .says_unlinked(says("/png", "image/png"));
    let mut town = town(host);
    let duck = town.duck();
    let urls = list(["/html", "/json", "/plain", "/png"].map(|path| town.url(0, path)));
    let kept = |options: &str| {
        duck.run("DROP TABLE IF EXISTS pages");
        duck.crawl(&urls, options);
        let wrong = "SELECT count(*) FROM pages WHERE (body IS NULL) <> (error IS NOT NULL) OR error <> 'content_type'";
        assert_eq!(duck.number(wrong), 0, "{options}");
        assert_eq!(duck.number("SELECT count(*) FROM pages WHERE http_status = 200"), 4);
        duck.texts(
            "SELECT regexp_extract(url, '[a-z]+$') FROM pages WHERE body IS NOT NULL ORDER BY url",
        )
    };
    assert_eq!(kept(""), ["html", "json", "plain", "png"]);
    assert_eq!(kept("accept_content_types 'text/*'"), ["html", "plain"]);
    assert_eq!(
        kept("accept_content_types 'text/*, application/json', reject_content_types 'text/plain'"),
        ["html", "json"]
    );
    assert_eq!(kept("accept_content_types ['text/*'], reject_content_types ['text/*']"), [""; 0]);
    assert_eq!(kept("reject_content_types 'image/*'"), ["html", "json", "plain"]);
    // Requested once each time: a refused response is not retried.
    assert_eq!(town.asked(0).iter().filter(|path| *path == "/png").count(), 5);
    town.close();
}

/// "Request gzip/deflate by default (`compress = true`)".
#[test]
fn compressed_answers_are_asked_for_unless_they_are_not_wanted() {
    let site = Raw::saying("text/html", "<p>hello</p>");
    let town = Town::empty(QUICK);
    let duck = town.duck();
    duck.crawl(&list([site.url("/a")]), "");
    duck.crawl(&list([site.url("/b")]), "compress false");
    let coding = |path: &str| -> Vec<String> {
        let heads = site.heard();
        let head = heads.iter().find(|head| head.starts_with(&format!("GET {path} "))).unwrap();
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        let line = lines.filter(|(name, _)| name.eq_ignore_ascii_case("accept-encoding"));
        line.flat_map(|(_, value)| value.split(", ").map(str::to_owned)).collect()
    };
    let by_default = coding("/a");
    assert!(
        ["gzip", "deflate"].iter().all(|name| by_default.iter().any(|c| c == name)),
        "{by_default:?}"
    );
    assert!(matches!(coding("/b").as_slice(), [] | [_]), "{:?}", coding("/b"));
    assert!(coding("/b").iter().all(|coding| coding == "identity"), "{:?}", coding("/b"));
}

/// The body is the same with every coding.
#[test]
fn packed_answers_are_unpacked() {
    let codings = [Coding::Gzip, Coding::Deflate, Coding::RawDeflate, Coding::Br, Coding::Zstd];
    let mut host = Host::named("h.test").pages(1, 1, 500);
    for (n, coding) in codings.into_iter().enumerate() {
        let body = Body::Html("<title>Same</title><p>the same for all</p>".to_owned());
        host = host.says_unlinked(Answer::to(&format!("/{n}")).body(body).coding(coding));
    }
    let mut town = town(host);
    let duck = town.duck();
    duck.crawl(&list((0..5).map(|n| town.url(0, &format!("/{n}")))), "");
    let same = "SELECT count(*), count(DISTINCT body), count(DISTINCT content_hash), any_value(title) FROM pages";
    assert_eq!(json!(duck.rows(same)), json!([[5, 1, 1, "Same"]]));
    town.assert_clean();
}

/// Bytes that are not text can be restored.
#[test]
fn a_body_that_is_no_text_keeps_its_bytes() {
    let answer = Answer::to("/x").body(Body::Hex("89504e470d0a00ff41".to_owned()));
    let mut answer = answer;
    answer.content_type = Some("image/png".to_owned());
    let town = town(Host::named("h.test").pages(1, 1, 500).says_unlinked(answer));
    let duck = town.duck();
    duck.crawl(&list([town.url(0, "/x")]), "");
    assert_eq!(duck.one("SELECT hex(body::BLOB) FROM pages"), Json::from("89504E470D0A00FF41"));
}
