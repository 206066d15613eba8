//! The store's time: its raw clock without steps.
//!
//! Each worker's monotonic clock bounds how much time can have passed since the store's last
//! answer. If the store's clock is behind that bound, it lost time and is moved forward. If it is
//! more than a second ahead, it stepped and is moved back. So the store's clock never runs faster
//! than the workers' own.

use curtsy_core::time::Time;

use super::MemoryStore;
use crate::check::CLOCK_STEP;
use crate::{Clock, Mono};

/// The raw clock of a store, and its corrections.
pub(super) struct CorrectedClock {
    /// Returns microseconds.
    pub(super) raw: Box<dyn Fn() -> u64>,
    /// What is added to the raw clock to remove its steps.
    pub(super) offset: i64,
    /// Counts changes of the offset. A reading from before a change proves nothing.
    pub(super) corrections: u32,
}

impl CorrectedClock {
    pub(super) fn now(&self) -> Time {
        Time::from_micros((self.raw)().saturating_add_signed(self.offset))
    }
}

/// A worker's last reading of the store's time.
#[derive(Clone, Copy)]
pub(super) struct TimeReference {
    now: Time,
    at: Mono,
    corrections: u32,
    born: (Mono, Time),
}

impl<C: Clock> MemoryStore<C> {
    /// Returns the store's time, corrected by what this worker knows.
    pub(super) fn now(&self) -> Time {
        let at = self.clock.mono();
        let clock = &mut self.shared.borrow_mut().clock;
        let mut now = clock.now();
        if let Some(known) = self.reference.get().filter(|r| r.corrections == clock.corrections) {
            let expected = known.now + (at - known.at);
            let off = now.micros() as i64 - expected.micros() as i64;
            if now + CLOCK_STEP < expected || now > expected + CLOCK_STEP {
                clock.offset -= off;
                clock.corrections += 1;
                now = expected;
            }
        }
        let born = self.reference.get().map_or((at, now), |r| r.born);
        let corrections = clock.corrections;
        self.reference.set(Some(TimeReference { now, at, corrections, born }));
        now
    }

    /// Returns until when this worker only reads.
    pub(super) fn listens_until(&self) -> Option<Time> {
        let known = self.reference.get()?;
        let quarantine = self.shared.borrow().options.quarantine;
        let left =
            quarantine.checked_sub(known.at - known.born.0).filter(|left| !left.is_zero())?;
        Some(known.now + left)
    }
}
