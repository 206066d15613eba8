//! Does the service still do what its contract says? Nine checks, each carried out for real.
//!
//! A check runs against a simulated site on loopback, with the same code and policy as every other
//! run, and examines the site's access log and the tables. Results are stored and shown with their
//! evidence.

mod breaks;
mod checks;
mod timing;
mod trial;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value as Json;
use tokio::sync::{Notify, watch};

use crate::ServeSpec;
use crate::app::App;
use crate::db::{DbError, DbLink, ServiceDatabase, record};

pub use breaks::Break;
pub(crate) use checks::shown;
use timing::Timing;

/// One of the contract's items (seed 004).
pub(crate) struct ContractItem {
    pub(crate) id: &'static str,
    pub(crate) category: &'static str,
    pub(crate) description: &'static str,
}

/// The contract.
pub(crate) const ITEMS: [ContractItem; 9] = [
    item("INGEST_001", "ingestion", "nm_ingest evidence markers present"),
    item("INGEST_002", "ingestion", "Discovery-first URL acquisition"),
    item("INGEST_003", "ingestion", "Robots.txt respect and parsing"),
    item("INGEST_004", "ingestion", "Adaptive throttling active"),
    item("INGEST_005", "ingestion", "Friction detection with early stop"),
    item("INGEST_006", "ingestion", "URL caching with TTL"),
    item("INGEST_007", "ingestion", "Mode selector UI available"),
    item("COMPLY_001", "compliance", "Bot protection handling"),
    item("COMPLY_002", "compliance", "Domain risk tracking"),
];

const fn item(id: &'static str, category: &'static str, description: &'static str) -> ContractItem {
    ContractItem { id, category, description }
}

/// A check and its last result.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckFinding {
    pub(crate) check_id: &'static str,
    pub(crate) category: &'static str,
    pub(crate) description: &'static str,
    #[serde(flatten)]
    pub(crate) result: CheckRecord,
}

record! {
    /// The last result of a check.
    #[derive(Default, Serialize)]
    #[serde(rename_all = "camelCase")]
    struct CheckRecord {
        /// None if the check was never carried out.
        passed: Option<bool>,
        summary: String,
        evidence: Json,
        checked_at: Option<String>,
        /// The duration of the runs behind the result.
        took_ms: Option<i64>,
    }
}

/// The checks and their results.
pub(crate) struct HealthChecks {
    spec: Arc<ServeSpec>,
    database: ServiceDatabase,
    asked: Notify,
    running: AtomicBool,
    timing: Timing,
}

impl HealthChecks {
    pub(crate) fn new(spec: Arc<ServeSpec>, database: ServiceDatabase) -> HealthChecks {
        HealthChecks {
            spec,
            database,
            asked: Notify::new(),
            running: AtomicBool::new(false),
            timing: Timing::default(),
        }
    }

    /// Whether checks are being carried out.
    pub(crate) fn is_running(&self) -> bool {
        self.running.load(Ordering::Relaxed)
    }

    /// Has the checks carried out now.
    pub(crate) fn ask_for(&self) {
        self.asked.notify_one();
    }

    /// What every check found when it was last carried out.
    pub(crate) async fn results(&self) -> Result<Vec<CheckFinding>, DbError> {
        self.database.ask(results).await
    }

    /// A request was answered.
    pub(crate) fn timed(&self, path: &str, took: Duration) {
        self.timing.note(path, took);
    }

    /// Figures as Prometheus reads them.
    pub(crate) fn metrics(&self) -> String {
        self.timing.text()
    }

    /// Runs all checks and stores the results. Takes half a minute: real runs at their real pace.
    fn check(&self) -> Result<(), DbError> {
        let found = checks::carry_out(&self.spec, &self.database);
        self.database.transact(|db| {
            for (item, found) in ITEMS.iter().zip(found) {
                db.execute("DELETE FROM health_checks WHERE check_id = ?1", &[item.id.into()])?;
                let sql = "INSERT INTO health_checks (check_id, passed, summary, evidence, checked_at, took_ms)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
                let evidence = found.evidence.to_string();
                let took = u64::try_from(found.took.as_millis()).unwrap_or(u64::MAX);
                let values =
                    [item.id.into(), found.passed.into(), found.summary.into(), evidence.into(), found.at.into(), took.into()];
                db.execute(sql, &values)?;
            }
            Ok(())
        })
    }
}

fn results(db: &mut DbLink) -> Result<Vec<CheckFinding>, DbError> {
    let sql = "SELECT passed, summary, evidence, checked_at, took_ms FROM health_checks WHERE check_id = ?1";
    let read = |&ContractItem { id, category, description }: &ContractItem| {
        let summary = "not carried out yet".to_owned();
        let never = || CheckRecord { summary, ..CheckRecord::default() };
        let result = db.first(sql, &[id.into()])?.unwrap_or_else(never);
        Ok(CheckFinding { check_id: id, category, description, result })
    };
    ITEMS.iter().map(read).collect()
}

/// Carries out the checks now and then, and whenever somebody asks, until the service ends.
pub(crate) async fn keep_checking(app: App, mut ending: watch::Receiver<bool>) {
    let every = app.spec.check_every;
    if every.is_some() {
        app.health.ask_for();
    }
    loop {
        let due = async {
            match every {
                Some(every) => tokio::time::sleep(every).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = ending.wait_for(|end| *end) => return,
            () = app.health.asked.notified() => {}
            () = due => {}
        }
        app.health.running.store(true, Ordering::Relaxed);
        let checking = app.clone();
        let work = tokio::task::spawn_blocking(move || checking.health.check());
        tokio::select! {
            // The trial's runs end with the process.
            _ = ending.wait_for(|end| *end) => return,
            done = work => {
                // A result that was not stored is missing on the page; the next round tries again.
                drop(done);
            }
        }
        app.health.running.store(false, Ordering::Relaxed);
    }
}
