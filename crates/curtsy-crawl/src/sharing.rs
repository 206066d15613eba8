//! Pages that are held: by the crawl itself, or by any crawl of the same user on this machine.
//!
//! A fetched page is written to the shared cache before its lease ends, so a crawl that waited for
//! this page finds it there. Each crawl decides how long the page is fresh, from its head and the
//! time of its answer: a page that one crawl keeps for a day may be stale for another.
//!
//! Pages of a host for which the policy has credentials are private to the crawl: they are neither
//! written to the cache nor read from it.
//!
//! A page is shared only between crawls that would reach the same server in the same way. Crawls
//! with a proxy or pinned names share with crawls that have the same proxy and pins. A page from an
//! address that is not public is for crawls that allow the same networks and hosts. So a page of a
//! test server or an intranet never replaces a page of the public site with the same name.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use curtsy_core::policy::{CacheMode, Noindex};
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, HostKey, UrlKey};
use curtsy_engine::answer::{keep, stale_while_revalidate};
use curtsy_engine::{
    Batch, Boxed, Cache, CachedPage, Ending, Fetched, Head, PageSource, Sink, SinkError, UrlRecord,
};
use curtsy_fetch::FetchSettings as OutletSettings;
use curtsy_store::{MachineStore, SHARED_BYTES, SharedPage, SharedPages, StoreHandle, SystemClock};

use crate::JobSpec;

/// Whether a crawl uses the page cache that all crawls of a user share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSharing {
    /// The cache is neither read nor written.
    Off,
    /// The cache is used, up to this size.
    On {
        /// The largest size in bytes.
        bytes_max: u64,
    },
}

impl Default for PageSharing {
    fn default() -> PageSharing {
        PageSharing::On { bytes_max: SHARED_BYTES }
    }
}

/// How often deletions by other processes are noticed.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The largest number of pages in memory that are being revalidated.
pub(crate) const PINNED_MAX: usize = 1024;

/// The shared cache as a crawl uses it.
#[derive(Clone)]
pub(crate) struct Sharing {
    pub(crate) pages: SharedPages,
    spec: JobSpec,
    /// Hosts for which the policy has credentials.
    private: Vec<HostKey>,
    /// A number for the route to public servers.
    way: u64,
    /// A number for the route to other servers.
    way_inside: u64,
}

/// A page of the shared cache.
pub(crate) struct SharedCopy {
    pub(crate) head: Arc<Head>,
    /// When its response arrived, or was last confirmed.
    pub(crate) at: Time,
    pub(crate) kept: CachedPage,
    /// Until when it may be used during revalidation.
    pub(crate) usable_until: Time,
}

/// A complete page of the shared cache.
#[derive(Clone)]
pub(crate) struct CheckedCopy {
    at: Time,
    pub(crate) head: Arc<Head>,
    pub(crate) body: Bytes,
}

impl Sharing {
    /// Opens the page cache beside a crawl's ledger, if the crawl uses it. Also returns an error of
    /// the cache, which never ends a crawl.
    pub(crate) fn open(spec: &JobSpec) -> (Option<Sharing>, Option<String>) {
        let (PageSharing::On { bytes_max }, Some(ledger)) = (spec.sharing, spec.ledger.file())
        else {
            return (None, None);
        };
        if spec.policy.cache.mode == CacheMode::Off {
            return (None, None);
        }
        match SharedPages::open(&SharedPages::beside(ledger), bytes_max) {
            Ok((pages, said)) => {
                let private = spec.policy.own_hosts().into_iter().map(|own| own.at.host).collect();
                let (way, way_inside) = ways(&spec.outlet);
                (Some(Sharing { pages, spec: spec.clone(), private, way, way_inside }), said)
            }
            Err(error) => {
                let error = error.to_string();
                let why = error.lines().next().unwrap_or_default();
                (None, Some(format!("this crawl goes without the page cache: {why}")))
            }
        }
    }

    /// Flushes the cache before a worker's leases are released.
    pub(crate) fn before_leases_end(&self, store: &StoreHandle<SystemClock>) {
        let pages = self.pages.clone();
        store.before_writing(move || pages.flush());
    }

    /// Returns a crawl's own pages, with the shared cache behind them.
    pub(crate) fn behind<'c>(
        &self,
        own: Box<dyn Cache + 'c>,
        crawl: &'c MachineStore,
    ) -> Shelves<'c> {
        let (pinned, last, looked) = (RefCell::default(), RefCell::default(), Cell::new(None));
        Shelves { own, shared: self.clone(), crawl, pinned, last, looked }
    }

    /// Returns a cached page that this crawl may use, fresh or not.
    pub(crate) fn find(&self, key: UrlKey) -> Option<SharedCopy> {
        let page = self.pages.look(key)?;
        if self.private.iter().any(|host| page.may_be_of(host)) {
            return None;
        }
        let SharedPage { at, head, variant, .. } = page;
        if variant != self.variant(&head)? {
            return None;
        }
        let policy = &self.spec.policy;
        let kept = keep(&head, policy, at).filter(|kept| is_of_use(kept, &head, at))?;
        let longer = match policy.cache.stale_while_revalidate {
            true => stale_while_revalidate(&head, at),
            false => Duration::ZERO,
        };
        Some(SharedCopy { usable_until: kept.fresh_until + longer, head, at, kept })
    }

    /// Returns a page with its body, if it is complete.
    pub(crate) fn page(&self, key: UrlKey) -> Option<CheckedCopy> {
        let (page, body) = self.pages.page(key)?;
        Some(CheckedCopy { at: page.at, head: page.head, body })
    }

    fn put(&self, url: &CrawlUrl, at: Time, kept: &CachedPage, head: &Arc<Head>, body: &Bytes) {
        if !self.is_private(url, Some(head))
            && is_of_use(kept, head, at)
            && let Some(variant) = self.variant(head)
        {
            self.pages.put(url, at, variant, head, body);
        }
    }

    /// Whether a page is private to this crawl, because its request has credentials.
    fn is_private(&self, url: &CrawlUrl, head: Option<&Head>) -> bool {
        head.is_some_and(|head| head.own) || self.private.contains(url.host())
    }

    /// Returns a number for the request headers by which an answer varies and for the route to the
    /// server; none if they are not known (RFC 9111 §4.1).
    fn variant(&self, head: &Head) -> Option<u64> {
        let lines = head.others.iter().filter(|(name, _)| name == "vary");
        let names = lines.flat_map(|(_, line)| line.split(','));
        let mut names: Vec<String> = names.map(|name| name.trim().to_ascii_lowercase()).collect();
        names.sort();
        names.dedup();
        let mut said = if head.inside { self.way_inside } else { self.way };
        for name in names {
            if name == "*" {
                return None;
            }
            let value = self.spec.outlet.says(&name, &self.spec.user_agent);
            said = fnv(said, name.bytes().chain([0]).chain(value.unwrap_or_default().bytes()));
        }
        Some(said)
    }
}

/// Returns two numbers for the routes of a crawl, to public servers and to others. Crawls with the
/// same settings have the same numbers.
fn ways(outlet: &OutletSettings) -> (u64, u64) {
    let OutletSettings { proxies, pins, allow_net, named, .. } = outlet;
    let way = match (proxies.any(), pins.as_slice()) {
        (None, []) => FNV_START,
        _ => fnv(FNV_START, format!("{proxies:?} {pins:?}").bytes()),
    };
    (way, fnv(way, format!("{allow_net:?} {named:?}").bytes()))
}

/// FNV-1a: the same in every build of the program.
fn fnv(start: u64, bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// Whether a page is worth keeping by the policy of the crawl that fetched it: it is fresh for a
/// while, has a validator, or may be used during revalidation.
fn is_of_use(kept: &CachedPage, head: &Head, at: Time) -> bool {
    let validated = kept.etag.is_some() || kept.last_modified.is_some();
    kept.fresh_until > at || validated || !stale_while_revalidate(head, at).is_zero()
}

/// Pages that the policy does not keep are not kept for others, nor are login pages in the place of
/// pages. A page has to be read to be recognised as such.
impl Sink for Sharing {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        let by_itself = self.spec.policy.cache.noindex != Noindex::Mark;
        for row in &batch.rows {
            let Some(page) = row.page.as_deref() else { continue };
            let login = matches!(row.ending, Ending::LoginWall(_)) && page.document.is_login();
            let unwanted = login || by_itself && page.document.rules.noindex;
            if unwanted && !self.is_private(&row.final_url, Some(&page.head)) {
                let key = row.final_url.key();
                self.pages.forget(|found| found == key);
            }
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A crawl's own pages, with the shared cache behind them.
pub(crate) struct Shelves<'c> {
    own: Box<dyn Cache + 'c>,
    shared: Sharing,
    crawl: &'c MachineStore,
    /// Pages of the shared cache that are being revalidated. They must still exist when the server
    /// answers "not modified".
    pinned: RefCell<HashMap<UrlKey, CheckedCopy>>,
    /// The page that was read last. It is usually needed next.
    last: RefCell<Option<(UrlKey, CheckedCopy)>>,
    /// The time of the last refresh, and the ledger's count of changes by others at that time.
    looked: Cell<Option<(Time, u64)>>,
}

impl Shelves<'_> {
    /// Returns the copy of a page that is fresh longest, and its source.
    fn best(&self, own: Option<CachedPage>, key: UrlKey) -> (Option<CachedPage>, PageSource) {
        self.keep_up();
        let shared = self.shared.find(key);
        match (own, shared) {
            (Some(own), Some(shared)) if shared.kept.fresh_until <= own.fresh_until => {
                (Some(own), PageSource::Crawl)
            }
            // The same page: only its freshness is newer.
            (Some(own), Some(shared)) if own.etag.is_some() && own.etag == shared.kept.etag => {
                (Some(shared.kept), PageSource::Crawl)
            }
            // A page that counts as held is not requested, so it must be complete.
            (_, Some(shared)) if self.read(key, shared.at).is_some() => {
                (Some(shared.kept), PageSource::Shared)
            }
            (own, _) => (own, PageSource::Crawl),
        }
    }

    /// Reads the pages that other crawls have added. A page is written before its lease ends, and
    /// the end of a lease is a write to the ledger: without such a write there is nothing new.
    /// Removed pages are noticed a second later.
    fn keep_up(&self) {
        let (now, others) = self.crawl.now_and_others();
        let known =
            self.looked.get().is_some_and(|(at, then)| then == others && now < at + LOOK_EVERY);
        if !known {
            self.shared.pages.refresh();
            self.looked.set(Some((now, others)));
        }
    }

    /// Returns a complete cached page as of its last confirmation.
    fn read(&self, key: UrlKey, at: Time) -> Option<CheckedCopy> {
        let mut last = self.last.borrow_mut();
        if !last.as_ref().is_some_and(|(known, page)| *known == key && page.at == at) {
            *last = self.shared.page(key).map(|page| (key, page));
        }
        last.as_ref().map(|(_, page)| page.clone())
    }

    /// Returns the page that was read last, or reads it.
    fn take(&self, key: UrlKey) -> Option<CheckedCopy> {
        match self.last.borrow_mut().take() {
            Some((known, page)) if known == key => Some(page),
            _ => self.shared.page(key),
        }
    }
}

impl Cache for Shelves<'_> {
    fn look_ahead(&self, keys: &[UrlKey]) -> Boxed<'_, ()> {
        self.own.look_ahead(keys)
    }

    fn get(&self, key: UrlKey) -> Boxed<'_, Option<CachedPage>> {
        let own = self.own.get(key);
        Box::pin(async move { self.best(own.await, key).0 })
    }

    fn page(&self, key: UrlKey) -> Boxed<'_, Option<(Arc<Head>, Fetched)>> {
        let pinned = self.pinned.borrow_mut().remove(&key);
        let own = self.own.get(key);
        Box::pin(async move {
            let fetched = |page: CheckedCopy| (page.head, Fetched { body: page.body });
            if pinned.is_some() {
                return pinned.map(fetched);
            }
            match self.best(own.await, key).1 {
                PageSource::Crawl => self.own.page(key).await,
                _ => self.take(key).map(fetched),
            }
        })
    }

    fn source(&self, key: UrlKey) -> Boxed<'_, PageSource> {
        let pinned = self.pinned.borrow().contains_key(&key);
        let own = self.own.get(key);
        Box::pin(
            async move { if pinned { PageSource::Shared } else { self.best(own.await, key).1 } },
        )
    }

    fn hold(&self, key: UrlKey) -> Boxed<'_, bool> {
        let own = self.own.get(key);
        Box::pin(async move {
            if self.best(own.await, key).1 == PageSource::Crawl {
                return true;
            }
            let Some(page) = self.take(key) else { return false };
            let mut pinned = self.pinned.borrow_mut();
            if pinned.len() >= PINNED_MAX {
                // Pages whose responses never came.
                pinned.clear();
            }
            pinned.insert(key, page);
            true
        })
    }

    /// The shared cache excludes private pages by itself.
    fn is_shared(&self) -> bool {
        self.own.is_shared()
    }

    fn remembers_missing(&self) -> bool {
        true
    }

    fn put(
        &self,
        asked: &UrlRecord,
        page: CachedPage,
        answer: Option<(&Arc<Head>, &Fetched)>,
    ) -> Boxed<'_, ()> {
        let (key, now) = (asked.url.key(), self.crawl.now());
        match answer {
            Some((head, fetched)) => {
                self.pinned.borrow_mut().remove(&key);
                self.shared.put(&asked.url, now, &page, head, &fetched.body);
                if head.status >= 400 && !self.own.remembers_missing() {
                    return Box::pin(std::future::ready(()));
                }
                self.own.put(asked, page, answer)
            }
            None => {
                if !self.shared.is_private(&asked.url, None) {
                    self.shared.pages.confirm(key, now);
                }
                let pinned = self.pinned.borrow().get(&key).cloned();
                let pinned = pinned.map(|page| (page.head, Fetched { body: page.body }));
                // The page of another crawl becomes one of this crawl.
                self.own.put(asked, page, pinned.as_ref().map(|(head, page)| (head, page)))
            }
        }
    }
}
