//! Times as texts: RFC 3339 in UTC, with milliseconds or microseconds.
//!
//! All texts with the same number of decimals have the same length, so they sort as the times do.

use crate::calendar::{date_of, day_of};
use crate::time::Time;

/// Returns the time as `2024-01-01T00:00:00.000Z`.
///
/// RFC 3339 has no fifth digit for the year. Times after the year 9999 ([`Time::NEVER`]) become the
/// last time of that year.
///
/// ```
/// use curtsy_core::evidence::timestamp;
/// use curtsy_core::time::Time;
/// assert_eq!(timestamp(Time::from_micros(1_709_210_096_789_999)), "2024-02-29T12:34:56.789Z");
/// ```
pub fn timestamp(at: Time) -> String {
    text::<24>(at)
}

/// Returns the time as [`timestamp`] does, with microseconds.
///
/// ```
/// use curtsy_core::evidence::timestamp_micros;
/// use curtsy_core::time::Time;
/// let at = Time::from_micros(1_709_210_096_789_012);
/// assert_eq!(timestamp_micros(at), "2024-02-29T12:34:56.789012Z");
/// ```
pub fn timestamp_micros(at: Time) -> String {
    text::<27>(at)
}

/// Returns the text with this many bytes. Each row of a crawl has several, so the digits are
/// written without the machinery of `format!`.
fn text<const BYTES: usize>(at: Time) -> String {
    let micros = at.micros().min(END_OF_9999);
    let (days, in_day) = (micros / DAY, micros % DAY);
    let (year, month, day) = date_of(days.cast_signed());
    let second = in_day / SECOND;
    let mut out = *b"0000-00-00T00:00:00.000000Z";
    digits(&mut out[0..4], year.unsigned_abs());
    digits(&mut out[5..7], month.unsigned_abs());
    digits(&mut out[8..10], day.unsigned_abs());
    digits(&mut out[11..13], second / 3600);
    digits(&mut out[14..16], second / 60 % 60);
    digits(&mut out[17..19], second % 60);
    digits(&mut out[20..26], in_day % SECOND);
    out[BYTES - 1] = b'Z';
    String::from_utf8_lossy(&out[..BYTES]).into_owned()
}

fn digits(out: &mut [u8], mut number: u64) {
    for place in out.iter_mut().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Reads such a text, with at most nine decimals of the second.
///
/// ```
/// use curtsy_core::evidence::{read_timestamp, timestamp};
/// let text = "2024-02-29T12:34:56.789Z";
/// assert_eq!(timestamp(read_timestamp(text).unwrap()), text);
/// assert_eq!(read_timestamp("2024-02-30T12:34:56Z"), None);
/// ```
pub fn read_timestamp(text: &str) -> Option<Time> {
    let (day, time) = text.strip_suffix('Z')?.split_once('T')?;
    let number = |text: &str| match text.bytes().all(|b| b.is_ascii_digit()) && text.len() <= 4 {
        true => text.parse::<i64>().ok(),
        false => None,
    };
    let mut parts = day.splitn(3, '-').map(number);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut parts = time.splitn(3, ':').map(number);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    if hour > 23 || minute > 59 || second > 60 || fraction.len() > 9 {
        return None;
    }
    let mut micros = 0;
    for (place, byte) in fraction.bytes().enumerate() {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        micros += digit * (100_000 / 10_u64.pow(place as u32));
    }
    let days = u64::try_from(day_of(year, month, day)?).ok()?;
    let seconds = ((hour * 60 + minute) * 60 + second).unsigned_abs();
    Some(Time::from_micros(days * DAY + seconds * SECOND + micros))
}

const SECOND: u64 = 1_000_000;
const DAY: u64 = 86_400 * SECOND;
/// The last microsecond of the last year with four digits.
const END_OF_9999: u64 = 253_402_300_799_999_999;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(secs: u64, expected: &str) {
        assert_eq!(timestamp(Time::from_secs(secs)), expected);
    }

    #[test]
    fn ordinary_moments() {
        check(1_704_067_200, "2024-01-01T00:00:00.000Z");
        check(784_111_777, "1994-11-06T08:49:37.000Z");
        check(1_735_689_599, "2024-12-31T23:59:59.000Z");
    }

    #[test]
    fn leap_years() {
        check(951_782_399, "2000-02-28T23:59:59.000Z");
        check(951_782_400, "2000-02-29T00:00:00.000Z");
        check(951_868_800, "2000-03-01T00:00:00.000Z");
        check(1_709_164_800, "2024-02-29T00:00:00.000Z");
        check(1_677_628_800, "2023-03-01T00:00:00.000Z");
        check(4_107_456_000, "2100-02-28T00:00:00.000Z");
        check(4_107_542_400, "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn both_ends() {
        assert_eq!(timestamp(Time::START), "1970-01-01T00:00:00.000Z");
        check(253_402_300_799, "9999-12-31T23:59:59.000Z");
        assert_eq!(timestamp(Time::NEVER), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn every_moment_comes_back_and_is_written_as_the_evidence_writes_it() {
        for day in (0..2_932_897).step_by(13) {
            let at = Time::from_micros(day * DAY + (day * 7_919_123_457) % DAY);
            let written = timestamp_micros(at);
            assert_eq!(read_timestamp(&written), Some(at), "{written}");
            assert_eq!(format!("{}Z", &written[..23]), timestamp(at));
        }
    }

    #[test]
    fn both_ends_in_microseconds() {
        assert_eq!(timestamp_micros(Time::START), "1970-01-01T00:00:00.000001Z");
        assert_eq!(timestamp_micros(Time::NEVER), "9999-12-31T23:59:59.999999Z");
    }

    #[test]
    fn other_texts_are_no_moments() {
        for other in
            ["", "2024-02-29", "2024-13-01T00:00:00.000000Z", "abcd-01-01T00:00:00.000000Z"]
        {
            assert_eq!(read_timestamp(other), None, "{other}");
        }
    }
}
