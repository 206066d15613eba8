//! A set with a bound, for work that does no harm if it is done twice.

use std::collections::HashSet;
use std::hash::Hash;

/// Members of a set.
const MEMBERS_MAX: usize = 65_536;

/// A set that forgets all its members when it is full.
pub(crate) struct BoundedSet<T>(HashSet<T>);

impl<T> Default for BoundedSet<T> {
    fn default() -> BoundedSet<T> {
        BoundedSet(HashSet::new())
    }
}

impl<T: Eq + Hash> BoundedSet<T> {
    pub(crate) fn contains(&self, member: &T) -> bool {
        self.0.contains(member)
    }

    /// Adds a member. Returns whether it is new.
    pub(crate) fn insert(&mut self, member: T) -> bool {
        if self.0.len() >= MEMBERS_MAX {
            self.0.clear();
        }
        self.0.insert(member)
    }
}
