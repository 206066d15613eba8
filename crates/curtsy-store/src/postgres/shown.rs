//! The readable tables in Postgres: `domain_risk` and `url_fetch_cache`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use curtsy_core::time::Time;
use curtsy_core::url::UrlKey;
use curtsy_engine::{CachedPage, Fetched, Head};

use super::PgLedger;
use super::failure::PgFailure;
use crate::MachineClock;
use crate::ledger::time;
use crate::pages::{self, PageChange, PageWrite, StoredAnswer};
use crate::shows::{FRICTION_EVENTS_MAX, RiskRow, STALE_FOR};

/// The last moment of the year 9999. Later times are shown as this one, as they are in text.
const LAST_MICROS: u64 = 253_402_300_799_999_000;

impl<H: MachineClock> PgLedger<H> {
    /// Writes a host's row of `domain_risk`.
    pub(super) fn write_risk(&mut self, row: RiskRow) -> Result<(), PgFailure> {
        self.change(move |session| {
            // A value of `friction_events` that is not a list is replaced: an edit by hand must not
            // prevent the write.
            let sql = "INSERT INTO domain_risk (hostname, risk_score, friction_events, last_fetch_at, created_at, updated_at)
                VALUES ($1, $2, CASE WHEN $3::text IS NULL THEN '[]' ELSE jsonb_build_array($3::text::jsonb) END, $4, $5, $5)
                ON CONFLICT (hostname) DO UPDATE SET
                    risk_score = excluded.risk_score,
                    friction_events = CASE
                        WHEN $3::text IS NULL THEN domain_risk.friction_events
                        WHEN jsonb_typeof(domain_risk.friction_events) IS DISTINCT FROM 'array' THEN excluded.friction_events
                        WHEN jsonb_array_length(domain_risk.friction_events) < $6 THEN domain_risk.friction_events || excluded.friction_events
                        ELSE (domain_risk.friction_events - 0) || excluded.friction_events
                    END,
                    last_fetch_at = coalesce(excluded.last_fetch_at, domain_risk.last_fetch_at),
                    updated_at = excluded.updated_at";
            let RiskRow { hostname, score, event, fetched_at, now } = &row;
            let (fetched_at, now) = (fetched_at.map(moment), moment(*now));
            let max = FRICTION_EVENTS_MAX;
            session.write(sql, &[hostname, score, event, &fetched_at, &now, &max])
        })?;
        Ok(())
    }

    /// Deletes pages that have been stale for long.
    pub(super) fn throw_pages_away(&mut self) -> Result<(), PgFailure> {
        if self.shows.anything() {
            let old = moment(self.now().back(STALE_FOR));
            let sql = "DELETE FROM url_fetch_cache WHERE expires_at < $1";
            self.run(move |session| session.write(sql, &[&old]))?;
        }
        Ok(())
    }

    /// Returns SQL that empties the readable tables.
    pub(super) fn empty_shown(&self) -> &'static str {
        match self.shows.anything() {
            true => "DELETE FROM domain_risk; DELETE FROM url_fetch_cache",
            false => "",
        }
    }

    pub(crate) fn keep_page(&mut self, page: &Arc<PageWrite>, now: Time) -> Result<(), PgFailure> {
        let page = Arc::clone(page);
        self.change(move |session| {
            let key = page.url_key();
            let (now, fresh_until) = (moment(now), moment(page.page.fresh_until));
            match &page.news {
                PageChange::Answer(answer) => {
                    let sql = "INSERT INTO url_fetch_cache
                        (url_hash, url, hostname, content, status_code, headers, content_hash, fetched_at, expires_at, url_key)
                        VALUES ($1, $2, $3, $4, $5, $6::text::jsonb, $7, $8, $9, $10)
                        ON CONFLICT (url_hash) DO UPDATE SET url = excluded.url, hostname = excluded.hostname,
                            content = excluded.content, status_code = excluded.status_code, headers = excluded.headers,
                            content_hash = excluded.content_hash, fetched_at = excluded.fetched_at,
                            expires_at = excluded.expires_at, url_key = excluded.url_key";
                    let StoredAnswer { status, headers, content, content_hash } = answer;
                    session.write(
                        sql,
                        &[
                            &page.url_hash(),
                            &page.url,
                            &page.hostname,
                            content,
                            &i32::from(*status),
                            headers,
                            content_hash,
                            &now,
                            &fresh_until,
                            &key,
                        ],
                    )
                }
                PageChange::Confirmed => {
                    let sql = "UPDATE url_fetch_cache SET fetched_at = $2, expires_at = $3,
                        headers = CASE jsonb_typeof(headers) WHEN 'object' THEN headers ELSE '{}' END || $4::text::jsonb
                        WHERE url_key = $1";
                    session.write(sql, &[&key, &now, &fresh_until, &page.validators()])
                }
                PageChange::TooLarge => {
                    session.write("DELETE FROM url_fetch_cache WHERE url_key = $1", &[&key])
                }
            }
        })?;
        Ok(())
    }

    pub(crate) fn pages(&mut self, keys: &[UrlKey]) -> Result<Vec<Option<CachedPage>>, PgFailure> {
        if !self.shows.anything() {
            return Ok(vec![None; keys.len()]);
        }
        let names: Vec<String> = keys.iter().map(UrlKey::to_string).collect();
        let found: HashMap<String, CachedPage> = self.run(move |session| {
            let sql = "SELECT url_key, (extract(epoch FROM expires_at) * 1000000)::bigint, headers ->> 'etag', headers ->> 'last-modified'
                FROM url_fetch_cache WHERE url_key = ANY($1)";
            let rows = session.query(sql, &[&names])?;
            Ok(rows
                .iter()
                .map(|row| {
                    let fresh_until = row.get::<_, Option<i64>>(1).map_or(Time::START, time);
                    let (etag, last_modified) = (row.get(2), row.get(3));
                    (row.get(0), CachedPage { fresh_until, etag, last_modified })
                })
                .collect())
        })?;
        Ok(keys.iter().map(|key| found.get(&key.to_string()).cloned()).collect())
    }

    pub(crate) fn page(&mut self, key: UrlKey) -> Result<Option<(Head, Fetched)>, PgFailure> {
        if !self.shows.anything() {
            return Ok(None);
        }
        let found: Option<(Option<i32>, Option<String>, Option<String>)> =
            self.run(move |session| {
                let sql = "SELECT status_code, headers::text, content FROM url_fetch_cache WHERE url_key = $1";
                let rows = session.query(sql, &[&key.to_string()])?;
                Ok(rows.first().map(|row| (row.get(0), row.get(1), row.get(2))))
            })?;
        let Some((Some(status), Some(headers), content)) = found else { return Ok(None) };
        Ok(u16::try_from(status).ok().and_then(|status| pages::read(status, &headers, content)))
    }
}

/// Returns a time as the Postgres client takes it.
fn moment(at: Time) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(at.micros().min(LAST_MICROS))
}
