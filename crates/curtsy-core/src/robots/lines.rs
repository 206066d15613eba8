//! Splits a robots.txt into known lines: the kind of each line, and the place of its value.
//!
//! The reader accepts the mistakes of site owners that Google's reader accepts: a byte-order mark
//! (even half of one), any mix of line ends, blanks around the key, longer keys (`Disallowed:`), a
//! few misspellings, a missing colon between two words. A NUL ends its line, and a line counts up
//! to [`LINE_BYTES_MAX`].

use memchr::{memchr2, memchr3};

/// How much of a line counts: eight times the 2,083 octets that URLs were once limited to, less
/// one, as in Google's reader.
pub(crate) const LINE_BYTES_MAX: usize = 8 * 2083 - 1;

/// A known line.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineRecord {
    pub(super) line: u32,
    start: u32,
    len: u16,
    pub(super) kind: LineKind,
}

impl LineRecord {
    /// Returns the text after the colon.
    pub(super) fn value<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        &text[self.start as usize..self.start as usize + usize::from(self.len)]
    }
}

/// The kinds of known lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    Agent,
    Allow,
    Disallow,
    CrawlDelay,
    Sitemap,
    ContentUsage,
    ContentSignal,
}

/// Returns the known lines of a text, and the number of lines that are neither empty nor known.
pub(super) fn read(text: &[u8]) -> (Box<[LineRecord]>, u32) {
    let mut records = Vec::with_capacity(text.len() / 24);
    let mut unknown = 0;
    for_each_line(text, |line, start, raw| {
        let from = raw.iter().position(|&b| !is_blank(b)).unwrap_or(raw.len());
        let rest = &raw[from..];
        if matches!(rest.first(), None | Some(b'#' | 0)) {
            return true;
        }
        match known(rest) {
            Some((kind, at, len)) => {
                let start = (start + from + at) as u32;
                records.push(LineRecord { line, start, len: len as u16, kind });
            }
            None => unknown += 1,
        }
        true
    });
    (records.into_boxed_slice(), unknown)
}

/// Returns the text of one line, counted from 1.
pub(super) fn nth(text: &[u8], wanted: u32) -> Option<&[u8]> {
    let mut found = None;
    for_each_line(text, |line, start, raw| {
        if line == wanted {
            found = Some(&text[start..start + raw.len()]);
        }
        line < wanted
    });
    found
}

/// Returns whether the text begins with markup.
pub(super) fn looks_like_html(text: &[u8]) -> bool {
    let text = trim(&text[mark_len(text)..]);
    [&b"<!doctype html"[..], b"<html", b"<head", b"<body", b"<!--"]
        .iter()
        .any(|tag| starts_with(text, tag))
}

/// Removes ASCII blanks from both ends, vertical tabs included.
pub(super) fn trim(bytes: &[u8]) -> &[u8] {
    let Some(start) = bytes.iter().position(|&b| !is_blank(b)) else { return &[] };
    let end = bytes.iter().rposition(|&b| !is_blank(b)).map_or(start, |i| i + 1);
    &bytes[start..end]
}

/// Returns whether a byte is an ASCII blank or a vertical tab.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Calls `each` with the number, the start and the counted bytes of each line, until it returns
/// `false`. CR LF is one line end.
fn for_each_line<'a>(text: &'a [u8], mut each: impl FnMut(u32, usize, &'a [u8]) -> bool) {
    let mut at = mark_len(text);
    let mut line = 0;
    while at < text.len() {
        let end = memchr2(b'\n', b'\r', &text[at..]).map_or(text.len(), |i| at + i);
        line += 1;
        if !each(line, at, &text[at..end.min(at + LINE_BYTES_MAX)]) {
            return;
        }
        at = if text[end..].starts_with(b"\r\n") { end + 2 } else { end + 1 };
    }
}

/// Returns how many bytes of a UTF-8 byte-order mark the text begins with. An incomplete mark
/// counts too.
fn mark_len(text: &[u8]) -> usize {
    b"\xEF\xBB\xBF".iter().zip(text).take_while(|(mark, byte)| mark == byte).count()
}

/// Returns the kind of a line, and the place of its value. The line has no blanks before it.
fn known(line: &[u8]) -> Option<(LineKind, usize, usize)> {
    let (kind, key) = kind_of(line)?;
    let mark = match line.get(key.len()) {
        // No key has a colon or a `#`, so this is the first of either.
        Some(b':') => Some(key.len()),
        _ => memchr3(b':', b'#', 0, line),
    };
    let (mut at, mut end) = match mark {
        Some(colon) if line[colon] == b':' => {
            if exact(kind) && !trim(&line[key.len()..colon]).is_empty() {
                return None;
            }
            let at = colon + 1;
            (at, memchr2(b'#', 0, &line[at..]).map_or(line.len(), |i| at + i))
        }
        cut => {
            let end = cut.unwrap_or(line.len());
            (value_without_colon(trim(&line[..end]), kind, key)?, end)
        }
    };
    while at < end && is_blank(line[at]) {
        at += 1;
    }
    while at < end && is_blank(line[end - 1]) {
        end -= 1;
    }
    Some((kind, at, end - at))
}

/// Returns the start of the value in a line of exactly two words, the key and the value.
fn value_without_colon(line: &[u8], kind: LineKind, key: &[u8]) -> Option<usize> {
    let key_is_two_words = key.contains(&b' ');
    if key_is_two_words && kind != LineKind::CrawlDelay {
        return None;
    }
    let from = if key_is_two_words { key.len() } else { 0 };
    let gap = from + memchr2(b' ', b'\t', line.get(from..)?)?;
    if gap < key.len() || exact(kind) && gap != key.len() {
        return None;
    }
    let value = gap + line[gap..].iter().position(|&b| !matches!(b, b' ' | b'\t'))?;
    memchr2(b' ', b'\t', &line[value..]).is_none().then_some(value)
}

/// Returns the kind of a line by its beginning, and the spelling of its key.
fn kind_of(line: &[u8]) -> Option<(LineKind, &'static [u8])> {
    // This is half of all lines. Setting this bit turns capitals into small letters, and no other
    // octet into one of these.
    if line.first_chunk().is_some_and(|key| key.map(|b| b | 0x20) == *b"disallow") {
        return Some((LineKind::Disallow, b"disallow"));
    }
    let spellings: &[(LineKind, &[u8])] = match line.first()? | 0x20 {
        b'a' => &[(LineKind::Allow, b"allow")],
        b'd' => DISALLOW,
        b'u' => AGENT,
        b's' => SITEMAP,
        b'c' => EXTENSIONS,
        _ => &[],
    };
    spellings.iter().copied().find(|(_, key)| starts_with(line, key))
}

/// Returns whether nothing may follow the key. Keys of RFC 9309 may be longer, as in Google's
/// reader; other keys may not.
fn exact(kind: LineKind) -> bool {
    matches!(kind, LineKind::CrawlDelay | LineKind::ContentUsage | LineKind::ContentSignal)
}

fn starts_with(line: &[u8], key: &[u8]) -> bool {
    line.get(..key.len()).is_some_and(|head| head.eq_ignore_ascii_case(key))
}

const DISALLOW: &[(LineKind, &[u8])] = &[
    (LineKind::Disallow, b"disallow"),
    (LineKind::Disallow, b"dissallow"),
    (LineKind::Disallow, b"dissalow"),
    (LineKind::Disallow, b"disalow"),
    (LineKind::Disallow, b"diasllow"),
    (LineKind::Disallow, b"disallaw"),
];
const AGENT: &[(LineKind, &[u8])] = &[
    (LineKind::Agent, b"user-agent"),
    (LineKind::Agent, b"useragent"),
    (LineKind::Agent, b"user agent"),
];
const SITEMAP: &[(LineKind, &[u8])] =
    &[(LineKind::Sitemap, b"sitemap"), (LineKind::Sitemap, b"site-map")];
const EXTENSIONS: &[(LineKind, &[u8])] = &[
    (LineKind::CrawlDelay, b"crawl-delay"),
    (LineKind::CrawlDelay, b"crawldelay"),
    (LineKind::CrawlDelay, b"crawl delay"),
    (LineKind::ContentUsage, b"content-usage"),
    (LineKind::ContentSignal, b"content-signal"),
];
