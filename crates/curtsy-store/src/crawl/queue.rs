//! The URLs of one host: the first ones in memory, the rest in the table.
//!
//! Whatever is not in a host's window stands at its `bound` or behind. So the first URLs of the queue are those of the window
//! in front of the bound, as long as there are enough of them; else more are read from the table and the bound moves on.

use std::ops::Deref;

use curtsy_core::url::UrlKey;
use curtsy_engine::UrlRecord;

use super::CrawlFile;
use super::damaged;
use super::hosts::{Host, HostNo, URLS_PER_VISIT};
use crate::record::{self, FIRST, LAST, Place};

/// URLs of one host that are in memory, unless they were handed out or came back.
pub(crate) const WINDOW_MAX: usize = 64;
/// Rows that are read at once.
const READ_AT_ONCE: usize = 64;

/// A URL in memory.
pub(super) struct Entry {
    pub(super) record: UrlRecord,
    pub(super) number: u64,
    /// Where it stands in the table, if it does.
    pub(super) row: Option<Place>,
    /// Whether the table has it otherwise.
    pub(super) touched: bool,
}

impl Entry {
    pub(super) fn place(&self) -> Place {
        record::place(&self.record, self.number)
    }
}

/// A URL's place in a window. What is searched for stands here, and the rest elsewhere: they move about, and are looked through several times for each page.
pub(super) struct Slot {
    pub(super) place: Place,
    id: UrlKey,
    entry: Box<Entry>,
}

impl Slot {
    fn new(entry: Box<Entry>) -> Slot {
        Slot { place: entry.place(), id: entry.record.id, entry }
    }

    /// Its number in the order of arrival.
    pub(super) fn number(&self) -> u64 {
        self.place.3
    }

    /// The table has it as it is.
    pub(super) fn written(&mut self) {
        self.entry.row = Some(self.place);
        self.entry.touched = false;
    }
}

impl Deref for Slot {
    type Target = Entry;
    fn deref(&self) -> &Entry {
        &self.entry
    }
}

/// A URL that is in no window and not in the table yet.
pub(super) struct Spilled {
    pub(super) host: i64,
    pub(super) number: u64,
    pub(super) record: UrlRecord,
}

impl Host {
    /// Where a URL is in the window.
    pub(super) fn find(&self, id: UrlKey) -> Option<usize> {
        self.window.iter().position(|slot| slot.id == id)
    }

    fn insert(&mut self, entry: Box<Entry>) {
        let slot = Slot::new(entry);
        let at = self.window.partition_point(|other| other.place < slot.place);
        self.window.insert(at, slot);
    }

    /// Whether URLs of it are not in memory.
    fn has_more(&self) -> bool {
        self.total > self.window.len() as u64
    }
}

impl CrawlFile {
    /// Puts a record into the queue of its host.
    pub(super) fn insert_url(
        &mut self,
        mut record: UrlRecord,
        new: bool,
    ) -> Result<(), rusqlite::Error> {
        self.restore_reminded(&mut record)?;
        let no = self.host(record.host())?;
        // One that moved here may be here already.
        if !new && self.hosts[no].find(record.id).is_some() {
            return Ok(());
        }
        let number = self.next_number;
        self.next_number += 1;
        self.journal.put(self.hosts[no].id, number, None, new, &record);
        self.queued += 1;
        let place = record::place(&record, number);
        let host = &mut self.hosts[no];
        if record.rank() == 0 {
            // Others wait for it, and it may need no request: the host is looked at anew, once.
            host.look = true;
        }
        let in_front = !host.has_more() || place < host.bound;
        let room = if host.has_more() { 2 * WINDOW_MAX } else { WINDOW_MAX };
        if in_front && host.window.len() < room {
            host.total += 1;
            host.changed = true;
            host.insert(Box::new(Entry { record, number, row: None, touched: true }));
            self.touched.push((no, number));
            self.in_memory += 1;
        } else {
            host.bound = if host.has_more() { host.bound.min(place) } else { place };
            host.total += 1;
            host.changed = true;
            let host = host.id;
            self.spilled.push(Spilled { host, number, record });
        }
        self.reschedule_unless_held(no);
        Ok(())
    }

    /// A URL of the window is otherwise from now on.
    pub(super) fn replace(&mut self, no: HostNo, at: usize, record: UrlRecord) {
        let host = &mut self.hosts[no];
        let mut entry = host.window.remove(at).entry;
        entry.record = record;
        self.journal.put(host.id, entry.number, entry.row, false, &entry.record);
        if !entry.touched {
            entry.touched = true;
            self.touched.push((no, entry.number));
        }
        host.insert(entry);
    }

    /// A URL of the window is no longer in the queue.
    pub(super) fn remove(&mut self, no: HostNo, at: usize) {
        let host = &mut self.hosts[no];
        let entry = host.window.remove(at);
        host.total -= 1;
        host.changed = true;
        self.journal.gone(host.id, entry.number, entry.row);
        self.gone.extend(entry.row.map(|row| (host.id, row)));
        self.in_memory -= 1;
        self.queued -= 1;
    }

    /// Where a URL is in its host's window. It comes there if it is only in the table, which takes a while for a long queue: what
    /// was handed out is in the window.
    pub(super) fn find(
        &mut self,
        no: HostNo,
        id: UrlKey,
    ) -> Result<Option<usize>, rusqlite::Error> {
        if let Some(at) = self.hosts[no].find(id) {
            return Ok(Some(at));
        }
        if !self.hosts[no].has_more() {
            return Ok(None);
        }
        self.merge()?;
        let sql = "SELECT ready, rank, depth, number, key, url, more FROM frontier WHERE host = ?1 AND key = ?2";
        let key = id.as_u128().to_be_bytes();
        let mut found = self.read(sql, (self.hosts[no].id, &key[..]))?;
        let Some(entry) = found.pop() else {
            return Ok(None);
        };
        self.hosts[no].insert(Box::new(entry));
        self.in_memory += 1;
        Ok(self.hosts[no].find(id))
    }

    /// Reads from the table until the first URLs of the queue are in memory.
    pub(super) fn fill(&mut self, no: HostNo) -> Result<(), rusqlite::Error> {
        loop {
            let host = &self.hosts[no];
            let in_front = host.window.partition_point(|slot| slot.place < host.bound);
            let open = host.window[..in_front].iter().filter(|slot| slot.record.tries.open).count();
            if in_front >= URLS_PER_VISIT + open || !host.has_more() {
                return Ok(());
            }
            // What is on its way to the table must be there before it is read.
            self.merge()?;
            let host = &self.hosts[no];
            let (ready, rank, depth, number) = host.bound;
            let sql = "SELECT ready, rank, depth, number, key, url, more FROM frontier
                WHERE host = ?1 AND (ready, rank, depth, number) >= (?2, ?3, ?4, ?5)
                ORDER BY ready, rank, depth, number LIMIT ?6";
            let from = (host.id, ready, rank, depth, number as i64, READ_AT_ONCE as i64);
            let read = self.read(sql, from)?;
            let last = read.last().map(|entry| entry.row.unwrap_or(FIRST));
            let all = read.len() < READ_AT_ONCE;
            for mut entry in read {
                let host = &mut self.hosts[no];
                if host.window.iter().any(|known| known.number() == entry.number) {
                    continue;
                }
                self.in_memory += 1;
                let before = entry.record.clone();
                self.restore_reminded(&mut entry.record)?;
                if entry.record != before {
                    entry.touched = true;
                    self.journal.put(
                        self.hosts[no].id,
                        entry.number,
                        entry.row,
                        false,
                        &entry.record,
                    );
                    self.touched.push((no, entry.number));
                }
                self.hosts[no].insert(Box::new(entry));
            }
            let host = &mut self.hosts[no];
            host.bound = match last {
                Some((ready, rank, depth, number)) if !all => (ready, rank, depth, number + 1),
                _ => LAST,
            };
            if all && host.has_more() {
                // The count is wrong: what is there counts.
                let lost = host.total - host.window.len() as u64;
                host.total = host.window.len() as u64;
                self.queued = self.queued.saturating_sub(lost);
                return Ok(());
            }
        }
    }

    fn read(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Vec<Entry>, rusqlite::Error> {
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query(parameters)?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next()? {
            let (ready, depth) = (row.get(0)?, row.get(2)?);
            let number = row.get::<_, i64>(3)? as u64;
            let key = super::known::key(row.get_ref(4)?.as_blob()?);
            let more = row.get_ref(6)?.as_blob_or_null()?;
            let record = record::record(key, row.get_ref(5)?.as_str()?, ready, depth, more)
                .map_err(damaged)?;
            let row = Some((ready, row.get(1)?, depth, number));
            entries.push(Entry { record, number, row, touched: false });
        }
        Ok(entries)
    }
}
