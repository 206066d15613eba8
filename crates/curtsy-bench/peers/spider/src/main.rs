//! Crawls the seeds of a file with spider, one `Website` a host, all at once, and keeps bodies and
//! links the cheapest way there is: one file to which each page is appended.
//!
//! `peer-spider SEEDS OUT` crawls as fast as it goes; with `DELAY_MS TIMEOUT_S SPAN_S PAGES
//! RETRIES` behind them, politely.

use std::io::{BufWriter, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use spider::tokio;
use spider::utils::auto_throttle::AutoThrottleConfig;
use spider::website::Website;

/// Pages that may wait for the file: with a smaller room `broadcast` would drop some.
const ROOM: usize = 4096;

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    let (seeds, out) = (args.next().expect("SEEDS"), args.next().expect("OUT"));
    let polite: Vec<u64> = args.map(|number| number.parse().expect("a number")).collect();
    let seeds = std::fs::read_to_string(seeds).expect("the seeds can be read");
    let out = std::fs::File::create(out).expect("the file can be made");
    let out = Arc::new(Mutex::new((BufWriter::new(out), 0_u64)));
    let mut sites = tokio::task::JoinSet::new();
    for seed in seeds.lines() {
        let mut website = Website::new(seed);
        website
            .with_respect_robots_txt(true)
            .with_user_agent(Some("peer/1.0 (+mailto:bench@example.org)"))
            .with_return_page_links(true);
        if let [delay, timeout, span, pages, retries] = polite[..] {
            be_polite(&mut website, delay, timeout, span, pages as u32, retries as u8);
        }
        let mut pages = website.subscribe(ROOM);
        let out = Arc::clone(&out);
        let keeping = tokio::spawn(async move {
            while let Ok(page) = pages.recv().await {
                let mut out = out.lock().expect("nobody panicked");
                out.1 += 1;
                let body = page.get_html_bytes_u8();
                let ending = if page.content_truncated { "cut" } else { "whole" };
                writeln!(out.0, "{} {} {} {ending}", page.get_url(), page.status_code, body.len())
                    .expect("written");
                out.0.write_all(body).expect("written");
                for link in page.page_links.iter().flat_map(|links| links.iter()) {
                    writeln!(out.0, "{}", link.inner()).expect("written");
                }
            }
        });
        sites.spawn(async move {
            website.crawl().await;
            website.unsubscribe();
            drop(website);
            keeping.await.expect("the pages are kept");
        });
    }
    while let Some(done) = sites.join_next().await {
        done.expect("a site is crawled");
    }
    let mut out = out.lock().expect("nobody panicked");
    out.0.flush().expect("written");
    println!("{}", out.1);
}

/// What spider offers a polite crawl. The size of a page is limited by `SPIDER_MAX_SIZE_BYTES` in
/// its environment, and one request at a time is kept on a busy machine by
/// `SPIDER_RESPECT_CONCURRENCY_UNDER_LOAD`.
fn be_polite(website: &mut Website, delay: u64, timeout: u64, span: u64, pages: u32, retries: u8) {
    website
        .with_delay(delay)
        .with_concurrency_limit(Some(1))
        .with_request_timeout(Some(Duration::from_secs(timeout)))
        .with_crawl_timeout(Some(Duration::from_secs(span)))
        .with_redirect_limit(5)
        .with_retry(retries);
    if pages > 0 {
        website.with_limit(pages);
    }
    let throttle =
        AutoThrottleConfig { target_concurrency: 1.0, min_delay_ms: delay, ..Default::default() };
    website.configuration.with_auto_throttle(throttle);
}
