//! The set of known URLs. Most links of a page lead to known URLs, so memory must answer most
//! questions.
//!
//! Memory has the keys that were seen last, in two generations: when the younger is full, the older
//! is dropped. Until the first drop memory has all known keys, and a key that is not there is new
//! without a look into the table.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher, RandomState};

use rusqlite::{Connection, OptionalExtension};

type Keys = HashSet<u128, Mixed>;

/// The keys of known URLs.
pub(crate) struct KnownUrls {
    young: Keys,
    old: Keys,
    /// Whether all known keys are in memory.
    complete: bool,
    max: usize,
    /// New keys that are not in the table yet.
    fresh: Keys,
}

impl KnownUrls {
    /// Loads the known keys of a crawl's file. Memory has `max` of them.
    pub(crate) fn load(db: &Connection, max: usize) -> Result<KnownUrls, rusqlite::Error> {
        let max = max.max(2) / 2;
        let (mut young, mut complete) = (Keys::default(), true);
        let mut statement = db.prepare("SELECT key FROM known LIMIT ?1")?;
        let mut rows = statement.query([i64::try_from(max + 1).unwrap_or(i64::MAX)])?;
        while let Some(row) = rows.next()? {
            if young.len() == max {
                complete = false;
                young.clear();
                break;
            }
            young.insert(key(row.get_ref(0)?.as_blob()?));
        }
        Ok(KnownUrls { young, old: Keys::default(), complete, max, fresh: Keys::default() })
    }

    /// Whether a key is among those that were seen last.
    pub(crate) fn has(&self, key: u128) -> bool {
        self.young.contains(&key)
    }

    /// Adds a key. Returns whether it is new.
    pub(crate) fn insert(&mut self, db: &Connection, key: u128) -> Result<bool, rusqlite::Error> {
        if self.young.contains(&key) {
            return Ok(false);
        }
        let known = self.old.contains(&key)
            || !self.complete && (self.fresh.contains(&key) || in_table(db, key)?);
        if self.young.len() >= self.max {
            self.complete &= self.old.is_empty();
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key);
        if !known {
            self.fresh.insert(key);
        }
        Ok(!known)
    }

    /// Returns the keys that must be added to the table, in its order.
    pub(crate) fn fresh(&self) -> Vec<u128> {
        let mut fresh: Vec<u128> = self.fresh.iter().copied().collect();
        fresh.sort_unstable();
        fresh
    }

    /// Notes that all keys are in the table.
    pub(crate) fn merged(&mut self) {
        self.fresh.clear();
    }

    pub(crate) fn clear(&mut self) {
        (self.young, self.old, self.fresh) = Default::default();
        self.complete = true;
    }
}

fn in_table(db: &Connection, key: u128) -> Result<bool, rusqlite::Error> {
    let mut statement = db.prepare_cached("SELECT 1 FROM known WHERE key = ?1")?;
    let found = statement.query_row([&key.to_be_bytes()[..]], |_| Ok(())).optional()?;
    Ok(found.is_some())
}

/// Returns a key as a number.
pub(crate) fn key(bytes: &[u8]) -> u128 {
    bytes.try_into().map_or(0, u128::from_be_bytes)
}

/// Keys are hashes already, but a site can choose its URLs. So they are mixed with numbers that the
/// site does not know.
#[derive(Clone)]
struct Mixed(u64, u64);

impl Default for Mixed {
    fn default() -> Mixed {
        let chance = RandomState::new();
        Mixed(chance.hash_one(1), chance.hash_one(2))
    }
}

impl BuildHasher for Mixed {
    type Hasher = Mixing;
    fn build_hasher(&self) -> Mixing {
        Mixing { by: (self.0, self.1), mixed: 0 }
    }
}

struct Mixing {
    by: (u64, u64),
    mixed: u64,
}

impl Hasher for Mixing {
    fn write_u128(&mut self, key: u128) {
        let (low, high) = (key as u64 ^ self.by.0, (key >> 64) as u64 ^ self.by.1);
        let product = u128::from(low) * u128::from(high);
        self.mixed = product as u64 ^ (product >> 64) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        self.write_u128(bytes.iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte)));
    }

    fn finish(&self) -> u64 {
        self.mixed
    }
}
