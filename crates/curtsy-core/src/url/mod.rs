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
mod surt;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use ::url::{Position, Url};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub use authority::{Authority, Scheme};
pub use error::UrlError;
pub use host::HostKey;
pub use key::UrlKey;
pub use surt::{SurtError, SurtOptions, surt};

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
pub struct CrawlUrl(Arc<Parts>);

struct Parts {
    /// Already in the one spelling: http or https, no user, no fragment, `host` as its host.
    url: Url,
    host: HostKey,
    scheme: Scheme,
}

impl CrawlUrl {
    /// The longest URL that is kept, in bytes of its one spelling.
    pub const BYTES_MAX: usize = 8192;
    /// The longest text that is looked at; more than [`BYTES_MAX`](Self::BYTES_MAX), as fragments and white space fall away.
    pub const TEXT_BYTES_MAX: usize = 4 * Self::BYTES_MAX;

    /// Reads an absolute URL.
    pub fn parse(text: &str) -> Result<CrawlUrl, UrlError> {
        Self::read(None, text)
    }

    /// Reads a reference as a page at this URL would mean it.
    pub fn join(&self, reference: &str) -> Result<CrawlUrl, UrlError> {
        Self::read(Some(&self.0.url), reference)
    }

    fn read(base: Option<&Url>, text: &str) -> Result<CrawlUrl, UrlError> {
        if text.len() > Self::TEXT_BYTES_MAX {
            return Err(UrlError::TooLong { bytes: text.len(), bytes_max: Self::TEXT_BYTES_MAX });
        }
        let url = parse_whatwg(base, text).map_err(UrlError::Syntax)?;
        Self::normalise(url)
    }

    /// Brings a parsed URL to its one spelling. Each setter is only called when it changes something: it moves the whole text.
    fn normalise(mut url: Url) -> Result<CrawlUrl, UrlError> {
        let scheme = Scheme::from_str(url.scheme())?;
        let host = HostKey::from_host(url.host().ok_or(UrlError::NoHost)?)?;
        if url.host_str() != Some(host.as_str()) {
            url.set_host(Some(host.as_str())).map_err(UrlError::Syntax)?;
        }
        if !url.username().is_empty() || url.password().is_some() {
            // The setters refuse only URLs without a host, which the line above has ruled out.
            url.set_username("")
                .and_then(|()| url.set_password(None))
                .map_err(|()| UrlError::NoHost)?;
        }
        if url.fragment().is_some() {
            url.set_fragment(None);
        }
        if url.as_str().len() > Self::BYTES_MAX {
            return Err(UrlError::TooLong {
                bytes: url.as_str().len(),
                bytes_max: Self::BYTES_MAX,
            });
        }
        Ok(CrawlUrl(Arc::new(Parts { url, host, scheme })))
    }

    /// The one spelling.
    pub fn as_str(&self) -> &str {
        self.0.url.as_str()
    }

    /// The host that is asked, without scheme and port.
    pub fn host(&self) -> &HostKey {
        &self.0.host
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
        &self.0.url[Position::BeforePath..]
    }

    /// Plain or encrypted.
    pub fn scheme(&self) -> Scheme {
        self.0.scheme
    }

    /// The port that is dialled, given or by the scheme.
    pub fn port(&self) -> u16 {
        self.0.url.port().unwrap_or(self.scheme().default_port())
    }

    /// The host as an address, if it is one.
    pub fn ip(&self) -> Option<IpAddr> {
        self.0.host.ip()
    }

    /// The key under which web archives file it; never an identity.
    pub fn surt(&self) -> String {
        surt(self.as_str(), &SurtOptions::default())
            .expect("a crawlable URL is not blank, within the length, and its port is a number")
    }
}

/// The WHATWG parse alone, for who needs the fragment or the fields as they were written.
///
/// It is the crate `url` with one repair: after a base it reads `///host` as an empty host, where the standard skips every further
/// slash ("special authority ignore slashes state"). Where else it deviates is written in `docs/urls.md`.
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
        Arc::ptr_eq(&self.0, &other.0) || self.as_str() == other.as_str()
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
