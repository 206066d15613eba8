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

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use ::url::{Position, Url};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub use authority::{Authority, Scheme};
pub use error::UrlError;
pub use host::HostKey;
pub use key::UrlKey;
use plain::Plain;
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
    text: Box<str>,
    /// Where its path begins.
    path_at: u32,
    port: u16,
    scheme: Scheme,
    host: HostKey,
    /// The same as the standard's parser has it, once a reference needs that.
    parsed: OnceLock<Box<Url>>,
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
        let (origin, path) = self.0.text.split_at(self.0.path_at as usize);
        let read = match reference.len() <= Self::TEXT_BYTES_MAX {
            true => plain::read(origin, reference),
            false => None,
        };
        let (kept, added) = match read {
            None => return Self::read(Some(self.parsed()), reference),
            Some(Plain::Same) => return Ok(self.clone()),
            Some(Plain::Path(added)) => ("", added),
            Some(Plain::Query(added)) => (before_query(path), added),
            Some(Plain::Beside(added)) => {
                let path = before_query(path);
                (&path[..path.rfind('/').map_or(0, |at| at + 1)], added)
            }
        };
        let bytes = origin.len() + kept.len() + added.len();
        if bytes > Self::BYTES_MAX {
            return Err(UrlError::TooLong { bytes, bytes_max: Self::BYTES_MAX });
        }
        let mut text = String::with_capacity(bytes);
        text.extend([origin, kept, added]);
        let Parts { path_at, port, scheme, .. } = *self.0;
        let (text, host) = (text.into_boxed_str(), self.0.host.clone());
        let parsed = OnceLock::new();
        Ok(CrawlUrl(Arc::new(Parts { text, path_at, port, scheme, host, parsed })))
    }

    fn parsed(&self) -> &Url {
        let parse = || Url::parse(&self.0.text).expect("a URL in its one spelling is one");
        self.0.parsed.get_or_init(|| Box::new(parse()))
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
        let path_at = url[..Position::BeforePath].len() as u32;
        let port = url.port().unwrap_or(scheme.default_port());
        let (text, parsed) = (String::from(url).into_boxed_str(), OnceLock::new());
        Ok(CrawlUrl(Arc::new(Parts { text, path_at, port, scheme, host, parsed })))
    }

    /// The one spelling.
    pub fn as_str(&self) -> &str {
        &self.0.text
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
        &self.0.text[self.0.path_at as usize..]
    }

    /// Plain or encrypted.
    pub fn scheme(&self) -> Scheme {
        self.0.scheme
    }

    /// The port that is dialled, given or by the scheme.
    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// The host as an address, if it is one.
    pub fn ip(&self) -> Option<IpAddr> {
        self.0.host.ip()
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

fn before_query(path: &str) -> &str {
    &path[..plain::find(path, b'?').unwrap_or(path.len())]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::{Purpose, draw};

    /// What references are made of: what is plain, and everything that looks like it.
    const PIECES: [&str; 40] = [
        "/",
        "/",
        "/",
        "a",
        "b.html",
        "P7",
        "..",
        ".",
        "%2e",
        "%2E",
        "%2f",
        "%",
        "?",
        "&x=1",
        "#",
        "#top",
        ":",
        "//",
        "\\",
        " ",
        "\t",
        "@",
        "'",
        "\"",
        "é",
        "|",
        "^",
        "~",
        "h.test",
        "http:",
        "https://h.test",
        "http://h.test/",
        "H.TEST",
        ":80",
        ":8080",
        "user@",
        "[",
        "]",
        "*",
        ";",
    ];

    #[test]
    fn what_is_joined_without_the_parser_is_what_the_parser_says() {
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
            let origin = &base.as_str()[..base.0.path_at as usize];
            let mut reference = String::from(if pick(101, 5) == 0 { origin } else { "" });
            (0..pick(102, 6) as u32).for_each(|n| reference += PIECES[pick(n, PIECES.len())]);
            plain += u32::from(plain::read(origin, &reference).is_some());
            let by_parser = CrawlUrl::read(Some(base.parsed()), &reference);
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
