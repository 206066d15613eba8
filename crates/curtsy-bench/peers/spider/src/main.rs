//! Crawls the seeds of a file with spider, one `Website` a host, all at once, and keeps bodies and links the cheapest way there is:
//! one file to which each page is appended.

use std::io::{BufWriter, Write};
use std::sync::{Arc, Mutex};

use spider::tokio;
use spider::website::Website;

/// Pages that may wait for the file: with a smaller room `broadcast` would drop some.
const ROOM: usize = 4096;

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    let (seeds, out) = (args.next().expect("SEEDS"), args.next().expect("OUT"));
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
        let mut pages = website.subscribe(ROOM);
        let out = Arc::clone(&out);
        let keeping = tokio::spawn(async move {
            while let Ok(page) = pages.recv().await {
                let mut out = out.lock().expect("nobody panicked");
                out.1 += 1;
                let body = page.get_html_bytes_u8();
                writeln!(out.0, "{} {} {}", page.get_url(), page.status_code, body.len()).expect("written");
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
