//! Bodies in memory: one budget for the process. When it is used up, reading waits.
//!
//! Bodies grow while they are read, so a plain budget could lock: many half-read bodies, none with room for its end. Three rules keep it going
//! whatever servers send:
//!
//! - The beginning of every body is free, so an ordinary page never waits for anybody, and neither does one that comes byte by byte.
//! - What comes back goes to those who hold least: they are nearest to being pages.
//! - A part of the budget is an *overdraft* of the largest body's size, which one body at a time may have: the one that holds most, so what comes
//!   back with it is most. It is read to its end, and has little time for that (see [`Held::is_overdrawn`]): a server that stalls then
//!   would hold up everybody.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::sync::oneshot;

/// The budget.
#[derive(Clone, Debug)]
pub(crate) struct BodyMemory {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    /// Units that nobody holds.
    free: u64,
    overdraft: bool,
    waiting: Vec<Waiting>,
    tickets: u64,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    holds: u64,
    wants: u64,
    tell: oneshot::Sender<Got>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Got {
    Units(u64),
    Overdraft,
}

impl BodyMemory {
    /// A budget of so many bytes for so many connections, of which one body never takes more than `largest`.
    pub(crate) fn new(bytes: u64, largest: u64, connections: u32) -> BodyMemory {
        let beginnings = (u64::from(connections) * FREE).min(bytes / 2);
        let units = bytes.saturating_sub(largest).saturating_sub(beginnings).div_ceil(UNIT).max(1);
        let state = State { free: units, overdraft: true, waiting: Vec::new(), tickets: 0 };
        BodyMemory { state: Arc::new(Mutex::new(state)) }
    }

    /// Nothing held yet.
    pub(crate) fn hold(&self) -> Held {
        Held { memory: self.clone(), units: 0, overdraft: false }
    }

    /// Nothing is left half done in the state, so a panic elsewhere spoils nothing.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Gives what is there to those who wait.
    fn serve(&mut self) {
        while let Some(next) = self.smallest() {
            let Waiting { wants, tell, .. } = self.waiting.swap_remove(next);
            self.free -= wants;
            if tell.send(Got::Units(wants)).is_err() {
                self.free += wants;
            }
        }
        while self.overdraft && !self.waiting.is_empty() {
            let most = (0..self.waiting.len()).max_by_key(|&at| self.waiting[at].holds);
            let Some(most) = most else { break };
            let waiting = self.waiting.swap_remove(most);
            self.overdraft = waiting.tell.send(Got::Overdraft).is_err();
        }
    }

    /// Who holds least of those for whom there is room.
    fn smallest(&self) -> Option<usize> {
        let fits = |at: &usize| self.waiting[*at].wants <= self.free;
        (0..self.waiting.len()).filter(fits).min_by_key(|&at| self.waiting[at].holds)
    }
}

/// What one body holds; given back on drop.
#[derive(Debug)]
pub(crate) struct Held {
    memory: BodyMemory,
    units: u64,
    overdraft: bool,
}

impl Held {
    /// Holds room for so many bytes in all, if there is room now.
    pub(crate) fn try_cover(&mut self, bytes: u64) -> bool {
        let more = self.missing(bytes);
        if more == 0 {
            return true;
        }
        let mut state = self.memory.lock();
        // Those who wait were here first.
        if state.free < more || !state.waiting.is_empty() {
            return false;
        }
        state.free -= more;
        drop(state);
        self.units += more;
        true
    }

    /// Holds room for so many bytes in all, as soon as there is room.
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
            state.waiting.push(Waiting { ticket, holds: self.units, wants, tell });
            state.serve();
            ticket
        };
        let got = Wait { memory: &self.memory, ticket, told }.await;
        self.add(got);
    }

    /// Whether it lives on the overdraft, for which others wait.
    pub(crate) fn is_overdrawn(&self) -> bool {
        self.overdraft
    }

    fn add(&mut self, got: Got) {
        match got {
            Got::Units(units) => self.units += units,
            Got::Overdraft => self.overdraft = true,
        }
    }

    fn missing(&self, bytes: u64) -> u64 {
        match self.overdraft {
            true => 0,
            false => bytes.saturating_sub(FREE + self.units * UNIT).div_ceil(UNIT),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.units > 0 || self.overdraft {
            let mut state = self.memory.lock();
            state.free += self.units;
            state.overdraft |= self.overdraft;
            state.serve();
        }
    }
}

/// A wait for room. Whoever gives it up gives back what came meanwhile.
struct Wait<'a> {
    memory: &'a BodyMemory,
    ticket: u64,
    told: oneshot::Receiver<Got>,
}

impl Future for Wait<'_> {
    type Output = Got;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Got> {
        let told = Pin::new(&mut self.told).poll(cx);
        told.map(|got| got.expect("who waits is told, or takes itself out"))
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let mut state = self.memory.lock();
        state.waiting.retain(|waiting| waiting.ticket != self.ticket);
        match self.told.try_recv() {
            Ok(Got::Units(units)) => state.free += units,
            Ok(Got::Overdraft) => state.overdraft = true,
            Err(_) => return,
        }
        state.serve();
    }
}

/// What is held at least: bodies of some size need few steps.
const UNIT: u64 = 16 * 1024;
/// The beginning of a body, which is free: connections are counted already.
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
