//! Is a URL still queued? Read from a crawl's file while nobody, or another process, works on it.

use std::path::Path;

use curtsy_core::url::CrawlUrl;
use curtsy_engine::UrlRecord;
use rusqlite::{Connection, OptionalExtension};

use super::journal::{self, Change};
use super::{SCHEMA, damaged, known};
use crate::OpenError;
use crate::record;

/// The record of a URL that a crawl's file has in its queue, as of the last write; none if it has ended, or was never offered.
pub fn queued_in(file: &Path, url: &CrawlUrl) -> Result<Option<UrlRecord>, OpenError> {
    let db = curtsy_file::open_to_read(file, &SCHEMA)?;
    find(&db, url).map_err(|e| OpenError::sqlite(file, e))
}

fn find(db: &Connection, url: &CrawlUrl) -> Result<Option<UrlRecord>, rusqlite::Error> {
    let wanted = url.key().as_u128().to_be_bytes();
    // A journal and the tables that it changes are read as of one moment.
    let tx = db.unchecked_transaction()?;
    // Most wait on the host of their own; one that was redirected may wait on another.
    let columns = "SELECT f.host, f.number, f.url, f.ready, f.depth, f.more FROM frontier f";
    let own = format!(
        "{columns} WHERE f.key = ?1 AND f.host = (SELECT id FROM frontier_hosts WHERE host = ?2)"
    );
    let any = format!("{columns} WHERE f.key = ?1");
    let read = |row: &rusqlite::Row<'_>| {
        let more = row.get_ref(5)?.as_blob_or_null()?;
        let url = row.get_ref(2)?.as_str()?;
        let record = record::record(known::key(&wanted), url, row.get(3)?, row.get(4)?, more);
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)? as u64, record.map_err(damaged)?))
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
                Change::Put { host, number, key, url, ready, depth, more, .. } if key == wanted => {
                    let is = record::record(known::key(&key), url, ready, depth, more);
                    found = Some((host, number, is.map_err(damaged)?));
                }
                Change::Gone { host, number, .. }
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
