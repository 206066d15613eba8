//! The Gregorian calendar: dates and the days since 1970-01-01.
//!
//! Every date in the program is converted here. Only the judge has a calendar of its own, because
//! it checks the engine and shares no code with it.
//!
//! Both functions count years from March. The leap day is then the last day of its year, and the
//! months before it have a fixed pattern: 153 days in every five months.

/// Returns year, month (1 to 12) and day (1 to 31) of a day since 1970-01-01.
///
/// ```
/// use curtsy_core::calendar::{date_of, day_of};
/// assert_eq!(date_of(19_782), (2024, 2, 29));
/// assert_eq!(day_of(2024, 2, 29), Some(19_782));
/// assert_eq!(day_of(2023, 2, 29), None);
/// ```
pub fn date_of(day: i64) -> (i64, i64, i64) {
    let day = day + DAYS_TO_1970;
    let (era, day_of_era) = (day.div_euclid(DAYS_IN_400_YEARS), day.rem_euclid(DAYS_IN_400_YEARS));
    // Takes the leap days out: one in four years, none in a hundred, one in four hundred.
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524
        - day_of_era / (DAYS_IN_400_YEARS - 1))
        / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// Returns the day since 1970-01-01 of a date, or `None` if the calendar has no such date. The year
/// must have at most 12 digits.
pub fn day_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    let year = year - i64::from(month <= 2);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(year * 365 + leap_days + day_of_year - DAYS_TO_1970)
}

/// Returns the number of a month by its English name or the first three letters of it, in any case.
pub fn month_named(word: &str) -> Option<i64> {
    const MONTHS: &str = "january february march april may june july august september october \
        november december";
    let is = |name: &str| word.eq_ignore_ascii_case(name) || word.eq_ignore_ascii_case(&name[..3]);
    MONTHS.split(' ').position(is).map(|index| index as i64 + 1)
}

const DAYS_IN_400_YEARS: i64 = 146_097;
/// From the first of March of the year 0 to 1970-01-01.
const DAYS_TO_1970: i64 = 719_468;

#[cfg(test)]
mod tests {
    use super::*;

    /// Every day from the year 0 to the year 9999 follows the one before, as on a wall calendar.
    #[test]
    fn every_day_follows_the_one_before() {
        let (mut year, mut month, mut day) = (0, 1, 1);
        for days in -719_528..2_932_897 {
            assert_eq!(date_of(days), (year, month, day));
            assert_eq!(day_of(year, month, day), Some(days));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + i64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            assert_eq!(day_of(year, month, length + 1), None);
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!((year, month, day), (10_000, 1, 1));
    }
}
