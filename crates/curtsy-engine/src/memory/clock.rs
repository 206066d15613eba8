//! The store's time, with the steps of its raw clock taken out.
//!
//! Each worker's monotonic clock bounds how much time can have passed since the store last answered it. A store clock that is behind
//! that bound lost time and is moved on; one that is ahead by more than a second stepped, and the step is taken out. So the store's
//! clock never runs faster than the workers' own.

use std::time::Duration;

use curtsy_core::time::Time;

use super::MemoryStore;
use crate::{Clock, Mono};

/// What a worker knows of the store's time.
#[derive(Clone, Copy)]
pub(super) struct Reference {
    now: Time,
    at: Mono,
    corrections: u32,
    born: (Mono, Time),
}

/// A gain below this is drift and jitter, not a step.
const STEP: Duration = Duration::from_secs(1);

impl<C: Clock> MemoryStore<C> {
    /// The store's time, corrected by what this worker can prove.
    pub(super) fn now(&self) -> Time {
        let at = self.clock.mono();
        let mut shared = self.shared.borrow_mut();
        let mut now = shared.raw_now();
        if let Some(known) = self.reference.get().filter(|r| r.corrections == shared.corrections) {
            let expected = known.now + (at - known.at);
            let off = now.micros() as i64 - expected.micros() as i64;
            if now + STEP < expected || now > expected + STEP {
                shared.offset -= off;
                shared.corrections += 1;
                now = expected;
            }
        }
        let born = self.reference.get().map_or((at, now), |r| r.born);
        let corrections = shared.corrections;
        self.reference.set(Some(Reference { now, at, corrections, born }));
        now
    }

    /// Until when this worker only listens.
    pub(super) fn listens_until(&self) -> Option<Time> {
        let known = self.reference.get()?;
        let quarantine = self.shared.borrow().options.quarantine;
        let left =
            quarantine.checked_sub(known.at - known.born.0).filter(|left| !left.is_zero())?;
        Some(known.now + left)
    }
}
