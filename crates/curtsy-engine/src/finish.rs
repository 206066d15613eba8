//! When does a worker end? When it is stopped, when nothing is left, when what is left must wait
//! longer than its patience, when its own side has failed, or when the budget is used up.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use curtsy_core::host::{BudgetReason, Problem};
use curtsy_core::time::Time;

use crate::budget::JobBudget;
use crate::{Mono, Taken};

/// How a worker's work ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Over {
    /// Nothing is left.
    Empty,
    /// The worker was stopped.
    Stopped,
    /// What is left must wait at least until this moment, longer than the worker's patience.
    Waits(Time),
    /// Our own side failed in a way that waiting does not mend.
    Ours(Problem),
    /// The job's budget is used up.
    Spent(BudgetReason),
}

/// What decides when a worker ends.
pub(crate) struct Finish {
    stopping: Rc<Cell<bool>>,
    /// Whether people ordered that nothing new begins.
    pausing: Rc<Cell<bool>>,
    /// When the last progress was made: a usable response, a row, a seed.
    progress: Cell<Mono>,
    /// Whether a connection failed since unreachable hosts were last looked for.
    pub(crate) unreached: Cell<bool>,
    /// A failure on our own side that waiting does not mend.
    own_fault: Cell<Option<Problem>>,
    budget: RefCell<JobBudget>,
}

impl Finish {
    pub(crate) fn new(now: Mono) -> Finish {
        Finish {
            stopping: Rc::default(),
            pausing: Rc::default(),
            progress: Cell::new(now),
            unreached: Cell::new(true),
            own_fault: Cell::new(None),
            budget: RefCell::default(),
        }
    }

    pub(crate) fn stop_switch(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.stopping)
    }

    pub(crate) fn pause_switch(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.pausing)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.get()
    }

    /// Whether nothing new begins, because the worker is stopping or pausing.
    pub(crate) fn begins_nothing(&self) -> bool {
        self.stopping.get() || self.pausing.get()
    }

    /// Notes progress: patience begins anew.
    pub(crate) fn progressed(&self, now: Mono) {
        self.progress.set(now);
    }

    /// Stops the worker because of a failure on our own side.
    pub(crate) fn stop_by_own_fault(&self, problem: Problem) {
        self.own_fault.set(Some(problem));
        self.stopping.set(true);
    }

    /// Reads or changes the budget. If nothing is left to do within it, the worker stops.
    pub(crate) fn with_budget<T>(&self, change: impl FnOnce(&mut JobBudget) -> T) -> T {
        let mut budget = self.budget.borrow_mut();
        let result = change(&mut budget);
        if budget.is_over().is_some() {
            self.stopping.set(true);
        }
        result
    }

    /// Why a worker that was stopped ends.
    pub(crate) fn why_stopped(&self) -> Over {
        let ours = self.own_fault.get().map(Over::Ours);
        let spent = self.budget.borrow().is_over().map(Over::Spent);
        ours.or(spent).unwrap_or(Over::Stopped)
    }

    /// Whether a take that returned no host shows that the work is over.
    pub(crate) fn is_over(
        &self,
        taken: &Taken,
        now: Mono,
        patience: Option<Duration>,
    ) -> Option<Over> {
        if taken.queued == 0 {
            return Some(Over::Empty);
        }
        let due = taken.next_due?;
        let end = self.progress.get() + patience?;
        // Many short waits are one long wait: what counts is the time since the last progress.
        (now >= end || now + (due - taken.now) > end).then_some(Over::Waits(due))
    }
}
