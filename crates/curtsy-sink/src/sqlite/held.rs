//! Pages whose rows are on their way: the only place where a fetched page is kept before it is on the disk.
//!
//! And a sieve of the keys that the table has: most URLs are asked about before anything is held of them, some of them often, and the
//! sieve answers that without a look into the file. It may say "perhaps" of a key that is not there, never "no" of one that is.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use curtsy_core::url::UrlKey;
use curtsy_engine::{CachedPage, Head};

/// Bits of the sieve: 2 MiB. A million pages make it wrong for one key in 500; ten million make it useless, and harmless.
const SIEVE_BITS: usize = 1 << 24;

pub(super) struct Held {
    pages: HashMap<UrlKey, Kept>,
    /// In the order in which they came; a key may stand here more often than in the map.
    order: VecDeque<UrlKey>,
    bytes: usize,
    pages_max: usize,
    bytes_max: usize,
    sieve: Box<[u64]>,
    /// Whether any page of the table was found at another URL than its own.
    pub(super) any_moved: bool,
}

/// What is kept of a page.
#[derive(Clone)]
pub(super) struct Kept {
    pub(super) page: CachedPage,
    /// The answer; without one it is in the table.
    pub(super) answer: Option<(Arc<Head>, Bytes)>,
}

impl Held {
    pub(super) fn new(pages_max: usize, bytes_max: usize) -> Held {
        let sieve = vec![0; SIEVE_BITS / 64].into();
        let (pages, order) = (HashMap::new(), VecDeque::new());
        Held { pages, order, bytes: 0, pages_max, bytes_max, sieve, any_moved: false }
    }

    pub(super) fn get(&self, key: UrlKey) -> Option<&Kept> {
        self.pages.get(&key)
    }

    /// Keeps a page until its row is written. If there is no room, the oldest goes: that costs a request at most.
    pub(super) fn put(
        &mut self,
        key: UrlKey,
        page: CachedPage,
        answer: Option<(Arc<Head>, Bytes)>,
    ) {
        let before = self.take(key);
        let answer = answer.or_else(|| before.and_then(|kept| kept.answer));
        self.bytes += size(answer.as_ref());
        self.pages.insert(key, Kept { page, answer });
        self.order.push_back(key);
        while self.pages.len() > self.pages_max
            || self.bytes > self.bytes_max
            || self.order.len() > 2 * self.pages_max
        {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            self.take(oldest);
        }
    }

    /// The row of a page is written.
    pub(super) fn written(&mut self, key: UrlKey, page: &CachedPage, moved: bool) {
        self.note(key);
        self.any_moved |= moved;
        // Unless a newer one came meanwhile.
        if self.pages.get(&key).is_some_and(|kept| kept.page == *page) {
            self.take(key);
        }
        if self.pages.is_empty() {
            self.order.clear();
        }
    }

    /// Holds nothing any more: that costs requests.
    pub(super) fn clear(&mut self) {
        self.pages.clear();
        self.order.clear();
        self.bytes = 0;
    }

    fn take(&mut self, key: UrlKey) -> Option<Kept> {
        let kept = self.pages.remove(&key)?;
        self.bytes -= size(kept.answer.as_ref());
        Some(kept)
    }

    /// The table has this key.
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

/// A key is a hash already: parts of it are as good as further hashes.
fn bits(key: UrlKey) -> [usize; 4] {
    let key = key.as_u128();
    [0, 32, 64, 96].map(|shift| (key >> shift) as usize % SIEVE_BITS)
}

/// An answer without a body has its head.
fn size(answer: Option<&(Arc<Head>, Bytes)>) -> usize {
    answer.map_or(0, |(_, body)| body.len() + 1024)
}
