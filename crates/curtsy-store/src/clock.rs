//! The store's time, without the steps of a server's clock.
//!
//! A worker's monotonic clock bounds how much time can have passed between two answers. If the
//! server's clock is off by more than a second, the worker knows whether its request was slow or
//! the clock stepped. It corrects a step before the next request, in Redis as in Postgres. So the
//! store's clock never runs faster than the workers' own.

use curtsy_core::time::{Time, micros};
use curtsy_engine::Mono;
use curtsy_engine::check::CLOCK_STEP;

/// A reading of the store's time: it was `now` at some moment between `m0` and `m1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockReading {
    pub(crate) now: Time,
    pub(crate) steps: u64,
    pub(crate) m0: Mono,
    pub(crate) m1: Mono,
}

/// Why a clock shows another time than expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Off {
    /// The request took long.
    Slow,
    /// The clock stepped. Adding this many microseconds corrects it.
    Stepped(i64),
}

impl ClockReading {
    /// Returns the earliest possible store time at `m0`, when a request leaves.
    pub(crate) fn expected(&self, m0: Mono) -> Time {
        self.now + (m0 - self.m1)
    }

    /// Returns whether a clock that showed `now` between `m0` and `m1` has stepped.
    pub(crate) fn judge(&self, now: Time, m0: Mono, m1: Mono) -> Off {
        let (least, most) = (self.expected(m0), self.now + (m1 - self.m0));
        if now + CLOCK_STEP < least {
            Off::Stepped(micros(least - now) as i64)
        } else if now > most + CLOCK_STEP {
            Off::Stepped(-(micros(now - least) as i64))
        } else {
            Off::Slow
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Mono {
        Mono(secs * 1_000_000)
    }

    #[test]
    fn a_slow_question_is_no_step() {
        let known = ClockReading { now: Time::from_secs(100), steps: 0, m0: at(10), m1: at(10) };
        assert_eq!(known.expected(at(15)), Time::from_secs(105));
        assert_eq!(known.judge(Time::from_secs(112), at(15), at(22)), Off::Slow);
        assert_eq!(known.judge(Time::from_secs(112), at(15), at(15)), Off::Stepped(-7_000_000));
        assert_eq!(known.judge(Time::from_secs(60), at(15), at(22)), Off::Stepped(45_000_000));
    }
}
