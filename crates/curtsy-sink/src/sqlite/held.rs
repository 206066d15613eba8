//! Fetched pages whose rows are not written yet, and a Bloom filter of the table's keys.
//!
//! Most lookups are for URLs that the table does not have. The filter answers these without a
//! query. It may report a key that the table does not have, but never misses one that it has.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use curtsy_core::url::UrlKey;
use curtsy_engine::{CachedPage, Head};

/// Bits of the filter: 2 MiB. With a million pages it is wrong for one key in 500; with ten million
/// it is useless, but harmless.
const SIEVE_BITS: usize = 1 << 24;

pub(super) struct UnwrittenPages {
    pages: HashMap<UrlKey, UnwrittenPage>,
    /// In order of arrival. A key may occur more than once.
    order: VecDeque<UrlKey>,
    bytes: usize,
    pages_max: usize,
    bytes_max: usize,
    sieve: Box<[u64]>,
    /// Whether the final URL of any page in the table is not its own.
    pub(super) any_moved: bool,
}

/// A page whose row is not written yet.
#[derive(Clone)]
pub(super) struct UnwrittenPage {
    pub(super) page: CachedPage,
    /// The response; without one it is in the table.
    pub(super) answer: Option<(Arc<Head>, Bytes)>,
}

impl UnwrittenPages {
    pub(super) fn new(pages_max: usize, bytes_max: usize) -> UnwrittenPages {
        let sieve = vec![0; SIEVE_BITS / 64].into();
        let (pages, order) = (HashMap::new(), VecDeque::new());
        UnwrittenPages { pages, order, bytes: 0, pages_max, bytes_max, sieve, any_moved: false }
    }

    pub(super) fn get(&self, key: UrlKey) -> Option<&UnwrittenPage> {
        self.pages.get(&key)
    }

    /// Keeps a page until its row is written. If there is no room, the oldest page is dropped,
    /// which costs at most one request.
    pub(super) fn put(
        &mut self,
        key: UrlKey,
        page: CachedPage,
        answer: Option<(Arc<Head>, Bytes)>,
    ) {
        let before = self.take(key);
        let answer = answer.or_else(|| before.and_then(|kept| kept.answer));
        self.bytes += size(answer.as_ref());
        self.pages.insert(key, UnwrittenPage { page, answer });
        self.order.push_back(key);
        while self.pages.len() > self.pages_max
            || self.bytes > self.bytes_max
            || self.order.len() > 2 * self.pages_max
        {
            let Some(oldest) = self.order.pop_front() else { break };
            self.take(oldest);
        }
    }

    /// Drops a page whose row is written.
    pub(super) fn written(&mut self, key: UrlKey, page: &CachedPage, moved: bool) {
        self.note(key);
        self.any_moved |= moved;
        // Unless a newer response has arrived.
        if self.pages.get(&key).is_some_and(|kept| kept.page == *page) {
            self.take(key);
        }
        if self.pages.is_empty() {
            self.order.clear();
        }
    }

    /// Drops all pages, which costs requests.
    pub(super) fn clear(&mut self) {
        self.pages.clear();
        self.order.clear();
        self.bytes = 0;
    }

    fn take(&mut self, key: UrlKey) -> Option<UnwrittenPage> {
        let kept = self.pages.remove(&key)?;
        self.bytes -= size(kept.answer.as_ref());
        Some(kept)
    }

    /// Adds a key of the table to the filter.
    pub(super) fn note(&mut self, key: UrlKey) {
        for bit in bits(key) {
            self.sieve[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Whether the table may have this key.
    pub(super) fn may_have(&self, key: UrlKey) -> bool {
        bits(key).into_iter().all(|bit| self.sieve[bit / 64] & 1 << (bit % 64) != 0)
    }
}

/// A key is a hash: parts of it serve as further hashes.
fn bits(key: UrlKey) -> [usize; 4] {
    let key = key.as_u128();
    [0, 32, 64, 96].map(|shift| (key >> shift) as usize % SIEVE_BITS)
}

/// A response without a body still has a head.
fn size(answer: Option<&(Arc<Head>, Bytes)>) -> usize {
    answer.map_or(0, |(_, body)| body.len() + 1024)
}
