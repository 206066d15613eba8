//! What a service's file holds.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::place::Folder;

/// Every row of every table.
pub(crate) fn everything(folder: &Folder) -> Vec<String> {
    let db = folder.database();
    let mut all = Vec::new();
    for table in tables(&db) {
        let mut rows = db.prepare(&format!("SELECT * FROM \"{table}\" ORDER BY 1")).unwrap();
        let columns = rows.column_count();
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let row: Vec<String> =
                (0..columns).map(|column| format!("{:?}", row.get_ref(column).unwrap())).collect();
            all.push(format!("{table}: {}", row.join(" ")));
        }
    }
    all
}

fn tables(db: &Connection) -> Vec<String> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    let mut statement = db.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Where a text stands in a database.
pub(crate) fn places(db: &Connection, secret: &str) -> Vec<String> {
    let mut found = Vec::new();
    for table in tables(db) {
        let mut rows = db.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let columns: Vec<String> = rows.column_names().map(String::from).collect();
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for (at, column) in columns.iter().enumerate() {
                let (ValueRef::Text(bytes) | ValueRef::Blob(bytes)) = row.get_ref(at).unwrap()
                else {
                    continue;
                };
                if bytes.windows(secret.len()).any(|part| part == secret.as_bytes()) {
                    found.push(format!("{table}.{column}"));
                }
            }
        }
    }
    found.sort();
    found.dedup();
    found
}
