//! The store of one crawl on one machine: the ledger of hosts and the crawl's frontier together.
//!
//! Writes come in batches. A batch is one transaction of the ledger and then one of the frontier's
//! file. Memory changes while the batch is carried out; the callers get their replies after both
//! transactions. If one of them fails, every reply that depends on it is `Unknown`. A grant whose
//! ledger was not written keeps its URL's new claim and costs the URL a try. Changes of the
//! frontier that could not be written are written with the next batch.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use curtsy_core::host::{Anew, HostState, RobotsId};
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, HostKey, UrlKey};
use curtsy_engine::check::{CommitFacts, QUIET, SlotsTaken, check};
use curtsy_engine::{
    CachedPage, Commit, Committed, Fetched, Head, Offered, Order, RobotsFile, Saved, StoreError,
    Taken, UrlRecord, UrlWrite, View, Visit,
};

use crate::crawl::{CrawlFrontier, HostShare, Queued};
use crate::fault::StoreFault;
use crate::host_ledger::HostLedger;
use crate::ledger::Changed;
use crate::pages::PageWrite;
use crate::{
    Ledger, LedgerPlace, MachineClock, OpenError, ReadableTables, StoreHandle, SystemClock,
};

/// Options of a crawl's store.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long nothing is granted in a new epoch: one lease, so that all earlier requests have
    /// ended.
    pub quiet: Duration,
    /// Keys of known URLs in memory, about 40 bytes each.
    pub known_in_memory: usize,
    /// Hosts with work in memory, about 500 bytes each.
    pub hosts_in_memory: usize,
    /// URLs of all hosts in memory, about 500 bytes each.
    pub urls_in_memory: usize,
    /// Changes in the journal after which they are merged into the tables.
    pub merge_after: usize,
    /// Which readable tables the ledger has.
    pub shows: ReadableTables,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            quiet: QUIET,
            known_in_memory: 400_000,
            hosts_in_memory: 16_384,
            urls_in_memory: 32_768,
            merge_after: 32768,
            shows: ReadableTables::Nothing,
        }
    }
}

/// The store of one crawl. Clones are the same store; each worker has a [`StoreHandle`].
pub struct MachineStore<H = SystemClock>(Arc<Mutex<LedgerAndFrontier<H>>>);

impl<H> Clone for MachineStore<H> {
    fn clone(&self) -> MachineStore<H> {
        MachineStore(Arc::clone(&self.0))
    }
}

impl MachineStore {
    /// Opens or begins a crawl: the ledger of hosts, and the crawl's own file.
    pub fn open(ledger: &Path, crawl: &Path, options: Options) -> Result<MachineStore, OpenError> {
        MachineStore::open_with(ledger, crawl, options, SystemClock)
    }

    /// Begins a crawl that cannot be resumed: its frontier ends with the last clone. The ledger is
    /// in a file or in a database.
    pub fn open_passing(
        ledger: impl Into<LedgerPlace>,
        options: Options,
    ) -> Result<MachineStore, OpenError> {
        MachineStore::open_passing_with(ledger, options, SystemClock)
    }
}

impl<H: MachineClock> MachineStore<H> {
    /// Like [`MachineStore::open_passing`], with other clocks.
    pub fn open_passing_with(
        ledger: impl Into<LedgerPlace>,
        options: Options,
        hours: H,
    ) -> Result<MachineStore<H>, OpenError> {
        let mut ledger = HostLedger::open(ledger.into(), hours, &options)?;
        let file = CrawlFrontier::passing(ledger.now(), options)?;
        Ok(MachineStore(Arc::new(Mutex::new(LedgerAndFrontier::new(ledger, file)))))
    }

    /// Like [`MachineStore::open`], with other clocks.
    pub fn open_with(
        ledger: &Path,
        crawl: &Path,
        options: Options,
        hours: H,
    ) -> Result<MachineStore<H>, OpenError> {
        let mut ledger = Ledger::open_showing(ledger, hours, &options)?;
        let (mut file, last_ledger) = CrawlFrontier::open(crawl, ledger.now(), options)?;
        if last_ledger.is_some_and(|id| id != ledger.id()) {
            // The starts of this crawl's requests are in another ledger.
            let path = ledger.path().to_owned();
            ledger.new_epoch(false).map_err(|e| OpenError::sqlite(&path, e))?;
        }
        file.set_ledger(ledger.id()).map_err(|e| OpenError::sqlite(crawl, e))?;
        Ok(MachineStore(Arc::new(Mutex::new(LedgerAndFrontier::new(
            HostLedger::File(ledger),
            file,
        )))))
    }

    /// Returns the handle of the only worker.
    pub fn handle(&self) -> StoreHandle<H> {
        StoreHandle::new(Arc::clone(&self.0), HostShare::WHOLE)
    }

    /// Returns the handle of one of several workers. Each worker has hosts of its own. It takes
    /// other workers' hosts only if it has none and they are overdue.
    pub fn handle_of(&self, worker: usize, workers: usize) -> StoreHandle<H> {
        let share = HostShare { of: worker, workers: workers.max(1), late_too: false };
        StoreHandle::new(Arc::clone(&self.0), share)
    }

    /// Returns why the store can't write at the moment, with the next step.
    pub fn trouble(&self) -> Option<String> {
        self.lock().trouble.clone()
    }

    /// Notes the number of a worker of this process before its first lease. If the process is
    /// killed, the next process that opens the file recognises its leases.
    pub fn note_worker(&self, worker: u64) {
        self.lock().file.note_worker(worker);
    }

    /// Whether a host may still be answering requests of a killed process that crawled into this
    /// file.
    pub fn answers_killed(&self, host: &HostKey) -> bool {
        let mut core = self.lock();
        let now = core.ledger.now();
        let Ok(view) = core.view(host, now) else { return false };
        let before = core.file.runs_before();
        before.is_some_and(|before| view.state.in_flight(now).any(|lease| before.had(lease.id)))
    }

    /// Notes that a run has ended with nothing in flight, so the next process has no leases to
    /// recognise.
    pub fn end_run(&self) {
        self.lock().file.end_run();
    }

    /// Begins a run: budgets of time and of pages count from here.
    pub fn begin_run(&self) -> Result<(), StoreError> {
        self.run("begin_run", |core| core.file.begin_run(core.ledger.now(), false))
    }

    /// Begins the crawl anew, with an empty queue and no known URLs. Rows and the ledger stay.
    pub fn begin_again(&self) -> Result<(), StoreError> {
        self.run("begin_again", |core| core.file.begin_run(core.ledger.now(), true))
    }

    /// Queues URLs that had ended, whether known or not: a larger budget may allow them now.
    pub fn put_back(&self, records: Vec<UrlRecord>) -> Result<(), StoreError> {
        self.run("put_back", |core| {
            records.into_iter().try_for_each(|record| core.file.put_back(record))?;
            core.file.save()
        })
    }

    /// Returns those of these seeds that the crawl did not begin with; `None` if its seeds are not
    /// known, as for a crawl that has not begun.
    pub fn other_seeds(&self, seeds: &[CrawlUrl]) -> Result<Option<Vec<CrawlUrl>>, StoreError> {
        self.run("seeds", |core| core.file.other_seeds(seeds))
    }

    /// Adds seeds to those of the crawl.
    pub fn keep_seeds(&self, seeds: &[CrawlUrl]) -> Result<(), StoreError> {
        self.run("seeds", |core| core.file.keep_seeds(seeds))
    }

    /// Forgets the seeds of the crawl.
    pub fn drop_seeds(&self) -> Result<(), StoreError> {
        self.run("seeds", |core| core.file.drop_seeds())
    }

    /// Keeps a hash of this run's settings. Returns whether the last run had other settings.
    pub fn settings_changed(&self, settings: u64) -> Result<bool, StoreError> {
        let before = self.run("settings", |core| core.file.swap_settings(settings as i64))?;
        Ok(before.is_some_and(|before| before != settings as i64))
    }

    /// Makes hosts with work due now, and forgets failures during which no request of ours could
    /// reach them. `hosts` are taken first, `max` at most in all.
    pub fn try_anew(
        &self,
        why: Anew,
        mut hosts: Vec<HostKey>,
        max: usize,
    ) -> Result<(), StoreError> {
        self.run("wake", |core| {
            hosts.extend(core.file.wake_all(core.ledger.now(), max)?);
            hosts.sort();
            hosts.dedup();
            hosts.iter().take(max).try_for_each(|host| core.ledger.try_anew(host, why))
        })
    }

    /// Marks URLs as known without queueing them: the caller has their pages already.
    pub fn note_known(&self, keys: Vec<UrlKey>) -> Result<(), StoreError> {
        self.run("note_known", |core| {
            keys.into_iter().try_for_each(|key| core.file.note_known(key))
        })
    }

    /// Returns URLs that are not settled, `max` at most.
    pub fn left(&self, max: usize) -> Result<Vec<UrlRecord>, StoreError> {
        self.run("left", |core| core.file.left(max))
    }

    /// Returns the number of URLs that are not settled.
    pub fn queued(&self) -> u64 {
        self.lock().file.queued()
    }

    /// Returns the number of pages that were charged to this run.
    pub fn pages(&self) -> u64 {
        self.lock().file.job.pages
    }

    /// Gives or lifts a stop order: nothing more is requested from a stopped host.
    pub fn stop(&self, host: &HostKey, stopped: bool) -> Result<(), StoreError> {
        self.run("stop", |core| {
            let changed = core.ledger.give(host, stopped)?;
            core.ordered(changed, std::slice::from_ref(host))
        })
    }

    /// Returns a host's state.
    pub fn state(&self, host: &HostKey) -> Result<Arc<HostState>, StoreError> {
        self.run("state", |core| core.ledger.state(host))
    }

    /// Returns the store's time.
    pub fn now(&self) -> Time {
        self.lock().ledger.now()
    }

    /// Returns the store's time, and how often another process was found to have written to the
    /// ledger. Data that others keep beside the ledger is unchanged while that number is.
    pub fn now_and_others(&self) -> (Time, u64) {
        let mut core = self.lock();
        (core.ledger.now(), core.ledger.others())
    }

    /// Returns a robots.txt by its hash, if the ledger has it.
    pub fn robots(&self, id: RobotsId) -> Option<Arc<RobotsFile>> {
        self.lock().robots(id).ok().flatten()
    }

    /// Returns hosts with work that no visit has, with their due times and numbers of URLs. The
    /// host that waits longest comes first.
    pub fn waiting(&self, hosts: usize) -> Vec<(HostKey, Time, u64)> {
        let mut core = self.lock();
        let now = core.ledger.now();
        core.file.waiting(now, hosts)
    }

    /// Returns how many hosts have work, and those with the most work and those that wait longest:
    /// each with the end of its wait, if it waits, and its number of URLs. Hosts that are only in
    /// the table are left out.
    pub fn busiest(&self, hosts: usize) -> (u64, Vec<(HostKey, Option<Time>, u64)>) {
        let mut core = self.lock();
        let now = core.ledger.now();
        core.file.busiest(now, hosts)
    }

    /// Returns when a host is handed out next, and its first URLs.
    pub fn schedule(&self, host: &HostKey) -> Result<(Option<Time>, Vec<UrlRecord>), StoreError> {
        self.run("schedule", |core| core.file.schedule(host))
    }

    /// Loses everything and begins a new epoch, as after the replacement of a disk. For tests.
    pub fn empty(&self) -> Result<(), StoreError> {
        self.run("empty", |core| {
            core.ledger.empty()?;
            core.file.empty().map_err(StoreFault::from)
        })
    }

    fn lock(&self) -> MutexGuard<'_, LedgerAndFrontier<H>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a job. If it fails, the store has refused `verb` and is in trouble.
    fn run<T, E: Into<StoreFault>>(
        &self,
        verb: &'static str,
        job: impl FnOnce(&mut LedgerAndFrontier<H>) -> Result<T, E>,
    ) -> Result<T, StoreError> {
        let mut core = self.lock();
        job(&mut core).map_err(|fault| core.refused(verb, fault))
    }
}

/// A write that a worker requests.
pub(crate) enum StoreWrite {
    Offer(Vec<UrlRecord>),
    Remind(Vec<UrlRecord>),
    /// With the page of the exchange, if it is to be kept.
    Commit(Box<Commit>, Option<Arc<PageWrite>>),
    Settle(Vec<UrlWrite>),
    /// A page alone.
    Keep(Arc<PageWrite>),
}

impl StoreWrite {
    fn verb(&self) -> &'static str {
        match self {
            StoreWrite::Offer(_) => "offer",
            StoreWrite::Remind(_) => "remind",
            StoreWrite::Commit(..) => "commit",
            StoreWrite::Settle(_) => "settle",
            StoreWrite::Keep(_) => "keep",
        }
    }

    /// Whether it needs a transaction of the ledger.
    fn is_for_ledger(&self) -> bool {
        matches!(self, StoreWrite::Commit(..) | StoreWrite::Keep(_))
    }
}

/// The result of a write that was carried out.
pub(crate) enum WriteReply {
    Offered(Offered),
    Committed(Committed),
    Done,
}

/// The ledger and the frontier, with what is in memory of them.
pub(crate) struct LedgerAndFrontier<H> {
    ledger: HostLedger<H>,
    file: CrawlFrontier,
    trouble: Option<String>,
    /// A write in the ledger's transaction has failed, so the transaction must be rolled back.
    spoilt: bool,
}

impl<H: MachineClock> LedgerAndFrontier<H> {
    fn new(ledger: HostLedger<H>, file: CrawlFrontier) -> LedgerAndFrontier<H> {
        LedgerAndFrontier { ledger, file, trouble: None, spoilt: false }
    }

    /// Carries out a batch in one transaction of each file.
    pub(crate) fn carry_out(
        &mut self,
        batch: Vec<StoreWrite>,
    ) -> Vec<Result<WriteReply, StoreError>> {
        let kinds: Vec<_> =
            batch.iter().map(|write| (write.verb(), write.is_for_ledger())).collect();
        let writes = kinds.iter().any(|(_, for_ledger)| *for_ledger);
        let begun = if writes { self.begin(&batch) } else { Ok(()) };
        let mut answers: Vec<_> =
            batch.into_iter().map(|write| self.write(write, &begun)).collect();
        // The ledger first: other processes act on it.
        let ledger_done = begun.is_ok() && (!writes || self.end());
        let saved = self.file.save();
        for (answer, (verb, for_ledger)) in answers.iter_mut().zip(kinds) {
            if saved.is_err() || begun.is_ok() && for_ledger && !ledger_done {
                *answer = Err(StoreError::Unknown(verb));
            }
        }
        match saved {
            Err(error) => self.trouble = Some(self.file.trouble(&error)),
            Ok(()) if ledger_done => self.trouble = None,
            Ok(()) => {}
        }
        answers
    }

    fn begin(&mut self, batch: &[StoreWrite]) -> Result<(), StoreError> {
        let changed = self.ledger.begin().map_err(|e| self.refused("commit", e))?;
        let hosts = batch.iter().filter_map(|write| match write {
            StoreWrite::Commit(commit, _) => Some(&commit.host),
            _ => None,
        });
        let hosts: Vec<&HostKey> = hosts.collect();
        let ready = self.take_in(changed).and_then(|()| self.ledger.look_ahead(&hosts));
        ready.map_err(|fault| {
            self.ledger.roll_back();
            self.refused("commit", fault)
        })
    }

    /// Ends the ledger's transaction. Returns whether it is written.
    fn end(&mut self) -> bool {
        if std::mem::take(&mut self.spoilt) {
            self.ledger.roll_back();
            return false;
        }
        let ended = self.ledger.end();
        ended.map_err(|fault| self.trouble = Some(fault.trouble(&self.ledger.place()))).is_ok()
    }

    /// Applies what other processes changed in the ledger to this crawl's schedule.
    fn take_in(&mut self, changed: Changed) -> Result<(), StoreFault> {
        let now = self.ledger.now();
        for host in changed.lifted {
            self.file.reschedule(&host, now)?;
        }
        Ok(self.file.in_epoch(self.ledger.epoch().id)?)
    }

    fn write(
        &mut self,
        write: StoreWrite,
        begun: &Result<(), StoreError>,
    ) -> Result<WriteReply, StoreError> {
        let verb = write.verb();
        if write.is_for_ledger() {
            begun.clone()?;
        }
        let done = match write {
            StoreWrite::Offer(records) => {
                let mut offered = Offered::default();
                let mut records = records.into_iter();
                records
                    .try_for_each(|record| self.file.offer(record, &mut offered))
                    .map(|()| WriteReply::Offered(offered))
                    .map_err(StoreFault::from)
            }
            StoreWrite::Remind(records) => {
                let epoch = self.ledger.epoch().id;
                let done = records.iter().try_for_each(|record| self.file.remind(record, epoch));
                done.map(|()| WriteReply::Done).map_err(StoreFault::from)
            }
            StoreWrite::Settle(writes) => {
                let done = writes.into_iter().try_for_each(|write| self.settle(write));
                done.map(|()| WriteReply::Done)
            }
            StoreWrite::Commit(commit, page) => {
                self.commit(*commit, page).map(WriteReply::Committed)
            }
            StoreWrite::Keep(page) => {
                let now = self.ledger.now();
                if let Err(fault) = self.ledger.keep_page(&page, now) {
                    self.trouble = Some(fault.trouble(&self.ledger.place()));
                }
                Ok(WriteReply::Done)
            }
        };
        done.map_err(|fault| self.unknown(verb, fault))
    }

    fn settle(&mut self, write: UrlWrite) -> Result<(), StoreFault> {
        let from = write.from.clone();
        self.file.write_url(write)?;
        if let Some(host) = from {
            self.file.queue_changed(&host);
        }
        Ok(())
    }

    fn commit(
        &mut self,
        commit: Commit,
        page: Option<Arc<PageWrite>>,
    ) -> Result<Committed, StoreFault> {
        let now = self.ledger.now();
        let found = self.found(&commit, now)?;
        if let Err(conflict) = check(&commit, &found, now) {
            return conflict.answer(&commit, now, || self.view(&commit.host, now));
        }
        let written = self.write_commit(commit, page, found.version, now);
        // A part of it must not become visible.
        self.spoilt |= written.is_err();
        written
    }

    /// Reads what a commit is checked against.
    fn found(&mut self, commit: &Commit, now: Time) -> Result<CommitFacts, StoreFault> {
        let grant = commit.grant.as_ref();
        let claimed = match grant.and_then(|grant| grant.url) {
            Some((id, claim)) => self.file.is_claimed(&commit.host, id, claim)?,
            None => true,
        };
        let slots = match grant.and_then(|grant| grant.address) {
            Some(claim) => {
                let taken = self.ledger.slots_taken(claim.address, now);
                taken.inspect_err(|_| self.spoilt = true)?
            }
            None => SlotsTaken::default(),
        };
        Ok(CommitFacts {
            epoch: self.ledger.epoch().id,
            version: self.ledger.row(&commit.host)?.version,
            claimed,
            stopped: self.ledger.orders().is_stopped(&commit.host),
            pages: self.file.job.pages,
            slots,
        })
    }

    /// Writes a commit that was checked.
    fn write_commit(
        &mut self,
        commit: Commit,
        page: Option<Arc<PageWrite>>,
        mut version: u64,
        now: Time,
    ) -> Result<Committed, StoreFault> {
        let host = &commit.host;
        if let Some(grant) = &commit.grant {
            if let Some(claim) = &grant.address {
                self.ledger.take_slot(claim, grant.lease)?;
            }
            if grant.charge.is_some() {
                self.file.charge();
            }
        }
        if let Some((address, lease)) = commit.release {
            self.ledger.give_slot(address, lease)?;
        }
        for (id, file) in &commit.robots {
            self.ledger.keep_robots(*id, file, now)?;
        }
        if let Some(state) = commit.state {
            version = self.ledger.write(host, state, commit.exchanged.as_ref(), now)?;
        }
        if let Some(page) = page {
            self.ledger.keep_page(&page, now)?;
        }
        for write in commit.urls {
            self.file.write_url(write)?;
        }
        self.file.reschedule(&commit.host, commit.not_before)?;
        Ok(Committed::Done(Saved { version, now }))
    }

    fn view(&mut self, host: &HostKey, now: Time) -> Result<View, StoreFault> {
        let (epoch, job, stopped) =
            (self.ledger.epoch(), self.file.job, self.ledger.orders().is_stopped(host));
        let row = self.ledger.row(host)?;
        let (mut state, version) = (row.state.clone(), row.version);
        if let Some(shorter) = self.file.runs_before().and_then(|before| before.shorten(&state)) {
            state = Arc::new(shorter);
        }
        Ok(View { host: host.clone(), state, version, now, stopped, epoch, job })
    }

    /// Returns those of these records that may be unknown. A URL that memory knows is on the disk,
    /// unless a write has failed.
    pub(crate) fn unknown_of(&self, records: &[UrlRecord]) -> Vec<UrlRecord> {
        let unwritten = self.trouble.is_some();
        let unknown = records.iter().filter(|record| unwritten || !self.file.knows(record.id));
        unknown.cloned().collect()
    }

    /// Hands out due hosts.
    pub(crate) fn take(&mut self, hosts: usize, share: HostShare) -> Result<Taken, StoreError> {
        self.try_take(hosts, share).map_err(|e| self.refused("take", e))
    }

    fn try_take(&mut self, hosts: usize, share: HostShare) -> Result<Taken, StoreFault> {
        let changed = self.ledger.refresh()?;
        self.take_in(changed)?;
        let now = self.ledger.now();
        let epoch = self.ledger.epoch();
        let quiet = epoch.quiet_after(now);
        let mut due = Vec::new();
        while quiet.is_none() && due.len() < hosts {
            let Some(host) = self.file.take(now, share)? else {
                break;
            };
            due.push(host);
        }
        // A worker without a due host of its own takes one that another worker has left overdue.
        if quiet.is_none()
            && due.is_empty()
            && hosts > 0
            && let Some(host) = self.file.take(now, HostShare { late_too: true, ..share })?
        {
            due.push(host);
        }
        let names: Vec<&HostKey> = due.iter().map(|(host, _)| host).collect();
        self.ledger.look_ahead(&names)?;
        let visits = self.visits(due, now)?;
        let next_due = quiet.or(self.file.next_due(now, share));
        let orders = Arc::clone(self.ledger.orders());
        Ok(Taken { visits, now, next_due, epoch, queued: self.file.queued(), orders })
    }

    /// Returns every host with its first URLs, if all of them wait.
    pub(crate) fn all_waiting(&mut self, hosts: usize) -> Result<Option<Vec<Visit>>, StoreError> {
        let now = self.ledger.now();
        let waiting = self.file.all_waiting(now, hosts).map_err(|e| self.refused("waiting", e))?;
        let Some(waiting) = waiting else { return Ok(None) };
        self.visits(waiting, now).map(Some).map_err(|e| self.refused("waiting", e))
    }

    fn visits(&mut self, hosts: Vec<Queued>, now: Time) -> Result<Vec<Visit>, StoreFault> {
        let visit = |(host, urls)| Ok(Visit { view: self.view(&host, now)?, urls });
        hosts.into_iter().map(visit).collect()
    }

    /// Takes over orders that workers remember.
    pub(crate) fn order(&mut self, orders: &[Order]) -> Result<(), StoreError> {
        let hosts: Vec<HostKey> = orders.iter().map(|order| order.host.clone()).collect();
        let taken = self.ledger.order(orders);
        taken
            .and_then(|changed| self.ordered(changed, &hosts))
            .map_err(|e| self.refused("order", e))
    }

    /// Makes hosts due whose orders were lifted.
    fn ordered(&mut self, changed: Changed, hosts: &[HostKey]) -> Result<(), StoreFault> {
        self.take_in(changed)?;
        let now = self.ledger.now();
        for host in hosts {
            if !self.ledger.orders().is_stopped(host) {
                self.file.reschedule(host, now)?;
            }
        }
        Ok(())
    }

    /// Reads a host's state.
    pub(crate) fn load(&mut self, host: &HostKey) -> Result<View, StoreError> {
        let read = self.ledger.refresh().and_then(|changed| {
            self.take_in(changed)?;
            let now = self.ledger.now();
            self.view(host, now)
        });
        read.map_err(|e| self.refused("load", e))
    }

    /// Reads a robots.txt.
    pub(crate) fn robots(&mut self, id: RobotsId) -> Result<Option<Arc<RobotsFile>>, StoreError> {
        self.ledger.robots(id).map_err(|e| self.refused("robots", e))
    }

    /// Returns what is kept of each of these pages. A page that can't be read costs a request.
    pub(crate) fn pages(&mut self, keys: &[UrlKey]) -> Vec<Option<CachedPage>> {
        self.ledger.pages(keys).unwrap_or_else(|_| vec![None; keys.len()])
    }

    /// Returns a page whose text is kept.
    pub(crate) fn page(&mut self, key: UrlKey) -> Option<(Head, Fetched)> {
        self.ledger.page(key).ok().flatten()
    }

    /// Whether pages are kept.
    pub(crate) fn keeps_pages(&self) -> bool {
        self.ledger.shows().anything()
    }

    fn refused(&mut self, what: &'static str, fault: impl Into<StoreFault>) -> StoreError {
        let why = fault.into().trouble(&self.ledger.place());
        self.trouble = Some(why.clone());
        StoreError::Refused(what, why)
    }

    fn unknown(&mut self, what: &'static str, fault: impl Into<StoreFault>) -> StoreError {
        let why = match fault.into() {
            StoreFault::Sqlite(error) => self.file.trouble(&error),
            #[cfg(feature = "postgres")]
            fault => fault.trouble(&self.ledger.place()),
        };
        self.trouble = Some(why);
        StoreError::Unknown(what)
    }
}

impl<H> Drop for LedgerAndFrontier<H> {
    fn drop(&mut self) {
        // Otherwise the next open merges the journal. This makes the file smaller, and opening it
        // faster.
        let _ = self.file.merge();
    }
}
