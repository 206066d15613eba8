//! Reads Content-Type (WHATWG MIME Sniffing §4.4) and Content-Encoding (RFC 9110 §8.4).

use std::borrow::Cow;

use super::OWS;

/// A MIME type as a browser reads it.
///
/// ```
/// use curtsy_core::headers::ContentType;
/// let html = ContentType::parse("Text/HTML; charset=\"utf-8\"").unwrap();
/// assert_eq!((&*html.essence, html.param("charset")), ("text/html", Some("utf-8")));
/// assert_eq!(ContentType::parse("html"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentType<'t> {
    /// `type/subtype` in lower case.
    pub essence: Cow<'t, str>,
    /// Names in lower case with values as written, in order. Of two with the same name the first
    /// counts.
    pub params: Vec<(Cow<'t, str>, Cow<'t, str>)>,
}

impl<'t> ContentType<'t> {
    /// Parses a value, or returns `None` if it is no MIME type.
    pub fn parse(text: &'t str) -> Option<ContentType<'t>> {
        let text = text.trim_matches(WHITE_SPACE);
        let (kind, rest) = text.split_once('/')?;
        let (subtype, rest) = rest.split_at(rest.find(';').unwrap_or(rest.len()));
        let subtype = subtype.trim_end_matches(WHITE_SPACE);
        if !is_token(kind) || !is_token(subtype) {
            return None;
        }
        let essence = lower(&text[..kind.len() + 1 + subtype.len()]);
        let mut content_type = ContentType { essence, params: Vec::new() };
        content_type.read_params(rest);
        Some(content_type)
    }

    /// Returns a parameter by its name in lower case.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(n, _)| n == name).map(|(_, value)| &**value)
    }

    fn read_params(&mut self, mut rest: &'t str) {
        while let Some(after) = rest.strip_prefix(';')
            && self.params.len() < PARAMS_MAX
        {
            let after = after.trim_start_matches(WHITE_SPACE);
            let (name, tail) = after.split_at(after.find([';', '=']).unwrap_or(after.len()));
            let Some(tail) = tail.strip_prefix('=') else {
                rest = tail;
                continue;
            };
            let (value, quoted, tail) = match tail.strip_prefix('"') {
                Some(inner) => {
                    let (value, tail) = unquote(inner);
                    (Cow::Owned(value), true, &tail[tail.find(';').unwrap_or(tail.len())..])
                }
                None => {
                    let (value, tail) = tail.split_at(tail.find(';').unwrap_or(tail.len()));
                    (Cow::Borrowed(value.trim_end_matches(WHITE_SPACE)), false, tail)
                }
            };
            rest = tail;
            let name = lower(name);
            let good = is_token(&name)
                && (quoted || !value.is_empty())
                && value.chars().all(is_quotable)
                && self.param(&name).is_none();
            if good {
                self.params.push((name, value));
            }
        }
    }
}

fn lower(text: &str) -> Cow<'_, str> {
    match text.bytes().any(|b| b.is_ascii_uppercase()) {
        true => Cow::Owned(text.to_ascii_lowercase()),
        false => Cow::Borrowed(text),
    }
}

/// Reads a quoted string after its first quote, and returns it with the rest. A missing last quote
/// ends with the text.
pub(super) fn unquote(inner: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            // A backslash at the very end stands for itself.
            '\\' => value.push(chars.next().unwrap_or('\\')),
            c => value.push(c),
        }
    }
    (value, chars.as_str())
}

/// Returns whether the text is a token (RFC 9110 §5.6.2).
pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// Returns whether a quoted value may have the character. Headers are bytes: above ASCII they
/// arrive as Latin-1.
fn is_quotable(c: char) -> bool {
    matches!(c, '\t' | ' '..='~' | '\u{80}'..='\u{ff}')
}

crate::word_enum! {
    /// A content coding.
    pub enum Coding {
        /// `gzip`, `x-gzip`
        Gzip = "gzip",
        /// `compress`, `x-compress`
        Compress = "compress",
        /// `deflate`
        Deflate = "deflate",
        /// `br`
        Br = "br",
        /// `zstd`
        Zstd = "zstd",
    }
}

/// Returns the codings of all Content-Encoding lines in the order in which they were applied, or
/// `None` if one is unknown or there are too many.
pub fn codings<'a>(lines: impl IntoIterator<Item = &'a str>) -> Option<Vec<Coding>> {
    let mut codings = Vec::new();
    for name in lines.into_iter().flat_map(|line| line.split(',')) {
        let coding = match name.trim_matches(OWS).to_ascii_lowercase().as_str() {
            "" | "identity" => continue,
            "x-gzip" => Coding::Gzip,
            "x-compress" => Coding::Compress,
            name => Coding::parse(name)?,
        };
        codings.push(coding);
        if codings.len() > CODINGS_MAX {
            return None;
        }
    }
    Some(codings)
}

/// HTTP white space of the Fetch standard.
const WHITE_SPACE: [char; 4] = [' ', '\t', '\n', '\r'];
/// Limit of the parameters that are read.
const PARAMS_MAX: usize = 32;
/// Limit of the codings. More are a bomb, not a page.
const CODINGS_MAX: usize = 8;
