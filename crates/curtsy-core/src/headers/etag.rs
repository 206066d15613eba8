//! Entity tags and their two comparisons (RFC 9110 §8.8.3).

/// An entity tag.
///
/// ```
/// use curtsy_core::headers::ETag;
/// let (weak, strong) = (ETag::parse("W/\"a\"").unwrap(), ETag::parse("\"a\"").unwrap());
/// assert!(weak.weak_match(&strong) && !weak.strong_match(&strong));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ETag<'a> {
    /// Whether the tag is weak: it only promises that nothing important has changed.
    pub weak: bool,
    /// The text between the quotes.
    pub opaque: &'a str,
}

impl<'a> ETag<'a> {
    /// Parses a tag. A tag without quotes is refused.
    pub fn parse(text: &'a str) -> Option<ETag<'a>> {
        let text = text.trim_matches(super::OWS);
        let (weak, quoted) = match text.strip_prefix("W/") {
            Some(quoted) => (true, quoted),
            None => (false, text),
        };
        let opaque = quoted.strip_prefix('"')?.strip_suffix('"')?;
        let plain = opaque.bytes().all(|b| b == 0x21 || (b >= 0x23 && b != 0x7f));
        plain.then_some(ETag { weak, opaque })
    }

    /// Returns whether the page has not changed by weak comparison (`If-None-Match`).
    pub fn weak_match(&self, other: &ETag<'_>) -> bool {
        self.opaque == other.opaque
    }

    /// Returns whether the bytes have not changed.
    pub fn strong_match(&self, other: &ETag<'_>) -> bool {
        !self.weak && !other.weak && self.opaque == other.opaque
    }
}
