//! Which requests are hops of a redirect.
//!
//! A redirect that was answered leads to a URL; the next request for that URL is taken as the hop. Robots redirects are
//! followed by number and in time, because their end decides for the authority that sent the first one. Page redirects are only
//! remembered: a hop may stand in a queue for long, and the same URL may be asked for on its own account.

use std::sync::Arc;

use crate::bench::SeenExchange;
use crate::generations::Generations;

/// A chain of robots redirects on its way.
#[derive(Clone)]
pub(crate) struct Chain {
    /// The host and the authority that it speaks for.
    pub(crate) host: usize,
    pub(crate) authority: usize,
    /// The request on that authority.
    pub(crate) first: Arc<SeenExchange>,
    /// Hops made so far.
    pub(crate) hops: u8,
    /// The URLs seen, to know a loop.
    pub(crate) visited: Vec<u128>,
    /// The latest start of its next hop.
    pub(crate) deadline: u64,
    /// Its end may be known without following it: what a hop then shows binds nobody.
    pub(crate) known: bool,
}

/// The redirects that were answered and may be followed.
pub(crate) struct Hops {
    robots: Vec<(u128, Chain)>,
    pages: Generations<PageHop>,
}

/// A redirect of a page.
#[derive(Clone, Copy)]
struct PageHop {
    /// The hop that a request for its target would be; zero once it was made.
    hop: u8,
    since: u64,
    /// Requests for it so far.
    asked: u8,
}

/// The place of a page's request in a chain of redirects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HopOfPage {
    /// Asked for on its own account.
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

    /// A robots redirect leads to this URL.
    pub(crate) fn expect_robots(&mut self, key: u128, chain: Chain, now: u64) {
        self.robots.retain(|(_, chain)| chain.deadline >= now);
        if self.robots.len() >= ROBOTS_MAX {
            self.robots.remove(0);
        }
        self.robots.push((key, chain));
    }

    /// The chain that this request continues.
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
            // The first may have been given up already, and this be the other's hop: both stay, and what it shows binds nobody.
            return Some(Chain { known: true, ..chain.clone() });
        }
        Some(self.robots.remove(place).1)
    }

    /// The chains that lead to this URL and have not been followed there. They end with what it says.
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

    /// A page redirect leads to this URL.
    pub(crate) fn expect_page(&mut self, key: u128, hop: u8, end: u64) {
        let asked = self.pages.get_mut(key).map_or(0, |page| page.asked);
        self.pages.put(key, PageHop { hop, since: end, asked }, |_| false);
    }

    /// A URL that redirects was asked for on its own account.
    pub(crate) fn asked_itself(&mut self, key: u128, end: u64) {
        if self.pages.get_mut(key).is_none() {
            self.pages.put(key, PageHop { hop: 0, since: end, asked: 1 }, |_| false);
        }
    }

    /// What a request for this URL is, if so many hops were promised. In a loop of redirects each URL may be asked for on its own account
    /// too, and the hops of all these chains look alike: a hop too many is one for sure if it is the first request for its URL, or if
    /// the URL was asked for more often than the chains of the whole loop would.
    pub(crate) fn take_page(&mut self, key: u128, start: u64, most: Option<u8>) -> HopOfPage {
        let Some(page) = self.pages.get_mut(key) else {
            return HopOfPage::No;
        };
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

/// Robots chains on their way at once: a fleet has one for each host that it meets.
const ROBOTS_MAX: usize = 4096;
const PAGES_MAX: usize = 1 << 16;
/// A crawler gives up a chain so long before its deadline, at most: its last hop must still reach a server in time.
const GIVEN_UP: u64 = 5_000_000;
/// A request later than this after the redirect may as well be another one.
const FOLLOWED_WITHIN: u64 = 300_000_000;
