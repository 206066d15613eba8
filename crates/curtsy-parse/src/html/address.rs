//! Resolves references against the page's base, with the query in the document's encoding.
//!
//! Only the query of a URL depends on the encoding (URL standard, "percent-encode after encoding";
//! UTF-16 counts as UTF-8). The query of a reference is encoded first if that matters, and the rest
//! is an ordinary parse.

use std::borrow::Cow;

use curtsy_core::url::{Base, CrawlUrl, Together, UrlError, parse_whatwg};
use encoding_rs::{EncoderResult, Encoding, UTF_8};
use url::Url;

/// Resolves references as the standard does, with fragment and user, for reports and for
/// comparisons with other readers.
#[derive(Clone, Debug)]
pub struct Addresses {
    base: Url,
    encoding: &'static Encoding,
}

impl Addresses {
    /// Returns the addresses for a page at this URL, whose first `base` element has this reference
    /// if any.
    ///
    /// A base that is no URL, or a `data:` or `javascript:` URL, is ignored.
    pub fn new(page: &Url, base: Option<&str>, encoding: &'static Encoding) -> Addresses {
        let mut addresses = Addresses { base: page.clone(), encoding: encoding.output_encoding() };
        if let Some(base) = base.and_then(|base| addresses.resolve(base))
            && !matches!(base.scheme(), "data" | "javascript")
        {
            addresses.base = base;
        }
        addresses
    }

    /// Returns the base of references.
    pub fn base(&self) -> &Url {
        &self.base
    }

    /// Returns the URL of a reference.
    pub fn resolve(&self, reference: &str) -> Option<Url> {
        let reference = with_encoded_query(reference, self.encoding);
        parse_whatwg(Some(&self.base), &reference).ok()
    }
}

/// Resolves references to URLs that can be crawled.
pub(super) struct CrawlAddresses {
    base: ReferenceBase,
    encoding: &'static Encoding,
}

/// The base for relative references.
enum ReferenceBase {
    Crawlable(Base),
    /// A base that cannot be crawled itself, like `ftp:`. Absolute references work without it.
    Other(Url),
}

impl CrawlAddresses {
    pub(super) fn new(
        page: &CrawlUrl,
        base: Option<&str>,
        encoding: &'static Encoding,
    ) -> CrawlAddresses {
        let encoding = encoding.output_encoding();
        let mut addresses =
            CrawlAddresses { base: ReferenceBase::Crawlable(Base::new(page.clone())), encoding };
        match base.map(|base| addresses.resolve(base)) {
            None | Some(Err(UrlError::Syntax(_))) => {}
            Some(Ok(base)) => addresses.base = ReferenceBase::Crawlable(Base::new(base)),
            Some(Err(_)) => {
                // This is rare: the full parse shows which scheme it is.
                if let (Some(base), Ok(page)) = (base, Url::parse(page.as_str())) {
                    let full = Addresses::new(&page, Some(base), encoding);
                    if !matches!(full.base.scheme(), "http" | "https") {
                        addresses.base = ReferenceBase::Other(full.base);
                    }
                }
            }
        }
        addresses
    }

    /// Returns the base of the page, if it can be crawled.
    pub(super) fn base(&self) -> Option<&CrawlUrl> {
        match &self.base {
            ReferenceBase::Crawlable(base) => Some(base.url()),
            ReferenceBase::Other(_) => None,
        }
    }

    pub(super) fn resolve(&self, reference: &str) -> Result<CrawlUrl, UrlError> {
        let reference = with_encoded_query(reference, self.encoding);
        match &self.base {
            ReferenceBase::Crawlable(base) => base.join(&reference),
            ReferenceBase::Other(base) => far_from(base, &reference),
        }
    }

    /// Adds the URL of a reference to the others, and returns its normal form.
    pub(super) fn resolve_into<'t>(
        &self,
        reference: &str,
        urls: &'t mut Together,
    ) -> Result<&'t str, UrlError> {
        let reference = with_encoded_query(reference, self.encoding);
        match &self.base {
            ReferenceBase::Crawlable(base) => urls.join(base, &reference),
            ReferenceBase::Other(base) => urls.add(&far_from(base, &reference)?),
        }
    }
}

/// Returns the URL of a reference on a page whose base cannot be crawled.
fn far_from(base: &Url, reference: &str) -> Result<CrawlUrl, UrlError> {
    let url = parse_whatwg(Some(base), reference).map_err(UrlError::Syntax)?;
    CrawlUrl::parse(url.as_str())
}

/// Returns the reference with its query encoded in the document's encoding, if that is not UTF-8
/// and makes a difference.
fn with_encoded_query<'r>(reference: &'r str, encoding: &'static Encoding) -> Cow<'r, str> {
    if encoding == UTF_8 || reference.is_ascii() {
        return Cow::Borrowed(reference);
    }
    let end = reference.find('#').unwrap_or(reference.len());
    let Some(start) = reference[..end].find('?').map(|at| at + 1) else {
        return Cow::Borrowed(reference);
    };
    let query = &reference[start..end];
    if query.is_ascii() || reference.len() > CrawlUrl::TEXT_BYTES_MAX {
        return Cow::Borrowed(reference);
    }
    let mut encoded = String::with_capacity(reference.len() * 2);
    encoded.push_str(&reference[..start]);
    encode(query, encoding, &mut encoded);
    encoded.push_str(&reference[end..]);
    Cow::Owned(encoded)
}

fn encode(mut query: &str, encoding: &'static Encoding, out: &mut String) {
    let mut encoder = encoding.new_encoder();
    let mut buffer = [0; 256];
    loop {
        let (result, read, written) =
            encoder.encode_from_utf8_without_replacement(query, &mut buffer, true);
        for &byte in &buffer[..written] {
            // The "special-query percent-encode set".
            match byte {
                0..=b' ' | b'"' | b'#' | b'<' | b'>' | b'\'' | 0x7f.. => {
                    out.push_str(&format!("%{byte:02X}"));
                }
                byte => out.push(char::from(byte)),
            }
        }
        query = &query[read..];
        match result {
            EncoderResult::InputEmpty => return,
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(c) => {
                out.push_str(&format!("%26%23{}%3B", u32::from(c)));
            }
        }
    }
}
