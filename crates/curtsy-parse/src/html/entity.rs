//! Decodes entities (`&amp;`, `&#38;`) in text and attribute values.
//!
//! Line ends and NUL characters get the form of the standard's input stream and tokenizer before
//! entities are decoded: `&#13;` stays a carriage return.

use std::borrow::Cow;

use memchr::memchr3;

/// Decodes an attribute's value.
pub(super) fn in_attribute(raw: &str) -> Cow<'_, str> {
    match memchr3(b'&', b'\r', b'\0', raw.as_bytes()) {
        None => Cow::Borrowed(raw),
        Some(_) => Cow::Owned(htmlize::unescape_attribute(tidied(raw)).into_owned()),
    }
}

/// Decodes a run of characters between tags, where NUL matters and stays.
pub(super) fn in_text(raw: &str) -> Cow<'_, str> {
    htmlize::unescape(raw)
}

/// Decodes the text of a `title`.
pub(super) fn in_title(raw: &str) -> Cow<'_, str> {
    match memchr3(b'&', b'\r', b'\0', raw.as_bytes()) {
        None => Cow::Borrowed(raw),
        Some(_) => Cow::Owned(htmlize::unescape(tidied(raw)).into_owned()),
    }
}

fn tidied(raw: &str) -> Cow<'_, str> {
    match raw.contains(['\r', '\0']) {
        false => Cow::Borrowed(raw),
        true => Cow::Owned(raw.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{fffd}")),
    }
}
