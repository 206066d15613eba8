//! Runs: what was ordered, under which policy, and what came of it.

use curtsy_core::evidence::{RunEvidence, timestamp_micros};
use curtsy_core::time::Time;
use rusqlite::Connection;

/// The beginning of a run.
#[derive(Clone, Debug)]
pub struct RunStart {
    /// The run's own name, as its report has it. The same name continues the same run.
    pub trace_id: String,
    /// When, by the store's clock.
    pub at: Time,
    /// What was ordered, without passwords.
    pub command: String,
    /// The policy in TOML.
    pub policy: String,
    /// Its hash in hexadecimal digits.
    pub policy_hash: String,
}

/// The end of a run.
#[derive(Clone, Debug)]
pub struct RunEnd {
    /// When, by the store's clock.
    pub at: Time,
    /// How it ended, in a word.
    pub outcome: String,
    /// What it counted, as JSON.
    pub figures: serde_json::Value,
    /// Its report.
    pub evidence: Option<RunEvidence>,
}

/// Writes the beginning; gives the run's number.
pub(super) fn begin(db: &Connection, run: &RunStart) -> Result<i64, rusqlite::Error> {
    let sql = "INSERT INTO runs (trace_id, started_at, command, policy, policy_hash)
        VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (trace_id) DO UPDATE SET command = excluded.command, policy = excluded.policy,
            policy_hash = excluded.policy_hash, ended_at = NULL
        RETURNING number";
    let values =
        (&run.trace_id, timestamp_micros(run.at), &run.command, &run.policy, &run.policy_hash);
    db.query_row(sql, values, |row| row.get(0))
}

/// Writes the end.
pub(super) fn end(db: &Connection, number: i64, run: &RunEnd) -> Result<(), rusqlite::Error> {
    let sql = "UPDATE runs SET ended_at = ?2, outcome = ?3, figures = ?4, evidence = ?5
        WHERE number = ?1";
    // Plain data of ours always is JSON.
    let evidence = run.evidence.as_ref().and_then(|e| serde_json::to_string(e).ok());
    let values =
        (number, timestamp_micros(run.at), &run.outcome, run.figures.to_string(), evidence);
    db.execute(sql, values)?;
    Ok(())
}
