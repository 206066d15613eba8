//! Opening an SQLite file: how it is set up, and which version its tables have.

use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior};

use crate::{OpenError, vfs};

/// The write-ahead log is cut to this when it begins anew.
pub const LOG_BYTES_MAX: i64 = 64 * 1024 * 1024;
/// Statements that are kept prepared: more than there are.
const STATEMENTS_MAX: usize = 64;
/// How long a locked file is waited for, in steps of 100 µs that grow to 2 ms: about four seconds.
pub const BUSY_STEPS_MAX: i32 = 2000;

/// How often a locked file is opened again.
pub const OPEN_TRIES_MAX: u32 = 200;

/// For files that hold pages of the web: one takes two of these, and half the calls of the system that it takes with 4 KiB. Measured
/// 5 to 9 µs a row cheaper; 16 and 32 KiB are no better.
pub const PAGE_BYTES_LARGE: i64 = 8192;

/// A part of a file whose tables have a version.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'s> {
    /// Its name in the table of versions, and in messages.
    pub what: &'static str,
    /// How each version is made from the one before; the first makes the tables.
    pub steps: &'s [&'s str],
    /// Which version the first step makes.
    pub begins: Begins,
    /// The unit in which a new file is read and written.
    pub page_bytes: i64,
    /// Names that nobody else's tables may have when ours are made.
    pub names: &'s [&'s str],
    /// Pages of the write-ahead log after which it is moved into the file by this part's writer. Moving waits for the disk, so not too
    /// often; where a file has several writers, the one that can wait has the smallest number.
    pub checkpoint_pages: i64,
}

/// Which version of its tables a new file begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// The first one: every further step is taken too.
    First,
    /// The newest one: further steps are for older files. So a new column has its place among the others, which `ALTER TABLE` can't give
    /// it.
    Newest,
}

impl Schema<'_> {
    /// The version that this program knows.
    fn known(&self) -> i64 {
        i64::try_from(self.steps.len()).unwrap_or(i64::MAX)
    }
}

/// Opens or makes a database and brings its tables to the version that this program knows.
pub fn open(path: &Path, schema: &Schema<'_>) -> Result<Connection, OpenError> {
    look_first(path)?;
    let mut tries = 0;
    loop {
        let opened =
            connect(path, schema).map_err(|e| OpenError::sqlite(path, e)).and_then(|mut db| {
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

/// Makes a database that nobody else sees and that goes with its connection. What has no room in memory lies in a file without a name.
pub fn open_passing(schema: &Schema<'_>) -> Result<Connection, OpenError> {
    let path = Path::new("");
    let of = |e| OpenError::sqlite(path, e);
    let mut db = Connection::open(path).map_err(of)?;
    set_up(&mut db).map_err(of)?;
    db.pragma_update(None, "page_size", schema.page_bytes).map_err(of)?;
    // There is nothing to go back to after a crash.
    db.query_row("PRAGMA journal_mode = OFF", [], |_| Ok(())).map_err(of)?;
    db.execute_batch("PRAGMA synchronous = OFF").map_err(of)?;
    migrate(&mut db, path, schema)?;
    Ok(db)
}

/// Opens a file that is there, to read one part of it.
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

/// Refuses a file of somebody else before anything is written to it: turning it to WAL would be a change already.
pub fn look_first(path: &Path) -> Result<(), OpenError> {
    let Some(db) = path.exists().then(|| open_existing(path)).transpose()?.flatten() else {
        return Ok(());
    };
    // Whoever makes tables of ours makes the table of versions with the first of them, in one transaction.
    let sql = "SELECT count(*), count(*) FILTER (WHERE name = 'store_version') FROM sqlite_schema
        WHERE type = 'table'";
    let seen = db.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
    match seen {
        Ok((1.., 0)) => Err(OpenError::OtherDatabase { path: path.to_owned() }),
        // What can't be read now is said by whoever opens it to write.
        _ => Ok(()),
    }
}

/// Opens a file that exists, to read it. Returns none for an empty file, which may become a
/// database. A file of another kind is an error.
///
/// SQLite itself looks at the file. SQLite knows a file by its locks, and the system drops all locks
/// that a process has on a file when the process closes any descriptor of it. A look of our own
/// would therefore take the file from under a connection that is open, and another program that
/// comes and goes would remove the write-ahead log.
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

/// How a file is opened that is not written.
const TO_READ: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

fn connect(path: &Path, schema: &Schema<'_>) -> Result<Connection, rusqlite::Error> {
    let mut db = match vfs::name() {
        Some(name) => Connection::open_with_flags_and_vfs(path, OpenFlags::default(), name)?,
        None => Connection::open(path)?,
    };
    set_up(&mut db)?;
    // Counts for a new file only.
    db.pragma_update(None, "page_size", schema.page_bytes)?;
    // Readers don't stop writers, and a commit is one write to one file.
    db.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    // With the operating system at each commit, on the disk at each checkpoint: survives the process, not the power.
    db.execute_batch("PRAGMA synchronous = NORMAL")?;
    db.pragma_update(None, "wal_autocheckpoint", schema.checkpoint_pages)?;
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

/// Others hold a lock for some hundred microseconds: look again soon, and give up after some seconds.
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
    // Another process may have done it meanwhile.
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

/// A table or view that has the name of one of ours.
fn foreign(db: &Connection, names: &[&str]) -> Result<Option<String>, rusqlite::Error> {
    let sql = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ?1";
    let mut look = db.prepare(sql)?;
    let mut found = names.iter().map(|name| look.query_row([name], |row| row.get(0)).optional());
    found.find_map(Result::transpose).transpose()
}

/// A file may hold parts of several writers, each with its own version.
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

    /// Two writers in turns, small and large transactions, some of them too large for memory, some undone; and a reader that goes to the
    /// file without us.
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
            // A page that was written already is changed once more.
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
        // A new file has the newest tables at once.
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
