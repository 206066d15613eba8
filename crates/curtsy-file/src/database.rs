//! Opens SQLite files, sets them up and brings their tables to the current version.

use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior};

use crate::{OpenError, vfs};

/// The size to which SQLite truncates a write-ahead log when it starts the log again.
pub const LOG_BYTES_MAX: i64 = 64 * 1024 * 1024;
/// The capacity of a connection's cache of prepared statements: more than the program has.
const STATEMENTS_MAX: usize = 64;
/// Checks of a locked file, 100 µs to 2 ms apart: about four seconds in all.
pub const BUSY_STEPS_MAX: i32 = 2000;

/// Tries to open a locked file.
pub const OPEN_TRIES_MAX: u32 = 200;

/// The page size of files that hold web pages. A web page takes two of them, and half as many
/// system calls as with 4 KiB: 5 to 9 µs a row less. 16 and 32 KiB gain no more.
pub const PAGE_BYTES_LARGE: i64 = 8192;

/// The tables of one part of the program, and their versions.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'s> {
    /// The name of the part in the table of versions and in messages.
    pub what: &'static str,
    /// The SQL that makes each version from the one before. The first step creates the tables.
    pub steps: &'s [&'s str],
    /// The version that the first step makes.
    pub begins: Begins,
    /// The page size of a new file.
    pub page_bytes: i64,
    /// Names that other programs' tables must not have when the tables are created.
    pub names: &'s [&'s str],
    /// Pages in the write-ahead log after which this part's writer checkpoints the log. A
    /// checkpoint waits for the disk, so it should be rare. Of several writers of a file, the one
    /// that can wait has the smallest number.
    pub checkpoint_pages: i64,
}

/// The version with which a new file begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// The first version. A new file takes every further step too.
    First,
    /// The newest version: the further steps are for older files. A new column can then stand
    /// between others, which `ALTER TABLE` does not allow.
    Newest,
}

impl Schema<'_> {
    /// Returns the newest version that this program knows.
    fn known(&self) -> i64 {
        i64::try_from(self.steps.len()).unwrap_or(i64::MAX)
    }
}

/// Opens or creates a database and brings its tables to the newest version.
pub fn open(path: &Path, schema: &Schema<'_>) -> Result<Connection, OpenError> {
    let writes = vfs::Writes::of_environment()?;
    look_first(path)?;
    let mut tries = 0;
    loop {
        let opened = connect(path, schema, writes)
            .map_err(|e| OpenError::sqlite(path, e))
            .and_then(|mut db| {
                migrate(&mut db, path, schema)?;
                Ok(db)
            });
        match opened {
            // While another process switches a new file to WAL, SQLite fails without a call of the
            // busy handler.
            Err(OpenError::Locked { .. }) if tries < OPEN_TRIES_MAX => {
                tries += 1;
                thread::sleep(Duration::from_millis(5));
            }
            opened => return opened,
        }
    }
}

/// Creates a temporary database, which ends with its connection. Content that does not fit into the
/// cache is in a file without a name.
pub fn open_passing(schema: &Schema<'_>) -> Result<Connection, OpenError> {
    let path = Path::new("");
    let of = |e| OpenError::sqlite(path, e);
    let mut db = Connection::open(path).map_err(of)?;
    set_up(&mut db).map_err(of)?;
    db.pragma_update(None, "page_size", schema.page_bytes).map_err(of)?;
    // A temporary database needs no recovery after a crash.
    db.query_row("PRAGMA journal_mode = OFF", [], |_| Ok(())).map_err(of)?;
    db.execute_batch("PRAGMA synchronous = OFF").map_err(of)?;
    migrate(&mut db, path, schema)?;
    Ok(db)
}

/// Opens an existing file to read one part of it.
pub fn open_to_read(path: &Path, schema: &Schema<'_>) -> Result<Connection, OpenError> {
    if !path.exists() {
        return Err(OpenError::Missing { path: path.to_owned() });
    }
    let of = |e| OpenError::sqlite(path, e);
    let Some(db) = open_existing(path)? else {
        return Err(OpenError::NoRows { path: path.to_owned() });
    };
    let (what, known) = (schema.what, schema.known());
    match version(&db, what).map_err(of)? {
        None => Err(OpenError::NoRows { path: path.to_owned() }),
        Some(found) if found > known => {
            Err(OpenError::Newer { path: path.to_owned(), what, found, known })
        }
        Some(_) => Ok(db),
    }
}

/// Refuses the file of another program before the first write to it. Switching it to WAL would
/// already be a change.
pub fn look_first(path: &Path) -> Result<(), OpenError> {
    let Some(db) = path.exists().then(|| open_existing(path)).transpose()?.flatten() else {
        return Ok(());
    };
    // The table of versions is created in one transaction with our first table.
    let sql = "SELECT count(*), count(*) FILTER (WHERE name = 'store_version') FROM sqlite_schema
        WHERE type = 'table'";
    let seen = db.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
    match seen {
        Ok((1.., 0)) => Err(OpenError::OtherDatabase { path: path.to_owned() }),
        // `open` reports a file that can't be read.
        _ => Ok(()),
    }
}

/// Opens a file that exists, to read it. Returns none for an empty file, which may become a
/// database. A file of another kind is an error.
///
/// SQLite must do this check. When a process closes any descriptor of a file, the system drops all
/// locks of the process on that file. A check that opens the file itself would drop the locks of
/// open connections, and another program could then remove the write-ahead log.
fn open_existing(path: &Path) -> Result<Option<Connection>, OpenError> {
    let unreadable = |source: std::io::Error| OpenError::Unreadable {
        path: path.to_owned(),
        source: Box::new(source),
    };
    let file = std::fs::metadata(path).map_err(unreadable)?;
    if file.is_dir() {
        return Err(OpenError::Folder { path: path.to_owned() });
    }
    if file.len() == 0 {
        return Ok(None);
    }
    let of = |e| OpenError::sqlite(path, e);
    let mut db = Connection::open_with_flags(path, TO_READ).map_err(of)?;
    match db.query_row("PRAGMA schema_version", [], |_| Ok(())) {
        Err(rusqlite::Error::SqliteFailure(error, _)) if error.code == ErrorCode::NotADatabase => {
            return Err(OpenError::NotDatabase { path: path.to_owned() });
        }
        // The first statement of the caller reports what cannot be read now.
        _ => {}
    }
    set_up(&mut db).map_err(of)?;
    Ok(Some(db))
}

/// The flags for a connection that only reads.
const TO_READ: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

fn connect(
    path: &Path,
    schema: &Schema<'_>,
    writes: vfs::Writes,
) -> Result<Connection, rusqlite::Error> {
    let mut db = match writes.vfs() {
        Some(name) => Connection::open_with_flags_and_vfs(path, OpenFlags::default(), name)?,
        None => Connection::open(path)?,
    };
    set_up(&mut db)?;
    // Has an effect on new files only.
    db.pragma_update(None, "page_size", schema.page_bytes)?;
    // In WAL mode readers do not block writers, and a commit is one write to one file.
    db.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    // The operating system has the data at each commit, the disk at each checkpoint. Data survives
    // the end of the process, but not a power failure.
    db.execute_batch("PRAGMA synchronous = NORMAL")?;
    db.pragma_update(None, "wal_autocheckpoint", schema.checkpoint_pages)?;
    db.query_row(&format!("PRAGMA journal_size_limit = {LOG_BYTES_MAX}"), [], |_| Ok(()))?;
    Ok(db)
}

fn set_up(db: &mut Connection) -> Result<(), rusqlite::Error> {
    db.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    db.busy_handler(Some(wait_a_little))?;
    // Without this, SQLite plans a statement again for each key that is bound, if a partial index
    // could serve the statement.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.execute_batch("PRAGMA temp_store = MEMORY")
}

/// Waits before the next check of a locked file. Other connections hold a lock for some hundred
/// microseconds. Gives up after some seconds.
fn wait_a_little(times: i32) -> bool {
    let steps = u64::try_from(times).unwrap_or(0).saturating_add(1).min(20);
    thread::sleep(Duration::from_micros(100 * steps));
    times < BUSY_STEPS_MAX
}

fn migrate(db: &mut Connection, path: &Path, schema: &Schema<'_>) -> Result<(), OpenError> {
    let of = |e| OpenError::sqlite(path, e);
    let known = schema.known();
    if version(db, schema.what).map_err(of)? == Some(known) {
        return Ok(());
    }
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(of)?;
    tx.execute_batch(VERSIONS).map_err(of)?;
    // Another process may have migrated the file meanwhile.
    let found = version(&tx, schema.what).map_err(of)?.unwrap_or(0);
    if found > known {
        let (path, what) = (path.to_owned(), schema.what);
        return Err(OpenError::Newer { path, what, found, known });
    }
    if found == 0
        && let Some(table) = foreign(&tx, schema.names).map_err(of)?
    {
        return Err(OpenError::Foreign { path: path.to_owned(), table });
    }
    let left = &schema.steps[usize::try_from(found).unwrap_or(0)..];
    let steps = match (found, schema.begins) {
        (0, Begins::Newest) => &left[..left.len().min(1)],
        _ => left,
    };
    for step in steps {
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

/// Returns the name of a table or view that has the name of one of ours.
fn foreign(db: &Connection, names: &[&str]) -> Result<Option<String>, rusqlite::Error> {
    let sql = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ?1";
    let mut look = db.prepare(sql)?;
    let mut found = names.iter().map(|name| look.query_row([name], |row| row.get(0)).optional());
    found.find_map(Result::transpose).transpose()
}

/// A file may have the tables of several parts, each with its own version.
const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS store_version (
    what TEXT PRIMARY KEY,
    version INTEGER NOT NULL
) WITHOUT ROWID;";

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Schema<'static> = Schema {
        what: "t",
        steps: &["CREATE TABLE t (a); INSERT INTO t VALUES (7);"],
        begins: Begins::First,
        page_bytes: 4096,
        names: &["t"],
        checkpoint_pages: 1000,
    };
    const TWO: Schema<'static> = Schema {
        steps: &[ONE.steps[0], "ALTER TABLE t ADD COLUMN b DEFAULT 8; UPDATE t SET b = a + 1;"],
        ..ONE
    };

    /// Two writers alternate with small and large transactions. Some are too large for memory, some
    /// are rolled back. A reader uses SQLite's default VFS.
    #[test]
    fn what_is_committed_is_there_for_others_at_once() {
        let folder = std::env::temp_dir().join(format!("curtsy-gather-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("t.db");
        let schema = Schema { checkpoint_pages: 300, ..ONE };
        let mut writers = [open(&path, &schema).unwrap(), open(&path, &schema).unwrap()];
        for writer in &writers {
            writer.pragma_update(None, "cache_size", 20).unwrap();
        }
        let reader = Connection::open(&path).unwrap();
        let mut expected = 1;
        for round in 0..300_usize {
            let rows = if round % 50 == 7 { 400 } else { 1 + round % 5 };
            let tx = writers[round % 2].transaction().unwrap();
            for row in 0..rows {
                let body = vec![u8::try_from(row % 251).unwrap(); 100 + (round * 997) % 13_000];
                tx.prepare_cached("INSERT INTO t VALUES (?1)").unwrap().execute([body]).unwrap();
            }
            // Changes a page that was already written.
            tx.execute("UPDATE t SET a = a WHERE rowid = 1", []).unwrap();
            if round % 11 == 3 {
                drop(tx);
            } else {
                tx.commit().unwrap();
                expected += rows;
            }
            let seen = reader.query_row("SELECT count(*) FROM t", [], |row| row.get(0));
            assert_eq!(seen, Ok(i64::try_from(expected).unwrap()), "round {round}");
        }
        let sound = |db: &Connection| {
            db.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap()
        };
        assert_eq!(sound(&reader), "ok");
        drop((writers, reader));
        assert_eq!(sound(&Connection::open(&path).unwrap()), "ok");
        std::fs::remove_dir_all(&folder).unwrap();
    }

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
        // A new file gets the newest tables.
        let begins = Begins::Newest;
        let whole = ["CREATE TABLE t (b, a);", TWO.steps[1]];
        let db = open(&folder.join("new.db"), &Schema { steps: &whole, begins, ..ONE }).unwrap();
        let names: String = db
            .query_row("SELECT group_concat(name) FROM pragma_table_info('t')", [], |r| r.get(0))
            .unwrap();
        assert_eq!(names, "b,a");
        drop(db);
        let refused = open(&path, &ONE).unwrap_err().to_string();
        assert!(refused.contains("its t has version 2, this program knows up to 1"), "{refused}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
