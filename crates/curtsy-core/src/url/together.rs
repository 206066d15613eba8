//! Resolves the references of a page, and stores the URLs in one text.
//!
//! A page has dozens of links, most of them to its own site. Each URL by itself would need two
//! allocations. Together they share one, which is freed with the last of them.

use std::cell::OnceCell;
use std::str::FromStr;
use std::sync::Arc;

use ::url::{Position, Url};

use super::plain::{self, Plain};
use super::{CrawlUrl, HostKey, Scheme, UrlError, UrlSpan, alone, parse_whatwg};

/// A URL that many references are relative to.
pub struct Base {
    url: CrawlUrl,
    /// The same URL as parsed by the standard's parser, once a reference needs that.
    parsed: OnceCell<Url>,
}

/// URLs that share one text.
///
/// ```
/// use curtsy_core::url::{Base, CrawlUrl, Together};
/// let base = Base::new(CrawlUrl::parse("https://example.org/a/").unwrap());
/// let mut together = Together::default();
/// assert_eq!(together.join(&base, "b"), Ok("https://example.org/a/b"));
/// assert_eq!(together.join(&base, "//Other.example"), Ok("https://other.example/"));
/// assert!(together.join(&base, "mailto:me").is_err());
/// let urls: Vec<CrawlUrl> = together.finish().collect();
/// assert_eq!(urls[1], CrawlUrl::parse("https://other.example/").unwrap());
/// ```
#[derive(Default)]
pub struct Together {
    text: String,
    places: Vec<UrlSpan>,
}

impl Together {
    /// Returns an empty list with room for this many URLs.
    pub fn with_capacity(urls: usize) -> Together {
        let text = String::with_capacity(urls.saturating_mul(URL_BYTES_USUAL));
        Together { text, places: Vec::with_capacity(urls) }
    }

    /// Adds the URL of a reference, and returns its normal form.
    pub fn join(&mut self, base: &Base, reference: &str) -> Result<&str, UrlError> {
        let before = self.text.len();
        match base.write(reference, &mut self.text) {
            Ok(place) => {
                self.places.push(place);
                Ok(&self.text[before..])
            }
            Err(error) => {
                self.text.truncate(before);
                Err(error)
            }
        }
    }

    /// Adds a URL that was parsed elsewhere.
    pub fn add(&mut self, url: &CrawlUrl) -> Result<&str, UrlError> {
        self.join(&Base::new(url.clone()), "#")
    }

    /// Returns the length in bytes of the text of all URLs.
    pub fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// Removes the URL that was added last.
    pub fn take_back(&mut self) {
        if let Some(place) = self.places.pop() {
            self.text.truncate(place.start as usize);
        }
    }

    /// Returns the URLs, in the order in which they were added.
    pub fn finish(self) -> impl ExactSizeIterator<Item = CrawlUrl> {
        let text: Arc<str> = self.text.into();
        self.places.into_iter().map(move |at| CrawlUrl { text: Arc::clone(&text), at })
    }
}

impl Base {
    /// Returns the base for references of a page at this URL.
    pub fn new(url: CrawlUrl) -> Base {
        Base { url, parsed: OnceCell::new() }
    }

    /// Returns the URL itself.
    pub fn url(&self) -> &CrawlUrl {
        &self.url
    }

    /// Resolves a reference.
    pub fn join(&self, reference: &str) -> Result<CrawlUrl, UrlError> {
        alone(|out| self.write(reference, out))
    }

    fn write(&self, reference: &str, out: &mut String) -> Result<UrlSpan, UrlError> {
        let (text, at) = (self.url.as_str(), &self.url.at);
        let (origin, path) = text.split_at((at.path - at.start) as usize);
        let plain = match reference.len() <= CrawlUrl::TEXT_BYTES_MAX {
            true => plain::read(origin, reference),
            false => None,
        };
        let (kept, added) = match plain {
            None => return read(Some(self.parsed()), reference, out),
            Some(Plain::Same) => (path, ""),
            Some(Plain::Path(added)) => ("", added),
            Some(Plain::Query(added)) => (before_query(path), added),
            Some(Plain::Beside(added)) => {
                let path = before_query(path);
                (&path[..path.rfind('/').map_or(0, |at| at + 1)], added)
            }
        };
        let host = at.host.clone();
        put(out, &[origin, kept, added], origin.len(), (at.port, at.scheme, host))
    }

    fn parsed(&self) -> &Url {
        let parse = || Url::parse(self.url.as_str()).expect("a URL in its one spelling is one");
        self.parsed.get_or_init(parse)
    }
}

/// Parses a URL by the standard's parser, and appends its normal form.
pub(super) fn read(base: Option<&Url>, text: &str, out: &mut String) -> Result<UrlSpan, UrlError> {
    if text.len() > CrawlUrl::TEXT_BYTES_MAX {
        let bytes_max = CrawlUrl::TEXT_BYTES_MAX;
        return Err(UrlError::TooLong { bytes: text.len(), bytes_max });
    }
    let url = parse_whatwg(base, text).map_err(UrlError::Syntax)?;
    normalise(url, out)
}

/// Appends the normal form of a parsed URL. Each setter moves the whole text, so it is called only
/// for a change.
fn normalise(mut url: Url, out: &mut String) -> Result<UrlSpan, UrlError> {
    let scheme = Scheme::from_str(url.scheme())?;
    let host = HostKey::from_host(url.host().ok_or(UrlError::NoHost)?)?;
    if url.host_str() != Some(host.as_str()) {
        url.set_host(Some(host.as_str())).map_err(UrlError::Syntax)?;
    }
    if !url.username().is_empty() || url.password().is_some() {
        // The setters refuse only URLs without a host, which the line above has excluded.
        url.set_username("")
            .and_then(|()| url.set_password(None))
            .map_err(|()| UrlError::NoHost)?;
    }
    if url.fragment().is_some() {
        url.set_fragment(None);
    }
    let port = url.port().unwrap_or(scheme.default_port());
    let origin = url[..Position::BeforePath].len();
    put(out, &[url.as_str()], origin, (port, scheme, host))
}

/// Appends a URL.
fn put(
    out: &mut String,
    parts: &[&str],
    origin: usize,
    (port, scheme, host): (u16, Scheme, HostKey),
) -> Result<UrlSpan, UrlError> {
    let bytes = parts.iter().map(|part| part.len()).sum::<usize>();
    if bytes > CrawlUrl::BYTES_MAX {
        return Err(UrlError::TooLong { bytes, bytes_max: CrawlUrl::BYTES_MAX });
    }
    let start = out.len();
    let bytes_max = u32::MAX as usize;
    let place = |at| u32::try_from(at).map_err(|_| UrlError::TooLong { bytes: at, bytes_max });
    let (path, end) = (place(start + origin)?, place(start + bytes)?);
    out.reserve(bytes);
    parts.iter().for_each(|part| out.push_str(part));
    Ok(UrlSpan { start: start as u32, path, end, port, scheme, host })
}

fn before_query(path: &str) -> &str {
    &path[..plain::find(path, b'?').unwrap_or(path.len())]
}

/// The usual length of a URL in bytes.
const URL_BYTES_USUAL: usize = 64;
