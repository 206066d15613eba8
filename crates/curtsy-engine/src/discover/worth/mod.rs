//! What pages are worth: whether they show anything new, and whether what they lead to ends.
//!
//! A page with news vouches for its links: they are requested, however many pages of their kind
//! there are. Links that only pages without news have are *doubted*. They come later in the queue,
//! and each region of a host has some credit for them (`regions`). So calendars, sort orders, soft
//! 404s, repeated paths and other spellings of one page end soon: there is nothing new in them. A
//! part of a site whose pages are all new, and lead only to more of their kind, is closed when the
//! links and a few dives show that it can have no end.
//!
//! Nothing is decided for a page that was offered by a sitemap, or that is a seed.
//!
//! All memory is bounded. The hashes of URLs and texts are in two generations (`generations`), the
//! regions too. What is forgotten counts as new again.

mod generations;
mod news;
mod regions;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use curtsy_core::host::{TrapReason, TrapShape};
use curtsy_core::policy::{TrapDetection, TrapPolicy};
use curtsy_core::url::{CrawlUrl, Region, UrlKey, folder};
use curtsy_parse::html::HtmlPage;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use self::generations::HashGenerations;
use self::news::{PageNews, news_of};
use self::regions::{Dive, RegionCounts, Regions};
use super::hashes::{ByHash, Folding};
use crate::{Head, UrlRecord, Want};

/// Places of a URL in its host's queue. A smaller number comes first.
pub(super) mod place {
    /// The next page of a dive. Seeds and the URLs of sitemaps have it too.
    pub(in crate::discover) const FIRST: u8 = 0;
    /// A link of a page with news.
    pub(in crate::discover) const VOUCHED: u8 = 1;
    /// A link that is this many pages without news away from one with news.
    pub(in crate::discover) const DOUBTED_MAX: u8 = 15;
}

/// What a crawl has learnt about the worth of pages.
#[derive(Debug)]
pub(super) struct Worth {
    limits: TrapPolicy,
    /// Hosts whose links are all taken.
    taken_whole: HashSet<String>,
    /// URLs that were offered, and with another mark those that were read.
    known: HashGenerations,
    texts: HashGenerations,
    /// Links into closed regions from pages of other regions, and doubted links that a page with
    /// news has too.
    vouched: HashGenerations,
    /// Links that were offered in doubt. A page with news may vouch for them later.
    doubted: HashGenerations,
    /// The shape of the page that has a doubted link: if the link has news, the page led to it.
    parents: ByHash<u64>,
    left: LeftLinks,
    sessions: SessionUrls,
    sitemaps: ByHash<u32>,
    regions: Regions,
    dives: ByHash<Dive>,
    /// Regions that are closed, and those without credit: while there are none, most checks are
    /// not needed.
    closed: u32,
    spent: u32,
    folding: Folding,
}

/// URLs with a session ID.
#[derive(Debug)]
struct SessionUrls {
    /// How many were taken, by their URL without the session.
    counts: ByHash<u32>,
    taken: HashGenerations,
}

/// Links that were left.
#[derive(Debug)]
struct LeftLinks {
    /// All of them, to count each once.
    seen: HashGenerations,
    /// How many, by region, for reports.
    sums: ByHash<LeftRegion>,
}

/// A part of a site in which links were left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftRegion {
    /// The host.
    pub host: String,
    /// The name of the part: `/item/N`.
    pub name: String,
    /// Why.
    pub reason: TrapReason,
    /// How many different links were left.
    pub links: u64,
}

/// A link that is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftLink {
    /// Why.
    pub reason: TrapReason,
    /// Whether it gets a row: most are only counted.
    pub row: bool,
}

/// The regions of one URL.
struct PlaceOf<'u> {
    url: &'u CrawlUrl,
    keys: [Option<u64>; 4],
}

impl<'u> PlaceOf<'u> {
    fn new(url: &'u CrawlUrl) -> PlaceOf<'u> {
        let host = xxh3_64_with_seed(url.host().as_str().as_bytes(), REGION_SEED);
        let keys = Region::ALL.map(|region| {
            let name = url.region(region)?;
            Some(xxh3_64_with_seed(name.as_bytes(), host.wrapping_add(region as u64)))
        });
        PlaceOf { url, keys }
    }

    fn host(&self) -> u64 {
        self.keys[Region::Host as usize].expect("every URL has a host")
    }

    fn shape(&self) -> u64 {
        self.keys[Region::Shape as usize].expect("every URL has a shape")
    }

    fn all(&self) -> impl Iterator<Item = (Region, u64)> {
        Region::ALL.into_iter().zip(self.keys).filter_map(|(region, key)| Some((region, key?)))
    }

    /// Returns the folder, or the host if there is none.
    fn around(&self) -> (Region, u64) {
        match self.keys[Region::Folder as usize] {
            Some(key) => (Region::Folder, key),
            None => (Region::Host, self.host()),
        }
    }

    /// The folders and the host: regions whose pages are found by their beginning.
    fn wide(&self) -> impl Iterator<Item = (Region, u64)> {
        self.all().filter(|(region, _)| *region != Region::Shape)
    }

    /// Returns the beginning of the paths in a wide region of this URL, or `None` if there is no
    /// such region.
    fn beginning(&self, region: Region) -> Option<&'u str> {
        match region {
            Region::Shape => None,
            Region::Subfolder => folder(self.url.path(), 2),
            Region::Folder => folder(self.url.path(), 1),
            Region::Host => Some("/"),
        }
    }

    /// Returns whether another URL is in a wide region of this one.
    fn has(&self, region: Region, other: &CrawlUrl) -> bool {
        other.host() == self.url.host()
            && self.beginning(region).is_some_and(|folder| other.path().starts_with(folder))
    }
}

impl Worth {
    pub(super) fn new(limits: TrapPolicy, taken_whole: HashSet<String>) -> Worth {
        let folding = Folding::new();
        let set = |max| HashGenerations::new(max, folding);
        Worth {
            limits,
            taken_whole,
            known: set(KNOWN_MAX),
            texts: set(TEXTS_MAX),
            vouched: set(LEFT_MAX),
            doubted: set(LEFT_MAX),
            parents: ByHash::with_hasher(folding),
            left: LeftLinks { seen: set(LEFT_MAX), sums: ByHash::with_hasher(folding) },
            sessions: SessionUrls { counts: ByHash::with_hasher(folding), taken: set(LEFT_MAX) },
            sitemaps: ByHash::with_hasher(folding),
            regions: Regions::new(folding),
            dives: ByHash::with_hasher(folding),
            closed: 0,
            spent: 0,
            folding,
        }
    }

    /// Returns the parts of sites in which links were left, the largest first.
    pub(super) fn left_regions(&self) -> Vec<LeftRegion> {
        let mut sums: Vec<LeftRegion> = self.left.sums.values().cloned().collect();
        sums.sort_by(|a, b| b.links.cmp(&a.links).then_with(|| a.name.cmp(&b.name)));
        sums
    }

    /// Returns whether traps of a host are looked for.
    pub(super) fn watches(&self, url: &CrawlUrl) -> bool {
        self.limits.detect == TrapDetection::On && !self.taken_whole.contains(url.host().as_str())
    }

    /// Notes a URL that was taken without a look at the page that has it.
    pub(super) fn note(&mut self, key: UrlKey) {
        self.known.insert(short(key));
    }

    /// Returns whether another URL with this session-free URL is taken.
    pub(super) fn takes_session(&mut self, bare: u64, key: UrlKey) -> bool {
        if self.sessions.taken.contains(short(key)) {
            return true;
        }
        if self.sessions.counts.len() >= SESSIONS_MAX {
            self.sessions.counts.clear();
        }
        let count = self.sessions.counts.entry(bare).or_default();
        if *count >= self.limits.sessions_max {
            return false;
        }
        *count += 1;
        self.sessions.taken.insert(short(key));
        true
    }

    /// Returns whether a sitemap is within the limit of its host.
    pub(super) fn admits_sitemap(&mut self, url: &CrawlUrl, max: u32) -> bool {
        let host = xxh3_64_with_seed(url.host().as_str().as_bytes(), SITEMAP_SEED);
        let hash = short(url.key()) ^ SITEMAP_SEED;
        if self.known.contains(hash) {
            return true;
        }
        if self.sitemaps.len() >= SESSIONS_MAX {
            self.sitemaps.clear();
        }
        let taken = self.sitemaps.entry(host).or_default();
        if *taken >= max {
            return false;
        }
        *taken += 1;
        self.known.insert(hash);
        true
    }

    /// Returns how a link is left: with a row, if it is the first time and there are not too many.
    pub(super) fn leave(&mut self, url: &CrawlUrl, key: UrlKey, reason: TrapReason) -> LeftLink {
        if !self.left.seen.insert(short(key)) {
            return LeftLink { reason, row: false };
        }
        let region = match reason {
            TrapReason::Looks { .. } => Region::Shape,
            TrapReason::Vain { region, .. } | TrapReason::Endless { region, .. } => region,
        };
        let place = PlaceOf::new(url);
        let region_key = place.keys[region as usize].unwrap_or_default();
        let known = self.left.sums.contains_key(&region_key);
        if !known && self.left.sums.len() >= SUMS_MAX {
            return LeftLink { reason, row: false };
        }
        let sum = self.left.sums.entry(region_key).or_insert_with(|| LeftRegion {
            host: url.host().as_str().to_owned(),
            name: url.region(region).unwrap_or_default(),
            reason,
            links: 0,
        });
        sum.links += 1;
        sum.reason = reason;
        LeftLink { reason, row: sum.links <= u64::from(self.limits.rows_max) }
    }

    /// Weighs a page that was read: gives its links their places, and removes those that are left.
    /// `left` gets the ones that have a row.
    pub(super) fn weigh(
        &mut self,
        record: &UrlRecord,
        head: &Head,
        body: &[u8],
        html: Option<&HtmlPage>,
        (offers, left): (&mut Vec<UrlRecord>, &mut Vec<(CrawlUrl, TrapReason)>),
    ) {
        let place = PlaceOf::new(&record.url);
        let own = short(record.id);
        let doubted = record.worth > place::VOUCHED;
        let mut are_new: Vec<bool> = offers.iter().map(|offer| self.is_new(offer)).collect();
        self.known.insert(own);
        self.known.insert(own ^ READ_MARK);
        self.known.insert(short(record.url.key()) ^ READ_MARK);
        if !doubted && !are_new.contains(&true) {
            // Most pages of a site are the last to be found. They need no comparison.
            self.count(&place, doubted, PageNews::Text);
            self.vouch(offers);
            return;
        }
        let news = match self.trusts(&place, own) {
            true => PageNews::Text,
            false => self.compare(&place, head, body, html, offers),
        };
        self.count(&place, doubted, news);
        if let Some(shape) = doubted.then(|| self.parents.remove(&own)).flatten() {
            self.refund(shape, news);
        }
        let worth = match news {
            PageNews::Text => place::VOUCHED,
            PageNews::Numbers => record.worth.max(place::VOUCHED),
            PageNews::Nothing => (record.worth.max(place::VOUCHED) + 1).min(place::DOUBTED_MAX),
        };
        offers.iter_mut().for_each(|offer| offer.worth = worth);
        let deep = u32::from(record.depth) >= self.limits.depth_max;
        if deep || self.closed > 0 || self.spent > 0 && worth > place::VOUCHED {
            let mut new = are_new.iter();
            let mut kept = Vec::with_capacity(are_new.len());
            offers.retain(|offer| {
                let is_new = new.next().is_some_and(|is_new| *is_new);
                let reason = is_new.then(|| self.refuses(&place, offer)).flatten();
                if let Some(reason) = reason
                    && self.leave(&offer.url, offer.id, reason).row
                {
                    left.push((offer.url.clone(), reason));
                }
                if reason.is_none() {
                    kept.push(is_new);
                }
                reason.is_none()
            });
            are_new = kept;
        }
        self.count_links(&place, offers, &are_new);
        self.dive(&place, own, offers, &are_new);
        for (offer, _) in offers.iter().zip(&are_new).filter(|(_, is_new)| **is_new) {
            let hash = short(offer.id);
            self.known.insert(hash);
            if worth > place::VOUCHED {
                self.doubt(hash, place.shape());
            }
            if self.closed > 0 && worth == place::VOUCHED {
                // A link from elsewhere into a closed region is taken when its turn comes.
                self.vouched.insert(hash);
            }
        }
        if worth == place::VOUCHED {
            self.vouch(offers);
        }
    }

    /// Returns whether a page needs no comparison, because many pages around it had news. One of
    /// eight is compared all the same.
    fn trusts(&self, place: &PlaceOf<'_>, own: u64) -> bool {
        let around = self.regions.get(place.around().1);
        let sampled = self.folding.fold(own).is_multiple_of(SAMPLED);
        !sampled && around.is_some_and(|counts| counts.news_in_a_row >= TRUSTED_AFTER)
    }

    /// Compares a page with those of its host that were read before.
    fn compare(
        &mut self,
        place: &PlaceOf<'_>,
        head: &Head,
        body: &[u8],
        html: Option<&HtmlPage>,
        offers: &[UrlRecord],
    ) -> PageNews {
        let title = html.and_then(|page| page.title.as_deref());
        let content_type = head.content_type.as_deref();
        let news = news_of(&mut self.texts, place.url, content_type, title, body);
        let read = self.regions.get(place.host()).map_or(0, |host| host.read);
        let is_news =
            read < YOUNG_HOST || news == PageNews::Nothing && self.lists_news(place, offers);
        let news = if is_news { PageNews::Text } else { news };
        let born = self.known.turns;
        let (region, key) = place.around();
        let credit = self.credit(region);
        let counts = self.regions.of(key, || RegionCounts::new(credit, born));
        counts.news_in_a_row =
            if news == PageNews::Text { counts.news_in_a_row.saturating_add(1) } else { 0 };
        news
    }

    /// Returns whether an offer is a page that no page has led to before.
    fn is_new(&self, offer: &UrlRecord) -> bool {
        offer.want == Want::Page && !self.known.contains(short(offer.id))
    }

    /// Lets a page with news vouch for links that were doubted before.
    fn vouch(&mut self, offers: &[UrlRecord]) {
        if self.parents.is_empty() {
            return;
        }
        for hash in offers.iter().map(|offer| short(offer.id)) {
            if self.doubted.contains(hash) {
                self.vouched.insert(hash);
            }
        }
    }

    /// Returns the reason to leave a URL whose turn has come.
    pub(super) fn leaves(&mut self, record: &UrlRecord) -> Option<LeftLink> {
        let doubted = record.worth > place::VOUCHED && self.spent > 0;
        if record.want != Want::Page || record.depth == 0 || !(doubted || self.closed > 0) {
            return None;
        }
        if !self.watches(&record.url) {
            return None;
        }
        if self.vouched.contains(short(record.id)) {
            return None;
        }
        let place = PlaceOf::new(&record.url);
        let reason = self.endless(&place, record).or_else(|| {
            let spent = doubted.then(|| self.without_credit(&place));
            spent.flatten()
        })?;
        Some(self.leave(&record.url, record.id, reason))
    }

    /// Returns whether a page without a text of its own lists pages as no other page does, and
    /// little else: the next part of a long list. Only pages that others vouch for count.
    fn lists_news(&mut self, place: &PlaceOf<'_>, offers: &[UrlRecord]) -> bool {
        let (mut listed, mut list, mut new) = (0, place.host(), 0);
        for offer in offers.iter().filter(|offer| offer.want == Want::Page) {
            let hash = short(offer.id);
            if !self.known.contains(hash) {
                new += 1;
            } else if !self.doubted.contains(hash)
                && PlaceOf::new(&offer.url).shape() != place.shape()
            {
                listed += 1;
                // The sum does not depend on the order of the list.
                list = list.wrapping_add(self.folding.fold(hash));
            }
        }
        (LISTED_MIN..).contains(&listed) && new <= NEXT_MAX && self.texts.insert(list)
    }

    fn count(&mut self, place: &PlaceOf<'_>, doubted: bool, news: PageNews) {
        let born = self.known.turns;
        for (region, key) in place.all() {
            let credit = self.credit(region);
            let counts = self.regions.of(key, || RegionCounts::new(credit, born));
            counts.read += 1;
            // The orders and filters of a list say nothing about its folder.
            let is_folder = matches!(region, Region::Folder | Region::Subfolder);
            if is_folder && !place.url.query().is_empty() {
                continue;
            }
            if !doubted && region != Region::Shape {
                counts.vouched(credit);
            } else if doubted {
                let had = counts.credit > 0;
                counts.doubted(news, credit);
                let has = counts.credit > 0;
                self.spent += u32::from(had && !has);
                self.spent -= u32::from(!had && has);
            }
        }
    }

    /// Remembers a doubted link, with the shape of the page that has it.
    fn doubt(&mut self, link: u64, shape: u64) {
        self.doubted.insert(link);
        if self.parents.len() >= PARENTS_MAX {
            self.parents.clear();
        }
        self.parents.insert(link, shape);
    }

    /// Gives credit back to the pages of a shape, because one of them led to news.
    fn refund(&mut self, shape: u64, news: PageNews) {
        let (credit, born) = (self.credit(Region::Shape), self.known.turns);
        let counts = self.regions.of(shape, || RegionCounts::new(credit, born));
        let had = counts.credit > 0;
        counts.refund(news, credit);
        self.spent -= u32::from(!had && counts.credit > 0);
    }

    fn credit(&self, region: Region) -> u32 {
        match region {
            Region::Host => self.limits.vain_host_max,
            Region::Shape => self.limits.vain_max,
            Region::Folder | Region::Subfolder => {
                self.limits.vain_max.saturating_mul(FOLDER_FACTOR)
            }
        }
    }

    /// Returns the reason to leave a new link of a page.
    fn refuses(&self, from: &PlaceOf<'_>, offer: &UrlRecord) -> Option<TrapReason> {
        if u32::from(offer.depth) > self.limits.depth_max {
            let limit = self.limits.depth_max;
            return Some(TrapReason::Looks { trap: TrapShape::Depth, limit });
        }
        if self.closed > 0 {
            for (region, key) in from.wide() {
                if let Some(counts) = self.regions.get(key)
                    && let Some(pages) = counts.closed
                    && from.has(region, &offer.url)
                {
                    return Some(TrapReason::Endless { region, read: counts.read, pages });
                }
            }
        }
        let doubted = offer.worth > place::VOUCHED && self.spent > 0;
        doubted.then(|| self.without_credit(&PlaceOf::new(&offer.url))).flatten()
    }

    fn without_credit(&self, place: &PlaceOf<'_>) -> Option<TrapReason> {
        place.all().find_map(|(region, key)| {
            let counts = self.regions.get(key).filter(|counts| counts.credit <= 0)?;
            let (read, new, limit) = (counts.doubted, counts.doubted_news, self.credit(region));
            Some(TrapReason::Vain { region, read, new, limit })
        })
    }

    fn endless(&self, place: &PlaceOf<'_>, record: &UrlRecord) -> Option<TrapReason> {
        if self.closed == 0 || record.depth <= NEAR_SEED {
            return None;
        }
        place.wide().find_map(|(region, key)| {
            let counts = self.regions.get(key)?;
            let pages = counts.closed?;
            Some(TrapReason::Endless { region, read: counts.read, pages })
        })
    }

    /// Counts the links of a page into its own folders and host.
    fn count_links(&mut self, place: &PlaceOf<'_>, offers: &[UrlRecord], are_new: &[bool]) {
        let wide = [Region::Subfolder, Region::Folder, Region::Host];
        let folders = wide.map(|region| place.beginning(region));
        let (mut new, mut met) = ([0; 3], [0; 3]);
        for (offer, is_new) in offers.iter().zip(are_new) {
            let hash = short(offer.id);
            if offer.want != Want::Page || offer.url.host() != place.url.host() {
                continue;
            }
            // A link in every page's menu counts once.
            let is_read = self.known.contains(hash ^ READ_MARK);
            if !is_new && (is_read || !self.known.insert(hash ^ MET_MARK)) {
                continue;
            }
            for (at, folder) in folders.iter().enumerate() {
                if folder.is_some_and(|folder| offer.url.path().starts_with(folder)) {
                    new[at] += u32::from(*is_new);
                    met[at] += u32::from(!is_new);
                }
            }
        }
        for (at, region) in wide.into_iter().enumerate() {
            if let Some(key) = place.keys[region as usize] {
                let (credit, born) = (self.credit(region), self.known.turns);
                let counts = self.regions.of(key, || RegionCounts::new(credit, born));
                let read = counts.read;
                counts.links.count(new[at], met[at], read);
            }
        }
    }

    /// Goes on with the dive of this host, or begins one, and puts its next page first.
    fn dive(&mut self, place: &PlaceOf<'_>, own: u64, offers: &mut [UrlRecord], are_new: &[bool]) {
        let host = place.host();
        if let Some(mut dive) = self.dives.remove(&host) {
            if dive.next != own {
                if !dive.waits() {
                    self.dives.insert(host, dive);
                }
                return;
            }
            let region = place.wide().find(|(_, key)| *key == dive.region);
            let picked = region.map(|(region, _)| self.pick(place, region, offers, are_new));
            let (next, new) = picked.unwrap_or_default();
            match dive.step(next.map(|at| short(offers[at].id)), new) {
                Some(is_endless) => self.dived(dive.region, is_endless),
                None => {
                    next.into_iter().for_each(|at| offers[at].worth = place::FIRST);
                    self.dives.insert(host, dive);
                }
            }
            return;
        }
        let pages_max = self.limits.pages_max;
        let turns = self.known.turns;
        // The narrowest region that has most of what its outer region has.
        let mut due = None;
        let mut inner_found = 0;
        for (region, key) in place.wide() {
            let Some(counts) = self.regions.get(key) else { continue };
            if inner_found >= counts.links.found / 2 && inner_found > 0 {
                break;
            }
            inner_found = counts.links.found;
            due =
                (counts.wants_dive(pages_max) && turns - counts.born <= 1).then_some((region, key));
        }
        let Some((region, key)) = due else { return };
        if let (Some(at), new) = self.pick(place, region, offers, are_new) {
            if self.dives.len() >= DIVES_AT_ONCE {
                self.dives.clear();
            }
            offers[at].worth = place::FIRST;
            self.dives.insert(host, Dive::begin(key, short(offers[at].id), new));
        }
    }

    /// Returns a random new link of a page into a region, and how many there are.
    fn pick(
        &self,
        place: &PlaceOf<'_>,
        region: Region,
        offers: &[UrlRecord],
        are_new: &[bool],
    ) -> (Option<usize>, u32) {
        let mut new = 0;
        let picked = (0..offers.len())
            .filter(|at| are_new[*at] && place.has(region, &offers[*at].url))
            .inspect(|_| new += 1)
            .min_by_key(|at| self.folding.fold(short(offers[*at].id)));
        (picked, new)
    }

    fn dived(&mut self, region: u64, is_endless: bool) {
        let pages_max = self.limits.pages_max;
        let (credit, born) = (self.limits.vain_max, self.known.turns);
        let counts = self.regions.of(region, || RegionCounts::new(credit, born));
        counts.dived(is_endless, pages_max);
        self.closed += u32::from(counts.closed.is_some());
    }
}

fn short(key: UrlKey) -> u64 {
    // Half of a good hash is a good hash.
    key.as_u128() as u64
}

/// Hashes of URLs in one generation: 9.4 MB.
const KNOWN_MAX: usize = 917_504;
/// Hashes of texts in one generation: 9.4 MB.
const TEXTS_MAX: usize = 917_504;
/// Links that are remembered as left, or as vouched for, in one generation.
const LEFT_MAX: usize = 1 << 16;
/// Session-free URLs, and hosts with sitemaps, that are remembered.
const SESSIONS_MAX: usize = 1 << 16;
/// Doubted links whose page is remembered.
const PARENTS_MAX: usize = 1 << 17;
/// Regions in which left links are counted.
const SUMS_MAX: usize = 4_096;
/// Hosts that may have a dive at once.
const DIVES_AT_ONCE: usize = 4_096;
/// Pages with news in a row after which only samples of a region are compared.
const TRUSTED_AFTER: u32 = 32;
/// One of this many pages is compared.
const SAMPLED: u64 = 8;
/// Pages of a host that vouch for their links whatever they show.
const YOUNG_HOST: u32 = 16;
/// What a folder may have in vain, as a multiple of what a shape may.
const FOLDER_FACTOR: u32 = 4;
/// Pages so near a seed are read in a closed region too, if they were found before.
const NEAR_SEED: u16 = 2;
/// Pages that a list has at least.
const LISTED_MIN: u32 = 3;
/// New links of a page that only goes on with a list.
const NEXT_MAX: u32 = 2;
/// Marks the hash of a URL that was read.
const READ_MARK: u64 = 0x5ead_5ead_5ead_5ead;
/// Marks the hash of a queued URL to which another page has led.
const MET_MARK: u64 = 0x3e7_3e7_3e7_3e7;
const REGION_SEED: u64 = 7;
const SITEMAP_SEED: u64 = 5;
