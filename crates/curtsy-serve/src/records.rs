//! What the service keeps of runs, and what is asked of it.

use curtsy_core::evidence::{RunEvidence, mode_name, read_timestamp};
use curtsy_core::time::Time;
use curtsy_tiles::Tile;
use serde::Serialize;
use serde_json::Value as Json;

use crate::db::{DbError, DbLink, record};
use crate::health::Break;
use crate::ingest::{IngestOrder, SurveyPlan};

/// Runs, pages, requests that are shown at once.
pub(crate) const SHOWN_MAX: i64 = 200;

record! {
    /// A run as it is kept.
    #[derive(Clone, Debug, Serialize)]
    #[serde(rename_all = "camelCase")]
    struct RunRecord {
        id: i64,
        trace_id: String,
        orbit_slug: String,
        mode: String,
        started_at: Option<String>,
        completed_at: Option<String>,
        outcome: Option<String>,
        evidence: Option<Json>,
        url: Option<String>,
        hostname: Option<String>,
        plan: Option<Json>,
        /// When somebody cancelled it.
        cancelled_at: Option<String>,
    }
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
    /// A run of an orbit.
    pub(crate) fn find(
        db: &mut DbLink,
        slug: &str,
        trace: &str,
    ) -> Result<Option<RunRecord>, DbError> {
        let sql = runs_where!("r.orbit_slug = ?1 AND r.trace_id = ?2");
        db.first(sql, &[slug.into(), trace.into()])
    }

    /// The runs of an orbit, the newest first, those before `before` if that is given.
    pub(crate) fn list(
        db: &mut DbLink,
        slug: &str,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<RunRecord>, DbError> {
        let sql = runs_where!("r.orbit_slug = ?1 AND r.id < ?2 ORDER BY r.id DESC LIMIT ?3");
        let before = before.unwrap_or(i64::from(i32::MAX));
        db.all(sql, &[slug.into(), before.into(), limit.clamp(1, SHOWN_MAX).into()])
    }

    /// The last runs of a host, whoever asked for them.
    pub(crate) fn of_host(db: &mut DbLink, host: &str) -> Result<Vec<RunRecord>, DbError> {
        let sql = runs_where!("o.hostname = ?1 ORDER BY r.id DESC LIMIT 50");
        db.all(sql, &[host.into()])
    }

    /// Runs that have ended, the newest first.
    pub(crate) fn ended(db: &mut DbLink, limit: i64) -> Result<Vec<RunRecord>, DbError> {
        let sql = runs_where!("r.completed_at IS NOT NULL ORDER BY r.id DESC LIMIT ?1");
        db.all(sql, &[limit.into()])
    }

    /// Runs that have not ended, the oldest first.
    pub(crate) fn unfinished(db: &mut DbLink) -> Result<Vec<RunRecord>, DbError> {
        let sql = runs_where!("r.completed_at IS NULL ORDER BY r.id LIMIT 1000");
        db.all(sql, &[])
    }
}

/// Orbits that are shown on the first page.
const ORBITS_SHOWN: i64 = 20;

/// The orbits with runs and how many each has, the one with the newest run first.
pub(crate) fn orbits(db: &mut DbLink) -> Result<Vec<(String, i64)>, DbError> {
    let sql = "SELECT orbit_slug, count(*) FROM ingestion_runs GROUP BY orbit_slug ORDER BY max(id) DESC LIMIT ?1";
    db.all(sql, &[ORBITS_SHOWN.into()])
}

/// Writes down that a run begins.
pub(crate) fn begin(
    db: &mut DbLink,
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

record! {
    /// What was ordered, as far as a run that goes on needs it.
    struct OrderRecord {
        user_urls: Vec<String>,
        starts: i64,
        callback: Option<String>,
    }
}

/// What was ordered when a run began.
pub(crate) fn order_of(db: &mut DbLink, trace: &str) -> Result<Option<OrderRecord>, DbError> {
    let sql = "SELECT user_urls, starts, callback FROM run_orders WHERE trace_id = ?1";
    db.first(sql, &[trace.into()])
}

/// Writes down that a run is to end. One that has ended stays as it is.
pub(crate) fn cancel(db: &mut DbLink, trace: &str, at: &str) -> Result<(), DbError> {
    let sql = "UPDATE run_orders SET cancelled_at = ?2 WHERE trace_id = ?1 AND cancelled_at IS NULL
        AND EXISTS (SELECT 1 FROM ingestion_runs r WHERE r.trace_id = ?1 AND r.completed_at IS NULL)";
    db.execute(sql, &[trace.into(), at.into()]).map(drop)
}

/// Forgets that a run was to end: it came to its own end before it heard of it.
pub(crate) fn not_cancelled(db: &mut DbLink, trace: &str) -> Result<(), DbError> {
    let sql = "UPDATE run_orders SET cancelled_at = NULL WHERE trace_id = ?1";
    db.execute(sql, &[trace.into()]).map(drop)
}

record! {
    /// Whoever is to be told that a run has ended, and was not yet.
    struct DueCallback {
        callback: String,
        orbit: String,
        trace: String,
        outcome: String,
        evidence: Json,
    }
}

/// All that are to be told, those of the oldest runs first.
pub(crate) fn due(db: &mut DbLink) -> Result<Vec<DueCallback>, DbError> {
    let sql = "SELECT o.callback, r.orbit_slug, r.trace_id, COALESCE(r.outcome, 'error'), r.evidence
        FROM run_orders o JOIN ingestion_runs r ON r.trace_id = o.trace_id
        WHERE o.callback IS NOT NULL AND o.called_back IS NULL AND r.completed_at IS NOT NULL ORDER BY r.id LIMIT 1000";
    db.all(sql, &[])
}

/// Writes down what came of telling somebody that a run has ended.
pub(crate) fn called_back(db: &mut DbLink, trace: &str, what: &str) -> Result<(), DbError> {
    let sql = "UPDATE run_orders SET called_back = ?2 WHERE trace_id = ?1";
    db.execute(sql, &[trace.into(), what.into()]).map(drop)
}

/// Begins a run again: what it had written goes, what it fetched is in the cache.
pub(crate) fn begin_again(db: &mut DbLink, trace: &str) -> Result<(), DbError> {
    db.execute("DELETE FROM run_pages WHERE trace_id = ?1", &[trace.into()])?;
    db.execute("UPDATE run_orders SET starts = starts + 1 WHERE trace_id = ?1", &[trace.into()])?;
    Ok(())
}

/// Writes down the plan of a run.
pub(crate) fn plan(db: &mut DbLink, trace: &str, plan: &SurveyPlan) -> Result<(), DbError> {
    let plan = serde_json::to_string(plan).unwrap_or_default();
    let sql = "UPDATE run_orders SET plan = ?2 WHERE trace_id = ?1";
    db.execute(sql, &[trace.into(), plan.into()]).map(drop)
}

/// Writes down how a run ended, with its tiles.
pub(crate) fn end(
    db: &mut DbLink,
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
        db.execute(sql, &[trace.into(), number.into(), tile.kind().name().into(), text.into()])?;
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
pub(crate) fn tiles(db: &mut DbLink, trace: &str) -> Result<Vec<Json>, DbError> {
    let sql = "SELECT tile FROM run_tiles WHERE trace_id = ?1 ORDER BY number";
    db.all(sql, &[trace.into()])
}

record! {
    /// A page that a run considered.
    #[derive(Clone, Debug, Serialize)]
    #[serde(rename_all = "camelCase")]
    struct PageRecord {
        url: String,
        final_url: String,
        kind: String,
        decision: String,
        status_code: Option<i64>,
        error: Option<String>,
        title: Option<String>,
        used: bool,
        content_hash: Option<String>,
        changed: Option<bool>,
        robots_rule: Option<String>,
        robots_line: Option<i64>,
        delay_ms: Option<i64>,
        delay_by: Option<String>,
        reasons: Json,
        decided_at: String,
        /// Why there is no page, in words.
        reason: Option<String>,
        /// The robots.txt decision as a record (`robots_allowed`, `blocked_by_robots`), or
        /// `slot_timeout`.
        evidence: Option<Json>,
    }
}

/// The pages that a run considered, in their order.
pub(crate) fn pages(db: &mut DbLink, trace: &str) -> Result<Vec<PageRecord>, DbError> {
    let sql = "SELECT url, final_url, kind, decision, status_code, error, title, used, content_hash, changed, robots_rule, robots_line,
        delay_ms, delay_by, reasons, decided_at, reason, evidence FROM run_pages WHERE trace_id = ?1 ORDER BY number LIMIT 500";
    db.all(sql, &[trace.into()])
}

record! {
    /// A request that was made.
    #[derive(Clone, Debug, Serialize)]
    #[serde(rename_all = "camelCase")]
    struct RequestRecord {
        trace_id: String,
        url: String,
        kind: String,
        status_code: Option<i64>,
        outcome: String,
        delay_ms: Option<i64>,
        delay_by: Option<String>,
        asked_at: String,
    }
}

/// The requests of a run, in their order.
pub(crate) fn requests(db: &mut DbLink, trace: &str) -> Result<Vec<RequestRecord>, DbError> {
    let sql = "SELECT trace_id, url, kind, status_code, outcome, delay_ms, delay_by, asked_at FROM run_requests
        WHERE trace_id = ?1 ORDER BY asked_at LIMIT 1000";
    db.all(sql, &[trace.into()])
}

/// The last requests to a host, in their order.
pub(crate) fn requests_to(db: &mut DbLink, host: &str) -> Result<Vec<RequestRecord>, DbError> {
    let sql = "SELECT trace_id, url, kind, status_code, outcome, delay_ms, delay_by, asked_at FROM run_requests
        WHERE hostname = ?1 ORDER BY id DESC LIMIT 200";
    let mut requests: Vec<RequestRecord> = db.all(sql, &[host.into()])?;
    requests.sort_by(|a, b| a.asked_at.cmp(&b.asked_at));
    Ok(requests)
}

record! {
    /// What is known of a host's risk.
    #[derive(Clone, Debug, Serialize)]
    #[serde(rename_all = "camelCase")]
    struct RiskRecord {
        hostname: String,
        /// As it was written with the last change of the host's state; it decays from there.
        risk_score: i64,
        friction_events: Json,
        last_fetch_at: Option<String>,
        updated_at: Option<String>,
    }
}

impl RiskRecord {
    /// The score at a moment: as written, less its decay. Each day keeps `daily_percent` of it.
    pub(crate) fn score_at(&self, now: Time, daily_percent: u8) -> u8 {
        let written = self.updated_at.as_deref().and_then(read_timestamp).unwrap_or(now);
        let days = (now - written).as_secs_f64() / 86_400.0;
        let left = (f64::from(daily_percent) / 100.0).powf(days);
        (self.risk_score.clamp(0, 100) as f64 * left).round() as u8
    }
}

/// The risk of a host, if anything is known of it.
pub(crate) fn risk(db: &mut DbLink, host: &str) -> Result<Option<RiskRecord>, DbError> {
    let sql = "SELECT hostname, risk_score, friction_events, last_fetch_at, updated_at FROM domain_risk WHERE hostname = ?1";
    db.first(sql, &[host.into()])
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
