//! A connection of our own: statements, prepared statements and queries.

use std::ffi::CString;
use std::sync::Arc;
use std::time::Duration;
use std::{mem, ptr, thread};

use libduckdb_sys as ffi;

use super::Fault;
use super::fault::said;
use super::rows::{Column, Kind, Rows};

/// A connection, until it and all that was made of it are dropped. As long as there is one, its database stays open: it belongs into the state
/// of one running query.
///
/// It does one thing at a time: another statement ends the rows of the one before.
#[derive(Clone)]
pub(crate) struct Connection(pub(super) Arc<Handle>);

pub(super) struct Handle(pub(super) ffi::duckdb_connection);

// SAFETY: DuckDB locks a connection while it is used.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody uses it after this.
        unsafe { ffi::duckdb_disconnect(&mut self.0) }
    }
}

impl Connection {
    /// Takes over a connection.
    ///
    /// # Safety
    ///
    /// `raw` is a connection that nobody else closes.
    pub(super) unsafe fn owned(raw: ffi::duckdb_connection) -> Connection {
        Connection(Arc::new(Handle(raw)))
    }

    /// Runs one statement or several; rows that they give are dropped.
    pub(crate) fn run(&self, sql: &str) -> Result<(), Fault> {
        let sql = c_sql(sql)?;
        // SAFETY: the connection is open.
        unsafe { ended(|result| ffi::duckdb_query(self.0.0, sql.as_ptr(), result)) }
    }

    /// Runs one query, whose rows come batch by batch.
    pub(crate) fn query(&self, sql: &str) -> Result<Rows, Fault> {
        self.prepare(sql)?.query()
    }

    /// Reads one statement and looks up what it names, without running it.
    pub(crate) fn prepare(&self, sql: &str) -> Result<Prepared, Fault> {
        let sql = c_sql(sql)?;
        // SAFETY: the connection is open. What is made is freed by `Prepared`, also if it is only an error.
        unsafe {
            let mut raw = ptr::null_mut();
            let state = ffi::duckdb_prepare(self.0.0, sql.as_ptr(), &mut raw);
            let prepared = Prepared { raw, connection: self.clone() };
            match state == ffi::DuckDBSuccess {
                true => Ok(prepared),
                false => {
                    Err(Fault::said(ffi::duckdb_prepare_error(raw), "the statement cannot be read"))
                }
            }
        }
    }
}

/// A statement that was read but not run. It keeps its connection.
pub(crate) struct Prepared {
    raw: ffi::duckdb_prepared_statement,
    connection: Connection,
}

// SAFETY: DuckDB locks the connection while the statement is used, and `&mut` or the owner alone uses it.
unsafe impl Send for Prepared {}
// SAFETY: what `&Prepared` does only reads.
unsafe impl Sync for Prepared {}

impl Prepared {
    /// Whether it only reads.
    pub(crate) fn is_select(&self) -> bool {
        // SAFETY: the statement is there.
        let ty = unsafe { ffi::duckdb_prepared_statement_type(self.raw) };
        ty == ffi::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_SELECT
    }

    /// The columns that it will give.
    pub(crate) fn columns(&self) -> Vec<Column> {
        // SAFETY: the statement is there, and has these columns; a name is ours to free.
        unsafe {
            let count = ffi::duckdb_prepared_statement_column_count(self.raw);
            let columns = (0..count).map(|column| {
                let name = ffi::duckdb_prepared_statement_column_name(self.raw, column);
                let copy = said(name).unwrap_or_default();
                ffi::duckdb_free(name.cast_mut().cast());
                let ty = ffi::duckdb_prepared_statement_column_type(self.raw, column);
                Column { name: copy, kind: Kind::of(ty) }
            });
            columns.collect()
        }
    }

    /// How many parameters it has.
    pub(crate) fn parameters(&self) -> usize {
        // SAFETY: the statement is there.
        unsafe { ffi::duckdb_nparams(self.raw) as usize }
    }

    /// Runs it; rows that it gives are dropped.
    pub(crate) fn run(&mut self) -> Result<(), Fault> {
        // SAFETY: the statement is there.
        unsafe { ended(|result| ffi::duckdb_execute_prepared(self.raw, result)) }
    }

    /// Runs it; its rows come batch by batch.
    pub(crate) fn query(&mut self) -> Result<Rows, Fault> {
        self.query_unless(|| false)
    }

    /// As `query`, but stops waiting for the first rows once `stop` says so.
    pub(crate) fn query_unless(&mut self, stop: impl Fn() -> bool) -> Result<Rows, Fault> {
        // SAFETY: the statement is there. The pending result is freed on every way out (`Pending`), also if it is only an error; the result
        // belongs to `Rows`, which asks it for its error.
        unsafe {
            let mut pending = Pending(ptr::null_mut());
            let state = ffi::duckdb_pending_prepared_streaming(self.raw, &mut pending.0);
            if state != ffi::DuckDBSuccess {
                return Err(Fault::said(ffi::duckdb_pending_error(pending.0), "the query failed"));
            }
            loop {
                match ffi::duckdb_pending_execute_task(pending.0) {
                    ffi::duckdb_pending_state_DUCKDB_PENDING_RESULT_NOT_READY => {}
                    ffi::duckdb_pending_state_DUCKDB_PENDING_NO_TASKS_AVAILABLE => {
                        thread::sleep(Duration::from_millis(1));
                    }
                    _ => break,
                }
                if stop() {
                    return Err("Interrupted!".into());
                }
            }
            let mut result: ffi::duckdb_result = mem::zeroed();
            let state = ffi::duckdb_execute_pending(pending.0, &mut result);
            Rows::of(result, state, &self.connection)
        }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody uses it after this.
        unsafe { ffi::duckdb_destroy_prepare(&mut self.raw) }
    }
}

struct Pending(ffi::duckdb_pending_result);

impl Drop for Pending {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody uses it after this; null is none.
        unsafe { ffi::duckdb_destroy_pending(&mut self.0) }
    }
}

/// How a statement ended whose rows nobody wants.
///
/// # Safety
///
/// `run` fills the result that it is given.
unsafe fn ended(
    run: impl FnOnce(*mut ffi::duckdb_result) -> ffi::duckdb_state,
) -> Result<(), Fault> {
    // SAFETY: the result is freed whether or not there was an error, whose text is part of it.
    unsafe {
        let mut result: ffi::duckdb_result = mem::zeroed();
        let state = run(&mut result);
        let done = match state == ffi::DuckDBSuccess {
            true => Ok(()),
            false => {
                Err(Fault::said(ffi::duckdb_result_error(&mut result), "the statement failed"))
            }
        };
        ffi::duckdb_destroy_result(&mut result);
        done
    }
}

fn c_sql(sql: &str) -> Result<CString, Fault> {
    CString::new(sql).map_err(|_| "a statement cannot have a zero byte".into())
}
