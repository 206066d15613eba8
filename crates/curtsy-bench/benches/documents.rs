//! Instructions for reading documents: a page with its links, beside a reader of tags alone, and a
//! sitemap.

#![expect(missing_docs, reason = "the macros of gungraun make public items")]

use std::hint::black_box;

use curtsy_bench::documents::{PAGE_URL, page, sitemap};
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_engine::discover::{Discovery, DiscoverySpec};
use curtsy_engine::{Document, Fetched, Head, Reader, UrlRecord};
use curtsy_parse::challenge::{Wall, wall};
use curtsy_parse::html::{self, HtmlPage, Markup};
use curtsy_parse::sitemap::{self, Sitemap};
use gungraun::prelude::*;

fn url() -> CrawlUrl {
    CrawlUrl::parse(PAGE_URL).expect("a plain address")
}

// Tags, tree and facts; no URL yet.
#[library_benchmark]
#[bench::page(page())]
fn markup(html: String) -> (usize, String) {
    let links = Markup::read(black_box(&html)).links.len();
    black_box((links, html))
}

// Everything that the crawl asks of a page.
#[library_benchmark]
#[bench::page((url(), page()))]
fn whole_page((url, html): (CrawlUrl, String)) -> (HtmlPage, String) {
    let kind = Some("text/html; charset=utf-8");
    let page = HtmlPage::read(&url, kind, black_box(html.as_bytes()), &html::PageLimits::default());
    black_box((page, html))
}

fn discovery() -> (Discovery, UrlRecord, Head, Fetched) {
    let spec = DiscoverySpec { seeds: vec![url()], ..DiscoverySpec::default() };
    let content_type = Some("text/html; charset=utf-8".to_owned());
    let head = Head { status: 200, content_type, ..Head::default() };
    let found = Discovery::new(spec).expect("the defaults are sound");
    (found, UrlRecord::page(url(), 1), head, Fetched { body: page().into() })
}

// The same, and what it leads to: scope, filters, traps, offers.
#[library_benchmark]
#[bench::page(discovery())]
fn whole_page_and_offers(
    (discovery, record, head, page): (Discovery, UrlRecord, Head, Fetched),
) -> (Document, Discovery) {
    let now = Time::from_secs(1_790_000_000);
    let document = discovery.read(black_box(&record), &head, &page, now);
    black_box((document, discovery))
}

// The links of the same page with lol_html, entities undecoded and no URL resolved.
#[library_benchmark]
#[bench::page(page())]
fn links_lol_html(html: String) -> (usize, String) {
    use lol_html::{HtmlRewriter, Settings, element};
    let mut links = Vec::new();
    let settings = Settings::new().with_strict(false).append_element_content_handler(element!(
        "a[href]",
        |tag| {
            links.extend(tag.get_attribute("href"));
            Ok(())
        }
    ));
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    rewriter.write(black_box(html.as_bytes())).expect("no limit is met");
    rewriter.end().expect("no limit is met");
    black_box((links.len(), html))
}

#[library_benchmark]
#[bench::page(page())]
fn wall_of_an_ordinary_page(html: String) -> (Option<Wall>, String) {
    let headers = [
        ("date", "Mon, 16 Nov 2026 07:08:09 GMT"),
        ("content-type", "text/html; charset=utf-8"),
        ("server", "cloudflare"),
        ("cf-ray", "88aa11bb22cc33dd-FRA"),
        ("cache-control", "max-age=60"),
        ("vary", "accept-encoding"),
        ("set-cookie", "session=abc; Path=/; HttpOnly"),
    ];
    black_box((wall(200, black_box(headers), html.as_bytes()), html))
}

#[library_benchmark]
#[bench::thousand((url(), sitemap(1_000)))]
fn sitemap_entries((url, xml): (CrawlUrl, String)) -> (Sitemap, String) {
    let now = Time::from_secs(1_790_000_000);
    let limits = sitemap::SitemapLimits::default();
    black_box((Sitemap::read(&url, None, black_box(xml.as_bytes()), &limits, now), xml))
}

library_benchmark_group!(
    name = documents,
    benchmarks = [
        markup,
        whole_page,
        whole_page_and_offers,
        links_lol_html,
        wall_of_an_ordinary_page,
        sitemap_entries
    ]
);
main!(library_benchmark_groups = documents);
