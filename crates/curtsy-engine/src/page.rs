//! A fetched page, its reader, and its cache.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use curtsy_core::headers::RobotsRules;
use curtsy_core::host::{Friction, RequestKind, TrapReason};
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_parse::html;
use curtsy_parse::login::is_login_address;
use curtsy_parse::sitemap::Sitemap;

use crate::discover::LeftLink;
use crate::{Head, RobotsFile, UrlRecord};

/// A future of a trait object.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A body that was read to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// The bytes, decoded. Cheap to clone.
    pub body: Bytes,
}

/// Reads documents: their links, what they say about themselves, and whether they are friction. A
/// crawl's scope is part of its reader.
pub trait Reader {
    /// Reads a response, a page or a sitemap, at its final address (`record.url`).
    fn read(&self, record: &UrlRecord, head: &Head, page: &Fetched, now: Time) -> Document;

    /// Returns the friction of a response: a challenge, or something else that is unusual for the
    /// request. Must be cheap, because the host's slot is held meanwhile.
    fn friction(&self, kind: RequestKind, head: &Head, page: &Fetched) -> Option<Friction>;

    /// Returns whether a queued URL is left without a request, because the crawl has learnt that
    /// it leads nowhere.
    fn leaves(&self, record: &UrlRecord) -> Option<LeftLink> {
        let _ = record;
        None
    }

    /// Returns the URLs that are requested before this page, when a crawl comes to its authority
    /// for the first time: sitemaps. `robots` is the robots.txt in force.
    fn entrances(&self, record: &UrlRecord, robots: Option<&RobotsFile>) -> Vec<UrlRecord> {
        let _ = (record, robots);
        Vec::new()
    }

    /// Returns the URLs that are requested instead of a document that could not be fetched: the
    /// next usual place of a sitemap.
    fn instead(&self, record: &UrlRecord) -> Vec<UrlRecord> {
        let _ = record;
        Vec::new()
    }
}

/// What was read in a response.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The links of an HTML page, and what it says about itself.
    pub html: Option<html::HtmlPage>,
    /// What a sitemap lists.
    pub sitemap: Option<Sitemap>,
    /// The page's directives for robots, in its markup and its headers.
    pub rules: RobotsRules,
    /// The links that are offered to the frontier.
    pub offers: Vec<UrlRecord>,
    /// Links in scope that are not offered, because they look like traps.
    pub traps: Vec<(CrawlUrl, TrapReason)>,
}

impl Document {
    /// Whether the page is a login form, and hardly anything else.
    pub fn is_login(&self) -> bool {
        self.html.as_ref().is_some_and(|page| page.login)
    }
}

/// A page in its row: what the site sent, and what was read in it.
#[derive(Clone, Debug)]
pub struct Page {
    /// The head of the response; for a cached page, of its last response.
    pub head: Arc<Head>,
    /// The body; none if the policy does not keep it (`noindex`), or if it was not read.
    pub body: Option<Bytes>,
    /// What was read in the body.
    pub document: Document,
    /// What the cache keeps of the page.
    pub kept: Option<CachedPage>,
    /// The address that responded; none for a page from a cache.
    pub peer: Option<IpAddr>,
    /// From the request to the first byte of the response.
    pub latency: Option<Duration>,
    /// Where the content comes from.
    pub source: PageSource,
}

curtsy_core::word_enum! {
    /// Where the content of a page comes from.
    #[derive(Default)]
    pub enum PageSource {
        /// The site: this very response.
        #[default]
        Network = "network",
        /// The cache of this crawl.
        Crawl = "crawl",
        /// Another crawl of the same user.
        Shared = "shared",
        /// Another crawl; the page is stale, and is requested again meanwhile.
        Stale = "stale",
    }
}

impl Page {
    /// Whether it is a login form in place of the requested page. A login that was requested by its
    /// address is none, unless the request had credentials for the page behind it.
    pub(crate) fn is_login_wall(&self, requested: &CrawlUrl) -> bool {
        self.document.is_login() && (self.head.own || !is_login_address(requested))
    }
}

/// What a cache knows of a page without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedPage {
    /// When it stops being fresh.
    pub fresh_until: Time,
    /// Its ETag.
    pub etag: Option<String>,
    /// Its Last-Modified.
    pub last_modified: Option<String>,
}

/// A cache of pages. A lost cache costs requests, nothing else.
pub trait Cache {
    /// Announces lookups: a remote cache may make all of them at once.
    fn look_ahead(&self, keys: &[UrlKey]) -> Boxed<'_, ()> {
        let _ = keys;
        Box::pin(std::future::ready(()))
    }
    /// Returns what is known of a page, if it is cached.
    fn get(&self, key: UrlKey) -> Boxed<'_, Option<CachedPage>>;
    /// Returns a page with the head of its response, if it is cached. By default, no page is.
    fn page(&self, key: UrlKey) -> Boxed<'_, Option<(Arc<Head>, Fetched)>> {
        let _ = key;
        Box::pin(std::future::ready(None))
    }
    /// Returns the source of the page that [`page`](Self::page) returns.
    fn source(&self, key: UrlKey) -> Boxed<'_, PageSource> {
        let _ = key;
        Box::pin(std::future::ready(PageSource::Crawl))
    }
    /// Returns whether the page itself is cached, and keeps it until the response to a conditional
    /// request has arrived.
    fn hold(&self, key: UrlKey) -> Boxed<'_, bool> {
        let _ = key;
        Box::pin(std::future::ready(true))
    }
    /// Whether it caches that pages are missing (404, 410), so that they are not requested again
    /// while that is fresh.
    fn remembers_missing(&self) -> bool {
        false
    }
    /// Whether other crawls or other people read it. Pages that were requested with credentials are
    /// never put there.
    fn is_shared(&self) -> bool {
        true
    }
    /// Caches a page under the key of `record.url`. Without a response, the cached page has been
    /// confirmed. By default, nothing is cached.
    fn put(
        &self,
        record: &UrlRecord,
        page: CachedPage,
        response: Option<(&Arc<Head>, &Fetched)>,
    ) -> Boxed<'_, ()> {
        let _ = (record, page, response);
        Box::pin(std::future::ready(()))
    }
}
