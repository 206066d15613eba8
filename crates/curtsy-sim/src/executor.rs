//! Virtual time: timers in a heap, ready tasks in seeded order, and nothing else.
//!
//! Tasks are whole workers. A task can be paused (it is not polled, while time and the world go on)
//! and killed (it is dropped where it stands). Time moves only when nobody is ready.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering as Atomic};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use crate::chance::Chance;

/// The number of a task.
pub type TaskId = usize;

/// Virtual time and its timers, shared by everything that lives in it.
pub struct Universe {
    now: Cell<u64>,
    sequence: Cell<u64>,
    timers: RefCell<BinaryHeap<Timer>>,
}

struct Timer {
    at: u64,
    sequence: u64,
    waker: Waker,
    live: Rc<Cell<bool>>,
}

impl PartialEq for Timer {
    fn eq(&self, other: &Timer) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Timer {}
impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Timer) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Timer {
    /// The earliest is the largest: a heap gives the largest first.
    fn cmp(&self, other: &Timer) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

impl Universe {
    /// A universe that begins at `start` microseconds.
    pub fn new(start: u64) -> Rc<Universe> {
        Rc::new(Universe {
            now: Cell::new(start),
            sequence: Cell::new(0),
            timers: RefCell::default(),
        })
    }

    /// The true time, in microseconds. Only servers, logs and the director may know it.
    pub fn now(&self) -> u64 {
        self.now.get()
    }

    /// Waits until a moment.
    pub fn sleep_until(self: &Rc<Self>, at: u64) -> Sleep {
        Sleep { universe: Rc::clone(self), at, live: None }
    }

    /// The moment of the next timer.
    fn next_timer(&self) -> Option<u64> {
        let mut timers = self.timers.borrow_mut();
        while timers.peek().is_some_and(|t| !t.live.get()) {
            timers.pop();
        }
        timers.peek().map(|t| t.at)
    }

    /// Moves time to `to` and wakes whoever waited for it.
    fn advance(&self, to: u64) {
        self.now.set(self.now.get().max(to));
        loop {
            let timer = {
                let mut timers = self.timers.borrow_mut();
                match timers.peek() {
                    Some(t) if t.at <= self.now.get() => timers.pop(),
                    _ => None,
                }
            };
            let Some(timer) = timer else { return };
            if timer.live.replace(false) {
                timer.waker.wake();
            }
        }
    }
}

/// A wait in virtual time.
pub struct Sleep {
    universe: Rc<Universe>,
    at: u64,
    live: Option<Rc<Cell<bool>>>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.universe.now() >= self.at {
            return Poll::Ready(());
        }
        // A wait is set once; its waker does not change, since a worker's tasks are never moved to
        // another.
        if self.live.as_ref().is_none_or(|live| !live.get()) {
            let live = Rc::new(Cell::new(true));
            let sequence = self.universe.sequence.get();
            self.universe.sequence.set(sequence + 1);
            let timer =
                Timer { at: self.at, sequence, waker: cx.waker().clone(), live: Rc::clone(&live) };
            self.universe.timers.borrow_mut().push(timer);
            self.live = Some(live);
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(live) = &self.live {
            live.set(false);
        }
    }
}

type Ready = Arc<Mutex<Vec<TaskId>>>;

struct TaskWaker {
    id: TaskId,
    queued: AtomicBool,
    ready: Ready,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        if !self.queued.swap(true, Atomic::Relaxed) {
            self.ready.lock().expect("one thread").push(self.id);
        }
    }
}

struct Task<'t> {
    future: Pin<Box<dyn Future<Output = ()> + 't>>,
    waker: Arc<TaskWaker>,
    paused_until: u64,
}

/// Runs tasks in virtual time.
pub struct Executor<'t> {
    universe: Rc<Universe>,
    tasks: Vec<Option<Task<'t>>>,
    ready: Ready,
    chance: Chance,
    /// Polls so far: the step at which a run failed.
    pub steps: u64,
}

/// Why [`Executor::step`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepped {
    /// A task was polled.
    Polled(TaskId),
    /// A task ended by itself.
    Ended(TaskId),
    /// Time moved on.
    Moved,
    /// Nothing is to be done before the limit that was given; time stands there now.
    Limit,
}

impl<'t> Executor<'t> {
    /// An executor without tasks.
    pub fn new(universe: Rc<Universe>, chance: Chance) -> Executor<'t> {
        Executor { universe, tasks: Vec::new(), ready: Ready::default(), chance, steps: 0 }
    }

    /// Adds a task.
    pub fn spawn(&mut self, future: impl Future<Output = ()> + 't) -> TaskId {
        let id = self.tasks.len();
        let waker = Arc::new(TaskWaker {
            id,
            queued: AtomicBool::new(true),
            ready: Arc::clone(&self.ready),
        });
        self.ready.lock().expect("one thread").push(id);
        self.tasks.push(Some(Task { future: Box::pin(future), waker, paused_until: 0 }));
        id
    }

    /// Drops a task where it stands.
    pub fn kill(&mut self, id: TaskId) {
        self.tasks[id] = None;
    }

    /// Does not poll a task before `until`.
    pub fn pause(&mut self, id: TaskId, until: u64) {
        if let Some(task) = &mut self.tasks[id] {
            task.paused_until = task.paused_until.max(until);
        }
    }

    /// Polls one ready task, in seeded order, or moves time on to the next timer, but not past
    /// `limit`.
    pub fn step(&mut self, limit: u64) -> Stepped {
        let next = {
            let mut ready = self.ready.lock().expect("one thread");
            match ready.len() {
                0 => None,
                n => Some(ready.swap_remove(self.chance.below(n as u64) as usize)),
            }
        };
        let Some(id) = next else {
            return match self.universe.next_timer() {
                Some(at) if at <= limit => {
                    self.universe.advance(at);
                    Stepped::Moved
                }
                _ => {
                    self.universe.advance(limit);
                    Stepped::Limit
                }
            };
        };
        let Some(task) = &mut self.tasks[id] else {
            return Stepped::Polled(id);
        };
        let waker = Arc::clone(&task.waker);
        if task.paused_until > self.universe.now() {
            // Comes back when the pause is over, however often it is woken before.
            let live = Rc::new(Cell::new(true));
            let sequence = self.universe.sequence.get();
            self.universe.sequence.set(sequence + 1);
            waker.queued.store(false, Atomic::Relaxed);
            let at = task.paused_until;
            let waker = Waker::from(waker);
            self.universe.timers.borrow_mut().push(Timer { at, sequence, waker, live });
            return Stepped::Polled(id);
        }
        waker.queued.store(false, Atomic::Relaxed);
        self.steps += 1;
        let waker = Waker::from(waker);
        match task.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => Stepped::Polled(id),
            Poll::Ready(()) => {
                self.tasks[id] = None;
                Stepped::Ended(id)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_moves_only_when_nobody_is_ready() {
        let universe = Universe::new(10);
        let seen = RefCell::new(Vec::new());
        let mut executor = Executor::new(Rc::clone(&universe), Chance::new(1));
        for wait in [30, 20] {
            let (universe, seen) = (Rc::clone(&universe), &seen);
            executor.spawn(async move {
                universe.sleep_until(10 + wait).await;
                seen.borrow_mut().push(universe.now());
            });
        }
        while executor.step(100) != Stepped::Limit {}
        assert_eq!(*seen.borrow(), [30, 40]);
        assert_eq!(universe.now(), 100);
    }

    #[test]
    fn a_paused_task_finds_that_time_went_on() {
        let universe = Universe::new(0);
        let seen = Cell::new(0);
        let mut executor = Executor::new(Rc::clone(&universe), Chance::new(1));
        let (u, s) = (Rc::clone(&universe), &seen);
        let id = executor.spawn(async move {
            u.sleep_until(5).await;
            s.set(u.now());
        });
        executor.pause(id, 50);
        while executor.step(100) != Stepped::Limit {}
        assert_eq!(seen.get(), 50);
    }
}
