//! The crawler as a DuckDB extension.
//!
//! `functions` has what users of DuckDB see. `duck` is a small safe layer over DuckDB's C API, and
//! the only module with unsafe code. The CRAWL statement needs more than that API offers:
//! `shim/statement.cpp` adds it, in the one release of DuckDB that it was compiled for.

mod crawling;
mod duck;
mod functions;
mod order;
mod table;
mod target;
mod task;
mod tray;

use libduckdb_sys as ffi;

/// The entry point that DuckDB calls when it loads the extension.
///
/// # Safety
///
/// `info` and `access` are the arguments of DuckDB, and are used before this returns.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn curtsy_init_c_api(
    info: ffi::duckdb_extension_info,
    access: *const ffi::duckdb_extension_access,
) -> bool {
    // SAFETY: passed on as they came.
    unsafe { duck::load(info, access, functions::register) }
}
