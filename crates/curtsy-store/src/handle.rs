//! A worker's handle: the engine's `Store`, with writes gathered into batches.
//!
//! A call puts its wish into the worker's batch. The first of a batch lets the worker's other visits go on, again if that brought
//! more wishes, and then carries out all that came together meanwhile; the others wait for it. No thread and no timer is needed: what
//! is ready at the same moment is written at the same moment.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use curtsy_core::host::RobotsId;
use curtsy_core::url::HostKey;
use curtsy_engine::{
    Commit, Committed, Offered, Order, RobotsFile, Store, StoreError, Taken, UrlRecord, UrlWrite,
    View,
};

use crate::Hours;
use crate::core::{Answer, Core, Wish};
use crate::crawl::Share;

/// How often others go first beyond the first time, at most: nobody waits long, and what is ready comes in two or three rounds.
const ROUNDS_MAX: u32 = 2;

/// One worker's handle to a crawl's store, made on the worker's own thread.
pub struct Handle<H> {
    core: Arc<Mutex<Core<H>>>,
    share: Share,
    batch: RefCell<Batch>,
}

#[derive(Default)]
struct Batch {
    waiting: Vec<Ticket>,
    /// Whether somebody is about to carry it out.
    led: bool,
}

type Ticket = Rc<RefCell<Slip>>;

/// A wish on its way.
struct Slip {
    wish: Option<Wish>,
    answer: Option<Answer>,
    waker: Option<Waker>,
}

impl<H: Hours> Handle<H> {
    pub(crate) fn new(core: Arc<Mutex<Core<H>>>, share: Share) -> Handle<H> {
        Handle { core, share, batch: RefCell::default() }
    }

    fn core(&self) -> MutexGuard<'_, Core<H>> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, wish: Wish) -> Asking<'_, H> {
        let slip = Slip { wish: Some(wish), answer: None, waker: None };
        let ticket = Rc::new(RefCell::new(slip));
        Asking { handle: self, ticket, leads: None, asked: false }
    }

    fn carry_out(&self) {
        let tickets = std::mem::take(&mut self.batch.borrow_mut().waiting);
        self.batch.borrow_mut().led = false;
        let wishes = tickets.iter().filter_map(|ticket| ticket.borrow_mut().wish.take()).collect();
        let answers = self.core().carry_out(wishes);
        for (ticket, answer) in tickets.iter().zip(answers) {
            let mut slip = ticket.borrow_mut();
            slip.answer = Some(answer);
            if let Some(waker) = slip.waker.take() {
                waker.wake();
            }
        }
    }
}

/// A wish that is waited for.
struct Asking<'h, H: Hours> {
    handle: &'h Handle<H>,
    ticket: Ticket,
    leads: Option<Lead>,
    asked: bool,
}

/// Whoever carries out the batch, while it waits for company.
#[derive(Clone, Copy)]
struct Lead {
    /// Wishes that had come together at its last look.
    company: usize,
    /// How often it may still let the others go first.
    rounds: u32,
}

impl Lead {
    /// The next look, if another one is worth it: the last brought company.
    fn again(self, company: usize) -> Option<Lead> {
        let rounds = self.rounds.checked_sub(1)?;
        (company > self.company).then_some(Lead { company, rounds })
    }
}

impl<H: Hours> Future for Asking<'_, H> {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer> {
        if let Some(lead) = self.leads {
            self.leads = lead.again(self.handle.batch.borrow().waiting.len());
            if self.leads.is_some() {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            self.handle.carry_out();
        }
        if let Some(answer) = self.ticket.borrow_mut().answer.take() {
            return Poll::Ready(answer);
        }
        let mut batch = self.handle.batch.borrow_mut();
        if !self.asked {
            batch.waiting.push(Rc::clone(&self.ticket));
        }
        let leads = !batch.led;
        batch.led = true;
        let company = batch.waiting.len();
        drop(batch);
        self.asked = true;
        if leads {
            self.leads = Some(Lead { company, rounds: ROUNDS_MAX });
            // Whoever else is ready goes first.
            cx.waker().wake_by_ref();
        } else {
            self.ticket.borrow_mut().waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl<H: Hours> Drop for Asking<'_, H> {
    fn drop(&mut self) {
        let mut batch = self.handle.batch.borrow_mut();
        // Nobody waits for it: what was not carried out yet never is.
        batch.waiting.retain(|ticket| !Rc::ptr_eq(ticket, &self.ticket));
        if self.leads.is_some() {
            batch.led = false;
            // Another one leads.
            for ticket in &batch.waiting {
                if let Some(waker) = ticket.borrow_mut().waker.take() {
                    waker.wake();
                }
            }
        }
    }
}

impl<H: Hours> Store for Handle<H> {
    async fn offer(&self, records: &[UrlRecord]) -> Result<Offered, StoreError> {
        // Most links lead to what is known, and need no write.
        let unsure = self.core().unknown_of(records);
        let known = records.len() - unsure.len();
        if unsure.is_empty() {
            return Ok(Offered { new: 0, known });
        }
        match self.ask(Wish::Offer(unsure)).await {
            Answer::Offered(done) => {
                done.map(|offered| Offered { known: offered.known + known, ..offered })
            }
            _ => Err(StoreError::Unknown("offer")),
        }
    }

    async fn remind(&self, records: Vec<UrlRecord>) -> Result<(), StoreError> {
        match self.ask(Wish::Remind(records)).await {
            Answer::Done(done) => done,
            _ => Err(StoreError::Unknown("remind")),
        }
    }

    async fn order(&self, orders: Vec<Order>) -> Result<(), StoreError> {
        self.core().order(&orders)
    }

    async fn take(&self, hosts: usize) -> Result<Taken, StoreError> {
        self.core().take(hosts, self.share)
    }

    async fn load(&self, host: &HostKey) -> Result<View, StoreError> {
        self.core().load(host)
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        match self.ask(Wish::Commit(Box::new(commit))).await {
            Answer::Committed(done) => done,
            _ => Err(StoreError::Unknown("commit")),
        }
    }

    async fn settle(&self, writes: Vec<UrlWrite>) -> Result<(), StoreError> {
        match self.ask(Wish::Settle(writes)).await {
            Answer::Done(done) => done,
            _ => Err(StoreError::Unknown("settle")),
        }
    }

    async fn robots(&self, id: RobotsId) -> Result<Option<Arc<RobotsFile>>, StoreError> {
        self.core().robots(id)
    }
}
