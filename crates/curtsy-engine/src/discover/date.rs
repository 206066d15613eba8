//! Recognises dates in paths and parameters.

use curtsy_core::calendar::month_named;
use memchr::memchr2;

/// Returns the place of the date in a path, if nothing follows it that could be a title.
pub(super) fn at_end_of_path(path: &str) -> Option<(usize, usize)> {
    // Most paths have no year.
    if memchr2(b'1', b'2', path.as_bytes()).is_none()
        || !path.as_bytes().windows(2).any(|w| matches!(w, [b'1', b'9'] | [b'2', b'0' | b'1']))
    {
        return None;
    }
    let mut found: Option<(usize, usize)> = None;
    let mut at = 0;
    // The year and the month before this part.
    let mut led: Option<(usize, u8)> = None;
    for part in path.split('/') {
        let (from, to) = (at, at + part.len());
        at = to + 1;
        if is_date(part) {
            found = Some((from, to));
            led = None;
        } else if let Some((start, parts @ 1..=2)) = led
            && if parts == 1 { is_month(part) } else { is_between(part, 1, 31) }
        {
            found = Some((start, to));
            led = Some((start, parts + 1));
        } else if is_year(part) {
            led = Some((from, 1));
        } else {
            led = None;
            // A page number or a word of calendars. A title is none of them.
            let is_view = part.is_empty() || VIEWS.contains(&part) || is_between(part, 0, 9_999);
            if !is_view {
                found = None;
            }
        }
    }
    found
}

/// Returns whether the text is a year and a month, with or without a day, in either order:
/// `2024-05`, `2024_05_01`, `01.05.2024`, `20240501`, `2024-W07`. A time may follow.
pub(super) fn is_date(text: &str) -> bool {
    let end = text.find(['T', ':', '+', '%', ' ']).unwrap_or(text.len());
    let text = &text[..end];
    if !matches!(text.len(), 6..=10) || !text.as_bytes()[text.len() - 1].is_ascii_digit() {
        return false;
    }
    let Some(separator) = text.find(['-', '_', '.']).map(|at| &text[at..=at]) else {
        // Eight digits are more often a number than a date: only likely years count.
        return text.len() == 8
            && is_number(text)
            && is_between(&text[..4], 1990, 2039)
            && is_between(&text[4..6], 1, 12)
            && is_between(&text[6..], 1, 31);
    };
    let mut parts = text.split(separator);
    let (Some(first), Some(second), third, None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let is_rest = |second: &str, third: Option<&str>| {
        let week = second.strip_prefix(['W', 'w']);
        let by_week = third.is_none() && week.is_some_and(|week| is_between(week, 1, 53));
        by_week || is_between(second, 1, 12) && third.is_none_or(|day| is_between(day, 1, 31))
    };
    match third {
        _ if is_year(first) => is_rest(second, third),
        // The day or the month is first, depending on the country.
        Some(year) if is_year(year) => is_between(first, 1, 31) && is_between(second, 1, 31),
        None => is_year(second) && is_between(first, 1, 12),
        Some(_) => false,
    }
}

fn is_year(text: &str) -> bool {
    text.len() == 4 && is_between(text, 1900, 2199)
}

/// Returns whether the text is a month, by its number or its English name.
fn is_month(text: &str) -> bool {
    is_between(text, 1, 12) || month_named(text).is_some()
}

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_between(text: &str, least: u16, most: u16) -> bool {
    matches!(text.len(), 1..=4)
        && is_number(text)
        && text.parse::<u16>().is_ok_and(|number| (least..=most).contains(&number))
}

/// Words that calendars put after their dates.
const VIEWS: [&str; 14] = [
    "month", "week", "day", "year", "list", "agenda", "today", "next", "prev", "previous", "map",
    "photo", "grid", "page",
];

#[cfg(test)]
mod tests {
    use super::is_date;

    #[test]
    fn dates() {
        for (text, expected) in [
            ("2024-05-01", true),
            ("2024_05", true),
            ("5.2024", true),
            ("31-12-2024", true),
            ("2024-05-01T10:00:00Z", true),
            ("20240501", true),
            ("2024-00", false),
            ("2024-13-01", false),
            ("2024-5-1-1", false),
            ("18000101", false),
            ("1.2.3", false),
            ("2024-", false),
            ("-2024-05", false),
            ("", false),
            ("\u{e9}2024-05", false),
            ("2024\u{e9}05", false),
            ("T", false),
        ] {
            assert_eq!(is_date(text), expected, "{text}");
        }
    }
}
