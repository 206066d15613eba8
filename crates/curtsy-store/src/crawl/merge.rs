//! Bringing the tables up to date with memory, and after a crash with the journal.

use std::collections::BTreeMap;

use curtsy_engine::UrlRecord;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::CrawlFile;
use super::damaged;
use super::journal::{self, Change};
use super::known;
use crate::record::{self, Place};

impl CrawlFile {
    pub(super) fn merge_is_due(&self) -> bool {
        self.journal.since_merge >= self.limits.changes
    }

    /// Brings the tables up to date: sorted, so that what lies together is written together.
    pub(crate) fn merge(&mut self) -> Result<(), rusqlite::Error> {
        if self.journal.since_merge == 0 {
            return Ok(());
        }
        let mut puts: Vec<(i64, Place, Put<'_>)> = Vec::new();
        let mut gone = self.gone.clone();
        for (no, number) in &self.touched {
            let host = &self.hosts[*no];
            // What was touched and is gone again is in `gone`, if the table had it at all.
            let Some(entry) = host.window.iter().find(|slot| slot.number() == *number) else {
                continue;
            };
            let place = entry.place;
            gone.extend(entry.row.filter(|row| *row != place).map(|row| (host.id, row)));
            puts.push((host.id, place, Put::of(&entry.record)));
        }
        for spilled in &self.spilled {
            let place = record::place(&spilled.record, spilled.number);
            puts.push((spilled.host, place, Put::of(&spilled.record)));
        }
        let changed = self.hosts.iter().filter(|host| host.changed && host.key.is_some());
        let hosts: Vec<(i64, &str, i64)> = changed
            .map(|host| (host.id, host.key.as_ref().map_or("", |k| k.as_str()), host.total as i64))
            .collect();
        let tx = self.db.unchecked_transaction()?;
        write_hosts(&tx, &hosts)?;
        write_gone(&tx, &mut gone)?;
        write_puts(&tx, &mut puts)?;
        write_known(&tx, &self.known.fresh())?;
        let sql = "UPDATE job SET pages = ?1";
        tx.prepare_cached(sql)?.execute([self.job.pages as i64])?;
        tx.prepare_cached("DELETE FROM journal")?.execute([])?;
        tx.commit()?;
        for (no, number) in std::mem::take(&mut self.touched) {
            let host = &mut self.hosts[no];
            if let Some(slot) = host.window.iter_mut().find(|slot| slot.number() == number) {
                slot.written();
            }
        }
        for host in &mut self.hosts {
            host.changed = false;
        }
        self.spilled.clear();
        self.gone.clear();
        self.known.merged();
        self.journal.merged();
        Ok(())
    }

    /// Keeps what a worker remembers of a URL, for this epoch.
    pub(super) fn keep_reminded(
        &mut self,
        remembered: &UrlRecord,
        epoch: u64,
    ) -> Result<(), rusqlite::Error> {
        if self.reminded.0 != epoch {
            self.db.execute("DELETE FROM reminded", [])?;
        }
        self.reminded = (epoch, true);
        let mut record = remembered.clone();
        self.restore_reminded(&mut record)?;
        let sql = "INSERT OR REPLACE INTO reminded (key, epoch, url, ready, depth, more)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let key = record.id.as_u128().to_be_bytes();
        let (ready, _, depth, _) = record::place(&record, 0);
        let more = record::more(&record);
        let row = (&key[..], epoch as i64, record.url.as_str(), ready, depth, more);
        self.db.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    /// A new epoch: what was remembered in the last one counts no more.
    pub(crate) fn in_epoch(&mut self, epoch: u64) -> Result<(), rusqlite::Error> {
        if self.reminded.1 && self.reminded.0 != epoch {
            self.db.execute("DELETE FROM reminded", [])?;
            self.reminded = (epoch, false);
        }
        Ok(())
    }

    /// A URL takes over what a worker remembers of it.
    pub(super) fn restore_reminded(&self, url: &mut UrlRecord) -> Result<(), rusqlite::Error> {
        if !self.reminded.1 {
            return Ok(());
        }
        let sql = "SELECT url, ready, depth, more FROM reminded WHERE key = ?1";
        let key = url.id.as_u128();
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query([&key.to_be_bytes()[..]])?;
        if let Some(row) = rows.next()? {
            let text = row.get_ref(0)?.as_str()?;
            let more = row.get_ref(3)?.as_blob_or_null()?;
            let known = record::record(key, text, row.get(1)?, row.get(2)?, more);
            url.restore(&known.map_err(damaged)?);
        }
        Ok(())
    }
}

/// A row of the frontier.
struct Put<'a> {
    key: [u8; 16],
    url: &'a str,
    more: Option<Vec<u8>>,
}

impl<'a> Put<'a> {
    fn of(url: &'a UrlRecord) -> Put<'a> {
        let key = url.id.as_u128().to_be_bytes();
        Put { key, url: url.url.as_str(), more: record::more(url) }
    }
}

fn write_hosts(db: &Connection, hosts: &[(i64, &str, i64)]) -> Result<(), rusqlite::Error> {
    let sql = "INSERT INTO frontier_hosts (id, host, queued) VALUES (?1, ?2, ?3)
        ON CONFLICT (id) DO UPDATE SET queued = excluded.queued, due = NULL";
    let mut statement = db.prepare_cached(sql)?;
    for host in hosts {
        statement.execute(*host)?;
    }
    Ok(())
}

fn write_gone(db: &Connection, gone: &mut [(i64, Place)]) -> Result<(), rusqlite::Error> {
    gone.sort_unstable();
    let sql = "DELETE FROM frontier
        WHERE host = ?1 AND ready = ?2 AND rank = ?3 AND depth = ?4 AND number = ?5";
    let mut statement = db.prepare_cached(sql)?;
    for (host, (ready, rank, depth, number)) in gone {
        statement.execute((*host, *ready, *rank, *depth, *number as i64))?;
    }
    Ok(())
}

fn write_puts(db: &Connection, puts: &mut [(i64, Place, Put<'_>)]) -> Result<(), rusqlite::Error> {
    puts.sort_unstable_by_key(|(host, place, _)| (*host, *place));
    let sql = "INSERT OR REPLACE INTO frontier (host, ready, rank, depth, number, key, url, more)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let mut statement = db.prepare_cached(sql)?;
    for (host, (ready, rank, depth, number), put) in puts {
        let more = put.more.as_deref();
        let number = *number as i64;
        statement.execute((*host, *ready, *rank, *depth, number, &put.key[..], put.url, more))?;
    }
    Ok(())
}

fn write_known(db: &Connection, keys: &[u128]) -> Result<(), rusqlite::Error> {
    let mut statement = db.prepare_cached("INSERT OR IGNORE INTO known (key) VALUES (?1)")?;
    for key in keys {
        statement.execute([&key.to_be_bytes()[..]])?;
    }
    Ok(())
}

/// A URL as the journal leaves it.
struct Left {
    /// Where it stands in the table, if it does.
    row: Option<Place>,
    /// What it is now; none if it is gone.
    is: Option<Is>,
}

/// A URL's place, key, text and the rest.
type Is = (Place, [u8; 16], String, Option<Vec<u8>>);

/// Applies a journal that a process left behind, and lets every host with work be looked at.
pub(super) fn replay(db: &mut Connection) -> Result<(), rusqlite::Error> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut urls: BTreeMap<(i64, u64), Left> = BTreeMap::new();
    let (mut known, mut pages) = (Vec::new(), None);
    {
        let mut statement = tx.prepare("SELECT changes FROM journal ORDER BY id")?;
        let mut rows = statement.query([])?;
        let sql = "INSERT OR IGNORE INTO frontier_hosts (id, host, queued) VALUES (?1, ?2, 0)";
        let mut insert_host = tx.prepare(sql)?;
        while let Some(row) = rows.next()? {
            journal::changes(row.get_ref(0)?.as_blob()?, |change| {
                match change {
                    Change::Host { host, name } => {
                        insert_host.execute((host, name))?;
                    }
                    Change::Put { host, number, row, new, key, url, ready, rank, depth, more } => {
                        if new {
                            known.push(known::key(&key));
                        }
                        let place = (ready, rank, depth, number);
                        let is = Some((place, key, url.to_owned(), more.map(<[u8]>::to_vec)));
                        urls.insert((host, number), Left { row, is });
                    }
                    Change::Gone { host, number, row } => {
                        urls.insert((host, number), Left { row, is: None });
                    }
                    Change::Pages(charged) => pages = Some(charged),
                }
                Ok(())
            })?;
        }
    }
    if !urls.is_empty() {
        let mut gone = Vec::new();
        let mut puts = Vec::new();
        for ((host, _), left) in &urls {
            gone.extend(left.row.map(|row| (*host, row)));
            puts.extend(left.is.as_ref().map(|(place, key, url, more)| {
                (*host, *place, Put { key: *key, url, more: more.clone() })
            }));
        }
        write_gone(&tx, &mut gone)?;
        write_puts(&tx, &mut puts)?;
        known.sort_unstable();
        write_known(&tx, &known)?;
        let mut counts: BTreeMap<i64, i64> = BTreeMap::new();
        for ((host, _), left) in &urls {
            let is = i64::from(left.is.is_some()) - i64::from(left.row.is_some());
            *counts.entry(*host).or_default() += is;
        }
        let mut statement =
            tx.prepare("UPDATE frontier_hosts SET queued = queued + ?2 WHERE id = ?1")?;
        for count in counts {
            statement.execute(count)?;
        }
    }
    if let Some(pages) = pages {
        tx.execute("UPDATE job SET pages = ?1", [pages as i64])?;
    }
    tx.execute("DELETE FROM journal", [])?;
    release_waiting(&tx)?;
    // A host that was in memory has no time in the table: it is looked at, and the engine says when.
    tx.execute("UPDATE frontier_hosts SET due = 1 WHERE queued > 0 AND due IS NULL", [])?;
    tx.commit()
}

/// This process has the file for itself, so whoever had answers in hand is gone, and they with it: those URLs are ready. So are URLs that
/// waited for their host and were never tried: whether the host still has to wait is decided anew.
fn release_waiting(db: &Connection) -> Result<(), rusqlite::Error> {
    let sql = "SELECT host, ready, rank, depth, number, more FROM frontier
        WHERE ready > 0 AND more IS NOT NULL";
    let mut held: Vec<(i64, i64, i64, i64, i64)> = Vec::new();
    let mut statement = db.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if record::is_untried_or_held(row.get_ref(5)?.as_blob()?) {
            held.push((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?));
        }
    }
    let sql = "UPDATE frontier SET ready = 0
        WHERE host = ?1 AND ready = ?2 AND rank = ?3 AND depth = ?4 AND number = ?5";
    let mut release = db.prepare(sql)?;
    for place in held {
        release.execute(place)?;
        db.prepare_cached("UPDATE frontier_hosts SET due = 1 WHERE id = ?1")?.execute([place.0])?;
    }
    Ok(())
}

/// URLs that are not settled, the next number of a URL, and the next number of a host.
pub(super) fn counters(db: &Connection) -> Result<(u64, u64, i64), rusqlite::Error> {
    let queued: Option<i64> =
        db.query_row("SELECT sum(queued) FROM frontier_hosts", [], |row| row.get(0))?;
    let host: Option<i64> = db
        .query_row("SELECT max(id) FROM frontier_hosts", [], |row| row.get(0))
        .optional()?
        .flatten();
    let number: Option<i64> =
        db.query_row("SELECT max(number) FROM frontier", [], |row| row.get(0))?;
    Ok((queued.unwrap_or(0) as u64, number.unwrap_or(0) as u64 + 1, host.unwrap_or(0) + 1))
}
