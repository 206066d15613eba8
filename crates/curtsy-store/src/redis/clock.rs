//! The store's time, with the steps of Redis' own clock taken out.
//!
//! A worker's monotonic clock bounds how much time can have passed between two answers. A script that finds its clock more than a second off
//! does nothing but say so; the caller then knows whether its question was long on its way, or whether the clock stepped, and has the step
//! taken out before it asks again. So the store's clock never runs faster than the workers' own.

use std::time::Duration;

use curtsy_core::time::{Time, micros};
use curtsy_engine::Mono;

/// A gain below this is drift, not a step. Scripts have the same number.
const STEP: Duration = Duration::from_secs(1);

/// What a worker knows of the store's time: `now` was somewhere between `m0` and `m1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) now: Time,
    pub(super) steps: u64,
    pub(super) m0: Mono,
    pub(super) m1: Mono,
}

/// What a script that found its clock to be off has to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Off {
    /// The question was long on its way.
    Slow,
    /// The clock stepped: this many microseconds are to be added.
    Stepped(i64),
}

impl Reference {
    /// The store's time when a question leaves at `m0`, at least.
    pub(super) fn expected(&self, m0: Mono) -> Time {
        self.now + (m0 - self.m1)
    }

    /// Whether a clock that showed `now` between `m0` and `m1` stepped.
    pub(super) fn judge(&self, now: Time, m0: Mono, m1: Mono) -> Off {
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
