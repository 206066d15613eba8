//! A worker's handle: the engine's `Store`, which collects writes into batches.
//!
//! A call adds its write to the worker's batch. The first call of a batch leads it: it lets the
//! worker's other visits run first, again if that added writes, and then carries out the whole
//! batch. The other calls wait for it. This needs no thread and no timer: writes that are ready at
//! the same moment are written together.
//!
//! A page to be kept is written with the commit of its exchange. If that commit is stale or
//! unknown, the page waits for the next one.

use std::cell::RefCell;
use std::collections::HashMap;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use curtsy_core::host::RobotsId;
use curtsy_core::url::{HostKey, UrlKey};
use curtsy_engine::{
    Commit, Committed, Offered, Order, RobotsFile, Store, StoreError, Taken, UrlRecord, UrlWrite,
    View, Visit,
};

use crate::crawl::HostShare;
use crate::machine_store::{LedgerAndFrontier, StoreWrite, WriteReply};
use crate::pages::PageWrite;
use crate::{MachineClock, PageCache};

/// How often the leader of a batch yields again after the first time, at most. Nobody waits long,
/// and ready writes arrive in two or three rounds.
const ROUNDS_MAX: u32 = 2;
/// Pages that wait for a commit, at most, since some commits never come.
pub(crate) const PAGES_MAX: usize = 256;

/// One worker's handle to a crawl's store, made on the worker's own thread. Clones are the same
/// handle and write in the same batches.
pub struct StoreHandle<H> {
    core: Arc<Mutex<LedgerAndFrontier<H>>>,
    share: HostShare,
    batch: Rc<RefCell<WriteBatch>>,
}

impl<H> Clone for StoreHandle<H> {
    fn clone(&self) -> StoreHandle<H> {
        let (core, batch) = (Arc::clone(&self.core), Rc::clone(&self.batch));
        StoreHandle { core, share: self.share, batch }
    }
}

#[derive(Default)]
struct WriteBatch {
    waiting: Vec<Ticket>,
    /// Pages to be written with the next commit of their exchange, by the identity of the URL.
    pages: HashMap<UrlKey, Arc<PageWrite>>,
    /// Called before each batch is carried out.
    before: Option<Rc<dyn Fn()>>,
    /// Whether a call leads the batch.
    led: bool,
}

impl WriteBatch {
    /// Adds to each commit the page of its exchange. Returns which page was added to which write.
    fn take_along(&self, writes: &mut [StoreWrite]) -> Vec<(UrlKey, usize)> {
        if self.pages.is_empty() {
            return Vec::new();
        }
        let mut taken = Vec::new();
        for (at, write) in writes.iter_mut().enumerate() {
            if let StoreWrite::Commit(commit, page) = write
                && let Some(id) = urls_of_exchange(commit).find(|id| self.pages.contains_key(id))
            {
                *page = self.pages.get(&id).cloned();
                taken.push((id, at));
            }
        }
        taken
    }
}

/// Returns the URLs of a commit that records an exchange. A commit that books a turn has no page.
fn urls_of_exchange(commit: &Commit) -> impl Iterator<Item = UrlKey> {
    let urls = if commit.exchanged.is_some() { &commit.urls[..] } else { &[] };
    urls.iter().map(|write| write.id)
}

type Ticket = Rc<RefCell<PendingWrite>>;

/// A write that waits for its reply.
struct PendingWrite {
    write: Option<StoreWrite>,
    answer: Option<Result<WriteReply, StoreError>>,
    waker: Option<Waker>,
}

impl<H: MachineClock> StoreHandle<H> {
    pub(crate) fn new(core: Arc<Mutex<LedgerAndFrontier<H>>>, share: HostShare) -> StoreHandle<H> {
        StoreHandle { core, share, batch: Rc::default() }
    }

    /// Returns the page cache of the same worker. Its pages are written with this handle's commits.
    pub fn cache(&self) -> PageCache<H> {
        PageCache::new(self.clone())
    }

    /// Sets a function to call before each batch of this worker, and so before leases are released
    /// that others wait for.
    pub fn before_writing(&self, what: impl Fn() + 'static) {
        self.batch.borrow_mut().before = Some(Rc::new(what));
    }

    /// Returns a page that was put and is not written yet.
    pub(crate) fn waiting_page(&self, key: UrlKey) -> Option<Arc<PageWrite>> {
        let batch = self.batch.borrow();
        let found = batch.pages.values().find(|page| page.key == key);
        found.cloned()
    }

    /// Adds a page to the commit of its exchange, if that commit is waiting. Returns whether it is.
    pub(crate) fn goes_with_commit(&self, id: UrlKey, page: &Arc<PageWrite>) -> bool {
        let mut batch = self.batch.borrow_mut();
        let is_under_way = batch.waiting.iter().any(|ticket| match &ticket.borrow().write {
            Some(StoreWrite::Commit(commit, _)) => urls_of_exchange(commit).any(|url| url == id),
            _ => false,
        });
        if is_under_way {
            if batch.pages.len() >= PAGES_MAX {
                // Lost pages cost requests, nothing else.
                batch.pages.clear();
            }
            batch.pages.insert(id, Arc::clone(page));
        }
        is_under_way
    }

    /// Keeps a page without a commit.
    pub(crate) async fn keep_page(&self, page: Arc<PageWrite>) {
        // A page that is lost costs a request.
        let _ = self.ask(StoreWrite::Keep(page)).await;
    }

    pub(crate) fn core(&self) -> MutexGuard<'_, LedgerAndFrontier<H>> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, write: StoreWrite) -> WriteFuture<'_, H> {
        let slip = PendingWrite { write: Some(write), answer: None, waker: None };
        let ticket = Rc::new(RefCell::new(slip));
        WriteFuture { handle: self, ticket, leads: None, asked: false }
    }

    fn carry_out(&self) {
        let tickets = std::mem::take(&mut self.batch.borrow_mut().waiting);
        self.batch.borrow_mut().led = false;
        let mut writes: Vec<StoreWrite> =
            tickets.iter().filter_map(|ticket| ticket.borrow_mut().write.take()).collect();
        let pages = self.batch.borrow().take_along(&mut writes);
        let before = self.batch.borrow().before.clone();
        if let Some(before) = before {
            before();
        }
        let answers = self.core().carry_out(writes);
        for (id, at) in pages {
            if let Some(Ok(WriteReply::Committed(Committed::Done(_)))) = answers.get(at) {
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

/// The future of a write's reply.
struct WriteFuture<'h, H: MachineClock> {
    handle: &'h StoreHandle<H>,
    ticket: Ticket,
    leads: Option<BatchLead>,
    asked: bool,
}

/// The state of the call that leads a batch.
#[derive(Clone, Copy)]
struct BatchLead {
    /// Writes in the batch at its last poll.
    company: usize,
    /// How often it may still yield.
    rounds: u32,
}

impl BatchLead {
    /// Returns the state for the next poll, if another one is worthwhile: the last brought more
    /// writes.
    fn again(self, company: usize) -> Option<BatchLead> {
        let rounds = self.rounds.checked_sub(1)?;
        (company > self.company).then_some(BatchLead { company, rounds })
    }
}

impl<H: MachineClock> Future for WriteFuture<'_, H> {
    type Output = Result<WriteReply, StoreError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
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
            self.leads = Some(BatchLead { company, rounds: ROUNDS_MAX });
            // Other ready visits run first.
            cx.waker().wake_by_ref();
        } else {
            self.ticket.borrow_mut().waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl<H: MachineClock> Drop for WriteFuture<'_, H> {
    fn drop(&mut self) {
        let mut batch = self.handle.batch.borrow_mut();
        // Nobody waits for the reply: a write that was not carried out yet never is.
        batch.waiting.retain(|ticket| !Rc::ptr_eq(ticket, &self.ticket));
        if self.leads.is_some() {
            batch.led = false;
            // Another call leads.
            for ticket in &batch.waiting {
                if let Some(waker) = ticket.borrow_mut().waker.take() {
                    waker.wake();
                }
            }
        }
    }
}

impl<H: MachineClock> Store for StoreHandle<H> {
    async fn offer(&self, records: &[UrlRecord]) -> Result<Offered, StoreError> {
        // Most links lead to known URLs and need no write.
        let unsure = self.core().unknown_of(records);
        let known = records.len() - unsure.len();
        if unsure.is_empty() {
            return Ok(Offered { new: 0, known });
        }
        match self.ask(StoreWrite::Offer(unsure)).await? {
            WriteReply::Offered(offered) => Ok(Offered { known: offered.known + known, ..offered }),
            _ => Err(StoreError::Unknown("offer")),
        }
    }

    async fn remind(&self, records: Vec<UrlRecord>) -> Result<(), StoreError> {
        self.ask(StoreWrite::Remind(records)).await.map(drop)
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
        match self.ask(StoreWrite::Commit(Box::new(commit), None)).await? {
            WriteReply::Committed(committed) => Ok(committed),
            _ => Err(StoreError::Unknown("commit")),
        }
    }

    async fn settle(&self, writes: Vec<UrlWrite>) -> Result<(), StoreError> {
        self.ask(StoreWrite::Settle(writes)).await.map(drop)
    }

    async fn robots(&self, id: RobotsId) -> Result<Option<Arc<RobotsFile>>, StoreError> {
        self.core().robots(id)
    }
}
