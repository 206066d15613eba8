//! From DuckDB's first call to registered functions.

use std::ffi::c_void;
use std::ptr;

use libduckdb_sys as ffi;

use super::fault::caught;
use super::{Connection, Fault, Scalar, Setting, TableFunction, scalar, settings, shim, table};

/// The version of the C API that is asked for. `cargo xtask duckdb` writes the same into the file's footer.
const API: &str = "v1.5.6";

/// The database that the extension is loaded into, while it is.
pub(crate) struct Database {
    pub(super) raw: ffi::duckdb_database,
    /// A function of the module that is DuckDB.
    pub(super) host: *const c_void,
    connection: Connection,
}

impl Database {
    pub(crate) fn table<F: TableFunction>(&self) -> Result<(), Fault> {
        table::register::<F>(&self.connection)
    }

    pub(crate) fn scalar<F: Scalar>(&self) -> Result<(), Fault> {
        scalar::register::<F>(&self.connection)
    }

    /// Adds a setting, unless somebody else has it already.
    pub(crate) fn setting(&self, setting: &Setting) -> Result<(), Fault> {
        settings::register(&self.connection, setting)
    }

    /// Adds the CRAWL statement, which calls the table function `curtsy_statement`, and DuckDB's progress bar and patience (`Chunk::not_yet`) to the functions that are named.
    /// All of them are registered already. Where this cannot be done, it is not: `missing_statement` says why.
    pub(crate) fn statement(&self, with_progress: &[&str]) {
        shim::attach(self, with_progress);
    }
}

/// Registers everything; whatever fails becomes the error of LOAD.
///
/// # Safety
///
/// `info` and `access` are what DuckDB gave to the entry point.
pub(crate) unsafe fn load(
    info: ffi::duckdb_extension_info,
    access: *const ffi::duckdb_extension_access,
    register: fn(&Database) -> Result<(), Fault>,
) -> bool {
    let loaded = caught(|| {
        // SAFETY: the caller says so. The connection is closed when `database` is dropped, before this returns; `raw` is used only until then.
        unsafe {
            let access = &*access;
            let get_database = access.get_database.ok_or("DuckDB gives no database")?;
            if !ffi::duckdb_rs_extension_api_init(info, access, API)? {
                // DuckDB has said what is wrong.
                return Ok(false);
            }
            let database = get_database(info);
            if database.is_null() {
                return Ok(false);
            }
            let mut connection = ptr::null_mut();
            if ffi::duckdb_connect(*database, &mut connection) != ffi::DuckDBSuccess {
                return Err("DuckDB gives no connection".into());
            }
            let connection = Connection::owned(connection);
            let host = get_database as *const c_void;
            register(&Database { raw: *database, host, connection })?;
            Ok(true)
        }
    });
    match loaded {
        Ok(loaded) => loaded,
        Err(fault) => {
            // SAFETY: as above; the text is copied.
            unsafe {
                if let Some(set_error) = (*access).set_error {
                    set_error(info, fault.c_text().as_ptr());
                }
            }
            false
        }
    }
}
