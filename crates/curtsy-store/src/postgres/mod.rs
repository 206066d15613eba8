//! A ledger of hosts in Postgres, for a service. It has the methods and guarantees of the ledger on
//! SQLite.
//!
//! A transaction begins with a lock on the ledger's one row. So there is one writer at a time, and
//! the owner of the lock sees all earlier writes. A counter in the row shows whether other
//! processes have written: until then what is in memory is valid. The frontier is not in Postgres;
//! it ends with the crawl.
//!
//! **Time** is the server's clock without its steps (see [`clock`](crate::clock)). Between two
//! answers it is the last answer's time plus the time that has passed on this machine since the
//! answer arrived, so it is never fast. It never goes back: the row has the time of the last write,
//! and a clock that shows less is corrected.
//!
//! **Epochs.** A server that restarts has lost nothing that was committed, so it begins no epoch.
//! An epoch begins when the row that this process knew is gone: another ledger has replaced it, or
//! one with fewer writes than this process knows.

mod failure;
mod head;
pub(crate) mod link;
mod rows;
mod schema;
mod shown;
mod slots;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::LeaseId;
use curtsy_core::time::{Time, micros};
use curtsy_core::url::HostKey;
use curtsy_engine::check::CLOCK_STEP;
use curtsy_engine::{Epoch, Mono, Order, Orders};
use postgres::Config;
use postgres::config::{Host, SslMode};

pub(crate) use failure::PgFailure;
use head::{LOCK_AND_LOOK, LOOK, PgHead};
use link::{Connect, Patience, PgLink, PgSession};

use crate::clock::{ClockReading, Off};
use crate::kept::HostCache;
use crate::ledger::{Changed, OLD, number, stopped, time};
use crate::{LedgerPlace, MachineClock, OpenError, Options, ReadableTables};

/// How often a check is repeated, if the clock or the ledger changes meanwhile.
const ROUNDS_MAX: usize = 16;

/// A ledger of hosts in Postgres. [`Ledger`](crate::Ledger) documents the methods of both.
pub(crate) struct PgLedger<H> {
    link: PgLink,
    place: LedgerPlace,
    hours: H,
    quiet: Duration,
    shows: ReadableTables,
    /// The ledger's name.
    id: i64,
    epoch: Epoch,
    /// The last reading of the store's time; `None` after a step, until the next reading.
    reference: Option<ClockReading>,
    last_now: Time,
    /// The number of writing transactions of all processes, as of the last check.
    writes: i64,
    orders: Arc<Orders>,
    /// The number of order changes that `orders` includes; `None` if unknown.
    orders_read: Option<i64>,
    /// Leases with a slot of an address that this process knows.
    slots: HashSet<LeaseId>,
    kept: HostCache,
    transaction: Transaction,
}

/// The current transaction.
#[derive(Default)]
struct Transaction {
    stands: Stands,
    /// Whether it has written anything.
    wrote: bool,
    /// Hosts that are written at its end: name, version, state.
    hosts: BTreeMap<String, (i64, Vec<u8>)>,
    /// Slots that are written at its end: address and lease, with the end of each.
    slots: BTreeMap<(Vec<u8>, i64), i64>,
    /// Leases whose slots it releases.
    given: Vec<LeaseId>,
}

/// The state of the current transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stands {
    /// There is none.
    #[default]
    Not,
    /// It can be committed.
    Well,
    /// A part of it has failed. Postgres would accept its COMMIT and write nothing.
    Spoilt,
}

type HeadRead = (Result<Option<PgHead>, PgFailure>, Option<u64>, Mono, Mono);

/// The result of a check of the ledger.
enum Looked {
    /// The known ledger, at a plausible time.
    Well(PgHead),
    /// Another ledger, or none.
    Lost,
    /// The clock has stepped: what to add, and the number of earlier steps.
    Stepped(i64, u64),
}

impl<H: MachineClock> PgLedger<H> {
    pub(crate) fn open(url: &str, hours: H, options: &Options) -> Result<PgLedger<H>, OpenError> {
        let place = LedgerPlace::Postgres(url.to_owned());
        let config: Config = url.parse().map_err(|_| PgFailure::NoAddress.opening(&place))?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(PgFailure::NoTls.opening(&place));
        }
        let epoch = Epoch { id: 0, floor: None, quiet_until: None, emptied: false };
        let mut ledger = PgLedger {
            link: PgLink::new(config),
            place: place.clone(),
            hours,
            quiet: options.quiet,
            shows: options.shows.clone(),
            id: 0,
            epoch,
            reference: None,
            last_now: Time::START,
            writes: 0,
            orders: Arc::default(),
            orders_read: None,
            slots: HashSet::new(),
            kept: HostCache::default(),
            transaction: Transaction::default(),
        };
        ledger.make().map_err(|failure| failure.opening(&place))?;
        Ok(ledger)
    }

    /// Creates missing tables and the ledger's row, and deletes what is old.
    fn make(&mut self) -> Result<(), PgFailure> {
        let head = self.make_row()?;
        (self.id, self.writes) = (head.id, head.writes);
        self.begin()?;
        let done = self.throw_away();
        self.end(done)
    }

    fn make_row(&mut self) -> Result<PgHead, PgFailure> {
        let shows = self.shows.clone();
        let first = head::first(self.hours.server());
        let head = self.link.ask(Connect::IfNeeded, Patience::Migration, move |session| {
            schema::migrate(session, &shows)?;
            session.run(&first)?;
            PgHead::look(session, LOOK)
        })?;
        head.ok_or_else(|| PgFailure::damaged("the row of the ledger is missing"))
    }

    fn throw_away(&mut self) -> Result<(), PgFailure> {
        let old = number(self.now().back(OLD));
        self.run(move |session| {
            session.write("DELETE FROM curtsy_robots WHERE written < $1", &[&old])?;
            session.write("DELETE FROM curtsy_stops WHERE lifted AND since < $1", &[&old])
        })?;
        self.slots = self.leases_with_slots()?;
        self.throw_pages_away()
    }

    pub(crate) fn place(&self) -> &LedgerPlace {
        &self.place
    }

    pub(crate) fn shows(&self) -> &ReadableTables {
        &self.shows
    }

    pub(crate) fn now(&mut self) -> Time {
        if let Some(known) = self.reference {
            self.last_now = self.last_now.max(known.expected(self.mono()));
        }
        self.last_now
    }

    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(crate) fn orders(&self) -> &Arc<Orders> {
        &self.orders
    }

    fn mono(&self) -> Mono {
        Mono(self.hours.monotonic())
    }

    pub(crate) fn refresh(&mut self) -> Result<Changed, PgFailure> {
        for _ in 0..ROUNDS_MAX {
            match self.look(LOOK)? {
                Looked::Well(head) => return self.take_in(&head),
                Looked::Lost => self.begin_anew()?,
                Looked::Stepped(by, steps) => {
                    let step = head::step(by, steps);
                    self.run(move |session| session.run(&step))?;
                    self.reference = None;
                }
            }
        }
        Err(PgFailure::Unsettled)
    }

    pub(crate) fn begin(&mut self) -> Result<Changed, PgFailure> {
        for _ in 0..ROUNDS_MAX {
            let looked = self.look(LOCK_AND_LOOK);
            self.transaction.stands = Stands::Well;
            match looked.inspect_err(|_| self.roll_back())? {
                Looked::Well(head) => {
                    return self.take_in(&head).inspect_err(|_| self.roll_back());
                }
                Looked::Lost => {
                    self.roll_back();
                    self.begin_anew()?;
                }
                Looked::Stepped(by, steps) => {
                    let step = format!("{}; COMMIT", head::step(by, steps));
                    self.run(move |session| session.run(&step))
                        .inspect_err(|_| self.roll_back())?;
                    self.transaction.stands = Stands::Not;
                    self.reference = None;
                }
            }
        }
        Err(PgFailure::Unsettled)
    }

    fn look(&mut self, sql: &'static str) -> Result<Looked, PgFailure> {
        let (read, clock, m0, m1) = self.read_head(sql);
        let head = match read {
            Err(failure) if failure.is_missing_table() => None,
            read => read?,
        };
        let Some(head) = head.filter(|head| head.id == self.id && head.writes >= self.writes)
        else {
            return Ok(Looked::Lost);
        };
        let (now, steps) = (head.now(clock), head.steps);
        let off = match self.reference.filter(|known| known.steps == steps) {
            Some(known) => known.judge(now, m0, m1),
            // No process that knew the time was running when the clock went back.
            None if now + CLOCK_STEP < head.latest => {
                Off::Stepped(micros(head.latest - now) as i64)
            }
            None => Off::Slow,
        };
        Ok(match off {
            Off::Stepped(by) => Looked::Stepped(by, steps),
            Off::Slow => {
                self.reference = Some(ClockReading { now, steps, m0, m1 });
                Looked::Well(head)
            }
        })
    }

    /// Reads the head. Also returns the replaced server clock, and the machine's clock before and
    /// after.
    fn read_head(&mut self, sql: &'static str) -> HeadRead {
        let (clock, m0) = (self.hours.server(), self.mono());
        let read =
            self.link.ask(Connect::IfNeeded, Patience::Usual, |session| PgHead::look(session, sql));
        (read, clock, m0, self.mono())
    }

    /// Takes over what the ledger's row says.
    fn take_in(&mut self, head: &PgHead) -> Result<Changed, PgFailure> {
        self.last_now = self.last_now.max(head.latest);
        self.epoch = head.epoch;
        if head.writes != self.writes {
            self.writes = head.writes;
            self.kept.doubt();
        }
        let mut changed = Changed::default();
        if self.orders_read != Some(head.orders) {
            let orders = self.read_orders()?;
            let lifted = stopped(&self.orders).filter(|host| !orders.is_stopped(host));
            changed.lifted = lifted.collect();
            if *self.orders != orders {
                self.orders = Arc::new(orders);
            }
            self.orders_read = Some(head.orders);
        }
        Ok(changed)
    }

    /// Begins a new epoch in the ledger that has replaced the known one.
    fn begin_anew(&mut self) -> Result<(), PgFailure> {
        let ours = self.now();
        // Prepared statements refer to tables that are gone.
        self.link.hang_up();
        self.kept.clear();
        self.slots.clear();
        (self.reference, self.orders_read) = (None, None);
        self.make_row()?;
        let (read, clock, m0, m1) = self.read_head(LOCK_AND_LOOK);
        self.transaction.stands = Stands::Well;
        let done = read.and_then(|head| {
            let head =
                head.ok_or_else(|| PgFailure::damaged("the row of the ledger is missing"))?;
            // Another process may have begun an epoch already. The later time of both counts.
            let found = head.now(clock).max(head.latest);
            let time = found.max(ours);
            let behind = micros(time - head.now(clock)) as i64;
            let id = head.epoch.id.max(self.epoch.id) + 1;
            let epoch = Epoch::after_loss(id, time, self.quiet, false);
            let writes = head.writes.max(self.writes) + 1;
            let sql = format!(
                "{}; {}; UPDATE curtsy_ledger SET writes = {writes}, latest = {}; COMMIT",
                head::step(behind, head.steps),
                head::begin_epoch(&epoch),
                number(time),
            );
            self.run(move |session| session.run(&sql))?;
            (self.id, self.writes, self.epoch) = (head.id, writes, epoch);
            self.reference = Some(ClockReading { now: time, steps: head.steps + 1, m0, m1 });
            Ok(())
        });
        match done {
            Ok(()) => self.transaction.stands = Stands::Not,
            Err(_) => self.roll_back(),
        }
        done
    }

    /// Runs a job, in the current transaction if there is one.
    fn run<T: Send + 'static>(
        &mut self,
        job: impl FnOnce(&mut PgSession) -> Result<T, PgFailure> + Send + 'static,
    ) -> Result<T, PgFailure> {
        let connect = match self.transaction.stands {
            Stands::Not => Connect::IfNeeded,
            Stands::Well => Connect::Never,
            Stands::Spoilt => return Err(PgFailure::Spoilt),
        };
        let done = self.link.ask(connect, Patience::Usual, job);
        if done.is_err() && self.transaction.stands == Stands::Well {
            self.transaction.stands = Stands::Spoilt;
        }
        done
    }

    /// Runs a job that writes.
    fn change<T: Send + 'static>(
        &mut self,
        job: impl FnOnce(&mut PgSession) -> Result<T, PgFailure> + Send + 'static,
    ) -> Result<T, PgFailure> {
        self.transaction.wrote = true;
        self.run(job)
    }

    pub(crate) fn end(&mut self, done: Result<(), PgFailure>) -> Result<(), PgFailure> {
        let done = done.and_then(|()| self.commit());
        if done.is_err() {
            self.roll_back();
        }
        done
    }

    fn commit(&mut self) -> Result<(), PgFailure> {
        self.write_hosts()?;
        let wrote = self.transaction.wrote;
        let now = number(self.now());
        self.run(move |session| match wrote {
            true => session.run(&format!(
                "UPDATE curtsy_ledger SET writes = writes + 1, latest = greatest(latest, {now}); COMMIT"
            )),
            false => session.run("COMMIT"),
        })?;
        self.transaction = Transaction::default();
        self.writes += i64::from(wrote);
        Ok(())
    }

    /// Rolls a transaction back.
    pub(crate) fn roll_back(&mut self) {
        if self.transaction.stands != Stands::Not {
            self.link.roll_back();
        }
        // Memory may have changes of this transaction.
        let transaction = std::mem::take(&mut self.transaction);
        self.slots.extend(transaction.given);
        self.kept.clear();
        self.orders_read = None;
    }

    pub(crate) fn give(&mut self, host: &HostKey, stopped: bool) -> Result<Changed, PgFailure> {
        let changed = self.begin()?;
        let now = self.now();
        let order = self.orders.next(host, stopped, now);
        let done = self.write_order(&order);
        self.end(done).map(|()| changed)
    }

    pub(crate) fn order(&mut self, orders: &[Order]) -> Result<Changed, PgFailure> {
        let changed = self.begin()?;
        let done = orders.iter().try_for_each(|order| self.write_order(order));
        self.end(done).map(|()| changed)
    }

    fn write_order(&mut self, order: &Order) -> Result<(), PgFailure> {
        if !Arc::make_mut(&mut self.orders).hear(order) {
            return Ok(());
        }
        let (host, since, lifted) =
            (order.host.as_str().to_owned(), number(order.at), !order.stopped);
        let now = number(self.now());
        self.kept.forget(&order.host);
        self.change(move |session| {
            let sql = "INSERT INTO curtsy_stops (host, since, lifted) VALUES ($1, $2, $3)
                ON CONFLICT (host) DO UPDATE SET since = excluded.since, lifted = excluded.lifted";
            session.write(sql, &[&host, &since, &lifted])?;
            // A worker that decided under the other order decides again, so a host that it just
            // parked does not stay parked.
            let sql = "UPDATE curtsy_hosts SET version = greatest(version + 1, $2) WHERE host = $1";
            session.write(sql, &[&host, &now])?;
            session.run("UPDATE curtsy_ledger SET orders = orders + 1")
        })?;
        // Our own order is in memory already.
        self.orders_read = self.orders_read.map(|read| read + 1);
        Ok(())
    }

    fn read_orders(&mut self) -> Result<Orders, PgFailure> {
        let rows: Vec<(String, i64, bool)> = self.run(|session| {
            let rows = session.query("SELECT host, since, lifted FROM curtsy_stops", &[])?;
            Ok(rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect())
        })?;
        let mut orders = Orders::default();
        for (host, since, lifted) in rows {
            if let Ok(host) = HostKey::parse(&host) {
                orders.hear(&Order { host, stopped: !lifted, at: time(since) });
            }
        }
        Ok(orders)
    }

    /// Forgets everything and begins a new epoch, as if the ledger had been lost.
    pub(crate) fn empty(&mut self) -> Result<(), PgFailure> {
        self.begin()?;
        let now = self.now();
        let epoch = Epoch::after_loss(self.epoch.id + 1, now, self.quiet, true);
        let sql = format!(
            "DELETE FROM curtsy_hosts; DELETE FROM curtsy_robots; DELETE FROM curtsy_slots; DELETE FROM curtsy_stops; {};
            UPDATE curtsy_ledger SET orders = orders + 1; {}",
            self.empty_shown(),
            head::begin_epoch(&epoch),
        );
        let done = self.change(move |session| session.run(&sql));
        (self.epoch, self.orders, self.orders_read) = (epoch, Arc::default(), None);
        self.kept.clear();
        self.end(done)
    }
}

/// Returns an address of a database without its password.
pub(crate) fn shown(url: &str) -> String {
    let Ok(config) = url.parse::<Config>() else { return "postgres://…".to_owned() };
    let ports = config.get_ports();
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(at, host)| {
            let host = match host {
                Host::Tcp(name) => name.clone(),
                #[cfg(unix)]
                Host::Unix(path) => path.display().to_string(),
            };
            match ports.get(at).or(ports.last()) {
                None | Some(5432) => host,
                Some(port) => format!("{host}:{port}"),
            }
        })
        .collect();
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    format!("postgres://{user}{}/{}", hosts.join(","), config.get_dbname().unwrap_or_default())
}
