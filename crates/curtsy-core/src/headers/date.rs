//! Reads dates in headers as they are sent, not only as they should be.
//!
//! RFC 9110 §5.6.7 has three forms. [`http_date`] reads them and the usual near misses (one digit,
//! `UTC`, no zone, a wrong weekday, lower case, dashes). [`any_date`] is for texts that people
//! write (`unavailable_after`): it reads American zones and ISO 8601 too.

use crate::calendar::{date_of, day_of, month_named};

/// Reads an HTTP date. `now` (Unix seconds) determines the century of a year with two digits.
///
/// The zone may be GMT, UTC, missing, or an offset in digits. Another name is refused.
///
/// ```
/// use curtsy_core::headers::http_date;
/// let now = 1_715_000_000;
/// assert_eq!(http_date("Sun, 06 Nov 1994 08:49:37 GMT", now), Some(784_111_777));
/// assert_eq!(http_date("Sunday, 06-Nov-94 08:49:37 GMT", now), Some(784_111_777));
/// assert_eq!(http_date("Sun Nov  6 08:49:37 1994", now), Some(784_111_777));
/// assert_eq!(http_date("yesterday", now), None);
/// ```
pub fn http_date(text: &str, now: i64) -> Option<i64> {
    let moment = read(text, now)?;
    let offset = match moment.zone {
        Zone::Offset(seconds) => seconds,
        Zone::None => 0,
        Zone::Named(_) => return None,
    };
    moment.time.map(|time| moment.day + time - offset)
}

/// Reads a date as people write it: an HTTP date, one with an American zone (RFC 5322 §4.3), one
/// without a time, or ISO 8601.
pub fn any_date(text: &str, now: i64) -> Option<i64> {
    let moment = read(text, now).or_else(|| read_iso(text))?;
    let offset = match moment.zone {
        Zone::Offset(seconds) | Zone::Named(seconds) => seconds,
        Zone::None => 0,
    };
    Some(moment.day + moment.time.unwrap_or(0) - offset)
}

struct ParsedDate {
    /// Unix seconds at the start of the day.
    day: i64,
    /// Seconds since then.
    time: Option<i64>,
    zone: Zone,
}

#[derive(Clone, Copy)]
enum Zone {
    None,
    /// GMT, or digits.
    Offset(i64),
    /// A name that means this offset in America.
    Named(i64),
}

/// Reads `[weekday] day month year [time [zone]]` and `weekday month day time year`.
fn read(text: &str, now: i64) -> Option<ParsedDate> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let mut words = text.split([' ', '\t', ',']).filter(|word| !word.is_empty()).peekable();
    words.next_if(|word| is_weekday(word));
    let first = words.next()?;
    // asctime has the month first and the year last.
    if let Some(month) = month_named(first) {
        let day = number(words.next()?, 1..=2)?;
        let time = time(words.next()?)?;
        let year = words.next()?;
        let day = unix_day(number(year, 4..=4)?, month, day)?;
        return words.next().is_none().then_some(ParsedDate {
            day,
            time: Some(time),
            zone: Zone::None,
        });
    }
    let mut dashed = first.split('-');
    let (day, month_name, year) = match (dashed.next()?, dashed.next(), dashed.next()) {
        (day, Some(month), Some(year)) if dashed.next().is_none() => (day, month, year),
        (day, None, _) => (day, words.next()?, words.next()?),
        _ => return None,
    };
    let (day, month) = (number(day, 1..=2)?, month_named(month_name)?);
    let time = words.next().map_or(Some(None), |word| time(word).map(Some))?;
    let zone = words.next().map_or(Some(Zone::None), zone)?;
    if words.next().is_some() {
        return None;
    }
    let day = match year.len() {
        4 => unix_day(number(year, 4..=4)?, month, day)?,
        2 => {
            let nearest = nearest_year(number(year, 2..=2)?, month, day, time.unwrap_or(0), now)?;
            unix_day(nearest, month, day)?
        }
        _ => return None,
    };
    Some(ParsedDate { day, time, zone })
}

/// Returns the year with these last two digits that is not more than 50 years ahead (RFC 9110
/// §5.6.7), and not more than 50 behind.
fn nearest_year(digits: i64, month: i64, day: i64, time: i64, now: i64) -> Option<i64> {
    let now = now.clamp(0, END_OF_9999);
    let (this_year, this_month, this_day) = date_of(now.div_euclid(DAY));
    // In 50 years a 29 February may be the first of March.
    let start = unix_day(this_year + 50, this_month, this_day)
        .or_else(|| unix_day(this_year + 50, 3, 1))?;
    let horizon = start + now.rem_euclid(DAY);
    let century = this_year.div_euclid(100) * 100;
    // A leap day may exist in one century only, so each year is tried as a whole date.
    [century + 100, century, century - 100]
        .map(|century| century + digits)
        .into_iter()
        .find(|&year| unix_day(year, month, day).is_some_and(|start| start + time <= horizon))
}

/// Reads `2010-06-25`, `2010-06-25T15:00:00Z`, `2010-06-25 15:00+02:00`.
fn read_iso(text: &str) -> Option<ParsedDate> {
    let text = text.trim();
    if text.len() > TEXT_BYTES_MAX || !text.is_ascii() {
        return None;
    }
    let (date, rest) = text.split_at_checked(10)?;
    let [year, month, day] = date.split('-').collect::<Vec<_>>()[..] else { return None };
    let day = unix_day(number(year, 4..=4)?, number(month, 2..=2)?, number(day, 2..=2)?)?;
    if rest.is_empty() {
        return Some(ParsedDate { day, time: None, zone: Zone::None });
    }
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let end =
        rest.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(rest.len());
    let (clock, name) = rest.split_at(end);
    let clock = clock.split_once('.').map_or(clock, |(whole, _)| whole);
    let clock =
        if clock.matches(':').count() == 1 { format!("{clock}:00") } else { clock.to_owned() };
    let zone = match name.trim() {
        "" => Zone::None,
        name => zone(&name.replace(':', ""))?,
    };
    Some(ParsedDate { day, time: Some(time(&clock)?), zone })
}

/// Reads `H:MM:SS`. Second 60 is in the grammar.
fn time(word: &str) -> Option<i64> {
    let mut parts = word.split(':');
    let hour = number(parts.next()?, 1..=2)?;
    let (minute, second) = (number(parts.next()?, 2..=2)?, number(parts.next()?, 2..=2)?);
    if parts.next().is_some() {
        return None;
    }
    (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
}

fn zone(word: &str) -> Option<Zone> {
    if let Some(digits) = word.strip_prefix(['+', '-']) {
        let offset = number(digits, 4..=4)?;
        let seconds = offset / 100 * 3600 + offset % 100 * 60;
        return Some(Zone::Offset(if word.starts_with('-') { -seconds } else { seconds }));
    }
    if word.eq_ignore_ascii_case("GMT") {
        return Some(Zone::Offset(0));
    }
    Some(match word.to_ascii_uppercase().as_str() {
        "UTC" | "UT" | "Z" => Zone::Offset(0),
        "EDT" => Zone::Named(-4 * 3600),
        "EST" | "CDT" => Zone::Named(-5 * 3600),
        "CST" | "MDT" => Zone::Named(-6 * 3600),
        "MST" | "PDT" => Zone::Named(-7 * 3600),
        "PST" => Zone::Named(-8 * 3600),
        _ => return None,
    })
}

fn is_weekday(word: &str) -> bool {
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
        .iter()
        .any(|day| word.eq_ignore_ascii_case(day) || word.eq_ignore_ascii_case(&day[..3]))
}

fn number(word: &str, digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
    // `i64::from_str` would accept a sign.
    (digits.contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit()))
        .then(|| word.parse().ok())
        .flatten()
}

/// Returns the Unix seconds at the start of a day, or `None` if there is no such date.
fn unix_day(year: i64, month: i64, day: i64) -> Option<i64> {
    Some(day_of(year, month, day)? * DAY)
}

const DAY: i64 = 86_400;
/// The last second of the last year that has four digits.
const END_OF_9999: i64 = 253_402_300_799;
/// The longest text that is read.
const TEXT_BYTES_MAX: usize = 64;
