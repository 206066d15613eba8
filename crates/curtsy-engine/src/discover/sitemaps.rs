//! Which sitemaps are asked for, and what do they lead to?
//!
//! The order is the requirement's: those that robots.txt names, else `/sitemap.xml`, else
//! `/sitemap_index.xml`. They are asked for where the crawl begins: at the authorities of seeds,
//! and at those that seeds were redirected to. A sitemap that robots.txt names may lie on another
//! host, as the protocol has it (sitemaps.org, "Sitemaps & Cross Submits"); whatever it names must
//! lie in scope. What an index names lies on the host of the index or in scope.
//!
//! A sitemap is a record of its own, never that of a page with the same URL. Its `depth` counts the
//! indexes above it.

use std::collections::HashSet;

use curtsy_core::robots::Robots;
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_parse::sitemap::{Sitemap, SitemapKind};

use super::{By, Discovery, FoundUrls};
use crate::{Document, Head, RobotsFile, UrlRecord, Want};

impl UrlRecord {
    /// A sitemap as it is offered; never the record of a page with the same URL.
    pub fn sitemap(url: CrawlUrl) -> UrlRecord {
        sitemap(url, 0)
    }
}

impl Discovery {
    /// The sitemaps that are asked for before this page, if the crawl begins with it.
    pub(super) fn first_sitemaps(
        &self,
        record: &UrlRecord,
        robots: Option<&RobotsFile>,
    ) -> Vec<UrlRecord> {
        let begins = || record.depth == 0 || self.roots().is_moved(&record.url);
        let wanted =
            || !self.spec.sitemaps_of_sites || self.sites.contains(&record.origin.authority());
        // Where the usual sitemap is a seed, robots.txt may name others.
        let listed = record.want == Want::Sitemap && record.url.path_and_query() == USUAL[0];
        if !self.spec.follow_sitemaps
            || !(record.want == Want::Page || listed)
            || !begins()
            || !wanted()
        {
            return Vec::new();
        }
        let root = record.url.authority().root();
        let mut named = Vec::new();
        let mut seen = HashSet::new();
        if let Some(file) = robots {
            let robots = Robots::parse(&file.text);
            // A relative address is against the protocol, and clear enough.
            let urls = robots.sitemaps().filter_map(|(_, text)| root.join(text.trim()).ok());
            named.extend(urls.filter(|url| seen.insert(url.key())).take(NAMED_MAX));
        }
        if named.is_empty() && !listed {
            named.extend(root.join(USUAL[0]));
        }
        named.into_iter().map(|url| sitemap(url, 0)).collect()
    }

    /// Where a sitemap is usually found if not here.
    pub(super) fn next_sitemap(&self, record: &UrlRecord) -> Option<UrlRecord> {
        let first = record.want == Want::Sitemap
            && record.depth == 0
            && record.origin.path_and_query() == USUAL[0];
        let next = first.then(|| record.origin.join(USUAL[1]))?.ok()?;
        Some(sitemap(next, 0))
    }

    pub(super) fn read_sitemap(
        &self,
        record: &UrlRecord,
        head: &Head,
        body: &[u8],
        now: Time,
    ) -> Document {
        let content_type = head.content_type.as_deref();
        let read = Sitemap::read(&record.url, content_type, body, &self.sitemaps, now);
        let mut first = Vec::new();
        if read.kind == SitemapKind::None {
            first.extend(self.next_sitemap(record));
        }
        if record.depth < NESTING_MAX {
            first.extend(self.children(record, &read));
        }
        let mut found = FoundUrls::new(self, record, 1, By::Sitemap);
        found.offers.reserve(read.entries.len());
        read.entries.iter().for_each(|entry| found.add(&entry.url));
        {
            // One lock for a whole sitemap: what it names passes as a link too.
            let mut traps = self.traps();
            found.offers.iter().for_each(|offer| traps.note(&offer.url, offer.id));
        }
        let FoundUrls { mut offers, traps, .. } = found;
        // A document has children or entries, seldom both: the longer list stays where it is.
        offers.splice(0..0, first);
        Document { sitemap: Some(read), offers, traps, ..Document::default() }
    }

    fn children(&self, record: &UrlRecord, index: &Sitemap) -> Vec<UrlRecord> {
        let (roots, mut traps) = (self.roots(), self.traps());
        let is_near = |url: &CrawlUrl| url.host() == record.url.host() || roots.contains(url);
        let children = index.sitemaps.iter().map(|child| &child.url).filter(|url| is_near(url));
        children
            .filter(|url| **url != record.url && traps.admit_sitemap(url))
            .map(|url| sitemap(url.clone(), record.depth + 1))
            .collect()
    }
}

/// A sitemap as it is offered.
fn sitemap(url: CrawlUrl, nesting: u16) -> UrlRecord {
    let page = UrlRecord::page(url, nesting);
    let id = UrlKey::from_u128(page.id.as_u128() ^ SITEMAP_MARK);
    UrlRecord { id, want: Want::Sitemap, ..page }
}

/// Where sitemaps are usually found.
const USUAL: [&str; 2] = ["/sitemap.xml", "/sitemap_index.xml"];
/// Sitemaps of one robots.txt.
pub(crate) const NAMED_MAX: usize = 50;
/// Indexes above a sitemap.
pub(crate) const NESTING_MAX: u16 = 5;
/// Keeps the records of sitemaps apart from those of pages.
const SITEMAP_MARK: u128 = 0x7369_7465_6d61_7020_6f66_2061_2073_6974;
