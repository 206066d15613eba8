//! Addresses on pages: what leads out to crawled pages, and what is put into our own queries.
//!
//! A crawled address is foreign text. It becomes a link only if it is a plain `http` or `https`
//! address, and the linked site gets no referrer. Any other address is shown as text.

use std::fmt;

use askama::filters::{Html, HtmlSafe, escape};

/// Text as HTML shows it.
pub(super) fn escaped(text: &str) -> impl fmt::Display {
    let Ok(escaped) = escape(text, Html);
    escaped
}

/// A crawled address: a link if it may be one, else text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OutsideUrl(pub(super) String);

impl OutsideUrl {
    pub(super) fn new(url: &str) -> OutsideUrl {
        OutsideUrl(url.to_owned())
    }

    /// Whether it may be followed.
    pub(super) fn leads_out(&self) -> bool {
        let url = self.0.as_str();
        let begins = |scheme: &str| {
            url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        let plain = !url.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\');
        plain && (begins("http://") || begins("https://"))
    }
}

impl fmt::Display for OutsideUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = escaped(&self.0);
        match self.leads_out() {
            true => write!(
                f,
                "<a class=\"address\" href=\"{url}\" rel=\"nofollow noopener noreferrer\"><bdi>{url}</bdi></a>"
            ),
            false => write!(f, "<bdi class=\"address\">{url}</bdi>"),
        }
    }
}

/// What it writes is escaped above.
impl HtmlSafe for OutsideUrl {}

/// A text as part of a query: all but letters, digits, `-`, `.`, `_` and `~` becomes `%XX`.
pub(super) fn in_query(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut query, byte| {
        match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            true => query.push(byte.into()),
            false => query.push_str(&format!("%{byte:02X}")),
        }
        query
    })
}

/// A path of this service. A text that browsers may take for another site's address becomes `/`.
pub(super) fn our_own(place: &str) -> &str {
    let is_sign = |b: u8| b.is_ascii_alphanumeric() || b"/-._~?=&%".contains(&b);
    let ours = place.starts_with('/') && !place.starts_with("//") && place.bytes().all(is_sign);
    if ours { place } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_web_addresses_are_links() {
        for good in ["http://a.test/", "https://a.test/x?y=z#w", "HTTPS://A.TEST/"] {
            assert!(OutsideUrl::new(good).to_string().starts_with("<a "), "{good}");
        }
        let bad = [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            " https://a.test/",
            "data:text/html,x",
            "//a.test/",
            "/x",
            "",
            "http:/a",
            "https://a.test/\u{0}",
            "https:\\\\a.test",
            "ht\ntp://a.test/",
            "é",
        ];
        for bad in bad {
            assert!(!OutsideUrl::new(bad).to_string().contains("href"), "{bad}");
        }
    }

    #[test]
    fn an_address_cannot_leave_its_attribute() {
        let shown = OutsideUrl::new("https://a.test/\"><script>alert('x')</script>").to_string();
        assert!(!shown.contains("<script") && !shown.contains("/\">"), "{shown}");
        assert_eq!(shown.matches('"').count(), 6, "{shown}");
    }

    #[test]
    fn a_query_keeps_what_is_put_into_it() {
        assert_eq!(in_query("http://a.test/ä?b&c"), "http%3A%2F%2Fa.test%2F%C3%A4%3Fb%26c");
    }

    #[test]
    fn one_goes_on_to_our_own_places_only() {
        for own in ["/", "/orbit/demo/import?tab=manual", "/domains/a.test"] {
            assert_eq!(our_own(own), own);
        }
        for foreign in ["//a.test", "https://a.test/", "/\\a.test", "a", "", "/a b", "/\t/a.test"] {
            assert_eq!(our_own(foreign), "/", "{foreign}");
        }
    }
}
