//! Reads `Retry-After` (RFC 9110 §10.2.3).

use std::time::Duration;

use super::{OWS, http_date};
use crate::time::Time;

/// Returns the wait that a server demands, or `None` if no line is readable.
///
/// A date is compared with the server's own `date` if that is known, else with `now`. A date in the
/// past is no wait. Of several lines the longest wait counts. A number that is too large for any
/// clock becomes the longest span; it is never shortened here.
///
/// ```
/// use curtsy_core::{headers::retry_after, time::Time};
/// use std::time::Duration;
/// let now = Time::from_secs(1_715_000_000); // Mon, 06 May 2024 12:53:20 GMT
/// assert_eq!(retry_after(["120"], None, now), Some(Duration::from_secs(120)));
/// assert_eq!(retry_after(["Mon, 06 May 2024 12:54:20 GMT"], None, now), Some(Duration::from_secs(60)));
/// // A server whose clock is an hour late means the same minute.
/// let date = Some(1_715_000_000 - 3600);
/// assert_eq!(retry_after(["Mon, 06 May 2024 11:54:20 GMT"], date, now), Some(Duration::from_secs(60)));
/// assert_eq!(retry_after(["soon"], None, now), None);
/// ```
pub fn retry_after<'a>(
    lines: impl IntoIterator<Item = &'a str>,
    date: Option<i64>,
    now: Time,
) -> Option<Duration> {
    let now = i64::try_from(now.secs()).unwrap_or(i64::MAX);
    lines.into_iter().take(LINES_MAX).filter_map(|line| one(line, date, now)).max()
}

fn one(line: &str, date: Option<i64>, now: i64) -> Option<Duration> {
    let line = line.trim_matches(OWS);
    if !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit()) {
        return Some(Duration::from_secs(line.parse().unwrap_or(u64::MAX)));
    }
    let until = http_date(line, now)?;
    let wait = until.saturating_sub(date.unwrap_or(now));
    Some(Duration::from_secs(u64::try_from(wait).unwrap_or(0)))
}

/// Limit of the lines that are read.
pub(crate) const LINES_MAX: usize = 16;
