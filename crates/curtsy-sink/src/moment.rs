//! Moments as text that any SQL tool reads: `2024-02-29T12:34:56.789012Z`, ISO 8601 in UTC, always as long.
//!
//! The same length for all makes their order that of the text, and nothing is lost of a microsecond.

use curtsy_core::time::Time;

/// The text of a moment. What comes after the year 9999 is given as its last second.
pub(crate) fn text(at: Time) -> String {
    let micros = at.micros().min(END_OF_9999);
    let (days, in_day) = (micros / DAY, micros % DAY);
    let (year, month, day) = date(days);
    let second = in_day / SECOND;
    let mut out = [b'0'; 27];
    digits(&mut out[0..4], year);
    out[4] = b'-';
    digits(&mut out[5..7], month);
    out[7] = b'-';
    digits(&mut out[8..10], day);
    out[10] = b'T';
    digits(&mut out[11..13], second / 3600);
    out[13] = b':';
    digits(&mut out[14..16], second / 60 % 60);
    out[16] = b':';
    digits(&mut out[17..19], second % 60);
    out[19] = b'.';
    digits(&mut out[20..26], in_day % SECOND);
    out[26] = b'Z';
    String::from_utf8_lossy(&out).into_owned()
}

/// The moment of a text that [`text`] wrote.
pub(crate) fn read(text: &str) -> Option<Time> {
    let bytes = text.as_bytes();
    if bytes.len() != 27 || bytes[10] != b'T' || bytes[26] != b'Z' {
        return None;
    }
    let number = |from: usize, to: usize| {
        bytes[from..to].iter().try_fold(0_u64, |sum, byte| {
            byte.is_ascii_digit().then(|| sum * 10 + u64::from(byte - b'0'))
        })
    };
    let days = days(number(0, 4)?, number(5, 7)?, number(8, 10)?)?;
    let seconds = (number(11, 13)? * 60 + number(14, 16)?) * 60 + number(17, 19)?;
    Some(Time::from_micros(days * DAY + seconds * SECOND + number(20, 26)?))
}

fn digits(out: &mut [u8], mut number: u64) {
    for place in out.iter_mut().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Year, month and day of a day since 1970, counted in years that begin in March: the leap day is then the last of its year.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + TO_1970;
    let (era, day) = (days / ERA, days % ERA);
    let year = (day - day / 1460 + day / 36_524 - day / (ERA - 1)) / 365;
    let in_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let day = in_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

/// The day since 1970 of a date, if it is one and not before.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = year.checked_sub(u64::from(month <= 2))?;
    let (era, in_era) = (year / 400, year % 400);
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let in_year = (153 * from_march + 2) / 5 + day - 1;
    (era * ERA + in_era * 365 + in_era / 4 - in_era / 100 + in_year).checked_sub(TO_1970)
}

const SECOND: u64 = 1_000_000;
const DAY: u64 = 86_400 * SECOND;
/// Days in 400 years.
const ERA: u64 = 146_097;
/// From the first of March of the year 0 to 1970-01-01.
const TO_1970: u64 = 719_468;
const END_OF_9999: u64 = 253_402_300_799_999_999;

#[cfg(test)]
mod tests {
    use curtsy_core::evidence::timestamp;

    use super::*;

    #[test]
    fn every_moment_comes_back_and_is_written_as_the_evidence_writes_it() {
        for day in (0..2_932_897).step_by(13) {
            let at = Time::from_micros(day * DAY + (day * 7_919_123_457) % DAY);
            let written = text(at);
            assert_eq!(read(&written), Some(at), "{written}");
            assert_eq!(format!("{}Z", &written[..23]), timestamp(at));
        }
    }

    #[test]
    fn both_ends() {
        assert_eq!(text(Time::START), "1970-01-01T00:00:00.000001Z");
        assert_eq!(text(Time::NEVER), "9999-12-31T23:59:59.999999Z");
    }

    #[test]
    fn other_texts_are_no_moments() {
        for other in
            ["", "2024-02-29", "2024-13-01T00:00:00.000000Z", "abcd-01-01T00:00:00.000000Z"]
        {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
