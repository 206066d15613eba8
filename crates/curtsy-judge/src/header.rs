//! Reads the header values that rules depend on: Retry-After, HTTP dates, Cache-Control.
//!
//! The judge does not use the crawler's own readers, so an error in those is visible.

/// Returns the span that a `Retry-After` demands, in microseconds, or `None` if its value is
/// unusable.
///
/// A date is compared with the server's own `Date` (RFC 9110 §10.2.3 has the syntax). Without one,
/// the log's time is used if it is a time since 1970.
pub(crate) fn retry_after(value: &str, date: Option<&str>, end: u64) -> Option<u64> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // A number that is too large is still a very long wait.
        let seconds = value.parse::<u64>().unwrap_or(FOREVER_S).min(FOREVER_S);
        return Some(seconds * SECOND);
    }
    let until = http_date(value)?;
    let now = match date.and_then(http_date) {
        Some(now) => now,
        None if end >= EPOCH_LIKE => (end / SECOND) as i64,
        None => return None,
    };
    Some(u64::try_from(until - now).unwrap_or(0).min(FOREVER_S) * SECOND)
}

/// Returns how long a response says that it is fresh, in microseconds, or `None` if it does not say
/// (RFC 9111 §5.2.2).
pub(crate) fn freshness(cache_control: &str) -> Option<u64> {
    let mut max_age = None;
    for directive in cache_control.split(',') {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "no-store" | "no-cache" => return Some(0),
            "max-age" => {
                let value = value.trim().trim_matches('"');
                // An unreadable age is stale (RFC 9111 §4.2.1). Of two ages the smaller one demands
                // less.
                let seconds = match value.bytes().all(|b| b.is_ascii_digit()) && !value.is_empty() {
                    true => value.parse::<u64>().unwrap_or(FOREVER_S).min(FOREVER_S),
                    false => 0,
                };
                max_age = Some(max_age.map_or(seconds, |age: u64| age.min(seconds)));
            }
            _ => {}
        }
    }
    max_age.map(|seconds| seconds * SECOND)
}

/// Returns the seconds since 1970 of an HTTP date in any of its three forms (RFC 9110 §5.6.7).
pub(crate) fn http_date(text: &str) -> Option<i64> {
    let words: Vec<&str> = text.split([' ', ',', '-']).filter(|word| !word.is_empty()).collect();
    // `Sun Nov  6 08:49:37 1994` has its time before the year. The other two forms end in `GMT`.
    let (day, month, year, time) = match words[..] {
        [_, month, day, time, year] if time.contains(':') => (day, month, year, time),
        [_, day, month, year, time, "GMT" | "UTC"] => (day, month, year, time),
        _ => return None,
    };
    let month = 1 + MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month))? as i64;
    let day: i64 = digits(day, 1..=2)?;
    let year: i64 = match year.len() {
        2 => match digits(year, 2..=2)? {
            // RFC 9110 §5.6.7: two digits that look far ahead mean the past.
            year @ 0..=69 => 2000 + year,
            year => 1900 + year,
        },
        _ => digits(year, 4..=4)?,
    };
    let mut parts = time.split(':');
    let mut part = |limit: i64| digits(parts.next()?, 2..=2).filter(|&n| n <= limit);
    let (hour, minute, second) = (part(23)?, part(59)?, part(60)?);
    if parts.next().is_some() || !(1..=31).contains(&day) {
        return None;
    }
    Some(days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Returns the seconds since 1970 of the time stamp of a combined log: `06/Nov/1994:08:49:37
/// +0000`.
pub(crate) fn log_date(text: &str) -> Option<i64> {
    let (stamp, zone) = text.split_once(' ')?;
    let mut parts = stamp.splitn(4, ['/', ':']);
    let day = digits(parts.next()?, 1..=2)?;
    let month = parts.next()?;
    let month = 1 + MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month))? as i64;
    let year = digits(parts.next()?, 4..=4)?;
    let mut time = parts.next()?.split(':').map(|part| digits(part, 2..=2));
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let (sign, zone) = zone.split_at_checked(1)?;
    let zone = digits(zone, 4..=4)?;
    let offset = (zone / 100 * 3600 + zone % 100 * 60) * if sign == "-" { -1 } else { 1 };
    let local = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    Some(local - offset)
}

/// Returns the microseconds since 1970 of `1994-11-06` and `08:49:37`, with or without decimals, in
/// UTC.
pub(crate) fn day_and_time(day: &str, time: &str) -> Option<u64> {
    let mut parts = day.split('-');
    let year = digits(parts.next()?, 4..=4)?;
    let month = digits(parts.next()?, 1..=2).filter(|month| (1..=12).contains(month))?;
    let day = digits(parts.next()?, 1..=2).filter(|day| (1..=31).contains(day))?;
    let (time, decimals) = time.split_once('.').unwrap_or((time, ""));
    let mut clock = time.split(':').map(|part| digits(part, 2..=2));
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if parts.next().is_some() || clock.next().is_some() || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let micros = match decimals {
        "" => 0,
        _ => {
            let cut = decimals.get(..decimals.len().min(6))?;
            let scale = 10i64.pow(6 - cut.len() as u32);
            digits(cut, 1..=6)? * scale
        }
    };
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    u64::try_from(seconds * SECOND as i64 + micros).ok()
}

/// Returns the microseconds since 1970 of an ISO 8601 time: `1994-11-06T08:49:37+00:00`, also with
/// `Z` or decimals.
pub(crate) fn iso_date(text: &str) -> Option<u64> {
    let (day, rest) = text.split_once(['T', ' '])?;
    let end = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(end);
    let utc = day_and_time(day, time)?;
    let offset = match zone.as_bytes() {
        [] | [b'Z'] => 0,
        [sign, ..] => {
            let zone = zone[1..].replace(':', "");
            let zone = digits(&zone, 4..=4)?;
            (zone / 100 * 3600 + zone % 100 * 60) * if *sign == b'-' { -1 } else { 1 }
        }
    };
    utc.checked_add_signed(-offset * SECOND as i64)
}

fn digits(text: &str, lengths: std::ops::RangeInclusive<usize>) -> Option<i64> {
    (lengths.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// Returns the days since 1 January 1970 in the Gregorian calendar. Years begin in March, so leap
/// days come last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let century = year.div_euclid(400);
    let year = year.rem_euclid(400);
    century * 146_097 + year * 365 + year / 4 - year / 100 + (month * 153 + 2) / 5 + day
        - 1
        - 719_468
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const SECOND: u64 = 1_000_000;
/// Ten years: longer than any log, and far from an overflow.
const FOREVER_S: u64 = 10 * 366 * 86_400;
/// Microseconds since 1970 of a moment in 2001. A log with larger times counts from 1970.
const EPOCH_LIKE: u64 = 1_000_000_000 * SECOND;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_of_a_date_are_one_moment() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(http_date(text), Some(784_111_777), "{text}");
        }
        assert_eq!(log_date("06/Nov/1994:09:49:37 +0100"), Some(784_111_777));
        assert_eq!(http_date("Thu, 29 Feb 2024 00:00:00 GMT"), Some(1_709_164_800));
        for junk in ["", "soon", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 99 Foo 1994 08:49:37 GMT"] {
            assert_eq!(http_date(junk), None, "{junk}");
        }
        assert_eq!(log_date("06/Nov/1994"), None);
        assert_eq!(day_and_time("1994-11-06", "08:49:37"), Some(784_111_777_000_000));
        for (text, micros) in [
            ("1994-11-06T09:49:37+01:00", 784_111_777_000_000),
            ("1994-11-06T08:49:37.25Z", 784_111_777_250_000),
        ] {
            assert_eq!(iso_date(text), Some(micros), "{text}");
        }
        for junk in ["", "1994-11-06", "1994-13-06T08:49:37Z", "1994-11-06T08:49Z", "aTb"] {
            assert_eq!(iso_date(junk), None, "{junk}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_against_the_servers_own() {
        assert_eq!(retry_after(" 120 ", None, 0), Some(120_000_000));
        assert_eq!(retry_after("0", None, 0), Some(0));
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:50:07 GMT", Some(date), 0), Some(30_000_000));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:00:00 GMT", Some(date), 0), Some(0));
        assert_eq!(retry_after(date, None, 0), None);
        for junk in ["", "-1", "1.5", "soon", "12 s"] {
            assert_eq!(retry_after(junk, None, 0), None, "{junk}");
        }
        assert!(retry_after("99999999999999999999999", None, 0) > Some(1));
    }

    #[test]
    fn cache_control_says_how_long_a_page_is_fresh() {
        assert_eq!(freshness("max-age=60"), Some(60_000_000));
        assert_eq!(freshness("public, Max-Age=\"60\", stale-while-revalidate=5"), Some(60_000_000));
        assert_eq!(freshness("max-age=60, no-cache"), Some(0));
        assert_eq!(freshness("max-age=soon"), Some(0));
        assert_eq!(freshness("public"), None);
    }
}
