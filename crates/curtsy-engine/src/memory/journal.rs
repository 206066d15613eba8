//! The last writes, so that a simulation can lose them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::time::Time;
use curtsy_core::url::{HostKey, UrlKey};

use super::MemoryStoreState;
use crate::{Order, UrlRecord};

/// How to undo a write.
pub(super) enum Undo {
    /// The host had these bytes at this version.
    State(HostKey, Box<[u8]>, u64),
    /// The URL was this record in the host's queue, or was not in it.
    Record(HostKey, UrlKey, Option<Box<UrlRecord>>),
    /// The URL was not known.
    Known(UrlKey),
    /// This number of pages was charged.
    Pages(u64),
    /// The host had this order, or none.
    Order(HostKey, Option<Order>),
}

/// The recent writes, newest last.
pub(super) struct WriteJournal {
    keep: Duration,
    writes: VecDeque<(Time, Undo)>,
}

impl WriteJournal {
    pub(super) fn new(keep: Duration) -> WriteJournal {
        WriteJournal { keep, writes: VecDeque::new() }
    }

    pub(super) fn push(&mut self, now: Time, undo: Undo) {
        if self.keep.is_zero() {
            return;
        }
        self.writes.push_back((now, undo));
        let oldest = now.back(self.keep);
        while self.writes.front().is_some_and(|(at, _)| *at < oldest) {
            self.writes.pop_front();
        }
    }

    pub(super) fn clear(&mut self) {
        self.writes.clear();
    }
}

impl MemoryStoreState {
    /// Undoes every write since `since`, newest first.
    pub(super) fn roll_back(&mut self, since: Time) {
        while self.journal.writes.back().is_some_and(|(at, _)| *at >= since) {
            let Some((_, undo)) = self.journal.writes.pop_back() else {
                break;
            };
            match undo {
                Undo::State(host, bytes, version) => {
                    let entry = self.hosts.entry(host).or_default();
                    (entry.state, entry.version) = (bytes, version);
                }
                Undo::Record(host, id, old) => self.restore_url(&host, id, old.map(|r| *r)),
                Undo::Known(id) => {
                    self.known.remove(&id);
                }
                Undo::Pages(pages) => self.job.pages = pages,
                Undo::Order(host, old) => {
                    Arc::make_mut(&mut self.orders).put_back(&host, old);
                }
            }
        }
    }
}
