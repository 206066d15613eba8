//! Lists the URLs in the sitemaps of a site. Requests robots.txt and sitemaps only.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_engine::Batch;
use curtsy_sink::read::SitemapUrl;

use crate::{CrawlError, CrawlReport, EachBatch, JobSpec, SeedsAre, Streaming, Watch, stream};

/// The largest number of URLs that are listed.
pub(crate) const LISTED_MAX: usize = 1_000_000;

/// Returns the URLs in the sitemaps of a job's seeds; each seed is a site or one sitemap. The
/// report says what prevented the requests.
pub fn list_sitemaps(
    spec: &JobSpec,
    watch: &mut dyn Watch,
    asked: impl AsyncFnMut() -> std::io::Result<()>,
) -> Result<(Vec<SitemapUrl>, CrawlReport), CrawlError> {
    let mut spec = spec.clone();
    spec.seeds = spec.seeds.iter().map(first).collect();
    spec.seeds_are = SeedsAre::Sitemaps;
    spec.discovery.seeds = spec.seeds.clone();
    spec.discovery.follow_links = false;
    // Pages are listed, not requested.
    let mut policy = (*spec.policy).clone();
    policy.budget.depth = Some(0);
    spec.policy = Arc::new(policy);
    let list = Mutex::new(SitemapList::default());
    let keep = |batch: &Batch| list.lock().unwrap_or_else(PoisonError::into_inner).add(batch);
    let report = stream(&spec, Streaming::one_worker(100), |_| EachBatch(keep), watch, asked)?;
    Ok((list.into_inner().unwrap_or_else(PoisonError::into_inner).urls, report))
}

/// Returns the first sitemap of a site.
fn first(url: &CrawlUrl) -> CrawlUrl {
    let path = url.path_and_query();
    match path.contains("sitemap") || path.contains(".xml") {
        true => url.clone(),
        false => url.authority().root().join("/sitemap.xml").unwrap_or_else(|_| url.clone()),
    }
}

#[derive(Default)]
struct SitemapList {
    urls: Vec<SitemapUrl>,
    seen: HashSet<u128>,
}

impl SitemapList {
    /// Adds the URLs of a batch's sitemaps, each once.
    fn add(&mut self, batch: &Batch) {
        for row in &batch.rows {
            let sitemap = row.page.as_deref().and_then(|page| page.document.sitemap.as_ref());
            for entry in sitemap.iter().flat_map(|sitemap| &sitemap.entries) {
                if self.urls.len() < LISTED_MAX && self.seen.insert(entry.url.key().as_u128()) {
                    let lastmod = entry.modified_ms.and_then(|ms| u64::try_from(ms).ok());
                    self.urls.push(SitemapUrl {
                        url: entry.url.as_str().to_owned(),
                        sitemap: row.final_url.as_str().to_owned(),
                        lastmod: lastmod.map(|ms| Time::from_micros(ms * 1000)),
                        changefreq: entry.change.map(|change| change.name().to_owned()),
                        priority: entry.priority.map(f64::from),
                    });
                }
            }
        }
    }
}
