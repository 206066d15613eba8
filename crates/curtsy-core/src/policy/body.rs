//! Decides which content types a policy reads.

use super::BodyPolicy;
use crate::headers::ContentType;

impl BodyPolicy {
    /// Returns whether a page of this content type is read: `accept` lists it or is empty, and
    /// `reject` does not list it. A page without a content type counts as
    /// `application/octet-stream` (RFC 9110 §8.3).
    pub fn wants(&self, content_type: Option<&str>) -> bool {
        if self.accept.is_empty() && self.reject.is_empty() {
            return true;
        }
        let essence = content_type.and_then(ContentType::parse).map(|read| read.essence);
        let essence = essence.as_deref().unwrap_or(UNNAMED);
        let lists = |patterns: &[String]| patterns.iter().any(|it| matches(it, essence));
        (self.accept.is_empty() || lists(&self.accept)) && !lists(&self.reject)
    }
}

/// Returns whether a pattern (`text/html`, `text/*` or `*/*`) matches a content type.
fn matches(pattern: &str, essence: &str) -> bool {
    let pattern = pattern.trim();
    match pattern.strip_suffix('*') {
        Some("" | "*/") => true,
        Some(start) => essence.get(..start.len()).is_some_and(|s| s.eq_ignore_ascii_case(start)),
        None => essence.eq_ignore_ascii_case(pattern),
    }
}

/// The content type of a body that has none.
const UNNAMED: &str = "application/octet-stream";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_by_name_and_wildcard() {
        let check = |content_type: Option<&str>, accept: &[&str], reject: &[&str]| {
            let list = |l: &[&str]| l.iter().map(|s| (*s).to_owned()).collect();
            let body = BodyPolicy {
                decoded_max: 1,
                accept: list(accept),
                reject: list(reject),
                keep: true,
                redirects_max: 5,
            };
            body.wants(content_type)
        };
        assert!(check(Some("image/png"), &[], &[]));
        assert!(check(Some("Text/HTML; charset=utf-8"), &["text/html"], &[]));
        assert!(check(Some("text/plain"), &["text/*"], &[]));
        assert!(check(Some("text/plain"), &["*/*"], &["image/*"]));
        assert!(!check(Some("text/plain"), &["text/*"], &["text/plain"]));
        assert!(!check(Some("application/pdf"), &["text/*", "application/xhtml+xml"], &[]));
        assert!(!check(Some("text/htmlx"), &["text/html"], &[]));
        assert!(!check(None, &["text/*"], &[]));
        assert!(!check(None, &[], &["application/octet-stream"]));
        assert!(check(None, &[], &["image/*"]));
    }
}
