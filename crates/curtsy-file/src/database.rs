//! Opening an SQLite file: how it is set up, and which version its tables have.

use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::OpenError;

/// Pages of the write-ahead log after which it is moved into the file. Moving waits for the disk, so not too often.
const CHECKPOINT_PAGES: i64 = 4000;
/// Statements that are kept prepared: more than there are.
const STATEMENTS_MAX: usize = 64;
/// How long a locked file is waited for, in steps of 100 µs that grow to 2 ms: about four seconds.
const BUSY_STEPS_MAX: i32 = 2000;

/// How often a locked file is opened again.
const OPEN_TRIES_MAX: u32 = 200;

/// A part of a file whose tables have a version.
pub(crate) struct Schema {
    /// Its name in the table of versions, and in messages.
    pub(crate) what: &'static str,
    /// How each version is made from the one before; the first makes the tables.
    pub(crate) steps: &'static [&'static str],
}

/// Opens or makes a database and brings its tables to the version that this program knows.
pub(crate) fn open(path: &Path, schema: &Schema) -> Result<Connection, OpenError> {
    let mut tries = 0;
    loop {
        let opened = connect(path).map_err(|e| OpenError::of(path, e)).and_then(|mut db| {
            migrate(&mut db, path, schema)?;
            Ok(db)
        });
        match opened {
            // While another process turns a new file to WAL, SQLite says so without asking whether to wait.
            Err(OpenError::Locked { .. }) if tries < OPEN_TRIES_MAX => {
                tries += 1;
                thread::sleep(Duration::from_millis(5));
            }
            opened => return opened,
        }
    }
}

fn connect(path: &Path) -> Result<Connection, rusqlite::Error> {
    let mut db = Connection::open(path)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    db.busy_handler(Some(wait_a_little))?;
    // Readers don't stop writers, and a commit is one write to one file.
    // Counts for a new file only. Rows with bodies of 10 KB live in the same file: measured 5 to 9 µs a row cheaper than 4 KiB.
    db.pragma_update(None, "page_size", 8192)?;
    db.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    // With the operating system at each commit, on the disk at each checkpoint: survives the process, not the power.
    db.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;")?;
    db.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    Ok(db)
}

/// Others hold a lock for some hundred microseconds: look again soon, and give up after some seconds.
fn wait_a_little(times: i32) -> bool {
    let steps = u64::try_from(times).unwrap_or(0).saturating_add(1).min(20);
    thread::sleep(Duration::from_micros(100 * steps));
    times < BUSY_STEPS_MAX
}

fn migrate(db: &mut Connection, path: &Path, schema: &Schema) -> Result<(), OpenError> {
    let of = |e| OpenError::of(path, e);
    let known = i64::try_from(schema.steps.len()).unwrap_or(i64::MAX);
    if version(db, schema.what).map_err(of)? == Some(known) {
        return Ok(());
    }
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(of)?;
    tx.execute_batch(VERSIONS).map_err(of)?;
    // Another process may have done it meanwhile.
    let found = version(&tx, schema.what).map_err(of)?.unwrap_or(0);
    if found > known {
        let (path, what) = (path.to_owned(), schema.what);
        return Err(OpenError::Newer { path, what, found, known });
    }
    for step in schema.steps.iter().skip(usize::try_from(found).unwrap_or(0)) {
        tx.execute_batch(step).map_err(of)?;
    }
    tx.execute("INSERT OR REPLACE INTO store_version VALUES (?1, ?2)", (schema.what, known))
        .map_err(of)?;
    tx.commit().map_err(of)
}

fn version(db: &Connection, what: &str) -> Result<Option<i64>, rusqlite::Error> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'store_version'";
    if db.query_row(sql, [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(None);
    }
    let sql = "SELECT version FROM store_version WHERE what = ?1";
    db.query_row(sql, [what], |row| row.get(0)).optional()
}

/// A file may hold parts of several writers, each with its own version.
const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS store_version (
    what TEXT PRIMARY KEY,
    version INTEGER NOT NULL
) WITHOUT ROWID;";

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Schema =
        Schema { what: "t", steps: &["CREATE TABLE t (a); INSERT INTO t VALUES (7);"] };
    const TWO: Schema = Schema {
        what: "t",
        steps: &[ONE.steps[0], "ALTER TABLE t ADD COLUMN b DEFAULT 8; UPDATE t SET b = a + 1;"],
    };

    #[test]
    fn an_older_version_is_brought_up_and_keeps_its_data() {
        let folder = std::env::temp_dir().join(format!("curtsy-migrate-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("old.db");
        drop(open(&path, &ONE).unwrap());
        let db = open(&path, &TWO).unwrap();
        let row = db.query_row("SELECT a, b FROM t", [], |r| Ok((r.get(0)?, r.get(1)?)));
        assert_eq!(row, Ok((7, 8)));
        drop(db);
        let refused = open(&path, &ONE).unwrap_err().to_string();
        assert!(refused.contains("its t has version 2, this program knows up to 1"), "{refused}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
