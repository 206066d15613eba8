//! A hash that identifies a URL in sets of millions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_128;

use super::{UrlError, from_text};

/// XXH3 (128 bits) of a URL's normal form, written as 32 hexadecimal digits.
///
/// Among 10 billion URLs, the chance that any two share a key is below 10⁻¹⁸. A site gains nothing
/// from a collision of its own URLs: one of them is not crawled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UrlKey(u128);

impl UrlKey {
    /// Returns the key of a normal form.
    pub fn of(spelling: &str) -> UrlKey {
        UrlKey(xxh3_128(spelling.as_bytes()))
    }

    /// Returns the key with this number, as a store kept it.
    pub const fn from_u128(number: u128) -> UrlKey {
        UrlKey(number)
    }

    /// Returns the number, for a store.
    pub const fn as_u128(self) -> u128 {
        self.0
    }
}

impl fmt::Display for UrlKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for UrlKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for UrlKey {
    type Err = UrlError;
    fn from_str(text: &str) -> Result<UrlKey, UrlError> {
        // `from_str_radix` alone would accept a sign and fewer digits.
        if text.len() != 32 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(UrlError::Key);
        }
        u128::from_str_radix(text, 16).map(UrlKey).map_err(|_| UrlError::Key)
    }
}

impl Serialize for UrlKey {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match s.is_human_readable() {
            true => s.collect_str(self),
            false => self.0.to_le_bytes().serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for UrlKey {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<UrlKey, D::Error> {
        match d.is_human_readable() {
            true => from_text(d),
            false => <[u8; 16]>::deserialize(d).map(|bytes| UrlKey(u128::from_le_bytes(bytes))),
        }
    }
}
