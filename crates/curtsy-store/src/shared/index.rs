//! The index of the page cache: an SQLite table with a row for each batch of pages, and the same in
//! memory.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use curtsy_core::time::Time;
use curtsy_core::url::{HostKey, UrlKey};
use curtsy_file::{OpenError, Schema};
use rusqlite::{Connection, Transaction, TransactionBehavior};

/// The name of the index in the folder of a page cache.
pub(super) const NAME: &str = "index.db";
/// Bytes of an entry in the table.
const ENTRY_BYTES: usize = 64;
/// Pages of the write-ahead log after which it is merged into the file. Nothing waits for the disk
/// here.
const CHECKPOINT_PAGES: i64 = 1000;

/// Values in place of a segment: all earlier rows are void, or a segment was evicted.
const CLEARED: i64 = -1;
const EVICTED: i64 = -2;

/// The position of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PagePosition {
    pub(super) key: UrlKey,
    pub(super) at: Time,
    pub(super) segment: u64,
    pub(super) offset: u64,
    pub(super) head_len: u32,
    pub(super) body_len: u32,
    pub(super) head_sum: u32,
    pub(super) body_sum: u32,
    pub(super) host: u32,
    pub(super) variant: u64,
}

pub(super) struct PageIndex {
    db: Connection,
    entries: HashMap<UrlKey, PagePosition>,
    /// The last row that was read.
    last: i64,
    data_version: i64,
}

/// Returns a hash of a host by which its pages are found. Two hosts may have the same hash; they
/// are then forgotten together.
pub(super) fn host_mark(host: &HostKey) -> u32 {
    crc32fast::hash(host.as_str().as_bytes())
}

pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join(NAME)
}

impl PageIndex {
    /// Opens or creates the index and reads all of it.
    pub(super) fn open(folder: &Path) -> Result<PageIndex, OpenError> {
        let path = path(folder);
        // SQLite would make the file readable for others. Files that SQLite creates beside it get
        // the same rights.
        let mut options = OpenOptions::new();
        options
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(|e| OpenError::io(&path, e))?;
        let db = curtsy_file::open(&path, &SCHEMA)?;
        let of = |e| OpenError::sqlite(&path, e);
        db.execute_batch("PRAGMA synchronous = OFF").map_err(of)?;
        let mut index = PageIndex { db, entries: HashMap::new(), last: 0, data_version: -1 };
        index.refresh().map_err(of)?;
        Ok(index)
    }

    /// Reads the rows that other processes have added.
    pub(super) fn refresh(&mut self) -> Result<(), rusqlite::Error> {
        let version =
            self.db.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if version == self.data_version {
            return Ok(());
        }
        let mut statement = self
            .db
            .prepare_cached("SELECT id, segment, entries FROM batches WHERE id > ?1 ORDER BY id")?;
        let mut rows = statement.query([self.last])?;
        while let Some(row) = rows.next()? {
            self.last = row.get(0)?;
            let segment: i64 = row.get(1)?;
            if segment == CLEARED {
                self.entries.clear();
            }
            let entries = row.get_ref(2)?.as_blob().unwrap_or_default();
            for entry in entries.chunks_exact(ENTRY_BYTES) {
                take_in(&mut self.entries, PagePosition::read(entry, segment.unsigned_abs()));
            }
        }
        self.data_version = version;
        Ok(())
    }

    pub(super) fn get(&self, key: UrlKey) -> Option<PagePosition> {
        self.entries.get(&key).copied()
    }

    pub(super) fn pages(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Adds pages of one segment. Returns false if the segment is gone.
    pub(super) fn add(&mut self, entries: &[PagePosition]) -> Result<bool, rusqlite::Error> {
        let Some(segment) = entries.first().map(|entry| entry.segment) else { return Ok(true) };
        let tx = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        let is_there =
            tx.prepare_cached("SELECT 1 FROM segments WHERE id = ?1")?.exists([number(segment)])?;
        if is_there {
            insert(&tx, segment, entries)?;
        }
        tx.commit()?;
        if is_there {
            entries.iter().for_each(|entry| take_in(&mut self.entries, *entry));
        }
        Ok(is_there)
    }

    /// Notes that a page was confirmed.
    pub(super) fn confirm(&mut self, key: UrlKey, at: Time) -> Result<(), rusqlite::Error> {
        match self.get(key) {
            Some(entry) => self.add(&[PagePosition { at: at.max(entry.at), ..entry }]).map(drop),
            None => Ok(()),
        }
    }

    /// Forgets pages and returns their positions.
    pub(super) fn forget(
        &mut self,
        wanted: impl Fn(UrlKey, u32) -> bool,
    ) -> Result<Vec<PagePosition>, rusqlite::Error> {
        let found = self.entries.values().filter(|entry| wanted(entry.key, entry.host));
        let found: Vec<PagePosition> = found.copied().collect();
        let tx = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        for entry in &found {
            // An entry with an empty head removes the page.
            insert(&tx, entry.segment, &[PagePosition { head_len: 0, body_len: 0, ..*entry }])?;
        }
        tx.commit()?;
        for entry in &found {
            self.entries.remove(&entry.key);
        }
        Ok(found)
    }

    /// Forgets everything and returns the segments.
    pub(super) fn clear(&mut self) -> Result<Vec<u64>, rusqlite::Error> {
        let segments = self.segments()?.into_iter().map(|(segment, _)| segment).collect();
        let tx = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        let last = last(&tx)?;
        tx.execute_batch(
            "DELETE FROM batches; DELETE FROM segments; UPDATE counts SET evicted = 0;",
        )?;
        mark(&tx, last, CLEARED)?;
        tx.commit()?;
        self.entries.clear();
        Ok(segments)
    }

    /// Returns the segments, oldest first, with the number of entries of each.
    pub(super) fn segments(&self) -> Result<Vec<(u64, u64)>, rusqlite::Error> {
        let sql = "SELECT s.id, coalesce(sum(length(b.entries)), 0) / ?1
            FROM segments s LEFT JOIN batches b ON b.segment = s.id GROUP BY s.id ORDER BY s.id";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map([ENTRY_BYTES as i64], |row| {
            Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, i64>(1)?.unsigned_abs()))
        })?;
        rows.collect()
    }

    /// Adds a segment and returns its number.
    pub(super) fn begin_segment(&self) -> Result<u64, rusqlite::Error> {
        self.db.prepare_cached("INSERT INTO segments DEFAULT VALUES")?.execute([])?;
        Ok(self.db.last_insert_rowid().unsigned_abs())
    }

    /// Removes a segment and its pages.
    pub(super) fn evict(&mut self, segment: u64, pages: u64) -> Result<(), rusqlite::Error> {
        let tx = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        let last = last(&tx)?;
        tx.execute("DELETE FROM batches WHERE segment = ?1", [number(segment)])?;
        // Another process may have removed it already.
        if tx.execute("DELETE FROM segments WHERE id = ?1", [number(segment)])? > 0 {
            tx.execute("UPDATE counts SET evicted = evicted + ?1", [number(pages)])?;
            mark(&tx, last, EVICTED)?;
        }
        tx.commit()?;
        self.leave_out_segment(segment);
        Ok(())
    }

    /// Returns the number of pages that were ever evicted.
    pub(super) fn evicted(&self) -> Result<u64, rusqlite::Error> {
        let evicted: i64 = self.db.query_row("SELECT evicted FROM counts", [], |row| row.get(0))?;
        Ok(evicted.unsigned_abs())
    }

    /// Removes a damaged page from memory.
    pub(super) fn leave_out(&mut self, key: UrlKey) {
        self.entries.remove(&key);
    }

    /// Removes the pages of a missing segment from memory.
    pub(super) fn leave_out_segment(&mut self, segment: u64) {
        self.entries.retain(|_, entry| entry.segment != segment);
    }
}

fn take_in(entries: &mut HashMap<UrlKey, PagePosition>, entry: PagePosition) {
    if entry.head_len == 0 {
        entries.remove(&entry.key);
    } else if entries.get(&entry.key).is_none_or(|known| known.at <= entry.at) {
        entries.insert(entry.key, entry);
    }
}

fn insert(db: &Connection, segment: u64, entries: &[PagePosition]) -> Result<(), rusqlite::Error> {
    let mut bytes = Vec::with_capacity(entries.len() * ENTRY_BYTES);
    entries.iter().for_each(|entry| entry.write(&mut bytes));
    db.prepare_cached("INSERT INTO batches (segment, entries) VALUES (?1, ?2)")?
        .execute((number(segment), bytes))?;
    Ok(())
}

/// Returns the number of the last row.
fn last(db: &Connection) -> Result<i64, rusqlite::Error> {
    db.query_row("SELECT coalesce(max(id), 0) FROM batches", [], |row| row.get(0))
}

/// Adds a row after rows were deleted, so that no number is used twice: readers continue after the
/// last number that they know.
fn mark(db: &Connection, last: i64, what: i64) -> Result<(), rusqlite::Error> {
    db.execute("INSERT OR REPLACE INTO batches VALUES (?1, ?2, x'')", (last + 1, what))?;
    Ok(())
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl PagePosition {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.key.as_u128().to_be_bytes());
        out.extend_from_slice(&self.at.micros().to_be_bytes());
        out.extend_from_slice(&self.offset.to_be_bytes());
        out.extend_from_slice(&self.variant.to_be_bytes());
        for part in [self.head_len, self.body_len, self.head_sum, self.body_sum, self.host, 0] {
            out.extend_from_slice(&part.to_be_bytes());
        }
    }

    fn read(bytes: &[u8], segment: u64) -> PagePosition {
        let part = |at: usize, len: usize| {
            bytes[at..at + len].iter().fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte))
        };
        let long = |at| part(at, 8) as u64;
        let short = |at| part(at, 4) as u32;
        PagePosition {
            key: UrlKey::from_u128(part(0, 16)),
            at: Time::from_micros(long(16)),
            segment,
            offset: long(24),
            variant: long(32),
            head_len: short(40),
            body_len: short(44),
            head_sum: short(48),
            body_sum: short(52),
            host: short(56),
        }
    }
}

const SCHEMA: Schema<'static> = Schema {
    what: "page cache",
    begins: curtsy_file::Begins::First,
    page_bytes: 4096,
    names: &["segments", "batches", "counts"],
    checkpoint_pages: CHECKPOINT_PAGES,
    steps: &["
CREATE TABLE segments (id INTEGER PRIMARY KEY AUTOINCREMENT);
CREATE TABLE batches (
    id INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL,
    entries BLOB NOT NULL
);
CREATE TABLE counts (evicted INTEGER NOT NULL);
INSERT INTO counts VALUES (0);
"],
};
