//! Connections of our own: statements, prepared statements and queries.

use std::ffi::CString;
use std::sync::Arc;
use std::time::Duration;
use std::{mem, ptr, thread};

use libduckdb_sys as ffi;

use super::SqlError;
use super::error::said;
use super::rows::{ColumnKind, QueryBatch, QueryColumn, QueryRows};

/// A connection. It stays open until it and everything made from it are dropped. An open connection
/// keeps its database open, so it belongs to the state of one running query.
///
/// A connection does one thing at a time: a further statement ends the rows of the one before.
#[derive(Clone)]
pub(crate) struct DuckConnection(pub(super) Arc<RawConnection>);

pub(super) struct RawConnection(pub(super) ffi::duckdb_connection);

// SAFETY: DuckDB locks a connection while it is used.
unsafe impl Send for RawConnection {}
// SAFETY: as above.
unsafe impl Sync for RawConnection {}

impl Drop for RawConnection {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody uses it after this.
        unsafe { ffi::duckdb_disconnect(&mut self.0) }
    }
}

impl DuckConnection {
    /// Takes over a connection.
    ///
    /// # Safety
    ///
    /// `raw` is a connection that nobody else closes.
    pub(super) unsafe fn owned(raw: ffi::duckdb_connection) -> DuckConnection {
        DuckConnection(Arc::new(RawConnection(raw)))
    }

    /// Runs one or more statements and drops their rows.
    pub(crate) fn run(&self, sql: &str) -> Result<(), SqlError> {
        let sql = c_sql(sql)?;
        // SAFETY: the connection is open.
        unsafe { ended(|result| ffi::duckdb_query(self.0.0, sql.as_ptr(), result)) }
    }

    /// Runs one query and calls `each` with every row: a batch and a line in it.
    pub(crate) fn for_each(
        &self,
        sql: &str,
        mut each: impl FnMut(&QueryBatch, usize) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let mut rows = self.prepare(sql)?.query()?;
        while let Some(batch) = rows.next()? {
            (0..batch.len()).try_for_each(|line| each(&batch, line))?;
        }
        Ok(())
    }

    /// Parses and binds a statement without running it.
    pub(crate) fn prepare(&self, sql: &str) -> Result<Prepared, SqlError> {
        let sql = c_sql(sql)?;
        // SAFETY: the connection is open. `Prepared` frees what is created, even if it holds only
        // an error.
        unsafe {
            let mut raw = ptr::null_mut();
            let state = ffi::duckdb_prepare(self.0.0, sql.as_ptr(), &mut raw);
            let prepared = Prepared { raw, connection: self.clone() };
            match state == ffi::DuckDBSuccess {
                true => Ok(prepared),
                false => Err(SqlError::said(
                    ffi::duckdb_prepare_error(raw),
                    "the statement cannot be read",
                )),
            }
        }
    }
}

/// A prepared statement. Keeps its connection open.
pub(crate) struct Prepared {
    raw: ffi::duckdb_prepared_statement,
    connection: DuckConnection,
}

// SAFETY: DuckDB locks the connection while the statement runs, and only `&mut` or the owner runs
// it.
unsafe impl Send for Prepared {}
// SAFETY: what `&Prepared` does only reads.
unsafe impl Sync for Prepared {}

impl Prepared {
    /// Whether the statement only reads.
    pub(crate) fn is_select(&self) -> bool {
        // SAFETY: the statement is there.
        let ty = unsafe { ffi::duckdb_prepared_statement_type(self.raw) };
        ty == ffi::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_SELECT
    }

    /// Returns the columns of the result.
    pub(crate) fn columns(&self) -> Vec<QueryColumn> {
        // SAFETY: the statement exists and has these columns; a name is ours to free.
        unsafe {
            let count = ffi::duckdb_prepared_statement_column_count(self.raw);
            let columns = (0..count).map(|column| {
                let name = ffi::duckdb_prepared_statement_column_name(self.raw, column);
                let copy = said(name).unwrap_or_default();
                ffi::duckdb_free(name.cast_mut().cast());
                let ty = ffi::duckdb_prepared_statement_column_type(self.raw, column);
                QueryColumn { name: copy, kind: ColumnKind::of(ty) }
            });
            columns.collect()
        }
    }

    /// Returns the number of parameters.
    pub(crate) fn parameters(&self) -> usize {
        // SAFETY: the statement is there.
        unsafe { ffi::duckdb_nparams(self.raw) as usize }
    }

    /// Runs the statement and drops its rows.
    pub(crate) fn run(&mut self) -> Result<(), SqlError> {
        // SAFETY: the statement is there.
        unsafe { ended(|result| ffi::duckdb_execute_prepared(self.raw, result)) }
    }

    /// Runs the statement and returns its rows in batches.
    pub(crate) fn query(&mut self) -> Result<QueryRows, SqlError> {
        self.query_unless(|| false)
    }

    /// As `query`, but stops waiting for the first rows when `stop` returns true.
    pub(crate) fn query_unless(&mut self, stop: impl Fn() -> bool) -> Result<QueryRows, SqlError> {
        // SAFETY: the statement exists. `PendingResult` frees the pending result on every path,
        // even if it holds only an error. The result belongs to `QueryRows`, which reads its error.
        unsafe {
            let mut pending = PendingResult(ptr::null_mut());
            let state = ffi::duckdb_pending_prepared_streaming(self.raw, &mut pending.0);
            if state != ffi::DuckDBSuccess {
                return Err(SqlError::said(
                    ffi::duckdb_pending_error(pending.0),
                    "the query failed",
                ));
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
            QueryRows::of(result, state, &self.connection)
        }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody uses it after this.
        unsafe { ffi::duckdb_destroy_prepare(&mut self.raw) }
    }
}

struct PendingResult(ffi::duckdb_pending_result);

impl Drop for PendingResult {
    fn drop(&mut self) {
        // SAFETY: the result is ours and not used after this; null is allowed.
        unsafe { ffi::duckdb_destroy_pending(&mut self.0) }
    }
}

/// Runs a statement whose rows are not needed.
///
/// # Safety
///
/// `run` fills the result that it is given.
unsafe fn ended(
    run: impl FnOnce(*mut ffi::duckdb_result) -> ffi::duckdb_state,
) -> Result<(), SqlError> {
    // SAFETY: the result is freed in any case; the text of an error is part of it.
    unsafe {
        let mut result: ffi::duckdb_result = mem::zeroed();
        let state = run(&mut result);
        let done = match state == ffi::DuckDBSuccess {
            true => Ok(()),
            false => {
                Err(SqlError::said(ffi::duckdb_result_error(&mut result), "the statement failed"))
            }
        };
        ffi::duckdb_destroy_result(&mut result);
        done
    }
}

fn c_sql(sql: &str) -> Result<CString, SqlError> {
    CString::new(sql).map_err(|_| "a statement cannot have a zero byte".into())
}
