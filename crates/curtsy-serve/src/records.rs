//! What the service keeps of runs, and what is asked of it.

use curtsy_core::evidence::{RunEvidence, mode_name, read_timestamp};
use curtsy_core::time::Time;
use curtsy_tiles::Tile;
use serde::Serialize;
use serde_json::Value as Json;

use crate::db::{DbError, Link, Row};
use crate::health::Break;
use crate::ingest::{IngestOrder, SurveyPlan};

/// Runs, pages, requests that are shown at once.
pub(crate) const SHOWN_MAX: i64 = 200;

/// A run as it is kept.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunRecord {
    pub(crate) id: i64,
    pub(crate) trace_id: String,
    pub(crate) orbit_slug: String,
    pub(crate) mode: String,
    pub(crate) started_at: Option<String>,
    pub(crate) completed_at: Option<String>,
    pub(crate) outcome: Option<String>,
    pub(crate) evidence: Option<Json>,
    pub(crate) url: Option<String>,
    pub(crate) hostname: Option<String>,
    pub(crate) plan: Option<Json>,
    /// When somebody cancelled it.
    pub(crate) cancelled_at: Option<String>,
}

macro_rules! runs_where {
    ($condition:literal) => {
        concat!(
            "SELECT r.id, r.trace_id, r.orbit_slug, r.mode, r.started_at, r.completed_at, r.outcome, r.evidence, o.url, o.hostname, o.plan, o.cancelled_at
            FROM ingestion_runs r LEFT JOIN run_orders o ON o.trace_id = r.trace_id WHERE ",
            $condition
        )
    };
}

impl RunRecord {
    fn read(row: &Row) -> Result<RunRecord, DbError> {
        let text = |column| Ok::<_, DbError>(row.maybe_text(column)?.map(str::to_owned));
        Ok(RunRecord {
            id: row.int(0)?,
            trace_id: row.text(1)?.to_owned(),
            orbit_slug: row.text(2)?.to_owned(),
            mode: row.text(3)?.to_owned(),
            started_at: text(4)?,
            completed_at: text(5)?,
            outcome: text(6)?,
            evidence: row.json(7)?,
            url: text(8)?,
            hostname: text(9)?,
            plan: row.json(10)?,
            cancelled_at: text(11)?,
        })
    }

    /// A run of an orbit.
    pub(crate) fn find(
        db: &mut Link,
        slug: &str,
        trace: &str,
    ) -> Result<Option<RunRecord>, DbError> {
        let sql = runs_where!("r.orbit_slug = ?1 AND r.trace_id = ?2");
        db.one(sql, &[slug.into(), trace.into()])?.map(|row| RunRecord::read(&row)).transpose()
    }

    /// The runs of an orbit, the newest first, those before `before` if that is given.
    pub(crate) fn list(
        db: &mut Link,
        slug: &str,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<RunRecord>, DbError> {
        let sql = runs_where!("r.orbit_slug = ?1 AND r.id < ?2 ORDER BY r.id DESC LIMIT ?3");
        let before = before.unwrap_or(i64::from(i32::MAX));
        let rows =
            db.query(sql, &[slug.into(), before.into(), limit.clamp(1, SHOWN_MAX).into()])?;
        rows.iter().map(RunRecord::read).collect()
    }

    /// The last runs of a host, whoever asked for them.
    pub(crate) fn of_host(db: &mut Link, host: &str) -> Result<Vec<RunRecord>, DbError> {
        let sql = runs_where!("o.hostname = ?1 ORDER BY r.id DESC LIMIT 50");
        db.query(sql, &[host.into()])?.iter().map(RunRecord::read).collect()
    }

    /// Runs that have ended, the newest first.
    pub(crate) fn ended(db: &mut Link, limit: i64) -> Result<Vec<RunRecord>, DbError> {
        let sql = runs_where!("r.completed_at IS NOT NULL ORDER BY r.id DESC LIMIT ?1");
        db.query(sql, &[limit.into()])?.iter().map(RunRecord::read).collect()
    }

    /// Runs that have not ended, the oldest first.
    pub(crate) fn unfinished(db: &mut Link) -> Result<Vec<RunRecord>, DbError> {
        let sql = runs_where!("r.completed_at IS NULL ORDER BY r.id LIMIT 1000");
        db.query(sql, &[])?.iter().map(RunRecord::read).collect()
    }
}

/// Orbits that are shown on the first page.
const ORBITS_SHOWN: i64 = 20;

/// The orbits with runs and how many each has, the one with the newest run first.
pub(crate) fn orbits(db: &mut Link) -> Result<Vec<(String, i64)>, DbError> {
    let sql = "SELECT orbit_slug, count(*) FROM ingestion_runs GROUP BY orbit_slug ORDER BY max(id) DESC LIMIT ?1";
    let rows = db.query(sql, &[ORBITS_SHOWN.into()])?;
    rows.iter().map(|row| Ok((row.text(0)?.to_owned(), row.int(1)?))).collect()
}

/// Writes down that a run begins.
pub(crate) fn begin(
    db: &mut Link,
    order: &IngestOrder,
    trace: &str,
    at: &str,
) -> Result<(), DbError> {
    let sql = "INSERT INTO ingestion_runs (trace_id, orbit_slug, mode, started_at) VALUES (?1, ?2, ?3, ?4)";
    let mode = mode_name(order.mode);
    db.execute(sql, &[trace.into(), order.slug.as_str().into(), mode.into(), at.into()])?;
    let urls: Vec<&str> = order.user_urls.iter().map(|url| url.as_str()).collect();
    let sql = "INSERT INTO run_orders (trace_id, url, hostname, user_urls, starts, callback) VALUES (?1, ?2, ?3, ?4, 1, ?5)";
    let urls = serde_json::to_string(&urls).unwrap_or_default();
    let host = order.url.host().as_str();
    let callback = order.callback.as_ref().map(|url| url.as_str());
    let values =
        [trace.into(), order.url.as_str().into(), host.into(), urls.into(), callback.into()];
    db.execute(sql, &values)?;
    Ok(())
}

/// What was ordered, as far as a run that goes on needs it.
pub(crate) struct OrderRecord {
    pub(crate) user_urls: Vec<String>,
    pub(crate) starts: i64,
    pub(crate) callback: Option<String>,
}

/// What was ordered when a run began.
pub(crate) fn order_of(db: &mut Link, trace: &str) -> Result<Option<OrderRecord>, DbError> {
    let sql = "SELECT user_urls, starts, callback FROM run_orders WHERE trace_id = ?1";
    let Some(row) = db.one(sql, &[trace.into()])? else { return Ok(None) };
    let urls = row.json(0)?.and_then(|urls| serde_json::from_value(urls).ok());
    Ok(Some(OrderRecord {
        user_urls: urls.unwrap_or_default(),
        starts: row.int(1)?,
        callback: row.maybe_text(2)?.map(str::to_owned),
    }))
}

/// Writes down that a run is to end. One that has ended stays as it is.
pub(crate) fn cancel(db: &mut Link, trace: &str, at: &str) -> Result<(), DbError> {
    let sql = "UPDATE run_orders SET cancelled_at = ?2 WHERE trace_id = ?1 AND cancelled_at IS NULL
        AND EXISTS (SELECT 1 FROM ingestion_runs r WHERE r.trace_id = ?1 AND r.completed_at IS NULL)";
    db.execute(sql, &[trace.into(), at.into()]).map(drop)
}

/// Forgets that a run was to end: it came to its own end before it heard of it.
pub(crate) fn not_cancelled(db: &mut Link, trace: &str) -> Result<(), DbError> {
    let sql = "UPDATE run_orders SET cancelled_at = NULL WHERE trace_id = ?1";
    db.execute(sql, &[trace.into()]).map(drop)
}

/// Whoever is to be told that a run has ended, and was not yet.
pub(crate) struct Due {
    pub(crate) callback: String,
    pub(crate) orbit: String,
    pub(crate) trace: String,
    pub(crate) outcome: String,
    pub(crate) evidence: Json,
}

/// All that are to be told, those of the oldest runs first.
pub(crate) fn due(db: &mut Link) -> Result<Vec<Due>, DbError> {
    let sql = "SELECT o.callback, r.orbit_slug, r.trace_id, r.outcome, r.evidence
        FROM run_orders o JOIN ingestion_runs r ON r.trace_id = o.trace_id
        WHERE o.callback IS NOT NULL AND o.called_back IS NULL AND r.completed_at IS NOT NULL ORDER BY r.id LIMIT 1000";
    let read = |row: &Row| {
        Ok(Due {
            callback: row.text(0)?.to_owned(),
            orbit: row.text(1)?.to_owned(),
            trace: row.text(2)?.to_owned(),
            outcome: row.maybe_text(3)?.unwrap_or("error").to_owned(),
            evidence: row.json(4)?.unwrap_or_default(),
        })
    };
    db.query(sql, &[])?.iter().map(read).collect()
}

/// Writes down what came of telling somebody that a run has ended.
pub(crate) fn called_back(db: &mut Link, trace: &str, what: &str) -> Result<(), DbError> {
    let sql = "UPDATE run_orders SET called_back = ?2 WHERE trace_id = ?1";
    db.execute(sql, &[trace.into(), what.into()]).map(drop)
}

/// Begins a run again: what it had written goes, what it fetched is in the cache.
pub(crate) fn begin_again(db: &mut Link, trace: &str) -> Result<(), DbError> {
    db.execute("DELETE FROM run_pages WHERE trace_id = ?1", &[trace.into()])?;
    db.execute("UPDATE run_orders SET starts = starts + 1 WHERE trace_id = ?1", &[trace.into()])?;
    Ok(())
}

/// Writes down the plan of a run.
pub(crate) fn plan(db: &mut Link, trace: &str, plan: &SurveyPlan) -> Result<(), DbError> {
    let plan = serde_json::to_string(plan).unwrap_or_default();
    let sql = "UPDATE run_orders SET plan = ?2 WHERE trace_id = ?1";
    db.execute(sql, &[trace.into(), plan.into()]).map(drop)
}

/// Writes down how a run ended, with its tiles.
pub(crate) fn end(
    db: &mut Link,
    evidence: &RunEvidence,
    tiles: &[Tile],
    at: &str,
    breaks: Option<Break>,
) -> Result<(), DbError> {
    let trace = evidence.trace_id.as_str();
    db.execute("DELETE FROM run_tiles WHERE trace_id = ?1", &[trace.into()])?;
    for (number, tile) in tiles.iter().enumerate() {
        let text = serde_json::to_string(tile).unwrap_or_default();
        let sql = "INSERT INTO run_tiles (trace_id, number, kind, tile) VALUES (?1, ?2, ?3, ?4)";
        let number = number as u64;
        db.execute(sql, &[trace.into(), number.into(), tile.kind().as_str().into(), text.into()])?;
    }
    let sql = "UPDATE ingestion_runs SET completed_at = ?2, outcome = ?3, evidence = ?4 WHERE trace_id = ?1";
    let mut text = serde_json::to_value(evidence).unwrap_or_default();
    if let Some(breaks) = breaks {
        breaks.evidence(&mut text);
    }
    let text = text.to_string();
    let outcome = evidence.ingest.outcome.name();
    db.execute(sql, &[trace.into(), at.into(), outcome.into(), text.into()])?;
    Ok(())
}

/// The tiles of a run.
pub(crate) fn tiles(db: &mut Link, trace: &str) -> Result<Vec<Json>, DbError> {
    let sql = "SELECT tile FROM run_tiles WHERE trace_id = ?1 ORDER BY number";
    let rows = db.query(sql, &[trace.into()])?;
    rows.iter().map(|row| Ok(row.json(0)?.unwrap_or_default())).collect()
}

/// A page that a run considered.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageRecord {
    pub(crate) url: String,
    pub(crate) final_url: String,
    pub(crate) kind: String,
    pub(crate) decision: String,
    pub(crate) status_code: Option<i64>,
    pub(crate) error: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) used: bool,
    pub(crate) content_hash: Option<String>,
    pub(crate) changed: Option<bool>,
    pub(crate) robots_rule: Option<String>,
    pub(crate) robots_line: Option<i64>,
    pub(crate) delay_ms: Option<i64>,
    pub(crate) delay_by: Option<String>,
    pub(crate) reasons: Json,
    pub(crate) decided_at: String,
    /// Why there is no page, in words.
    pub(crate) reason: Option<String>,
    /// What robots.txt said, as a record: `robots_allowed` or `blocked_by_robots`; or `slot_timeout`.
    pub(crate) evidence: Option<Json>,
}

/// The pages that a run considered, in their order.
pub(crate) fn pages(db: &mut Link, trace: &str) -> Result<Vec<PageRecord>, DbError> {
    let sql = "SELECT url, final_url, kind, decision, status_code, error, title, used, content_hash, changed, robots_rule, robots_line,
        delay_ms, delay_by, reasons, decided_at, reason, evidence FROM run_pages WHERE trace_id = ?1 ORDER BY number LIMIT 500";
    let rows = db.query(sql, &[trace.into()])?;
    let read = |row: &Row| {
        let text = |column| Ok::<_, DbError>(row.maybe_text(column)?.map(str::to_owned));
        Ok(PageRecord {
            url: row.text(0)?.to_owned(),
            final_url: row.text(1)?.to_owned(),
            kind: row.text(2)?.to_owned(),
            decision: row.text(3)?.to_owned(),
            status_code: row.maybe_int(4)?,
            error: text(5)?,
            title: text(6)?,
            used: row.int(7)? != 0,
            content_hash: text(8)?,
            changed: row.maybe_int(9)?.map(|changed| changed != 0),
            robots_rule: text(10)?,
            robots_line: row.maybe_int(11)?,
            delay_ms: row.maybe_int(12)?,
            delay_by: text(13)?,
            reasons: row.json(14)?.unwrap_or_default(),
            decided_at: row.text(15)?.to_owned(),
            reason: text(16)?,
            evidence: row.json(17)?,
        })
    };
    rows.iter().map(read).collect()
}

/// A request that was made.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestRecord {
    pub(crate) trace_id: String,
    pub(crate) url: String,
    pub(crate) kind: String,
    pub(crate) status_code: Option<i64>,
    pub(crate) outcome: String,
    pub(crate) delay_ms: Option<i64>,
    pub(crate) delay_by: Option<String>,
    pub(crate) asked_at: String,
}

fn request(row: &Row) -> Result<RequestRecord, DbError> {
    Ok(RequestRecord {
        trace_id: row.text(0)?.to_owned(),
        url: row.text(1)?.to_owned(),
        kind: row.text(2)?.to_owned(),
        status_code: row.maybe_int(3)?,
        outcome: row.text(4)?.to_owned(),
        delay_ms: row.maybe_int(5)?,
        delay_by: row.maybe_text(6)?.map(str::to_owned),
        asked_at: row.text(7)?.to_owned(),
    })
}

/// The requests of a run, in their order.
pub(crate) fn requests(db: &mut Link, trace: &str) -> Result<Vec<RequestRecord>, DbError> {
    let sql = "SELECT trace_id, url, kind, status_code, outcome, delay_ms, delay_by, asked_at FROM run_requests
        WHERE trace_id = ?1 ORDER BY asked_at LIMIT 1000";
    db.query(sql, &[trace.into()])?.iter().map(request).collect()
}

/// The last requests to a host, in their order.
pub(crate) fn requests_to(db: &mut Link, host: &str) -> Result<Vec<RequestRecord>, DbError> {
    let sql = "SELECT trace_id, url, kind, status_code, outcome, delay_ms, delay_by, asked_at FROM run_requests
        WHERE hostname = ?1 ORDER BY id DESC LIMIT 200";
    let mut requests: Vec<RequestRecord> =
        db.query(sql, &[host.into()])?.iter().map(request).collect::<Result<_, _>>()?;
    requests.sort_by(|a, b| a.asked_at.cmp(&b.asked_at));
    Ok(requests)
}

/// What is known of a host's risk.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RiskRecord {
    pub(crate) hostname: String,
    /// As it was written with the last change of the host's state; it decays from there.
    pub(crate) risk_score: i64,
    pub(crate) friction_events: Json,
    pub(crate) last_fetch_at: Option<String>,
    pub(crate) updated_at: Option<String>,
}

impl RiskRecord {
    /// The score at a moment: as it was written, less what has faded since. A day leaves so many percent of it.
    pub(crate) fn score_at(&self, now: Time, daily_percent: u8) -> u8 {
        let written = self.updated_at.as_deref().and_then(read_timestamp).unwrap_or(now);
        let days = (now - written).as_secs_f64() / 86_400.0;
        let left = (f64::from(daily_percent) / 100.0).powf(days);
        (self.risk_score.clamp(0, 100) as f64 * left).round() as u8
    }
}

/// The risk of a host, if anything is known of it.
pub(crate) fn risk(db: &mut Link, host: &str) -> Result<Option<RiskRecord>, DbError> {
    let sql = "SELECT hostname, risk_score, friction_events, last_fetch_at, updated_at FROM domain_risk WHERE hostname = ?1";
    let Some(row) = db.one(sql, &[host.into()])? else { return Ok(None) };
    Ok(Some(RiskRecord {
        hostname: row.text(0)?.to_owned(),
        risk_score: row.int(1)?,
        friction_events: row.json(2)?.unwrap_or_default(),
        last_fetch_at: row.maybe_text(3)?.map(str::to_owned),
        updated_at: row.maybe_text(4)?.map(str::to_owned),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use curtsy_core::evidence::timestamp;

    #[test]
    fn a_score_fades_from_when_it_was_written() {
        let record = RiskRecord {
            hostname: "a.test".into(),
            risk_score: 60,
            friction_events: serde_json::json!([]),
            last_fetch_at: None,
            updated_at: Some(timestamp(Time::from_secs(86_400))),
        };
        assert_eq!(record.score_at(Time::from_secs(86_400), 90), 60);
        assert_eq!(record.score_at(Time::from_secs(2 * 86_400), 90), 54);
    }
}
