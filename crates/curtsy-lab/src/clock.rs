//! The server's clock, and how late its loop runs.
//!
//! Times are microseconds since 1970, read from the monotonic clock and anchored to the wall once:
//! they never step.
//!
//! A test server must read within 20 ms, and has to know when it didn't. What a poll reports was
//! not there when the poll before it was entered, or that one had reported it. So a request that is
//! read at t had waited for less than t minus the entry of the poll before: this bound needs no
//! cooperation of the kernel, and holds however the thread was kept from running. Polls return
//! every 4 ms at the latest, so an idle server's bound is small.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Reads the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogClock {
    anchor: u64,
    since: Instant,
}

impl LogClock {
    pub(crate) fn new() -> LogClock {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        LogClock { anchor: wall.as_micros() as u64, since: Instant::now() }
    }

    pub(crate) fn now(&self) -> u64 {
        self.anchor + self.since.elapsed().as_micros() as u64
    }
}

/// When the server's own loop was too late to read in time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// How often.
    pub count: u64,
    /// The longest.
    pub longest: Duration,
    /// When, from and to, in the log's microseconds; the first 10,000.
    pub spans: Vec<(u64, u64)>,
    last: Option<(u64, u64)>,
}

impl Stalls {
    pub(crate) fn note(&mut self, from: u64, to: u64) {
        // The poll after a stall finds what came meanwhile: it is the same stall.
        let from = match self.last {
            Some((begun, ended)) if from <= ended => begun,
            _ => {
                self.count += 1;
                from
            }
        };
        self.last = Some((from, to));
        self.longest = self.longest.max(Duration::from_micros(to - from));
        if let Some(span) = self.spans.last_mut().filter(|span| span.0 == from) {
            span.1 = to;
        } else if self.spans.len() < SPANS_MAX {
            self.spans.push((from, to));
        }
    }
}

/// Keeps the bound on how long something can have been waiting unread.
pub(crate) struct Lateness {
    entered: u64,
    /// What is reported now can't have been there before this time.
    pub(crate) unread_since: u64,
    pub(crate) stalls: Stalls,
}

impl Lateness {
    pub(crate) fn new(now: u64) -> Lateness {
        Lateness { entered: now, unread_since: now, stalls: Stalls::default() }
    }

    /// A poll was entered and has returned; `before_was_whole` if the one before it had room to
    /// report everything.
    pub(crate) fn polled(&mut self, entered: u64, now: u64, before_was_whole: bool) {
        if before_was_whole {
            self.unread_since = self.entered;
        }
        self.entered = entered;
        if now.saturating_sub(self.unread_since) > READ_WITHIN {
            self.stalls.note(self.unread_since, now);
        }
    }
}

/// How long a request may lie unread, in microseconds.
pub(crate) const READ_WITHIN: u64 = 20_000;
/// A poll returns after this time at the latest.
pub(crate) const TICK: Duration = Duration::from_millis(4);
const SPANS_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_lateness_counts_from_the_entry_of_the_poll_before() {
        let mut lateness = Lateness::new(0);
        lateness.polled(1_000, 5_000, true);
        assert_eq!(lateness.unread_since, 0);
        lateness.polled(5_100, 9_000, true);
        assert_eq!((lateness.unread_since, lateness.stalls.count), (1_000, 0));
        // The thread was not run for 40 ms, inside the poll or after it.
        lateness.polled(9_100, 49_000, true);
        assert_eq!((lateness.unread_since, lateness.stalls.count), (5_100, 1));
        // The first poll after it still may find what came meanwhile.
        lateness.polled(49_100, 49_200, true);
        assert_eq!((lateness.unread_since, lateness.stalls.count), (9_100, 1));
        assert_eq!(lateness.stalls.spans, [(5_100, 49_200)]);
        // A poll that could not report everything proves nothing.
        lateness.polled(49_300, 49_400, false);
        assert_eq!(lateness.unread_since, 9_100);
    }
}
