//! The reader of a fleet's worker: whether a page is a page, its links if they are followed, and
//! the URLs of a sitemap.
//!
//! The URLs of a sitemap are queued with the number of the sitemap's own entry in the queue, so
//! they are fetched again whenever the sitemap is queued again. A sitemap counts for its own host
//! only.

use std::num::NonZeroU32;

use curtsy_core::host::{Friction, RequestKind};
use curtsy_core::policy::Policy;
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_engine::discover::{Discovery, DiscoveryError, DiscoverySpec, LeftLink};
use curtsy_engine::{Document, Fetched, Head, Reader, UrlRecord, Want, Wish};
use curtsy_parse::sitemap::{Sitemap, SitemapKind, SitemapLimits};
use curtsy_store::redis::SitemapEntry;

use super::FleetLog;

/// Indexes above a sitemap.
pub(crate) const NESTING_MAX: u16 = 3;
/// URLs of a sitemap and its nested sitemaps, unless its entry has a limit (sitemaps.org has this
/// number for one document).
pub(crate) const LISTED_MAX: u32 = 50_000;

/// Reads pages for consumers who read them themselves.
pub(super) struct FleetReader<'l> {
    discovery: Discovery,
    follow: bool,
    sitemaps: SitemapLimits,
    log: &'l FleetLog,
}

impl<'l> FleetReader<'l> {
    pub(super) fn new(
        policy: &Policy,
        follow: bool,
        log: &'l FleetLog,
    ) -> Result<FleetReader<'l>, DiscoveryError> {
        let discovery = Discovery::new(DiscoverySpec {
            follow_links: follow,
            follow_sitemaps: false,
            ..DiscoverySpec::default().under(policy)
        })?;
        Ok(FleetReader { discovery, follow, sitemaps: SitemapLimits::default(), log })
    }

    /// Returns the URLs of a queued sitemap: pages, and the sitemaps of an index, which share its
    /// limit.
    fn read_sitemap(
        &self,
        record: &UrlRecord,
        wish: &Wish,
        head: &Head,
        page: &Fetched,
        now: Time,
    ) -> Document {
        let content_type = head.content_type.as_deref();
        let listed = Sitemap::read(&record.url, content_type, &page.body, &self.sitemaps, now);
        let limit = SitemapEntry::read(&wish.spelt).and_then(|entry| entry.limit);
        let found = listing(record, wish, &listed, limit.map_or(LISTED_MAX, NonZeroU32::get));
        let fields = [
            ("host", record.url.host().as_str().into()),
            ("taken", found.offers.len().into()),
            ("elsewhere", found.elsewhere.into()),
            ("beyond", (found.beyond + listed.cut.entries).into()),
        ];
        let (event, message) = match listed.kind {
            SitemapKind::None => ("sitemap_unreadable", "what was sent is no sitemap"),
            _ => ("sitemap_read", "a sitemap was read"),
        };
        match listed.kind {
            SitemapKind::None => self.log.warn(event, message, &fields),
            _ => self.log.info(event, message, &fields),
        }
        Document { offers: found.offers, ..Document::default() }
    }
}

/// What a sitemap leads to.
struct ListedUrls {
    offers: Vec<UrlRecord>,
    /// URLs of other hosts, which are not its to name.
    elsewhere: usize,
    /// URLs beyond its bound, and sitemaps below too many indexes.
    beyond: usize,
}

fn listing(record: &UrlRecord, wish: &Wish, listed: &Sitemap, limit: u32) -> ListedUrls {
    // One that was redirected is at home where it was asked for, too.
    let is_own =
        |url: &CrawlUrl| [&record.url, &record.origin].iter().any(|u| u.host() == url.host());
    let wished = |url: &CrawlUrl, spelt: String| {
        let wish = Wish { spelt, number: wish.number, priority: wish.priority };
        UrlRecord::wished(url.clone(), wish)
    };
    let children = listed.sitemaps.iter().map(|child| &child.url).filter(|url| **url != record.url);
    let named = listed.entries.len() + listed.sitemaps.len();
    let children: Vec<&CrawlUrl> = children.filter(|url| is_own(url)).collect();
    let pages: Vec<&CrawlUrl> =
        listed.entries.iter().map(|entry| &entry.url).filter(|url| is_own(url)).collect();
    let own = children.len() + pages.len();

    // Pages come first. The rest of the limit is divided among nested sitemaps, so that it holds
    // whichever worker reads them.
    let limit = limit as usize;
    let deep = record.depth >= NESTING_MAX;
    let pages_max = pages.len().min(limit);
    let left = limit - pages_max;
    let shared = if deep { 0 } else { children.len().min(left) };
    let mut offers = Vec::with_capacity(pages_max + shared);
    for (n, url) in children.iter().take(shared).enumerate() {
        let share = left / shared + usize::from(n < left % shared);
        let limit = u32::try_from(share).ok().and_then(NonZeroU32::new);
        let entry = SitemapEntry { url: url.as_str(), limit }.to_string();
        let depth = record.depth + 1;
        offers.push(UrlRecord { want: Want::Sitemap, depth, ..wished(url, entry) });
    }
    offers.extend(pages.iter().take(pages_max).map(|url| wished(url, url.as_str().to_owned())));
    ListedUrls { elsewhere: named - own, beyond: own - offers.len(), offers }
}

impl Reader for FleetReader<'_> {
    fn read(&self, record: &UrlRecord, head: &Head, page: &Fetched, now: Time) -> Document {
        if let (Want::Sitemap, Some(wish)) = (&record.want, &record.wish) {
            return self.read_sitemap(record, wish, head, page, now);
        }
        if !self.follow {
            // Nobody asks what is in it: its consumers read it.
            return Document::default();
        }
        if record.depth == 0 {
            self.discovery.admit_root(&record.url);
        }
        self.discovery.read(record, head, page, now)
    }

    fn friction(&self, kind: RequestKind, head: &Head, page: &Fetched) -> Option<Friction> {
        self.discovery.friction(kind, head, page)
    }

    fn leaves(&self, record: &UrlRecord) -> Option<LeftLink> {
        self.discovery.leaves(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use curtsy_engine::Priority;

    /// What a sitemap at `https://a.test/s.xml` with this bound leads to, so deep below indexes.
    #[track_caller]
    fn check(limit: u32, depth: u16, xml: &str, expected: &[&str]) {
        let url = CrawlUrl::parse("https://a.test/s.xml").unwrap();
        let wish = Wish {
            spelt: "sitemap:https://a.test/s.xml".into(),
            number: 7,
            priority: Priority::Low,
        };
        let record = UrlRecord {
            want: Want::Sitemap,
            depth,
            ..UrlRecord::wished(url.clone(), wish.clone())
        };
        let listed = Sitemap::read(
            &url,
            None,
            xml.as_bytes(),
            &SitemapLimits::default(),
            Time::from_secs(0),
        );
        let found = listing(&record, &wish, &listed, limit);
        let told: Vec<String> = found
            .offers
            .iter()
            .map(|offer| {
                let wish = offer.wish.as_deref().unwrap();
                assert_eq!((wish.number, wish.priority), (7, Priority::Low));
                let sitemap = wish.spelt.starts_with("sitemap:");
                assert_eq!(offer.want == Want::Sitemap, sitemap);
                assert_eq!(offer.depth, if sitemap { depth + 1 } else { 0 });
                wish.spelt.replace("https://a.test", "")
            })
            .collect();
        assert_eq!(told, expected);
    }

    fn xml(root: &str, entry: &str, urls: &[&str]) -> String {
        let entries = urls.iter().map(|url| format!("<{entry}><loc>{url}</loc></{entry}>"));
        format!("<{root}>{}</{root}>", entries.collect::<String>())
    }

    #[test]
    fn a_sitemap_leads_to_pages_of_its_own_host() {
        let urls =
            ["https://a.test/1", "https://b.test/2", "http://a.test/3", "https://www.a.test/4"];
        check(9, 0, &xml("urlset", "url", &urls), &["/1", "http://a.test/3"]);
        check(1, 0, &xml("urlset", "url", &urls), &["/1"]);
        check(9, 3, &xml("urlset", "url", &urls), &["/1", "http://a.test/3"]);
    }

    #[test]
    fn an_index_shares_its_bound_among_its_sitemaps_and_has_only_so_many_below_it() {
        let urls = [
            "https://a.test/1.xml",
            "https://a.test/s.xml",
            "https://b.test/2.xml",
            "https://a.test/3.xml",
        ];
        let index = xml("sitemapindex", "sitemap", &urls);
        check(101, 0, &index, &["sitemap:51:/1.xml", "sitemap:50:/3.xml"]);
        check(1, 0, &index, &["sitemap:1:/1.xml"]);
        check(100, 2, &index, &["sitemap:50:/1.xml", "sitemap:50:/3.xml"]);
        check(100, 3, &index, &[]);
    }

    #[test]
    fn what_is_no_sitemap_leads_nowhere() {
        check(9, 0, "<html><a href=/x>x</a></html>", &[]);
        check(9, 0, "", &[]);
    }
}
