//! What do the sitemaps of a site list? Asks for robots.txt and sitemaps, and for nothing else.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_engine::{Batch, Boxed, Sink, SinkError};
use curtsy_sink::read::SitemapUrl;
use curtsy_store::Shows;

use crate::stream::{Keeper, Streaming};
use crate::{CrawlError, JobSpec, Report, SeedsAre, Watch, stream};

/// Listed URLs that are read.
pub(crate) const LISTED_MAX: usize = 1_000_000;

/// Returns the URLs in the sitemaps of a job's seeds; each seed is a site or one sitemap. The
/// report says what prevented the requests.
pub fn list_sitemaps(
    spec: &JobSpec,
    watch: &mut dyn Watch,
    asked: impl AsyncFnMut() -> std::io::Result<()>,
) -> Result<(Vec<SitemapUrl>, Report), CrawlError> {
    let mut spec = spec.clone();
    spec.seeds = spec.seeds.iter().map(first).collect();
    spec.seeds_are = SeedsAre::Sitemaps;
    spec.discovery.seeds = spec.seeds.clone();
    spec.discovery.follow_links = false;
    // Pages are listed, not asked for.
    let mut policy = (*spec.policy).clone();
    policy.budget.depth = Some(0);
    spec.policy = Arc::new(policy);
    let list = Mutex::new(List::default());
    let how = Streaming { workers: 1, rows: 100, known: Vec::new(), shows: Shows::Nothing };
    let report = stream(&spec, how, |_| ListingKeeper(&list), watch, asked)?;
    Ok((list.into_inner().unwrap_or_else(PoisonError::into_inner).urls, report))
}

/// Where the sitemaps of a site begin.
fn first(url: &CrawlUrl) -> CrawlUrl {
    let path = url.path_and_query();
    match path.contains("sitemap") || path.contains(".xml") {
        true => url.clone(),
        false => url.authority().root().join("/sitemap.xml").unwrap_or_else(|_| url.clone()),
    }
}

#[derive(Default)]
struct List {
    urls: Vec<SitemapUrl>,
    seen: HashSet<u128>,
}

struct ListingKeeper<'l>(&'l Mutex<List>);

impl Keeper for ListingKeeper<'_> {
    fn sink(&self) -> Box<dyn Sink + '_> {
        Box::new(ListingKeeper(self.0))
    }
}

impl Sink for ListingKeeper<'_> {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for row in &batch.rows {
            let page = row.page.as_deref();
            let entries = page.and_then(|page| page.document.sitemap.as_ref());
            for entry in entries.iter().flat_map(|sitemap| &sitemap.entries) {
                if list.urls.len() < LISTED_MAX && list.seen.insert(entry.url.key().as_u128()) {
                    let lastmod = entry.modified_ms.and_then(|ms| u64::try_from(ms).ok());
                    list.urls.push(SitemapUrl {
                        url: entry.url.as_str().to_owned(),
                        sitemap: row.final_url.as_str().to_owned(),
                        lastmod: lastmod.map(|ms| Time::from_micros(ms * 1000)),
                        changefreq: entry.change.map(|change| change.name().to_owned()),
                        priority: entry.priority.map(f64::from),
                    });
                }
            }
        }
        Box::pin(std::future::ready(Ok(())))
    }
}
