//! Reads dates of sitemaps (the W3C profile of ISO 8601) and of feeds (RFC 5322), to the
//! millisecond.

use std::borrow::Cow;

use curtsy_core::calendar::day_of;
use curtsy_core::headers::any_date;
use curtsy_core::time::Time;

/// Returns Unix milliseconds. A missing zone is UTC, a missing month or day the first.
pub(super) fn modified_ms(text: &str, now: Time) -> Option<i64> {
    let text = text.trim();
    let read = iso(text.as_bytes()).or_else(|| {
        let now = i64::try_from(now.secs()).unwrap_or(i64::MAX);
        any_date(&with_seconds(text), now)?.checked_mul(1_000)
    });
    // Databases write the year 0 where they have no date.
    read.filter(|ms| Some(*ms) >= day_ms(1, 1, 1))
}

/// Adds seconds to a time without them: RFC 5322 §3.3 allows that, HTTP dates do not.
fn with_seconds(text: &str) -> Cow<'_, str> {
    let Some(colon) = text.find(':').filter(|_| text.matches(':').count() == 1) else {
        return Cow::Borrowed(text);
    };
    let end = colon + 1 + text[colon + 1..].bytes().take_while(u8::is_ascii_digit).count();
    Cow::Owned(format!("{}:00{}", &text[..end], &text[end..]))
}

/// Reads `2024`, `2024-05`, `2024-05-06`, `2024-05-06T07:08`, also with seconds, a fraction and a
/// zone.
fn iso(text: &[u8]) -> Option<i64> {
    let (year, rest) = number(text, 4)?;
    if rest.is_empty() {
        return day_ms(year, 1, 1);
    }
    let (month, rest) = number(rest.strip_prefix(b"-")?, 2)?;
    if rest.is_empty() {
        return day_ms(year, month, 1);
    }
    let (day, rest) = number(rest.strip_prefix(b"-")?, 2)?;
    let date = day_ms(year, month, day)?;
    if rest.is_empty() {
        return Some(date);
    }
    let (&b'T' | &b't' | &b' ', rest) = rest.split_first()? else { return None };
    let (hour, rest) = number(rest, 2)?;
    let (minute, rest) = number(rest.strip_prefix(b":")?, 2)?;
    let (second, rest) = match rest.strip_prefix(b":") {
        Some(rest) => number(rest, 2)?,
        None => (0, rest),
    };
    let (fraction_ms, rest) = match rest.strip_prefix(b".").or(rest.strip_prefix(b",")) {
        Some(rest) => fraction(rest)?,
        None => (0, rest),
    };
    // ISO 8601 allows `24:00:00`, the end of a day.
    let ends_day = (hour, minute, second, fraction_ms) == (24, 0, 0, 0);
    if (hour > 23 && !ends_day) || minute > 59 || second > 60 {
        return None;
    }
    let time = ((hour * 60 + minute) * 60 + second) * 1_000 + fraction_ms;
    Some(date + time - zone_ms(rest)?)
}

/// Reads the text after the time: nothing, `Z`, `+02:00`, `-0430`, `+02`.
fn zone_ms(rest: &[u8]) -> Option<i64> {
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let (sign, rest) = match rest.split_first() {
        None | Some((b'Z' | b'z', [])) => return Some(0),
        Some((b'+', rest)) => (1, rest),
        Some((b'-', rest)) => (-1, rest),
        Some(_) => return None,
    };
    let (hours, rest) = number(rest, 2)?;
    let minutes = match rest.strip_prefix(b":").unwrap_or(rest) {
        [] => 0,
        rest => number(rest, 2).filter(|(_, rest)| rest.is_empty())?.0,
    };
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 60 + minutes) * 60_000)
}

fn number(text: &[u8], digits: usize) -> Option<(i64, &[u8])> {
    let (digits, rest) = text.split_at_checked(digits)?;
    let all = digits.iter().all(u8::is_ascii_digit);
    all.then(|| (digits.iter().fold(0, |n, b| n * 10 + i64::from(b - b'0')), rest))
}

/// Reads a fraction of a second, to the millisecond.
fn fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let length = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(length);
    let digit = |at: usize| digits.get(at).map_or(0, |b| i64::from(b - b'0'));
    (length > 0).then(|| (digit(0) * 100 + digit(1) * 10 + digit(2), rest))
}

/// Returns the Unix milliseconds at the start of a day, or `None` if there is no such date.
fn day_ms(year: i64, month: i64, day: i64) -> Option<i64> {
    Some(day_of(year, month, day)? * 86_400_000)
}

#[cfg(test)]
mod tests {
    use super::{iso, modified_ms};
    use curtsy_core::time::Time;

    #[test]
    fn the_forms_that_sites_write() {
        let check = |text: &str, expected: Option<i64>| {
            let now = Time::from_secs(1_715_000_000);
            assert_eq!(modified_ms(text, now), expected, "{text:?}");
        };
        check("1970", Some(0));
        check("2024-05", Some(1_714_521_600_000));
        check(" 2024-05-06\n", Some(1_714_953_600_000));
        check("2024-05-06T07:08Z", Some(1_714_979_280_000));
        check("2024-05-06T07:08:09+02:00", Some(1_714_972_089_000));
        check("2024-05-06T07:08:09.125Z", Some(1_714_979_289_125));
        check("2024-05-06T07:08:09-0430", Some(1_714_995_489_000));
        check("2024-05-06 07:08:09", Some(1_714_979_289_000));
        check("Mon, 06 May 2024 07:08:09 +0200", Some(1_714_972_089_000));
        check("Mon, 06 May 2024 07:08 EST", Some(1_714_997_280_000));
        check("2024-05-06T24:00:00Z", Some(1_715_040_000_000));
        check("2024-05-06T24:00:01Z", None);
        check("2024-05-06T24:30:00Z", None);
        check("0000-00-00 00:00:00", None);
        check("0000", None);
        check("0000-01-01", None);
        check("Mon, 06 May 0000 07:08:09 GMT", None);
        check("-0001-11-30T00:00:00+00:00", None);
        check("2024-05-06T07:08:09 yesterday", None);
        check("05/06/2024", None);
        check("1714953600", None);
        check("2024-02-30", None);
        check("2024-13-01", None);
        check("nonsense", None);
        check("", None);
    }

    #[test]
    fn days_follow_each_other() {
        let day = |text: &str| iso(text.as_bytes()).unwrap() / 86_400_000;
        assert_eq!(day("2024-03-01") - day("2024-02-29"), 1);
        assert_eq!(day("2023-03-01") - day("2023-02-28"), 1);
        assert_eq!(day("2000-01-01") - day("1999-12-31"), 1);
        assert_eq!(day("1969-12-31"), -1);
    }
}
