//! Determines the encoding of a document: by its byte order mark, its header, its `meta`, or else
//! by a guess, in that order (HTML standard §13.2.3).

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use curtsy_core::headers::ContentType;
pub use encoding_rs::Encoding;
use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use memchr::memmem;

/// An encoding and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charset {
    /// The encoding.
    pub encoding: &'static Encoding,
    /// The source.
    pub by: CharsetBy,
}

/// The source of a document's encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CharsetBy {
    /// A byte order mark.
    Mark,
    /// The Content-Type header.
    Header,
    /// A `meta` element among the first bytes.
    Meta,
    /// No source: a guess from the bytes.
    Guess,
}

impl Charset {
    /// Determines the encoding of a document. `host` helps to guess: a page under `.ru` is more
    /// likely in a Cyrillic encoding.
    ///
    /// ```
    /// use curtsy_parse::charset::{Charset, CharsetBy};
    /// let charset = Charset::of(b"<meta charset=latin1><p>caf\xe9", Some("text/html"), None);
    /// assert_eq!((charset.encoding.name(), charset.by), ("windows-1252", CharsetBy::Meta));
    /// assert_eq!(charset.decode(b"caf\xe9"), "caf\u{e9}");
    /// ```
    pub fn of(body: &[u8], content_type: Option<&str>, host: Option<&str>) -> Charset {
        if let Some((encoding, _)) = Encoding::for_bom(body) {
            return Charset { encoding, by: CharsetBy::Mark };
        }
        if let Some(encoding) = content_type.and_then(by_header) {
            return Charset { encoding, by: CharsetBy::Header };
        }
        if let Some(encoding) = by_meta(&body[..body.len().min(PRESCAN_BYTES)]) {
            return Charset { encoding, by: CharsetBy::Meta };
        }
        Charset { encoding: by_guess(body, host), by: CharsetBy::Guess }
    }

    /// Decodes the text, without its mark. Malformed bytes become U+FFFD.
    pub fn decode(self, body: &[u8]) -> Cow<'_, str> {
        let body = match Encoding::for_bom(body) {
            Some((encoding, length)) if encoding == self.encoding => &body[length..],
            _ => body,
        };
        self.encoding.decode_without_bom_handling(body).0
    }
}

/// Returns the encoding of a label (Encoding standard §4.2), or `None` if the label is unknown or
/// not for documents.
pub fn by_label(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(label.as_bytes())
}

fn by_header(content_type: &str) -> Option<&'static Encoding> {
    by_label(ContentType::parse(content_type)?.param("charset")?)
}

fn by_guess(body: &[u8], host: Option<&str>) -> &'static Encoding {
    let body = &body[..body.len().min(GUESS_BYTES)];
    // Without a byte above ASCII: the fallback of browsers in most of the world.
    if body.is_ascii() && !body.contains(&0x1b) {
        return WINDOWS_1252;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(body, true);
    let label = host.and_then(|host| host.rsplit('.').next());
    let tld = label.filter(|tld| !tld.is_empty() && tld.bytes().all(|b| b.is_ascii_lowercase()));
    detector.guess(tld.map(str::as_bytes), Utf8Detection::Allow)
}

/// "Prescan a byte stream to determine its encoding".
fn by_meta(bytes: &[u8]) -> Option<&'static Encoding> {
    if bytes.starts_with(b"<\0?\0x\0") {
        return Some(UTF_16LE);
    }
    if bytes.starts_with(b"\0<\0?\0x") {
        return Some(UTF_16BE);
    }
    let mut scan = Prescan { bytes, at: 0 };
    while let Some(found) = memchr::memchr(b'<', &bytes[scan.at..]) {
        scan.at += found;
        let here = &bytes[scan.at..];
        if here.starts_with(b"<!--") {
            // The dashes may be those of the end: `<!-->`.
            scan.at += 2 + memmem::find(&here[2..], b"-->")? + 3;
        } else if here.len() > 5
            && here[..5].eq_ignore_ascii_case(b"<meta")
            && (is_white(here[5]) || here[5] == b'/')
        {
            scan.at += 5;
            if let Some(encoding) = scan.meta()? {
                return Some(encoding);
            }
        } else if matches!(here, [b'<', b'a'..=b'z' | b'A'..=b'Z', ..])
            || matches!(here, [b'<', b'/', b'a'..=b'z' | b'A'..=b'Z', ..])
        {
            scan.at += here.iter().position(|&b| is_white(b) || b == b'>')?;
            while scan.attribute()?.is_some() {}
        } else if matches!(here, [b'<', b'!' | b'/' | b'?', ..]) {
            scan.at += memchr::memchr(b'>', here)? + 1;
        } else {
            scan.at += 1;
        }
    }
    None
}

/// A walk over the first bytes. A step returns `None` if they end in the middle of it.
struct Prescan<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Prescan<'_> {
    /// Returns the encoding of one `meta`, if it has one.
    fn meta(&mut self) -> Option<Option<&'static Encoding>> {
        let mut seen: Vec<Vec<u8>> = Vec::new();
        let mut pragma = false;
        // The encoding, and whether it counts only with the pragma.
        let mut charset: Option<(Option<&'static Encoding>, bool)> = None;
        while let Some((name, value)) = self.attribute()? {
            if seen.contains(&name) {
                continue;
            }
            match name.as_slice() {
                b"http-equiv" => pragma |= value == b"content-type",
                b"content" if charset.is_none() => {
                    charset = in_content(&value).map(|encoding| (Some(encoding), true));
                }
                b"charset" => {
                    charset = Some((Encoding::for_label_no_replacement(&value), false));
                }
                _ => {}
            }
            seen.push(name);
        }
        Some(match charset {
            Some((Some(encoding), needs_pragma)) if pragma || !needs_pragma => {
                Some(if encoding == UTF_16LE || encoding == UTF_16BE {
                    UTF_8
                } else if encoding == X_USER_DEFINED {
                    WINDOWS_1252
                } else {
                    encoding
                })
            }
            _ => None,
        })
    }

    /// "Get an attribute": returns name and value in lower case, or none at the end of the tag.
    fn attribute(&mut self) -> Option<Option<(Vec<u8>, Vec<u8>)>> {
        while is_white(*self.bytes.get(self.at)?) || self.bytes[self.at] == b'/' {
            self.at += 1;
        }
        if self.bytes[self.at] == b'>' {
            return Some(None);
        }
        let mut name = Vec::new();
        loop {
            match *self.bytes.get(self.at)? {
                b'=' if !name.is_empty() => break,
                byte if is_white(byte) => {
                    self.skip_white()?;
                    if self.bytes[self.at] != b'=' {
                        return Some(Some((name, Vec::new())));
                    }
                    break;
                }
                b'/' | b'>' => return Some(Some((name, Vec::new()))),
                byte => name.push(byte.to_ascii_lowercase()),
            }
            self.at += 1;
        }
        self.at += 1;
        self.skip_white()?;
        let mut value = Vec::new();
        match self.bytes[self.at] {
            quote @ (b'"' | b'\'') => loop {
                self.at += 1;
                match *self.bytes.get(self.at)? {
                    byte if byte == quote => {
                        self.at += 1;
                        return Some(Some((name, value)));
                    }
                    byte => value.push(byte.to_ascii_lowercase()),
                }
            },
            b'>' => Some(Some((name, value))),
            _ => loop {
                match *self.bytes.get(self.at)? {
                    byte if is_white(byte) || byte == b'>' => return Some(Some((name, value))),
                    byte => value.push(byte.to_ascii_lowercase()),
                }
                self.at += 1;
            },
        }
    }

    fn skip_white(&mut self) -> Option<()> {
        while is_white(*self.bytes.get(self.at)?) {
            self.at += 1;
        }
        Some(())
    }
}

/// "Extracting a character encoding from a `meta` element"; the content is in lower case.
fn in_content(content: &[u8]) -> Option<&'static Encoding> {
    let white = |bytes: &[u8]| bytes.iter().take_while(|&&b| is_white(b)).count();
    let mut rest = content;
    loop {
        rest = &rest[memmem::find(rest, b"charset")? + 7..];
        let value = &rest[white(rest)..];
        if let Some(value) = value.strip_prefix(b"=") {
            rest = &value[white(value)..];
            break;
        }
    }
    let label = match rest {
        [quote @ (b'"' | b'\''), inside @ ..] => {
            &inside[..inside.iter().position(|byte| byte == quote)?]
        }
        _ => &rest[..rest.iter().position(|&b| is_white(b) || b == b';').unwrap_or(rest.len())],
    };
    Encoding::for_label_no_replacement(label)
}

fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}

/// Only a `meta` within these first bytes counts.
const PRESCAN_BYTES: usize = 1_024;
/// How many bytes a guess reads.
const GUESS_BYTES: usize = 65_536;
