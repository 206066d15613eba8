//! Maps and sets of hashes. A small set needs no memory of its own: most shapes have one URL.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};

/// A map by hash.
pub(super) type ByHash<T> = HashMap<u64, T, Folding>;
/// A set of hashes.
pub(super) type HashesSet = HashSet<u64, Folding>;

/// A set of hashes that begins without memory of its own.
#[derive(Debug)]
pub(super) enum Hashes {
    /// The first `count` of these.
    Few { count: u8, first: [u64; FEW] },
    /// More.
    Many(Box<HashesSet>),
}

impl Default for Hashes {
    fn default() -> Hashes {
        Hashes::Few { count: 0, first: [0; FEW] }
    }
}

impl Hashes {
    pub(super) fn len(&self) -> usize {
        match self {
            Hashes::Few { count, .. } => usize::from(*count),
            Hashes::Many(set) => set.len(),
        }
    }

    pub(super) fn contains(&self, hash: u64) -> bool {
        match self {
            Hashes::Few { count, first } => first[..usize::from(*count)].contains(&hash),
            Hashes::Many(set) => set.contains(&hash),
        }
    }

    /// Adds a hash. Returns whether it was new.
    pub(super) fn insert(&mut self, hash: u64, folding: Folding) -> bool {
        match self {
            Hashes::Few { count, first } => {
                let met = usize::from(*count);
                if first[..met].contains(&hash) {
                    return false;
                }
                match first.get_mut(met) {
                    Some(place) => {
                        *place = hash;
                        *count += 1;
                    }
                    None => {
                        let mut set = HashesSet::with_capacity_and_hasher(FEW * 4, folding);
                        set.extend(first.iter().chain([&hash]));
                        *self = Hashes::Many(Box::new(set));
                    }
                }
                true
            }
            Hashes::Many(set) => set.insert(hash),
        }
    }
}

/// Hashes keys by a random number. The keys are hashes of a public function, so a site could make
/// many that collide in a table; the random number prevents that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Folding(u64);

impl Folding {
    pub(super) fn new() -> Folding {
        Folding(RandomState::new().hash_one(0_u8))
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

/// The number of hashes that need no memory of their own.
const FEW: usize = 3;
/// An odd number with irregular bits: the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::{Folding, Hashes};
    use std::collections::BTreeSet;

    #[test]
    fn a_set_is_a_set_small_or_large() {
        let (mut hashes, folding, mut plain) = (Hashes::default(), Folding::new(), BTreeSet::new());
        for hash in [0, 7, 7, 0, u64::MAX, 3, 3, 9, 0, 1 << 40] {
            assert_eq!(hashes.contains(hash), plain.contains(&hash), "{hash}");
            assert_eq!(hashes.insert(hash, folding), plain.insert(hash), "{hash}");
            assert_eq!(hashes.len(), plain.len());
        }
        assert!(matches!(hashes, Hashes::Many(_)));
    }
}
