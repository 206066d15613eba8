//! Loads the extension and registers its functions.

use std::ffi::c_void;
use std::ptr;

use libduckdb_sys as ffi;

use super::error::caught;
use super::{
    DuckConnection, Scalar, Setting, SqlError, TableFunction, scalar, settings, shim, table,
};

/// The required version of the C API. `cargo xtask duckdb` writes the same version into the file's
/// footer.
const API: &str = "v1.5.6";

/// The database that loads the extension, while it does.
pub(crate) struct LoadedDatabase {
    pub(super) raw: ffi::duckdb_database,
    /// A function in the module of DuckDB.
    pub(super) host: *const c_void,
    connection: DuckConnection,
}

impl LoadedDatabase {
    pub(crate) fn table<F: TableFunction>(&self) -> Result<(), SqlError> {
        table::register::<F>(&self.connection)
    }

    pub(crate) fn scalar<F: Scalar>(&self) -> Result<(), SqlError> {
        scalar::register::<F>(&self.connection)
    }

    /// Adds a setting, unless another extension has added it.
    pub(crate) fn setting(&self, setting: &Setting) -> Result<(), SqlError> {
        settings::register(&self.connection, setting)
    }

    /// Adds the CRAWL statement, which calls the table function `curtsy_statement`. Adds the
    /// progress bar and `Chunk::not_yet` to the named functions, which are registered already. If
    /// that is not possible, `missing_statement` returns the reason.
    pub(crate) fn statement(&self, with_progress: &[&str]) {
        shim::attach(self, with_progress);
    }
}

/// Registers everything. An error becomes the error of LOAD.
///
/// # Safety
///
/// `info` and `access` are the arguments of the entry point.
pub(crate) unsafe fn load(
    info: ffi::duckdb_extension_info,
    access: *const ffi::duckdb_extension_access,
    register: fn(&LoadedDatabase) -> Result<(), SqlError>,
) -> bool {
    let loaded = caught(|| {
        // SAFETY: by the contract of this function. The connection is closed when `database` is
        // dropped, before this returns; `raw` is not used after that.
        unsafe {
            let access = &*access;
            let get_database = access.get_database.ok_or("DuckDB gives no database")?;
            if !ffi::duckdb_rs_extension_api_init(info, access, API)? {
                // DuckDB has set the error.
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
            let connection = DuckConnection::owned(connection);
            let host = get_database as *const c_void;
            register(&LoadedDatabase { raw: *database, host, connection })?;
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
