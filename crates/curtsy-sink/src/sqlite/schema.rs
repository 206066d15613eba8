//! The tables of rows in a crawl's file, their version, and how the file is opened.
//!
//! The file also contains the crawl's frontier, which has its own tables and connection. Each part
//! has its version in `store_version`.

use std::path::Path;

use curtsy_file::{Begins, OpenError, PAGE_BYTES_LARGE, Schema};
use rusqlite::Connection;

use crate::columns::{COLUMNS, ColumnGroup};

/// Fewer than for the frontier's connection, so that the thread that writes rows does the
/// checkpoints.
const CHECKPOINT_PAGES: i64 = 3500;

/// The writer's cache in KiB (negative for SQLite): holds all changes of a batch until they are
/// written.
const CACHE_KIB: i64 = -16_384;

/// The names of our tables and views.
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

/// Opens or creates the file with our tables.
pub(crate) fn open(path: &Path) -> Result<Connection, OpenError> {
    let db = curtsy_file::open(path, &schema(&[&tables(), &version_2(), &version_3()]))?;
    db.pragma_update(None, "cache_size", CACHE_KIB).map_err(|e| OpenError::sqlite(path, e))?;
    Ok(db)
}

/// Opens an existing file to read it. A file of an older version stays as it is: a column that it
/// lacks is NULL, or computed.
pub(crate) fn open_to_read(path: &Path) -> Result<Connection, OpenError> {
    let db = curtsy_file::open_to_read(path, &schema(&[&tables(), &version_2(), &version_3()]))?;
    let of = |e| OpenError::sqlite(path, e);
    let sql = "SELECT version FROM store_version WHERE what = 'rows'";
    let version: i64 = db.query_row(sql, [], |row| row.get(0)).map_err(of)?;
    // A temporary view is in memory, and hides the table with its name.
    let view = |name, more| format!("CREATE TEMP VIEW {name} AS SELECT *{more} FROM main.{name};");
    let nulls = |table| added_to(table).map(|(name, _)| format!(", NULL AS {name}")).collect();
    if version < 2 {
        let views: [String; 2] =
            [view("pages", nulls("pages")), view("decisions", nulls("history"))];
        db.execute_batch(&views.concat()).map_err(of)?;
    }
    if version < 3 {
        db.execute_batch(&view("runs", format!(", {SAYS_AGAIN} AS anew"))).map_err(of)?;
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

/// Returns the SQL of the tables. Large columns are last, so that a query of the others need not
/// walk through them.
fn tables() -> String {
    let mut pages = String::from(
        "CREATE TABLE pages (\n    number INTEGER PRIMARY KEY,\n    id BLOB NOT NULL UNIQUE",
    );
    let bulk = |group| group == ColumnGroup::Bulk;
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
    pages + TABLES + VIEWS
}

/// Makes version 3 of version 2: a run says whether it began the crawl anew.
fn version_3() -> String {
    format!(
        "ALTER TABLE runs ADD COLUMN anew INTEGER NOT NULL DEFAULT 0;
        UPDATE runs SET anew = {SAYS_AGAIN};"
    )
}

/// Whether the command of a run says that it begins the crawl anew.
const SAYS_AGAIN: &str = "instr(' ' || command || ' ', ' --again ') > 0";

/// Makes version 2 of version 1.
fn version_2() -> String {
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

/// Returns the columns that version 2 adds to a table. `pages` had `robots_rule` before, and only
/// pages have links, access and source.
fn added_to(table: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let others: &[&str] = match table {
        "pages" => &["robots_rule"],
        _ => &["links_cut", "access", "source"],
    };
    ADDED.into_iter().filter(move |(name, _)| !others.contains(name))
}

/// The columns of version 2 that version 1 lacks, in the order of `history`.
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

/// The tables besides `pages`.
const TABLES: &str = include_str!("tables.sql");
const VIEWS: &str = include_str!("views.sql");
