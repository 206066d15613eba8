//! What must hold of any bytes that come from the network, or from a file of settings.
//!
//! A [`Target`] takes bytes and panics if something does not hold: not only that nothing panics by itself, but that limits are kept, that
//! what was read once is read to the same again, and that a fast way agrees with a slow one. The tests of this crate throw kept and
//! mutated bytes at every target; `./fuzz` does the same for as long as you like, led by coverage.

mod kept;
mod mutate;
mod targets;

pub use kept::{Kept, kept};
pub use mutate::Mutator;
pub use targets::TARGETS;

/// Something that reads bytes.
pub struct Target {
    /// Its name in reports, and of its folders.
    pub name: &'static str,
    /// Reads the bytes, and panics unless everything holds.
    pub run: fn(&[u8]),
    /// Bytes to begin with.
    pub seeds: &'static [&'static [u8]],
    /// Words that mean something to it.
    pub words: &'static [&'static str],
}

impl Target {
    /// A target by its name.
    pub fn find(name: &str) -> Option<&'static Target> {
        TARGETS.iter().copied().find(|target| target.name == name)
    }
}

/// Bytes as the characters of a header, above ASCII as Latin-1.
pub(crate) fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// What stands before the first line end, and what after it.
pub(crate) fn first_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[]),
    }
}

/// The first byte, which chooses something, and the rest.
pub(crate) fn choice(bytes: &[u8]) -> (usize, &[u8]) {
    match bytes {
        [first, rest @ ..] => (usize::from(*first), rest),
        [] => (0, &[]),
    }
}
