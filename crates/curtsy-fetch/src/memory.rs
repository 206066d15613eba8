//! The memory budget for bodies of a process. When it is used up, reading waits.
//!
//! Bodies grow while they are read, so a simple budget could deadlock: many half-read bodies, none
//! with room for its end. Three rules prevent that:
//!
//! - The beginning of every body is free, so an ordinary page never waits, nor does a slow one.
//! - Freed memory goes to the bodies that hold least: they are closest to their end.
//! - A part of the budget is an *overdraft* of the largest body's size, for one body at a time: the
//!   one that holds most, because that frees most. It must be read quickly (see
//!   [`HeldMemory::is_overdrawn`]), since a stalled server would block all others.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::sync::oneshot;

/// The budget.
#[derive(Clone, Debug)]
pub(crate) struct BodyMemory {
    state: Arc<Mutex<MemoryState>>,
}

#[derive(Debug)]
struct MemoryState {
    /// Units that are free.
    free: u64,
    overdraft: bool,
    waiting: Vec<MemoryWaiter>,
    tickets: u64,
}

#[derive(Debug)]
struct MemoryWaiter {
    ticket: u64,
    holds: u64,
    wants: u64,
    tell: oneshot::Sender<MemoryGrant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemoryGrant {
    Units(u64),
    Overdraft,
}

impl BodyMemory {
    /// Returns a budget of so many bytes for so many connections. `largest` is the limit of one
    /// body.
    pub(crate) fn new(bytes: u64, largest: u64, connections: u32) -> BodyMemory {
        let beginnings = (u64::from(connections) * FREE).min(bytes / 2);
        let units = bytes.saturating_sub(largest).saturating_sub(beginnings).div_ceil(UNIT).max(1);
        let state = MemoryState { free: units, overdraft: true, waiting: Vec::new(), tickets: 0 };
        BodyMemory { state: Arc::new(Mutex::new(state)) }
    }

    /// Returns an empty holding.
    pub(crate) fn hold(&self) -> HeldMemory {
        HeldMemory { memory: self.clone(), units: 0, overdraft: false }
    }

    /// No change is ever half done, so a panic elsewhere does no harm.
    fn lock(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryState {
    /// Gives free units to waiting bodies.
    fn serve(&mut self) {
        while let Some(next) = self.smallest() {
            let MemoryWaiter { wants, tell, .. } = self.waiting.swap_remove(next);
            self.free -= wants;
            if tell.send(MemoryGrant::Units(wants)).is_err() {
                self.free += wants;
            }
        }
        while self.overdraft && !self.waiting.is_empty() {
            let most = (0..self.waiting.len()).max_by_key(|&at| self.waiting[at].holds);
            let Some(most) = most else { break };
            let waiting = self.waiting.swap_remove(most);
            self.overdraft = waiting.tell.send(MemoryGrant::Overdraft).is_err();
        }
    }

    /// Returns the waiting body that holds least, of those that fit.
    fn smallest(&self) -> Option<usize> {
        let fits = |at: &usize| self.waiting[*at].wants <= self.free;
        (0..self.waiting.len()).filter(fits).min_by_key(|&at| self.waiting[at].holds)
    }
}

/// The memory of one body, returned on drop.
#[derive(Debug)]
pub(crate) struct HeldMemory {
    memory: BodyMemory,
    units: u64,
    overdraft: bool,
}

impl HeldMemory {
    /// Reserves memory for so many bytes in all, if it is free now.
    pub(crate) fn try_cover(&mut self, bytes: u64) -> bool {
        let more = self.missing(bytes);
        if more == 0 {
            return true;
        }
        let mut state = self.memory.lock();
        // Waiting bodies were first.
        if state.free < more || !state.waiting.is_empty() {
            return false;
        }
        state.free -= more;
        drop(state);
        self.units += more;
        true
    }

    /// Waits until memory for so many bytes in all is reserved.
    pub(crate) async fn cover(&mut self, bytes: u64) {
        let wants = self.missing(bytes);
        if wants == 0 {
            return;
        }
        let (tell, told) = oneshot::channel();
        let ticket = {
            let mut state = self.memory.lock();
            state.tickets += 1;
            let ticket = state.tickets;
            state.waiting.push(MemoryWaiter { ticket, holds: self.units, wants, tell });
            state.serve();
            ticket
        };
        let got = MemoryWait { memory: &self.memory, ticket, told }.await;
        self.add(got);
    }

    /// Whether it uses the overdraft, for which others wait.
    pub(crate) fn is_overdrawn(&self) -> bool {
        self.overdraft
    }

    fn add(&mut self, got: MemoryGrant) {
        match got {
            MemoryGrant::Units(units) => self.units += units,
            MemoryGrant::Overdraft => self.overdraft = true,
        }
    }

    fn missing(&self, bytes: u64) -> u64 {
        match self.overdraft {
            true => 0,
            false => bytes.saturating_sub(FREE + self.units * UNIT).div_ceil(UNIT),
        }
    }
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        if self.units > 0 || self.overdraft {
            let mut state = self.memory.lock();
            state.free += self.units;
            state.overdraft |= self.overdraft;
            state.serve();
        }
    }
}

/// A wait for memory. If it is dropped, what it was given is returned.
struct MemoryWait<'a> {
    memory: &'a BodyMemory,
    ticket: u64,
    told: oneshot::Receiver<MemoryGrant>,
}

impl Future for MemoryWait<'_> {
    type Output = MemoryGrant;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<MemoryGrant> {
        let told = Pin::new(&mut self.told).poll(cx);
        told.map(|got| got.expect("who waits is told, or takes itself out"))
    }
}

impl Drop for MemoryWait<'_> {
    fn drop(&mut self) {
        let mut state = self.memory.lock();
        state.waiting.retain(|waiting| waiting.ticket != self.ticket);
        match self.told.try_recv() {
            Ok(MemoryGrant::Units(units)) => state.free += units,
            Ok(MemoryGrant::Overdraft) => state.overdraft = true,
            Err(_) => return,
        }
        state.serve();
    }
}

/// The unit of reservations: large bodies need few steps.
const UNIT: u64 = 16 * 1024;
/// The free beginning of a body: the number of connections limits it already.
const FREE: u64 = 64 * 1024;

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Waker;

    use super::*;

    fn is_ready(future: impl Future<Output = ()>) -> bool {
        pin!(future).poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    /// So many units besides the overdraft.
    fn memory(units: u64) -> BodyMemory {
        BodyMemory::new((units + 1) * UNIT, UNIT, 0)
    }

    #[test]
    fn when_the_budget_is_used_up_one_body_goes_on_and_the_others_wait() {
        let memory = memory(3);
        let (mut a, mut b, mut c) = (memory.hold(), memory.hold(), memory.hold());
        assert!(a.try_cover(FREE + 2 * UNIT) && b.try_cover(FREE + UNIT), "three units");
        assert!(!c.try_cover(FREE + 1));
        assert!(is_ready(c.cover(FREE + 1)), "the first that waits has the overdraft");
        assert!(c.is_overdrawn() && c.try_cover(FREE + UNIT), "and needs no more");
        assert!(!is_ready(b.cover(FREE + 2 * UNIT)), "the second waits");
        drop(c);
        assert!(is_ready(b.cover(FREE + 2 * UNIT)), "until the first is done");
    }

    #[test]
    fn what_was_held_comes_back() {
        let memory = memory(2);
        for _ in 0..10 {
            let mut held = memory.hold();
            assert!(held.try_cover(FREE + UNIT) && held.try_cover(FREE + 2 * UNIT));
            assert!(!memory.hold().try_cover(FREE + 1));
        }
    }

    #[test]
    fn an_ordinary_page_never_waits_for_others() {
        let memory = memory(1);
        let (mut a, mut b) = (memory.hold(), memory.hold());
        assert!(a.try_cover(FREE + UNIT));
        assert!(is_ready(b.cover(FREE + UNIT)), "the overdraft");
        for _ in 0..100 {
            assert!(memory.hold().try_cover(FREE));
        }
    }

    /// Found in the zoo: a body that stalled had the overdraft, and everybody waited for it.
    #[test]
    fn the_overdraft_goes_to_who_holds_most_and_units_to_who_holds_least() {
        let memory = memory(9);
        let mut cx = Context::from_waker(Waker::noop());
        let (mut first, mut small, mut large) = (memory.hold(), memory.hold(), memory.hold());
        let mut other = memory.hold();
        assert!(first.try_cover(FREE + 2 * UNIT) && small.try_cover(FREE + UNIT));
        assert!(large.try_cover(FREE + 5 * UNIT) && other.try_cover(FREE + UNIT));
        assert!(is_ready(first.cover(FREE + 3 * UNIT)), "the overdraft, since nobody else waits");
        {
            let mut wait_small = pin!(small.cover(FREE + 2 * UNIT));
            let mut wait_large = pin!(large.cover(FREE + 6 * UNIT));
            assert!(wait_small.as_mut().poll(&mut cx).is_pending());
            assert!(wait_large.as_mut().poll(&mut cx).is_pending());
            drop(other);
            assert!(wait_small.as_mut().poll(&mut cx).is_ready(), "one unit came back");
            assert!(wait_large.as_mut().poll(&mut cx).is_pending());
            drop(first);
            assert!(wait_large.as_mut().poll(&mut cx).is_ready());
        }
        assert!(!small.is_overdrawn());
    }

    #[test]
    fn who_gives_up_waiting_gives_back_what_came_meanwhile() {
        let memory = memory(1);
        let (mut a, mut b, mut c) = (memory.hold(), memory.hold(), memory.hold());
        assert!(a.try_cover(FREE + UNIT) && is_ready(b.cover(FREE + UNIT)));
        let mut cx = Context::from_waker(Waker::noop());
        {
            let mut wait = Box::pin(c.cover(FREE + UNIT));
            assert!(wait.as_mut().poll(&mut cx).is_pending());
            drop(a);
            // Told, and never heard.
        }
        assert!(memory.hold().try_cover(FREE + UNIT), "the unit is there again");
        drop(b);
        assert!(memory.lock().overdraft);
    }
}
