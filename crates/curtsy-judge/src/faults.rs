//! Faults on the crawler's side, and what they excuse.
//!
//! The list is the crawler's own account of its crashes and losses. It excuses little: a worker
//! that was killed may not have received an answer in flight, so its consequences cannot be
//! demanded (once for each request in flight, whose number the kill has); robots.txt may be
//! requested again after the store was lost; and a wait that only a dead worker knew is gone with
//! the store. All other manners hold across every fault.

use crate::bench::DELTA;
use crate::exchange::Exchange;

/// A fault on the crawler's side, in the server's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CrawlerFault {
    /// The crawler, or one of its processes, was killed.
    Kill {
        /// When.
        at: u64,
        /// The number of requests that were in flight, or received in the last 100 ms.
        in_flight: u32,
    },
    /// One worker of several was lost.
    WorkerLost {
        /// When.
        at: u64,
        /// The number of requests that were in flight, or received in the last 100 ms.
        in_flight: u32,
    },
    /// The store of host states came back empty, or without its last writes.
    StoreLoss {
        /// When.
        at: u64,
    },
    /// The crawler or a part of it stopped. Liveness is not judged in that time.
    Pause {
        /// Since when.
        from: u64,
        /// Until when.
        to: u64,
    },
    /// The store took up to `by` to answer, or was away: what one worker learns reaches the others
    /// that much later.
    StoreSlow {
        /// Since when.
        from: u64,
        /// Until when.
        to: u64,
        /// How much later.
        by: u64,
    },
    /// The crawler's own network was down: responses that broke off then do not count.
    NetworkDown {
        /// Since when.
        from: u64,
        /// Until when.
        to: u64,
    },
}

/// The faults, sorted so that each question is a binary search.
#[derive(Default)]
pub(crate) struct Faults {
    kills: Vec<Kill>,
    losses: Vec<u64>,
    pauses: Spans,
    network: Spans,
    silences: Vec<Silence>,
    pub(crate) named: u64,
}

/// A span in which news of one worker did not reach the others in time: a worker stopped, or the
/// store was slow.
struct Silence {
    from: u64,
    to: u64,
    /// How much later the news reached them; `None` is not before the end.
    by: Option<u64>,
}

struct Kill {
    at: u64,
    left: u32,
    /// The exchanges that count as not received, by their number in the log.
    unheard: Vec<u64>,
}

/// Whether a kill of a worker may have ended an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KillDoubt {
    /// Nothing says that it was not received.
    Surely,
    /// It was in flight at a kill, and the kill's number covers it.
    Perhaps,
    /// It was in flight at a kill, but more repeats were made than the kill had requests in flight.
    TooMany,
}

impl Faults {
    pub(crate) fn add(&mut self, fault: &CrawlerFault) {
        self.named += 1;
        match *fault {
            CrawlerFault::Kill { at, in_flight } | CrawlerFault::WorkerLost { at, in_flight } => {
                let place = self.kills.partition_point(|kill| kill.at <= at);
                self.kills.insert(place, Kill { at, left: in_flight, unheard: Vec::new() });
            }
            CrawlerFault::StoreLoss { at } => {
                let place = self.losses.partition_point(|&loss| loss <= at);
                self.losses.insert(place, at);
            }
            CrawlerFault::Pause { from, to } => {
                self.pauses.insert(from, to);
                self.silences.push(Silence { from, to, by: None });
            }
            CrawlerFault::StoreSlow { from, to, by } => {
                self.pauses.insert(from, to.saturating_add(by));
                self.silences.push(Silence { from, to, by: Some(by) });
            }
            CrawlerFault::NetworkDown { from, to } => self.network.insert(from, to),
        }
    }

    /// Counts the exchange as not received, if a kill allows for it.
    pub(crate) fn excuse_unheard(&mut self, number: u64, start: u64, end: u64) -> KillDoubt {
        let mut heard = KillDoubt::Surely;
        for kill in self.around(start, end) {
            if kill.unheard.contains(&number) {
                return KillDoubt::Perhaps;
            }
        }
        for kill in self.around(start, end) {
            if kill.left > 0 {
                kill.left -= 1;
                kill.unheard.push(number);
                return KillDoubt::Perhaps;
            }
            heard = KillDoubt::TooMany;
        }
        heard
    }

    /// Returns whether a kill or a dead network may have kept the crawler from learning of this
    /// exchange.
    pub(crate) fn cut_off(&self, x: &Exchange) -> bool {
        if self.named == 0 {
            return false;
        }
        let (first, last) = self.range(x.start, x.end);
        first < last || self.broke_off(x)
    }

    /// Returns whether the response broke off because the crawler's own network was down.
    pub(crate) fn broke_off(&self, x: &Exchange) -> bool {
        !x.complete && self.network.touch(x.start, x.end)
    }

    /// Returns whether the crawler's own network was down at some time in this span.
    pub(crate) fn network_down(&self, from: u64, to: u64) -> bool {
        self.network.touch(from, to)
    }

    /// Returns whether an answer that ended at `end` may have reached the worker that starts at
    /// `start` too late, because of a fault in the list.
    pub(crate) fn told_late(&self, end: u64, start: u64) -> bool {
        self.silences.iter().any(|s| {
            let heard = s.by.map_or(s.to, |by| end.saturating_add(by));
            s.from <= end.saturating_add(DELTA)
                && end <= s.to
                && start <= heard.saturating_add(DELTA)
        })
    }

    /// Returns whether the store was lost after `since` and not later than `until`.
    pub(crate) fn store_lost(&self, since: u64, until: u64) -> bool {
        let place = self.losses.partition_point(|&loss| loss < since);
        self.losses.get(place).is_some_and(|&loss| loss <= until)
    }

    /// Returns whether a wait that was demanded at `told` may be forgotten at `now`: its worker
    /// died, and the store was lost too.
    pub(crate) fn wait_lost(&self, told: u64, now: u64) -> bool {
        let place = self.kills.partition_point(|kill| kill.at < told);
        self.store_lost(told, now) && self.kills.get(place).is_some_and(|kill| kill.at <= now)
    }

    /// Returns whether liveness cannot be judged in this span, because something had stopped or was
    /// recovering.
    pub(crate) fn disturbed(&self, from: u64, to: u64) -> bool {
        let since = from.saturating_sub(RECOVERY);
        let killed = self.kills.partition_point(|kill| kill.at < since);
        let lost = self.losses.partition_point(|&loss| loss < since);
        self.kills.get(killed).is_some_and(|kill| kill.at <= to)
            || self.losses.get(lost).is_some_and(|&loss| loss <= to)
            || self.pauses.touch(since, to)
            || self.network.touch(since, to)
    }

    fn range(&self, start: u64, end: u64) -> (usize, usize) {
        // A request that was in flight when its worker died is read a little later.
        let sent = start.saturating_sub(DELTA);
        let first = self.kills.partition_point(|kill| kill.at < sent);
        let last = self.kills.partition_point(|kill| kill.at <= end.saturating_add(HEARD_LATE));
        (first, last)
    }

    fn around(&mut self, start: u64, end: u64) -> impl Iterator<Item = &mut Kill> {
        let (first, last) = self.range(start, end);
        self.kills[first..last.max(first)].iter_mut()
    }
}

/// Spans by their starts, each with the latest end so far: whether any span contains a moment is
/// one binary search.
#[derive(Default)]
struct Spans(Vec<(u64, u64)>);

impl Spans {
    fn insert(&mut self, from: u64, to: u64) {
        let place = self.0.partition_point(|&(start, _)| start <= from);
        self.0.insert(place, (from, to));
        let mut latest = place.checked_sub(1).map_or(0, |before| self.0[before].1);
        for (_, end) in &mut self.0[place..] {
            latest = latest.max(*end);
            *end = latest;
        }
    }

    fn touch(&self, from: u64, to: u64) -> bool {
        let place = self.0.partition_point(|&(start, _)| start <= to);
        place > 0 && self.0[place - 1].1 >= from
    }
}

/// The crawler may lose what it received in the last 100 ms, and receives a response up to 250 ms
/// after the server has sent it.
const HEARD_LATE: u64 = 350_000;
/// After a crash a slot may stay taken for a whole deadline (30 s) and a hold (10 s) before the
/// host gets another request.
const RECOVERY: u64 = 60_000_000;
