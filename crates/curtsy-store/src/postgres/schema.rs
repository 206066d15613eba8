//! The tables in Postgres, and the steps from each version to the next.

use super::failure::PgFailure;
use super::link::PgSession;
use crate::ReadableTables;

/// A group of tables with a version.
struct TableGroup {
    /// Its name in `curtsy_version` and in messages.
    what: &'static str,
    /// The SQL that makes each version from the one before. The first step creates the tables.
    steps: &'static [&'static str],
    /// Names that other programs' tables must not have when ours are created.
    names: &'static [&'static str],
}

/// The name of the lock for migrations: "curtsy" in ASCII.
const LOCK: i64 = 0x63_75_72_74_73_79;

/// Brings the tables to the newest version.
pub(super) fn migrate(session: &mut PgSession, shows: &ReadableTables) -> Result<(), PgFailure> {
    let encoding = session.query("SHOW server_encoding", &[])?;
    let encoding: String = encoding.first().map(|row| row.get(0)).unwrap_or_default();
    if encoding != "UTF8" {
        return Err(PgFailure::Encoding(encoding));
    }
    let parts: &[TableGroup] = if shows.anything() { &[LEDGER, SHOWN] } else { &[LEDGER] };
    let mut behind = false;
    for part in parts {
        behind |= version(session, part)? != part.known();
    }
    if !behind {
        return Ok(());
    }
    session.run(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})"))?;
    let made = session.run(VERSIONS).and_then(|()| {
        // Another process may have migrated the tables meanwhile.
        parts.iter().try_for_each(|part| bring_up(session, part))
    });
    match made {
        Ok(()) => session.run("COMMIT"),
        Err(failure) => {
            // If this fails too, the connection is closed, which also rolls back.
            let _ = session.run("ROLLBACK");
            Err(failure)
        }
    }
}

impl TableGroup {
    /// Returns the newest version that this program knows.
    fn known(&self) -> i64 {
        i64::try_from(self.steps.len()).unwrap_or(i64::MAX)
    }
}

fn bring_up(session: &mut PgSession, part: &TableGroup) -> Result<(), PgFailure> {
    let found = version(session, part)?;
    if found == 0
        && let Some(table) = foreign(session, part.names)?
    {
        return Err(PgFailure::Foreign(table));
    }
    for step in part.steps.iter().skip(usize::try_from(found).unwrap_or(0)) {
        session.run(step)?;
    }
    let sql = "INSERT INTO curtsy_version (what, version) VALUES ($1, $2)
        ON CONFLICT (what) DO UPDATE SET version = excluded.version";
    session.write(sql, &[&part.what, &part.known()])?;
    Ok(())
}

/// Returns a part's version, zero if it has no tables. A version that is newer than this program is
/// an error.
fn version(session: &mut PgSession, part: &TableGroup) -> Result<i64, PgFailure> {
    let (what, known) = (part.what, part.known());
    let there = session.query("SELECT to_regclass('curtsy_version') IS NOT NULL", &[])?;
    if !there.first().is_some_and(|row| row.get(0)) {
        return Ok(0);
    }
    let rows = session.query("SELECT version FROM curtsy_version WHERE what = $1", &[&what])?;
    let found = rows.first().map_or(0, |row| row.get(0));
    match found > known {
        true => Err(PgFailure::Newer { what, found, known }),
        false => Ok(found),
    }
}

/// Returns the name of a table that has the name of one of ours.
fn foreign(session: &mut PgSession, names: &[&str]) -> Result<Option<String>, PgFailure> {
    for name in names {
        let there = session.query("SELECT to_regclass($1) IS NOT NULL", &[name])?;
        if there.first().is_some_and(|row| row.get(0)) {
            return Ok(Some((*name).to_owned()));
        }
    }
    Ok(None)
}

const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS curtsy_version (
    what TEXT PRIMARY KEY,
    version BIGINT NOT NULL
)";

const LEDGER: TableGroup = TableGroup {
    what: "ledger",
    names: &["curtsy_ledger", "curtsy_hosts", "curtsy_robots", "curtsy_slots", "curtsy_stops"],
    steps: &["
CREATE TABLE curtsy_ledger (
    one SMALLINT PRIMARY KEY CHECK (one = 1),
    id BIGINT NOT NULL,
    clock_offset BIGINT NOT NULL,
    steps BIGINT NOT NULL,
    latest BIGINT NOT NULL,
    writes BIGINT NOT NULL,
    orders BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    floor BIGINT,
    quiet_until BIGINT,
    emptied BOOLEAN NOT NULL
);
CREATE TABLE curtsy_hosts (
    host TEXT PRIMARY KEY,
    version BIGINT NOT NULL,
    state BYTEA NOT NULL
);
CREATE TABLE curtsy_robots (
    id BYTEA PRIMARY KEY,
    written BIGINT NOT NULL,
    etag TEXT,
    last_modified TEXT,
    text BYTEA NOT NULL
);
CREATE TABLE curtsy_slots (
    address BYTEA NOT NULL,
    lease BIGINT NOT NULL,
    until BIGINT NOT NULL,
    PRIMARY KEY (address, lease)
);
CREATE TABLE curtsy_stops (
    host TEXT PRIMARY KEY,
    since BIGINT NOT NULL,
    lifted BOOLEAN NOT NULL
);
"],
};

const SHOWN: TableGroup = TableGroup {
    what: "shown",
    names: &["domain_risk", "url_fetch_cache"],
    steps: &["
CREATE TABLE domain_risk (
    hostname VARCHAR PRIMARY KEY,
    risk_score INTEGER DEFAULT 0,
    friction_events JSONB DEFAULT '[]',
    last_fetch_at TIMESTAMP,
    created_at TIMESTAMP,
    updated_at TIMESTAMP
);
CREATE TABLE url_fetch_cache (
    url_hash VARCHAR PRIMARY KEY,
    url TEXT NOT NULL,
    hostname VARCHAR NOT NULL,
    content TEXT,
    status_code INTEGER,
    headers JSONB,
    content_hash VARCHAR,
    fetched_at TIMESTAMP,
    expires_at TIMESTAMP,
    url_key TEXT NOT NULL
);
CREATE INDEX url_fetch_cache_key ON url_fetch_cache (url_key);
CREATE INDEX url_fetch_cache_expires ON url_fetch_cache (expires_at);
"],
};
