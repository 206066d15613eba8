//! Finds the URLs of a crawl: the [`Reader`] of every face. Sitemaps come before links; scope,
//! filters and traps limit the rest.
//!
//! The sitemaps of a seed's authority are requested first (`entrances`). Then pages are read and
//! their links are offered. The order is breadth first: an offer is one link further from its seed
//! than its page, and the store hands out the earlier offers first. A found URL passes five checks,
//! the cheap ones first:
//!
//! 1. parameters that only trace visitors are removed (`tracking`), so that the requested URL is
//!    the one that the row names;
//! 2. the URL must be in scope (`scope`): the roots are the seeds, and the URLs to which seeds were
//!    redirected;
//! 3. it must match the user's patterns (`pattern`);
//! 4. it must not be among the offers of this page already;
//! 5. it must not look like one of endlessly many (`look`, with `session`), and the part of the site
//!    that it is in must be worth its requests (`worth`). If not, its row says so.
//!
//! The directives of a page are read whether its links are followed or not. The engine checks the
//! depth of a crawl, its pages and its robots.txt, and the store knows which URLs are known.
//!
//! The workers of a process share a [`Discovery`]. What it has learnt (roots, shapes) can be
//! restored after a restart: [`Discovery::admit_root`], [`Discovery::note_known`].

mod hashes;
mod look;
mod pattern;
mod scope;
mod session;
mod sitemaps;
mod spec;
#[cfg(test)]
mod tests;
mod tracking;
mod worth;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use curtsy_core::headers::RobotsRules;
use curtsy_core::host::{Friction, RequestKind, TrapReason, TrapShape};
use curtsy_core::time::Time;
use curtsy_core::url::{Authority, CrawlUrl, UrlKey};
use curtsy_parse::challenge::wall;
use curtsy_parse::content_type::BodyKind;
use curtsy_parse::sitemap::{self, Sitemap};
use curtsy_parse::{html, link_header};

use self::pattern::Patterns;
use self::scope::Roots;
use self::sitemaps::FirstSitemaps;
use self::worth::Worth;
use crate::{Document, Fetched, Head, Reader, RobotsFile, UrlRecord, Want};

pub(crate) use self::spec::SITEMAPS_MAX;
pub use self::spec::{DiscoveryError, DiscoverySpec, Scope};
pub use self::worth::{LeftLink, LeftRegion};
pub(crate) use pattern::{PATTERN_BYTES_MAX, PATTERNS_MAX};
pub(crate) use sitemaps::{FIRST_MAX, NAMED_MAX, NESTING_MAX};

/// The discovery of one crawl, for all workers of a process.
///
/// ```
/// use curtsy_core::time::Time;
/// use curtsy_core::url::CrawlUrl;
/// use curtsy_engine::discover::{Discovery, DiscoverySpec};
/// use curtsy_engine::{Fetched, Head, Reader, UrlRecord};
/// let seed = CrawlUrl::parse("https://example.org/").unwrap();
/// let spec = DiscoverySpec { seeds: vec![seed.clone()], ..DiscoverySpec::default() };
/// let discovery = Discovery::new(spec).unwrap();
/// let head = Head { status: 200, ..Head::default() };
/// let page = Fetched { body: "<a href=/about>us</a> <a href=//example.com/>them</a>".into() };
/// let found = discovery.read(&UrlRecord::page(seed, 0), &head, &page, Time::from_secs(0));
/// assert_eq!(found.offers.len(), 1);
/// assert_eq!(found.offers[0].url.as_str(), "https://example.org/about");
/// ```
#[derive(Debug)]
pub struct Discovery {
    spec: DiscoverySpec,
    patterns: Patterns,
    pages: html::PageLimits,
    sitemaps: sitemap::SitemapLimits,
    /// Authorities of seeds that are whole sites.
    sites: HashSet<Authority>,
    roots: RwLock<Roots>,
    first_sitemaps: Mutex<FirstSitemaps>,
    worth: Mutex<Worth>,
}

impl Discovery {
    /// Checks the specification and compiles its patterns.
    pub fn new(spec: DiscoverySpec) -> Result<Discovery, DiscoveryError> {
        spec.check()?;
        let patterns = Patterns::new(&spec.include, &spec.exclude)?;
        let agent = Some(spec.product.clone());
        let mut worth = Worth::new(spec.traps.clone(), spec.taken_whole.clone());
        spec.seeds.iter().for_each(|seed| worth.note(seed.key()));
        Ok(Discovery {
            patterns,
            pages: html::PageLimits { agent, ..html::PageLimits::default() },
            sitemaps: sitemap::SitemapLimits::default(),
            sites: {
                let sites = spec.seeds.iter().filter(|seed| seed.path_and_query() == "/");
                sites.map(CrawlUrl::authority).collect()
            },
            roots: RwLock::new(Roots::new(spec.scope, &spec.seeds)),
            first_sitemaps: Mutex::default(),
            worth: Mutex::new(worth),
            spec,
        })
    }

    /// Returns the specification.
    pub fn spec(&self) -> &DiscoverySpec {
        &self.spec
    }

    /// Adds a URL to which a seed was redirected to the roots. After a restart, it is called with
    /// the final URL of each redirected row at depth 0.
    pub fn admit_root(&self, root: &CrawlUrl) {
        // Most roots are known already, and a read lock is cheaper.
        if !self.roots().knows(root) {
            self.roots.write().unwrap_or_else(PoisonError::into_inner).admit_moved(root);
        }
    }

    /// Notes a URL that was taken before. After a restart, it is called in any order for each page
    /// that the store knows.
    pub fn note_known(&self, url: &CrawlUrl) {
        let mut worth = self.worth();
        worth.note(url.key());
        if let look::Appearance::Session(bare) = look::at(url, &self.spec.traps) {
            worth.takes_session(bare, url.key());
        }
    }

    /// Returns the parts of sites in which links were left, the largest first.
    pub fn left_regions(&self) -> Vec<LeftRegion> {
        self.worth().left_regions()
    }

    /// Returns whether the crawl takes a found URL: it is in scope and matches the patterns. Traps
    /// are not checked.
    pub fn wants(&self, url: &CrawlUrl) -> bool {
        self.roots().contains(url) && self.patterns.admit(url.as_str())
    }

    fn roots(&self) -> RwLockReadGuard<'_, Roots> {
        self.roots.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn worth(&self) -> std::sync::MutexGuard<'_, Worth> {
        self.worth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a seed to the roots, and the URL to which it was redirected.
    fn begin(&self, record: &UrlRecord) {
        if record.hop > 0 {
            self.admit_root(&record.url);
        }
        // A source may give seeds that the specification does not name.
        if !self.roots().contains(&record.origin) {
            let mut roots = self.roots.write().unwrap_or_else(PoisonError::into_inner);
            roots.admit(&record.origin);
        }
        self.note_known(&record.origin);
    }

    fn read_page(&self, record: &UrlRecord, head: &Head, body: &[u8], now: Time) -> Document {
        let content_type = head.content_type.as_deref();
        let tags = head.x_robots_tag.iter().map(String::as_str);
        let mut document = Document::default();
        match BodyKind::of(content_type, body) {
            BodyKind::Html => {
                let mut page = html::HtmlPage::read(&record.url, content_type, body, &self.pages);
                if page.canonical.is_none() && !head.link.is_empty() {
                    let lines = head.link.iter().map(String::as_str);
                    page.canonical = link_header::canonical(&record.url, lines);
                }
                document.rules = page.rules(tags, &self.spec.product, now);
                document.html = Some(page);
            }
            kind => {
                let mut rules = RobotsRules::default();
                tags.for_each(|line| rules.add_header(line, &self.spec.product, now));
                document.rules = rules;
                if kind == BodyKind::Feed {
                    let limits = &self.sitemaps;
                    let feed = Sitemap::read(&record.url, content_type, body, limits, now);
                    document.sitemap = Some(feed);
                }
            }
        }
        document
    }

    /// Returns the URLs of a page, in its order, its better address first.
    fn follow(&self, record: &UrlRecord, document: &mut Document) {
        let mut found = FoundUrls::new(self, record, record.depth.saturating_add(1), By::Link);
        // A page that was redirected out of the scope is kept, but its links are not followed.
        if !self.spec.follow_links || !found.roots.contains(&record.url) {
            return;
        }
        let respected = self.spec.respect_nofollow;
        let closed = respected && document.rules.nofollow;
        if let Some(page) = &document.html {
            found.offers.reserve(page.links.len());
            if let Some(canonical) = page.canonical.as_ref().filter(|_| self.spec.follow_canonical)
            {
                found.add_extra(canonical);
            }
            if !closed {
                page.refresh.iter().for_each(|url| found.add_extra(url));
                for link in page.links.iter().filter(|link| !(respected && link.nofollow)) {
                    found.add(&link.url);
                }
                page.frames.iter().for_each(|url| found.add_extra(url));
            }
        }
        if let Some(feed) = document.sitemap.as_ref().filter(|_| !closed) {
            feed.entries.iter().for_each(|entry| found.add(&entry.url));
        }
        let FoundUrls { offers, traps, .. } = found;
        (document.offers, document.traps) = (offers, traps);
    }

    /// Gives the links of a page their places in the queue, and removes those that lead nowhere.
    fn weigh(&self, record: &UrlRecord, head: &Head, body: &[u8], document: &mut Document) {
        if !self.spec.follow_links || !self.roots().contains(&record.url) {
            return;
        }
        let mut worth = self.worth();
        if worth.watches(&record.url) {
            let Document { html, offers, traps, .. } = document;
            worth.weigh(record, head, body, html.as_ref(), (offers, traps));
        }
    }
}

/// Returns a link without the parameters that only trace where a visitor came from, or `None` if it
/// has none of them.
pub fn without_tracking(url: &CrawlUrl) -> Option<CrawlUrl> {
    tracking::stripped(url)
}

impl Discovery {
    /// Adds the references of a page besides its links, as far as they are wanted: documents are
    /// offered as pages, other targets are only checked for existence.
    fn add_checks(&self, record: &UrlRecord, head: &Head, body: &[u8], document: &mut Document) {
        let Some(page) = &mut document.html else {
            return;
        };
        let spec = &self.spec;
        let mut found = FoundUrls::new(self, record, record.depth.saturating_add(1), By::Link);
        if !found.roots.contains(&record.url) {
            return;
        }
        let offered = document.offers.iter().map(|offer| offer.id);
        found.seen = Some(offered.chain(document.traps.iter().map(|(url, _)| url.key())).collect());
        if spec.check_external && !(spec.respect_nofollow && document.rules.nofollow) {
            let links = page.links.iter().filter(|link| !(spec.respect_nofollow && link.nofollow));
            for url in links.map(|link| &link.url).chain(&page.frames) {
                if !found.roots.contains(url) {
                    found.check(url);
                }
            }
        }
        let mut beyond = 0;
        if spec.check_assets {
            let content_type = head.content_type.as_deref();
            html::mentions(&record.url, content_type, body, |mention| {
                let Ok(url) = &mention.target else {
                    return;
                };
                let home = found.roots.contains(url);
                if found.offers.len() >= self.pages.links_max {
                    beyond += 1;
                } else if mention.used == html::Use::Related && home && spec.follow_links {
                    found.add(url);
                } else if mention.used.is_asset() && (home || spec.check_external) {
                    found.check(url);
                }
            });
        }
        page.cut.links += beyond;
        let FoundUrls { offers, traps, .. } = found;
        document.offers.extend(offers);
        document.traps.extend(traps);
    }
}

impl Reader for Discovery {
    fn read(&self, record: &UrlRecord, head: &Head, page: &Fetched, now: Time) -> Document {
        if record.want.is_sitemap() {
            return self.read_sitemap(record, head, &page.body, now);
        }
        if record.depth == 0 {
            self.begin(record);
        }
        if let Want::Check { .. } = record.want {
            return Document::default();
        }
        let mut document = self.read_page(record, head, &page.body, now);
        // The links of a login are its own, or behind it.
        if !document.is_login() {
            self.follow(record, &mut document);
            if self.spec.check_assets || self.spec.check_external {
                self.add_checks(record, head, &page.body, &mut document);
            }
            self.weigh(record, head, &page.body, &mut document);
        }
        document
    }

    fn friction(&self, kind: RequestKind, head: &Head, page: &Fetched) -> Option<Friction> {
        let others = head.others.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let location = head.location.iter().map(|value| ("location", value.as_str()));
        if wall(head.status, others.chain(location), &page.body).is_some() {
            return Some(Friction::Challenge);
        }
        is_unusual(kind, head, &page.body).then_some(Friction::Unusual)
    }

    fn leaves(&self, record: &UrlRecord) -> Option<LeftLink> {
        self.worth().leaves(record)
    }

    fn entrances(&self, record: &UrlRecord, robots: Option<&RobotsFile>) -> Vec<UrlRecord> {
        self.first_sitemaps(record, robots)
    }

    fn instead(&self, record: &UrlRecord) -> Vec<UrlRecord> {
        self.next_sitemap(record).into_iter().collect()
    }
}

/// Returns whether a page is empty, or has a status that HTTP does not have. `HEAD` has no body,
/// and robots.txt may be empty.
fn is_unusual(kind: RequestKind, head: &Head, body: &[u8]) -> bool {
    if !matches!(head.status, 100..=599) {
        return true;
    }
    let is_blank = || body.len() <= BLANK_BYTES_MAX && body.trim_ascii().is_empty();
    let as_page = || {
        let told = BodyKind::by_header(head.content_type.as_deref());
        matches!(told, None | Some(BodyKind::Html))
    };
    kind == RequestKind::Page && head.status == 200 && is_blank() && as_page()
}

/// The source of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// A page or a feed.
    Link,
    /// A sitemap: the site itself says that the page exists.
    Sitemap,
}

/// The URLs of one document.
struct FoundUrls<'d> {
    discovery: &'d Discovery,
    record: &'d UrlRecord,
    roots: RwLockReadGuard<'d, Roots>,
    /// Whether everything on the document's own host is in scope: most links are on it.
    home: bool,
    depth: u16,
    by: By,
    offers: Vec<UrlRecord>,
    traps: Vec<(CrawlUrl, TrapReason)>,
    /// Whether traps are looked for on the host of the document.
    watched: bool,
    /// Keys of the URLs so far, if a URL may come twice: the document itself names each only once.
    seen: Option<HashSet<UrlKey>>,
}

impl<'d> FoundUrls<'d> {
    fn new(discovery: &'d Discovery, record: &'d UrlRecord, depth: u16, by: By) -> FoundUrls<'d> {
        let roots = discovery.roots();
        FoundUrls {
            discovery,
            record,
            home: roots.by_host() && roots.contains(&record.url),
            roots,
            depth,
            by,
            offers: Vec::new(),
            traps: Vec::new(),
            watched: discovery.worth().watches(&record.url),
            seen: None,
        }
    }

    /// Adds a URL that is not in the document's own list.
    fn add_extra(&mut self, url: &CrawlUrl) {
        // Most pages name themselves as canonical.
        if *url != self.record.url {
            self.expect_repeats();
            self.add(url);
        }
    }

    fn add(&mut self, url: &CrawlUrl) {
        let spec = &self.discovery.spec;
        let mut url = Cow::Borrowed(url);
        if spec.strip_tracking
            && let Some(stripped) = tracking::stripped(&url)
        {
            self.expect_repeats();
            url = Cow::Owned(stripped);
        }
        let at_home = self.home && url.host() == self.record.url.host();
        if !at_home && !self.roots.contains(&url) || !self.discovery.patterns.admit(url.as_str()) {
            return;
        }
        let offer = UrlRecord::page(url.into_owned(), self.depth);
        if let Some(seen) = &mut self.seen
            && (!seen.insert(offer.id) || offer.url == self.record.url)
        {
            return;
        }
        match self.trap(&offer.url, offer.id) {
            None => self.offers.push(offer),
            Some(reason) => {
                if self.discovery.worth().leave(&offer.url, offer.id, reason).row {
                    self.traps.push((offer.url, reason));
                }
            }
        }
    }

    /// Adds a URL that is only checked for existence. Scope and the patterns to include do not
    /// apply to it.
    fn check(&mut self, url: &CrawlUrl) {
        let spec = &self.discovery.spec;
        let stripped = spec.strip_tracking.then(|| tracking::stripped(url)).flatten();
        let url = stripped.as_ref().unwrap_or(url);
        let is_new = self.seen.get_or_insert_default().insert(url.key());
        let wanted = !self.discovery.patterns.excludes(url.as_str());
        if is_new && wanted && look::too_long(url, &spec.traps).is_none() {
            self.offers.push(UrlRecord::check(url.clone(), self.depth));
        }
    }

    /// Returns the trap that a URL is by its look.
    fn trap(&self, url: &CrawlUrl, key: UrlKey) -> Option<TrapReason> {
        let limits = &self.discovery.spec.traps;
        if !self.watched {
            return None;
        }
        if self.by == By::Sitemap {
            return look::too_long(url, limits);
        }
        match look::at(url, limits) {
            look::Appearance::Plain => None,
            look::Appearance::Trap(reason) => Some(reason),
            look::Appearance::Session(bare) => {
                let limit = limits.sessions_max;
                let taken = self.discovery.worth().takes_session(bare, key);
                (!taken).then_some(TrapReason::Looks { trap: TrapShape::Session, limit })
            }
        }
    }

    fn expect_repeats(&mut self) {
        if self.seen.is_none() {
            let traps = self.traps.iter().map(|(url, _)| url.key());
            self.seen = Some(self.offers.iter().map(|offer| offer.id).chain(traps).collect());
        }
    }
}

/// A longer body is not blank, whatever it contains.
const BLANK_BYTES_MAX: usize = 64;
