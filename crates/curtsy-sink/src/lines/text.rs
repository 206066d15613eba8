//! Decides whether a body is written as text or in Base64.

use std::borrow::Cow;

/// Returns the text of a body: as the page was decoded, or as UTF-8. Returns none if bytes would be
/// lost, or if there is a NUL, which many readers of lines take for an end.
pub(super) fn of<'a>(body: &'a [u8], decoded: Option<Cow<'a, str>>) -> Option<Cow<'a, str>> {
    let text = match decoded {
        Some(decoded) => decoded,
        None => Cow::Borrowed(std::str::from_utf8(body).ok()?),
    };
    // The replacement character of decoders.
    let lossy = text.contains('\u{fffd}');
    (!lossy && !text.contains('\0')).then_some(text)
}

#[cfg(test)]
mod tests {
    use data_encoding::BASE64;

    use super::*;

    /// RFC 4648 §10.
    #[test]
    fn base64_as_the_standard_has_it() {
        let known = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (length, expected) in known.into_iter().enumerate() {
            assert_eq!(BASE64.encode(&b"foobar"[..length]), expected);
        }
        assert_eq!(BASE64.encode(&[0xff, 0xfe, 0xfd]), "//79");
    }

    #[test]
    fn what_is_a_text() {
        assert_eq!(of("für".as_bytes(), None).as_deref(), Some("für"));
        assert_eq!(of(b"\xff", None), None);
        assert_eq!(of(b"a\0b", None), None);
        assert_eq!(of(b"f\xfcr", Some("für".into())).as_deref(), Some("für"));
        assert_eq!(of(b"\xff", Some("\u{fffd}".into())), None);
    }
}
