//! Bodies in memory: one budget for the process. When it is used up, reading waits.
//!
//! Bodies grow while they are read, so a plain budget could lock: many half-read bodies, none with room for its end. A part of the budget is
//! therefore an *overdraft* of the largest body's size, which one body at a time may have: it is read to its end, and what it held comes back.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The budget.
#[derive(Clone, Debug)]
pub(crate) struct BodyMemory {
    units: Arc<Semaphore>,
    overdraft: Arc<Semaphore>,
}

impl BodyMemory {
    /// A budget of so many bytes, of which one body never takes more than `largest`.
    pub(crate) fn new(bytes: u64, largest: u64) -> BodyMemory {
        let units = bytes.saturating_sub(largest).div_ceil(UNIT).clamp(1, UNITS_MAX);
        BodyMemory {
            units: Arc::new(Semaphore::new(units as usize)),
            overdraft: Arc::new(Semaphore::new(1)),
        }
    }

    /// Nothing held yet.
    pub(crate) fn hold(&self) -> Held {
        Held { memory: self.clone(), units: None, covered: 0, overdraft: None }
    }
}

/// What one body holds; given back on drop.
#[derive(Debug)]
pub(crate) struct Held {
    memory: BodyMemory,
    units: Option<OwnedSemaphorePermit>,
    covered: u64,
    overdraft: Option<OwnedSemaphorePermit>,
}

impl Held {
    /// Holds room for so many bytes in all, if there is room now.
    pub(crate) fn try_cover(&mut self, bytes: u64) -> bool {
        if bytes <= self.covered || self.overdraft.is_some() {
            return true;
        }
        let more = self.missing(bytes);
        match Arc::clone(&self.memory.units).try_acquire_many_owned(more) {
            Ok(permit) => {
                self.add(permit, more);
                true
            }
            Err(_) => false,
        }
    }

    /// Holds room for so many bytes in all, as soon as there is room.
    pub(crate) async fn cover(&mut self, bytes: u64) {
        if self.try_cover(bytes) {
            return;
        }
        let more = self.missing(bytes);
        let units = Arc::clone(&self.memory.units);
        let overdraft = Arc::clone(&self.memory.overdraft);
        let units = pin!(units.acquire_many_owned(more));
        match select(units, pin!(overdraft.acquire_owned())).await {
            Either::Left((permit, _)) => {
                self.add(permit.expect("the budget is never closed"), more);
            }
            Either::Right((permit, _)) => {
                self.overdraft = Some(permit.expect("the budget is never closed"));
            }
        }
    }

    fn missing(&self, bytes: u64) -> u32 {
        let units = bytes.saturating_sub(self.covered).div_ceil(UNIT);
        u32::try_from(units.min(UNITS_MAX)).expect("bounded above")
    }

    fn add(&mut self, permit: OwnedSemaphorePermit, units: u32) {
        self.covered += u64::from(units) * UNIT;
        match &mut self.units {
            Some(held) => held.merge(permit),
            None => self.units = Some(permit),
        }
    }
}

/// What is held at least: small bodies need one step.
const UNIT: u64 = 16 * 1024;
/// What a semaphore can count.
const UNITS_MAX: u64 = (Semaphore::MAX_PERMITS >> 3) as u64 & (u32::MAX as u64);

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn is_ready(future: impl Future<Output = ()>) -> bool {
        pin!(future).poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[test]
    fn when_the_budget_is_used_up_one_body_goes_on_and_the_others_wait() {
        let memory = BodyMemory::new(4 * UNIT, UNIT);
        let (mut a, mut b, mut c) = (memory.hold(), memory.hold(), memory.hold());
        assert!(a.try_cover(2 * UNIT) && b.try_cover(UNIT), "three units besides the overdraft");
        assert!(!c.try_cover(1));
        assert!(is_ready(c.cover(1)), "the first that waits has the overdraft");
        assert!(c.try_cover(UNIT), "and needs no more");
        assert!(!is_ready(b.cover(2 * UNIT)), "the second waits");
        drop(c);
        assert!(is_ready(b.cover(2 * UNIT)), "until the first is done");
    }

    #[test]
    fn what_was_held_comes_back() {
        let memory = BodyMemory::new(3 * UNIT, UNIT);
        for _ in 0..10 {
            let mut held = memory.hold();
            assert!(held.try_cover(UNIT) && held.try_cover(2 * UNIT));
            assert!(!memory.hold().try_cover(1));
        }
    }
}
