//! A worker's handle: the engine's `Store`, with writes gathered into batches.
//!
//! A call puts its wish into the worker's batch. The first of a batch lets the worker's other visits go on, again if that brought
//! more wishes, and then carries out all that came together meanwhile; the others wait for it. No thread and no timer is needed: what
//! is ready at the same moment is written at the same moment.
//!
//! A page that is to be kept goes with the commit of its exchange. If that commit is stale or unknown, the page waits for the next one.

use std::cell::RefCell;
use std::collections::HashMap;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use curtsy_core::host::RobotsId;
use curtsy_core::url::{HostKey, UrlKey};
use curtsy_engine::{
    CachedPage, Commit, Committed, Fetched, Head, Offered, Order, RobotsFile, Store, StoreError,
    Taken, UrlRecord, UrlWrite, View, Visit,
};

use crate::core::{Answer, Core, Wish};
use crate::crawl::Share;
use crate::pages::PageWrite;
use crate::{Hours, PageCache};

/// How often others go first beyond the first time, at most: nobody waits long, and what is ready comes in two or three rounds.
const ROUNDS_MAX: u32 = 2;
/// Pages that wait for a commit, at most: whose commit never comes must not be held for ever.
pub(crate) const PAGES_MAX: usize = 256;

/// One worker's handle to a crawl's store, made on the worker's own thread. Clones are the same handle, and write in the same batches.
pub struct Handle<H> {
    core: Arc<Mutex<Core<H>>>,
    share: Share,
    batch: Rc<RefCell<Batch>>,
}

impl<H> Clone for Handle<H> {
    fn clone(&self) -> Handle<H> {
        let (core, batch) = (Arc::clone(&self.core), Rc::clone(&self.batch));
        Handle { core, share: self.share, batch }
    }
}

#[derive(Default)]
struct Batch {
    waiting: Vec<Ticket>,
    /// Pages that go with the next commit of their exchange, by the identity of its URL.
    pages: HashMap<UrlKey, Arc<PageWrite>>,
    /// What is done before each batch is carried out.
    before: Option<Rc<dyn Fn()>>,
    /// Whether somebody is about to carry it out.
    led: bool,
}

impl Batch {
    /// Gives each commit the page of its exchange; tells which page went with which wish.
    fn take_along(&self, wishes: &mut [Wish]) -> Vec<(UrlKey, usize)> {
        if self.pages.is_empty() {
            return Vec::new();
        }
        let mut taken = Vec::new();
        for (at, wish) in wishes.iter_mut().enumerate() {
            if let Wish::Commit(commit, page) = wish
                && let Some(id) = urls_of_exchange(commit).find(|id| self.pages.contains_key(id))
            {
                *page = self.pages.get(&id).cloned();
                taken.push((id, at));
            }
        }
        taken
    }
}

/// The URLs of which a commit takes in what an exchange brought: a turn that is booked brings no page.
fn urls_of_exchange(commit: &Commit) -> impl Iterator<Item = UrlKey> {
    let urls = if commit.exchanged.is_some() { &commit.urls[..] } else { &[] };
    urls.iter().map(|write| write.id)
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
        Handle { core, share, batch: Rc::default() }
    }

    /// The pages that are kept, for the same worker: what is put there goes with what this handle commits.
    pub fn cache(&self) -> PageCache<H> {
        PageCache::new(self.clone())
    }

    /// Has something done before each batch of this worker is carried out: before leases are given back that others wait for.
    pub fn before_writing(&self, what: impl Fn() + 'static) {
        self.batch.borrow_mut().before = Some(Rc::new(what));
    }

    /// Whether pages are kept.
    pub(crate) fn keeps_pages(&self) -> bool {
        self.core().keeps_pages()
    }

    /// What is kept of pages, each in its place.
    pub(crate) fn pages(&self, keys: &[UrlKey]) -> Vec<Option<CachedPage>> {
        self.core().pages(keys)
    }

    /// A page, if its text is kept.
    pub(crate) fn page(&self, key: UrlKey) -> Option<(Head, Fetched)> {
        self.core().page(key)
    }

    /// A page that was found there and is not written yet.
    pub(crate) fn waiting_page(&self, key: UrlKey) -> Option<Arc<PageWrite>> {
        let batch = self.batch.borrow();
        let found = batch.pages.values().find(|page| page.key == key);
        found.cloned()
    }

    /// Lets a page go with the commit of its exchange, if that is under way.
    pub(crate) fn goes_with_commit(&self, id: UrlKey, page: &Arc<PageWrite>) -> bool {
        let mut batch = self.batch.borrow_mut();
        let is_under_way = batch.waiting.iter().any(|ticket| match &ticket.borrow().wish {
            Some(Wish::Commit(commit, _)) => urls_of_exchange(commit).any(|url| url == id),
            _ => false,
        });
        if is_under_way {
            if batch.pages.len() >= PAGES_MAX {
                // Losing pages costs requests, nothing else.
                batch.pages.clear();
            }
            batch.pages.insert(id, Arc::clone(page));
        }
        is_under_way
    }

    /// Keeps a page by itself.
    pub(crate) async fn keep_page(&self, page: Arc<PageWrite>) {
        self.ask(Wish::Keep(page)).await;
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
        let mut wishes: Vec<Wish> =
            tickets.iter().filter_map(|ticket| ticket.borrow_mut().wish.take()).collect();
        let pages = self.batch.borrow().take_along(&mut wishes);
        let before = self.batch.borrow().before.clone();
        if let Some(before) = before {
            before();
        }
        let answers = self.core().carry_out(wishes);
        for (id, at) in pages {
            if let Some(Answer::Committed(Ok(Committed::Done(_)))) = answers.get(at) {
                self.batch.borrow_mut().pages.remove(&id);
            }
        }
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

    async fn waiting(&self, hosts: usize) -> Result<Option<Vec<Visit>>, StoreError> {
        self.core().all_waiting(hosts)
    }

    async fn load(&self, host: &HostKey) -> Result<View, StoreError> {
        self.core().load(host)
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        match self.ask(Wish::Commit(Box::new(commit), None)).await {
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
