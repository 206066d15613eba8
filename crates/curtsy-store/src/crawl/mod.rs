//! The crawl's own file: the queues of all hosts, the known URLs, and the job.
//!
//! One process uses the file, so memory is authoritative and the file makes it durable. Every
//! change is in the journal before a caller gets its reply. The tables are updated from time to
//! time (`merge`). Memory has the hosts with work and the first URLs of each. The rest of a long
//! queue is only in the table.

pub(crate) mod hosts;
mod journal;
mod known;
mod merge;
mod peek;
pub(crate) mod queue;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use curtsy_core::host::{JobView, LeaseId, Tries};
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, HostKey, UrlKey};
use curtsy_engine::timetable::Timetable;
use curtsy_engine::{Offered, UrlRecord, UrlWrite};
use rusqlite::{Connection, OptionalExtension, Row};

use hosts::{FrontierHost, HostNo};
pub(crate) use hosts::{HostShare, Queued};
use journal::FrontierJournal;
use known::KnownUrls;
pub use peek::queued_in;

use crate::ledger::{number, time};
use crate::record::{self, Damaged};
use crate::running::{CrawlLock, RunsBefore};
use crate::{OpenError, Options};
use curtsy_file::{Begins, PAGE_BYTES_LARGE, Schema, trouble};

/// The size of SQLite's page cache in KiB, which SQLite expects as a negative number. Lookups of
/// known keys are spread over their whole table.
const CACHE_KIB: i64 = -8192;

/// The frontier and the job of one crawl.
pub(crate) struct CrawlFrontier {
    db: Connection,
    path: PathBuf,
    /// `None` for a crawl that ends with its process.
    running: Option<CrawlLock>,
    pub(crate) job: JobView,
    /// The number of URLs that are not settled.
    pub(crate) queued: u64,
    hosts: Vec<FrontierHost>,
    by_name: HashMap<HostKey, HostNo>,
    /// Unused indices of `hosts`.
    free: Vec<HostNo>,
    due: Timetable<HostNo>,
    /// When the first host becomes due that is only in the table.
    resting: Option<Time>,
    known: KnownUrls,
    journal: FrontierJournal,
    /// Rows that the next merge deletes.
    gone: Vec<(i64, record::QueuePlace)>,
    /// URLs that are in no window and not in the table yet.
    spilled: Vec<queue::Spilled>,
    /// URLs of windows that differ from the table.
    touched: Vec<(HostNo, u64)>,
    /// The number of URLs in all windows.
    in_memory: usize,
    next_host: i64,
    next_number: u64,
    /// The epoch in which workers reminded the store of URLs, and whether they did.
    reminded: (u64, bool),
    options: Options,
}

impl CrawlFrontier {
    /// Opens or creates a crawl's file for this process alone. Also returns the ledger that the
    /// crawl used last.
    pub(crate) fn open(
        path: &Path,
        now: Time,
        options: Options,
    ) -> Result<(CrawlFrontier, Option<i64>), OpenError> {
        // No lock file is created beside the file of another program.
        curtsy_file::look_first(path)?;
        let running = CrawlLock::lock(path, now)?;
        let db = curtsy_file::open(path, &SCHEMA)?;
        CrawlFrontier::with(db, path, Some(running), now, options)
    }

    /// Begins a crawl that ends with its process.
    pub(crate) fn passing(now: Time, options: Options) -> Result<CrawlFrontier, OpenError> {
        let db = curtsy_file::open_passing(&SCHEMA)?;
        Ok(CrawlFrontier::with(db, Path::new(""), None, now, options)?.0)
    }

    fn with(
        mut db: Connection,
        path: &Path,
        running: Option<CrawlLock>,
        now: Time,
        options: Options,
    ) -> Result<(CrawlFrontier, Option<i64>), OpenError> {
        let of = |e| OpenError::sqlite(path, e);
        db.pragma_update(None, "cache_size", CACHE_KIB).map_err(of)?;
        merge::replay(&mut db).map_err(of)?;
        let job = read_job(&db).map_err(of)?;
        let known = KnownUrls::load(&db, options.known_in_memory).map_err(of)?;
        let (queued, next_number, next_host) = merge::counters(&db).map_err(of)?;
        let reminded = db
            .query_row("SELECT epoch FROM reminded LIMIT 1", [], |row| row.get::<_, i64>(0))
            .optional()
            .map_err(of)?;
        let mut file = CrawlFrontier {
            db,
            path: path.to_owned(),
            running,
            job: job.as_ref().map_or(JobView { started_at: now, pages: 0 }, |(job, _)| *job),
            queued,
            hosts: Vec::new(),
            by_name: HashMap::new(),
            free: Vec::new(),
            due: Timetable::default(),
            resting: None,
            known,
            journal: FrontierJournal::default(),
            gone: Vec::new(),
            spilled: Vec::new(),
            touched: Vec::new(),
            in_memory: 0,
            next_host,
            next_number,
            reminded: reminded.map_or((0, false), |epoch| (epoch as u64, true)),
            options,
        };
        file.find_resting().map_err(of)?;
        Ok((file, job.map(|(_, ledger)| ledger)))
    }

    /// Returns the workers of earlier processes that crawled into this file.
    pub(crate) fn runs_before(&self) -> Option<&RunsBefore> {
        self.running.as_ref().map(CrawlLock::before)
    }

    /// Notes the number of a worker of this process.
    pub(crate) fn note_worker(&mut self, worker: u64) {
        if let Some(running) = &mut self.running {
            running.note_worker(worker);
        }
    }

    /// Notes that nothing of this process is in flight.
    pub(crate) fn end_run(&mut self) {
        if let Some(running) = &mut self.running {
            running.end();
        }
    }

    /// Sets the ledger that the crawl uses.
    pub(crate) fn set_ledger(&mut self, ledger: i64) -> Result<(), rusqlite::Error> {
        let sql = "INSERT INTO job (one, ledger, started_at, pages) VALUES (1, ?1, ?2, ?3)
            ON CONFLICT (one) DO UPDATE SET ledger = excluded.ledger";
        let JobView { started_at, pages } = self.job;
        self.db.execute(sql, (ledger, number(started_at), pages as i64))?;
        Ok(())
    }

    /// Begins a run with its budgets. If `anew`, also forgets what is queued and known.
    pub(crate) fn begin_run(&mut self, now: Time, anew: bool) -> Result<(), rusqlite::Error> {
        self.job = JobView { started_at: now, pages: 0 };
        if anew {
            self.empty()?;
        }
        let sql = "UPDATE job SET started_at = ?1, pages = ?2";
        self.db.execute(sql, (number(now), self.job.pages as i64))?;
        Ok(())
    }

    /// Returns those of these seeds that are not the crawl's; `None` if the crawl's seeds are not
    /// known.
    pub(crate) fn other_seeds(
        &self,
        seeds: &[CrawlUrl],
    ) -> Result<Option<Vec<CrawlUrl>>, rusqlite::Error> {
        let sql = "SELECT EXISTS (SELECT 1 FROM seeds)";
        if !self.db.query_row(sql, [], |row| row.get::<_, bool>(0))? {
            return Ok(None);
        }
        let mut find = self.db.prepare_cached("SELECT 1 FROM seeds WHERE url = ?1")?;
        let mut others = Vec::new();
        for seed in seeds {
            if !find.exists([seed.as_str()])? {
                others.push(seed.clone());
            }
        }
        Ok(Some(others))
    }

    /// Adds seeds.
    pub(crate) fn keep_seeds(&mut self, seeds: &[CrawlUrl]) -> Result<(), rusqlite::Error> {
        let tx = self.db.transaction()?;
        {
            let mut keep = tx.prepare_cached("INSERT OR IGNORE INTO seeds (url) VALUES (?1)")?;
            for seed in seeds {
                keep.execute([seed.as_str()])?;
            }
        }
        tx.commit()
    }

    pub(crate) fn drop_seeds(&mut self) -> Result<(), rusqlite::Error> {
        self.db.execute("DELETE FROM seeds", []).map(drop)
    }

    /// Keeps the settings of this run, and returns those of the last.
    pub(crate) fn swap_settings(&mut self, settings: i64) -> Result<Option<i64>, rusqlite::Error> {
        let before = self.db.query_row("SELECT settings FROM job", [], |row| row.get(0))?;
        self.db.execute("UPDATE job SET settings = ?1", [settings])?;
        Ok(before)
    }

    /// Makes every host with work due, and returns some of them. Only before the first host is
    /// handed out.
    pub(crate) fn wake_all(
        &mut self,
        now: Time,
        max: usize,
    ) -> Result<Vec<HostKey>, rusqlite::Error> {
        self.merge()?;
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        let mut hosts = Vec::new();
        {
            let sql = "SELECT host FROM frontier_hosts WHERE queued > 0 LIMIT ?1";
            let mut statement = self.db.prepare_cached(sql)?;
            let mut rows = statement.query([max])?;
            while let Some(row) = rows.next()? {
                hosts.extend(HostKey::parse(row.get_ref(0)?.as_str()?));
            }
        }
        // A URL that was never tried waited for its host, not for a retry.
        let mut ready = Vec::new();
        {
            let sql = "SELECT key, url, ready, depth, more, host, number FROM frontier
                WHERE ready > ?1 LIMIT ?2";
            let mut statement = self.db.prepare_cached(sql)?;
            let mut rows = statement.query((number(now), max))?;
            while let Some(row) = rows.next()? {
                if read_record(row)?.tries == Tries::default() {
                    ready.push((row.get::<_, i64>(5)?, row.get::<_, i64>(6)?));
                }
            }
        }
        for place in ready {
            let sql = "UPDATE frontier SET ready = 0 WHERE host = ?1 AND number = ?2";
            self.db.prepare_cached(sql)?.execute(place)?;
        }
        let sql = "UPDATE frontier_hosts SET due = ?1 WHERE due > ?1 OR due IS NULL AND queued > 0";
        self.db.execute(sql, [number(now)])?;
        self.find_resting()?;
        Ok(hosts)
    }

    /// Queues a URL that had ended.
    pub(crate) fn put_back(&mut self, record: UrlRecord) -> Result<(), rusqlite::Error> {
        let fresh = self.known.insert(&self.db, record.id.as_u128())?;
        self.insert_url(record, fresh)
    }

    /// Returns URLs that are not settled, in memory or in the table, at most `max`.
    pub(crate) fn left(&mut self, max: usize) -> Result<Vec<UrlRecord>, rusqlite::Error> {
        self.merge()?;
        let sql = "SELECT key, url, ready, depth, more FROM frontier LIMIT ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        statement.query_map([max], read_record)?.collect()
    }

    /// Returns the message for an error of the file.
    pub(crate) fn trouble(&self, error: &rusqlite::Error) -> String {
        trouble(&self.path, error)
    }

    /// Adds a URL if it is not known.
    pub(crate) fn offer(
        &mut self,
        record: UrlRecord,
        offered: &mut Offered,
    ) -> Result<(), rusqlite::Error> {
        if self.known.insert(&self.db, record.id.as_u128())? {
            offered.new += 1;
            self.insert_url(record, true)
        } else {
            offered.known += 1;
            Ok(())
        }
    }

    /// Marks a URL as known without queueing it.
    pub(crate) fn note_known(&mut self, id: UrlKey) -> Result<(), rusqlite::Error> {
        self.known.insert(&self.db, id.as_u128()).map(drop)
    }

    /// Whether memory has a URL among the known ones.
    pub(crate) fn knows(&self, id: UrlKey) -> bool {
        self.known.has(id.as_u128())
    }

    /// Charges a page to the job.
    pub(crate) fn charge(&mut self) {
        self.job.pages += 1;
        self.journal.pages(self.job.pages);
    }

    /// Whether a URL is in a host's queue under this claim.
    pub(crate) fn is_claimed(
        &mut self,
        host: &HostKey,
        id: UrlKey,
        claim: Option<LeaseId>,
    ) -> Result<bool, rusqlite::Error> {
        let no = self.host(host)?;
        let found = self.find(no, id)?;
        Ok(found.is_some_and(|at| self.hosts[no].window[at].record.claim == claim))
    }

    /// Applies a change, unless the URL has another claim.
    pub(crate) fn write_url(&mut self, write: UrlWrite) -> Result<(), rusqlite::Error> {
        let Some(from) = write.from else {
            return match write.to {
                Some(record) => self.insert_url(record, false),
                None => Ok(()),
            };
        };
        let no = self.host(&from)?;
        let Some(at) = self.find(no, write.id)? else {
            return Ok(());
        };
        if self.hosts[no].window[at].record.claim != write.claim {
            return Ok(());
        }
        match write.to {
            Some(record) if *record.host() == from => self.replace(no, at, record),
            Some(record) => {
                self.remove(no, at);
                self.insert_url(record, false)?;
            }
            None => self.remove(no, at),
        }
        Ok(())
    }

    /// Merges into a URL what a worker remembers of it, now or when it arrives.
    pub(crate) fn remind(
        &mut self,
        remembered: &UrlRecord,
        epoch: u64,
    ) -> Result<(), rusqlite::Error> {
        self.keep_reminded(remembered, epoch)?;
        let no = self.host(remembered.host())?;
        if let Some(at) = self.hosts[no].find(remembered.id) {
            let mut record = self.hosts[no].window[at].record.clone();
            record.restore(remembered);
            self.replace(no, at, record);
            self.reschedule_unless_held(no);
        }
        Ok(())
    }

    /// Writes the changes that are not in the file yet.
    pub(crate) fn save(&mut self) -> Result<(), rusqlite::Error> {
        if !self.journal.unwritten().is_empty() {
            // A crawl that ends with its process needs no journal.
            if self.running.is_some() {
                let sql = "INSERT INTO journal (changes) VALUES (?1)";
                self.db.prepare_cached(sql)?.execute([self.journal.unwritten()])?;
            }
            self.journal.written();
        }
        if self.merge_is_due() || self.by_name.len() > 2 * self.options.hosts_in_memory {
            self.merge()?;
            self.make_room()?;
        }
        Ok(())
    }

    /// Forgets everything, as if the file had been lost.
    pub(crate) fn empty(&mut self) -> Result<(), rusqlite::Error> {
        self.db.execute_batch(
            "BEGIN IMMEDIATE; DELETE FROM frontier; DELETE FROM frontier_hosts; DELETE FROM known;
             DELETE FROM journal; DELETE FROM reminded; COMMIT",
        )?;
        self.hosts.clear();
        self.by_name.clear();
        self.free.clear();
        self.due.clear();
        self.resting = None;
        self.known.clear();
        self.journal = FrontierJournal::default();
        self.gone.clear();
        self.spilled.clear();
        self.touched.clear();
        (self.queued, self.in_memory) = (0, 0);
        self.reminded = (0, false);
        Ok(())
    }
}

/// Whether the crawl in a file began with this seed. False for a file that can't be read or holds
/// no crawl.
pub fn has_seed(file: &Path, seed: &CrawlUrl) -> bool {
    let found = curtsy_file::open_to_read(file, &SCHEMA).ok().and_then(|db| {
        db.prepare("SELECT 1 FROM seeds WHERE url = ?1").ok()?.exists([seed.as_str()]).ok()
    });
    found == Some(true)
}

fn read_job(db: &Connection) -> Result<Option<(JobView, i64)>, rusqlite::Error> {
    let sql = "SELECT started_at, pages, ledger FROM job";
    db.query_row(sql, [], |row| {
        let pages = row.get::<_, i64>(1)? as u64;
        Ok((JobView { started_at: time(row.get(0)?), pages }, row.get(2)?))
    })
    .optional()
}

const SCHEMA: Schema<'static> = Schema {
    begins: Begins::First,
    page_bytes: PAGE_BYTES_LARGE,
    names: &[],
    checkpoint_pages: 4000,
    what: "frontier",
    steps: &[
        "
CREATE TABLE job (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    ledger INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    pages INTEGER NOT NULL
);
CREATE TABLE frontier_hosts (
    id INTEGER PRIMARY KEY,
    host TEXT NOT NULL UNIQUE,
    queued INTEGER NOT NULL,
    due INTEGER
);
CREATE INDEX frontier_hosts_due ON frontier_hosts (due) WHERE due IS NOT NULL;
CREATE TABLE frontier (
    host INTEGER NOT NULL,
    ready INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    number INTEGER NOT NULL,
    key BLOB NOT NULL,
    url TEXT NOT NULL,
    more BLOB,
    PRIMARY KEY (host, ready, rank, depth, number)
) WITHOUT ROWID;
CREATE TABLE known (
    key BLOB PRIMARY KEY
) WITHOUT ROWID;
CREATE TABLE journal (
    id INTEGER PRIMARY KEY,
    changes BLOB NOT NULL
);
CREATE TABLE reminded (
    key BLOB PRIMARY KEY,
    epoch INTEGER NOT NULL,
    url TEXT NOT NULL,
    ready INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    more BLOB
) WITHOUT ROWID;
",
        "
CREATE TABLE seeds (
    url TEXT PRIMARY KEY
) WITHOUT ROWID;
ALTER TABLE job ADD COLUMN settings INTEGER;
",
        // Nothing to change: rows of earlier versions have a worth of 0. The step keeps earlier
        // programs away, which would fail at a larger worth.
        "-- `depth` holds the worth too, in the bits above the lowest 16.",
    ],
};

/// Reads a record from a row that begins with key, url, ready, depth and more.
fn read_record(row: &Row<'_>) -> Result<UrlRecord, rusqlite::Error> {
    let (key, url) = (row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_str()?);
    let more = row.get_ref(4)?.as_blob_or_null()?;
    record::record(known::key(key), url, row.get(2)?, row.get(3)?, more).map_err(damaged)
}

/// Returns an error for data that this program has not written like this.
fn damaged(error: impl Into<Damaged>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Blob, error.into())
}
