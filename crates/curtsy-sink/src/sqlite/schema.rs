//! The tables of a crawl's file that are ours, their version, and how the file is opened.
//!
//! The file is shared with the crawl's frontier, which has its own tables and its own connection. Each part has its version in
//! `store_version`.

use std::path::Path;

use curtsy_file::{Begins, OpenError, PAGE_BYTES_LARGE, Schema};
use rusqlite::Connection;

use crate::columns::{COLUMNS, Group};

/// Fewer than the frontier's connection has, so that the wait for the disk falls to the thread that writes rows.
const CHECKPOINT_PAGES: i64 = 3500;

/// Pages of the file that the writer keeps in memory, in KiB (SQLite has them negative): what a batch changes has room there until it is
/// written as a whole.
const CACHE_KIB: i64 = -16_384;

/// The tables and views that are ours.
const NAMES: [&str; 9] = [
    "pages",
    "history",
    "runs",
    "sitemap_urls",
    "last_decisions",
    "decisions",
    "hosts",
    "links",
    "evidence",
];

/// Opens or makes the file, with our tables in it.
pub(crate) fn open(path: &Path) -> Result<Connection, OpenError> {
    let db = curtsy_file::open(path, &schema(&[&tables(), &upgrade()]))?;
    db.pragma_update(None, "cache_size", CACHE_KIB).map_err(|e| OpenError::sqlite(path, e))?;
    Ok(db)
}

/// Opens a file that is there, to read it. A file of version 1 is read as it is: what it lacks is NULL.
pub(crate) fn open_to_read(path: &Path) -> Result<Connection, OpenError> {
    let db = curtsy_file::open_to_read(path, &schema(&[&tables(), &upgrade()]))?;
    let missing =
        "SELECT 0 = (SELECT count(*) FROM pragma_table_info('pages') WHERE name = 'reason')";
    let older = db.query_row(missing, [], |row| row.get::<_, bool>(0));
    if older.map_err(|e| OpenError::sqlite(path, e))? {
        // Temporary views lie in memory, and stand before what the file has.
        let sql: String = [("pages", "pages"), ("decisions", "history")]
            .map(|(name, table)| {
                let nulls: String =
                    added_to(table).map(|(name, _)| format!(", NULL AS {name}")).collect();
                format!("CREATE TEMP VIEW {name} AS SELECT *{nulls} FROM main.{name};\n")
            })
            .concat();
        db.execute_batch(&sql).map_err(|e| OpenError::sqlite(path, e))?;
    }
    Ok(db)
}

fn schema<'s>(steps: &'s [&'s str]) -> Schema<'s> {
    Schema {
        what: "rows",
        steps,
        begins: Begins::Newest,
        page_bytes: PAGE_BYTES_LARGE,
        names: &NAMES,
        checkpoint_pages: CHECKPOINT_PAGES,
    }
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
    pages + OTHERS + VIEWS
}

/// Makes version 2 of version 1.
fn upgrade() -> String {
    let mut sql = String::from(
        "DROP VIEW hosts; DROP VIEW decisions; DROP VIEW last_decisions; DROP VIEW links;\n",
    );
    for table in ["pages", "history"] {
        for (name, kind) in added_to(table) {
            sql.push_str(&format!("ALTER TABLE {table} ADD COLUMN {name} {kind};\n"));
        }
    }
    sql + VIEWS
}

/// The columns that version 2 adds to a table. `pages` had its `robots_rule` before, and only pages have
/// links, an access and a source.
fn added_to(table: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let others: &[&str] = match table {
        "pages" => &["robots_rule"],
        _ => &["links_cut", "access", "source"],
    };
    ADDED.into_iter().filter(move |(name, _)| !others.contains(name))
}

/// What version 2 has and version 1 has not, in the order in which `history` has it.
const ADDED: [(&str, &str); 7] = [
    ("reason", "TEXT"),
    ("robots_rule", "TEXT"),
    ("robots_confidence", "TEXT"),
    ("crawl_delay_ms", "INTEGER"),
    ("links_cut", "INTEGER"),
    ("access", "TEXT"),
    ("source", "TEXT"),
];

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
    reason TEXT,
    robots_rule TEXT,
    robots_confidence TEXT,
    crawl_delay_ms INTEGER,
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

const VIEWS: &str = "
CREATE VIEW last_decisions AS
    SELECT id, decided_at AS at, kind, decision, run, final_url AS url, host,
        CASE decision WHEN 'confirmed' THEN 304 WHEN 'fetched' THEN http_status
            WHEN 'dead' THEN http_status WHEN 'lost_redirect' THEN http_status
            WHEN 'login_wall' THEN http_status END AS http_status,
        error, friction, retry_after_ms, gate, NULL AS not_before, NULL AS follows, delay_ms, delay_by,
        robots_file, robots_line, findings, reason, robots_rule, robots_confidence, crawl_delay_ms
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
CREATE VIEW evidence (type, url, at, content, metadata, confidence) AS
    SELECT CASE allowed WHEN 'true' THEN 'robots_allowed' ELSE 'blocked_by_robots' END, url, at,
        json_object('allowed', json(allowed), 'matchedRule', robots_rule, 'crawlDelay', crawl_delay,
            'timestamp', substr(at, 1, 23) || 'Z'),
        json_object('url', url, 'allowed', json(allowed), 'matchedRule', robots_rule,
            'crawlDelay', crawl_delay),
        robots_confidence
    FROM (
        SELECT *, CASE WHEN decision = 'refused' AND gate = 'robots' THEN 'false' ELSE 'true' END
                AS allowed,
            CASE crawl_delay_ms % 1000 WHEN 0 THEN crawl_delay_ms / 1000
                ELSE crawl_delay_ms / 1000.0 END AS crawl_delay
        FROM decisions WHERE robots_confidence IS NOT NULL
    )
    UNION ALL
    SELECT 'slot_timeout', url, at,
        json_object('error', reason, 'timestamp', substr(at, 1, 23) || 'Z'),
        json_object('url', url), NULL
    FROM decisions WHERE error = 'slot_timeout';
";
