//! CPU time for reading documents: a page of 10 KB with 25 links, a sitemap of 50,000 entries, and
//! pages made to be slow.
//!
//! Each is the least of several runs, in CPU time of this thread, so that a busy machine doesn't
//! count.
#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::hint::black_box;

use cpu_time::ThreadTime;
use curtsy_bench::documents::{PAGE_URL, page, sitemap};
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_engine::discover::{Discovery, DiscoverySpec};
use curtsy_engine::{Fetched, Head, Reader, UrlRecord, Want};
use curtsy_parse::html::{self, HtmlPage, Markup};
use curtsy_parse::sitemap::{self, Sitemap};

fn main() {
    let url = CrawlUrl::parse(PAGE_URL).expect("a plain address");
    let html = page();
    println!("{:<44} {:>10} {:>12}", "document", "bytes", "CPU µs");
    let show = |name: &str, bytes: usize, ms: f64| {
        println!("{name:<44} {bytes:>10} {:>12.1}", ms * 1e3);
    };
    let hundred = |run: &dyn Fn()| least(20, || (0..100).for_each(|_| run())) / 100.0;
    let markup = hundred(&|| drop(black_box(Markup::read(black_box(&html)))));
    show("page: tags, tree, facts", html.len(), markup);
    let kind = Some("text/html; charset=utf-8");
    let limits = html::PageLimits::default();
    let whole = hundred(&|| {
        drop(black_box(HtmlPage::read(&url, kind, black_box(html.as_bytes()), &limits)));
    });
    show("page: everything", html.len(), whole);

    let now = Time::from_secs(1_790_000_000);
    let found = discovery(&url);
    let record = UrlRecord::page(url.clone(), 1);
    let content_type = kind.map(str::to_owned);
    let head = Head { status: 200, content_type, ..Head::default() };
    let fetched = Fetched { body: html.clone().into() };
    let read = hundred(&|| drop(black_box(found.read(&record, &head, black_box(&fetched), now))));
    show("page: everything, and what it leads to", html.len(), read);

    let xml = sitemap(50_000);
    let limits = sitemap::SitemapLimits::default();
    let read = least(7, || Sitemap::read(&url, None, black_box(xml.as_bytes()), &limits, now));
    show("sitemap of 50,000 entries", xml.len(), read);
    let record = UrlRecord { want: Want::Sitemap, ..UrlRecord::page(url.clone(), 0) };
    let fetched = Fetched { body: xml.clone().into() };
    let read = least(7, || discovery(&url).read(&record, &head, black_box(&fetched), now));
    show("sitemap of 50,000 entries, and its offers", xml.len(), read);

    let limits = html::PageLimits::default();
    for (name, html) in worst() {
        let read = least(3, || HtmlPage::read(&url, kind, black_box(html.as_bytes()), &limits));
        show(name, html.len(), read);
    }
}

fn discovery(seed: &CrawlUrl) -> Discovery {
    let spec = DiscoverySpec { seeds: vec![seed.clone()], ..DiscoverySpec::default() };
    Discovery::new(spec).expect("the defaults are sound")
}

/// One megabyte each of what makes tree builders slow.
fn worst() -> Vec<(&'static str, String)> {
    let fill = |piece: &str| piece.repeat(1_000_000 / piece.len());
    let distinct = |make: &dyn Fn(usize) -> String| {
        let mut html = String::new();
        let mut n = 0;
        while html.len() < 1_000_000 {
            html.push_str(&make(n));
            n += 1;
        }
        html
    };
    vec![
        ("worst: nested div", fill("<div>")),
        ("worst: nested p in button scope", format!("<p>{}", fill("<x><hr>"))),
        ("worst: links that are never closed", distinct(&|n| format!("<a href={n}><p>"))),
        ("worst: formatting of all kinds", distinct(&|n| format!("<b id={n}>"))),
        ("worst: formatting opened again", distinct(&|n| format!("<p><i id={n}>x</p>"))),
        ("worst: the adoption agency", distinct(&|n| format!("<b id={n}><div></b>"))),
        ("worst: tables in tables", fill("<table><tr><td>")),
        ("worst: links before a table", format!("<table>{}", fill("<a href=x>"))),
        ("worst: attributes", format!("<a {}>", distinct(&|n| format!("a{n}=1 ")))),
        ("worst: entities", format!("<a href='{}'>", fill("&notin"))),
        ("worst: different links", distinct(&|n| format!("<a href=/{n}>x</a>"))),
        ("worst: ends without a start", format!("<x>{}", fill("<y></z>"))),
    ]
}

fn least<T>(runs: usize, mut run: impl FnMut() -> T) -> f64 {
    let time = |_| {
        let start = ThreadTime::now();
        let result = black_box(run());
        let elapsed = start.elapsed().as_secs_f64() * 1e3;
        drop(result);
        elapsed
    };
    (0..runs).map(time).fold(f64::INFINITY, f64::min)
}
