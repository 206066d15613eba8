//! URLs: a URL is parsed to itself, the fast paths (plain references, plain SURTs) agree with the
//! standard's, and nothing secret stays.

use curtsy_core::url::{CrawlUrl, HostKey, SurtOptions, UrlKey, parse_whatwg, surt};
use url::Url;

use crate::{FuzzTarget, first_line};

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "url",
    run,
    seeds: SEEDS,
    dictionary: include_str!("../../dictionaries/url.dict"),
};

/// The first line is a URL, the rest a reference in it.
fn run(data: &[u8]) {
    let (base, reference) = first_line(data);
    let (base, reference) = (String::from_utf8_lossy(base), String::from_utf8_lossy(reference));
    let _ = surt(&base, &SurtOptions::default());
    let _ = HostKey::parse(&base);
    let Ok(url) = CrawlUrl::parse(&base) else { return };
    check(&url);
    assert_eq!(url.join("").as_ref(), Ok(&url));
    assert_eq!(url.join(url.as_str()).as_ref(), Ok(&url));
    let standard = Url::parse(url.as_str()).expect("a URL in its one spelling is one");
    let expected = parse_whatwg(Some(&standard), &reference);
    let expected = expected.ok().and_then(|url| CrawlUrl::parse(url.as_str()).ok());
    let joined = url.join(&reference);
    // Longer ones may be refused before or after they are shortened.
    if base.len() + reference.len() < CrawlUrl::BYTES_MAX / 4 {
        assert_eq!(joined.as_ref().ok(), expected.as_ref(), "`{reference}` in `{url}`");
    }
    if let Ok(joined) = joined {
        check(&joined);
    }
}

fn check(url: &CrawlUrl) {
    let text = url.as_str();
    assert!(text.len() <= CrawlUrl::BYTES_MAX && text.is_ascii());
    let again = CrawlUrl::parse(text);
    let again =
        again.as_ref().unwrap_or_else(|error| panic!("`{text}` is a URL no longer: {error}"));
    assert_eq!((again, again.key()), (url, UrlKey::of(text)), "a URL is read to itself");
    assert_eq!((again.authority(), again.port()), (url.authority(), url.port()));
    assert_eq!(HostKey::parse(url.host().as_str()).as_ref(), Ok(url.host()));
    let host_and_port = text.split('/').nth(2).unwrap_or_default();
    assert!(!text.contains('#') && !host_and_port.contains('@'), "`{text}`");
    assert!(!host_and_port.ends_with('.') && !host_and_port.is_empty(), "`{text}`");
    assert!(url.path_and_query().starts_with('/'));
    assert_eq!(surt(text, &SurtOptions::default()).as_ref(), Ok(&url.surt()), "`{text}`");
    let key = url.key();
    assert_eq!(key.to_string().parse::<UrlKey>().as_ref(), Ok(&key));
    assert_eq!(url.authority().robots_url().path_and_query(), "/robots.txt");
}

const SEEDS: &[&[u8]] = &[
    b"HTTP://user:secret@Example.ORG.:80/a/../b?q=1#top\n../c?d#e",
    b"https://b\xc3\xbccher.example:8443/%7Ea;jsessionid=1?B=2&a=1&&\n//other.example",
    b"http://[::ffff:127.0.0.1]/\n/a//b/./c",
    b"http://0x7f.1/\n?q",
    b"http://www7.example.org:8080/A%2fB/?PHPSESSID=0123456789abcdef0123456789abcdef\nhttp:x",
    b"http:\\\\h\\p\t\n\\\\x\\y",
    b"https://xn--bcher-kva.example/\nmailto:a@b",
    b"http://h/a/b/c\n./../../../../x/%2e%2E/y",
];
