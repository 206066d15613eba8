//! The authority of a URL: scheme, host and port, for which one robots.txt counts (RFC 9309 §2.3).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{CrawlUrl, HostKey, UrlError, from_text};

/// The scheme of a URL that can be crawled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// `http`
    Http,
    /// `https`
    Https,
}

impl Scheme {
    /// Returns the spelling in a URL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// Returns the port of a URL without one.
    pub const fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Reads the lower-case name.
impl FromStr for Scheme {
    type Err = UrlError;
    fn from_str(text: &str) -> Result<Scheme, UrlError> {
        match text {
            "http" => Ok(Scheme::Http),
            "https" => Ok(Scheme::Https),
            other => Err(UrlError::Scheme(other.chars().take(SCHEME_CHARS_SHOWN).collect())),
        }
    }
}

/// Scheme, host and port: the scope of one robots.txt.
///
/// ```
/// use curtsy_core::url::CrawlUrl;
/// let url = CrawlUrl::parse("https://example.org:8443/a?b").unwrap();
/// assert_eq!(url.authority().to_string(), "https://example.org:8443");
/// assert_eq!(url.authority().robots_url().as_str(), "https://example.org:8443/robots.txt");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Authority {
    /// Plain or encrypted.
    pub scheme: Scheme,
    /// The host in its normal form.
    pub host: HostKey,
    /// The port to dial.
    pub port: u16,
}

impl Authority {
    /// Returns the URL of its robots.txt.
    pub fn robots_url(&self) -> CrawlUrl {
        self.at("/robots.txt")
    }

    /// Returns the URL of its home page.
    pub fn root(&self) -> CrawlUrl {
        self.at("/")
    }

    fn at(&self, path: &str) -> CrawlUrl {
        CrawlUrl::parse(&format!("{self}{path}"))
            .expect("a host key is a host in its one spelling, so it parses again")
    }
}

/// Writes `https://example.org:8443`, with the port only if it is not the scheme's own.
impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        if self.port != self.scheme.default_port() {
            write!(f, ":{}", self.port)?;
        }
        Ok(())
    }
}

/// Parses the authority of a URL. A path or query after it is refused.
impl FromStr for Authority {
    type Err = UrlError;
    fn from_str(text: &str) -> Result<Authority, UrlError> {
        let url = CrawlUrl::parse(text)?;
        if url.path_and_query() != "/" {
            return Err(UrlError::Host("is followed by a path or query"));
        }
        Ok(url.authority())
    }
}

impl Serialize for Authority {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Authority {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Authority, D::Error> {
        from_text(d)
    }
}

/// How much of an unknown scheme an error shows.
const SCHEME_CHARS_SHOWN: usize = 32;
