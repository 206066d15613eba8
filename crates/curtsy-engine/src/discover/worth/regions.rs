//! What was read in each region of a host, by numbers.
//!
//! Two questions are asked of a region:
//!
//! - *Is it read in vain?* Pages to which only pages without news link ("doubted" pages) cost
//!   credit, and give some back if they have news themselves. Without credit, doubted pages are
//!   left.
//! - *Does it only open?* If pages lead to ever new pages of the region and never to known ones
//!   that are still queued, the region must be very large. How large follows from how many links
//!   were tried against how many queued pages (as animals are counted by catching them twice), and
//!   whether links meet queued pages more often as there are more of them. A tree without cross-links looks the same, so a large region is probed with *dives*: a dive
//!   follows one random new link of each page, at the front of the queue. The product of the
//!   numbers of new links on the way estimates the pages of a tree (Knuth 1975), and a dive in a
//!   tree that ends reaches a leaf soon.

use super::news::PageNews;
use crate::discover::hashes::{ByHash, Folding};

/// The links of a region's pages into the region.
#[derive(Clone, Debug, Default)]
pub(super) struct RegionLinks {
    /// New links into the region, on its own pages.
    pub(super) found: u32,
    /// Links that were tried, times the queued pages that they could have led to.
    tried: u64,
    /// Links that led to queued pages.
    met: u32,
    /// The same since `found` doubled last, and in the time of the doubling before.
    met_now: u32,
    met_before: u32,
    /// When `found` will have doubled.
    doubled_at: u32,
    /// Whether links met hardly more queued pages after `found` had doubled.
    saturated: bool,
}

/// The numbers of one region.
#[derive(Clone, Debug)]
pub(super) struct RegionCounts {
    /// Pages that were read.
    pub(super) read: u32,
    /// Pages with news since the last one without, as far as pages were compared.
    pub(super) news_in_a_row: u32,
    /// Doubted pages that were read.
    pub(super) doubted: u32,
    /// How many of these had news.
    pub(super) doubted_news: u32,
    /// Doubted pages that may be read in vain.
    pub(super) credit: i32,
    /// What the links of its pages say about its size.
    pub(super) links: RegionLinks,
    /// Dives that have ended, and how many of them found no end.
    dives: u32,
    endless_dives: u32,
    /// Dives begin again when this many pages were read.
    dive_at: u32,
    /// The least number of pages, if the region is closed because it only opens.
    pub(super) closed: Option<u64>,
    /// The generation of the known URLs in which the region was met first.
    pub(super) born: u32,
}

/// New links when `found` doubles for the first time.
const DOUBLED_FIRST: u32 = 256;
/// In a web of a fixed size, twice as many links meet twice as many queued pages each: four times
/// as many in all. In a space without end, links meet queued pages at a steady rate: twice as many
/// in all.
const STEADY: f64 = 2.5;
/// Fewer meetings say nothing.
const MET_MIN: u32 = 12;
/// A region that opens has at least this many new links for each page that was read.
const OPENS: f64 = 1.8;
/// Dives of one look at a region, and how many of them must find no end.
const DIVES: u32 = 4;
const ENDLESS_DIVES: u32 = 2;
/// Pages of a region that are read before its first dive.
const DIVE_AT: u32 = 128;
/// The estimate of a dive that found no end.
const ESTIMATE_MAX: f64 = 1e8;
/// Steps of a dive.
const STEPS_MAX: u32 = 64;
/// Pages of the host after which a dive whose page was not read is given up.
const LOST_AFTER: u32 = 256;
/// What a doubted page with news gives back.
const REFUND: i32 = 8;
/// Vouched pages that add one to the credit.
const VOUCHED_PER_CREDIT: u32 = 4;
/// The most credit, as a multiple of the first.
const CREDIT_FACTOR: i32 = 4;

impl RegionLinks {
    /// Counts the links of one page into the region: new ones, and known ones that are queued.
    pub(super) fn count(&mut self, new: u32, met: u32, read: u32) {
        let queued = self.found.saturating_sub(read);
        self.tried = self.tried.saturating_add(u64::from(new + met) * u64::from(queued));
        self.met += met;
        self.met_now += met;
        self.found += new;
        if self.found >= self.doubled_at {
            let steady = f64::from(self.met_now) < STEADY * f64::from(self.met_before);
            self.saturated = self.met_before >= MET_MIN && steady;
            // At first, every menu is met.
            let is_first = self.doubled_at == DOUBLED_FIRST;
            self.met_before = if is_first { 0 } else { self.met_now };
            self.met_now = 0;
            self.doubled_at = self.doubled_at.saturating_mul(2);
        }
    }

    /// Returns about how many pages the region has, if it is a web of links.
    fn estimate(&self) -> u64 {
        self.tried / (u64::from(self.met) + 1)
    }
}

impl RegionCounts {
    pub(super) fn new(credit: u32, born: u32) -> RegionCounts {
        RegionCounts {
            read: 0,
            news_in_a_row: 0,
            doubted: 0,
            doubted_news: 0,
            credit: i32::try_from(credit).unwrap_or(i32::MAX),
            links: RegionLinks { doubled_at: DOUBLED_FIRST, ..RegionLinks::default() },
            dives: 0,
            endless_dives: 0,
            dive_at: DIVE_AT,
            closed: None,
            born,
        }
    }

    /// Counts a page that another page vouches for: a large region may have more in vain.
    pub(super) fn vouched(&mut self, credit_first: u32) {
        if self.credit > 0 && (self.read - self.doubted).is_multiple_of(VOUCHED_PER_CREDIT) {
            let first = i32::try_from(credit_first).unwrap_or(i32::MAX);
            let most = first.max(i32::try_from(self.read / 2).unwrap_or(i32::MAX));
            self.credit = (self.credit + 1).min(most.saturating_mul(CREDIT_FACTOR));
        }
    }

    /// Counts a doubted page.
    pub(super) fn doubted(&mut self, news: PageNews, credit_first: u32) {
        self.doubted += 1;
        match news {
            PageNews::Text => {
                self.doubted_news += 1;
                self.refund(news, credit_first);
            }
            // Neither in vain nor worth anything.
            PageNews::Numbers => {}
            PageNews::Nothing => self.credit -= 1,
        }
    }

    /// Gives back what a page with news is worth.
    pub(super) fn refund(&mut self, news: PageNews, credit_first: u32) {
        let refund = match news {
            PageNews::Text => REFUND,
            PageNews::Numbers => 1,
            PageNews::Nothing => 0,
        };
        let most = i32::try_from(credit_first).unwrap_or(i32::MAX).saturating_mul(CREDIT_FACTOR);
        self.credit = self.credit.saturating_add(refund).min(most);
    }

    /// Returns whether the links show that the region is larger than this.
    fn seems_larger(&self, pages_max: u32) -> bool {
        let opens = f64::from(self.links.found) >= OPENS * f64::from(self.read);
        opens && (self.links.saturated || self.links.estimate() >= u64::from(pages_max))
    }

    /// Returns whether a dive is due.
    pub(super) fn wants_dive(&self, pages_max: u32) -> bool {
        self.closed.is_none() && self.read >= self.dive_at && self.seems_larger(pages_max)
    }

    /// Counts a dive that has ended.
    pub(super) fn dived(&mut self, is_endless: bool, pages_max: u32) {
        self.dives += 1;
        self.endless_dives += u32::from(is_endless);
        if self.endless_dives >= ENDLESS_DIVES && self.wants_dive(pages_max) {
            self.closed = Some(self.links.estimate().max(pages_max.into()));
        } else if self.dives >= DIVES {
            (self.dives, self.endless_dives) = (0, 0);
            self.dive_at = self.read.saturating_mul(2);
        }
    }
}

/// A dive: which page is read next, and what the pages on the way had.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dive {
    /// The region.
    pub(super) region: u64,
    /// The next page.
    pub(super) next: u64,
    estimate: f64,
    steps: u32,
    /// Pages of the host that were read since the last step.
    waited: u32,
}

impl Dive {
    pub(super) fn begin(region: u64, next: u64, new: u32) -> Dive {
        Dive { region, next, estimate: f64::from(new), steps: 1, waited: 0 }
    }

    /// Goes on to the next page. If the dive has ended, returns whether it found no end.
    pub(super) fn step(&mut self, next: Option<u64>, new: u32) -> Option<bool> {
        let Some(next) = next else { return Some(false) };
        self.estimate *= f64::from(new);
        (self.next, self.steps, self.waited) = (next, self.steps + 1, 0);
        let is_endless = self.estimate >= ESTIMATE_MAX;
        (is_endless || self.steps >= STEPS_MAX).then_some(is_endless)
    }

    /// Counts another page of the host. Returns whether the dive is lost.
    pub(super) fn waits(&mut self) -> bool {
        self.waited += 1;
        self.waited > LOST_AFTER
    }
}

/// The regions that were met, in two generations: those that were not met for longest are
/// forgotten first.
#[derive(Debug)]
pub(super) struct Regions {
    young: ByHash<RegionCounts>,
    old: ByHash<RegionCounts>,
    folding: Folding,
}

/// Limit of the regions of one generation.
const REGIONS_MAX: usize = 1 << 16;

impl Regions {
    pub(super) fn new(folding: Folding) -> Regions {
        let young = ByHash::with_hasher(folding);
        Regions { young, old: ByHash::with_hasher(folding), folding }
    }

    /// Returns a region without a change.
    pub(super) fn get(&self, key: u64) -> Option<&RegionCounts> {
        self.young.get(&key).or_else(|| self.old.get(&key))
    }

    /// Returns a region that may be new.
    pub(super) fn of(
        &mut self,
        key: u64,
        first: impl FnOnce() -> RegionCounts,
    ) -> &mut RegionCounts {
        if self.young.len() >= REGIONS_MAX && !self.young.contains_key(&key) {
            let young = ByHash::with_hasher(self.folding);
            let mut before =
                std::mem::replace(&mut self.old, std::mem::replace(&mut self.young, young));
            // The region may be among those that would be forgotten.
            self.old.extend(before.remove_entry(&key));
        }
        let old = &mut self.old;
        self.young.entry(key).or_insert_with(|| old.remove(&key).unwrap_or_else(first))
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}
