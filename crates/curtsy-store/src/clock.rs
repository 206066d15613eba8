//! The store's time, with the steps of a server's own clock taken out.
//!
//! A worker's monotonic clock bounds how much time can have passed between two answers. Whoever finds the server's clock more than a second off
//! knows whether its question was long on its way, or whether the clock stepped, and has the step taken out before it asks again: in Redis
//! as in Postgres. So the store's clock never runs faster than the workers' own.

use std::time::Duration;

use curtsy_core::time::{Time, micros};
use curtsy_engine::Mono;

/// A gain below this is drift, not a step. The scripts of Redis have the same number.
pub(crate) const STEP: Duration = Duration::from_secs(1);

/// What a worker knows of the store's time: `now` was somewhere between `m0` and `m1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) now: Time,
    pub(crate) steps: u64,
    pub(crate) m0: Mono,
    pub(crate) m1: Mono,
}

/// What a clock that shows another time than expected has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Off {
    /// The question was long on its way.
    Slow,
    /// The clock stepped: this many microseconds are to be added.
    Stepped(i64),
}

impl Reference {
    /// The store's time when a question leaves at `m0`, at least.
    pub(crate) fn expected(&self, m0: Mono) -> Time {
        self.now + (m0 - self.m1)
    }

    /// Whether a clock that showed `now` between `m0` and `m1` stepped.
    pub(crate) fn judge(&self, now: Time, m0: Mono, m1: Mono) -> Off {
        let (least, most) = (self.expected(m0), self.now + (m1 - self.m0));
        if now + STEP < least {
            Off::Stepped(micros(least - now) as i64)
        } else if now > most + STEP {
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
        let known = Reference { now: Time::from_secs(100), steps: 0, m0: at(10), m1: at(10) };
        assert_eq!(known.expected(at(15)), Time::from_secs(105));
        assert_eq!(known.judge(Time::from_secs(112), at(15), at(22)), Off::Slow);
        assert_eq!(known.judge(Time::from_secs(112), at(15), at(15)), Off::Stepped(-7_000_000));
        assert_eq!(known.judge(Time::from_secs(60), at(15), at(22)), Off::Stepped(45_000_000));
    }
}
