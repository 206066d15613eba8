//! What a worker remembers, in case the store loses it.
//!
//! Bounded. Whoever runs a worker may keep it in a small local file, so that what a worker knew outlives the worker too.

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
pub struct Memory {
    /// The store's epoch when it last answered.
    pub epoch: Option<u64>,
    /// Host states as this worker last wrote them, and when that was.
    pub hosts: BTreeMap<HostKey, (Time, Arc<HostState>)>,
    /// URLs that failed, those that are not tried again included: a store that lost their end would hand them out again.
    pub urls: BTreeMap<UrlKey, UrlRecord>,
    /// Orders that it has heard.
    pub orders: Arc<Orders>,
    order: VecDeque<UrlKey>,
}

impl Memory {
    /// Remembers a state that was written. With several visits to a host the answer to an older write may come after that to a newer one.
    pub fn remember(&mut self, host: &HostKey, state: &Arc<HostState>, now: Time) {
        if self.hosts.get(host).is_some_and(|(written, _)| *written > now) {
            return;
        }
        if self.hosts.len() >= HOSTS_MAX && !self.hosts.contains_key(host) {
            // What waits for nothing need not be remembered.
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

    /// Remembers orders: those that the store has, and those that it has lost.
    pub fn hear(&mut self, told: &Arc<Orders>) {
        if Arc::ptr_eq(&self.orders, told) {
            return;
        }
        let known = std::mem::replace(&mut self.orders, Arc::clone(told));
        if known != *told {
            let orders = Arc::make_mut(&mut self.orders);
            for order in known.iter() {
                orders.hear(&order);
            }
        }
    }

    /// A URL has ended well.
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
        let mut memory = Memory::default();
        for (secs, turn) in [(1, 1), (9, 3), (5, 2)] {
            memory.remember(&host, &state(turn), Time::from_secs(secs));
        }
        assert_eq!(memory.hosts[&host], (Time::from_secs(9), state(3)));
    }
}
