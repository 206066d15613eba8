//! Properties of any bytes: nothing panics, everything ends, and the limits are kept.

use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_parse::challenge::wall;
use curtsy_parse::charset::Charset;
use curtsy_parse::content_type::BodyKind;
use curtsy_parse::html::{HtmlPage, PageLimits};
use curtsy_parse::link_header::canonical;
use curtsy_parse::sitemap::{self, Sitemap};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::FileFailurePersistence;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_page_is_read_within_its_limits(body in bytes(PIECES), content_type in select(TYPES)) {
        let limits = PageLimits { links_max: 5, title_bytes_max: 7, body_bytes_max: 600, ..PageLimits::default() };
        let page = HtmlPage::read(&url(), Some(content_type), &body, &limits);
        prop_assert!(page.links.len() <= 5 && page.frames.len() <= 5);
        prop_assert!(page.title.is_none_or(|title| title.len() <= 7));
        prop_assert_eq!(page.cut.body_bytes, body.len().saturating_sub(600));
        let mut seen: Vec<&str> = page.links.iter().map(|link| link.url.as_str()).collect();
        prop_assert!(!seen.contains(&url().as_str()));
        seen.sort_unstable();
        prop_assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "each once: {:?}", seen);
    }

    #[test]
    fn a_sitemap_is_read_within_its_limits(body in bytes(XML), content_type in select(TYPES)) {
        let limits = sitemap::SitemapLimits { bytes_max: 400, entries_max: 3, warnings_max: 2, alternates_max: 1 };
        let found = Sitemap::read(&url(), Some(content_type), &body, &limits, Time::from_secs(0));
        prop_assert!(found.entries.len() <= 3 && found.sitemaps.len() <= 3 && found.warnings.len() <= 2);
        prop_assert!(found.entries.iter().all(|entry| entry.alternates.len() <= 1));
        prop_assert!(found.entries.iter().all(|e| e.priority.is_none_or(|p| (0.0..=1.0).contains(&p))));
    }

    #[test]
    fn an_address_of_the_own_host_is_read_like_any_other(path in "[/\\\\?#a-z.%\t\n é&;@:]{0,12}") {
        let address = format!("https://site.example/{path}");
        let xml = format!("<urlset><url><loc><![CDATA[{address}]]></loc></url></urlset>");
        let limits = sitemap::SitemapLimits::default();
        let found = Sitemap::read(&url(), None, xml.as_bytes(), &limits, Time::from_secs(0));
        let expected: Vec<CrawlUrl> = CrawlUrl::parse(address.trim_ascii()).into_iter().collect();
        prop_assert_eq!(found.entries.into_iter().map(|e| e.url).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn no_answer_is_too_odd(status in any::<u16>(), body in bytes(PIECES), name in select(HEADERS), value in any::<String>()) {
        let _ = wall(status, [(name, value.as_str())], &body);
        let _ = BodyKind::of(Some(&value), &body);
        let _ = canonical(&url(), [value.as_str()]);
        let _ = Charset::of(&body, Some(&value), Some(&value)).decode(&body);
    }

    #[test]
    fn no_link_header_is_too_odd(parts in prop::collection::vec(select(LINK), 0..20)) {
        let line = parts.concat();
        if let Some(found) = canonical(&url(), [line.as_str()]) {
            prop_assert!(line.to_ascii_lowercase().contains("canonical"), "{line:?} {found}");
        }
    }
}

#[test]
fn a_page_of_a_million_nested_elements_ends() {
    for piece in
        ["<div>", "<a href=x><p>", "<b><table>", "<svg><desc>", "<select><option>", "<template>"]
    {
        let html = piece.repeat(1_000_000 / piece.len());
        let page = HtmlPage::read(&url(), None, html.as_bytes(), &PageLimits::default());
        assert!(page.links.len() <= 1, "{piece}");
    }
}

fn url() -> CrawlUrl {
    CrawlUrl::parse("https://site.example/dir/page").expect("a plain address")
}

/// Pieces of documents, with random bytes between them.
fn bytes(pieces: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => select(pieces).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

#[expect(clippy::disallowed_methods, reason = "the number of cases is a setting")]
fn config() -> ProptestConfig {
    let config = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(1_000),
    };
    let kept = FileFailurePersistence::WithSource("regressions");
    ProptestConfig { failure_persistence: Some(Box::new(kept)), ..config }
}

const PIECES: &[&str] = &[
    "<",
    ">",
    "\"",
    "'",
    "=",
    "&",
    ";",
    "#",
    "é",
    "\0",
    "\u{fffd}",
    "<a href=",
    "<a href='/x'>",
    "</a>",
    "<p>",
    "<title>",
    "</title>",
    "<base href=",
    "<meta charset=",
    "utf-16",
    "gbk",
    "<iframe src=",
    "<script>",
    "</script",
    "<!--",
    "-->",
    "<table>",
    "<svg>",
    "&amp",
    "&#x",
    "?q=ü",
    "http://",
    "//h",
    "<meta http-equiv=refresh content='0;url=",
    "<template>",
    "</template>",
    "\u{feff}",
    "{",
    "}",
    "_cf_chl_opt",
    "<title>just a moment...",
    "</",
    "<![CDATA[",
    "<frameset>",
    "<frame src=f>",
    "\r\n",
    " ",
    "rel=nofollow",
];
const XML: &[&str] = &[
    "<?xml version='1.0' encoding='",
    "latin1",
    "'?>",
    "<urlset>",
    "<urlset xmlns='x' xmlns:i='y'>",
    "</urlset>",
    "<url>",
    "</url>",
    "<loc>",
    "</loc>",
    "https://site.example/",
    "/rel",
    "<lastmod>",
    "2024-05-06",
    "</lastmod>",
    "<priority>0.5</priority>",
    "<sitemapindex>",
    "<sitemap>",
    "</sitemap>",
    "<rss>",
    "<channel>",
    "<item>",
    "<link>",
    "</link>",
    "<feed>",
    "<entry>",
    "<link href='/a'/>",
    "</entry>",
    "<!DOCTYPE x [",
    "]>",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "&amp;",
    "&",
    "&#",
    "\n",
    "\u{1f}\u{8b}",
    "<i:loc>",
    "<xhtml:link rel='alternate' hreflang='de' href='/de'/>",
    "é",
    "<changefreq>daily</changefreq>",
    "<guid>",
    "'",
    "\"",
    "=",
    "<",
];
const LINK: &[&str] = &[
    "<",
    ">",
    "/a",
    ";",
    ",",
    "rel",
    "=",
    "\"",
    "canonical",
    " ",
    "\\",
    "anchor",
    "next",
    "é",
    "http://",
];
const HEADERS: &[&str] =
    &["server", "set-cookie", "cf-mitigated", "location", "x-iinfo", "x-azure-ref"];
const TYPES: &[&str] = &[
    "",
    "text/html",
    "text/html; charset=shift_jis",
    "text/xml; charset=utf-16",
    "text/html; charset=iso-2022-jp",
];
