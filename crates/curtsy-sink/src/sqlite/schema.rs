//! The tables of a crawl's file that are ours, their version, and how the file is opened.
//!
//! The file is shared with the crawl's frontier, which has its own tables and its own connection. Each part has its version in
//! `store_version`.

use std::path::Path;
use std::time::Duration;

use curtsy_file::{OpenError, PAGE_BYTES_LARGE, Schema};
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use crate::columns::{ADDED, COLUMNS, Group};

/// Fewer than the frontier's connection has, so that the wait for the disk falls to the thread that writes rows.
const CHECKPOINT_PAGES: i64 = 3500;

/// Pages of the file that the writer keeps in memory, in KiB (SQLite has them negative): what a batch changes has room there until it is
/// written as a whole.
const CACHE_KIB: i64 = -16_384;

/// How long a look at a file's version waits for others.
const LOOK_WAIT: Duration = Duration::from_secs(10);

/// The tables and views that are ours.
const NAMES: [&str; 8] =
    ["pages", "history", "runs", "sitemap_urls", "last_decisions", "decisions", "hosts", "links"];

/// Opens or makes the file, with our tables in it.
pub(crate) fn open(path: &Path) -> Result<Connection, OpenError> {
    // A file that is begun has all columns where they belong.
    let second = if is_first(path) { second() } else { String::new() };
    let db = curtsy_file::open(path, &schema(&[&tables(&[]), &second]))?;
    db.pragma_update(None, "cache_size", CACHE_KIB).map_err(|e| OpenError::sqlite(path, e))?;
    Ok(db)
}

/// Opens a file that is there, to read it.
pub(crate) fn open_to_read(path: &Path) -> Result<Connection, OpenError> {
    curtsy_file::open_to_read(path, &schema(&[&tables(&[]), &second()]))
}

fn schema<'s>(steps: &'s [&'s str]) -> Schema<'s> {
    Schema {
        what: "rows",
        steps,
        page_bytes: PAGE_BYTES_LARGE,
        names: &NAMES,
        checkpoint_pages: CHECKPOINT_PAGES,
    }
}

/// The tables, made from the list of columns but for those that are left out. What is large comes last, so that reading the rest does not walk
/// through it.
fn tables(without: &[&str]) -> String {
    let mut pages = String::from(
        "CREATE TABLE pages (\n    number INTEGER PRIMARY KEY,\n    id BLOB NOT NULL UNIQUE",
    );
    let bulk = |group| group == Group::Bulk;
    let columns = || COLUMNS.iter().filter(|c| !without.contains(&c.name));
    let first = columns().filter(|c| !bulk(c.group) && c.name != "body");
    let last = columns().filter(|c| bulk(c.group) && c.name != "body");
    let body = COLUMNS.iter().filter(|c| c.name == "body");
    for column in first {
        pages.push_str(&format!(",\n    {} {}", column.name, sql_type(column.name, column.sql)));
    }
    pages.push_str(",\n    final_id BLOB");
    for column in last.chain(body) {
        pages.push_str(&format!(",\n    {} {}", column.name, column.sql));
    }
    pages.push_str("\n);\n");
    pages + OTHERS + VIEWS
}

/// From the first version to the second: the columns that it lacks, and the views as they are now.
fn second() -> String {
    let added = COLUMNS.iter().filter(|c| ADDED.contains(&c.name));
    let added = added.map(|c| format!("ALTER TABLE pages ADD COLUMN {} {};\n", c.name, c.sql));
    added.collect::<String>() + DROPPED + VIEWS
}

/// Whether a file has the first version of our tables. If that can't be told it counts as such: a step too many is an error, one that is
/// left out would be a file without its columns.
fn is_first(path: &Path) -> bool {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let version = |db: Connection| {
        db.busy_timeout(LOOK_WAIT)?;
        let ours = "SELECT 1 FROM sqlite_schema WHERE name = 'store_version'";
        if !db.prepare(ours)?.exists([])? {
            return Ok(None);
        }
        let sql = "SELECT version FROM store_version WHERE what = 'rows'";
        db.query_row(sql, [], |row| row.get::<_, i64>(0)).optional()
    };
    let version = || Connection::open_with_flags(path, flags).and_then(version);
    path.exists() && version().map_or(true, |version| version == Some(1))
}

fn sql_type(name: &str, sql: &'static str) -> &'static str {
    if name == "run" { "INTEGER" } else { sql }
}

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
";

/// What is asked of the tables.
const VIEWS: &str = "
CREATE VIEW last_decisions AS
    SELECT id, decided_at AS at, kind, decision, run, final_url AS url, host,
        CASE decision WHEN 'confirmed' THEN 304 WHEN 'fetched' THEN http_status
            WHEN 'dead' THEN http_status WHEN 'lost_redirect' THEN http_status
            WHEN 'login_wall' THEN http_status END AS http_status,
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
            sum(decision = 'refused') AS refused,
            sum(decision <> 'login_wall' AND (error IS NOT NULL OR http_status >= 400)) AS failed
        FROM pages GROUP BY host
    ) p USING (host);
";

/// Takes the views away of which the second version has others.
const DROPPED: &str =
    "DROP VIEW hosts; DROP VIEW links; DROP VIEW decisions; DROP VIEW last_decisions;";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_first_version_is_read_and_gets_its_new_columns() {
        let name = format!("curtsy-first-version-{}.db", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&path);
        let first = curtsy_file::open(&path, &schema(&[&tables(&ADDED)])).unwrap();
        let row = "INSERT INTO pages (id, url, surt_key, final_url, redirect_count, decision, decided_at, host, kind, depth, tries)
            VALUES (x'01', 'http://a.test/', 'a', 'http://a.test/', 0, 'fetched', 't', 'a.test', 'page', 0, 0)";
        first.execute(row, []).unwrap();
        drop(first);
        let seen: i64 = open_to_read(&path)
            .unwrap()
            .query_row("SELECT count(*) FROM pages", [], |row| row.get(0))
            .unwrap();
        assert_eq!(seen, 1, "before it is brought up to date, too");
        let db = open(&path).unwrap();
        for column in ADDED {
            let empty = format!("SELECT count(*) FROM pages WHERE {column} IS NULL");
            assert_eq!(
                db.query_row(&empty, [], |row| row.get::<_, i64>(0)).unwrap(),
                1,
                "{column}"
            );
        }
        let hosts = "SELECT pages + fetched FROM hosts";
        assert_eq!(db.query_row(hosts, [], |row| row.get::<_, i64>(0)).unwrap(), 2);
        drop(db);
        std::fs::remove_file(&path).unwrap();
    }
}
