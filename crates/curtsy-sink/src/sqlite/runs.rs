//! The table of runs.

use curtsy_core::evidence::{RunEvidence, timestamp_micros};
use curtsy_core::time::Time;
use rusqlite::Connection;

/// The beginning of a run.
#[derive(Clone, Debug)]
pub struct RunStart {
    /// The trace id. The same id continues the same run.
    pub trace_id: String,
    /// When, by the store's clock.
    pub at: Time,
    /// The command, without passwords.
    pub command: String,
    /// The policy in TOML.
    pub policy: String,
    /// Its hash in hexadecimal.
    pub policy_hash: String,
    /// Whether the run begins the crawl anew, at its seeds.
    pub anew: bool,
}

/// The end of a run.
#[derive(Clone, Debug)]
pub struct RunEnd {
    /// When, by the store's clock.
    pub at: Time,
    /// The outcome in one word.
    pub outcome: String,
    /// The report, as JSON.
    pub figures: serde_json::Value,
    /// The evidence.
    pub evidence: Option<RunEvidence>,
}

/// Writes the beginning of a run and returns its number.
pub(super) fn begin(db: &Connection, run: &RunStart) -> Result<i64, rusqlite::Error> {
    let sql = "INSERT INTO runs (trace_id, started_at, command, policy, policy_hash, anew)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (trace_id) DO UPDATE SET command = excluded.command, policy = excluded.policy,
            policy_hash = excluded.policy_hash, anew = excluded.anew, ended_at = NULL
        RETURNING number";
    let RunStart { trace_id, command, policy, policy_hash, anew, .. } = run;
    let values = (trace_id, timestamp_micros(run.at), command, policy, policy_hash, anew);
    db.query_row(sql, values, |row| row.get(0))
}

/// Writes the end of a run.
pub(super) fn end(db: &Connection, number: i64, run: &RunEnd) -> Result<(), rusqlite::Error> {
    let sql = "UPDATE runs SET ended_at = ?2, outcome = ?3, figures = ?4, evidence = ?5
        WHERE number = ?1";
    // Plain data always converts to JSON.
    let evidence = run.evidence.as_ref().and_then(|e| serde_json::to_string(e).ok());
    let values =
        (number, timestamp_micros(run.at), &run.outcome, run.figures.to_string(), evidence);
    db.execute(sql, values)?;
    Ok(())
}
