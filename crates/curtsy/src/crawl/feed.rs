//! Seeds on their way into the store.

use std::cell::{Cell, RefCell};

use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_engine::{Boxed, Source, UrlRecord};

use super::SeedsAre;

/// The seeds of a crawl. The store knows which of them it has seen before, so each run offers all of them.
pub(super) struct Seeds {
    urls: Vec<CrawlUrl>,
    are: SeedsAre,
    next: Cell<usize>,
    rewound: RefCell<Option<u64>>,
}

impl Seeds {
    pub(super) fn new(urls: Vec<CrawlUrl>, are: SeedsAre) -> Seeds {
        Seeds { urls, are, next: Cell::new(0), rewound: RefCell::default() }
    }
}

impl Source for Seeds {
    fn next(&self, max: usize) -> Boxed<'_, Vec<UrlRecord>> {
        let from = self.next.get();
        let to = self.urls.len().min(from + max);
        self.next.set(to);
        let seeds = self.urls[from..to].iter().map(|url| match self.are {
            SeedsAre::Pages => UrlRecord::page(url.clone(), 0),
            SeedsAre::Sitemaps => UrlRecord::sitemap(url.clone()),
        });
        Box::pin(std::future::ready(seeds.collect()))
    }

    fn ack(&self, _: &[UrlKey]) -> Boxed<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn rewind(&self, epoch: u64) -> Boxed<'_, ()> {
        if self.rewound.replace(Some(epoch)) != Some(epoch) {
            self.next.set(0);
        }
        Box::pin(std::future::ready(()))
    }
}
