//! Statements that are ready at all times, and take values where they lie.
//!
//! SQLite is usually handed copies: each text and each body of a row is put into memory of its own first, and freed after the row. Here it
//! is told that values stay where they are, which holds since they are bound, used and let go within one call. A row of 10 KB with forty
//! columns takes half as long that way.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_uint};
use std::ptr;

use rusqlite::Connection;
use rusqlite::ffi::{
    self, SQLITE_DONE, SQLITE_MISUSE, SQLITE_OK, SQLITE_PREPARE_PERSISTENT, SQLITE_ROW,
    SQLITE_STATIC, SQLITE_UTF8, sqlite3_stmt,
};
use rusqlite::types::ValueRef;

/// A connection, and the statements that it has ready.
pub struct Statements {
    ready: Vec<Ready>,
    db: Connection,
}

/// One of them.
struct Ready {
    handle: *mut sqlite3_stmt,
    /// How many values it takes.
    takes: usize,
}

// SAFETY: a connection may go from thread to thread, and what belongs to it goes along. There is no `Sync`, so only one thread has it.
unsafe impl Send for Statements {}

impl Statements {
    /// Makes statements ready, to be called by their place in the list.
    pub fn new(db: Connection, list: &[&str]) -> Result<Statements, rusqlite::Error> {
        let mut statements = Statements { ready: Vec::with_capacity(list.len()), db };
        for sql in list {
            let ready = statements.prepare(sql)?;
            statements.ready.push(ready);
        }
        Ok(statements)
    }

    /// The connection, for everything else.
    pub fn db(&self) -> &Connection {
        &self.db
    }

    /// The same, for what needs it alone.
    pub fn db_mut(&mut self) -> &mut Connection {
        &mut self.db
    }

    fn prepare(&self, sql: &str) -> Result<Ready, rusqlite::Error> {
        let count = c_int::try_from(sql.len()).map_err(|_| failure(ffi::SQLITE_TOOBIG, None))?;
        let (mut handle, text) = (ptr::null_mut(), sql.as_ptr().cast());
        let flags = SQLITE_PREPARE_PERSISTENT as c_uint;
        // SAFETY: the connection is open, and `count` bytes of text are there.
        let done = unsafe {
            let db = self.db.handle();
            ffi::sqlite3_prepare_v3(db, text, count, flags, &mut handle, ptr::null_mut())
        };
        self.check(done)?;
        if handle.is_null() {
            return Err(failure(SQLITE_MISUSE, Some("nothing but a comment".into())));
        }
        // SAFETY: it was just made.
        let takes = unsafe { ffi::sqlite3_bind_parameter_count(handle) };
        Ok(Ready { handle, takes: usize::try_from(takes).unwrap_or(0) })
    }

    /// Runs the statement at this place of the list, which gives no rows; tells how many it changed. Values for which it has no place are
    /// left out, places without a value are null.
    pub fn execute<'v>(
        &self,
        place: usize,
        values: impl IntoIterator<Item = ValueRef<'v>>,
    ) -> Result<usize, rusqlite::Error> {
        let ready = &self.ready[place];
        let bound = (1..).zip(values).take(ready.takes).try_for_each(|(at, value)| {
            // SAFETY: the statement is ours, and the value outlives this function, at whose end the statement has let go of it.
            self.check(unsafe { bind(ready.handle, at, value) })
        });
        let done = bound.and_then(|()| self.step(ready));
        // SAFETY: the statement is ours. What it returns is the error of the step again, which is known.
        unsafe {
            ffi::sqlite3_reset(ready.handle);
            ffi::sqlite3_clear_bindings(ready.handle);
        }
        done
    }

    fn step(&self, ready: &Ready) -> Result<usize, rusqlite::Error> {
        // SAFETY: the statement is ours, and its connection is open.
        match unsafe { ffi::sqlite3_step(ready.handle) } {
            SQLITE_DONE => Ok(usize::try_from(self.db.changes()).unwrap_or(usize::MAX)),
            SQLITE_ROW => Err(rusqlite::Error::ExecuteReturnedResults),
            fault => Err(self.fault(fault)),
        }
    }

    fn check(&self, code: c_int) -> Result<(), rusqlite::Error> {
        if code == SQLITE_OK { Ok(()) } else { Err(self.fault(code)) }
    }

    /// What SQLite says of an error that it just told of.
    fn fault(&self, code: c_int) -> rusqlite::Error {
        // SAFETY: the connection is open; its last message is a string that stays until the next call.
        let said = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(self.db.handle())) };
        failure(code, Some(said.to_string_lossy().into_owned()))
    }
}

impl Drop for Statements {
    fn drop(&mut self) {
        for ready in self.ready.drain(..) {
            // SAFETY: each is given back once, before its connection is closed.
            unsafe { ffi::sqlite3_finalize(ready.handle) };
        }
    }
}

fn failure(code: c_int, said: Option<String>) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), said)
}

/// Has a statement use a value where it lies.
///
/// # Safety
/// The value must stay there until the statement has another, or none.
unsafe fn bind(handle: *mut sqlite3_stmt, at: c_int, value: ValueRef<'_>) -> c_int {
    let utf8 = SQLITE_UTF8 as u8;
    // SAFETY: the statement is open; bytes are there, and stay as the caller says.
    unsafe {
        match value {
            ValueRef::Null => ffi::sqlite3_bind_null(handle, at),
            ValueRef::Integer(number) => ffi::sqlite3_bind_int64(handle, at, number),
            ValueRef::Real(number) => ffi::sqlite3_bind_double(handle, at, number),
            ValueRef::Text(text) => {
                let (start, count) = (text.as_ptr().cast(), text.len() as u64);
                ffi::sqlite3_bind_text64(handle, at, start, count, SQLITE_STATIC(), utf8)
            }
            ValueRef::Blob(bytes) => {
                let (start, count) = (bytes.as_ptr().cast(), bytes.len() as u64);
                ffi::sqlite3_bind_blob64(handle, at, start, count, SQLITE_STATIC())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(list: &[&str]) -> Statements {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch("CREATE TABLE t (a UNIQUE, b, c)").unwrap();
        Statements::new(db, list).unwrap()
    }

    const INSERT: &str = "INSERT INTO t VALUES (?1, ?2, ?3) ON CONFLICT (a) DO NOTHING";

    #[test]
    fn every_kind_of_value_is_kept_as_it_is() {
        let it = statements(&[INSERT]);
        let values =
            |a| [ValueRef::Integer(a), ValueRef::Text("é\0b".as_bytes()), ValueRef::Blob(b"\xff")];
        assert_eq!(it.execute(0, values(1)).unwrap(), 1);
        assert_eq!(it.execute(0, values(1)).unwrap(), 0, "it is there");
        let empty = [ValueRef::Integer(2), ValueRef::Text(b""), ValueRef::Blob(b"")];
        assert_eq!(it.execute(0, empty).unwrap(), 1);
        assert_eq!(it.execute(0, [ValueRef::Real(0.5), ValueRef::Null]).unwrap(), 1);
        let sql =
            "SELECT group_concat(a || typeof(b) || hex(b) || typeof(c) || hex(c), ' ') FROM t";
        let all: String = it.db().query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(all, "1textC3A90062blobFF 2textblob 0.5nullnull");
    }

    #[test]
    fn nothing_is_left_of_the_values_of_an_earlier_call() {
        let it = statements(&[INSERT]);
        for round in 0..100 {
            let text = format!("{round}").repeat(1000);
            let values = [ValueRef::Integer(round), ValueRef::Text(text.as_bytes())];
            it.execute(0, values).unwrap();
        }
        it.execute(0, [ValueRef::Integer(-1)]).unwrap();
        let sql = "SELECT count(*), sum(length(b)), sum(b IS NULL) FROM t WHERE b IS NULL OR substr(b, 1, length(a)) = CAST(a AS TEXT)";
        let all = it.db().query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        assert_eq!(all, Ok((101, 190_000, 1)));
    }

    #[test]
    fn values_beyond_the_last_place_are_left_out() {
        let it = statements(&["UPDATE t SET b = ?2 WHERE a = ?1", INSERT]);
        let values = [ValueRef::Integer(1), ValueRef::Integer(2), ValueRef::Integer(3)];
        it.execute(1, values).unwrap();
        assert_eq!(it.execute(0, values).unwrap(), 1);
    }

    #[test]
    fn an_error_says_why_and_the_statement_works_again() {
        let it = statements(&["INSERT INTO t VALUES (?1, NULL, NULL)"]);
        it.execute(0, [ValueRef::Integer(1)]).unwrap();
        let again = it.execute(0, [ValueRef::Integer(1)]).unwrap_err();
        assert!(again.to_string().contains("UNIQUE constraint failed: t.a"), "{again}");
        assert_eq!(it.execute(0, [ValueRef::Integer(2)]).unwrap(), 1);
        let db = Connection::open_in_memory().unwrap();
        let unknown = Statements::new(db, &["DELETE FROM nowhere"]).err().unwrap();
        assert!(unknown.to_string().contains("no such table: nowhere"), "{unknown}");
        let db = Connection::open_in_memory().unwrap();
        assert!(Statements::new(db, &["-- nothing"]).is_err());
    }

    #[test]
    fn a_table_that_changes_meanwhile_is_no_trouble() {
        let it = statements(&[INSERT]);
        it.execute(0, [ValueRef::Integer(1)]).unwrap();
        it.db().execute_batch("CREATE INDEX t_b ON t (b)").unwrap();
        assert_eq!(it.execute(0, [ValueRef::Integer(2)]).unwrap(), 1);
    }
}
