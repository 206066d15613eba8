//! A lenient scanner for the tags of an XML document.
//!
//! A validating reader would refuse too much: real files have bare `&` and `<`, ends that do not
//! match, text before and after. The scanner takes a quarter of the instructions of quick-xml 0.42,
//! which checks each piece of the text again for UTF-8.
//!
//! Entities are not decoded here, and those that a document declares are never read.

use memchr::{memchr, memchr3, memmem};

/// The next event in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum XmlEvent<'t> {
    Start {
        name: &'t str,
        attributes: Attributes<'t>,
        empty: bool,
    },
    End {
        name: &'t str,
    },
    /// With entities as written.
    Text(&'t str),
    CData(&'t str),
    Doctype,
    /// The text ends in the middle of something.
    Broken,
}

/// The attributes of a tag, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attributes<'t>(&'t str);

pub(super) struct XmlEvents<'t> {
    rest: &'t str,
}

impl<'t> XmlEvents<'t> {
    pub(super) fn new(text: &'t str) -> XmlEvents<'t> {
        XmlEvents { rest: text }
    }

    /// Returns the text of the element that has just begun, if it has only text and its end
    /// follows, as most fields of most records do. Text and end are skipped.
    pub(super) fn leaf(&mut self, name: &str) -> Option<&'t str> {
        let bytes = self.rest.as_bytes();
        let length = memchr(b'<', bytes)?;
        let after = length + 2 + name.len();
        let is_end = bytes.get(length + 1) == Some(&b'/')
            && bytes.get(after) == Some(&b'>')
            && same(&bytes[length + 2..after], name.as_bytes());
        is_end.then(|| &self.take(after + 1)[..length])
    }

    /// Skips white space.
    pub(super) fn skip_white(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    /// Removes this many bytes from the text.
    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    /// Returns the text between two marks. The remaining text begins with the first mark.
    fn between(&mut self, start: usize, end: &str) -> Option<&'t str> {
        let Some(length) = memmem::find(&self.rest.as_bytes()[start..], end.as_bytes()) else {
            self.rest = "";
            return None;
        };
        let taken = self.take(start + length + end.len());
        Some(&taken[start..start + length])
    }

    fn tag(&mut self) -> XmlEvent<'t> {
        let bytes = self.rest.as_bytes();
        // Most tags are a name and nothing else.
        let name_end = bytes.iter().position(|&b| b == b'>' || b.is_ascii_whitespace());
        let end = match name_end {
            Some(end) if bytes[end] == b'>' => Some(end),
            Some(from) => tag_end(bytes, from),
            None => None,
        };
        let (Some(name_end), Some(end)) = (name_end, end) else {
            self.rest = "";
            return XmlEvent::Broken;
        };
        let tag = self.take(end + 1);
        if bytes[1] == b'/' {
            return XmlEvent::End { name: tag[2..end].trim_ascii() };
        }
        let empty = bytes[end - 1] == b'/';
        let last = end - usize::from(empty);
        let name_end = name_end.min(last);
        let (name, attributes) = (&tag[1..name_end], &tag[name_end..last]);
        XmlEvent::Start { name, attributes: Attributes(attributes), empty }
    }

    /// Skips `<!DOCTYPE … [ … ]>`.
    fn doctype(&mut self) -> XmlEvent<'t> {
        let mut depth = 0_usize;
        for (at, byte) in self.rest.bytes().enumerate() {
            match byte {
                b'[' => depth += 1,
                b']' => depth = depth.saturating_sub(1),
                b'>' if depth == 0 => {
                    self.take(at + 1);
                    return XmlEvent::Doctype;
                }
                _ => {}
            }
        }
        self.rest = "";
        XmlEvent::Doctype
    }
}

impl<'t> Iterator for XmlEvents<'t> {
    type Item = XmlEvent<'t>;

    fn next(&mut self) -> Option<XmlEvent<'t>> {
        loop {
            let bytes = self.rest.as_bytes();
            match bytes {
                [] => return None,
                [b'<', b'/' | b'_' | b':' | b'a'..=b'z' | b'A'..=b'Z' | 0x80.., ..] => {
                    return Some(self.tag());
                }
                [b'<', b'?', ..] => {
                    if self.between(2, "?>").is_none() {
                        return Some(XmlEvent::Broken);
                    }
                }
                [b'<', b'!', b'-', b'-', ..] => {
                    if self.between(4, "-->").is_none() {
                        return Some(XmlEvent::Broken);
                    }
                }
                _ if bytes.starts_with(b"<![CDATA[") => {
                    let inside = self.between(9, "]]>");
                    return Some(inside.map_or(XmlEvent::Broken, XmlEvent::CData));
                }
                _ if bytes.len() >= 9 && bytes[..9].eq_ignore_ascii_case(b"<!doctype") => {
                    return Some(self.doctype());
                }
                [b'<', b'!', ..] => {
                    if self.between(2, ">").is_none() {
                        return Some(XmlEvent::Broken);
                    }
                }
                // A `<` that begins no tag is text.
                [_, b'<', ..] => return Some(XmlEvent::Text(self.take(1))),
                [_, after @ ..] => {
                    let end = memchr(b'<', after).map_or(bytes.len(), |at| at + 1);
                    return Some(XmlEvent::Text(self.take(end)));
                }
            }
        }
    }
}

/// Returns whether two names are equal. Names are so short that a call of the C library costs more
/// than the comparison.
pub(super) fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a == b)
}

/// Returns the end of a tag. A `>` within quotes does not count, and a quote without an end is no
/// quote.
fn tag_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr3(b'>', b'"', b'\'', &bytes[at..])?;
        match bytes[at] {
            b'>' => return Some(at),
            quote => {
                // Quotes belong to attributes, which have an equals sign before them.
                let is_value = bytes[..at].trim_ascii_end().ends_with(b"=");
                at += 1;
                if is_value && let Some(length) = memchr(quote, &bytes[at..]) {
                    at += length + 1;
                }
            }
        }
    }
}

impl<'t> Attributes<'t> {
    /// Returns names and values, with entities as written. Text that is no attribute is skipped,
    /// and so is a value whose quote does not end: it may have been cut.
    pub(super) fn iter(self) -> impl Iterator<Item = (&'t str, &'t str)> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            loop {
                let (name, after) = rest.split_once('=')?;
                let name =
                    name.rsplit([' ', '\t', '\n', '\r', '"', '\'']).find(|it| !it.is_empty());
                let after = after.trim_ascii_start();
                let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
                let (value, next) = match quote {
                    Some(quote) => after[1..].split_once(quote)?,
                    None => after.split_at(
                        after.find(|c: char| c.is_ascii_whitespace()).unwrap_or(after.len()),
                    ),
                };
                rest = next;
                if let Some(name) = name {
                    return Some((name, value));
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{XmlEvent, XmlEvents};

    /// Events in short: `+name` and `-name`, `+name/`, text in quotes, `!` and `?`.
    fn check(text: &str, expected: &str) {
        let short = XmlEvents::new(text).map(|event| match event {
            XmlEvent::Start { name, attributes, empty } => {
                let list: Vec<String> =
                    attributes.iter().map(|(name, value)| format!("{name}={value}")).collect();
                let sign = if empty { "/" } else { "" };
                format!("+{name}{sign}({})", list.join(","))
            }
            XmlEvent::End { name } => format!("-{name}"),
            XmlEvent::Text(text) => format!("{text:?}"),
            XmlEvent::CData(text) => format!("[{text}]"),
            XmlEvent::Doctype => "!".to_owned(),
            XmlEvent::Broken => "?".to_owned(),
        });
        assert_eq!(short.collect::<Vec<_>>().join(" "), expected, "{text:?}");
    }

    #[test]
    fn well_formed_documents() {
        check("<?xml version='1.0'?><a><b/>x</a>", "+a() +b/() \"x\" -a");
        check("<a b='1>2' c=\"'\"/>", "+a/(b=1>2,c=')");
        check("<a\n b = '1'\n>t</a >", "+a(b=1) \"t\" -a");
        check("<!-- <a> --><a><![CDATA[<b>]]></a>", "+a() [<b>] -a");
        check("<!DOCTYPE a [<!ENTITY x '<y>'>]><a/>", "! +a/()");
    }

    #[test]
    fn what_sites_make_of_it() {
        check("a < b", "\"a \" \"< b\"");
        check("<a b=1 c>t", "+a(b=1) \"t\"");
        check("<a b='1>t", "+a() \"t\"");
        check("<a it's>x</a>", "+a() \"x\" -a");
        check("<a", "?");
        check("<a><!-- x", "+a() ?");
        check("<![CDATA[x", "?");
        check("", "");
    }
}
