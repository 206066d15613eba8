//! The monotonic clock of a worker, shared by its engine and its lines.
//!
//! A permit's deadline is a moment of the worker's clock, and the socket's first write compares it with that same clock: there is one.
//! Sleeping rides on tokio's timers. Those tick in milliseconds and round up, so a sleep ends late by one to two milliseconds and, by
//! the check after it, never early: an early start would be a breach, two milliseconds are four percent of what lateness may cost.

use std::time::{Duration, Instant};

use curtsy_engine::{Clock, Mono};

/// A worker's clock: microseconds since it was made. Copies tell the same time.
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    start: Instant,
}

impl TokioClock {
    /// A clock that starts now.
    #[expect(clippy::new_without_default, reason = "a clock begins at a moment, not by default")]
    pub fn new() -> TokioClock {
        TokioClock { start: Instant::now() }
    }

    /// The instant of a moment of this clock, for tokio's timers.
    pub(crate) fn instant(&self, at: Mono) -> tokio::time::Instant {
        let farthest = Duration::from_secs(60 * 60 * 24 * 365);
        let span = Duration::from_micros(at.0).min(self.start.elapsed() + farthest);
        tokio::time::Instant::from_std(self.start + span)
    }
}

impl Clock for TokioClock {
    fn mono(&self) -> Mono {
        Mono(u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    async fn sleep_until(&self, until: Mono) {
        // `mono` rounds down, so the moment it shows has truly come.
        while self.mono() < until {
            tokio::time::sleep_until(self.instant(until)).await;
        }
    }
}
