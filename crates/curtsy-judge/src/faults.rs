//! What went wrong on the crawler's side, and what that excuses.
//!
//! The list is the crawler's own account of its crashes and losses. It excuses little: an answer that was on its way to a
//! worker when that was killed was perhaps never heard, so what follows from it can't be asked (once for each request then in
//! flight: the kill says how many); robots.txt may be asked for again after the store was lost; and a wait that only a dead worker knew is
//! gone with the store. All other manners hold across every fault.

use crate::bench::DELTA;
use crate::exchange::Exchange;

/// Something that went wrong on the crawler's side, in the server's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CrawlerFault {
    /// The crawler, or one of its processes, was killed.
    Kill {
        /// When.
        at: u64,
        /// How many requests it had in flight, or had received in the last 100 ms.
        in_flight: u32,
    },
    /// One worker of several was lost.
    WorkerLost {
        /// When.
        at: u64,
        /// How many requests it had in flight, or had received in the last 100 ms.
        in_flight: u32,
    },
    /// The store of host states came back empty, or without its last writes.
    StoreLoss {
        /// When.
        at: u64,
    },
    /// The crawler or a part of it stood still. Liveness is not judged in that time.
    Pause {
        /// Since when.
        from: u64,
        /// Until when.
        to: u64,
    },
    /// The store took up to `by` to answer, or was away: what one worker learns reaches the others that much later.
    StoreSlow {
        /// Since when.
        from: u64,
        /// Until when.
        to: u64,
        /// How much later.
        by: u64,
    },
    /// The crawler's own network was down: answers that broke off then count for nothing.
    NetworkDown {
        /// Since when.
        from: u64,
        /// Until when.
        to: u64,
    },
}

/// The faults, ordered so that each question is a binary search.
#[derive(Default)]
pub(crate) struct Faults {
    kills: Vec<Kill>,
    losses: Vec<u64>,
    pauses: Spans,
    network: Spans,
    silences: Vec<Silence>,
    pub(crate) named: u64,
}

/// A span in which what one worker learnt did not reach the others in time: a worker stood still, or the store was slow.
struct Silence {
    from: u64,
    to: u64,
    /// How much later it reached them; none is not before the end.
    by: Option<u64>,
}

struct Kill {
    at: u64,
    left: u32,
    /// The exchanges taken as never heard, by their number in the log.
    unheard: Vec<u64>,
}

/// Whether a kill of a worker may have ended an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KillDoubt {
    /// Nothing says that it was not heard.
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

    /// Takes the exchange as one that nobody heard, if a kill allows for it.
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

    /// Whether a kill or a dead network may have kept the crawler from learning of this exchange.
    pub(crate) fn cut_off(&self, x: &Exchange) -> bool {
        if self.named == 0 {
            return false;
        }
        let (first, last) = self.range(x.start, x.end);
        first < last || self.broke_off(x)
    }

    /// Whether the answer broke off because the crawler's own network was down.
    pub(crate) fn broke_off(&self, x: &Exchange) -> bool {
        !x.complete && self.network.touch(x.start, x.end)
    }

    /// Whether the crawler's own network was down at some time in this span.
    pub(crate) fn network_down(&self, from: u64, to: u64) -> bool {
        self.network.touch(from, to)
    }

    /// Whether what was answered at `end` may have reached the worker that starts at `start` too late, by a fault that is named.
    pub(crate) fn told_late(&self, end: u64, start: u64) -> bool {
        self.silences.iter().any(|s| {
            let heard = s.by.map_or(s.to, |by| end.saturating_add(by));
            s.from <= end.saturating_add(DELTA)
                && end <= s.to
                && start <= heard.saturating_add(DELTA)
        })
    }

    /// Whether the store was lost after `since` and not later than `until`.
    pub(crate) fn store_lost(&self, since: u64, until: u64) -> bool {
        let place = self.losses.partition_point(|&loss| loss < since);
        self.losses.get(place).is_some_and(|&loss| loss <= until)
    }

    /// Whether a wait told at `told` may be gone at `now`: its worker died, and the store was lost too.
    pub(crate) fn wait_lost(&self, told: u64, now: u64) -> bool {
        let place = self.kills.partition_point(|kill| kill.at < told);
        self.store_lost(told, now) && self.kills.get(place).is_some_and(|kill| kill.at <= now)
    }

    /// Whether liveness can't be asked for in this span: something had stopped, or was coming back.
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
        // A request that was on its way when its worker died is read a little later.
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

/// Spans by their beginnings, each with the latest end so far: whether any touches a moment is one binary search.
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

/// The crawler may lose what it received in the last 100 ms, and hears an answer up to 250 ms after the server has sent it.
const HEARD_LATE: u64 = 350_000;
/// After a crash a slot may stay taken for a whole deadline (30 s) and a hold (10 s) before the host is asked again.
const RECOVERY: u64 = 60_000_000;
