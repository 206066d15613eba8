//! What a worker remembers, in case the store loses it.
//!
//! Bounded. A face may save it in a small local file, so that it outlives the worker.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::HostState;
use curtsy_core::time::Time;
use curtsy_core::url::{HostKey, UrlKey};

use crate::{Orders, UrlRecord};

/// Host states that are remembered.
pub(crate) const HOSTS_MAX: usize = 4096;
/// URLs with failed tries that are remembered.
pub(crate) const URLS_MAX: usize = 16_384;

/// What a worker remembers of its own writes.
#[derive(Debug, Default)]
pub struct WorkerMemory {
    /// The store's epoch when it last answered.
    pub epoch: Option<u64>,
    /// Host states as this worker last wrote them, and when that was.
    pub hosts: BTreeMap<HostKey, (Time, Arc<HostState>)>,
    /// URLs that failed, with those that are not tried again: a store that lost their end would
    /// hand them out again.
    pub urls: BTreeMap<UrlKey, UrlRecord>,
    /// The newest stop order for each host.
    pub orders: Arc<Orders>,
    order: VecDeque<UrlKey>,
}

impl WorkerMemory {
    /// Remembers a state that was written. With several visits to a host, the answer to an older
    /// write may arrive after the answer to a newer one.
    pub fn remember(&mut self, host: &HostKey, state: &Arc<HostState>, now: Time) {
        if self.hosts.get(host).is_some_and(|(written, _)| *written > now) {
            return;
        }
        if self.hosts.len() >= HOSTS_MAX && !self.hosts.contains_key(host) {
            // A state without a wait can be forgotten.
            self.hosts.retain(|_, (_, state)| is_waiting(state, now));
            if self.hosts.len() >= HOSTS_MAX {
                self.hosts.pop_first();
            }
        }
        match self.hosts.get_mut(host) {
            Some(known) => *known = (now, Arc::clone(state)),
            None => {
                self.hosts.insert(host.clone(), (now, Arc::clone(state)));
            }
        }
    }

    /// Remembers a URL that failed.
    pub fn remember_url(&mut self, record: UrlRecord) {
        if self.order.len() >= URLS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.urls.remove(&oldest);
        }
        self.order.push_back(record.id);
        self.urls.insert(record.id, record);
    }

    /// Remembers the orders of the store, and keeps those that the store has lost.
    pub fn hear(&mut self, stored: &Arc<Orders>) {
        if Arc::ptr_eq(&self.orders, stored) {
            return;
        }
        let known = std::mem::replace(&mut self.orders, Arc::clone(stored));
        if known != *stored {
            let orders = Arc::make_mut(&mut self.orders);
            for order in known.iter() {
                orders.hear(&order);
            }
        }
    }

    /// Forgets a URL that has ended well.
    pub fn forget_url(&mut self, id: UrlKey) {
        self.urls.remove(&id);
    }
}

fn is_waiting(state: &HostState, now: Time) -> bool {
    !state.leases.is_empty()
        || state.backoff.until > Some(now)
        || state.breaker.until > Some(now)
        || state.last_start.is_some_and(|s| s + Duration::from_secs(60) > now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_comes_late_does_not_undo_what_was_written_after_it() {
        let host = HostKey::parse("a.test").unwrap();
        let state = |turn| Arc::new(HostState { turn, ..HostState::default() });
        let mut memory = WorkerMemory::default();
        for (secs, turn) in [(1, 1), (9, 3), (5, 2)] {
            memory.remember(&host, &state(turn), Time::from_secs(secs));
        }
        assert_eq!(memory.hosts[&host], (Time::from_secs(9), state(3)));
    }
}
