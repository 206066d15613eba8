//! Properties that must hold for any bytes from the network or from a settings file.
//!
//! A [`FuzzTarget`] reads bytes and panics if a property does not hold: limits are kept, a value
//! that was written is read back as the same value, and a fast implementation agrees with a slow
//! one. The tests of this crate run every target on stored and mutated bytes. `./fuzz` does the
//! same for any length of time, guided by coverage.

mod kept;
mod mutate;
mod targets;

pub use kept::{StoredInput, kept};
pub use mutate::Mutator;
pub use targets::TARGETS;

/// One reader under test.
pub struct FuzzTarget {
    /// The name in reports and of the target's folders.
    pub name: &'static str,
    /// Reads the bytes and panics if a property does not hold.
    pub run: fn(&[u8]),
    /// The first inputs.
    pub seeds: &'static [&'static [u8]],
    /// Keywords of the format that the target reads, as a libFuzzer dictionary: one string a line,
    /// in quotes, with the escapes `\\`, `\"` and `\xNN`.
    pub dictionary: &'static str,
}

impl FuzzTarget {
    /// Returns the target with this name.
    pub fn find(name: &str) -> Option<&'static FuzzTarget> {
        TARGETS.iter().copied().find(|target| target.name == name)
    }

    /// Returns the keywords of the dictionary, unescaped.
    fn keywords(&self) -> Vec<Vec<u8>> {
        self.dictionary.lines().map(|line| unescaped(&line[1..line.len() - 1])).collect()
    }
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next() {
                Some(b'x') => {
                    let digits: String = rest.by_ref().take(2).map(char::from).collect();
                    u8::from_str_radix(&digits, 16).expect("a dictionary has `\\xNN`")
                }
                other => other.expect("a dictionary has no lone backslash"),
            },
            byte => byte,
        });
    }
    bytes
}

/// Decodes the bytes of a header as Latin-1.
pub(crate) fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// Splits the bytes at the first line end.
pub(crate) fn first_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[]),
    }
}

/// Splits off the first byte, by which targets choose a variant.
pub(crate) fn choice(bytes: &[u8]) -> (usize, &[u8]) {
    match bytes {
        [first, rest @ ..] => (usize::from(*first), rest),
        [] => (0, &[]),
    }
}
