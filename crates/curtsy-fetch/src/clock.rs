//! The monotonic clock of a worker, shared by its engine and its lines.
//!
//! A permit's deadline is a time of this clock, and the socket's first write compares it with the
//! same clock. Sleeps use tokio's timers, which tick in milliseconds and are one to two
//! milliseconds late. The last part of a sleep therefore uses a timer of the system (`timerfd` on
//! Linux), which is ten times as exact and does not spin. The clock is checked after each sleep, so
//! a sleep never ends early.

#[cfg(target_os = "linux")]
use std::io;
use std::time::{Duration, Instant};

use curtsy_engine::{Clock, Mono};
#[cfg(target_os = "linux")]
use tokio::io::{Interest, unix::AsyncFd};

/// A worker's clock: microseconds since its creation. Copies show the same time.
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    start: Instant,
}

impl TokioClock {
    /// Starts a clock.
    #[expect(clippy::new_without_default, reason = "a clock begins at a moment, not by default")]
    pub fn new() -> TokioClock {
        TokioClock { start: Instant::now() }
    }

    /// Converts a time of this clock for tokio's timers.
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
        // `mono` rounds down, so the time has really come.
        while self.mono() < until {
            let left = until - self.mono();
            if left > FINE_MAX {
                let most = Mono(until.0 - COARSE.as_micros() as u64);
                tokio::time::sleep_until(self.instant(most)).await;
            } else if fine_sleep(left).await.is_err() {
                // Without a descriptor the sleep only ends late.
                tokio::time::sleep_until(self.instant(until)).await;
            }
        }
    }
}

/// Sleeps for a short time on a timer of the system.
#[cfg(target_os = "linux")]
#[expect(
    deprecated,
    reason = "what came instead is unsafe code for types that lend their descriptor; this one owns it"
)]
async fn fine_sleep(span: Duration) -> io::Result<()> {
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    // Zero would switch the timer off.
    let nanos = span.max(Duration::from_nanos(1)).subsec_nanos();
    let value = Timespec { tv_sec: span.as_secs() as i64, tv_nsec: nanos.into() };
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
    let once = Itimerspec { it_interval: zero, it_value: value };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &once)?;
    let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
    timer.readable().await.map(|_| ())
}

#[cfg(not(target_os = "linux"))]
async fn fine_sleep(_: Duration) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Shorter sleeps use only the system's timer: one wake-up instead of two. Longer ones would hold a
/// descriptor for too long.
const FINE_MAX: Duration = Duration::from_millis(20);
/// The largest delay of tokio's timers.
const COARSE: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::run;

    #[test]
    fn a_sleeper_never_wakes_early() {
        run(async {
            let clock = TokioClock::new();
            for span in [0, 1, 50, 999, 1_000, 1_500, 2_001, 3_333, 25_000] {
                let until = clock.mono() + Duration::from_micros(span);
                clock.sleep_until(until).await;
                assert!(clock.mono() >= until, "{span} us");
            }
        });
    }
}
