//! The tables of a crawl's file that are ours, their version, and how the file is opened.
//!
//! The file is shared with the crawl's frontier, which has its own tables and its own connection. Each part has its version in
//! `store_version`.

use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};

use crate::columns::{COLUMNS, Group};
use crate::error::OpenError;

/// The unit in which a new file is read and written.
const PAGE_BYTES: i64 = 8192;
/// Pages of the log after which it is moved into the file: fewer than the frontier's connection has, so that the wait for the disk
/// falls to the thread that writes rows.
const CHECKPOINT_PAGES: i64 = 1500;
/// The log is cut to this when it begins anew.
const LOG_BYTES_MAX: i64 = 64 * 1024 * 1024;
/// How long a locked file is waited for, in steps of 100 µs that grow to 2 ms: about four seconds.
const BUSY_STEPS_MAX: i32 = 2000;
/// How often a locked file is opened again.
const OPEN_TRIES_MAX: u32 = 200;
/// Statements that are kept prepared: more than there are.
const STATEMENTS_MAX: usize = 64;

/// Our part's name in the table of versions.
pub(crate) const WHAT: &str = "rows";
/// The version that this program writes.
pub(crate) const VERSION: i64 = 1;

/// Opens or makes the file, with our tables in it.
pub(crate) fn open(path: &Path) -> Result<Connection, OpenError> {
    let mut tries = 0;
    loop {
        let opened = connect(path).map_err(|e| OpenError::sqlite(path, e)).and_then(|mut db| {
            migrate(&mut db, path)?;
            Ok(db)
        });
        match opened {
            // While another connection turns a new file to WAL, SQLite says so without asking whether to wait.
            Err(OpenError::Locked { .. }) if tries < OPEN_TRIES_MAX => {
                tries += 1;
                thread::sleep(Duration::from_millis(5));
            }
            opened => return opened,
        }
    }
}

/// Opens a file that is there, to read it.
pub(crate) fn open_to_read(path: &Path) -> Result<Connection, OpenError> {
    if !path.exists() {
        return Err(OpenError::Missing { path: path.to_owned() });
    }
    let of = |e| OpenError::sqlite(path, e);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(path, flags).map_err(of)?;
    set_up(&mut db).map_err(of)?;
    match version(&db).map_err(of)? {
        None => Err(OpenError::NoRows { path: path.to_owned() }),
        Some(found) if found > VERSION => Err(newer(path, found)),
        Some(_) => Ok(db),
    }
}

fn connect(path: &Path) -> Result<Connection, rusqlite::Error> {
    let mut db = Connection::open(path)?;
    set_up(&mut db)?;
    // Counts for a new file only. A page of the web takes two of these, and half the calls of the system that it takes with 4 KiB.
    db.pragma_update(None, "page_size", PAGE_BYTES)?;
    // Readers don't stop writers, and a commit is one write to one file.
    db.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    // With the operating system at each commit, on the disk at each checkpoint: survives the process, not the power.
    db.execute_batch("PRAGMA synchronous = NORMAL")?;
    db.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    db.query_row(&format!("PRAGMA journal_size_limit = {LOG_BYTES_MAX}"), [], |_| Ok(()))?;
    Ok(db)
}

fn set_up(db: &mut Connection) -> Result<(), rusqlite::Error> {
    db.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    db.busy_handler(Some(wait_a_little))?;
    // Else SQLite plans a statement anew whenever a key is bound that an index with a condition is asked for.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.execute_batch("PRAGMA temp_store = MEMORY")
}

/// The frontier's connection holds its lock for some hundred microseconds: look again soon, and give up after some seconds.
fn wait_a_little(times: i32) -> bool {
    let steps = u64::try_from(times).unwrap_or(0).saturating_add(1).min(20);
    thread::sleep(Duration::from_micros(100 * steps));
    times < BUSY_STEPS_MAX
}

fn migrate(db: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let of = |e| OpenError::sqlite(path, e);
    if version(db).map_err(of)? == Some(VERSION) {
        return Ok(());
    }
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(of)?;
    tx.execute_batch(VERSIONS).map_err(of)?;
    // Another connection may have done it meanwhile.
    let found = version(&tx).map_err(of)?.unwrap_or(0);
    if found > VERSION {
        return Err(newer(path, found));
    }
    if found == 0 {
        if let Some(table) = foreign(&tx).map_err(of)? {
            return Err(OpenError::Foreign { path: path.to_owned(), table });
        }
        tx.execute_batch(&tables()).map_err(of)?;
    }
    let sql = "INSERT INTO store_version (what, version) VALUES (?1, ?2)
        ON CONFLICT (what) DO UPDATE SET version = excluded.version";
    tx.execute(sql, (WHAT, VERSION)).map_err(of)?;
    tx.commit().map_err(of)
}

fn newer(path: &Path, found: i64) -> OpenError {
    OpenError::Newer { path: path.to_owned(), what: WHAT, found, known: VERSION }
}

/// The version of our tables, if they are there.
fn version(db: &Connection) -> Result<Option<i64>, rusqlite::Error> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'store_version'";
    if db.query_row(sql, [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(None);
    }
    let sql = "SELECT version FROM store_version WHERE what = ?1";
    db.query_row(sql, [WHAT], |row| row.get(0)).optional()
}

/// A table or view that has the name of one of ours.
fn foreign(db: &Connection) -> Result<Option<String>, rusqlite::Error> {
    let sql = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')
        AND name IN ('pages', 'history', 'runs', 'sitemap_urls',
            'last_decisions', 'decisions', 'hosts', 'links') LIMIT 1";
    db.query_row(sql, [], |row| row.get(0)).optional()
}

/// The tables, made from the list of columns. What is large comes last, so that reading the rest does not walk through it.
fn tables() -> String {
    let mut pages = String::from(
        "CREATE TABLE pages (\n    number INTEGER PRIMARY KEY,\n    id BLOB NOT NULL UNIQUE",
    );
    let bulk = |group| group == Group::Bulk;
    let first = COLUMNS.iter().filter(|c| !bulk(c.group) && c.name != "body");
    let last = COLUMNS.iter().filter(|c| bulk(c.group) && c.name != "body");
    let body = COLUMNS.iter().filter(|c| c.name == "body");
    for column in first {
        pages.push_str(&format!(",\n    {} {}", column.name, sql_type(column.name, column.sql)));
    }
    pages.push_str(",\n    final_id BLOB");
    for column in last.chain(body) {
        pages.push_str(&format!(",\n    {} {}", column.name, column.sql));
    }
    pages.push_str("\n);\n");
    pages + OTHERS
}

fn sql_type(name: &str, sql: &'static str) -> &'static str {
    if name == "run" { "INTEGER" } else { sql }
}

/// A file may hold parts of several writers, each with its own version.
const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS store_version (
    what TEXT PRIMARY KEY,
    version INTEGER NOT NULL
) WITHOUT ROWID;";

const OTHERS: &str = "
CREATE INDEX pages_final_id ON pages (final_id) WHERE final_id IS NOT NULL;
CREATE TABLE history (
    id BLOB NOT NULL,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    decision TEXT NOT NULL,
    run INTEGER,
    url TEXT NOT NULL,
    host TEXT NOT NULL,
    http_status INTEGER,
    error TEXT,
    friction TEXT,
    retry_after_ms INTEGER,
    gate TEXT,
    not_before TEXT,
    follows TEXT,
    delay_ms INTEGER,
    delay_by TEXT,
    robots_file BLOB,
    robots_line INTEGER,
    findings BLOB NOT NULL,
    PRIMARY KEY (id, at, kind, decision)
) WITHOUT ROWID;
CREATE TABLE runs (
    number INTEGER PRIMARY KEY,
    trace_id TEXT NOT NULL UNIQUE,
    started_at TEXT NOT NULL,
    ended_at TEXT,
    command TEXT NOT NULL,
    policy TEXT NOT NULL,
    policy_hash TEXT NOT NULL,
    outcome TEXT,
    figures TEXT,
    evidence TEXT
);
CREATE TABLE sitemap_urls (
    url TEXT NOT NULL,
    sitemap TEXT NOT NULL,
    lastmod TEXT,
    changefreq TEXT,
    priority REAL,
    PRIMARY KEY (url, sitemap)
) WITHOUT ROWID;
CREATE VIEW last_decisions AS
    SELECT id, decided_at AS at, kind, decision, run, final_url AS url, host,
        CASE decision WHEN 'confirmed' THEN 304 WHEN 'fetched' THEN http_status
            WHEN 'dead' THEN http_status WHEN 'lost_redirect' THEN http_status END AS http_status,
        error, friction, retry_after_ms, gate, NULL AS not_before, NULL AS follows, delay_ms, delay_by,
        robots_file, robots_line, findings
    FROM pages;
CREATE VIEW decisions AS SELECT * FROM history UNION ALL SELECT * FROM last_decisions;
CREATE VIEW links (from_url, to_url, kind, nofollow) AS
    SELECT p.url, j.value, 'link',
        EXISTS (SELECT 1 FROM json_each(p.links_nofollow) n WHERE n.value = j.value)
    FROM pages p, json_each(p.links) j
    UNION ALL
    SELECT p.url, j.value, 'frame', 0 FROM pages p, json_each(p.frames) j
    UNION ALL
    SELECT url, refresh, 'refresh', 0 FROM pages WHERE refresh IS NOT NULL;
CREATE VIEW hosts (host, pages, fetched, refused, failed, last_at, delay_ms, delay_by, not_before) AS
    SELECT d.host, coalesce(p.pages, 0), coalesce(p.fetched, 0), coalesce(p.refused, 0),
        coalesce(p.failed, 0), d.at, d.delay_ms, d.delay_by, d.not_before
    FROM (SELECT host, max(at) AS at, delay_ms, delay_by, not_before FROM decisions GROUP BY host) d
    LEFT JOIN (
        SELECT host, count(*) AS pages, sum(decision IN ('fetched', 'confirmed', 'cached')) AS fetched,
            sum(decision = 'refused') AS refused, sum(error IS NOT NULL OR http_status >= 400) AS failed
        FROM pages GROUP BY host
    ) p USING (host);
";
