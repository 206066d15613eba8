//! A crawl: the ledger and the crawl's file together, and what the engine's verbs do to both. The ledger is a file too, or a database.
//!
//! Changes come in batches. A batch is one transaction of the ledger, then one of the crawl's file. Memory is changed as the batch
//! goes along; nobody is told before both are written. If one can't be, every answer that hangs on it is "unknown": a grant whose
//! ledger was not written has its URL's claim all the same and costs it a try, and a crawl's file that could not be written keeps
//! its changes for the next batch.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use curtsy_core::host::{Anew, HostState, RobotsId};
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, HostKey, UrlKey};
use curtsy_engine::{
    CachedPage, Commit, Committed, Fetched, Head, Offered, Order, Refusal, RobotsFile, Saved,
    StoreError, Taken, UrlRecord, UrlWrite, View, Visit,
};

use crate::books::Books;
use crate::crawl::{CrawlFile, Limits, Share};
use crate::fault::Fault;
use crate::ledger::Changed;
use crate::pages::PageWrite;
use crate::{Handle, Hours, Ledger, Machine, OpenError, Place, Shows};

/// An address whose slots are taken is looked at again so soon: they are given back early far more often than they run out.
const ADDRESS_LOOK: Duration = Duration::from_secs(1);

/// How a crawl's store behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long nothing is granted in a new epoch: one lease, so that what was in flight before has ended.
    pub quiet: Duration,
    /// Keys of known URLs in memory: about 40 bytes each.
    pub known_in_memory: usize,
    /// Hosts with work in memory: about 500 bytes each.
    pub hosts_in_memory: usize,
    /// URLs of all hosts in memory: about 500 bytes each.
    pub urls_in_memory: usize,
    /// Changes after which the tables are brought up to date with the journal.
    pub merge_after: usize,
    /// What is shown in tables beside what is known of hosts.
    pub shows: Shows,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            quiet: Duration::from_secs(31),
            known_in_memory: 400_000,
            hosts_in_memory: 16_384,
            urls_in_memory: 32_768,
            merge_after: 32768,
            shows: Shows::Nothing,
        }
    }
}

impl Options {
    fn limits(&self) -> Limits {
        Limits {
            known: self.known_in_memory,
            hosts: self.hosts_in_memory,
            urls: self.urls_in_memory,
            changes: self.merge_after,
        }
    }
}

/// The store of one crawl. Clones are the same store; each worker has a [`Handle`].
pub struct Crawl<H = Machine>(Arc<Mutex<Core<H>>>);

impl<H> Clone for Crawl<H> {
    fn clone(&self) -> Crawl<H> {
        Crawl(Arc::clone(&self.0))
    }
}

impl Crawl {
    /// Opens or begins a crawl on this machine: its ledger of hosts, and the crawl's own file.
    pub fn open(ledger: &Path, crawl: &Path, options: Options) -> Result<Crawl, OpenError> {
        Crawl::open_with(ledger, crawl, options, Machine)
    }

    /// Begins a crawl on this machine that nobody goes on with: what is queued and known goes with its last clone. What is known of hosts
    /// is in a file or in a database.
    pub fn open_passing(ledger: impl Into<Place>, options: Options) -> Result<Crawl, OpenError> {
        Crawl::open_passing_with(ledger, options, Machine)
    }
}

impl<H: Hours> Crawl<H> {
    /// The same with other clocks.
    pub fn open_passing_with(
        ledger: impl Into<Place>,
        options: Options,
        hours: H,
    ) -> Result<Crawl<H>, OpenError> {
        let limits = options.limits();
        let mut ledger = Books::open(ledger.into(), hours, options.quiet, options.shows)?;
        let file = CrawlFile::passing(ledger.now(), limits)?;
        Ok(Crawl(Arc::new(Mutex::new(Core::new(ledger, file)))))
    }
}

impl<H: Hours> Crawl<H> {
    /// The same with other clocks.
    pub fn open_with(
        ledger: &Path,
        crawl: &Path,
        options: Options,
        hours: H,
    ) -> Result<Crawl<H>, OpenError> {
        let limits = options.limits();
        let mut ledger = Ledger::open_showing(ledger, hours, options.quiet, options.shows)?;
        let (mut file, lived_by) = CrawlFile::open(crawl, ledger.now(), limits)?;
        if lived_by.is_some_and(|id| id != ledger.id) {
            // What this crawl started is written elsewhere.
            let path = ledger.path().to_owned();
            ledger.new_epoch(false).map_err(|e| OpenError::sqlite(&path, e))?;
        }
        file.set_ledger(ledger.id).map_err(|e| OpenError::sqlite(crawl, e))?;
        Ok(Crawl(Arc::new(Mutex::new(Core::new(Books::File(ledger), file)))))
    }

    /// A worker's handle.
    pub fn handle(&self) -> Handle<H> {
        Handle::new(Arc::clone(&self.0), Share::WHOLE)
    }

    /// The handle of one of several workers: each has hosts of its own, and takes those of others only when it has none and they are late.
    pub fn handle_of(&self, worker: usize, workers: usize) -> Handle<H> {
        Handle::new(
            Arc::clone(&self.0),
            Share { of: worker, workers: workers.max(1), late_too: false },
        )
    }

    /// What keeps the store from writing at the moment, with the next step.
    pub fn trouble(&self) -> Option<String> {
        self.with(|core| core.trouble.clone())
    }

    /// Notes the number of a worker of this process before its first lease. If the process is killed, the next one that opens the file knows
    /// which leases were its own.
    pub fn note_worker(&self, worker: u64) {
        self.with(|core| core.file.note_worker(worker));
    }

    /// Whether a host may still be answering requests of an earlier process that crawled into this file and was killed.
    pub fn answers_killed(&self, host: &HostKey) -> bool {
        self.with(|core| {
            let now = core.ledger.now();
            let Ok(view) = core.view(host, now) else { return false };
            let before = core.file.runs_before();
            before.is_some_and(|before| view.state.in_flight(now).any(|l| before.had(l.id)))
        })
    }

    /// Notes that a run has come to its end with nothing in flight: the next process has no leases of this one to look for.
    pub fn end_run(&self) {
        self.with(|core| core.file.end_run());
    }

    /// Begins a run: budgets of time and of pages count from here.
    pub fn begin_run(&self) -> Result<(), StoreError> {
        self.with(|core| {
            let now = core.ledger.now();
            core.file.begin_run(now, false).map_err(|e| core.refused("begin_run", e))
        })
    }

    /// Begins the crawl anew: nothing is queued or known. Rows and what is known of hosts stay.
    pub fn begin_again(&self) -> Result<(), StoreError> {
        self.with(|core| {
            let now = core.ledger.now();
            core.file.begin_run(now, true).map_err(|e| core.refused("begin_again", e))
        })
    }

    /// Queues URLs that had ended, known or not: a larger budget may take them after all.
    pub fn put_back(&self, records: Vec<UrlRecord>) -> Result<(), StoreError> {
        self.with(|core| {
            let put = records.into_iter().try_for_each(|record| core.file.put_back(record));
            put.and_then(|()| core.file.save()).map_err(|e| core.refused("put_back", e))
        })
    }

    /// Which of these seeds the crawl was not begun with; none if that is not known, as for a crawl that has not begun.
    pub fn other_seeds(&self, seeds: &[CrawlUrl]) -> Result<Option<Vec<CrawlUrl>>, StoreError> {
        self.with(|core| core.file.other_seeds(seeds).map_err(|e| core.refused("seeds", e)))
    }

    /// Keeps the seeds of the crawl, besides those that it has.
    pub fn keep_seeds(&self, seeds: &[CrawlUrl]) -> Result<(), StoreError> {
        self.with(|core| core.file.keep_seeds(seeds).map_err(|e| core.refused("seeds", e)))
    }

    /// Forgets the seeds that the crawl was begun with.
    pub fn drop_seeds(&self) -> Result<(), StoreError> {
        self.with(|core| core.file.drop_seeds().map_err(|e| core.refused("seeds", e)))
    }

    /// Keeps a number that stands for the settings of this run; tells whether the last run had others.
    pub fn settings_changed(&self, settings: u64) -> Result<bool, StoreError> {
        self.with(|core| {
            let before = core.file.swap_settings(settings as i64);
            let before = before.map_err(|e| core.refused("settings", e))?;
            Ok(before.is_some_and(|before| before != settings as i64))
        })
    }

    /// Has hosts with work looked at at once, and takes back what was held against them while no request of ours could reach them.
    /// So many at most; those that were found already take part.
    pub fn try_anew(
        &self,
        why: Anew,
        mut hosts: Vec<HostKey>,
        max: usize,
    ) -> Result<(), StoreError> {
        self.with(|core| {
            let now = core.ledger.now();
            hosts.extend(core.file.wake_all(now, max).map_err(|e| core.refused("wake", e))?);
            hosts.sort();
            hosts.dedup();
            for host in hosts.iter().take(max) {
                core.ledger.try_anew(host, why).map_err(|e| core.refused("wake", e))?;
            }
            Ok(())
        })
    }

    /// URLs that are not to be asked for, as somebody holds their pages.
    pub fn note_known(&self, keys: Vec<UrlKey>) -> Result<(), StoreError> {
        self.with(|core| {
            let noted = keys.into_iter().try_for_each(|key| core.file.note_known(key));
            noted.map_err(|e| core.refused("note_known", e))
        })
    }

    /// URLs that are not settled, at most so many, for whoever tells what became of them.
    pub fn left(&self, max: usize) -> Result<Vec<UrlRecord>, StoreError> {
        self.with(|core| core.file.left(max).map_err(|e| core.refused("left", e)))
    }

    /// URLs that are not settled.
    pub fn queued(&self) -> u64 {
        self.with(|core| core.file.queued)
    }

    /// Pages charged so far.
    pub fn pages(&self) -> u64 {
        self.with(|core| core.file.job.pages)
    }

    /// Orders that nothing more is asked of a host, or lifts the order.
    pub fn stop(&self, host: &HostKey, stopped: bool) -> Result<(), StoreError> {
        self.with(|core| {
            let given = core.ledger.give(host, stopped);
            given
                .and_then(|changed| core.ordered(changed, std::slice::from_ref(host)))
                .map_err(|e| core.refused("stop", e))
        })
    }

    /// A host's state.
    pub fn state(&self, host: &HostKey) -> Result<Arc<HostState>, StoreError> {
        self.with(|core| core.ledger.state(host).map_err(|e| core.refused("state", e)))
    }

    /// The store's time.
    pub fn now(&self) -> Time {
        self.with(|core| core.ledger.now())
    }

    /// The store's time, and how often others were found to have written to the ledger: whoever keeps something beside it need not look
    /// again while that number stays.
    pub fn now_and_others(&self) -> (Time, u64) {
        self.with(|core| (core.ledger.now(), core.ledger.others()))
    }

    /// A robots.txt by its hash, if the ledger has it.
    pub fn robots(&self, id: RobotsId) -> Option<Arc<RobotsFile>> {
        self.with(|core| core.robots(id).ok().flatten())
    }

    /// Hosts with work that nobody visits, with when they fall due and how many URLs they have: those that wait longest first.
    pub fn waiting(&self, hosts: usize) -> Vec<(HostKey, Time, u64)> {
        self.with(|core| {
            let now = core.ledger.now();
            core.file.waiting(now, hosts)
        })
    }

    /// How many hosts have work, and those of them with the most and those that wait longest, each with the time that it waits for, if
    /// it waits, and how much work it has. Hosts that rest in the table are not among them.
    pub fn busiest(&self, hosts: usize) -> (u64, Vec<(HostKey, Option<Time>, u64)>) {
        self.with(|core| {
            let now = core.ledger.now();
            core.file.busiest(now, hosts)
        })
    }

    /// When a host is handed out next, and its first URLs: for whoever asks why nothing happens.
    pub fn schedule(&self, host: &HostKey) -> Result<(Option<Time>, Vec<UrlRecord>), StoreError> {
        self.with(|core| core.file.schedule(host).map_err(|e| core.refused("schedule", e)))
    }

    /// Loses everything and begins a new epoch, as a disk that was replaced does: for tests.
    pub fn empty(&self) -> Result<(), StoreError> {
        self.with(|core| {
            core.ledger.empty().map_err(|e| core.refused("empty", e))?;
            core.file.empty().map_err(|e| core.refused("empty", e))
        })
    }

    fn with<T>(&self, ask: impl FnOnce(&mut Core<H>) -> T) -> T {
        ask(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

/// What a worker asks to be written.
pub(crate) enum Wish {
    Offer(Vec<UrlRecord>),
    Remind(Vec<UrlRecord>),
    /// With the page that was seen, if there is one to keep.
    Commit(Box<Commit>, Option<Arc<PageWrite>>),
    Settle(Vec<UrlWrite>),
    /// A page by itself.
    Keep(Arc<PageWrite>),
}

impl Wish {
    /// The host whose state it writes.
    fn host(&self) -> Option<&HostKey> {
        match self {
            Wish::Commit(commit, _) => Some(&commit.host),
            _ => None,
        }
    }

    /// Whether it needs a transaction of the ledger.
    fn is_for_ledger(&self) -> bool {
        matches!(self, Wish::Commit(..) | Wish::Keep(_))
    }
}

/// What became of it.
pub(crate) enum Answer {
    Offered(Result<Offered, StoreError>),
    Done(Result<(), StoreError>),
    Committed(Result<Committed, StoreError>),
    /// Losing a page costs a request: nobody asks again.
    Kept,
}

/// Both files, with everything that is in memory of them.
pub(crate) struct Core<H> {
    ledger: Books<H>,
    file: CrawlFile,
    trouble: Option<String>,
    /// A write of the ledger's transaction failed: it is not ended well.
    spoilt: bool,
}

impl<H: Hours> Core<H> {
    fn new(ledger: Books<H>, file: CrawlFile) -> Core<H> {
        Core { ledger, file, trouble: None, spoilt: false }
    }

    /// Carries out a batch: one transaction of each file.
    pub(crate) fn carry_out(&mut self, batch: Vec<Wish>) -> Vec<Answer> {
        let writes = batch.iter().any(Wish::is_for_ledger);
        let begun = match writes {
            true => self.begin(&batch),
            false => Ok(()),
        };
        let mut answers: Vec<Answer> =
            batch.into_iter().map(|wish| self.wish(wish, &begun)).collect();
        let mut healthy = begun.is_ok();
        // The ledger first: what it says is what others see.
        if begun.is_ok() && writes && !self.end() {
            healthy = false;
            for answer in &mut answers {
                if let Answer::Committed(done) = answer {
                    *done = Err(StoreError::Unknown("commit"));
                }
            }
        }
        if let Err(error) = self.file.save() {
            self.note(self.file.trouble(&error));
            healthy = false;
            for answer in &mut answers {
                match answer {
                    Answer::Offered(done) => *done = Err(StoreError::Unknown("offer")),
                    Answer::Done(done) => *done = Err(StoreError::Unknown("settle")),
                    Answer::Committed(done) => *done = Err(StoreError::Unknown("commit")),
                    Answer::Kept => {}
                }
            }
        }
        if healthy {
            self.trouble = None;
        }
        answers
    }

    fn begin(&mut self, batch: &[Wish]) -> Result<(), StoreError> {
        let changed = self.ledger.begin().map_err(|e| self.refused("commit", e))?;
        let hosts: Vec<&HostKey> = batch.iter().filter_map(Wish::host).collect();
        let ready = self.take_in(changed).and_then(|()| self.ledger.look_ahead(&hosts));
        ready.map_err(|fault| {
            self.ledger.roll_back();
            self.refused("commit", fault)
        })
    }

    /// Ends the ledger's transaction; tells whether it is written.
    fn end(&mut self) -> bool {
        if std::mem::take(&mut self.spoilt) {
            self.ledger.roll_back();
            return false;
        }
        match self.ledger.end() {
            Ok(()) => true,
            Err(fault) => {
                self.note(fault.trouble(&self.ledger.place()));
                false
            }
        }
    }

    /// What others did to the ledger, as far as it changes this crawl's schedule.
    fn take_in(&mut self, changed: Changed) -> Result<(), Fault> {
        let now = self.ledger.now();
        for host in changed.lifted {
            self.file.reschedule(&host, now)?;
        }
        Ok(self.file.in_epoch(self.ledger.epoch().id)?)
    }

    fn wish(&mut self, wish: Wish, begun: &Result<(), StoreError>) -> Answer {
        match wish {
            Wish::Offer(records) => {
                let mut offered = Offered::default();
                let done = records
                    .into_iter()
                    .try_for_each(|record| self.file.offer(record, &mut offered));
                Answer::Offered(done.map(|()| offered).map_err(|e| self.unknown("offer", e)))
            }
            Wish::Remind(records) => {
                let epoch = self.ledger.epoch().id;
                let done = records.iter().try_for_each(|record| self.file.remind(record, epoch));
                Answer::Done(done.map_err(|e| self.unknown("remind", e)))
            }
            Wish::Settle(writes) => {
                let done = writes.into_iter().try_for_each(|write| self.settle(write));
                Answer::Done(done.map_err(|e| self.unknown("settle", e)))
            }
            Wish::Commit(commit, page) => Answer::Committed(match begun {
                Ok(()) => self.commit(*commit, page).map_err(|e| self.unknown("commit", e)),
                Err(error) => Err(error.clone()),
            }),
            Wish::Keep(page) => {
                if begun.is_ok() {
                    let now = self.ledger.now();
                    if let Err(fault) = self.ledger.keep_page(&page, now) {
                        self.note(fault.trouble(&self.ledger.place()));
                    }
                }
                Answer::Kept
            }
        }
    }

    fn settle(&mut self, write: UrlWrite) -> Result<(), Fault> {
        let from = write.from.clone();
        self.file.write_url(write)?;
        if let Some(host) = from {
            self.file.queue_changed(&host);
        }
        Ok(())
    }

    fn commit(&mut self, commit: Commit, page: Option<Arc<PageWrite>>) -> Result<Committed, Fault> {
        let now = self.ledger.now();
        let host = &commit.host;
        let same_epoch = commit.epoch == self.ledger.epoch().id;
        // Told even on an old state: a visit with an old list must not wait for turns of what is gone.
        if same_epoch
            && let Some((id, claim)) = commit.grant.as_ref().and_then(|g| g.url)
            && !self.file.is_claimed(host, id, claim)?
        {
            return self.gone_or_ours(&commit, now);
        }
        let version = self.ledger.row(host)?.version;
        if !same_epoch || commit.version != version {
            return Ok(Committed::Stale(self.view(host, now)?));
        }
        let written = self.write_commit(commit, page, version, now);
        // A half of it must not be seen.
        self.spoilt |= written.is_err();
        written
    }

    /// Writes a commit whose version holds, unless a cap or an order is against it.
    fn write_commit(
        &mut self,
        commit: Commit,
        page: Option<Arc<PageWrite>>,
        mut version: u64,
        now: Time,
    ) -> Result<Committed, Fault> {
        let host = &commit.host;
        if let Some(grant) = &commit.grant {
            if self.ledger.orders().is_stopped(host) {
                return Ok(Committed::Refused(Refusal::Stopped));
            }
            if grant.charge.is_some_and(|cap| self.file.job.pages >= cap) {
                return Ok(Committed::Refused(Refusal::Budget));
            }
            if let Some(claim) = &grant.address
                && let Err(free) = self.ledger.take_slot(claim, grant.lease, now)?
            {
                return Ok(Committed::Refused(Refusal::Address(free.min(now + ADDRESS_LOOK))));
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

    /// A grant for a URL that is not there under that claim: somebody else has it, or this very grant had worked and its answer got lost.
    fn gone_or_ours(&mut self, commit: &Commit, now: Time) -> Result<Committed, Fault> {
        let view = self.view(&commit.host, now)?;
        let lease = commit.grant.as_ref().map(|g| g.lease);
        Ok(match lease.is_some_and(|id| view.state.lease(id).is_some()) {
            true => Committed::Stale(view),
            false => Committed::Refused(Refusal::Gone),
        })
    }

    fn view(&mut self, host: &HostKey, now: Time) -> Result<View, Fault> {
        let (epoch, job, stopped) =
            (self.ledger.epoch(), self.file.job, self.ledger.orders().is_stopped(host));
        let row = self.ledger.row(host)?;
        let (mut state, version) = (row.state.clone(), row.version);
        if let Some(shorter) = self.file.runs_before().and_then(|before| before.shorten(&state)) {
            state = Arc::new(shorter);
        }
        Ok(View { host: host.clone(), state, version, now, stopped, epoch, job })
    }

    /// Those that must be written, as far as memory can tell: what is known is on the disk, unless something could not be written.
    pub(crate) fn unknown_of(&self, records: &[UrlRecord]) -> Vec<UrlRecord> {
        let unwritten = self.trouble.is_some();
        let unknown = records.iter().filter(|record| unwritten || !self.file.knows(record.id));
        unknown.cloned().collect()
    }

    /// Hands out hosts that are due.
    pub(crate) fn take(&mut self, hosts: usize, share: Share) -> Result<Taken, StoreError> {
        self.try_take(hosts, share).map_err(|e| self.refused("take", e))
    }

    fn try_take(&mut self, hosts: usize, share: Share) -> Result<Taken, Fault> {
        let changed = self.ledger.refresh()?;
        self.take_in(changed)?;
        let now = self.ledger.now();
        let epoch = self.ledger.epoch();
        let quiet = epoch.quiet_until.filter(|quiet| *quiet > now);
        let mut due = Vec::new();
        while quiet.is_none() && due.len() < hosts {
            let Some(host) = self.file.take(now, share)? else {
                break;
            };
            due.push(host);
        }
        // Whoever has nothing of its own to do helps the others, a host at a time.
        if quiet.is_none()
            && due.is_empty()
            && hosts > 0
            && let Some(host) = self.file.take(now, Share { late_too: true, ..share })?
        {
            due.push(host);
        }
        let names: Vec<&HostKey> = due.iter().map(|(host, _)| host).collect();
        self.ledger.look_ahead(&names)?;
        let mut visits = Vec::with_capacity(due.len());
        for (host, urls) in due {
            visits.push(Visit { view: self.view(&host, now)?, urls });
        }
        let next_due = quiet.or(self.file.next_due(now, share));
        let orders = Arc::clone(self.ledger.orders());
        Ok(Taken { visits, now, next_due, epoch, queued: self.file.queued, orders })
    }

    /// Every host that waits, with its first URLs, if that is all that is left.
    pub(crate) fn all_waiting(&mut self, hosts: usize) -> Result<Option<Vec<Visit>>, StoreError> {
        let now = self.ledger.now();
        let waiting = self.file.all_waiting(now, hosts).map_err(|e| self.refused("waiting", e))?;
        let Some(waiting) = waiting else { return Ok(None) };
        let mut visits = Vec::with_capacity(waiting.len());
        for (host, urls) in waiting {
            let view = self.view(&host, now).map_err(|e| self.refused("waiting", e))?;
            visits.push(Visit { view, urls });
        }
        Ok(Some(visits))
    }

    /// Takes over orders that workers have heard.
    pub(crate) fn order(&mut self, orders: &[Order]) -> Result<(), StoreError> {
        let hosts: Vec<HostKey> = orders.iter().map(|order| order.host.clone()).collect();
        let taken = self.ledger.order(orders);
        taken
            .and_then(|changed| self.ordered(changed, &hosts))
            .map_err(|e| self.refused("order", e))
    }

    /// After orders for these hosts: those that may be asked again are handed out again.
    fn ordered(&mut self, changed: Changed, hosts: &[HostKey]) -> Result<(), Fault> {
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

    /// A robots.txt.
    pub(crate) fn robots(&mut self, id: RobotsId) -> Result<Option<Arc<RobotsFile>>, StoreError> {
        self.ledger.robots(id).map_err(|e| self.refused("robots", e))
    }

    /// What is kept of pages, each in its place. What can't be read is not kept: that costs a request.
    pub(crate) fn pages(&mut self, keys: &[UrlKey]) -> Vec<Option<CachedPage>> {
        self.ledger.pages(keys).unwrap_or_else(|_| vec![None; keys.len()])
    }

    /// A page, if its text is kept.
    pub(crate) fn page(&mut self, key: UrlKey) -> Option<(Head, Fetched)> {
        self.ledger.page(key).ok().flatten()
    }

    /// Whether pages are kept.
    pub(crate) fn keeps_pages(&self) -> bool {
        self.ledger.shows().anything()
    }

    fn note(&mut self, trouble: String) {
        self.trouble = Some(trouble);
    }

    fn refused(&mut self, what: &'static str, fault: impl Into<Fault>) -> StoreError {
        let why = fault.into().trouble(&self.ledger.place());
        self.note(why.clone());
        StoreError::Refused(what, why)
    }

    fn unknown(&mut self, what: &'static str, fault: impl Into<Fault>) -> StoreError {
        let why = match fault.into() {
            Fault::Sqlite(error) => self.file.trouble(&error),
            #[cfg(feature = "postgres")]
            fault => fault.trouble(&self.ledger.place()),
        };
        self.note(why);
        StoreError::Unknown(what)
    }
}

impl<H> Drop for Core<H> {
    fn drop(&mut self) {
        // The next open would do it from the journal: so is the file smaller and read sooner.
        let _ = self.file.merge();
    }
}
