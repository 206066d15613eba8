//! The readable tables in the ledger's file: `domain_risk` and `url_fetch_cache`.

use curtsy_core::evidence::{read_timestamp, timestamp};
use curtsy_core::time::Time;
use curtsy_core::url::UrlKey;
use curtsy_engine::{CachedPage, Fetched, Head};
use curtsy_file::{Begins, Schema};
use rusqlite::{Connection, OptionalExtension};

use super::Ledger;
use crate::MachineClock;
use crate::pages::{PageChange, PageWrite, StoredAnswer};
use crate::shows::{FRICTION_EVENTS_MAX, RiskRow, STALE_FOR};

/// Writes a host's row of `domain_risk`.
pub(super) fn write_risk(db: &Connection, row: &RiskRow) -> Result<(), rusqlite::Error> {
    // A value of `friction_events` that is not a list is replaced: an edit by hand must not prevent
    // the write.
    let sql = "INSERT INTO domain_risk (hostname, risk_score, friction_events, last_fetch_at, created_at, updated_at)
        VALUES (?1, ?2, iif(?3 IS NULL, '[]', json_array(json(?3))), ?4, ?5, ?5)
        ON CONFLICT (hostname) DO UPDATE SET
            risk_score = excluded.risk_score,
            friction_events = CASE
                WHEN ?3 IS NULL THEN friction_events
                WHEN iif(json_valid(friction_events), json_type(friction_events), '') IS NOT 'array' THEN excluded.friction_events
                WHEN json_array_length(friction_events) < ?6 THEN json_insert(friction_events, '$[#]', json(?3))
                ELSE json_insert(json_remove(friction_events, '$[0]'), '$[#]', json(?3))
            END,
            last_fetch_at = coalesce(excluded.last_fetch_at, last_fetch_at),
            updated_at = excluded.updated_at";
    let RiskRow { hostname, score, event, fetched_at, now } = row;
    let (fetched_at, now) = (fetched_at.map(timestamp), timestamp(*now));
    let row = (hostname, score, event, fetched_at, now, FRICTION_EVENTS_MAX);
    db.prepare_cached(sql)?.execute(row)?;
    Ok(())
}

/// Deletes pages that have been stale for long.
pub(super) fn throw_away(db: &Connection, now: Time) -> Result<(), rusqlite::Error> {
    let sql = "DELETE FROM url_fetch_cache WHERE expires_at < ?1";
    db.execute(sql, [timestamp(now.back(STALE_FOR))])?;
    Ok(())
}

impl<H: MachineClock> Ledger<H> {
    /// Empties the readable tables.
    pub(super) fn empty_shown(&self) -> Result<(), rusqlite::Error> {
        match self.shows.anything() {
            true => self.db.execute_batch("DELETE FROM domain_risk; DELETE FROM url_fetch_cache;"),
            false => Ok(()),
        }
    }

    /// Writes a page in the current transaction.
    pub(crate) fn keep_page(&self, write: &PageWrite, now: Time) -> Result<(), rusqlite::Error> {
        let (key, now) = (write.url_key(), timestamp(now));
        let fresh_until = timestamp(write.page.fresh_until);
        match &write.news {
            PageChange::Answer(answer) => {
                let sql = "INSERT OR REPLACE INTO url_fetch_cache
                    (url_hash, url, hostname, content, status_code, headers, content_hash, fetched_at, expires_at, url_key)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
                let StoredAnswer { status, headers, content, content_hash } = answer;
                self.db.prepare_cached(sql)?.execute((
                    write.url_hash(),
                    &write.url,
                    &write.hostname,
                    content,
                    status,
                    headers,
                    content_hash,
                    now,
                    fresh_until,
                    key,
                ))?;
            }
            PageChange::Confirmed => {
                let sql = "UPDATE url_fetch_cache SET fetched_at = ?2, expires_at = ?3,
                    headers = iif(json_valid(headers), json_patch(headers, ?4), ?4) WHERE url_key = ?1";
                let page = (key, now, fresh_until, write.validators());
                self.db.prepare_cached(sql)?.execute(page)?;
            }
            PageChange::TooLarge => {
                let sql = "DELETE FROM url_fetch_cache WHERE url_key = ?1";
                self.db.prepare_cached(sql)?.execute([key])?;
            }
        }
        Ok(())
    }

    /// Returns what is kept of each of these pages.
    pub(crate) fn pages(
        &self,
        keys: &[UrlKey],
    ) -> Result<Vec<Option<CachedPage>>, rusqlite::Error> {
        if !self.shows.anything() {
            return Ok(vec![None; keys.len()]);
        }
        let sql = "SELECT expires_at, iif(json_valid(headers), headers ->> '$.etag', NULL),
            iif(json_valid(headers), headers ->> '$.\"last-modified\"', NULL) FROM url_fetch_cache WHERE url_key = ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut page = |key: &UrlKey| {
            let read = statement.query_row([key.to_string()], |row| {
                let expires_at: Option<String> = row.get(0)?;
                let fresh_until = expires_at.as_deref().and_then(read_timestamp);
                let fresh_until = fresh_until.unwrap_or(Time::START);
                Ok(CachedPage { fresh_until, etag: row.get(1)?, last_modified: row.get(2)? })
            });
            read.optional()
        };
        keys.iter().map(&mut page).collect()
    }

    /// Returns a page whose text is kept.
    pub(crate) fn page(&self, key: UrlKey) -> Result<Option<(Head, Fetched)>, rusqlite::Error> {
        if !self.shows.anything() {
            return Ok(None);
        }
        let sql = "SELECT status_code, headers, content FROM url_fetch_cache WHERE url_key = ?1";
        let found = self.db.prepare_cached(sql)?.query_row([key.to_string()], |row| {
            Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?))
        });
        let found = found.optional()?;
        Ok(found
            .and_then(|(status, headers, content)| crate::pages::read(status, &headers, content)))
    }
}

/// A separate part of the file, so that a ledger without readable tables has none of them.
pub(super) const SCHEMA: Schema<'static> = Schema {
    begins: Begins::First,
    what: "shown",
    page_bytes: super::SCHEMA.page_bytes,
    names: &["domain_risk", "url_fetch_cache"],
    checkpoint_pages: super::SCHEMA.checkpoint_pages,
    steps: &["
CREATE TABLE domain_risk (
    hostname TEXT PRIMARY KEY,
    risk_score INTEGER DEFAULT 0,
    friction_events TEXT DEFAULT '[]',
    last_fetch_at TEXT,
    created_at TEXT,
    updated_at TEXT
);
CREATE TABLE url_fetch_cache (
    url_hash TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    hostname TEXT NOT NULL,
    content TEXT,
    status_code INTEGER,
    headers TEXT,
    content_hash TEXT,
    fetched_at TEXT,
    expires_at TEXT,
    url_key TEXT NOT NULL
);
CREATE INDEX url_fetch_cache_key ON url_fetch_cache (url_key);
CREATE INDEX url_fetch_cache_expires ON url_fetch_cache (expires_at);
"],
};
