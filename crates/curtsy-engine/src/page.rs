//! A fetched page: reading it and keeping it.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use curtsy_core::headers::RobotsRules;
use curtsy_core::host::{Friction, Kind, TrapReason};
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_parse::html;
use curtsy_parse::login::is_login_address;
use curtsy_parse::sitemap::Sitemap;

use crate::{Head, RobotsFile, UrlRecord};

/// A future of a trait object.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A body that was read to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// The bytes, decoded. Cheap to clone.
    pub body: Bytes,
}

/// Reads documents: what they lead to, what they say of themselves, and whether they are friction. A crawl's scope lives here.
pub trait Reader {
    /// Reads an answer of the site, a page or a sitemap, at its final address (`record.url`).
    fn read(&self, record: &UrlRecord, head: &Head, page: &Fetched, now: Time) -> Document;

    /// Whether the answer is a challenge or otherwise unusual, for what was asked. Asked while the host's slot is held: must be cheap.
    fn friction(&self, kind: Kind, head: &Head, page: &Fetched) -> Option<Friction>;

    /// What is asked for before this page: the sitemaps of its authority, when a crawl comes there first. The file is the robots.txt
    /// in force, if there is one.
    fn entrances(&self, record: &UrlRecord, robots: Option<&RobotsFile>) -> Vec<UrlRecord> {
        let _ = (record, robots);
        Vec::new()
    }

    /// What is asked for instead of a document that could not be had: the next place where a sitemap is usually found.
    fn instead(&self, record: &UrlRecord) -> Vec<UrlRecord> {
        let _ = record;
        Vec::new()
    }
}

/// What was read in an answer.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// What an HTML page links to and says of itself.
    pub html: Option<html::Page>,
    /// What a sitemap lists.
    pub sitemap: Option<Sitemap>,
    /// What page and headers ask of robots that have it.
    pub rules: RobotsRules,
    /// What is offered to the frontier.
    pub offers: Vec<UrlRecord>,
    /// What is not, although it is in scope: it looks like a trap.
    pub traps: Vec<(CrawlUrl, TrapReason)>,
}

impl Document {
    /// Whether it is a login form, and hardly anything else.
    pub fn is_login(&self) -> bool {
        self.html.as_ref().is_some_and(|page| page.login)
    }
}

/// A page as its row holds it: what the site sent, and what we read in it.
#[derive(Clone, Debug)]
pub struct Page {
    /// The head of the answer; of a page that we hold, that of its last answer.
    pub head: Arc<Head>,
    /// The body; none if the policy does not keep it (`noindex`), or if the answer had no use for one.
    pub body: Option<Bytes>,
    /// What was read in it.
    pub document: Document,
    /// What is kept of it for the next time.
    pub kept: Option<CachedPage>,
    /// The address that answered, if this answer came over a line.
    pub peer: Option<IpAddr>,
    /// From the request to the first byte of the answer.
    pub latency: Option<Duration>,
    /// Where its content comes from.
    pub source: PageSource,
}

/// Where the content of a page comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageSource {
    /// The site: this very answer.
    #[default]
    Network,
    /// What this crawl held.
    Crawl,
    /// What another crawl of the same user fetched.
    Shared,
    /// The same, although it is stale: it is asked for again meanwhile.
    Stale,
}

impl PageSource {
    /// The word for it, in columns, reports and answers.
    pub const fn name(self) -> &'static str {
        match self {
            PageSource::Network => "network",
            PageSource::Crawl => "crawl",
            PageSource::Shared => "shared",
            PageSource::Stale => "stale",
        }
    }
}

impl Page {
    /// Whether it is a login form in the place of the page that was asked for. Who asks for a login by its address gets it; whoever sent
    /// credentials wanted what is behind it.
    pub(crate) fn is_login_wall(&self, asked: &CrawlUrl) -> bool {
        self.document.is_login() && (self.head.own || !is_login_address(asked))
    }
}

/// What is kept of a page for the next time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedPage {
    /// Fresh until then.
    pub fresh_until: Time,
    /// Its ETag.
    pub etag: Option<String>,
    /// Its Last-Modified.
    pub last_modified: Option<String>,
}

/// Pages for the next time. Losing it costs requests, nothing else.
pub trait Cache {
    /// These are asked for soon: a cache that is far away may look for all of them at once.
    fn look_ahead(&self, keys: &[UrlKey]) -> Boxed<'_, ()> {
        let _ = keys;
        Box::pin(std::future::ready(()))
    }
    /// What is kept of a page.
    fn get(&self, key: UrlKey) -> Boxed<'_, Option<CachedPage>>;
    /// The page itself with the head of its answer, if it is kept.
    fn page(&self, key: UrlKey) -> Boxed<'_, Option<(Arc<Head>, Fetched)>>;
    /// Where the page comes from that [`page`](Self::page) gives.
    fn source(&self, key: UrlKey) -> Boxed<'_, PageSource> {
        let _ = key;
        Box::pin(std::future::ready(PageSource::Crawl))
    }
    /// A page is asked for with its validators: whether it is there itself, and stays there until that is answered.
    fn hold(&self, key: UrlKey) -> Boxed<'_, bool> {
        let _ = key;
        Box::pin(std::future::ready(true))
    }
    /// Whether it is told of pages that are not there (404, 410) too, so that they are not asked for again while that is fresh.
    fn remembers_missing(&self) -> bool {
        false
    }
    /// Whether other crawls or other people read it: what was asked for with credentials never gets there.
    fn is_shared(&self) -> bool {
        true
    }
    /// Keeps a page under the key of `asked.url`. Without an answer, the one that is held has been confirmed.
    fn put(
        &self,
        asked: &UrlRecord,
        page: CachedPage,
        answer: Option<(&Arc<Head>, &Fetched)>,
    ) -> Boxed<'_, ()>;
}
