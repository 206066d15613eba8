//! URL identity, by our own examples.

use curtsy_core::url::{Authority, CrawlUrl, HostKey, Scheme, UrlError, UrlKey};

fn spelling(text: &str) -> String {
    CrawlUrl::parse(text).map_or_else(|e| format!("error: {e}"), |u| u.as_str().to_owned())
}

#[test]
fn a_url_has_one_spelling() {
    let same = |text: &str, want: &str| assert_eq!(spelling(text), want, "{text:?}");
    same("http://example.org", "http://example.org/");
    same("  http://EXAMPLE.org:80/a b\n", "http://example.org/a%20b");
    same("https://example.org:443/%7e?x#y", "https://example.org/%7e?x");
    same("http://example.org./", "http://example.org/");
    same("http://u:p@example.org/", "http://example.org/");
    same("http://u@example.org:81/", "http://example.org:81/");
    same("http://:p@example.org/", "http://example.org/");
    same("http:\\\\example.org\\a", "http://example.org/a");
    same("http://[::FFFF:192.0.2.1]:8080/", "http://192.0.2.1:8080/");
    same("http://[2001:DB8:0:0::1]/", "http://[2001:db8::1]/");
    same("http://example.org/?", "http://example.org/?");
    same("http://example.org/#", "http://example.org/");
}

#[test]
fn what_cannot_be_crawled_is_refused() {
    let refused = |text: &str| CrawlUrl::parse(text).unwrap_err();
    assert_eq!(refused("ftp://example.org/"), UrlError::Scheme("ftp".into()));
    assert_eq!(refused("javascript:alert(1)"), UrlError::Scheme("javascript".into()));
    assert!(matches!(refused("/only/a/path"), UrlError::Syntax(_)));
    assert!(matches!(refused("http://"), UrlError::Syntax(_)));
    assert!(matches!(refused("http://[fe80::1%25eth0]/"), UrlError::Syntax(_)));
    assert_eq!(refused("http://a..b/"), UrlError::Host("has an empty part"));
    assert_eq!(refused("http://a../"), UrlError::Host("has an empty part"));
    assert_eq!(refused("http://./"), UrlError::Host("has an empty part"));
    assert_eq!(
        refused(&format!("http://{}.org/", "a".repeat(64))),
        UrlError::Host("has a part longer than 63 bytes")
    );
    assert_eq!(
        refused(&format!("http://{}org/", "abcdefg.".repeat(32))),
        UrlError::Host("is longer than 253 bytes")
    );
}

#[test]
fn a_url_has_a_length_limit() {
    let of = |bytes: usize| format!("http://h/{}", "a".repeat(bytes - 9));
    assert_eq!(spelling(&of(8192)).len(), 8192);
    assert_eq!(
        CrawlUrl::parse(&of(8193)).unwrap_err(),
        UrlError::TooLong { bytes: 8193, bytes_max: 8192 }
    );
    assert!(CrawlUrl::parse(&format!("http://h/#{}", "a".repeat(9000))).is_ok(), "dropped anyway");
    assert!(CrawlUrl::parse(&"x".repeat(1 << 20)).is_err());
}

#[test]
fn a_url_says_its_parts() {
    let url = CrawlUrl::parse("https://example.org:8443/a/b?c=d").unwrap();
    assert_eq!(url.path_and_query(), "/a/b?c=d");
    assert_eq!((url.scheme(), url.port(), url.ip()), (Scheme::Https, 8443, None));
    let authority = url.authority();
    assert_eq!(authority.to_string(), "https://example.org:8443");
    assert_eq!(authority.root().as_str(), "https://example.org:8443/");
    assert_eq!(authority.robots_url().as_str(), "https://example.org:8443/robots.txt");
    let url = CrawlUrl::parse("http://0x7f.1/?q").unwrap();
    assert_eq!(url.path_and_query(), "/?q");
    assert_eq!(url.ip(), Some([127, 0, 0, 1].into()));
    assert_eq!(url.authority().robots_url().as_str(), "http://127.0.0.1/robots.txt");
    let url = CrawlUrl::parse("http://[::1]:81").unwrap();
    assert_eq!(url.authority().robots_url().as_str(), "http://[::1]:81/robots.txt");
    assert_eq!(url.ip(), Some("::1".parse().unwrap()));
}

#[test]
fn a_reference_is_read_as_the_page_means_it() {
    let page = CrawlUrl::parse("https://example.org/a/b?c#d").unwrap();
    let at = |reference: &str| {
        page.join(reference).map_or_else(|e| format!("error: {e}"), |u| u.to_string())
    };
    assert_eq!(at("../x"), "https://example.org/x");
    assert_eq!(at("?y"), "https://example.org/a/b?y");
    assert_eq!(at("#z"), "https://example.org/a/b?c");
    assert_eq!(at("//OTHER.example./"), "https://other.example/");
    assert_eq!(at(" /\t/\n\\//other.example/x"), "https://other.example/x", "slashes without end");
    assert_eq!(at("/\\"), "error: not a URL: empty host");
    assert_eq!(at("/x//y"), "https://example.org/x//y");
    assert_eq!(page.join("mailto:x@y"), Err(UrlError::Scheme("mailto".into())));
}

#[test]
fn keys_and_seeds_are_the_same_in_every_process_and_release() {
    let url = CrawlUrl::parse("http://example.org/").unwrap();
    assert_eq!(url.key().to_string(), KEY_OF_EXAMPLE);
    assert_eq!(UrlKey::from_u128(url.key().as_u128()), url.key());
    assert_eq!(url.host().seed(), SEED_OF_EXAMPLE);
}

#[test]
fn every_type_is_a_string_in_json() {
    let url = CrawlUrl::parse("https://example.org:444/a").unwrap();
    let row = (url.clone(), url.host().clone(), url.authority(), url.key(), url.scheme());
    let json = serde_json::to_string(&row).unwrap();
    assert_eq!(
        json,
        format!(
            r#"["https://example.org:444/a","example.org","https://example.org:444","{}","https"]"#,
            url.key()
        )
    );
    let back: (CrawlUrl, HostKey, Authority, UrlKey, Scheme) = serde_json::from_str(&json).unwrap();
    assert_eq!(back, row);
    assert!(serde_json::from_str::<UrlKey>(r#""+123""#).is_err());
    assert!(serde_json::from_str::<Authority>(r#""http://h/path""#).is_err());
}

const KEY_OF_EXAMPLE: &str = "13dab8d42ad2218070c0198247c2304a";
const SEED_OF_EXAMPLE: u64 = 4627260942063550277;
