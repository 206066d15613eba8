//! Chooses which sitemaps are requested, and offers their URLs.
//!
//! The requirement sets the order: the sitemaps of robots.txt, else `/sitemap.xml`, else
//! `/sitemap_index.xml`. They are requested where the crawl begins: at the authorities of seeds,
//! and at those to which seeds were redirected. A sitemap of robots.txt may be on another host, as
//! the protocol allows (sitemaps.org, "Sitemaps & Cross Submits"), but its URLs must be in scope.
//! The sitemaps of an index are on the host of the index or in scope.
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
    /// Returns the record of a sitemap, which is never that of a page with the same URL.
    pub fn sitemap(url: CrawlUrl) -> UrlRecord {
        sitemap(url, 0)
    }
}

impl Discovery {
    /// Returns the sitemaps to request before this page, if the crawl begins with it.
    pub(super) fn first_sitemaps(
        &self,
        record: &UrlRecord,
        robots: Option<&RobotsFile>,
    ) -> Vec<UrlRecord> {
        let begins = || record.depth == 0 || self.roots().is_moved(&record.url);
        let wanted =
            || !self.spec.sitemaps_of_sites || self.sites.contains(&record.origin.authority());
        // If the usual sitemap is a seed, robots.txt may name others.
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
            // A relative address is against the protocol, but clear enough.
            let urls = robots.sitemaps().filter_map(|(_, text)| root.join(text.trim()).ok());
            named.extend(urls.filter(|url| seen.insert(url.key())).take(NAMED_MAX));
        }
        if named.is_empty() && !listed {
            named.extend(root.join(USUAL[0]));
        }
        named.into_iter().map(|url| sitemap(url, 0)).collect()
    }

    /// Returns the next usual place of a sitemap.
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
            // One lock for a whole sitemap: its URLs also pass as links.
            let mut worth = self.worth();
            found.offers.iter().for_each(|offer| worth.note(offer.id));
        }
        let FoundUrls { mut offers, traps, .. } = found;
        // A document has children or entries, seldom both: the longer list stays in place.
        offers.splice(0..0, first);
        Document { sitemap: Some(read), offers, traps, ..Document::default() }
    }

    fn children(&self, record: &UrlRecord, index: &Sitemap) -> Vec<UrlRecord> {
        let (roots, mut worth) = (self.roots(), self.worth());
        let is_near = |url: &CrawlUrl| url.host() == record.url.host() || roots.contains(url);
        let children = index.sitemaps.iter().map(|child| &child.url).filter(|url| is_near(url));
        children
            .filter(|url| **url != record.url && worth.admits_sitemap(url, self.spec.sitemaps_max))
            .map(|url| sitemap(url.clone(), record.depth + 1))
            .collect()
    }
}

/// Returns the record of a sitemap, as it is offered.
fn sitemap(url: CrawlUrl, nesting: u16) -> UrlRecord {
    let page = UrlRecord::page(url, nesting);
    let id = UrlKey::from_u128(page.id.as_u128() ^ SITEMAP_MARK);
    UrlRecord { id, want: Want::Sitemap, ..page }
}

/// The usual places of sitemaps.
const USUAL: [&str; 2] = ["/sitemap.xml", "/sitemap_index.xml"];
/// Limit of the sitemaps of one robots.txt.
pub(crate) const NAMED_MAX: usize = 50;
/// Limit of the indexes above a sitemap.
pub(crate) const NESTING_MAX: u16 = 5;
/// Separates the records of sitemaps from those of pages.
const SITEMAP_MARK: u128 = 0x7369_7465_6d61_7020_6f66_2061_2073_6974;
