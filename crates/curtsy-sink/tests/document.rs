//! The tables of `docs/reference/columns.md` match the program. `UPDATE_DOCS=1 cargo test -p
//! curtsy-sink` updates them.

mod sample;

use std::path::Path;

use curtsy_sink::{COLUMNS, ColumnGroup, SqliteOptions, SqliteSink};
use rusqlite::Connection;

use sample::Folder;

#[test]
fn generated_tables_are_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/columns.md");
    let mut text = std::fs::read_to_string(&path).expect("docs/reference/columns.md is there");
    let mut stale = Vec::new();
    for (name, table) in [("columns", columns()), ("tables", tables())] {
        let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
        let from = text.find(&begin).unwrap_or_else(|| panic!("no `{begin}`")) + begin.len();
        let to = from + text[from..].find(&end).unwrap_or_else(|| panic!("no `{end}`"));
        if text[from..to] != table {
            stale.push(name);
        }
        text.replace_range(from..to, &table);
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).expect("docs/reference/columns.md can be written");
        return;
    }
    assert!(
        stale.is_empty(),
        "docs/reference/columns.md is stale in {stale:?}\nhint: UPDATE_DOCS=1 cargo test -p curtsy-sink --test document"
    );
}

/// The first columns are those of the requirement, in its order.
#[test]
fn the_sql_face_has_its_columns_first() {
    let names: Vec<&str> = COLUMNS.iter().take(18).map(|column| column.name).collect();
    let expected = "url, surt_key, http_status, body, content_type, crawl_time, error, etag, last_modified, \
        content_hash, final_url, redirect_count, fetched_at, title, links, robots_rule, delay_by, decision";
    assert_eq!(names.join(", "), expected);
}

#[test]
fn the_examples_are_queries() {
    let folder = Folder::new("examples");
    let path = folder.file("crawl.db");
    drop(SqliteSink::open(&path, SqliteOptions::default()).unwrap());
    let db = Connection::open(&path).unwrap();
    let text = include_str!("../../../docs/reference/columns.md");
    let examples = text.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut count = 0;
    for query in examples.flat_map(|example| example.split_inclusive(';')) {
        if query.trim().is_empty() {
            continue;
        }
        db.prepare(query).unwrap_or_else(|error| panic!("{error}: {query}"));
        count += 1;
    }
    assert_eq!(count, 5);
}

fn columns() -> String {
    let mut text = String::from("| column | type | content | changed by |\n|---|---|---|---|\n");
    for column in COLUMNS.iter() {
        let kind = match column.name {
            "run" => "INTEGER",
            _ => column.sql.split(' ').next().unwrap_or_default(),
        };
        let changed = match column.group {
            ColumnGroup::Url => "nothing",
            ColumnGroup::Decision => "every decision",
            ColumnGroup::Outcome => "every request",
            ColumnGroup::Fresh => "a response, a 304",
            ColumnGroup::Content | ColumnGroup::Bulk => "a response",
        };
        text.push_str(&format!("| `{}` | {kind} | {} | {changed} |\n", column.name, column.about));
    }
    text
}

fn tables() -> String {
    let folder = Folder::new("document");
    let path = folder.file("crawl.db");
    drop(SqliteSink::open(&path, SqliteOptions::default()).unwrap());
    let db = Connection::open(&path).unwrap();
    let sql = "SELECT m.type, m.name, group_concat('`' || c.name || '`', ', ')
        FROM sqlite_schema m, pragma_table_info(m.name) c
        WHERE m.type IN ('table', 'view') AND m.name NOT IN ('store_version', 'last_decisions')
        GROUP BY m.name ORDER BY m.type, m.rowid, c.cid";
    let mut statement = db.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
    });
    let mut text = String::from("| | name | columns |\n|---|---|---|\n");
    for (kind, name, columns) in rows.unwrap().map(Result::unwrap) {
        let columns = match name.as_str() {
            "pages" => "`number`, `id`, `final_id`, and the columns above".to_owned(),
            _ => columns,
        };
        text.push_str(&format!("| {kind} | `{name}` | {columns} |\n"));
    }
    text
}
