//! A set of hashes with a bound: what was not met for longest is forgotten first.

use crate::discover::hashes::{Folding, HashesSet};

/// A set in two generations. When the younger one is full it becomes the older one, and what only
/// the oldest had is forgotten.
#[derive(Debug)]
pub(super) struct HashGenerations {
    young: HashesSet,
    old: HashesSet,
    max: usize,
    folding: Folding,
    /// How often a generation ended.
    pub(super) turns: u32,
}

impl HashGenerations {
    /// Returns a set that remembers between `max` and twice `max` hashes.
    pub(super) fn new(max: usize, folding: Folding) -> HashGenerations {
        let young = HashesSet::with_hasher(folding);
        let old = HashesSet::with_hasher(folding);
        HashGenerations { young, old, max, folding, turns: 0 }
    }

    pub(super) fn contains(&self, hash: u64) -> bool {
        self.young.contains(&hash) || self.old.contains(&hash)
    }

    /// Adds a hash. Returns whether it was new.
    pub(super) fn insert(&mut self, hash: u64) -> bool {
        if self.young.contains(&hash) {
            return false;
        }
        if self.young.len() >= self.max {
            let young = HashesSet::with_hasher(self.folding);
            self.old = std::mem::replace(&mut self.young, young);
            self.turns += 1;
        }
        self.young.insert(hash);
        !self.old.contains(&hash)
    }
}

#[cfg(test)]
mod tests {
    use super::HashGenerations;
    use crate::discover::hashes::Folding;

    #[test]
    fn what_is_met_again_is_kept_and_the_rest_is_forgotten() {
        let mut set = HashGenerations::new(4, Folding::new());
        for hash in 0..100 {
            assert_eq!(set.insert(1_000), hash == 0);
            assert!(set.insert(hash));
            assert!(set.contains(hash));
            assert!(set.young.len() <= 4 && set.old.len() <= 4);
        }
        assert!(!set.contains(3));
        assert!(set.turns > 20);
    }
}
