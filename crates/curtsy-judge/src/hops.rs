//! Recognises which requests are hops of a redirect.
//!
//! A redirect leads to a URL, and the next request for that URL counts as the hop. Robots redirects
//! are followed by number and in time, because their end decides for the authority of the first
//! one. Page redirects are only remembered: a hop may wait in a queue for long, and the same URL
//! may be requested for another reason.

use std::sync::Arc;

use crate::bench::SeenExchange;
use crate::generations::Generations;

/// A chain of robots redirects in progress.
#[derive(Clone)]
pub(crate) struct Chain {
    /// The host of the authority that the chain decides for.
    pub(crate) host: usize,
    pub(crate) authority: usize,
    /// The request to that authority.
    pub(crate) first: Arc<SeenExchange>,
    /// Hops made so far.
    pub(crate) hops: u8,
    /// The URLs of the chain, to recognise a loop.
    pub(crate) visited: Vec<u128>,
    /// The latest start of the next hop.
    pub(crate) deadline: u64,
    /// Whether the crawler may know the end without following the chain. Then the results of its
    /// hops demand nothing.
    pub(crate) known: bool,
}

/// The redirects that may be followed.
pub(crate) struct Hops {
    robots: Vec<(u128, Chain)>,
    pages: Generations<PageHop>,
}

/// A redirect of a page.
#[derive(Clone, Copy)]
struct PageHop {
    /// The number of the hop that a request for the target would be; zero once it was made.
    hop: u8,
    since: u64,
    /// The number of requests for the target so far.
    asked: u8,
}

/// The place of a page's request in a chain of redirects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HopOfPage {
    /// Requested for another reason.
    No,
    /// A redirect has led there at some time.
    Perhaps,
    /// The n-th hop of a chain, soon after its redirect.
    Nth(u8),
}

impl Hops {
    pub(crate) fn new() -> Hops {
        Hops { robots: Vec::new(), pages: Generations::new(PAGES_MAX) }
    }

    /// Expects a hop of a robots redirect to this URL.
    pub(crate) fn expect_robots(&mut self, key: u128, chain: Chain, now: u64) {
        self.robots.retain(|(_, chain)| chain.deadline >= now);
        if self.robots.len() >= ROBOTS_MAX {
            self.robots.remove(0);
        }
        self.robots.push((key, chain));
    }

    /// Returns the chain that this request continues.
    pub(crate) fn take_robots(&mut self, key: u128, start: u64) -> Option<Chain> {
        if self.robots.is_empty() {
            return None;
        }
        let leads_here = |(k, c): &(u128, Chain)| *k == key && start <= c.deadline;
        let place = self.robots.iter().position(leads_here)?;
        let chain = &self.robots[place].1;
        if chain.deadline < start.saturating_add(GIVEN_UP)
            && self.robots[place + 1..].iter().any(leads_here)
        {
            // The first chain may have been given up already, and this be the hop of another: both
            // stay, and the result demands nothing.
            return Some(Chain { known: true, ..chain.clone() });
        }
        Some(self.robots.remove(place).1)
    }

    /// Returns the chains that lead to this URL and were not followed there. They end with its
    /// result.
    pub(crate) fn waiting_for(&mut self, key: u128, now: u64) -> Vec<Chain> {
        let mut ended = Vec::new();
        for (k, chain) in &mut self.robots {
            if *k == key && now <= chain.deadline && !chain.known {
                ended.push(chain.clone());
                chain.known = true;
            }
        }
        ended
    }

    /// Expects a hop of a page redirect to this URL.
    pub(crate) fn expect_page(&mut self, key: u128, hop: u8, end: u64) {
        let asked = self.pages.get_mut(key).map_or(0, |page| page.asked);
        self.pages.put(key, PageHop { hop, since: end, asked }, |_| false);
    }

    /// Records a request for a URL that redirects, and is no hop itself.
    pub(crate) fn asked_itself(&mut self, key: u128, end: u64) {
        if self.pages.get_mut(key).is_none() {
            self.pages.put(key, PageHop { hop: 0, since: end, asked: 1 }, |_| false);
        }
    }

    /// Returns whether a request for this URL is a hop, if this many hops were promised. In a loop
    /// of redirects each URL may also be requested for another reason, and the hops of all these
    /// chains look alike. A request is certainly one hop too many if it is the first for its URL,
    /// or if the URL was requested more often than the chains of the whole loop would.
    pub(crate) fn take_page(&mut self, key: u128, start: u64, most: Option<u8>) -> HopOfPage {
        let Some(page) = self.pages.get_mut(key) else { return HopOfPage::No };
        let (hop, since) = (std::mem::take(&mut page.hop), page.since);
        let before = page.asked;
        page.asked = before.saturating_add(1);
        if most.is_some_and(|most| hop > most && (1..=most).contains(&before)) {
            return HopOfPage::Perhaps;
        }
        match hop {
            1.. if start <= since.saturating_add(FOLLOWED_WITHIN) => HopOfPage::Nth(hop),
            _ => HopOfPage::Perhaps,
        }
    }
}

/// Limit of the robots chains in progress: a fleet has one for each host.
const ROBOTS_MAX: usize = 4096;
const PAGES_MAX: usize = 1 << 16;
/// How long before its deadline a crawler gives up a chain, at most: the last hop must still reach
/// a server in time.
const GIVEN_UP: u64 = 5_000_000;
/// A request later than this after the redirect may have another reason.
const FOLLOWED_WITHIN: u64 = 300_000_000;
