//! The source of a crawl's seeds.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_engine::{Boxed, Source, Store, StoreError, UrlRecord};

use crate::SeedsAre;

/// Seeds in one offer.
const AT_ONCE: usize = 1000;

/// The seeds of a crawl, for all its workers. Every run offers all seeds: the store knows which of
/// them are new.
pub(crate) struct SeedSource {
    urls: Vec<CrawlUrl>,
    are: SeedsAre,
    next: AtomicUsize,
    rewound: Mutex<Option<u64>>,
}

impl SeedSource {
    pub(crate) fn new(urls: Vec<CrawlUrl>, are: SeedsAre) -> SeedSource {
        SeedSource { urls, are, next: AtomicUsize::new(0), rewound: Mutex::default() }
    }

    /// Offers all seeds.
    pub(crate) async fn offer_all(&self, store: &impl Store) -> Result<(), StoreError> {
        loop {
            let seeds = self.next(AT_ONCE).await;
            if seeds.is_empty() {
                return Ok(());
            }
            store.offer(&seeds).await?;
        }
    }
}

impl Source for SeedSource {
    fn next(&self, max: usize) -> Boxed<'_, Vec<UrlRecord>> {
        let from = self.next.fetch_add(max, Ordering::Relaxed).min(self.urls.len());
        let to = self.urls.len().min(from + max);
        let seeds = self.urls[from..to].iter().map(|url| match self.are {
            SeedsAre::Pages => UrlRecord::page(url.clone(), 0),
            SeedsAre::Sitemaps => UrlRecord::sitemap(url.clone()),
            SeedsAre::Rules => UrlRecord::rules(url.clone()),
        });
        Box::pin(std::future::ready(seeds.collect()))
    }

    fn ack(&self, _: &[UrlKey]) -> Boxed<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn rewind(&self, epoch: u64) -> Boxed<'_, ()> {
        let mut rewound = self.rewound.lock().unwrap_or_else(PoisonError::into_inner);
        if rewound.replace(epoch) != Some(epoch) {
            self.next.store(0, Ordering::Relaxed);
        }
        Box::pin(std::future::ready(()))
    }
}
