//! Determines the kind of a body: by its header, or by its first bytes if the header does not say.

use curtsy_core::headers::ContentType;

/// The kind of a body, as far as its reader depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BodyKind {
    /// A page.
    Html,
    /// RSS or Atom.
    Feed,
    /// Other XML, perhaps a sitemap.
    Xml,
    /// Other text.
    Text,
    /// Compressed with gzip, as sitemaps often are.
    Gzip,
    /// Anything else: images, archives, programs.
    Binary,
}

impl BodyKind {
    /// Returns the kind by the header, or `None` if it is missing, unreadable, or a type for
    /// unknown content.
    pub fn by_header(content_type: Option<&str>) -> Option<BodyKind> {
        let essence = ContentType::parse(content_type?)?.essence;
        Some(match essence.as_ref() {
            "text/html" | "application/xhtml+xml" => BodyKind::Html,
            "application/rss+xml" | "application/atom+xml" | "application/rdf+xml" => {
                BodyKind::Feed
            }
            "text/xml" | "application/xml" => BodyKind::Xml,
            "application/gzip" | "application/x-gzip" => BodyKind::Gzip,
            // The defaults of a server without a configured type.
            "application/octet-stream"
            | "binary/octet-stream"
            | "application/unknown"
            | "unknown/unknown"
            | "application/x-unknown"
            | "*/*" => return None,
            essence if essence.ends_with("+xml") => BodyKind::Xml,
            "application/json" | "application/javascript" | "application/ld+json" => BodyKind::Text,
            essence if essence.starts_with("text/") => BodyKind::Text,
            _ => BodyKind::Binary,
        })
    }

    /// Returns the kind by the first 1,024 bytes.
    ///
    /// ```
    /// use curtsy_parse::content_type::BodyKind;
    /// assert_eq!(BodyKind::by_look(b"\n<!DOCTYPE html><p>x"), BodyKind::Html);
    /// assert_eq!(BodyKind::by_look(b"<?xml version='1.0'?><rss>"), BodyKind::Feed);
    /// assert_eq!(BodyKind::by_look(b"\x89PNG\r\n\x1a\n"), BodyKind::Binary);
    /// ```
    pub fn by_look(body: &[u8]) -> BodyKind {
        let start = &body[..body.len().min(LOOK_BYTES)];
        if start.starts_with(&[0x1f, 0x8b]) {
            return BodyKind::Gzip;
        }
        // UTF-16 by its mark: ASCII characters with zeros between them.
        let squeezed: Vec<u8>;
        let start = match start {
            [0xff, 0xfe, rest @ ..] | [0xfe, 0xff, rest @ ..] => {
                squeezed = rest.iter().copied().filter(|&b| b != 0).collect();
                &squeezed
            }
            [0xef, 0xbb, 0xbf, rest @ ..] => rest,
            start => start,
        };
        if let Some(kind) = by_first_tag(start) {
            return kind;
        }
        // WHATWG MIME Sniffing §3: bytes that no text has.
        let is_binary = |&b: &u8| matches!(b, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
        match start.iter().any(is_binary) {
            true => BodyKind::Binary,
            false => BodyKind::Text,
        }
    }

    /// Returns the kind by the header, or by the first bytes without one. `text/plain` counts
    /// unless the body begins as a page or as XML, since servers use it for unknown files.
    pub fn of(content_type: Option<&str>, body: &[u8]) -> BodyKind {
        match BodyKind::by_header(content_type) {
            None => BodyKind::by_look(body),
            Some(BodyKind::Xml) => match BodyKind::by_look(body) {
                seen @ (BodyKind::Feed | BodyKind::Gzip | BodyKind::Html) => seen,
                _ => BodyKind::Xml,
            },
            Some(BodyKind::Text) if is_plain(content_type) => match BodyKind::by_look(body) {
                seen @ (BodyKind::Feed | BodyKind::Xml | BodyKind::Gzip | BodyKind::Binary) => seen,
                _ => BodyKind::Text,
            },
            Some(told) => told,
        }
    }
}

fn is_plain(content_type: Option<&str>) -> bool {
    content_type
        .and_then(ContentType::parse)
        .is_some_and(|content_type| content_type.essence == "text/plain")
}

/// Returns the kind by the first tag that is no comment and no declaration.
fn by_first_tag(start: &[u8]) -> Option<BodyKind> {
    let mut rest = start.trim_ascii_start();
    let mut declared = false;
    for _ in 0..DECLARATIONS_MAX {
        let after = |rest: &[u8], end: &[u8]| {
            memchr::memmem::find(rest, end).map(|at| at + end.len()).unwrap_or(rest.len())
        };
        if rest.starts_with(b"<!--") {
            rest = &rest[after(rest, b"-->")..];
        } else if rest.starts_with(b"<?") {
            declared |= rest.starts_with(b"<?xml");
            rest = &rest[after(rest, b"?>")..];
        } else if rest.len() > 14 && rest[..9].eq_ignore_ascii_case(b"<!doctype") {
            if rest[9..].trim_ascii_start().len() >= 4
                && rest[9..].trim_ascii_start()[..4].eq_ignore_ascii_case(b"html")
            {
                return Some(BodyKind::Html);
            }
            rest = &rest[after(rest, b">")..];
        } else {
            break;
        }
        rest = rest.trim_ascii_start();
    }
    let Some(name) = rest.strip_prefix(b"<") else { return declared.then_some(BodyKind::Xml) };
    let end = name.iter().position(|b| b.is_ascii_whitespace() || matches!(b, b'>' | b'/'));
    let name = name[..end.unwrap_or(name.len())].to_ascii_lowercase();
    match name.as_slice() {
        b"rss" | b"feed" | b"rdf:rdf" => Some(BodyKind::Feed),
        b"urlset" | b"sitemapindex" => Some(BodyKind::Xml),
        // The names of WHATWG MIME Sniffing §7.1, and those that pages begin with if they leave out
        // the rest.
        b"html" | b"head" | b"body" | b"script" | b"iframe" | b"h1" | b"div" | b"font"
        | b"table" | b"a" | b"style" | b"title" | b"b" | b"br" | b"p" | b"meta" | b"link"
        | b"base" | b"center" | b"frameset" => Some(BodyKind::Html),
        [b'a'..=b'z', ..] if declared => Some(BodyKind::Xml),
        _ => None,
    }
}

/// How many bytes are read.
const LOOK_BYTES: usize = 1_024;
/// Limit of the comments and declarations before the first tag.
const DECLARATIONS_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::BodyKind;

    #[test]
    fn the_header_is_believed_where_it_knows() {
        let check = |content_type: &str, body: &[u8], expected: BodyKind| {
            let content_type = Some(content_type).filter(|it| !it.is_empty());
            assert_eq!(BodyKind::of(content_type, body), expected, "{content_type:?} {body:?}");
        };
        check("text/html", b"plain", BodyKind::Html);
        check("TEXT/HTML;charset=x", b"", BodyKind::Html);
        check("application/xhtml+xml", b"", BodyKind::Html);
        check("text/xml", b"<rss version=2>", BodyKind::Feed);
        check("text/xml", b"<urlset>", BodyKind::Xml);
        check("application/xml", b"\x1f\x8b", BodyKind::Gzip);
        check("image/svg+xml", b"", BodyKind::Xml);
        check("image/png", b"<html>", BodyKind::Binary);
        check("text/plain", b"<html>", BodyKind::Text);
        check("text/plain", b"<?xml version='1.0'?><urlset>", BodyKind::Xml);
        check("text/plain", b"a\0b", BodyKind::Binary);
        check("application/octet-stream", b"<!doctype html>", BodyKind::Html);
        check("nonsense", b"words", BodyKind::Text);
        check("", b"<!-- note --><HTML lang=en>", BodyKind::Html);
        check("", b"\xef\xbb\xbf<html>", BodyKind::Html);
        check("", b"\xff\xfe<\0h\0t\0m\0l\0>\0", BodyKind::Html);
        check("", b"<?xml version='1.0'?><feed>", BodyKind::Feed);
        check("", b"<?xml version='1.0'?>", BodyKind::Xml);
        check("", b"<custom>", BodyKind::Text);
        check("", b"", BodyKind::Text);
        check("", b"<!doctype", BodyKind::Text);
        check("", b"PK\x03\x04", BodyKind::Binary);
    }
}
