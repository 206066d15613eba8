//! Texts of sites and users in messages and logs.

use curtsy_core::evidence::timestamp;
use curtsy_core::time::Time;

/// The largest number of characters of such a text in a message.
pub(crate) const SHOWN_MAX: usize = 500;

/// Returns a text of a site that is safe on a terminal: characters that move the cursor or change
/// the direction of text are escaped.
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_bidi(c) { safe.extend(c.escape_default()) } else { safe.push(c) }
    }
    safe
}

/// Returns a time for people, in UTC: without its date if that is today.
pub fn shown_time(at: Time, now: Time) -> String {
    let (at, now) = (timestamp(at), timestamp(now));
    match (at.get(..10), at.get(11..19)) {
        (Some(day), Some(time)) if now.starts_with(day) => format!("{time} UTC"),
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => at,
    }
}

/// Whether a character changes the direction of the text behind it, or ends a line without being a
/// control character.
pub fn is_bidi(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns a URL for messages and records: without user, password and the values of the query, and
/// of limited length.
pub fn shown_url(text: &str) -> String {
    let whole = without_login(text);
    let query = whole.find('?').map(|at| at + 1).filter(|at| *at < whole.len());
    let mut shown: String = whole[..query.unwrap_or(whole.len())].chars().take(SHOWN_MAX).collect();
    if query.is_some() || shown.len() < whole.len() {
        shown.push('…');
    }
    shown
}

/// Removes user and password from an address that a user wrote.
pub fn without_login(text: &str) -> String {
    let scheme = text.find("://").map_or("", |at| &text[..at]);
    let start = if scheme.is_empty() { 0 } else { scheme.len() + "://".len() };
    // An `@` behind the host belongs to the path of a page. With other schemes it belongs to a
    // password that was not encoded.
    let end = match scheme {
        "" | "http" | "https" => text[start..].find(['/', '?', '#']),
        _ => None,
    };
    let end = end.map_or(text.len(), |at| start + at);
    match text[start..end].rfind('@') {
        Some(at) => printable(&format!("{}…{}", &text[..start], &text[start + at..])),
        None => printable(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_place_and_not_the_values() {
        for (typed, shown) in [
            ("https://u:s3cret@h/a?token=1&b", "https://…@h/a?…"),
            ("https://h/a?", "https://h/a?"),
            ("https://h/a", "https://h/a"),
            ("no url?x", "no url?…"),
            ("https://h/\u{202e}\n", "https://h/\\u{202e}\\n"),
        ] {
            assert_eq!(shown_url(typed), shown);
        }
        assert_eq!(shown_url(&"x".repeat(100_000)).chars().count(), SHOWN_MAX + 1);
    }

    #[test]
    fn a_moment_of_another_day_has_its_date() {
        let at = Time::from_secs(1_704_067_200 + 50_580);
        assert_eq!(shown_time(at, at), "14:03:00 UTC");
        assert_eq!(shown_time(at, Time::from_secs(1_704_200_000)), "2024-01-01 14:03:00 UTC");
    }

    #[test]
    fn a_password_is_not_shown_wherever_it_stands() {
        for (typed, shown) in [
            ("redis://u:s3/cr?et@h:1/0", "redis://…@h:1/0"),
            ("redis://h:1/0", "redis://h:1/0"),
            ("https://u:s3cret@h/a", "https://…@h/a"),
            ("https://h/@somebody", "https://h/@somebody"),
            ("u:s3cret@h", "…@h"),
            ("://", "://"),
        ] {
            assert_eq!(without_login(typed), shown);
        }
    }
}
