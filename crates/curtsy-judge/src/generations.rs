//! A map of bounded size that drops the entries that were not written for longest.
//!
//! The map has two halves. New entries go into the young one. When that is full, the old one is
//! dropped and the young one takes its place. Each operation costs the same at any size, and an
//! entry survives at least half the bound of other entries.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

pub(crate) struct Generations<V> {
    young: HashMap<u128, V, HashedKeys>,
    old: HashMap<u128, V, HashedKeys>,
    half: usize,
    /// The number of entries that were dropped while they still mattered.
    pub(crate) forgotten: u64,
}

impl<V> Generations<V> {
    /// Holds at most `max` entries.
    pub(crate) fn new(max: usize) -> Generations<V> {
        Generations {
            young: HashMap::default(),
            old: HashMap::default(),
            half: (max / 2).max(1),
            forgotten: 0,
        }
    }

    pub(crate) fn get(&self, key: u128) -> Option<&V> {
        self.young.get(&key).or_else(|| self.old.get(&key))
    }

    pub(crate) fn get_mut(&mut self, key: u128) -> Option<&mut V> {
        match self.young.get_mut(&key) {
            Some(value) => Some(value),
            None => self.old.get_mut(&key),
        }
    }

    pub(crate) fn remove(&mut self, key: u128) -> Option<V> {
        let young = self.young.remove(&key);
        let old = self.old.remove(&key);
        young.or(old)
    }

    /// Adds an entry. `matters` says which dropped entries count as forgotten.
    pub(crate) fn put(&mut self, key: u128, value: V, matters: impl Fn(&V) -> bool) {
        if self.young.len() >= self.half && !self.young.contains_key(&key) {
            self.forgotten += self.old.values().filter(|value| matters(value)).count() as u64;
            // The cleared map is used again, without an allocation.
            self.old.clear();
            std::mem::swap(&mut self.young, &mut self.old);
        }
        self.old.remove(&key);
        self.young.insert(key, value);
    }
}

/// A hasher for keys that are hashes already.
pub(crate) type HashedKeys = BuildHasherDefault<Same>;

#[derive(Default)]
pub(crate) struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Strings use FNV-1a, which is good enough for host names.
        for &b in bytes {
            self.0 = (self.0 ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn write_u8(&mut self, _: u8) {}

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64 ^ (key >> 64) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_holds_and_losses_are_counted() {
        let mut map = Generations::new(8);
        for key in 0..100u128 {
            map.put(key, key, |value| value % 2 == 0);
            assert!(map.young.len() + map.old.len() <= 8);
            assert_eq!(map.get(key), Some(&key));
        }
        assert_eq!(map.get(0), None);
        assert!(map.forgotten >= 40, "{}", map.forgotten);
        map.put(99, 7, |_| true);
        assert_eq!(map.remove(99), Some(7));
        assert_eq!(map.get(99), None);
    }
}
