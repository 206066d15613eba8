//! Maps and sets of hashes.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};

/// A map by hash.
pub(super) type ByHash<T> = HashMap<u64, T, Folding>;
/// A set of hashes.
pub(super) type HashesSet = HashSet<u64, Folding>;

/// Hashes keys by a random number. The keys are hashes of a public function, so a site could make
/// many that collide in a table; the random number prevents that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Folding(u64);

impl Folding {
    pub(super) fn new() -> Folding {
        Folding(RandomState::new().hash_one(0_u8))
    }

    /// Returns a hash in a random order.
    pub(super) fn fold(self, hash: u64) -> u64 {
        let mut hasher = self.build_hasher();
        hasher.write_u64(hash);
        hasher.finish()
    }
}

impl BuildHasher for Folding {
    type Hasher = FoldingHasher;
    fn build_hasher(&self) -> FoldingHasher {
        FoldingHasher(self.0)
    }
}

/// The hasher of one number.
pub(super) struct FoldingHasher(u64);

impl Hasher for FoldingHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, hash: u64) {
        let wide = u128::from(hash ^ self.0) * u128::from(SPREAD);
        self.0 = (wide as u64) ^ (wide >> 64) as u64;
    }
}

/// An odd number with irregular bits: the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
