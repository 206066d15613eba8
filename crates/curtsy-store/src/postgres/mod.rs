//! A ledger of hosts in Postgres, for a service: the same verbs and the same promises as the ledger on SQLite.
//!
//! A transaction begins with the lock of the ledger's one row, so there is one writer at a time, and whoever has the lock sees all that
//! was written before. A counter in that row tells whether others wrote since: what was read in memory counts as long as nobody did.
//! The frontier is not here: it goes with the crawl.
//!
//! **Time** is the server's clock with its steps taken out (see [`clock`](crate::clock)); between two answers it is the last of them
//! plus what has passed on this machine since that was received, so it is never fast. It never goes back: the time of the last write
//! is in the row, and a clock that shows less is moved.
//!
//! **Epochs.** A server that restarts has lost nothing that was committed, so it begins none. One begins when the row that this process
//! knew is gone: another ledger stands in its place, or one that has fewer writes than this process knows of.

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
use curtsy_engine::{Epoch, Mono, Order, Orders};
use postgres::Config;
use postgres::config::{Host, SslMode};

pub(crate) use failure::Failure;
use head::{Head, LOCK_AND_LOOK, LOOK};
use link::{Connect, Link, Patience, Session};

use crate::clock::{Off, Reference, STEP};
use crate::kept::Kept;
use crate::ledger::{Changed, OLD, number, stopped, time};
use crate::{Hours, OpenError, Place, Shows};

/// A look is repeated so often, if the clock or the ledger changes in between.
const ROUNDS_MAX: usize = 16;

/// The ledger of hosts in a database.
pub(crate) struct PgLedger<H> {
    link: Link,
    place: Place,
    hours: H,
    quiet: Duration,
    shows: Shows,
    /// The name of this ledger.
    id: i64,
    epoch: Epoch,
    /// What is known of the store's time; none while that is not agreed upon.
    reference: Option<Reference>,
    last_now: Time,
    /// Transactions of all processes that wrote, as of the last look.
    writes: i64,
    orders: Arc<Orders>,
    /// Which changes of orders are in them; none if that is not sure.
    orders_read: Option<i64>,
    /// Leases that have a slot of an address, as far as this process knows.
    slots: HashSet<LeaseId>,
    kept: Kept,
    transaction: Transaction,
}

/// The transaction that is under way.
#[derive(Default)]
struct Transaction {
    stands: Stands,
    /// Whether it has written anything.
    wrote: bool,
    /// Hosts that are written with its end: name, version, state.
    hosts: BTreeMap<String, (i64, Vec<u8>)>,
    /// Leases whose slots it gives back.
    given: Vec<LeaseId>,
}

/// How a transaction stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stands {
    /// There is none.
    #[default]
    Not,
    /// It can be ended well.
    Well,
    /// A part of it failed. Postgres would end it without a word, and write nothing.
    Spoilt,
}

/// What a look at the ledger found.
enum Looked {
    /// The ledger that is known, at a time that can be.
    Well(Head),
    /// Another one, or none.
    Lost,
    /// A clock that stepped: what is to be added, and after how many steps.
    Stepped(i64, u64),
}

impl<H: Hours> PgLedger<H> {
    /// Opens or begins a ledger. Nothing is granted for `quiet` when a new epoch begins: one lease.
    pub(crate) fn open(
        url: &str,
        hours: H,
        quiet: Duration,
        shows: Shows,
    ) -> Result<PgLedger<H>, OpenError> {
        let place = Place::Postgres(url.to_owned());
        let config: Config = url.parse().map_err(|_| Failure::NoAddress.opening(&place))?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(Failure::NoTls.opening(&place));
        }
        let epoch = Epoch { id: 0, floor: None, quiet_until: None, emptied: false };
        let mut ledger = PgLedger {
            link: Link::new(config),
            place: place.clone(),
            hours,
            quiet,
            shows,
            id: 0,
            epoch,
            reference: None,
            last_now: Time::START,
            writes: 0,
            orders: Arc::default(),
            orders_read: None,
            slots: HashSet::new(),
            kept: Kept::default(),
            transaction: Transaction::default(),
        };
        ledger.make().map_err(|failure| failure.opening(&place))?;
        Ok(ledger)
    }

    /// Makes tables and row, if they are not there, and throws away what is old.
    fn make(&mut self) -> Result<(), Failure> {
        let head = self.make_row()?;
        (self.id, self.writes) = (head.id, head.writes);
        self.begin()?;
        let done = self.throw_away();
        self.end(done)
    }

    fn make_row(&mut self) -> Result<Head, Failure> {
        let shows = self.shows.clone();
        let first = head::first(self.hours.server());
        let head = self.link.ask(Connect::IfNeeded, Patience::Migration, move |session| {
            schema::migrate(session, &shows)?;
            session.run(&first)?;
            Head::look(session, LOOK)
        })?;
        head.ok_or_else(|| Failure::damaged("the row of the ledger is missing"))
    }

    fn throw_away(&mut self) -> Result<(), Failure> {
        let old = number(self.now().back(OLD));
        self.tell(move |session| {
            session.write("DELETE FROM curtsy_robots WHERE written < $1", &[&old])?;
            session.write("DELETE FROM curtsy_stops WHERE lifted AND since < $1", &[&old])
        })?;
        self.slots = self.leases_with_slots()?;
        self.throw_pages_away()
    }

    /// Where it is.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// What is shown beside it.
    pub(crate) fn shows(&self) -> &Shows {
        &self.shows
    }

    /// The store's time.
    pub(crate) fn now(&mut self) -> Time {
        if let Some(known) = self.reference {
            self.last_now = self.last_now.max(known.expected(self.mono()));
        }
        self.last_now
    }

    /// The epoch, as of the last look.
    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The newest order for each host, as of the last look.
    pub(crate) fn orders(&self) -> &Arc<Orders> {
        &self.orders
    }

    fn mono(&self) -> Mono {
        Mono(self.hours.monotonic())
    }

    /// Looks whether others wrote. What they did is known afterwards.
    pub(crate) fn refresh(&mut self) -> Result<Changed, Failure> {
        for _ in 0..ROUNDS_MAX {
            match self.look(LOOK)? {
                Looked::Well(head) => return self.take_in(&head),
                Looked::Lost => self.begin_anew()?,
                Looked::Stepped(by, steps) => {
                    let step = head::step(by, steps);
                    self.tell(move |session| session.run(&step))?;
                    self.reference = None;
                }
            }
        }
        Err(Failure::Unsettled)
    }

    /// Begins a transaction. Nobody else writes until its end, and what others wrote is known.
    pub(crate) fn begin(&mut self) -> Result<Changed, Failure> {
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
                    self.tell(move |session| session.run(&step))
                        .inspect_err(|_| self.roll_back())?;
                    self.transaction.stands = Stands::Not;
                    self.reference = None;
                }
            }
        }
        Err(Failure::Unsettled)
    }

    fn look(&mut self, sql: &'static str) -> Result<Looked, Failure> {
        let (clock, m0) = (self.hours.server(), self.mono());
        let read =
            self.link.ask(Connect::IfNeeded, Patience::Usual, |session| Head::look(session, sql));
        let m1 = self.mono();
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
            // Nobody who knew the time was there when the clock went back.
            None if now + STEP < head.latest => Off::Stepped(micros(head.latest - now) as i64),
            None => Off::Slow,
        };
        Ok(match off {
            Off::Stepped(by) => Looked::Stepped(by, steps),
            Off::Slow => {
                self.reference = Some(Reference { now, steps, m0, m1 });
                Looked::Well(head)
            }
        })
    }

    /// Takes in what the ledger says of itself.
    fn take_in(&mut self, head: &Head) -> Result<Changed, Failure> {
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

    /// The ledger that was known is gone, and with it what it knew: a new epoch begins in what stands in its place.
    fn begin_anew(&mut self) -> Result<(), Failure> {
        let ours = self.now();
        // What was prepared there belongs to tables that are gone.
        self.link.hang_up();
        self.kept.clear();
        self.slots.clear();
        (self.reference, self.orders_read) = (None, None);
        self.make_row()?;
        let (clock, m0) = (self.hours.server(), self.mono());
        let read = self
            .link
            .ask(Connect::IfNeeded, Patience::Usual, |session| Head::look(session, LOCK_AND_LOOK));
        let m1 = self.mono();
        self.transaction.stands = Stands::Well;
        let done = read.and_then(|head| {
            let head = head.ok_or_else(|| Failure::damaged("the row of the ledger is missing"))?;
            // Whoever came first has begun it; its time counts, unless ours is later.
            let found = head.now(clock).max(head.latest);
            let time = found.max(ours);
            let behind = micros(time - head.now(clock)) as i64;
            let id = head.epoch.id.max(self.epoch.id) + 1;
            let (floor, quiet_until) = (Some(time), Some(time + self.quiet));
            let epoch = Epoch { id, floor, quiet_until, emptied: false };
            let writes = head.writes.max(self.writes) + 1;
            let sql = format!(
                "{}; {}; UPDATE curtsy_ledger SET writes = {writes}, latest = {}; COMMIT",
                head::step(behind, head.steps),
                head::begin_epoch(&epoch),
                number(time),
            );
            self.tell(move |session| session.run(&sql))?;
            (self.id, self.writes, self.epoch) = (head.id, writes, epoch);
            self.reference = Some(Reference { now: time, steps: head.steps + 1, m0, m1 });
            Ok(())
        });
        match done {
            Ok(()) => self.transaction.stands = Stands::Not,
            Err(_) => self.roll_back(),
        }
        done
    }

    /// Has something done: in the transaction that is under way, or by itself.
    fn tell<T: Send + 'static>(
        &mut self,
        job: impl FnOnce(&mut Session) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let connect = match self.transaction.stands {
            Stands::Not => Connect::IfNeeded,
            Stands::Well => Connect::Never,
            Stands::Spoilt => return Err(Failure::Spoilt),
        };
        let done = self.link.ask(connect, Patience::Usual, job);
        if done.is_err() && self.transaction.stands == Stands::Well {
            self.transaction.stands = Stands::Spoilt;
        }
        done
    }

    /// The same for what changes something.
    fn change<T: Send + 'static>(
        &mut self,
        job: impl FnOnce(&mut Session) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        self.transaction.wrote = true;
        self.tell(job)
    }

    /// Ends a transaction: written, or as if it had not been.
    pub(crate) fn end(&mut self, done: Result<(), Failure>) -> Result<(), Failure> {
        let done = done.and_then(|()| self.commit());
        if done.is_err() {
            self.roll_back();
        }
        done
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.write_hosts()?;
        let wrote = self.transaction.wrote;
        let now = number(self.now());
        self.tell(move |session| match wrote {
            true => session.run(&format!(
                "UPDATE curtsy_ledger SET writes = writes + 1, latest = greatest(latest, {now}); COMMIT"
            )),
            false => session.run("COMMIT"),
        })?;
        self.transaction = Transaction::default();
        self.writes += i64::from(wrote);
        Ok(())
    }

    /// Ends a transaction as if it had not been.
    pub(crate) fn roll_back(&mut self) {
        if self.transaction.stands != Stands::Not {
            self.link.roll_back();
        }
        // What this transaction had put into memory is not so.
        let transaction = std::mem::take(&mut self.transaction);
        self.slots.extend(transaction.given);
        self.kept.clear();
        self.orders_read = None;
    }

    /// Orders that nothing more is asked of a host, or lifts the order.
    pub(crate) fn give(&mut self, host: &HostKey, stopped: bool) -> Result<Changed, Failure> {
        let changed = self.begin()?;
        let now = self.now();
        let order = self.orders.next(host, stopped, now);
        let done = self.write_order(&order);
        self.end(done).map(|()| changed)
    }

    /// Takes over orders that are newer than what is known of their hosts.
    pub(crate) fn order(&mut self, orders: &[Order]) -> Result<Changed, Failure> {
        let changed = self.begin()?;
        let done = orders.iter().try_for_each(|order| self.write_order(order));
        self.end(done).map(|()| changed)
    }

    fn write_order(&mut self, order: &Order) -> Result<(), Failure> {
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
            // Whoever decided under the other order decides again: a host parked just now must not stay parked.
            let sql = "UPDATE curtsy_hosts SET version = greatest(version + 1, $2) WHERE host = $1";
            session.write(sql, &[&host, &now])?;
            session.run("UPDATE curtsy_ledger SET orders = orders + 1")
        })?;
        // Our own order is in memory: the next look need not read it again.
        self.orders_read = self.orders_read.map(|read| read + 1);
        Ok(())
    }

    fn read_orders(&mut self) -> Result<Orders, Failure> {
        let rows: Vec<(String, i64, bool)> = self.tell(|session| {
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

    /// Forgets everything and begins a new epoch, as if it had been lost.
    pub(crate) fn empty(&mut self) -> Result<(), Failure> {
        self.begin()?;
        let now = self.now();
        let (floor, quiet_until) = (Some(now), Some(now + self.quiet));
        let epoch = Epoch { id: self.epoch.id + 1, floor, quiet_until, emptied: true };
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

/// An address of a database without its password.
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
