//! The session that called a function.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use libduckdb_sys as ffi;

use super::error::said;
use super::pulse::Pulse;
use super::shim::{self, RawTarget, Shim};
use super::{DuckConnection, SqlError};

/// A handle of the caller's session. It keeps no connection open, so it may outlive the call.
///
/// Everything needs the shim. Without it the session is unknown, and the errors of `connect` and
/// `resolve` give the reason.
#[derive(Clone)]
pub(crate) struct CallerSession {
    session: Option<Arc<SessionHandle>>,
    pulse: Arc<Pulse>,
}

impl CallerSession {
    /// # Safety
    ///
    /// `context` belongs to the caller during this call.
    pub(super) unsafe fn of(
        context: ffi::duckdb_client_context,
        pulse: Arc<Pulse>,
    ) -> CallerSession {
        let session = shim::loaded().ok().and_then(|shim| {
            // SAFETY: by the contract of this function; `SessionHandle` releases the handle.
            let raw = unsafe { (shim.hold)(context) };
            (!raw.is_null()).then(|| Arc::new(SessionHandle { raw, shim }))
        });
        CallerSession { session, pulse }
    }

    /// Whether the user has interrupted the query, or is gone.
    pub(crate) fn is_interrupted(&self) -> bool {
        // SAFETY: the handle is there.
        self.session.as_ref().is_some_and(|s| unsafe { (s.shim.interrupted)(s.raw) })
    }

    /// Whether the shim is loaded. Without it `connect` and `resolve` fail, and the other methods
    /// know nothing.
    pub(crate) fn has_shim(&self) -> bool {
        self.session.is_some()
    }

    /// Whether the caller is in a transaction. Valid while its query runs.
    pub(crate) fn in_transaction(&self) -> bool {
        // SAFETY: the handle is there.
        self.session.as_ref().is_some_and(|s| unsafe { (s.shim.in_transaction)(s.raw) })
    }

    /// Opens a connection to the caller's database, with its search path (`USE`), its variables and
    /// its temporary tables. It does not see uncommitted changes of the caller.
    pub(crate) fn connect(&self) -> Result<DuckConnection, SqlError> {
        let session = self.session()?;
        let mut error = [0; ROOM];
        // SAFETY: the handle exists, and the buffer has that size; the connection is ours.
        unsafe {
            let raw = (session.shim.connect)(session.raw, error.as_mut_ptr(), ROOM);
            match raw.is_null() {
                true => Err(SqlError::said(error.as_ptr(), "DuckDB gave no second connection")),
                false => Ok(DuckConnection::owned(raw)),
            }
        }
    }

    /// Resolves the name of a table: `pages`, `archive.pages`, `"my db".main."odd.name"`. Valid
    /// while the caller's query runs.
    pub(crate) fn resolve(&self, name: &str) -> Result<TableName, SqlError> {
        let session = self.session()?;
        let c_name = CString::new(name).map_err(|_| "a name cannot have a zero byte")?;
        let mut error = [0; ROOM];
        // SAFETY: the handle exists, and the buffer has that size; the names are copied before they
        // are freed.
        unsafe {
            let mut raw = RawTarget::default();
            let (shim, to) = (session.shim, error.as_mut_ptr());
            if (shim.resolve)(session.raw, c_name.as_ptr(), &mut raw, to, ROOM) != 0 {
                return Err(SqlError::said(error.as_ptr(), "the name means nothing"));
            }
            let target = TableName {
                catalog: said(raw.catalog).unwrap_or_default(),
                schema: said(raw.schema).unwrap_or_default(),
                table: said(raw.table).unwrap_or_default(),
                exists: raw.exists,
                is_view: raw.view,
                is_temporary: raw.temporary,
                is_read_only: raw.read_only,
            };
            (shim.free_target)(&mut raw);
            Ok(target)
        }
    }

    /// Sets DuckDB's progress bar, from 0 to 1.
    pub(crate) fn set_progress(&self, done: f64) {
        self.pulse.set_progress(done);
    }

    fn session(&self) -> Result<&SessionHandle, SqlError> {
        let why =
            || shim::loaded().err().unwrap_or("DuckDB's session could not be held").to_owned();
        self.session.as_deref().ok_or_else(|| SqlError(why()))
    }
}

/// A resolved name of a table, which may not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableName {
    pub(crate) catalog: String,
    pub(crate) schema: String,
    pub(crate) table: String,
    pub(crate) exists: bool,
    pub(crate) is_view: bool,
    pub(crate) is_temporary: bool,
    /// Whether its database is read-only.
    pub(crate) is_read_only: bool,
}

impl TableName {
    /// Returns the full name for a statement, each part in quotes.
    pub(crate) fn quoted(&self) -> String {
        format!("{}.{}.{}", quoted(&self.catalog), quoted(&self.schema), quoted(&self.table))
    }
}

/// Returns a name in quotes, for a statement.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

struct SessionHandle {
    raw: *mut c_void,
    shim: &'static Shim,
}

// SAFETY: the shim's handle is a weak reference, which every thread may use at any time.
unsafe impl Send for SessionHandle {}
// SAFETY: as above.
unsafe impl Sync for SessionHandle {}

impl Drop for SessionHandle {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody uses it after this.
        unsafe { (self.shim.let_go)(self.raw) }
    }
}

/// The size of the buffer for an error of DuckDB.
const ROOM: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_part_by_part() {
        let target = TableName {
            catalog: "db".to_owned(),
            schema: "my \"own\"".to_owned(),
            table: "a.b".to_owned(),
            exists: false,
            is_view: false,
            is_temporary: false,
            is_read_only: false,
        };
        assert_eq!(target.quoted(), r#""db"."my ""own"""."a.b""#);
    }
}
