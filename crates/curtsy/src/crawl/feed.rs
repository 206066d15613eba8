//! Seeds on their way into the store.

use std::cell::{Cell, RefCell};

use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_engine::{Boxed, Source, UrlRecord};

/// The seeds of a crawl. The store knows which of them it has seen before, so each run offers all of them.
pub(super) struct Seeds {
    urls: Vec<CrawlUrl>,
    next: Cell<usize>,
    rewound: RefCell<Option<u64>>,
}

impl Seeds {
    pub(super) fn new(urls: Vec<CrawlUrl>) -> Seeds {
        Seeds { urls, next: Cell::new(0), rewound: RefCell::default() }
    }
}

impl Source for Seeds {
    fn next(&self, max: usize) -> Boxed<'_, Vec<UrlRecord>> {
        let from = self.next.get();
        let to = self.urls.len().min(from + max);
        self.next.set(to);
        let seeds = self.urls[from..to].iter().map(|url| UrlRecord::page(url.clone(), 0));
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
