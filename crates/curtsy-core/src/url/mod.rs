//! URLs, and the three identities that follow from them.
//!
//! A URL is parsed once, at the edge, by the WHATWG rules, and brought to its normal form. Inside,
//! no URL is a string. A [`CrawlUrl`] has three identities of different width:
//!
//! - [`HostKey`]: the host without scheme and port. Pace, slots, backoff, breaker and risk belong
//!   to it. So every spelling of a host must give the same key, or a host spelt in two ways is
//!   asked twice as fast.
//! - [`Authority`]: scheme, host and port. Only robots.txt belongs to it (RFC 9309 §2.3).
//! - [`UrlKey`]: a hash of the whole URL, for sets of millions.
//!
//! Beyond the WHATWG serialisation, the normal form has no fragment, user and password (which are
//! never sent), no trailing dot of the host, and IPv4 for an IPv4 address within IPv6 (`::ffff:…`).
//! Paths and queries are unchanged: `%7E` and `~` may be the same page, but only the site knows.
//!
//! Names that the DNS cannot have (empty or overlong labels) are refused here rather than later.

mod authority;
mod error;
mod host;
mod key;
mod plain;
mod region;
mod surt;
mod together;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use ::url::Url;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub use authority::{Authority, Scheme};
pub use error::UrlError;
pub use host::HostKey;
pub use key::UrlKey;
pub use region::{Region, folder};
pub use surt::{SurtError, SurtOptions, surt};
pub use together::{Base, Together};

/// A URL that can be crawled, in its normal form.
///
/// ```
/// use curtsy_core::url::CrawlUrl;
/// let url = CrawlUrl::parse("HTTP://user:secret@Example.ORG.:80/a/../b?q=1#top").unwrap();
/// assert_eq!(url.as_str(), "http://example.org/b?q=1");
/// assert_eq!(url.host().as_str(), "example.org");
/// assert_eq!(url.join("//example.org/c").unwrap().host(), url.host());
/// assert!(CrawlUrl::parse("mailto:owner@example.org").is_err());
/// ```
#[derive(Clone)]
pub struct CrawlUrl {
    /// The text that the URL is a part of: its own, or one that it [shares](Together) with others
    /// of its page.
    text: Arc<str>,
    at: UrlSpan,
}

/// The place of a URL in its normal form in a text (http or https, no user, no fragment, `host` as
/// its host), and of its parts.
#[derive(Clone)]
struct UrlSpan {
    start: u32,
    path: u32,
    end: u32,
    port: u16,
    scheme: Scheme,
    host: HostKey,
}

impl CrawlUrl {
    /// The longest URL that is kept, in bytes of its normal form.
    pub const BYTES_MAX: usize = 8192;
    /// The longest text that is parsed. It is more than [`BYTES_MAX`](Self::BYTES_MAX), because
    /// fragments and white space are removed.
    pub const TEXT_BYTES_MAX: usize = 4 * Self::BYTES_MAX;

    /// Parses an absolute URL.
    pub fn parse(text: &str) -> Result<CrawlUrl, UrlError> {
        alone(|out| together::read(None, text, out))
    }

    /// Resolves a reference against this URL. For many references use a [`Base`].
    pub fn join(&self, reference: &str) -> Result<CrawlUrl, UrlError> {
        Base::new(self.clone()).join(reference)
    }

    /// Returns the normal form.
    pub fn as_str(&self) -> &str {
        &self.text[self.at.start as usize..self.at.end as usize]
    }

    /// Returns the host, without scheme and port.
    pub fn host(&self) -> &HostKey {
        &self.at.host
    }

    /// Returns the authority, for which one robots.txt counts.
    pub fn authority(&self) -> Authority {
        Authority { scheme: self.scheme(), host: self.host().clone(), port: self.port() }
    }

    /// Returns the key of the URL.
    pub fn key(&self) -> UrlKey {
        UrlKey::of(self.as_str())
    }

    /// Returns the target of a request line, which robots rules are matched with. It is at least
    /// `/`.
    pub fn path_and_query(&self) -> &str {
        &self.text[self.at.path as usize..self.at.end as usize]
    }

    /// Returns the scheme.
    pub fn scheme(&self) -> Scheme {
        self.at.scheme
    }

    /// Returns the port to dial, given or by the scheme.
    pub fn port(&self) -> u16 {
        self.at.port
    }

    /// Returns the host as an address, if it is one.
    pub fn ip(&self) -> Option<IpAddr> {
        self.at.host.ip()
    }

    /// Returns the key under which web archives file the URL. It is never an identity.
    pub fn surt(&self) -> String {
        let port = (self.port() != self.scheme().default_port()).then(|| self.port());
        if let Some(key) = surt::plain(self.host().as_str(), port, self.path_and_query()) {
            return key;
        }
        surt(self.as_str(), &SurtOptions::default())
            .expect("a crawlable URL is not blank, within the length, and its port is a number")
    }
}

/// Returns a URL with a text of its own.
fn alone(
    write: impl FnOnce(&mut String) -> Result<UrlSpan, UrlError>,
) -> Result<CrawlUrl, UrlError> {
    let mut text = String::new();
    let at = write(&mut text)?;
    Ok(CrawlUrl { text: text.into(), at })
}

/// Parses by the WHATWG rules alone, for callers that need the fragment or the fields as written.
///
/// This is the crate `url` with one repair: after a base it reads `///host` as an empty host, where
/// the standard skips further slashes ("special authority ignore slashes state").
/// `docs/reference/urls.md` lists other deviations.
pub fn parse_whatwg(base: Option<&Url>, text: &str) -> Result<Url, ::url::ParseError> {
    match base {
        Some(base) if base.scheme().parse::<Scheme>().is_ok() && names_a_host(text) => {
            Url::parse(&format!("{}:{}", base.scheme(), text.trim_start_matches(ignored)))
        }
        _ => Url::options().base_url(base).parse(text),
    }
}

/// Returns whether a reference begins with two slashes, as the standard sees it.
fn names_a_host(reference: &str) -> bool {
    let mut seen = reference.chars().filter(|&c| !ignored(c));
    let mut slash = || seen.next().is_some_and(|c| matches!(c, '/' | '\\'));
    slash() && slash()
}

/// Returns whether the standard removes the character before a reference and, for tabs and line
/// ends, inside it.
fn ignored(c: char) -> bool {
    c <= ' '
}

impl PartialEq for CrawlUrl {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for CrawlUrl {}

impl PartialOrd for CrawlUrl {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for CrawlUrl {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for CrawlUrl {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

/// Implements the conversions of a type that is a text: from the text, and to it.
macro_rules! text_types {
    ($($type:ident),+) => {
        $(impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.as_str(), f)
            }
        }

        impl FromStr for $type {
            type Err = UrlError;
            fn from_str(text: &str) -> Result<$type, UrlError> {
                $type::parse(text)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<$type, D::Error> {
                from_text(d)
            }
        })+
    };
}

text_types!(CrawlUrl, HostKey);

/// Parses any type of this module from its text.
fn from_text<'de, D: Deserializer<'de>, T: FromStr<Err = UrlError>>(d: D) -> Result<T, D::Error> {
    let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
    text.parse().map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::{Purpose, draw};

    /// Parts of references: plain ones, and everything that looks like them.
    const PIECES: &str = "/¦/¦/¦a¦b.html¦P7¦..¦.¦%2e¦%2E¦%2f¦%¦?¦&x=1¦#¦#top¦:¦//¦\\¦ ¦\t¦@¦'¦\"¦\
        é¦|¦^¦~¦h.test¦http:¦https://h.test¦http://h.test/¦H.TEST¦:80¦:8080¦user@¦[¦]¦*¦;";

    #[test]
    fn what_is_joined_without_the_parser_is_what_the_parser_says() {
        let pieces: Vec<&str> = PIECES.split('¦').collect();
        let bases = [
            "http://h.test/",
            "https://h.test/a/b?q=/x/",
            "http://h.test:8080/d/e/",
            "http://127.0.0.1/x/y.html",
            "https://[2001:db8::1]:444/p",
        ];
        let mut plain = 0;
        for round in 0..200_000_u64 {
            let pick = |n: u32, of: usize| (draw(round, n, Purpose::Delay) % of as u64) as usize;
            let base = CrawlUrl::parse(bases[pick(100, bases.len())]).unwrap();
            let origin = &base.as_str()[..base.at.path as usize];
            let mut reference = String::from(if pick(101, 5) == 0 { origin } else { "" });
            (0..pick(102, 6) as u32).for_each(|n| reference += pieces[pick(n, pieces.len())]);
            plain += u32::from(plain::read(origin, &reference).is_some());
            let parsed = Url::parse(base.as_str()).unwrap();
            let by_parser = alone(|out| together::read(Some(&parsed), &reference, out));
            let joined = base.join(&reference);
            let text = |url: &Result<CrawlUrl, UrlError>| match url {
                Ok(url) => {
                    format!("{url} {} {} {:?}", url.host(), url.port(), url.path_and_query())
                }
                Err(error) => error.to_string(),
            };
            assert_eq!(text(&joined), text(&by_parser), "{reference:?} at {base}");
        }
        assert!(plain > 20_000, "{plain} of 200,000 were plain");
    }

    #[test]
    fn a_plain_reference_may_be_as_long_as_any() {
        let base = CrawlUrl::parse("http://h.test/").unwrap();
        let room = CrawlUrl::BYTES_MAX - "http://h.test".len();
        assert!(base.join(&format!("/{}", "a".repeat(room - 1))).is_ok());
        assert!(base.join(&format!("/{}", "a".repeat(room))).is_err());
    }
}
