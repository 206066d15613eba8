//! Reads from a crawl's file whether a URL is queued. Another process may be crawling into the
//! file.

use std::path::Path;

use curtsy_core::url::CrawlUrl;
use curtsy_engine::UrlRecord;
use rusqlite::{Connection, OptionalExtension};

use super::journal::{self, JournalChange};
use super::{SCHEMA, damaged, known, read_record};
use crate::OpenError;
use crate::record;

/// Returns the record of a queued URL as of the last write; `None` if it has ended or was never
/// offered.
pub fn queued_in(file: &Path, url: &CrawlUrl) -> Result<Option<UrlRecord>, OpenError> {
    let db = curtsy_file::open_to_read(file, &SCHEMA)?;
    find(&db, url).map_err(|e| OpenError::sqlite(file, e))
}

fn find(db: &Connection, url: &CrawlUrl) -> Result<Option<UrlRecord>, rusqlite::Error> {
    let wanted = url.key().as_u128().to_be_bytes();
    // The journal and the tables that it changes are read as of one moment.
    let tx = db.unchecked_transaction()?;
    // Most URLs are in the queue of their own host. A redirected URL may be in another queue.
    let columns = "SELECT key, url, ready, depth, more, host, number FROM frontier";
    let own = format!(
        "{columns} WHERE key = ?1 AND host = (SELECT id FROM frontier_hosts WHERE host = ?2)"
    );
    let any = format!("{columns} WHERE key = ?1");
    let read = |row: &rusqlite::Row<'_>| {
        Ok((row.get::<_, i64>(5)?, row.get::<_, i64>(6)? as u64, read_record(row)?))
    };
    let mut found = tx.query_row(&own, (&wanted[..], url.host().as_str()), read).optional()?;
    if found.is_none() {
        found = tx.query_row(&any, [&wanted[..]], read).optional()?;
    }
    let mut statement = tx.prepare("SELECT changes FROM journal ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        journal::changes(row.get_ref(0)?.as_blob()?, |change| {
            match change {
                JournalChange::Put { host, number, key, url, ready, order, more, .. }
                    if key == wanted =>
                {
                    let is = record::record(known::key(&key), url, ready, order, more);
                    found = Some((host, number, is.map_err(damaged)?));
                }
                JournalChange::Gone { host, number, .. }
                    if found.as_ref().is_some_and(|(h, n, _)| (*h, *n) == (host, number)) =>
                {
                    found = None;
                }
                _ => {}
            }
            Ok(())
        })?;
    }
    Ok(found.map(|(_, _, record)| record))
}
