//! The queue of one host: its first URLs are in memory, the others in the table.
//!
//! URLs outside a host's window have the place `bound` or a later one. So the URLs of the window
//! before the bound are the first of the queue. If there are too few of them, more are read from
//! the table and the bound moves on.

use std::ops::Deref;

use curtsy_core::url::UrlKey;
use curtsy_engine::UrlRecord;

use super::CrawlFrontier;
use super::hosts::{FrontierHost, HostNo, URLS_PER_VISIT};
use super::read_record;
use crate::record::{self, FIRST, LAST, QueuePlace};

/// URLs of one host in memory, besides those that were handed out or moved here.
pub(crate) const WINDOW_MAX: usize = 64;
/// Rows that are read at once.
const READ_AT_ONCE: usize = 64;

pub(super) struct QueuedUrl {
    pub(super) record: UrlRecord,
    pub(super) number: u64,
    /// Its place in the table, if it has one.
    pub(super) row: Option<QueuePlace>,
    /// Whether the row in the table is outdated.
    pub(super) touched: bool,
}

impl QueuedUrl {
    pub(super) fn place(&self) -> QueuePlace {
        record::place(&self.record, self.number)
    }
}

/// A URL's slot in a window. It holds what is searched for; the rest is elsewhere, since slots move
/// and are searched several times for each page.
pub(super) struct WindowSlot {
    pub(super) place: QueuePlace,
    id: UrlKey,
    entry: Box<QueuedUrl>,
}

impl WindowSlot {
    fn new(entry: Box<QueuedUrl>) -> WindowSlot {
        WindowSlot { place: entry.place(), id: entry.record.id, entry }
    }

    /// Returns its number in the order of arrival.
    pub(super) fn number(&self) -> u64 {
        self.place.3
    }

    /// Notes that the table has it as it is.
    pub(super) fn written(&mut self) {
        self.entry.row = Some(self.place);
        self.entry.touched = false;
    }
}

impl Deref for WindowSlot {
    type Target = QueuedUrl;
    fn deref(&self) -> &QueuedUrl {
        &self.entry
    }
}

/// A URL that is in no window and not in the table yet.
pub(super) struct Spilled {
    pub(super) host: i64,
    pub(super) number: u64,
    pub(super) record: UrlRecord,
}

impl FrontierHost {
    /// Returns a URL's index in the window.
    pub(super) fn find(&self, id: UrlKey) -> Option<usize> {
        self.window.iter().position(|slot| slot.id == id)
    }

    fn insert(&mut self, entry: Box<QueuedUrl>) {
        let slot = WindowSlot::new(entry);
        let at = self.window.partition_point(|other| other.place < slot.place);
        self.window.insert(at, slot);
    }

    /// Whether it has URLs that are not in memory.
    fn has_more(&self) -> bool {
        self.total > self.window.len() as u64
    }
}

impl CrawlFrontier {
    /// Puts a record into the queue of its host.
    pub(super) fn insert_url(
        &mut self,
        mut record: UrlRecord,
        new: bool,
    ) -> Result<(), rusqlite::Error> {
        self.restore_reminded(&mut record)?;
        let no = self.host(record.host())?;
        // A URL that moved to this host may be here already.
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
            // Other URLs wait for this one, which may need no request: the host is handed out once
            // without its wait.
            host.hand_out.look();
        }
        let in_front = !host.has_more() || place < host.bound;
        let room = if host.has_more() { 2 * WINDOW_MAX } else { WINDOW_MAX };
        if in_front && host.window.len() < room {
            host.total += 1;
            host.changed = true;
            host.insert(Box::new(QueuedUrl { record, number, row: None, touched: true }));
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

    /// Changes a URL of the window.
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

    /// Removes a URL of the window from the queue.
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

    /// Returns a URL's index in its host's window. A URL that is only in the table is read, which
    /// takes a while in a long queue. URLs that were handed out are in the window.
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
        let sql = "SELECT key, url, ready, depth, more, rank, number FROM frontier
            WHERE host = ?1 AND key = ?2";
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
            // Changes must be in the table before it is read.
            self.merge()?;
            let host = &self.hosts[no];
            let (ready, rank, order, number) = host.bound;
            let sql = "SELECT key, url, ready, depth, more, rank, number FROM frontier
                WHERE host = ?1 AND (ready, rank, depth, number) >= (?2, ?3, ?4, ?5)
                ORDER BY ready, rank, depth, number LIMIT ?6";
            let from = (host.id, ready, rank, order, number as i64, READ_AT_ONCE as i64);
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
                Some((ready, rank, order, number)) if !all => (ready, rank, order, number + 1),
                _ => LAST,
            };
            if all && host.has_more() {
                // The count was wrong. The URLs that were found count.
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
    ) -> Result<Vec<QueuedUrl>, rusqlite::Error> {
        let mut statement = self.db.prepare_cached(sql)?;
        let entries = statement.query_map(parameters, |row| {
            let number = row.get::<_, i64>(6)? as u64;
            let place = (row.get(2)?, row.get(5)?, row.get(3)?, number);
            Ok(QueuedUrl { record: read_record(row)?, number, row: Some(place), touched: false })
        })?;
        entries.collect()
    }
}
