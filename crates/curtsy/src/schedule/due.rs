//! When is a seed due? Pure functions of its last moment and the time.
//!
//! A seed with a span is due at once, then whenever the span has passed since it was last queued. A
//! seed with a cron line is due at the line's moments (UTC) from the time at which the scheduler
//! first read it. If several moments passed unseen, only the latest is queued.

use std::time::Duration;

use chrono::{DateTime, Utc};
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use curtsy_core::time::Time;

/// When a seed is queued.
#[derive(Clone, Debug)]
pub enum When {
    /// This long after it was last queued.
    Every(Duration),
    /// At the moments of a cron line.
    Cron(CronLine),
}

/// What is to be done with a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedDue {
    /// It is queued, for this moment.
    Now(Time),
    /// Its first moment is still to come; from now on it counts.
    FromNow,
    /// Nothing before this.
    Later(Time),
}

impl When {
    /// What is to be done with a seed that was last queued, or first heard of, for `last`.
    pub fn due(&self, last: Option<Time>, now: Time) -> SeedDue {
        match (self, last) {
            (When::Every(_), None) => SeedDue::Now(now),
            (When::Cron(_), None) => SeedDue::FromNow,
            // The clock was ahead. It would be long until it is there again.
            (_, Some(last)) if last > now => SeedDue::FromNow,
            (When::Every(span), Some(last)) if last + *span <= now => SeedDue::Now(now),
            (When::Cron(line), Some(last)) => match line.at_or_before(now) {
                Some(moment) if moment > last => SeedDue::Now(moment),
                _ => SeedDue::Later(self.next(last, now)),
            },
            (When::Every(_), Some(last)) => SeedDue::Later(self.next(last, now)),
        }
    }

    /// The first moment after `now` of a seed whose last is `last`.
    pub fn next(&self, last: Time, now: Time) -> Time {
        match self {
            When::Every(span) => last + *span,
            When::Cron(line) => line.after(now).unwrap_or(Time::NEVER),
        }
    }
}

/// Five fields: minute, hour, day of the month, month, day of the week. If both days are given,
/// either matches (POSIX, crontab).
#[derive(Clone, Debug)]
pub struct CronLine(Cron);

/// Why a cron line is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// It has another number of fields.
    #[error("has {0} fields")]
    Fields(usize),
    /// A field can't be read.
    #[error("{0}")]
    Field(String),
    /// No day is like that.
    #[error("never comes")]
    Never,
}

impl CronLine {
    /// Reads a line.
    pub fn parse(text: &str) -> Result<CronLine, CronError> {
        let fields = text.split_whitespace().count();
        if fields != 5 {
            return Err(CronError::Fields(fields));
        }
        let parser =
            CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron = parser.parse(text).map_err(|error| CronError::Field(in_our_style(error)))?;
        let line = CronLine(cron);
        line.after(LOOKED_FROM).map(|_| line).ok_or(CronError::Never)
    }

    /// Its last moment up to `now`.
    fn at_or_before(&self, now: Time) -> Option<Time> {
        time(&self.0.find_previous_occurrence(&date(now)?, true).ok()?)
    }

    /// Its first moment after `now`.
    fn after(&self, now: Time) -> Option<Time> {
        time(&self.0.find_next_occurrence(&date(now)?, false).ok()?)
    }
}

/// What the reader of cron lines says, as our messages are written.
fn in_our_style(error: croner::errors::CronError) -> String {
    use croner::errors::CronError as Said;
    let said = match error {
        Said::ComponentError(said) | Said::InvalidPattern(said) | Said::IllegalCharacters(said) => {
            said
        }
        other => other.to_string(),
    };
    said.trim_end_matches('.').to_lowercase()
}

fn date(at: Time) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(i64::try_from(at.secs()).ok()?, 0)
}

fn time(date: &DateTime<Utc>) -> Option<Time> {
    u64::try_from(date.timestamp()).ok().map(Time::from_secs)
}

/// A line that has no moment after this never has one: 2026-01-01.
const LOOKED_FROM: Time = Time::from_secs(1_767_225_600);

#[cfg(test)]
mod tests {
    use super::*;
    use curtsy_core::evidence::timestamp;

    fn at(text: &str) -> Time {
        let date: DateTime<Utc> = format!("{text}:00Z").parse().unwrap();
        time(&date).unwrap()
    }

    fn when(text: &str) -> When {
        match curtsy_core::policy::read_span(text) {
            Some(span) => When::Every(span),
            None => When::Cron(CronLine::parse(text).unwrap()),
        }
    }

    #[track_caller]
    fn check(line: &str, last: &str, now: &str, expected: &str) {
        let last = (last != "new").then(|| at(last));
        let short = |at: Time| timestamp(at)[..16].to_owned();
        let said = match when(line).due(last, at(now)) {
            SeedDue::Now(moment) => format!("now for {}", short(moment)),
            SeedDue::FromNow => "from now".to_owned(),
            SeedDue::Later(next) => format!("at {}", short(next)),
        };
        assert_eq!(said, expected, "{line}");
    }

    #[test]
    fn a_new_seed_with_a_span_is_due_at_once_and_then_when_it_is_over() {
        check("6h", "new", "2026-03-01T10:00", "now for 2026-03-01T10:00");
        check("6h", "2026-03-01T10:00", "2026-03-01T15:59", "at 2026-03-01T16:00");
        check("6h", "2026-03-01T10:00", "2026-03-01T16:00", "now for 2026-03-01T16:00");
    }

    #[test]
    fn a_new_seed_with_a_cron_line_is_due_at_its_next_moment() {
        check("0 */6 * * *", "new", "2026-03-01T12:00", "from now");
        check("0 */6 * * *", "2026-03-01T12:00", "2026-03-01T12:00", "at 2026-03-01T18:00");
        check("0 */6 * * *", "2026-03-01T12:00", "2026-03-01T17:59", "at 2026-03-01T18:00");
        check("0 */6 * * *", "2026-03-01T12:00", "2026-03-01T18:00", "now for 2026-03-01T18:00");
    }

    #[test]
    fn moments_that_were_missed_come_once() {
        check("1h", "2026-03-01T10:00", "2026-03-09T16:20", "now for 2026-03-09T16:20");
        check("1h", "2026-03-09T16:20", "2026-03-09T16:21", "at 2026-03-09T17:20");
        check("15 3 * * *", "2026-03-01T03:15", "2026-03-09T16:20", "now for 2026-03-09T03:15");
        check("15 3 * * *", "2026-03-09T03:15", "2026-03-09T16:20", "at 2026-03-10T03:15");
    }

    #[test]
    fn a_moment_that_is_a_little_late_is_the_same_moment() {
        check("15 3 * * *", "2026-03-08T03:15", "2026-03-09T03:16", "now for 2026-03-09T03:15");
        check("15 3 * * *", "2026-03-09T03:15", "2026-03-09T03:16", "at 2026-03-10T03:15");
    }

    #[test]
    fn leap_days() {
        check("0 0 29 2 *", "2026-01-01T00:00", "2026-06-01T00:00", "at 2028-02-29T00:00");
        check("0 0 29 2 *", "2026-01-01T00:00", "2028-02-29T00:00", "now for 2028-02-29T00:00");
        check("0 0 29 2 *", "2028-02-29T00:00", "2028-02-29T00:01", "at 2032-02-29T00:00");
        check("30 23 * * *", "2028-02-28T23:30", "2028-02-29T00:00", "at 2028-02-29T23:30");
        check("1d", "2028-02-28T12:00", "2028-02-28T13:00", "at 2028-02-29T12:00");
        check("0 0 29 2 *", "2096-02-29T00:00", "2096-03-01T00:00", "at 2104-02-29T00:00");
    }

    #[test]
    fn ends_of_months() {
        check("0 12 31 * *", "2026-01-31T12:00", "2026-01-31T12:00", "at 2026-03-31T12:00");
        check("0 12 31 * *", "2026-03-31T12:00", "2026-04-30T12:00", "at 2026-05-31T12:00");
        check("0 12 L * *", "2026-01-31T12:00", "2026-02-01T00:00", "at 2026-02-28T12:00");
        check("59 23 31 12 *", "2026-01-01T00:00", "2026-12-31T23:58", "at 2026-12-31T23:59");
        check("0 0 1 * *", "2026-12-01T00:00", "2026-12-31T23:59", "at 2027-01-01T00:00");
    }

    #[test]
    fn days_of_the_week_and_of_the_month_as_crontab_has_them() {
        // 2026-03-01 is a Sunday, which is 0 and 7.
        check("0 9 * * 1-5", "2026-02-27T09:00", "2026-02-27T09:01", "at 2026-03-02T09:00");
        check("0 9 * * 0", "2026-02-27T09:00", "2026-02-27T09:01", "at 2026-03-01T09:00");
        check("0 9 * * 7", "2026-02-27T09:00", "2026-02-27T09:01", "at 2026-03-01T09:00");
        check("0 9 * * mon", "2026-02-27T09:00", "2026-02-27T09:01", "at 2026-03-02T09:00");
        // Either will do.
        check("0 9 3 * 0", "2026-02-27T09:00", "2026-03-01T10:00", "now for 2026-03-01T09:00");
        check("0 9 3 * 0", "2026-03-01T09:00", "2026-03-01T10:00", "at 2026-03-03T09:00");
    }

    #[test]
    fn a_clock_that_was_ahead_does_not_keep_a_seed_waiting() {
        check("1h", "2099-01-01T00:00", "2026-03-01T10:00", "from now");
        check("0 * * * *", "2099-01-01T00:00", "2026-03-01T10:00", "from now");
    }

    #[test]
    fn lines_that_are_none() {
        let error = |text: &str| CronLine::parse(text).unwrap_err();
        assert_eq!(error("* * * *"), CronError::Fields(4));
        assert_eq!(error("0 0 * * * *"), CronError::Fields(6));
        assert_eq!(error("@daily"), CronError::Fields(1));
        assert_eq!(error(""), CronError::Fields(0));
        assert_eq!(error("0 0 30 2 *"), CronError::Never);
        for text in
            ["60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "a b c d e"]
        {
            assert!(matches!(error(text), CronError::Field(_)), "{text}");
        }
    }
}
