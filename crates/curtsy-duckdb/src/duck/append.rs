//! Appends rows to a table in one transaction.

use std::ffi::CString;
use std::ptr;

use libduckdb_sys as ffi;

use super::{DuckConnection, OwnedChunk, SqlError};

impl DuckConnection {
    /// Appends a chunk to these columns of a table. The other columns get their defaults. Outside
    /// of a transaction, other connections see all of the rows or none. Without a schema the table
    /// is in `main`, whatever the search path is.
    pub(crate) fn append(
        &self,
        catalog: Option<&str>,
        schema: Option<&str>,
        table: &str,
        columns: &[&str],
        chunk: &OwnedChunk,
    ) -> Result<(), SqlError> {
        if chunk.len() == 0 {
            return Ok(());
        }
        let catalog = catalog.map(c_name).transpose()?;
        let schema = schema.map(c_name).transpose()?;
        let pointer = |name: &Option<CString>| name.as_ref().map_or(ptr::null(), |n| n.as_ptr());
        let name = c_name(table)?;
        // SAFETY: the connection is open, and the names outlive the calls. `Appender` frees what is
        // created, even if it holds only an error.
        unsafe {
            let mut appender = Appender(ptr::null_mut());
            let (catalog, schema, made) = (pointer(&catalog), pointer(&schema), &mut appender.0);
            let state =
                ffi::duckdb_appender_create_ext(self.0.0, catalog, schema, name.as_ptr(), made);
            appender.check(state)?;
            for column in columns {
                let c_column = c_name(column)?;
                let added = ffi::duckdb_appender_add_column(appender.0, c_column.as_ptr());
                // DuckDB's message does not name the column.
                let named = |fault| format!("the column {column} of the table {table}: {fault}");
                appender.check(added).map_err(named)?;
            }
            appender.check(ffi::duckdb_append_data_chunk(appender.0, chunk.raw))?;
            appender.check(ffi::duckdb_appender_close(appender.0))
        }
    }
}

struct Appender(ffi::duckdb_appender);

impl Appender {
    fn check(&self, state: ffi::duckdb_state) -> Result<(), SqlError> {
        if state == ffi::DuckDBSuccess {
            return Ok(());
        }
        // SAFETY: the appender exists or is null. The error is freed after its text was copied.
        unsafe {
            let mut error = ffi::duckdb_appender_error_data(self.0);
            let fault =
                SqlError::said(ffi::duckdb_error_data_message(error), "rows could not be appended");
            ffi::duckdb_destroy_error_data(&mut error);
            Err(fault)
        }
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        // SAFETY: the appender is ours and not used after this; null is allowed.
        unsafe {
            ffi::duckdb_appender_destroy(&mut self.0);
        }
    }
}

fn c_name(name: &str) -> Result<CString, SqlError> {
    CString::new(name).map_err(|_| "a name cannot have a zero byte".into())
}
