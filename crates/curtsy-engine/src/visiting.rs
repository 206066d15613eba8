//! Which visits does this worker have to a host, and what do they have in hand?
//!
//! With several slots a host has several visits at once, each with its list of the host's first URLs, and the lists have much in common.
//! What one visit has asked for, the others leave out: the store would refuse it, after a connection and a decision were spent on it.

use std::collections::BTreeMap;

use curtsy_core::url::{HostKey, UrlKey};

use crate::UrlRecord;
use crate::visit::Seen;

/// When something happened, counted in what this worker has done.
pub(crate) type Tick = u64;

/// The visits of a worker.
#[derive(Default)]
pub(crate) struct Visiting {
    hosts: BTreeMap<HostKey, Hands>,
    now: Tick,
    /// When lists were asked for that are not in hand yet.
    taking: Option<Tick>,
    /// Hosts whose last visit ended meanwhile: what is through there may still be on those lists.
    left_behind: Vec<HostKey>,
}

/// The visits to one host.
#[derive(Default)]
struct Hands {
    /// When the list of each was asked for.
    since: Vec<Tick>,
    /// Wishes on the list of each.
    wishes: Vec<(Tick, Vec<UrlRecord>)>,
    /// URLs that are being asked for.
    asking: Vec<UrlKey>,
    /// URLs that are through, and when: older lists still have them.
    through: Vec<(Tick, UrlKey)>,
    /// The host was handed out once more while these visits had all there is of it. It is given back when one of them ends.
    left: Option<Seen>,
}

/// What the other visits have of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// Nothing.
    No,
    /// It is being asked for.
    Asking,
    /// It is through: this copy of it is an old one.
    Through,
}

impl Visiting {
    /// Lists are asked for. They know what is through by now.
    pub(crate) fn take(&mut self) -> Tick {
        self.taking = Some(self.now);
        self.now
    }

    /// The lists that were asked for are in the hands of visits.
    pub(crate) fn taken(&mut self) {
        self.taking = None;
        for host in std::mem::take(&mut self.left_behind) {
            if self.hosts.get(&host).is_some_and(|hands| hands.since.is_empty()) {
                self.hosts.remove(&host);
            }
        }
    }

    pub(crate) fn count(&self, host: &HostKey) -> usize {
        self.hosts.get(host).map_or(0, |hands| hands.since.len())
    }

    pub(crate) fn begin(&mut self, host: &HostKey, since: Tick, urls: &[UrlRecord]) {
        let hands = self.hosts.entry(host.clone()).or_default();
        hands.since.push(since);
        let wishes: Vec<_> = urls.iter().filter(|url| url.wish.is_some()).cloned().collect();
        if !wishes.is_empty() {
            hands.wishes.push((since, wishes));
        }
    }

    /// Wishes that are in somebody's hands here and not through: a store that lost everything gets them back.
    pub(crate) fn wishes(&self) -> Vec<UrlRecord> {
        let mut found: BTreeMap<UrlKey, UrlRecord> = BTreeMap::new();
        for hands in self.hosts.values() {
            let listed = hands.wishes.iter().flat_map(|(_, urls)| urls);
            for record in listed {
                if hands.through.iter().any(|(_, id)| *id == record.id) {
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

    pub(crate) fn asks(&mut self, host: &HostKey, id: UrlKey) {
        if let Some(hands) = self.hosts.get_mut(host) {
            hands.asking.push(id);
        }
    }

    /// A URL is not being asked for any more: it is through, or its visit keeps it.
    pub(crate) fn asked(&mut self, host: &HostKey, id: UrlKey, through: bool) {
        let Some(hands) = self.hosts.get_mut(host) else { return };
        hands.asking.retain(|other| *other != id);
        if through {
            self.now += 1;
            hands.through.push((self.now, id));
        }
    }

    /// What the host's other visits have of a URL on a list that was asked for at `since`.
    pub(crate) fn elsewhere(&self, host: &HostKey, since: Tick, id: UrlKey) -> Elsewhere {
        let Some(hands) = self.hosts.get(host) else { return Elsewhere::No };
        if hands.asking.contains(&id) {
            Elsewhere::Asking
        } else if hands.through.iter().any(|(at, other)| *at > since && *other == id) {
            Elsewhere::Through
        } else {
            Elsewhere::No
        }
    }

    /// The visits have all there is of a host that was handed out once more.
    pub(crate) fn leave(&mut self, seen: Seen) {
        let host = seen.view.host.clone();
        self.hosts.entry(host).or_default().left = Some(seen);
    }

    /// A visit is over; a host that it could not use is left to the others. What is to be given back to the store comes back.
    pub(crate) fn end(&mut self, host: &HostKey, since: Tick, left: Option<Seen>) -> Option<Seen> {
        let Some(hands) = self.hosts.get_mut(host) else { return left };
        if let Some(at) = hands.since.iter().position(|other| *other == since) {
            hands.since.swap_remove(at);
        }
        if let Some(at) = hands.wishes.iter().position(|(tick, _)| *tick == since) {
            hands.wishes.swap_remove(at);
        }
        let Some(oldest) = hands.since.iter().min().copied() else {
            let left = left.or(hands.left.take());
            match self.taking {
                Some(taking) => {
                    hands.through.retain(|(at, _)| *at > taking);
                    self.left_behind.push(host.clone());
                }
                None => drop(self.hosts.remove(host)),
            }
            return left;
        };
        hands.through.retain(|(at, _)| *at > oldest);
        match left {
            // Who found nothing to do has changed nothing either: the host stays with those who have it.
            Some(seen) => {
                hands.left = Some(seen);
                None
            }
            None => hands.left.take(),
        }
    }
}
