//! Host states and frontier in Redis, for a fleet.
//!
//! Every method of the engine's `Store` is one script, so it happens as a whole or not at all.
//! Scripts compare versions, claims and caps, write, and reschedule. They contain no rule of
//! politeness. `docs/internals/redis.md` describes the keys.
//!
//! Invariants:
//! - **A commit is answered after the write is in Redis.** Redis' configuration decides whether the
//!   write outlives a restart. With `appendfsync always` a restart loses nothing. Otherwise every
//!   restart begins a new epoch, and each worker writes back what it remembers.
//! - **All keys of hosts are on one primary.** Scripts compute the keys that they use.
//! - **The scripts' time is Redis' own** without its steps (`clock`).

pub mod fleet;
pub(crate) mod letters;
pub(crate) mod link;
pub(crate) mod memory_file;
pub(crate) mod pages;
pub(crate) mod queue;
mod record;
mod refusal;
mod reply;
mod rights;
pub mod schedule;
mod script;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{HostState, JobView, RobotsId};
use curtsy_core::time::Time;
use curtsy_core::url::{HostKey, Scheme};
use curtsy_engine::check::{CLOCK_STEP, Conflict, HOLD, LIFTED_MAX};
use curtsy_engine::{
    Clock, Commit, Committed, Epoch, Grant, Mono, Offered, Order, Orders, RobotsFile, Saved, Store,
    StoreError, Taken, UrlRecord, UrlWrite, View, Visit,
};
use redis::Cmd;

use link::by_hash;
use reply::{Reply, Strange, ask, micros};
use script::{COMMIT, LOAD, OFFER, ORDER, RECALL, REMIND, ROBOTS, SETTLE, STEP, TAKE};

pub use letters::{Letter, Letters, Listed};
pub use link::{
    ClientKind, Empty, LinkOptions, RedisLink, Server, Wire, WireError, arrive, is_unknown_script,
};
pub use memory_file::MemoryFile;
pub use pages::FleetPages;
pub use queue::{FleetQueue, SitemapEntry};
pub use rights::Rights;
pub use script::{ARRIVE, RedisScript};

use crate::clock::{ClockReading, Off};
pub(crate) use crate::crawl::hosts::URLS_PER_VISIT;
use crate::record::Damaged;

/// How often a call is repeated, if the store's time or its reminders change meanwhile.
pub(crate) const ROUNDS_MAX: usize = 16;

/// Options of a store in Redis.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long a link that was found stays known.
    pub known_for: Duration,
    /// How long a robots.txt is readable under its authority's name.
    pub robots_shown_for: Duration,
    /// How long a new worker only reads: meanwhile the others correct a step of the clock.
    pub quarantine: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            known_for: Duration::from_secs(30 * 86_400),
            robots_shown_for: Duration::from_secs(86_400),
            quarantine: Duration::ZERO,
        }
    }
}

/// A clock of microseconds that replaces Redis' own, for tests.
pub type RawClock = Rc<dyn Fn() -> u64>;

/// One worker's handle to the store in Redis.
pub struct RedisStore<W, C> {
    wire: Rc<W>,
    clock: C,
    raw: Option<RawClock>,
    options: Options,
    reference: Cell<Option<ClockReading>>,
    /// When this worker had its first answer.
    born: Cell<Option<Mono>>,
    /// The epoch of the last answer.
    epoch: Cell<Option<u64>>,
    /// The number of order changes at the last reading, and the newest orders.
    heard: RefCell<(String, Arc<Orders>)>,
    /// The store's counter of reminders: what workers remember of URLs that failed.
    reminders: RefCell<String>,
}

/// The fields of every answer.
struct Top {
    kind: String,
    now: Time,
    epoch: Epoch,
    job: JobView,
    rest: Reply,
}

impl<W: Wire, C: Clock> RedisStore<W, C> {
    /// Returns a worker's handle.
    pub fn new(wire: Rc<W>, clock: C, options: Options) -> RedisStore<W, C> {
        RedisStore {
            wire,
            clock,
            raw: None,
            options,
            reference: Cell::new(None),
            born: Cell::new(None),
            epoch: Cell::new(None),
            heard: RefCell::default(),
            reminders: RefCell::default(),
        }
    }

    /// Replaces Redis' clock.
    pub fn with_clock(self, raw: RawClock) -> RedisStore<W, C> {
        RedisStore { raw: Some(raw), ..self }
    }

    /// Gives or lifts a stop order.
    pub async fn stop(&self, host: &HostKey, stopped: bool) -> Result<(), StoreError> {
        let one = |cmd: &mut Cmd| {
            cmd.arg(LIFTED_MAX).arg(1).arg(host.as_str()).arg(u8::from(stopped)).arg("");
        };
        self.ask("stop", &ORDER, one).await.map(|_| ())
    }

    /// Returns the number of URLs that are not settled.
    pub async fn queued(&self) -> Result<u64, StoreError> {
        self.take(0).await.map(|taken| taken.queued)
    }

    /// Runs a script. Repeats it while the store is empty or its clock is off.
    async fn ask(
        &self,
        verb: &'static str,
        script: &'static RedisScript,
        args: impl Fn(&mut Cmd),
    ) -> Result<Top, StoreError> {
        let top = self.settled(script, args).await.map_err(|error| match error {
            WireError::Unknown(_) => StoreError::Unknown(verb),
            WireError::NotDone(why) | WireError::Refused(why) | WireError::Unfit(why) => {
                StoreError::Refused(verb, why)
            }
        });
        top?.ok_or_else(|| StoreError::Refused(verb, "the clock of Redis keeps changing".into()))
    }

    async fn settled(
        &self,
        script: &'static RedisScript,
        args: impl Fn(&mut Cmd),
    ) -> Result<Option<Top>, WireError> {
        for _ in 0..ROUNDS_MAX {
            let mut command = by_hash(script);
            command.arg(self.raw.as_ref().map(|raw| raw().to_string()).unwrap_or_default());
            let m0 = self.clock.mono();
            match self.reference.get() {
                Some(known) => command.arg(micros(known.expected(m0))).arg(known.steps),
                None => command.arg("").arg(""),
            };
            command.arg(CLOCK_STEP.as_micros() as u64);
            args(&mut command);
            let mut reply = ask(&*self.wire, script, &command).await?;
            let m1 = self.clock.mono();
            let kind = reply.text()?;
            match kind.as_str() {
                "empty" => self.wire.greet_again(self.epoch.get()).await?,
                "step" => {
                    let (now, steps) = (reply.time()?, reply.number()?);
                    let known = self.reference.get().filter(|known| known.steps == steps);
                    match known.map_or(Off::Slow, |known| known.judge(now, m0, m1)) {
                        Off::Slow => self.reference.set(Some(ClockReading { now, steps, m0, m1 })),
                        Off::Stepped(by) => {
                            let mut command = by_hash(&STEP);
                            command.arg(steps).arg(by);
                            self.wire.run(&STEP, &command).await?;
                            // The next answer has the corrected time.
                            self.reference.set(None);
                        }
                    }
                }
                _ => {
                    let top = self.top(kind, reply, m0, m1)?;
                    let known = self.epoch.get();
                    if known.is_none_or(|known| known == top.epoch.id) || top.epoch.floor.is_some()
                    {
                        self.epoch.set(Some(top.epoch.id));
                        return Ok(Some(top));
                    }
                    // A store that began as a new one, after the one that this worker knows: that
                    // one was emptied, and a worker that never saw it came back first.
                    self.wire.greet_again(known).await?;
                }
            }
        }
        Ok(None)
    }

    fn top(&self, kind: String, mut rest: Reply, m0: Mono, m1: Mono) -> Result<Top, Strange> {
        let now = rest.time()?;
        let steps = rest.number()?;
        let newest = self.reference.get().is_none_or(|k| k.now <= now || k.steps != steps);
        if newest {
            self.reference.set(Some(ClockReading { now, steps, m0, m1 }));
        }
        if self.born.get().is_none() {
            self.born.set(Some(m1));
        }
        let mut epoch = rest.list()?;
        let mut job = rest.list()?;
        Ok(Top {
            kind,
            now,
            epoch: Epoch {
                id: epoch.number()?,
                floor: epoch.time_if_any()?,
                quiet_until: epoch.time_if_any()?,
                emptied: epoch.flag()?,
            },
            job: JobView { started_at: job.time()?, pages: job.number()? },
            rest,
        })
    }

    /// Until when this worker only reads.
    fn listens_until(&self, now: Time) -> Option<Time> {
        let heard = self.clock.mono() - self.born.get()?;
        let left = self.options.quarantine.checked_sub(heard).filter(|left| !left.is_zero())?;
        Some(now + left)
    }

    /// Merges into records what the store remembers of them, from an answer to a call with an
    /// outdated counter of reminders.
    fn take_over(&self, mut top: Top, records: Vec<&mut UrlRecord>) -> Result<(), Damaged> {
        *self.reminders.borrow_mut() = top.rest.text()?;
        let mut remembered = top.rest.list()?;
        for record in records {
            let bytes = remembered.bytes()?;
            if !bytes.is_empty() {
                record.restore(&record::unplaced(&record::id(record.id), &bytes)?);
            }
        }
        Ok(())
    }

    fn view(&self, top: &mut Top, host: HostKey) -> Result<View, Damaged> {
        let mut parts = top.rest.list()?;
        read_view(&mut parts, host, top.now, top.epoch, top.job)
    }

    fn hear(&self, count: String, orders: &mut Reply) -> Result<Arc<Orders>, Damaged> {
        let mut heard = self.heard.borrow_mut();
        if heard.0 != count {
            let mut all = Orders::default();
            while !orders.is_over() {
                let host = HostKey::parse(&orders.text()?)?;
                let order = orders.text()?;
                let (stopped, at) = order.split_once(' ').ok_or(Strange)?;
                let at = Time::from_micros(at.parse()?);
                all.hear(&Order { host, stopped: stopped == "1", at });
            }
            *heard = (count, Arc::new(all));
        }
        Ok(Arc::clone(&heard.1))
    }

    fn read_taken(&self, mut top: Top) -> Result<Taken, Damaged> {
        let queued = top.rest.number()?;
        let next_due = top.rest.time_if_any()?;
        let paused = top.rest.flag()?;
        let count = top.rest.text()?;
        let orders = self.hear(count, &mut top.rest.list()?)?;
        let mut visits = Vec::new();
        let mut all = top.rest.list()?;
        while !all.is_over() {
            let mut one = all.list()?;
            let host = HostKey::parse(&one.text()?)?;
            let view = read_view(&mut one.list()?, host, top.now, top.epoch, top.job)?;
            let (mut ids, mut records) = (one.list()?, one.list()?);
            let mut urls = Vec::with_capacity(URLS_PER_VISIT);
            while !ids.is_over() {
                urls.push(record::queued(&ids.bytes()?, &records.bytes()?)?);
            }
            visits.push(Visit { view, urls });
        }
        let quiet = top.epoch.quiet_after(top.now);
        let paused = paused.then(|| top.now + Duration::from_secs(1));
        let held_back = [self.listens_until(top.now), quiet, paused].into_iter().flatten().max();
        Ok(Taken {
            visits,
            now: top.now,
            next_due: held_back.or(next_due),
            epoch: top.epoch,
            queued,
            orders,
        })
    }

    async fn commit_once(&self, commit: &Commit) -> Result<Top, StoreError> {
        let state = commit.state.as_deref().map(HostState::encode);
        let reminders = self.reminders.borrow().clone();
        self.ask("commit", &COMMIT, |cmd| {
            cmd.arg(commit.host.as_str()).arg(commit.version).arg(commit.epoch);
            cmd.arg(micros(commit.not_before));
            cmd.arg(u8::from(state.is_some())).arg(state.as_deref().unwrap_or_default());
            match &commit.grant {
                None => {
                    cmd.arg("0");
                }
                Some(grant) => write_grant(cmd, grant),
            }
            match commit.release {
                None => cmd.arg("").arg(""),
                Some((address, lease)) => cmd.arg(address.to_string()).arg(&lease.0.to_be_bytes()),
            };
            cmd.arg(&reminders);
            write_urls(cmd, &commit.urls);
            cmd.arg(commit.robots.len());
            for (id, file) in &commit.robots {
                self.write_robots(cmd, commit, *id, file);
            }
        })
        .await
    }

    fn write_robots(&self, cmd: &mut Cmd, commit: &Commit, id: RobotsId, file: &RobotsFile) {
        cmd.arg(hex(id)).arg(&file.text[..]);
        // A missing value differs from an empty one.
        for part in [&file.etag, &file.last_modified] {
            cmd.arg(part.as_ref().map(|part| format!("={part}")).unwrap_or_default());
        }
        let shown = commit.state.iter().flat_map(|state| state.all_robots());
        let shown: Vec<String> = shown
            .filter(|robots| robots.file == Some(id))
            .map(|robots| match (robots.scheme, robots.port) {
                (Scheme::Https, 443) => commit.host.to_string(),
                (scheme, port) => format!("{scheme}://{}:{port}", commit.host),
            })
            .collect();
        cmd.arg(shown.len());
        for name in shown {
            cmd.arg(name).arg(self.options.robots_shown_for.as_millis() as u64);
        }
    }

    fn read_committed(&self, mut top: Top, commit: &Commit) -> Result<Committed, Damaged> {
        let conflict = match top.kind.as_str() {
            "done" => {
                let version = top.rest.number()?;
                return Ok(Committed::Done(Saved { version, now: top.now }));
            }
            "gone" => Conflict::Gone,
            "stale" => Conflict::Stale,
            "stopped" => Conflict::Stopped,
            "budget" => Conflict::Budget,
            "address" => Conflict::Address(top.rest.time()?),
            _ => return Err(Strange.into()),
        };
        conflict.answer(commit, top.now, || self.view(&mut top, commit.host.clone()))
    }
}

impl<W: Wire, C: Clock> Store for RedisStore<W, C> {
    async fn offer(&self, records: &[UrlRecord]) -> Result<Offered, StoreError> {
        let mut records = records.to_vec();
        for _ in 0..ROUNDS_MAX {
            let reminders = self.reminders.borrow().clone();
            let mut top = self
                .ask("offer", &OFFER, |cmd| {
                    cmd.arg(&reminders).arg(self.options.known_for.as_millis() as u64);
                    cmd.arg(records.len());
                    for record in &records {
                        cmd.arg(record.host().as_str()).arg(&record::id(record.id));
                        write_record(cmd, record);
                    }
                })
                .await?;
            if top.kind == "offered" {
                let mut count = || top.rest.number().map(|n| n as usize).map_err(broken("offer"));
                return Ok(Offered { new: count()?, known: count()? });
            }
            self.take_over(top, records.iter_mut().collect()).map_err(broken("offer"))?;
        }
        Err(StoreError::Refused("offer", "its reminders keep changing".into()))
    }

    async fn remind(&self, records: Vec<UrlRecord>) -> Result<(), StoreError> {
        for _ in 0..ROUNDS_MAX {
            let top = self
                .ask("remind", &RECALL, |cmd| {
                    cmd.arg(records.len());
                    for record in &records {
                        cmd.arg(record.host().as_str()).arg(&record::id(record.id));
                    }
                })
                .await?;
            let (reminders, merged) = bring_together(top, &records).map_err(broken("remind"))?;
            let top = self
                .ask("remind", &REMIND, |cmd| {
                    cmd.arg(&reminders).arg(merged.len());
                    for one in &merged {
                        cmd.arg(one.remembered.host().as_str());
                        cmd.arg(&record::id(one.remembered.id));
                        cmd.arg(record::blob(&one.remembered)).arg(&one.found[..]);
                        if let Some(queued) = &one.queued {
                            write_record(cmd, queued);
                        }
                    }
                })
                .await?;
            if top.kind == "done" {
                return Ok(());
            }
        }
        Err(StoreError::Refused("remind", "its reminders keep changing".into()))
    }

    async fn order(&self, orders: Vec<Order>) -> Result<(), StoreError> {
        self.ask("order", &ORDER, |cmd| {
            cmd.arg(LIFTED_MAX).arg(orders.len());
            for order in &orders {
                cmd.arg(order.host.as_str()).arg(u8::from(order.stopped)).arg(micros(order.at));
            }
        })
        .await
        .map(|_| ())
    }

    async fn take(&self, hosts: usize) -> Result<Taken, StoreError> {
        let heard = self.heard.borrow().0.clone();
        // A new worker only reads.
        let listens = match self.reference.get() {
            None => !self.options.quarantine.is_zero(),
            Some(known) => self.listens_until(known.now).is_some(),
        };
        let hosts = if listens { 0 } else { hosts };
        let top = self
            .ask("take", &TAKE, |cmd| {
                cmd.arg(hosts).arg(URLS_PER_VISIT).arg(HOLD.as_micros() as u64).arg(&heard);
            })
            .await?;
        self.read_taken(top).map_err(broken("take"))
    }

    async fn load(&self, host: &HostKey) -> Result<View, StoreError> {
        let asked = |cmd: &mut Cmd| {
            cmd.arg(host.as_str());
        };
        let mut top = self.ask("load", &LOAD, asked).await?;
        self.view(&mut top, host.clone()).map_err(broken("load"))
    }

    async fn commit(&self, mut commit: Commit) -> Result<Committed, StoreError> {
        for _ in 0..ROUNDS_MAX {
            let top = self.commit_once(&commit).await?;
            if top.kind != "reminded" {
                return self.read_committed(top, &commit).map_err(broken("commit"));
            }
            self.take_over(top, coming(&mut commit.urls)).map_err(broken("commit"))?;
        }
        Err(StoreError::Refused("commit", "its reminders keep changing".into()))
    }

    async fn settle(&self, mut writes: Vec<UrlWrite>) -> Result<(), StoreError> {
        for _ in 0..ROUNDS_MAX {
            let reminders = self.reminders.borrow().clone();
            let top = self
                .ask("settle", &SETTLE, |cmd| {
                    cmd.arg(&reminders);
                    write_urls(cmd, &writes);
                })
                .await?;
            if top.kind == "settled" {
                return Ok(());
            }
            self.take_over(top, coming(&mut writes)).map_err(broken("settle"))?;
        }
        Err(StoreError::Refused("settle", "its reminders keep changing".into()))
    }

    async fn robots(&self, id: RobotsId) -> Result<Option<Arc<RobotsFile>>, StoreError> {
        let asked = |cmd: &mut Cmd| {
            cmd.arg(hex(id));
        };
        let mut top = self.ask("robots", &ROBOTS, asked).await?;
        read_robots(&mut top.rest).map_err(broken("robots"))
    }
}

/// A URL's reminders and its record in the queue, merged.
struct Merged {
    remembered: UrlRecord,
    /// The bytes in the queue; empty if the URL is not in it.
    found: Vec<u8>,
    queued: Option<UrlRecord>,
}

fn bring_together(mut top: Top, records: &[UrlRecord]) -> Result<(String, Vec<Merged>), Damaged> {
    let reminders = top.rest.text()?;
    let mut found = top.rest.list()?;
    let mut merged: Vec<Merged> = Vec::with_capacity(records.len());
    for record in records {
        let mut one = found.list()?;
        let (queued, known) = (one.bytes()?, one.bytes()?);
        let id = record::id(record.id);
        let mut remembered = record.clone();
        if !known.is_empty() {
            remembered = record::unplaced(&id, &known)?;
            remembered.restore(record);
        }
        let in_queue = match queued.is_empty() {
            true => None,
            false => {
                let mut in_queue = record::queued(&id, &queued)?;
                in_queue.restore(record);
                Some(in_queue)
            }
        };
        merged.push(Merged { remembered, found: queued, queued: in_queue });
    }
    Ok((reminders, merged))
}

fn read_view(
    parts: &mut Reply,
    host: HostKey,
    now: Time,
    epoch: Epoch,
    job: JobView,
) -> Result<View, Damaged> {
    let state = parts.bytes()?;
    let state = match state.is_empty() {
        true => HostState::default(),
        false => HostState::decode(&state)?,
    };
    let version = parts.number()?;
    Ok(View { host, state: Arc::new(state), version, now, stopped: parts.flag()?, epoch, job })
}

fn read_robots(rest: &mut Reply) -> Result<Option<Arc<RobotsFile>>, Strange> {
    let found = rest.flag()?;
    let text = rest.bytes()?;
    let mut value = || rest.text().map(|text| text.strip_prefix('=').map(str::to_owned));
    let (etag, last_modified) = (value()?, value()?);
    Ok(found.then(|| Arc::new(RobotsFile { text, etag, last_modified })))
}

/// Returns the records of writes that bring a URL into a queue.
fn coming(writes: &mut [UrlWrite]) -> Vec<&mut UrlRecord> {
    let moved = writes.iter_mut().filter(|write| moves(write));
    moved.filter_map(|write| write.to.as_mut()).collect()
}

/// Whether a write brings a URL into another queue.
fn moves(write: &UrlWrite) -> bool {
    write.to.as_ref().is_some_and(|to| write.from.as_ref() != Some(to.host()))
}

fn write_urls(cmd: &mut Cmd, writes: &[UrlWrite]) {
    cmd.arg(writes.len());
    for write in writes {
        cmd.arg(write.from.as_ref().map_or("", HostKey::as_str));
        cmd.arg(&record::id(write.id)).arg(&record::claim(write.claim));
        match &write.to {
            None => {
                cmd.arg("end");
            }
            Some(to) if moves(write) => {
                cmd.arg("move").arg(to.host().as_str());
                write_record(cmd, to);
            }
            Some(to) => {
                cmd.arg("same");
                write_record(cmd, to);
            }
        }
    }
}

fn write_record(cmd: &mut Cmd, record: &UrlRecord) {
    cmd.arg(record::blob(record));
    cmd.arg(record.ready.map_or(0, micros)).arg(&record::rank(record));
}

fn write_grant(cmd: &mut Cmd, grant: &Grant) {
    cmd.arg("1").arg(&grant.lease.0.to_be_bytes());
    match grant.url {
        Some((id, claim)) => cmd.arg(&record::id(id)).arg(&record::claim(claim)),
        None => cmd.arg("").arg(""),
    };
    cmd.arg(grant.charge.map(|cap| cap.min(reply::NEVER).to_string()).unwrap_or_default());
    match grant.address {
        Some(claim) => cmd.arg(claim.address.to_string()).arg(claim.cap).arg(micros(claim.until)),
        None => cmd.arg("").arg(0).arg(0),
    };
}

fn hex(id: RobotsId) -> String {
    format!("{id:?}")
}

fn broken<E: Into<Damaged>>(verb: &'static str) -> impl Fn(E) -> StoreError {
    move |error| StoreError::Refused(verb, error.into().to_string())
}
