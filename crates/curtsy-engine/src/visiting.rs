//! Which visits does this worker have to a host, and which URLs do they have?
//!
//! A host with several slots has several visits at once. Each has a list of the host's first URLs,
//! and the lists overlap. A visit leaves out what another one requests: the store would refuse it,
//! after a connection and a decision were spent on it.

use std::collections::BTreeMap;

use curtsy_core::url::{HostKey, UrlKey};

use crate::UrlRecord;
use crate::stamp::StampedView;

/// A moment in the order of this worker's events: how many URLs its visits have finished.
pub(crate) type ListTick = u64;

/// The visits of a worker.
#[derive(Default)]
pub(crate) struct Visiting {
    hosts: BTreeMap<HostKey, HostVisits>,
    now: ListTick,
    /// When the lists were requested that the store has not sent yet.
    requested: Option<ListTick>,
    /// Hosts whose last visit ended since. Those lists may still have URLs that are finished.
    ended_since: Vec<HostKey>,
}

/// The visits to one host.
#[derive(Default)]
struct HostVisits {
    /// For each visit, when its list was requested, and the wishes on it.
    lists: Vec<(ListTick, Vec<UrlRecord>)>,
    /// URLs that a visit requests.
    requesting: Vec<UrlKey>,
    /// URLs that are finished, and since when. Older lists still have them.
    finished: Vec<(ListTick, UrlKey)>,
    /// The host, if it was handed out again while these visits had all its URLs. It is given back
    /// when one of them ends.
    left: Option<StampedView>,
}

/// What the other visits to a host do with a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherVisits {
    /// Nothing.
    No,
    /// One of them requests it.
    Requested,
    /// One of them has finished it since the list was requested.
    Finished,
}

impl Visiting {
    /// Notes that lists are requested. They will not have what is finished by now.
    pub(crate) fn request_lists(&mut self) -> ListTick {
        self.requested = Some(self.now);
        self.now
    }

    /// Notes that the lists have arrived and visits have them.
    pub(crate) fn receive_lists(&mut self) {
        self.requested = None;
        for host in std::mem::take(&mut self.ended_since) {
            if self.hosts.get(&host).is_some_and(|visits| visits.lists.is_empty()) {
                self.hosts.remove(&host);
            }
        }
    }

    pub(crate) fn count(&self, host: &HostKey) -> usize {
        self.hosts.get(host).map_or(0, |visits| visits.lists.len())
    }

    pub(crate) fn begin(&mut self, host: &HostKey, since: ListTick, urls: &[UrlRecord]) {
        let wishes = urls.iter().filter(|url| url.wish.is_some()).cloned().collect();
        self.hosts.entry(host.clone()).or_default().lists.push((since, wishes));
    }

    /// Returns the wishes that visits have and that are not finished, for a store that came back
    /// empty.
    pub(crate) fn wishes(&self) -> Vec<UrlRecord> {
        let mut found: BTreeMap<UrlKey, UrlRecord> = BTreeMap::new();
        for visits in self.hosts.values() {
            for record in visits.lists.iter().flat_map(|(_, urls)| urls) {
                if visits.finished.iter().any(|(_, id)| *id == record.id) {
                    continue;
                }
                let fresh = UrlRecord {
                    claim: None,
                    ready: None,
                    slot_since: None,
                    held: false,
                    ..record.clone()
                };
                found.insert(record.id, fresh);
            }
        }
        found.into_values().collect()
    }

    /// Notes that a visit requests a URL.
    pub(crate) fn begin_url(&mut self, host: &HostKey, id: UrlKey) {
        if let Some(visits) = self.hosts.get_mut(host) {
            visits.requesting.push(id);
        }
    }

    /// Notes that a visit does not request a URL any more: it has `finished` it, or keeps it.
    pub(crate) fn end_url(&mut self, host: &HostKey, id: UrlKey, finished: bool) {
        let Some(visits) = self.hosts.get_mut(host) else { return };
        visits.requesting.retain(|other| *other != id);
        if finished {
            self.now += 1;
            visits.finished.push((self.now, id));
        }
    }

    /// Returns what the host's other visits do with a URL on a list that was requested at `since`.
    pub(crate) fn elsewhere(&self, host: &HostKey, since: ListTick, id: UrlKey) -> OtherVisits {
        let Some(visits) = self.hosts.get(host) else { return OtherVisits::No };
        if visits.requesting.contains(&id) {
            OtherVisits::Requested
        } else if visits.finished.iter().any(|(at, other)| *at > since && *other == id) {
            OtherVisits::Finished
        } else {
            OtherVisits::No
        }
    }

    /// Leaves a host that was handed out again to the visits that it has.
    pub(crate) fn leave(&mut self, left: StampedView) {
        let host = left.view.host.clone();
        self.hosts.entry(host).or_default().left = Some(left);
    }

    /// Notes that a visit has ended. A host that the visit could not use is `left` to the others.
    /// Returns a host that must be given back to the store.
    pub(crate) fn end(
        &mut self,
        host: &HostKey,
        since: ListTick,
        left: Option<StampedView>,
    ) -> Option<StampedView> {
        let Some(visits) = self.hosts.get_mut(host) else { return left };
        if let Some(at) = visits.lists.iter().position(|(tick, _)| *tick == since) {
            visits.lists.swap_remove(at);
        }
        let Some(oldest) = visits.lists.iter().map(|(tick, _)| *tick).min() else {
            let left = left.or(visits.left.take());
            match self.requested {
                Some(requested) => {
                    visits.finished.retain(|(at, _)| *at > requested);
                    self.ended_since.push(host.clone());
                }
                None => drop(self.hosts.remove(host)),
            }
            return left;
        };
        visits.finished.retain(|(at, _)| *at > oldest);
        match left {
            // A visit that found nothing to do has changed nothing: the others keep the host.
            Some(left) => {
                visits.left = Some(left);
                None
            }
            None => visits.left.take(),
        }
    }
}
