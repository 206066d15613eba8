//! Which URL is it, whose host, and is it the same as that one?
//!
//! A URL is read once, at the edge, by the WHATWG rules, and brought to one spelling. Inside, no URL is a string.
//! From a [`CrawlUrl`] come three identities of different width:
//!
//! - [`HostKey`]: the host without scheme and port. Pace, slots, backoff, breaker and risk belong to it, so every spelling of one
//!   host must give one key, or a site that is spelt in two ways is asked twice as fast.
//! - [`Authority`]: scheme, host and port. Robots.txt belongs to it (RFC 9309 §2.3), nothing else does.
//! - [`UrlKey`]: a hash of the whole URL, for sets of millions.
//!
//! What changes beyond the WHATWG serialisation: the fragment goes (it is never sent), user and password go (they are never sent
//! either), the host's trailing dot goes, and an IPv4 address inside an IPv6 one (`::ffff:…`) is written as IPv4. Paths and
//! queries stay as they are: `%7E` and `~` may well be the same page, but only the site knows.
//!
//! Names that can't be asked of the DNS (empty or overlong labels) are refused here rather than later.

mod authority;
mod error;
mod host;
mod key;
mod plain;
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
pub use surt::{SurtError, SurtOptions, surt};
pub use together::{Base, Together};

/// A URL that can be crawled, in its one spelling.
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
    /// What it stands in: by itself, or [together](Together) with others of its page.
    text: Arc<str>,
    at: UrlSpan,
}

/// Where a URL stands in a text, already in its one spelling (http or https, no user, no fragment, `host` as its host), and its parts.
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
    /// The longest URL that is kept, in bytes of its one spelling.
    pub const BYTES_MAX: usize = 8192;
    /// The longest text that is looked at; more than [`BYTES_MAX`](Self::BYTES_MAX), as fragments and white space fall away.
    pub const TEXT_BYTES_MAX: usize = 4 * Self::BYTES_MAX;

    /// Reads an absolute URL.
    pub fn parse(text: &str) -> Result<CrawlUrl, UrlError> {
        alone(|out| together::read(None, text, out))
    }

    /// Reads a reference as a page at this URL would mean it. Who has many has a [`Base`].
    pub fn join(&self, reference: &str) -> Result<CrawlUrl, UrlError> {
        Base::new(self.clone()).join(reference)
    }

    /// The one spelling.
    pub fn as_str(&self) -> &str {
        &self.text[self.at.start as usize..self.at.end as usize]
    }

    /// The host that is asked, without scheme and port.
    pub fn host(&self) -> &HostKey {
        &self.at.host
    }

    /// Whose robots.txt counts.
    pub fn authority(&self) -> Authority {
        Authority { scheme: self.scheme(), host: self.host().clone(), port: self.port() }
    }

    /// The hash that stands for this URL.
    pub fn key(&self) -> UrlKey {
        UrlKey::of(self.as_str())
    }

    /// What a request line asks for, and what robots rules are matched with: `/` at least.
    pub fn path_and_query(&self) -> &str {
        &self.text[self.at.path as usize..self.at.end as usize]
    }

    /// Plain or encrypted.
    pub fn scheme(&self) -> Scheme {
        self.at.scheme
    }

    /// The port that is dialled, given or by the scheme.
    pub fn port(&self) -> u16 {
        self.at.port
    }

    /// The host as an address, if it is one.
    pub fn ip(&self) -> Option<IpAddr> {
        self.at.host.ip()
    }

    /// The key under which web archives file it; never an identity.
    pub fn surt(&self) -> String {
        let port = (self.port() != self.scheme().default_port()).then(|| self.port());
        if let Some(key) = surt::plain(self.host().as_str(), port, self.path_and_query()) {
            return key;
        }
        surt(self.as_str(), &SurtOptions::default())
            .expect("a crawlable URL is not blank, within the length, and its port is a number")
    }
}

/// A URL that stands in a text of its own.
fn alone(
    write: impl FnOnce(&mut String) -> Result<UrlSpan, UrlError>,
) -> Result<CrawlUrl, UrlError> {
    let mut text = String::new();
    let at = write(&mut text)?;
    Ok(CrawlUrl { text: text.into(), at })
}

/// The WHATWG parse alone, for who needs the fragment or the fields as they were written.
///
/// It is the crate `url` with one repair: after a base it reads `///host` as an empty host, where the standard skips every further
/// slash ("special authority ignore slashes state"). Where else it deviates is written in `docs/reference/urls.md`.
pub fn parse_whatwg(base: Option<&Url>, text: &str) -> Result<Url, ::url::ParseError> {
    match base {
        Some(base) if base.scheme().parse::<Scheme>().is_ok() && names_a_host(text) => {
            Url::parse(&format!("{}:{}", base.scheme(), text.trim_start_matches(ignored)))
        }
        _ => Url::options().base_url(base).parse(text),
    }
}

/// Whether a reference begins with two slashes, as the standard sees it.
fn names_a_host(reference: &str) -> bool {
    let mut seen = reference.chars().filter(|&c| !ignored(c));
    let mut slash = || seen.next().is_some_and(|c| matches!(c, '/' | '\\'));
    slash() && slash()
}

/// What the standard takes away before a reference and, as for tabs and line ends, inside it.
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

impl fmt::Display for CrawlUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for CrawlUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl FromStr for CrawlUrl {
    type Err = UrlError;
    fn from_str(text: &str) -> Result<CrawlUrl, UrlError> {
        CrawlUrl::parse(text)
    }
}

impl Serialize for CrawlUrl {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for CrawlUrl {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<CrawlUrl, D::Error> {
        from_text(d)
    }
}

/// Reads any of this module's types from its text.
fn from_text<'de, D: Deserializer<'de>, T: FromStr<Err = UrlError>>(d: D) -> Result<T, D::Error> {
    let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
    text.parse().map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::{Purpose, draw};

    /// What references are made of: what is plain, and everything that looks like it.
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
