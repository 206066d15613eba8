//! The session that a function was called in.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use libduckdb_sys as ffi;

use super::fault::said;
use super::pulse::Pulse;
use super::shim::{self, RawTarget, Shim};
use super::{Connection, Fault};

/// A handle of the caller's session. It may be kept by whoever works for the caller, as long as they like: it keeps no connection open.
///
/// All of it needs the shim; without it nothing is known, and `connect` and `resolve` say why.
#[derive(Clone)]
pub(crate) struct Caller {
    session: Option<Arc<Session>>,
    pulse: Arc<Pulse>,
}

impl Caller {
    /// # Safety
    ///
    /// `context` is the caller's, for as long as this takes.
    pub(super) unsafe fn of(context: ffi::duckdb_client_context, pulse: Arc<Pulse>) -> Caller {
        let session = shim::loaded().ok().and_then(|shim| {
            // SAFETY: the caller says so; the handle is let go by `Session`.
            let raw = unsafe { (shim.hold)(context) };
            (!raw.is_null()).then(|| Arc::new(Session { raw, shim }))
        });
        Caller { session, pulse }
    }

    /// Whether the user wants the query to stop, or is gone.
    pub(crate) fn is_interrupted(&self) -> bool {
        // SAFETY: the handle is there.
        self.session.as_ref().is_some_and(|s| unsafe { (s.shim.interrupted)(s.raw) })
    }

    /// Whether DuckDB's own parts can be reached: the others say nothing or fail without them.
    pub(crate) fn has_shim(&self) -> bool {
        self.session.is_some()
    }

    /// Whether the caller is between BEGIN and COMMIT. To be asked while its query runs.
    pub(crate) fn in_transaction(&self) -> bool {
        // SAFETY: the handle is there.
        self.session.as_ref().is_some_and(|s| unsafe { (s.shim.in_transaction)(s.raw) })
    }

    /// A new connection of the caller's database, with its search path (`USE`), its variables and its temporary tables. Its transactions are its
    /// own: what the caller has not committed is not seen.
    pub(crate) fn connect(&self) -> Result<Connection, Fault> {
        let session = self.session()?;
        let mut error = [0; ROOM];
        // SAFETY: the handle is there, and the buffer has that room; the connection is ours.
        unsafe {
            let raw = (session.shim.connect)(session.raw, error.as_mut_ptr(), ROOM);
            match raw.is_null() {
                true => Err(Fault::said(error.as_ptr(), "DuckDB gave no second connection")),
                false => Ok(Connection::owned(raw)),
            }
        }
    }

    /// Which table a name means here: `pages`, `archive.pages`, `"my db".main."odd.name"`. To be asked while the caller's query runs.
    pub(crate) fn resolve(&self, name: &str) -> Result<Target, Fault> {
        let session = self.session()?;
        let c_name = CString::new(name).map_err(|_| "a name cannot have a zero byte")?;
        let mut error = [0; ROOM];
        // SAFETY: the handle is there, and the buffer has that room; the names are copied before they are freed.
        unsafe {
            let mut raw = RawTarget::default();
            let (shim, to) = (session.shim, error.as_mut_ptr());
            if (shim.resolve)(session.raw, c_name.as_ptr(), &mut raw, to, ROOM) != 0 {
                return Err(Fault::said(error.as_ptr(), "the name means nothing"));
            }
            let target = Target {
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

    /// Says how much is done, from 0 to 1, to DuckDB's progress bar.
    pub(crate) fn set_progress(&self, done: f64) {
        self.pulse.set_progress(done);
    }

    fn session(&self) -> Result<&Session, Fault> {
        let why =
            || shim::loaded().err().unwrap_or("DuckDB's session could not be held").to_owned();
        self.session.as_deref().ok_or_else(|| Fault(why()))
    }
}

/// A table that a name means, whether or not it is there yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) catalog: String,
    pub(crate) schema: String,
    pub(crate) table: String,
    pub(crate) exists: bool,
    pub(crate) is_view: bool,
    pub(crate) is_temporary: bool,
    /// Its database cannot be written.
    pub(crate) is_read_only: bool,
}

impl Target {
    /// The whole name for a statement, each part in quotes.
    pub(crate) fn quoted(&self) -> String {
        format!("{}.{}.{}", quoted(&self.catalog), quoted(&self.schema), quoted(&self.table))
    }
}

/// A name in quotes, for a statement.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

struct Session {
    raw: *mut c_void,
    shim: &'static Shim,
}

// SAFETY: the shim's handle is a weak reference, which every thread may ask at any time.
unsafe impl Send for Session {}
// SAFETY: as above.
unsafe impl Sync for Session {}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody uses it after this.
        unsafe { (self.shim.let_go)(self.raw) }
    }
}

/// Room for a message of DuckDB's.
const ROOM: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_part_by_part() {
        let target = Target {
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
