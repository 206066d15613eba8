//! Reads sitemaps and their indexes, text lists, RSS and Atom.
//!
//! One document goes in, compressed or not. The result has its entries, the sitemaps of an index,
//! and a warning for each record with a fault. The crawl follows an index: each child is a request
//! of its own.
//!
//! The reader is lenient where sites are sloppy (a bare `&`, a missing end, white space before the
//! declaration, relative addresses) and strict where leniency is dangerous: a document with a
//! DOCTYPE is not read, its own entities are never expanded, and bytes, entries and warnings have
//! limits (those of sitemaps.org: 50 MiB decompressed, 50,000 entries). The crawl's scope decides
//! which hosts a sitemap may name.

mod date;
mod events;
mod unpack;
mod xml;

use std::time::Duration;

use curtsy_core::time::Time;
use curtsy_core::url::{Base, CrawlUrl, UrlKey};
use encoding_rs::UTF_8;

use crate::charset::{self, Charset, CharsetBy, Encoding};

pub(crate) use unpack::LAYERS_MAX;
pub use unpack::unpacked;
pub(crate) use xml::DEPTH_MAX;

/// The content of one document.
///
/// ```
/// use curtsy_core::time::Time;
/// use curtsy_core::url::CrawlUrl;
/// use curtsy_parse::sitemap::{SitemapLimits, Sitemap, SitemapKind};
/// let url = CrawlUrl::parse("https://example.org/sitemap.xml").unwrap();
/// let xml = b"<urlset><url><loc>https://example.org/?a=1&b=2</loc><priority>0.8</priority></url></urlset>";
/// let sitemap = Sitemap::read(&url, None, xml, &SitemapLimits::default(), Time::from_secs(0));
/// assert_eq!(sitemap.kind, SitemapKind::UrlSet);
/// assert_eq!(sitemap.entries[0].url.as_str(), "https://example.org/?a=1&b=2");
/// assert_eq!(sitemap.entries[0].priority, Some(0.8));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sitemap {
    /// The kind of the document.
    pub kind: SitemapKind,
    /// The pages, each once.
    pub entries: Vec<ListedPage>,
    /// The sitemaps of an index, each once.
    pub sitemaps: Vec<Child>,
    /// The faults of records; at most [`SitemapLimits::warnings_max`].
    pub warnings: Vec<Warning>,
    /// What the limits removed.
    pub cut: SitemapCut,
}

/// The kind of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SitemapKind {
    /// A list of pages.
    UrlSet,
    /// A list of sitemaps.
    Index,
    /// One URL a line.
    Text,
    /// RSS 0.9x, 1.0 or 2.0.
    Rss,
    /// Atom.
    Atom,
    /// None of these.
    None,
}

/// A page in a sitemap or a feed.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedPage {
    /// The URL.
    pub url: CrawlUrl,
    /// When the page changed last, in Unix milliseconds, as the site says.
    pub modified_ms: Option<i64>,
    /// How often the page changes, as the site says.
    pub change: Option<ChangeFrequency>,
    /// The priority from 0 to 1; `None` means the default of sitemaps.org, 0.5.
    pub priority: Option<f32>,
    /// The same page in other languages, by language.
    pub alternates: Vec<(String, CrawlUrl)>,
}

/// A sitemap of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// The URL.
    pub url: CrawlUrl,
    /// When the sitemap changed last, in Unix milliseconds, as the site says.
    pub modified_ms: Option<i64>,
}

curtsy_core::word_enum! {
    /// How often a page changes.
    pub enum ChangeFrequency {
        /// At every request.
        Always = "always",
        /// `hourly`
        Hourly = "hourly",
        /// `daily`
        Daily = "daily",
        /// `weekly`
        Weekly = "weekly",
        /// `monthly`
        Monthly = "monthly",
        /// `yearly`
        Yearly = "yearly",
        /// Archived.
        Never = "never",
    }
}

impl ChangeFrequency {
    /// Returns the span after which such a page has changed.
    pub fn every(self) -> Duration {
        const HOUR: u64 = 3600;
        const DAY: u64 = 24 * HOUR;
        match self {
            ChangeFrequency::Always => Duration::ZERO,
            ChangeFrequency::Hourly => Duration::from_secs(HOUR),
            ChangeFrequency::Daily => Duration::from_secs(DAY),
            ChangeFrequency::Weekly => Duration::from_secs(7 * DAY),
            ChangeFrequency::Monthly => Duration::from_secs(30 * DAY),
            ChangeFrequency::Yearly => Duration::from_secs(365 * DAY),
            ChangeFrequency::Never => Duration::MAX,
        }
    }

    fn read(text: &str) -> Option<ChangeFrequency> {
        ChangeFrequency::ALL.iter().copied().find(|change| change.name().eq_ignore_ascii_case(text))
    }
}

/// A fault of one record or of the whole document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The number of the record, counted from 1; 0 is the document.
    pub record: u32,
    /// The fault.
    pub what: SitemapProblem,
}

/// A fault of a sitemap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SitemapProblem {
    /// The document has a DOCTYPE and was not read.
    Doctype,
    /// The XML breaks off or is unreadable from here on. The part before counts.
    Broken,
    /// The gzip data breaks off or has junk after it.
    Packing,
    /// A record without an address.
    NoAddress,
    /// A text that is no URL, or a URL that cannot be crawled. The record is left out.
    BadAddress,
    /// A relative address, which sitemaps must not have. It was resolved.
    Relative,
    /// An unreadable date. The rest of the record counts.
    BadDate,
    /// A priority that is no number from 0 to 1, or an unknown change frequency.
    BadHint,
    /// A record of the wrong kind for this document: a page in an index, a sitemap in a list of
    /// pages.
    Misplaced,
}

/// Limits on what is read and kept of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitemapLimits {
    /// Bytes after decompression.
    pub bytes_max: usize,
    /// Entries, and sitemaps of an index.
    pub entries_max: usize,
    /// Warnings.
    pub warnings_max: usize,
    /// Languages of one entry.
    pub alternates_max: usize,
}

impl Default for SitemapLimits {
    fn default() -> SitemapLimits {
        SitemapLimits {
            bytes_max: 50 * 1024 * 1024,
            entries_max: 50_000,
            warnings_max: 1_000,
            alternates_max: 100,
        }
    }
}

/// What the limits removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SitemapCut {
    /// Whether there were more bytes than the limit.
    pub bytes: bool,
    /// The number of records that were not kept.
    pub entries: usize,
    /// The number of warnings that were not kept.
    pub warnings: usize,
}

impl Sitemap {
    /// Reads the document at this URL. `now` determines the century of a feed's date with two
    /// digits.
    pub fn read(
        url: &CrawlUrl,
        content_type: Option<&str>,
        body: &[u8],
        limits: &SitemapLimits,
        now: Time,
    ) -> Sitemap {
        let mut found = SitemapFinds::new(url, limits, now);
        let unpacked = unpack::unpack(body, limits.bytes_max);
        found.cut.bytes = unpacked.cut;
        if unpacked.damaged {
            found.warn(0, SitemapProblem::Packing);
        }
        let text = charset_of(&unpacked.bytes, content_type).decode(&unpacked.bytes);
        let text = text.trim_start_matches(is_blank);
        let room = limits.entries_max.min(text.len() / BYTES_PER_ENTRY);
        found.entries.reserve(room);
        found.keys.reserve(room);
        let kind = match text.starts_with('<') {
            true => xml::read(text, &mut found),
            // The last line of a text that breaks off may be half an address.
            false if unpacked.cut || unpacked.damaged => {
                read_lines(&text[..text.rfind(LINE_ENDS).unwrap_or(0)], &mut found)
            }
            false => read_lines(text, &mut found),
        };
        found.finish(kind)
    }
}

/// Returns the encoding by the mark, then the header, then the XML declaration, then UTF-8 (RFC
/// 7303 §3.2). A document that claims to be UTF-16 without a mark is not.
fn charset_of(bytes: &[u8], content_type: Option<&str>) -> Charset {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return Charset { encoding, by: CharsetBy::Mark };
    }
    let header = content_type
        .and_then(curtsy_core::headers::ContentType::parse)
        .and_then(|kind| charset::by_label(kind.param("charset")?));
    let named = header.or_else(|| charset::by_label(declared(bytes)?));
    // A file that is valid UTF-8 was not declared otherwise on purpose.
    let is_utf8 = || std::str::from_utf8(bytes).is_ok();
    match named.filter(|named| *named != UTF_8 && named.is_ascii_compatible() && !is_utf8()) {
        Some(encoding) => Charset { encoding, by: CharsetBy::Header },
        None => Charset { encoding: UTF_8, by: CharsetBy::Guess },
    }
}

/// Returns the encoding of an XML declaration.
fn declared(bytes: &[u8]) -> Option<&str> {
    let start = bytes.trim_ascii_start().strip_prefix(b"<?xml")?;
    let start = &start[..start.len().min(DECLARATION_BYTES_MAX)];
    let declaration = &start[..memchr::memmem::find(start, b"?>")?];
    let after = &declaration[memchr::memmem::find(declaration, b"encoding")? + 8..];
    let value = after.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let quote = *value.first().filter(|quote| matches!(quote, b'"' | b'\''))?;
    let value = &value[1..];
    std::str::from_utf8(&value[..value.iter().position(|&b| b == quote)?]).ok()
}

/// Returns a text without the blanks around it, which editors and templates leave there.
fn trimmed(text: &str) -> &str {
    match text.as_bytes() {
        // Most texts have none.
        [b'!'..=b'~', .., b'!'..=b'~'] => text,
        _ => text.trim_matches(is_blank),
    }
}

/// Whether a character at the edge of a text is no part of it: white space of Unicode, and what has
/// no width (U+200B, U+2060, U+FEFF).
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}')
}

/// Reads a text list. A text without a URL in any line is none.
fn read_lines(text: &str, found: &mut SitemapFinds<'_>) -> SitemapKind {
    for line in text.split(LINE_ENDS).map(trimmed) {
        if line.is_empty() {
            continue;
        }
        found.records += 1;
        match found.on_own_host(line).map_or_else(|| CrawlUrl::parse(line), Ok) {
            Ok(url) => found.add(ListedPage::at(url)),
            Err(_) => found.warn(found.records, SitemapProblem::BadAddress),
        }
    }
    match found.entries.is_empty() {
        true => SitemapKind::None,
        false => SitemapKind::Text,
    }
}

const LINE_ENDS: [char; 2] = ['\n', '\r'];

impl ListedPage {
    fn at(url: CrawlUrl) -> ListedPage {
        ListedPage { url, modified_ms: None, change: None, priority: None, alternates: Vec::new() }
    }
}

/// The entries and sitemaps that were found so far.
struct SitemapFinds<'a> {
    base: Base,
    limits: &'a SitemapLimits,
    now: Time,
    /// The number of records so far, with any result.
    records: u32,
    entries: Vec<ListedPage>,
    sitemaps: Vec<Child>,
    /// The keys of entries or sitemaps, computed while their URLs are at hand.
    keys: Vec<UrlKey>,
    warnings: Vec<Warning>,
    cut: SitemapCut,
}

impl<'a> SitemapFinds<'a> {
    fn new(url: &CrawlUrl, limits: &'a SitemapLimits, now: Time) -> SitemapFinds<'a> {
        SitemapFinds {
            base: Base::new(url.clone()),
            limits,
            now,
            records: 0,
            entries: Vec::new(),
            sitemaps: Vec::new(),
            keys: Vec::new(),
            warnings: Vec::new(),
            cut: SitemapCut::default(),
        }
    }

    fn warn(&mut self, record: u32, what: SitemapProblem) {
        match self.warnings.len() < self.limits.warnings_max {
            true => self.warnings.push(Warning { record, what }),
            false => self.cut.warnings += 1,
        }
    }

    /// Adds an entry. A document has entries or sitemaps, never both.
    fn add(&mut self, entry: ListedPage) {
        if self.entries.len() < self.limits.entries_max {
            self.keys.push(entry.url.key());
            self.entries.push(entry);
        } else {
            self.cut.entries += 1;
        }
    }

    fn add_sitemap(&mut self, child: Child) {
        if self.sitemaps.len() < self.limits.entries_max {
            self.keys.push(child.url.key());
            self.sitemaps.push(child);
        } else {
            self.cut.entries += 1;
        }
    }

    /// Returns the URL of an address, and adds warnings about it.
    fn address(&mut self, text: &str) -> Option<CrawlUrl> {
        let text = trimmed(text);
        if text.is_empty() {
            self.warn(self.records, SitemapProblem::NoAddress);
            return None;
        }
        // Most URLs are on the sitemap's own host: joining them takes a tenth of parsing them.
        if let Some(url) = self.on_own_host(text) {
            return Some(url);
        }
        // A replacement character stands for lost bytes: no server knows this URL.
        let known = !text.contains('\u{fffd}');
        if let Some(url) = known.then(|| CrawlUrl::parse(text).ok()).flatten() {
            return Some(url);
        }
        match self.base.join(text).ok().filter(|_| known) {
            Some(url) => {
                self.warn(self.records, SitemapProblem::Relative);
                Some(url)
            }
            None => {
                self.warn(self.records, SitemapProblem::BadAddress);
                None
            }
        }
    }

    /// Returns the URL of an address that begins like the sitemap's own.
    fn on_own_host(&self, text: &str) -> Option<CrawlUrl> {
        let url = self.base.url();
        let origin = &url.as_str()[..url.as_str().len() - url.path_and_query().len()];
        let on_it = text.strip_prefix(origin)?.starts_with('/') && text.is_ascii();
        on_it.then(|| self.base.join(text).ok())?
    }

    fn finish(mut self, kind: SitemapKind) -> Sitemap {
        let repeats = repeats(&self.keys);
        without(&mut self.entries, &repeats);
        without(&mut self.sitemaps, &repeats);
        Sitemap {
            kind,
            entries: self.entries,
            sitemaps: self.sitemaps,
            warnings: self.warnings,
            cut: self.cut,
        }
    }
}

/// Returns the places of repeated keys, in order. Keys are hashes, so a table of their last bits
/// finds them. A file whose URLs were chosen to collide in the table is sorted instead.
fn repeats(keys: &[UrlKey]) -> Vec<u32> {
    // Half of a key is enough: two URLs of one file that share it would have to be made for it.
    let mut table = vec![0_u64; (keys.len() * 2).next_power_of_two()];
    let mask = table.len() - 1;
    let mut repeats: Vec<u32> = Vec::new();
    for (at, key) in (0_u32..).zip(keys) {
        // Zero is an empty place.
        let wanted = (key.as_u128() as u64).max(1);
        let places = (0..PROBES_MAX).map(|step| (wanted as usize).wrapping_add(step) & mask);
        match places.into_iter().find(|&place| table[place] == 0 || table[place] == wanted) {
            Some(place) if table[place] == wanted => repeats.push(at),
            Some(place) => table[place] = wanted,
            None => return repeats_by_sorting(keys),
        }
    }
    repeats
}

fn repeats_by_sorting(keys: &[UrlKey]) -> Vec<u32> {
    let mut order: Vec<(UrlKey, u32)> = keys.iter().copied().zip(0_u32..).collect();
    order.sort_unstable();
    let pairs = order.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    let mut repeats: Vec<u32> = pairs.map(|pair| pair[1].1).collect();
    repeats.sort_unstable();
    repeats
}

fn without<T>(items: &mut Vec<T>, places: &[u32]) {
    if places.is_empty() {
        return;
    }
    let mut at = 0;
    items.retain(|_| {
        at += 1;
        places.binary_search(&(at - 1)).is_err()
    });
}

/// Limit of the places of the table that are checked for one key.
const PROBES_MAX: usize = 64;
/// The bytes of an entry when room for entries is reserved.
const BYTES_PER_ENTRY: usize = 200;
/// Limit of the search for a declaration.
const DECLARATION_BYTES_MAX: usize = 512;

#[cfg(test)]
mod tests {
    use super::{repeats, repeats_by_sorting};
    use curtsy_core::url::UrlKey;

    #[test]
    fn repeats_are_found_by_the_table_and_by_sorting() {
        let keys = |numbers: &[u128]| -> Vec<UrlKey> {
            numbers.iter().map(|n| UrlKey::from_u128(*n)).collect()
        };
        for numbers in [&[][..], &[1], &[1, 2, 1, 3, 2, 1], &[7, 7, 7]] {
            let keys = keys(numbers);
            assert_eq!(repeats(&keys), repeats_by_sorting(&keys), "{numbers:?}");
        }
        // All collide in one place of the table.
        let mut met: Vec<u128> = (1..200).map(|n| n << 32).collect();
        met.push(5 << 32);
        assert_eq!(repeats(&keys(&met)), [199]);
    }
}
