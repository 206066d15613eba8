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
//!
//! The children of an index are requested in the order of their dates, the newest first. The first
//! [`FIRST_MAX`] of a host come before its pages. An index may name thousands more: these are
//! requested among the pages, [`FIRST_MAX`] of them before the pages of each further depth. So the
//! pages that are known are read before the next sitemaps name more, and a sitemap that names
//! nothing new delays no page for long.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::PoisonError;

use curtsy_core::robots::Robots;
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, HostKey, UrlKey};
use curtsy_parse::sitemap::{Child, Sitemap, SitemapKind};

use super::worth::place;
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
        if nesting(record) < NESTING_MAX {
            first.extend(self.children(record, &read, now));
        }
        let mut found = FoundUrls::new(self, record, PAGES_DEPTH, By::Sitemap);
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

    fn children(&self, record: &UrlRecord, index: &Sitemap, now: Time) -> Vec<UrlRecord> {
        let (roots, mut worth) = (self.roots(), self.worth());
        let first = self.first_sitemaps.lock();
        let mut first = first.unwrap_or_else(PoisonError::into_inner);
        let is_near = |url: &CrawlUrl| url.host() == record.url.host() || roots.contains(url);
        let mut children: Vec<&Child> =
            index.sitemaps.iter().filter(|child| is_near(&child.url)).collect();
        // A date in the future is a mistake, or a lie.
        let latest = i64::try_from(now.micros() / 1_000).unwrap_or(i64::MAX);
        let latest = latest.saturating_add(CLOCK_SLACK_MS);
        children.sort_by_key(|child| Reverse(child.modified_ms.filter(|ms| *ms <= latest)));
        let nesting = nesting(record) + 1;
        let mut later = 0;
        let mut offers = Vec::with_capacity(children.len());
        for Child { url, .. } in children {
            if *url == record.url || !worth.admits_sitemap(url, self.spec.sitemaps_max) {
                continue;
            }
            let is_later = matches!(record.want, Want::LaterSitemap { .. });
            if !is_later && first.takes(url) {
                offers.push(sitemap(url.clone(), nesting));
                continue;
            }
            // Those of an index that was later itself come no sooner.
            let after = if is_later { record.depth } else { PAGES_DEPTH + 1 };
            let depth = after.saturating_add(u16::try_from(later / FIRST_MAX).unwrap_or(u16::MAX));
            let want = Want::LaterSitemap { nesting };
            let worth = place::VOUCHED;
            offers.push(UrlRecord { want, worth, ..sitemap(url.clone(), depth) });
            later += 1;
        }
        offers
    }
}

/// The sitemaps of indexes that come before the pages of their hosts. The same are the first when
/// an index is read again.
#[derive(Debug, Default)]
pub(super) struct FirstSitemaps {
    of_hosts: HashMap<HostKey, HashSet<UrlKey>>,
}

impl FirstSitemaps {
    /// Takes a sitemap if it is among the first of its host. Returns whether it is.
    fn takes(&mut self, url: &CrawlUrl) -> bool {
        if self.of_hosts.len() >= HOSTS_MAX && !self.of_hosts.contains_key(url.host()) {
            // The hosts that were forgotten may have some more sitemaps first.
            self.of_hosts.clear();
        }
        let known = self.of_hosts.entry(url.host().clone()).or_default();
        known.contains(&url.key()) || known.len() < FIRST_MAX && known.insert(url.key())
    }
}

/// Returns the number of indexes above a sitemap.
fn nesting(record: &UrlRecord) -> u16 {
    match record.want {
        Want::LaterSitemap { nesting } => nesting,
        _ => record.depth,
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
/// The sitemaps of a host that indexes name and that are requested before its pages. Further ones
/// are requested among the pages, as many before each depth.
pub(crate) const FIRST_MAX: usize = 50;
/// The depth of the pages that sitemaps name.
const PAGES_DEPTH: u16 = 1;
/// Hosts whose first sitemaps are remembered.
const HOSTS_MAX: usize = 4_096;
/// How far in the future the date of a sitemap may be.
const CLOCK_SLACK_MS: i64 = 86_400_000;
/// Limit of the indexes above a sitemap.
pub(crate) const NESTING_MAX: u16 = 5;
/// Separates the records of sitemaps from those of pages.
const SITEMAP_MARK: u128 = 0x7369_7465_6d61_7020_6f66_2061_2073_6974;
