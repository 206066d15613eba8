//! The queues of the hosts.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use curtsy_core::host::LeaseId;
use curtsy_core::time::Time;
use curtsy_core::url::{HostKey, UrlKey};

use super::MemoryStoreState;
use super::journal::Undo;
use crate::{UrlRecord, UrlWrite};

/// One host's URLs by ready time, then rank, then worth, then order of arrival.
#[derive(Default)]
pub(super) struct HostQueue {
    order: BTreeMap<MemoryPlace, UrlKey>,
    records: HashMap<UrlKey, (UrlRecord, u64)>,
}

/// A URL's ready time, rank, worth and number.
type MemoryPlace = (Time, u8, u8, u64);

impl HostQueue {
    pub(super) fn first(&self, max: usize) -> Vec<UrlRecord> {
        self.order.values().take(max).map(|id| self.records[id].0.clone()).collect()
    }

    pub(super) fn first_ready(&self) -> Option<Time> {
        self.order.keys().next().map(|(ready, ..)| *ready)
    }

    fn get(&self, id: UrlKey) -> Option<&UrlRecord> {
        self.records.get(&id).map(|(record, _)| record)
    }

    fn remove(&mut self, id: UrlKey) -> Option<(UrlRecord, u64)> {
        let (record, sequence) = self.records.remove(&id)?;
        self.order.remove(&place(&record, sequence));
        Some((record, sequence))
    }

    fn insert(&mut self, record: UrlRecord, sequence: u64) {
        self.order.insert(place(&record, sequence), record.id);
        self.records.insert(record.id, (record, sequence));
    }
}

fn place(record: &UrlRecord, sequence: u64) -> MemoryPlace {
    (record.ready.unwrap_or(Time::START), record.rank(), record.worth, sequence)
}

impl MemoryStoreState {
    /// Puts a record into the queue of its host.
    pub(super) fn insert_url(&mut self, mut record: UrlRecord, now: Time) {
        if let Some(remembered) = self.reminded.get(&record.id) {
            record.restore(remembered);
        }
        let host = record.host().clone();
        let id = record.id;
        self.sequence += 1;
        let sequence = self.sequence;
        let queue = self.hosts.entry(host.clone()).or_default().queue.get_or_insert_default();
        if queue.get(id).is_some() {
            return;
        }
        let first = record.rank() == 0;
        queue.insert(record, sequence);
        self.queued += 1;
        if first && let Some(entry) = self.hosts.get_mut(&host) {
            // Other URLs wait for this one, which may need no request: the host is handed out once
            // without its wait.
            entry.hand_out.look();
        }
        self.journal.push(now, Undo::Record(host.clone(), id, None));
        self.reschedule_unless_held(&host);
    }

    /// Merges into a URL what a worker remembers of it, now or when it arrives.
    pub(super) fn remind(&mut self, remembered: UrlRecord) {
        let host = remembered.host().clone();
        if let Some(queue) = self.hosts.get_mut(&host).and_then(|e| e.queue.as_mut())
            && let Some((mut record, sequence)) = queue.remove(remembered.id)
        {
            record.restore(&remembered);
            queue.insert(record, sequence);
            self.reschedule_unless_held(&host);
        }
        match self.reminded.entry(remembered.id) {
            Entry::Occupied(mut known) => known.get_mut().restore(&remembered),
            Entry::Vacant(free) => {
                free.insert(remembered);
            }
        }
    }

    /// Whether a URL is in a host's queue under this claim.
    pub(super) fn is_claimed(&self, host: &HostKey, id: UrlKey, claim: Option<LeaseId>) -> bool {
        let queue = self.hosts.get(host).and_then(|e| e.queue.as_ref());
        queue.and_then(|q| q.get(id)).is_some_and(|record| record.claim == claim)
    }

    /// Applies a change, unless the URL has another claim.
    pub(super) fn write_url(&mut self, write: UrlWrite, now: Time) {
        let Some(from) = write.from else {
            if let Some(record) = write.to {
                self.insert_url(record, now);
            }
            return;
        };
        let Some(queue) = self.hosts.get_mut(&from).and_then(|e| e.queue.as_mut()) else {
            return;
        };
        if queue.get(write.id).is_none_or(|record| record.claim != write.claim) {
            return;
        }
        let Some((old, sequence)) = queue.remove(write.id) else {
            return;
        };
        match write.to {
            Some(record) if *record.host() == from => queue.insert(record, sequence),
            Some(record) => {
                self.queued -= 1;
                self.insert_url(record, now);
            }
            None => self.queued -= 1,
        }
        self.drop_empty_queue(&from);
        self.journal.push(now, Undo::Record(from, write.id, Some(Box::new(old))));
    }

    /// Updates the due time of a host whose queue has changed, unless a visit has the host.
    pub(super) fn reschedule_unless_held(&mut self, host: &HostKey) {
        if let Some(entry) = self.hosts.get_mut(host) {
            let ready = entry.first_ready();
            self.due.queue_changed(host, &mut entry.hand_out, ready);
        }
    }

    /// Restores a record of a queue, or removes it, to undo a change.
    pub(super) fn restore_url(&mut self, host: &HostKey, id: UrlKey, old: Option<UrlRecord>) {
        // The record may have moved to another host since. That move has an entry of its own.
        let queue = self.hosts.entry(host.clone()).or_default().queue.get_or_insert_default();
        let was = queue.remove(id);
        let is = old.is_some();
        if let Some(old) = old {
            self.sequence += 1;
            queue.insert(old, self.sequence);
        }
        match (was.is_some(), is) {
            (false, true) => self.queued += 1,
            (true, false) => self.queued -= 1,
            _ => {}
        }
        self.drop_empty_queue(host);
        self.reschedule(host, None);
    }

    fn drop_empty_queue(&mut self, host: &HostKey) {
        if let Some(entry) = self.hosts.get_mut(host)
            && entry.queue.as_ref().is_some_and(|q| q.order.is_empty())
        {
            entry.queue = None;
        }
    }
}
