//! Reads `meta` refreshes by the "shared declarative refresh steps" of the HTML standard
//! (§4.2.5.3).

use super::fact::WHITE;

/// The target of a refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refresh<'c> {
    /// The page itself, again.
    Reload,
    /// Another page, as a reference, which may not be a URL.
    To(&'c str),
}

/// Returns the target of a refresh by its `content`, or `None` if it is malformed.
pub(super) fn refresh(content: &str) -> Option<Refresh<'_>> {
    let rest = content.trim_start_matches(WHITE);
    let after_digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if after_digits.len() == rest.len() && !rest.starts_with('.') {
        return None;
    }
    let rest = after_digits.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if rest.is_empty() {
        return Some(Refresh::Reload);
    }
    let after_white = rest.trim_start_matches(WHITE);
    let after_sign = after_white.strip_prefix([';', ',']);
    if after_sign.is_none() && after_white.len() == rest.len() {
        return None;
    }
    let rest = after_sign.unwrap_or(after_white).trim_start_matches(WHITE);
    if rest.is_empty() {
        return Some(Refresh::Reload);
    }
    Some(Refresh::To(target(rest)))
}

/// Returns the reference after the time. `url=` and quotes are optional.
fn target(rest: &str) -> &str {
    let Some(after) = rest.strip_prefix(['u', 'U']) else { return unquoted(rest) };
    let named = after.strip_prefix(['r', 'R']).and_then(|after| after.strip_prefix(['l', 'L']));
    let value = named.and_then(|after| after.trim_start_matches(WHITE).strip_prefix('='));
    value.map_or(rest, |value| unquoted(value.trim_start_matches(WHITE)))
}

fn unquoted(text: &str) -> &str {
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) else { return text };
    let inside = &text[1..];
    inside.split_once(quote).map_or(inside, |(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::{Refresh, refresh};

    #[test]
    fn the_steps_of_the_standard() {
        let to = |target| Some(Refresh::To(target));
        for (content, expected) in [
            ("0;url=/x", to("/x")),
            ("5; URL = '/x' and more", to("/x")),
            ("0;URL=\"/x", to("/x")),
            ("1.5, /x", to("/x")),
            ("0 /x", to("/x")),
            (" \t3;\n url=/x", to("/x")),
            (".5;/x", to("/x")),
            ("0;u", to("u")),
            ("0;ur=/x", to("ur=/x")),
            ("0;url/x", to("url/x")),
            ("0;\"/x\"y", to("/x")),
            ("7", Some(Refresh::Reload)),
            ("7;", Some(Refresh::Reload)),
            ("0; ; /x", to("; /x")),
            ("", None),
            ("url=/x", None),
            (";/x", None),
            ("0x;/x", None),
            ("-1;/x", None),
        ] {
            assert_eq!(refresh(content), expected, "{content:?}");
        }
    }
}
