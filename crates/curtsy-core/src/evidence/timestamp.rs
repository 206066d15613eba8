//! A moment as RFC 3339 has it, in UTC and with milliseconds.

use crate::time::Time;

/// The moment as `2024-01-01T00:00:00.000Z`.
///
/// What RFC 3339 can't write (a fifth digit of the year, [`Time::NEVER`]) is given as the last moment that it can.
///
/// ```
/// use curtsy_core::evidence::timestamp;
/// use curtsy_core::time::Time;
/// assert_eq!(timestamp(Time::from_micros(1_709_210_096_789_999)), "2024-02-29T12:34:56.789Z");
/// ```
pub fn timestamp(at: Time) -> String {
    let millis = (at.micros() / 1_000).min(END_OF_9999_MILLIS);
    let (days, in_day) = (millis / DAY_MILLIS, millis % DAY_MILLIS);
    let (year, month, day) = date(days);
    let (hour, minute) = (in_day / 3_600_000, in_day / 60_000 % 60);
    let (second, milli) = (in_day / 1_000 % 60, in_day % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// The moment of such a text, with any number of digits after the second.
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
        true => text.parse::<u64>().ok(),
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
    let days = days(year, month, day).filter(|days| date(*days) == (year, month, day))?;
    let seconds = (hour * 60 + minute) * 60 + second;
    Some(Time::from_micros(days * DAY_MILLIS * 1_000 + seconds * 1_000_000 + micros))
}

/// Year, month and day of a day since 1970-01-01, in the Gregorian calendar.
///
/// Counted in years that begin in March, so that the leap day is the last of its year and the months before it have a fixed pattern:
/// 153 days in every five.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + DAYS_TO_1970;
    let era = days / DAYS_IN_400_YEARS;
    let day_of_era = days % DAYS_IN_400_YEARS;
    // Takes the leap days out: one in four years, none in a hundred, one in four hundred.
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524
        - day_of_era / (DAYS_IN_400_YEARS - 1))
        / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

/// The day since 1970-01-01 that has a date, the other way round. A date that there is not gives another day.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = year.checked_sub(u64::from(month <= 2))?;
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day.checked_sub(1)?;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * DAYS_IN_400_YEARS + day_of_era).checked_sub(DAYS_TO_1970)
}

const DAY_MILLIS: u64 = 86_400_000;
const DAYS_IN_400_YEARS: u64 = 146_097;
/// From the first of March of the year 0 to 1970-01-01.
const DAYS_TO_1970: u64 = 719_468;
/// The last millisecond of the last year with four digits.
const END_OF_9999_MILLIS: u64 = 253_402_300_799_999;

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

    /// Every day of 8,000 years follows the one before as a calendar on the wall has it.
    #[test]
    fn every_day_follows_the_one_before() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..2_932_897 {
            assert_eq!(date(days), (year, month, day));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + u64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }
}
