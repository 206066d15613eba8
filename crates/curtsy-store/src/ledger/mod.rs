//! The ledger: what is known of hosts, shared by all processes of a user on a machine.
//!
//! Each write is a transaction, which first checks whether another process has written since. If
//! so, what is in memory is read again. A host's version is at least the store's time of its last
//! write. So no version occurs twice, even if the host is forgotten in between.
//!
//! **Epochs.** The end of a process loses nothing, so it begins no epoch. A new epoch begins when
//! something may have been lost:
//! - after a reboot, since a power failure loses what was not on the disk. Every host counts as
//!   started when the machine booted, as none of our requests can have started later. Nothing is
//!   granted for one lease from then, which is mostly over when a crawl begins;
//! - when the file was replaced while a process used it, or is missing while its `-users` file
//!   exists: every host counts as started now;
//! - when a crawl is continued with another ledger than before.
//!
//! The first ledger of a machine begins without a floor and without a quiet time, since none of our
//! requests can be in flight.

mod rows;
mod shown;
mod slots;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{Anew, HostState, JobView, LeaseId};
use curtsy_core::time::Time;
use curtsy_core::url::HostKey;
use curtsy_engine::{Epoch, Order, Orders, View};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior};

use crate::kept::HostCache;
use crate::machine_clock::Anchor;
use crate::running::{LedgerUsers, inode};
use crate::{MachineClock, OpenError, Options, ReadableTables, SystemClock};
use curtsy_file::{Begins, Schema};
#[cfg(feature = "postgres")]
pub(crate) use slots::octets;

/// How often the latest time is written. After a reboot this span is added to it.
const LATEST_EVERY: Duration = Duration::from_secs(1);
/// How often to check whether the file was replaced.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Files of robots.txt that were not written for this long are deleted: the last good copy is valid
/// for 30 days. So are orders that were lifted this long ago.
pub(crate) const OLD: Duration = Duration::from_secs(60 * 86_400);

/// The ledger of hosts.
pub struct Ledger<H = SystemClock> {
    db: Connection,
    path: PathBuf,
    hours: H,
    quiet: Duration,
    shows: ReadableTables,
    users: LedgerUsers,
    /// The device and inode of the open file.
    file: Option<(u64, u64)>,
    head: LedgerHead,
    orders: Arc<Orders>,
    /// Leases of this process that have a slot of an address.
    slots: HashSet<LeaseId>,
    kept: HostCache,
    data_version: i64,
    /// How often another process was found to have written.
    others: u64,
    looked: Time,
    last_now: Time,
}

/// What other processes have changed.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    /// Hosts whose stop orders were lifted.
    pub(crate) lifted: Vec<HostKey>,
}

impl<H: MachineClock> Ledger<H> {
    /// Opens or creates a ledger. Nothing is granted for `quiet`, one lease, when a new epoch
    /// begins.
    pub fn open(path: &Path, hours: H, quiet: Duration) -> Result<Ledger<H>, OpenError> {
        Ledger::open_showing(path, hours, &Options { quiet, ..Options::default() })
    }

    /// Like [`Ledger::open`], with readable tables.
    pub(crate) fn open_showing(
        path: &Path,
        hours: H,
        options: &Options,
    ) -> Result<Ledger<H>, OpenError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|e| OpenError::ReadOnly { path: path.to_owned(), source: Box::new(e) })?;
        }
        let users = LedgerUsers::join(path)?;
        let alone = users.try_alone();
        if !alone {
            // The process that came first may be creating the file.
            users.share(path)?;
        }
        let lost = users.seen_before && !path.exists();
        let mut ledger = Self::open_as(path, hours, options, users, alone, lost)?;
        ledger.users.made(path)?;
        ledger.users.share(path)?;
        Ok(ledger)
    }

    fn open_as(
        path: &Path,
        hours: H,
        options: &Options,
        users: LedgerUsers,
        alone: bool,
        lost: bool,
    ) -> Result<Ledger<H>, OpenError> {
        let of = |e| OpenError::sqlite(path, e);
        let (quiet, shows) = (options.quiet, options.shows.clone());
        let mut db = open_tables(path, &shows)?;
        let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(of)?;
        let head = match read_head(&tx).map_err(of)? {
            None => LedgerHead::first(&hours, quiet, lost),
            Some(head) => head.awake(&hours, quiet, alone),
        };
        head.write(&tx).map_err(of)?;
        if alone {
            let old = head.anchor.now(&hours).back(OLD);
            tx.execute("DELETE FROM robots WHERE written < ?1", [number(old)]).map_err(of)?;
            tx.execute("DELETE FROM stops WHERE lifted AND since < ?1", [number(old)])
                .map_err(of)?;
        }
        if shows.anything() {
            shown::throw_away(&tx, head.anchor.now(&hours)).map_err(of)?;
        }
        tx.commit().map_err(of)?;
        let last_now = head.anchor.now(&hours);
        let slots = Self::leases_with_slots(&db).map_err(of)?;
        let mut ledger = Ledger {
            file: inode_of(path),
            db,
            path: path.to_owned(),
            quiet,
            shows,
            users,
            head,
            orders: Arc::default(),
            slots,
            kept: HostCache::default(),
            data_version: -1,
            others: 0,
            looked: last_now,
            last_now,
            hours,
        };
        ledger.refresh().map_err(of)?;
        Ok(ledger)
    }

    /// Returns the store's time.
    pub fn now(&mut self) -> Time {
        self.last_now = self.last_now.max(self.head.anchor.now(&self.hours));
        self.last_now
    }

    /// Returns the epoch.
    pub fn epoch(&self) -> Epoch {
        self.head.epoch
    }

    /// Returns how often another process was found to have written.
    pub(crate) fn others(&self) -> u64 {
        self.others
    }

    /// Returns the ledger's name.
    pub(crate) fn id(&self) -> i64 {
        self.head.id
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives or lifts a stop order. Every process sees it before its next grant.
    pub fn stop(&mut self, host: &HostKey, stopped: bool) -> Result<(), rusqlite::Error> {
        self.give(host, stopped).map(drop)
    }

    /// Gives or lifts a stop order, and returns what other processes have changed.
    pub(crate) fn give(
        &mut self,
        host: &HostKey,
        stopped: bool,
    ) -> Result<Changed, rusqlite::Error> {
        let changed = self.begin()?;
        let now = self.now();
        let order = self.orders.next(host, stopped, now);
        let done = self.write_order(&order);
        self.end(done).map(|()| changed)
    }

    /// Takes over orders that are newer than the known ones of their hosts.
    pub(crate) fn order(&mut self, orders: &[Order]) -> Result<Changed, rusqlite::Error> {
        let changed = self.begin()?;
        let done = orders.iter().try_for_each(|order| self.write_order(order));
        self.end(done).map(|()| changed)
    }

    fn write_order(&mut self, order: &Order) -> Result<(), rusqlite::Error> {
        if !Arc::make_mut(&mut self.orders).hear(order) {
            return Ok(());
        }
        let host = order.host.as_str();
        let sql = "INSERT OR REPLACE INTO stops (host, since, lifted) VALUES (?1, ?2, ?3)";
        self.db.execute(sql, (host, number(order.at), !order.stopped))?;
        // A worker that decided under the other order decides again, so a host that it just parked
        // does not stay parked.
        let now = self.now();
        let sql = "UPDATE hosts SET version = max(version + 1, ?2) WHERE host = ?1";
        self.db.execute(sql, (host, number(now)))?;
        self.kept.forget(&order.host);
        Ok(())
    }

    pub(crate) fn shows(&self) -> &ReadableTables {
        &self.shows
    }

    /// Returns the newest order for each host, as of the last check.
    pub(crate) fn orders(&self) -> &Arc<Orders> {
        &self.orders
    }

    /// Returns the hosts with a stop order in force, and when each was given.
    pub fn stops(&mut self) -> Result<Vec<(HostKey, Time)>, rusqlite::Error> {
        self.refresh()?;
        let stopped = self.orders.iter().filter(|order| order.stopped);
        Ok(stopped.map(|order| (order.host, order.at)).collect())
    }

    /// Returns a host's state.
    pub fn state(&mut self, host: &HostKey) -> Result<Arc<HostState>, rusqlite::Error> {
        self.refresh()?;
        Ok(self.row(host)?.state.clone())
    }

    /// Returns a host as a job that begins now would see it.
    pub fn view(&mut self, host: &HostKey) -> Result<View, rusqlite::Error> {
        self.refresh()?;
        let now = self.now();
        let (epoch, stopped) = (self.epoch(), self.orders.is_stopped(host));
        let row = self.row(host)?;
        let (state, version) = (row.state.clone(), row.version);
        let job = JobView { started_at: now, pages: 0 };
        Ok(View { host: host.clone(), state, version, now, stopped, epoch, job })
    }

    /// Forgets what is known of a host, except its stop order and the waits that it requested.
    /// Returns whether anything was known.
    pub fn forget(&mut self, host: &HostKey) -> Result<bool, rusqlite::Error> {
        self.begin()?;
        let now = self.now();
        let state = self.row(host).map(|row| row.state.clone());
        let done = state.and_then(|state| {
            let left = state.forgotten();
            let known = left != *state;
            if known {
                self.write(host, Arc::new(left), None, now)?;
            }
            Ok(known)
        });
        self.kept.forget(host);
        let known = matches!(done, Ok(true));
        self.end(done.map(drop))?;
        Ok(known)
    }

    /// Forgets failures of a host during which no request of ours could reach it.
    pub(crate) fn try_anew(&mut self, host: &HostKey, why: Anew) -> Result<(), rusqlite::Error> {
        self.begin()?;
        let now = self.now();
        let done = match self.row(host).map(|row| row.state.tried_anew(why, now)) {
            Ok(Some(state)) => self.write(host, Arc::new(state), None, now).map(drop),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        self.end(done)
    }

    /// Begins a new epoch after a loss.
    pub(crate) fn new_epoch(&mut self, emptied: bool) -> Result<(), rusqlite::Error> {
        self.begin()?;
        let done = self.write_epoch(emptied);
        self.end(done)
    }

    fn write_epoch(&mut self, emptied: bool) -> Result<(), rusqlite::Error> {
        let now = self.now();
        self.head.epoch = Epoch::after_loss(self.head.epoch.id + 1, now, self.quiet, emptied);
        self.head.write(&self.db)
    }

    /// Forgets everything and begins a new epoch, as if the file had been lost.
    pub(crate) fn empty(&mut self) -> Result<(), rusqlite::Error> {
        self.begin()?;
        let done = self
            .db
            .execute_batch(
                "DELETE FROM hosts; DELETE FROM robots; DELETE FROM slots; DELETE FROM stops;",
            )
            .and_then(|()| self.empty_shown())
            .and_then(|()| self.write_epoch(true));
        self.kept.clear();
        self.orders = Arc::default();
        self.end(done)
    }

    /// Checks whether other processes have written, and takes over their changes.
    pub(crate) fn refresh(&mut self) -> Result<Changed, rusqlite::Error> {
        let mut data_version = self.db.prepare_cached("PRAGMA data_version")?;
        let found = data_version.query_row([], |row| row.get(0))?;
        drop(data_version);
        if found == self.data_version {
            return Ok(Changed::default());
        }
        if let Some(head) = read_head(&self.db)? {
            self.head = LedgerHead { id: self.head.id, ..head };
        }
        let orders = read_orders(&self.db)?;
        let lifted = stopped(&self.orders).filter(|host| !orders.is_stopped(host)).collect();
        if *self.orders != orders {
            self.orders = Arc::new(orders);
        }
        self.kept.doubt();
        self.others += 1;
        self.data_version = found;
        Ok(Changed { lifted })
    }

    /// Begins a transaction and takes over the changes of other processes. No other process writes
    /// until its end.
    pub(crate) fn begin(&mut self) -> Result<Changed, rusqlite::Error> {
        self.look()?;
        self.db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        self.refresh().inspect_err(|_| self.roll_back())
    }

    /// Ends a transaction: commits it, or rolls it back after an error.
    pub(crate) fn end(&mut self, done: Result<(), rusqlite::Error>) -> Result<(), rusqlite::Error> {
        let done = done.and_then(|()| self.commit());
        if done.is_err() {
            self.roll_back();
        }
        done
    }

    fn commit(&mut self) -> Result<(), rusqlite::Error> {
        let now = self.now();
        if now >= self.head.latest + LATEST_EVERY {
            self.head.latest = now;
            self.db.prepare_cached("UPDATE ledger SET latest = ?1")?.execute([number(now)])?;
        }
        self.db.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    pub(crate) fn roll_back(&mut self) {
        if !self.db.is_autocommit() {
            // Fails only if SQLite has rolled back already.
            let _ = self.db.execute_batch("ROLLBACK");
        }
        // Memory may have changes of this transaction.
        self.kept.clear();
        self.data_version = -1;
    }

    /// Checks whether the file is still the one that was opened. If it was replaced, its content is
    /// lost.
    fn look(&mut self) -> Result<(), rusqlite::Error> {
        let now = self.now();
        if now < self.looked + LOOK_EVERY {
            return Ok(());
        }
        self.looked = now;
        if self.file.is_none() || inode_of(&self.path) == self.file {
            return Ok(());
        }
        self.db = open_tables(&self.path, &self.shows)
            .map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?;
        self.file = inode_of(&self.path);
        self.kept.clear();
        self.data_version = -1;
        let tx = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have begun an epoch already. The later time of both counts.
        let found = read_head(&tx)?;
        let time = found.as_ref().map_or(now, |head| head.anchor.now(&self.hours).max(now));
        let id = found.as_ref().map_or(0, |head| head.epoch.id).max(self.head.epoch.id) + 1;
        let epoch = Epoch::after_loss(id, time, self.quiet, false);
        let head = LedgerHead {
            id: found.map_or(number(time), |head| head.id),
            anchor: Anchor::new(&self.hours, time),
            latest: time,
            epoch,
        };
        head.write(&tx)?;
        tx.commit()?;
        self.head = head;
        Ok(())
    }
}

/// Opens or creates the tables of a ledger, and the readable ones if there are any.
fn open_tables(path: &Path, shows: &ReadableTables) -> Result<Connection, OpenError> {
    if shows.anything() {
        drop(curtsy_file::open(path, &shown::SCHEMA)?);
    }
    curtsy_file::open(path, &SCHEMA)
}

/// The row about the ledger itself.
struct LedgerHead {
    /// The ledger's name.
    id: i64,
    anchor: Anchor,
    latest: Time,
    epoch: Epoch,
}

impl LedgerHead {
    /// Returns the head of a new ledger. `lost` says that an earlier one existed.
    fn first(hours: &impl MachineClock, quiet: Duration, lost: bool) -> LedgerHead {
        let now = Time::from_micros(hours.wall());
        // The time makes the epochs of each ledger differ, so a worker that knew another ledger
        // notices.
        let id = now.micros();
        let floor = lost.then_some(now);
        let epoch = Epoch { id, floor, quiet_until: floor.map(|t| t + quiet), emptied: lost };
        LedgerHead { id: number(now), anchor: Anchor::new(hours, now), latest: now, epoch }
    }

    /// Returns the head after the ledger was opened.
    fn awake(mut self, hours: &impl MachineClock, quiet: Duration, alone: bool) -> LedgerHead {
        if self.anchor.boot == hours.boot() {
            if alone {
                self.anchor = Anchor::new(hours, self.anchor.now_after_sleep(hours));
            }
            return self;
        }
        let wall = Time::from_micros(hours.wall());
        let least = self.latest + LATEST_EVERY;
        let now = wall.max(least);
        // None of our requests started before the boot. A wall clock that went back can't show when
        // that was.
        let booted = if wall >= least {
            wall.back(Duration::from_micros(hours.since_boot())).max(least)
        } else {
            now
        };
        self.anchor = Anchor::new(hours, now);
        self.latest = now;
        self.epoch = Epoch::after_loss(self.epoch.id + 1, booted, quiet, false);
        self
    }

    fn write(&self, db: &Connection) -> Result<(), rusqlite::Error> {
        let LedgerHead { id, anchor, latest, epoch } = self;
        let sql = "INSERT OR REPLACE INTO ledger (one, id, boot, monotonic, since_boot, time, latest, epoch, floor, quiet_until, emptied)
            VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        db.execute(
            sql,
            (
                id,
                &anchor.boot,
                anchor.monotonic as i64,
                anchor.since_boot as i64,
                number(anchor.time),
                number(*latest),
                epoch.id as i64,
                epoch.floor.map(number),
                epoch.quiet_until.map(number),
                epoch.emptied,
            ),
        )?;
        Ok(())
    }
}

fn read_head(db: &Connection) -> Result<Option<LedgerHead>, rusqlite::Error> {
    let sql = "SELECT id, boot, monotonic, since_boot, time, latest, epoch, floor, quiet_until, emptied FROM ledger";
    let read = |row: &Row<'_>| {
        Ok(LedgerHead {
            id: row.get(0)?,
            anchor: Anchor {
                boot: row.get(1)?,
                monotonic: row.get::<_, i64>(2)? as u64,
                since_boot: row.get::<_, i64>(3)? as u64,
                time: time(row.get(4)?),
            },
            latest: time(row.get(5)?),
            epoch: Epoch {
                id: row.get::<_, i64>(6)? as u64,
                floor: row.get::<_, Option<i64>>(7)?.map(time),
                quiet_until: row.get::<_, Option<i64>>(8)?.map(time),
                emptied: row.get(9)?,
            },
        })
    };
    db.prepare_cached(sql)?.query_row([], read).optional()
}

fn read_orders(db: &Connection) -> Result<Orders, rusqlite::Error> {
    let mut orders = Orders::default();
    let mut statement = db.prepare_cached("SELECT host, since, lifted FROM stops")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Ok(host) = HostKey::parse(row.get_ref(0)?.as_str()?) {
            let stopped = !row.get::<_, bool>(2)?;
            orders.hear(&Order { host, stopped, at: time(row.get(1)?) });
        }
    }
    Ok(orders)
}

/// Returns the hosts whose stop orders are in force.
pub(crate) fn stopped(orders: &Orders) -> impl Iterator<Item = HostKey> + '_ {
    orders.iter().filter(|order| order.stopped).map(|order| order.host)
}

/// Returns a time as SQLite stores it.
pub(crate) fn number(time: Time) -> i64 {
    i64::try_from(time.micros()).unwrap_or(i64::MAX)
}

/// Returns a time that SQLite stored.
pub(crate) fn time(number: i64) -> Time {
    match number {
        i64::MAX => Time::NEVER,
        _ => Time::from_micros(u64::try_from(number).unwrap_or(0)),
    }
}

fn inode_of(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(inode)
}

const SCHEMA: Schema<'static> = Schema {
    begins: Begins::First,
    // A host's row has some hundred bytes, and each commit writes whole pages.
    page_bytes: 2048,
    names: &[],
    checkpoint_pages: 16_000,
    what: "ledger",
    steps: &[
        "
CREATE TABLE ledger (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id INTEGER NOT NULL,
    boot TEXT NOT NULL,
    monotonic INTEGER NOT NULL,
    since_boot INTEGER NOT NULL,
    time INTEGER NOT NULL,
    latest INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    floor INTEGER,
    quiet_until INTEGER,
    emptied INTEGER NOT NULL
);
CREATE TABLE hosts (
    id INTEGER PRIMARY KEY,
    host TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    state BLOB NOT NULL
);
CREATE TABLE robots (
    id BLOB NOT NULL UNIQUE,
    written INTEGER NOT NULL,
    etag TEXT,
    last_modified TEXT,
    text BLOB NOT NULL
);
CREATE TABLE slots (
    address BLOB NOT NULL,
    lease INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (address, lease)
) WITHOUT ROWID;
CREATE TABLE stops (
    host TEXT PRIMARY KEY,
    since INTEGER NOT NULL
) WITHOUT ROWID;
",
        "
ALTER TABLE stops ADD COLUMN lifted INTEGER NOT NULL DEFAULT 0;
",
    ],
};
