//! The merge of memory into the tables, and of the journal after a crash.

use std::collections::BTreeMap;

use curtsy_engine::UrlRecord;
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior};

use super::journal::{self, JournalChange};
use super::known;
use super::read_record;
use super::{CrawlFrontier, FrontierCounters};
use crate::record::{self, QueuePlace};

impl CrawlFrontier {
    pub(super) fn merge_is_due(&self) -> bool {
        self.unmerged.journal.since_merge >= self.options.merge_after
    }

    /// Writes all changes to the tables, in the order of their rows.
    pub(crate) fn merge(&mut self) -> Result<(), rusqlite::Error> {
        if self.unmerged.journal.since_merge == 0 {
            return Ok(());
        }
        let mut puts: Vec<(i64, QueuePlace, FrontierRow<'_>)> = Vec::new();
        let mut gone = self.unmerged.gone.clone();
        for (no, number) in &self.unmerged.touched {
            let host = &self.hosts[*no];
            // A touched URL that is no longer in the window is in `gone`, if the table had it.
            let Some(entry) = host.window.iter().find(|slot| slot.number() == *number) else {
                continue;
            };
            let place = entry.place;
            gone.extend(entry.row.filter(|row| *row != place).map(|row| (host.id, row)));
            puts.push((host.id, place, FrontierRow::of(&entry.record)));
        }
        for spilled in &self.unmerged.spilled {
            let place = record::place(&spilled.record, spilled.number);
            puts.push((spilled.host, place, FrontierRow::of(&spilled.record)));
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
        let sql = "UPDATE job SET pages = ?1, numbered = ?2";
        let numbered = self.counters.next_number as i64 - 1;
        tx.prepare_cached(sql)?.execute((self.job.pages as i64, numbered))?;
        tx.prepare_cached("DELETE FROM journal")?.execute([])?;
        tx.commit()?;
        for (no, number) in std::mem::take(&mut self.unmerged.touched) {
            let host = &mut self.hosts[no];
            if let Some(slot) = host.window.iter_mut().find(|slot| slot.number() == number) {
                slot.written();
            }
        }
        for host in &mut self.hosts {
            host.changed = false;
        }
        self.unmerged.spilled.clear();
        self.unmerged.gone.clear();
        self.known.merged();
        self.unmerged.journal.merged();
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
        let (ready, _, order, _) = record::place(&record, 0);
        let more = record::more(&record);
        let row = (&key[..], epoch as i64, record.url.as_str(), ready, order, more);
        self.db.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    /// Forgets what workers remembered in an earlier epoch.
    pub(crate) fn in_epoch(&mut self, epoch: u64) -> Result<(), rusqlite::Error> {
        if self.reminded.1 && self.reminded.0 != epoch {
            self.db.execute("DELETE FROM reminded", [])?;
            self.reminded = (epoch, false);
        }
        Ok(())
    }

    /// Merges into a URL what a worker remembers of it.
    pub(super) fn restore_reminded(&self, url: &mut UrlRecord) -> Result<(), rusqlite::Error> {
        if !self.reminded.1 {
            return Ok(());
        }
        let sql = "SELECT key, url, ready, depth, more FROM reminded WHERE key = ?1";
        let key = url.id.as_u128().to_be_bytes();
        let mut statement = self.db.prepare_cached(sql)?;
        if let Some(known) = statement.query_row([&key[..]], read_record).optional()? {
            url.restore(&known);
        }
        Ok(())
    }
}

/// A row of the frontier.
struct FrontierRow<'a> {
    key: [u8; 16],
    url: &'a str,
    more: Option<Vec<u8>>,
}

impl<'a> FrontierRow<'a> {
    fn of(url: &'a UrlRecord) -> FrontierRow<'a> {
        let key = url.id.as_u128().to_be_bytes();
        FrontierRow { key, url: url.url.as_str(), more: record::more(url) }
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

fn write_gone(db: &Connection, gone: &mut [(i64, QueuePlace)]) -> Result<(), rusqlite::Error> {
    gone.sort_unstable();
    let sql = "DELETE FROM frontier
        WHERE host = ?1 AND ready = ?2 AND rank = ?3 AND depth = ?4 AND number = ?5";
    let mut statement = db.prepare_cached(sql)?;
    for (host, (ready, rank, order, number)) in gone {
        statement.execute((*host, *ready, *rank, *order, *number as i64))?;
    }
    Ok(())
}

fn write_puts(
    db: &Connection,
    puts: &mut [(i64, QueuePlace, FrontierRow<'_>)],
) -> Result<(), rusqlite::Error> {
    puts.sort_unstable_by_key(|(host, place, _)| (*host, *place));
    let sql = "INSERT OR REPLACE INTO frontier (host, ready, rank, depth, number, key, url, more)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let mut statement = db.prepare_cached(sql)?;
    for (host, (ready, rank, order, number), put) in puts {
        let more = put.more.as_deref();
        let number = *number as i64;
        statement.execute((*host, *ready, *rank, *order, number, &put.key[..], put.url, more))?;
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

/// The state of a URL at the end of the journal.
struct ReplayedUrl {
    /// Its place in the table, if it has one.
    row: Option<QueuePlace>,
    /// The URL; `None` if it has left the queue.
    is: Option<Is>,
}

/// A URL's place, key, text and other fields.
type Is = (QueuePlace, [u8; 16], String, Option<Vec<u8>>);

/// Applies the journal of an earlier process, and makes every host with work due.
pub(super) fn replay(db: &mut Connection) -> Result<(), rusqlite::Error> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut urls: BTreeMap<(i64, u64), ReplayedUrl> = BTreeMap::new();
    let (mut known, mut pages) = (Vec::new(), None);
    {
        let mut statement = tx.prepare("SELECT changes FROM journal ORDER BY id")?;
        let mut rows = statement.query([])?;
        let sql = "INSERT OR IGNORE INTO frontier_hosts (id, host, queued) VALUES (?1, ?2, 0)";
        let mut insert_host = tx.prepare(sql)?;
        while let Some(row) = rows.next()? {
            journal::changes(row.get_ref(0)?.as_blob()?, |change| {
                match change {
                    JournalChange::Host { host, name } => {
                        insert_host.execute((host, name))?;
                    }
                    JournalChange::Put {
                        host,
                        number,
                        row,
                        new,
                        key,
                        url,
                        ready,
                        rank,
                        order,
                        more,
                    } => {
                        if new {
                            known.push(known::key(&key));
                        }
                        let place = (ready, rank, order, number);
                        let is = Some((place, key, url.to_owned(), more.map(<[u8]>::to_vec)));
                        urls.insert((host, number), ReplayedUrl { row, is });
                    }
                    JournalChange::Gone { host, number, row } => {
                        urls.insert((host, number), ReplayedUrl { row, is: None });
                    }
                    JournalChange::Pages(charged) => pages = Some(charged),
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
                (*host, *place, FrontierRow { key: *key, url, more: more.clone() })
            }));
        }
        write_gone(&tx, &mut gone)?;
        write_puts(&tx, &mut puts)?;
        let last = urls.keys().map(|(_, number)| *number).max().unwrap_or(0);
        // Stays NULL if it was: then the queue is read.
        tx.execute("UPDATE job SET numbered = max(numbered, ?1)", [last as i64])?;
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
    // A host that was in memory has no due time in the table. A visit decides when it is due.
    tx.execute("UPDATE frontier_hosts SET due = 1 WHERE queued > 0 AND due IS NULL", [])?;
    tx.commit()
}

/// Makes URLs ready whose answers an earlier process held: the answers are lost, since this process
/// has the file alone. Also makes URLs ready that waited for their host without any try: the engine
/// decides again whether the host must wait.
fn release_waiting(db: &Connection) -> Result<(), rusqlite::Error> {
    let is_waiting = |row: &Row<'_>| {
        let more = row.get_ref(4)?.as_blob_or_null()?;
        Ok(more.is_some_and(record::is_untried_or_held))
    };
    for host in release(db, 0, i64::MAX, is_waiting)? {
        db.prepare_cached("UPDATE frontier_hosts SET due = 1 WHERE id = ?1")?.execute([host])?;
    }
    Ok(())
}

/// Makes URLs ready whose ready time is after `after` and for whose rows `is_due` returns true.
/// Looks at `max` rows. Returns the numbers of their hosts.
///
/// Goes through the hosts with work: the URLs of a host that must wait are the end of its queue, so
/// the others are not read.
pub(super) fn release(
    db: &Connection,
    after: i64,
    max: i64,
    mut is_due: impl FnMut(&Row<'_>) -> Result<bool, rusqlite::Error>,
) -> Result<Vec<i64>, rusqlite::Error> {
    let sql = "SELECT f.key, f.url, f.ready, f.depth, f.more, f.host, f.rank, f.number
        FROM frontier_hosts h CROSS JOIN frontier f ON f.host = h.id AND f.ready > ?1
        WHERE h.queued > 0 LIMIT ?2";
    let mut due: Vec<(i64, i64, i64, i64, i64)> = Vec::new();
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query((after, max))?;
    while let Some(row) = rows.next()? {
        if is_due(row)? {
            due.push((row.get(5)?, row.get(2)?, row.get(6)?, row.get(3)?, row.get(7)?));
        }
    }
    let sql = "UPDATE frontier SET ready = 0
        WHERE host = ?1 AND ready = ?2 AND rank = ?3 AND depth = ?4 AND number = ?5";
    let mut release = db.prepare_cached(sql)?;
    for place in &due {
        release.execute(*place)?;
    }
    Ok(due.into_iter().map(|(host, ..)| host).collect())
}

/// Returns the number of URLs that are not settled, the next number of a URL, and that of a host.
pub(super) fn counters(db: &Connection) -> Result<FrontierCounters, rusqlite::Error> {
    let sql = "SELECT coalesce(sum(queued), 0), coalesce(max(id), 0) + 1 FROM frontier_hosts";
    let (queued, next_host) =
        db.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)? as u64, row.get(1)?)))?;
    let numbered = db.query_row("SELECT numbered FROM job", [], |row| row.get(0)).optional()?;
    let numbered: i64 = match numbered.flatten() {
        Some(numbered) => numbered,
        // A new file, or one of an earlier version.
        None => {
            let sql = "SELECT coalesce(max(number), 0) FROM frontier";
            db.query_row(sql, [], |row| row.get(0))?
        }
    };
    Ok(FrontierCounters { queued, next_host, next_number: numbered as u64 + 1 })
}
