//! The tokenizer of the HTML standard (§13.2.5), for text that is complete and in memory.
//!
//! It returns tags by name, their attributes as places in the text, and for characters only what
//! the tree builder needs: white space, NUL, or others. A tag needs no copy and no allocation;
//! values are decoded later, from their places. The content of `title`, `script` and the like is
//! skipped at once, since no element can follow from it, so there are no tokenizer states to
//! switch.

use memchr::{memchr, memchr2, memmem};

use super::doctype::is_quirky;
use super::entity;
use super::name::ElementName;

/// A place in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TextSpan {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl TextSpan {
    pub(super) fn new(start: usize, end: usize) -> TextSpan {
        // The text is cut at `TEXT_BYTES_MAX`, so both fit.
        TextSpan { start: start as u32, end: end as u32 }
    }

    pub(super) fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    pub(super) fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// The next tag or run of characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HtmlToken {
    /// A start tag. The tokenizer keeps its attributes until the next one.
    Start {
        name: ElementName,
        self_closing: bool,
    },
    End {
        name: ElementName,
    },
    Characters(Characters),
    Doctype {
        quirky: bool,
    },
}

/// The kinds of characters in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Characters {
    pub(super) white: bool,
    pub(super) null: bool,
    pub(super) other: bool,
}

impl Characters {
    pub(super) fn only_white(self) -> bool {
        !self.null && !self.other
    }
}

/// An attribute: the places of its name and its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute {
    name: TextSpan,
    value: TextSpan,
}

pub(super) struct Tokens<'t> {
    text: &'t str,
    at: usize,
    attributes: Vec<Attribute>,
    /// The place between the name and the end of the last start tag.
    inside: TextSpan,
    /// The last run of characters.
    run: TextSpan,
}

impl<'t> Tokens<'t> {
    pub(super) fn new(text: &'t str) -> Tokens<'t> {
        Tokens {
            text,
            at: 0,
            attributes: Vec::with_capacity(16),
            inside: TextSpan::default(),
            run: TextSpan::default(),
        }
    }

    pub(super) fn text(&self) -> &'t str {
        self.text
    }

    /// Returns the value of the first attribute of the last start tag with this name, which is in
    /// lower case.
    pub(super) fn attribute(&self, name: &str) -> Option<TextSpan> {
        let named = |a: &&Attribute| a.name.of(self.text).eq_ignore_ascii_case(name);
        self.attributes.iter().find(named).map(|a| a.value)
    }

    /// Returns the last run of characters, as written.
    pub(super) fn last_run(&self) -> &'t str {
        self.run.of(self.text)
    }

    /// Returns the place of the last start tag's attributes.
    pub(super) fn inside(&self) -> TextSpan {
        self.inside
    }

    /// Returns attributes by their place: names in lower case, each once, with values as written.
    pub(super) fn attributes_of(text: &str, inside: TextSpan) -> Vec<(String, &str)> {
        let mut tokens = Tokens::new(text);
        tokens.at = inside.start as usize;
        let _ = tokens.rest_of_tag();
        let mut found: Vec<(String, &str)> = Vec::new();
        for Attribute { name, value } in tokens.attributes {
            let name = name.of(text).to_ascii_lowercase();
            if found.iter().all(|(other, _)| *other != name) {
                found.push((name, value.of(text)));
            }
        }
        found
    }

    /// Returns the next token. Only foreign content has CDATA sections.
    pub(super) fn next(&mut self, foreign: bool) -> Option<HtmlToken> {
        let bytes = self.text.as_bytes();
        loop {
            let here = bytes.get(self.at..)?;
            match here {
                [] => return None,
                [b'<', b'a'..=b'z' | b'A'..=b'Z', ..] => {
                    self.at += 1;
                    let name = self.name();
                    let start = self.at;
                    let self_closing = self.rest_of_tag()?;
                    self.inside = TextSpan::new(start, self.at);
                    return Some(HtmlToken::Start { name, self_closing });
                }
                [b'<', b'/', b'a'..=b'z' | b'A'..=b'Z', ..] => {
                    self.at += 2;
                    let name = self.name();
                    self.rest_of_tag()?;
                    return Some(HtmlToken::End { name });
                }
                [b'<', b'/', b'>', ..] => self.at += 3,
                [b'<', b'/', _, ..] | [b'<', b'?', ..] => self.skip_past(memchr(b'>', here)),
                [b'<', b'!', ..] => {
                    if let Some(token) = self.declaration(foreign) {
                        return Some(token);
                    }
                }
                [b'<', ..] => {
                    self.run = TextSpan::new(self.at, self.at + 1);
                    self.at += 1;
                    return Some(HtmlToken::Characters(Characters {
                        other: true,
                        ..Characters::default()
                    }));
                }
                _ => {
                    let run = &here[..memchr(b'<', here).unwrap_or(here.len())];
                    let (start, end) = (self.at, self.at + run.len());
                    let characters = self.characters(start, end);
                    (self.run, self.at) = (TextSpan::new(start, end), end);
                    return Some(HtmlToken::Characters(characters));
                }
            }
        }
    }

    /// Skips one line end, as the standard does after `<pre>`.
    pub(super) fn skip_line_end(&mut self) {
        self.at += match &self.text.as_bytes()[self.at..] {
            [b'\r', b'\n', ..] => 2,
            [b'\r' | b'\n', ..] => 1,
            _ => 0,
        };
    }

    /// Reads the rest of the text as characters (`<plaintext>`).
    pub(super) fn take_rest(&mut self) -> Option<Characters> {
        let start = std::mem::replace(&mut self.at, self.text.len());
        // There are no entities here: `&` is a character. NUL stands for U+FFFD and is a character
        // too.
        (start < self.at).then(|| {
            let run = plain_characters(&self.text.as_bytes()[start..]);
            Characters { other: run.other || run.null, null: false, ..run }
        })
    }

    /// Skips the content of an element without elements, up to the tag that ends it or the end of
    /// the text, and that tag. Returns the place of the content. `name` is in lower case.
    pub(super) fn raw_contents(&mut self, name: &str) -> TextSpan {
        let start = self.at;
        let mut from = start;
        let end = loop {
            let Some(found) = memmem::find(&self.text.as_bytes()[from..], b"</") else {
                break self.text.len();
            };
            let tag = from + found;
            if self.is_tag_named(tag + 2, name) {
                break tag;
            }
            from = tag + 2;
        };
        self.end_raw(end, name);
        TextSpan::new(start, end)
    }

    /// Works like [`raw_contents`](Self::raw_contents) for `script`, where `<!--` and another
    /// `<script` hide the tag that ends it.
    pub(super) fn script_contents(&mut self) {
        /// The state inside a `script` element (HTML §13.2.5.15 and following).
        #[derive(PartialEq)]
        enum ScriptState {
            Plain,
            Escaped,
            DoubleEscaped,
        }
        let bytes = self.text.as_bytes();
        let mut state = ScriptState::Plain;
        let mut from = self.at;
        let end = loop {
            // Outside of an escape only `<` matters.
            let found = match state {
                ScriptState::Plain => memchr(b'<', &bytes[from..]),
                ScriptState::Escaped | ScriptState::DoubleEscaped => {
                    memchr2(b'<', b'-', &bytes[from..])
                }
            };
            let Some(found) = found else { break bytes.len() };
            let at = from + found;
            from = at + 1;
            let rest = &bytes[at..];
            if rest.starts_with(b"-->") {
                state = ScriptState::Plain;
            } else if rest.starts_with(b"</") && self.is_tag_named(at + 2, "script") {
                if state != ScriptState::DoubleEscaped {
                    break at;
                }
                state = ScriptState::Escaped;
            } else if state == ScriptState::Escaped && self.is_tag_named(at + 1, "script") {
                state = ScriptState::DoubleEscaped;
            } else if state == ScriptState::Plain && rest.starts_with(b"<!--") {
                state = ScriptState::Escaped;
                // The two dashes may also be those of the end: `<!-->`.
                from = at + 2;
            }
        };
        self.end_raw(end, "script");
    }

    /// Returns whether a tag of this name continues here, after `<` or `</`.
    fn is_tag_named(&self, at: usize, name: &str) -> bool {
        let rest = &self.text.as_bytes()[at..];
        rest.len() > name.len()
            && rest[..name.len()].eq_ignore_ascii_case(name.as_bytes())
            && matches!(rest[name.len()], b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' | b'/' | b'>')
    }

    /// Continues after the end tag that begins here, if there is one.
    fn end_raw(&mut self, end: usize, name: &str) {
        self.at = end;
        if end < self.text.len() {
            self.at = end + 2 + name.len();
            // A tag in which the text ends is none, and nothing follows it.
            let _ = self.rest_of_tag();
        }
    }

    fn name(&mut self) -> ElementName {
        let here = &self.text.as_bytes()[self.at..];
        let (name, length) = ElementName::at(here, is_name_end);
        self.at += length;
        name
    }

    /// Reads attributes up to the end of the tag, or returns `None` if the text ends first. The
    /// result says whether the tag closes itself.
    #[inline]
    fn rest_of_tag(&mut self) -> Option<bool> {
        self.attributes.clear();
        match self.text.as_bytes().get(self.at) {
            Some(b'>') => {
                self.at += 1;
                Some(false)
            }
            _ => self.attributes_and_end(),
        }
    }

    fn attributes_and_end(&mut self) -> Option<bool> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        let tag = loop {
            match bytes.get(at) {
                None => break None,
                Some(&byte) if is_white(byte) => at += 1,
                Some(b'>') => {
                    at += 1;
                    break Some(false);
                }
                Some(b'/') if bytes.get(at + 1) == Some(&b'>') => {
                    at += 2;
                    break Some(true);
                }
                Some(b'/') => at += 1,
                Some(_) => match self.attribute_at(at) {
                    Some(end) => at = end,
                    None => break None,
                },
            }
        };
        self.at = if tag.is_some() { at } else { bytes.len() };
        tag
    }

    /// Reads one attribute and returns the place after it, or `None` if the text ends inside.
    fn attribute_at(&mut self, start: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let find = |from: usize, stop: fn(u8) -> bool| {
            bytes[from..].iter().position(|&b| stop(b)).map(|length| from + length)
        };
        // A first `=` is a part of the name.
        let name_end = find(start + 1, |b| is_name_end(b) || b == b'=')?;
        let name = TextSpan::new(start, name_end);
        let mut at = find(name_end, |b| !is_white(b))?;
        let mut value = TextSpan::default();
        if bytes[at] == b'=' {
            at = find(at + 1, |b| !is_white(b))?;
            (value, at) = match bytes[at] {
                quote @ (b'"' | b'\'') => {
                    let end = at + 1 + memchr(quote, &bytes[at + 1..])?;
                    (TextSpan::new(at + 1, end), end + 1)
                }
                b'>' => (TextSpan::default(), at),
                _ => {
                    let end = find(at, |b| is_white(b) || b == b'>')?;
                    (TextSpan::new(at, end), end)
                }
            };
        }
        if self.attributes.len() < ATTRIBUTES_MAX || self.is_wanted(name) {
            self.attributes.push(Attribute { name, value });
        }
        Some(at)
    }

    /// Returns whether a very late attribute is needed and not there yet.
    fn is_wanted(&self, name: TextSpan) -> bool {
        let name = name.of(self.text).to_ascii_lowercase();
        WANTED.contains(&name.as_str()) && self.attribute(&name).is_none()
    }

    /// Reads `<!`: a comment, a doctype, a CDATA section, or what counts as a comment.
    fn declaration(&mut self, foreign: bool) -> Option<HtmlToken> {
        let here = &self.text.as_bytes()[self.at..];
        if here.starts_with(b"<!--") {
            self.skip_comment();
            return None;
        }
        if here.len() >= 9 && here[2..9].eq_ignore_ascii_case(b"doctype") {
            let end = memchr(b'>', here);
            let inside = &self.text[self.at + 9..self.at + end.unwrap_or(here.len())];
            let quirky = end.is_none() || is_quirky(inside);
            self.skip_past(end);
            return Some(HtmlToken::Doctype { quirky });
        }
        if foreign && here.starts_with(b"<![CDATA[") {
            let length = memmem::find(&here[9..], b"]]>");
            let inside = &here[9..length.map_or(here.len(), |length| 9 + length)];
            self.skip_past(length.map(|length| 9 + length + 2));
            return (!inside.is_empty()).then(|| HtmlToken::Characters(plain_characters(inside)));
        }
        self.skip_past(memchr(b'>', here));
        None
    }

    fn skip_comment(&mut self) {
        let here = &self.text.as_bytes()[self.at..];
        if here[4..].starts_with(b">") {
            self.at += 5;
            return;
        }
        if here[4..].starts_with(b"->") {
            self.at += 6;
            return;
        }
        let mut from = 4;
        while let Some(found) = memmem::find(&here[from..], b"--") {
            let dashes = from + found;
            match &here[dashes + 2..] {
                [b'>', ..] => {
                    self.at += dashes + 3;
                    return;
                }
                [b'!', b'>', ..] => {
                    self.at += dashes + 4;
                    return;
                }
                _ => from = dashes + 1,
            }
        }
        self.at = self.text.len();
    }

    /// Continues after a byte at this distance, or at the end of the text.
    fn skip_past(&mut self, found: Option<usize>) {
        self.at = found.map_or(self.text.len(), |distance| self.at + distance + 1);
    }

    /// Returns the kinds of all characters in the last run.
    pub(super) fn whole_run(&self) -> Characters {
        plain_characters(entity::in_text(self.run.of(self.text)).as_bytes())
    }

    /// Returns the kinds of characters in a run, up to the first one that is neither white space
    /// nor NUL: later ones hardly ever matter.
    fn characters(&self, start: usize, end: usize) -> Characters {
        let run = &self.text.as_bytes()[start..end];
        let mut seen = Characters::default();
        for &byte in run {
            match byte {
                byte if is_white(byte) => seen.white = true,
                0 => seen.null = true,
                // An entity may stand for white space.
                b'&' => {
                    let decoded = entity::in_text(&self.text[start..end]);
                    return plain_characters(decoded.as_bytes());
                }
                _ => {
                    seen.other = true;
                    break;
                }
            }
        }
        seen
    }
}

fn plain_characters(run: &[u8]) -> Characters {
    let mut seen = Characters::default();
    for &byte in run {
        match byte {
            byte if is_white(byte) => seen.white = true,
            0 => seen.null = true,
            _ => seen.other = true,
        }
    }
    seen
}

pub(super) const fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}

fn is_name_end(byte: u8) -> bool {
    NAME_ENDS[usize::from(byte)]
}

/// White space, `/` and `>`.
const NAME_ENDS: [bool; 256] = {
    let mut ends = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        ends[byte] = is_white(byte as u8) || matches!(byte as u8, b'/' | b'>');
        byte += 1;
    }
    ends
};

/// Limit of the attributes of one tag. Further ones are skipped, except those that are needed.
pub(crate) const ATTRIBUTES_MAX: usize = 64;
/// The attributes that are ever needed.
const WANTED: [&str; 11] = [
    "color",
    "content",
    "encoding",
    "face",
    "href",
    "http-equiv",
    "name",
    "rel",
    "size",
    "src",
    "type",
];
