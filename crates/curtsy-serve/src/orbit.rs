//! Whose runs are these? An orbit is a tenant of the service, known by its slug.

use std::fmt;

/// The longest name of an orbit.
pub(crate) const SLUG_BYTES_MAX: usize = 64;

/// The name of an orbit: 1 to 64 lower-case letters, digits and hyphens, no hyphen at an end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slug(String);

impl Slug {
    /// Reads a slug; none if it is none.
    pub(crate) fn parse(text: &str) -> Option<Slug> {
        let is_sign = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let fits = (1..=SLUG_BYTES_MAX).contains(&text.len())
            && text.bytes().all(is_sign)
            && !text.starts_with('-')
            && !text.ends_with('-');
        fits.then(|| Slug(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Slug;

    #[test]
    fn a_slug_is_a_plain_name() {
        for good in ["a", "trattoria-lucia", "7up", &"x".repeat(64)] {
            assert!(Slug::parse(good).is_some(), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a_b", "..", "a/b", "a%2fb", "a\0", "ä", &"x".repeat(65)]
        {
            assert!(Slug::parse(bad).is_none(), "{bad}");
        }
    }
}
