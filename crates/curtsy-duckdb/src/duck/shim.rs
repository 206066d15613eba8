//! Finds, loads and calls the C++ shim.
//!
//! The shim is embedded in this library as bytes, and works only in the release of DuckDB that it
//! was compiled for. If it cannot be loaded, the extension works without it and keeps the reason
//! for the error messages of what needs it.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::{OnceLock, PoisonError, RwLock};

use libduckdb_sys as ffi;

use super::error::said;
use super::load::LoadedDatabase;
use super::pulse::{CALLBACKS, Callbacks};

/// The only release of DuckDB that the shim fits.
const RELEASE: &str = "v2.0.0";

static BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/statement.so"));

/// The shim's functions, in the order of its table; `shim/statement.cpp` describes them.
#[repr(C)]
pub(super) struct Shim {
    attach: unsafe extern "C" fn(
        ffi::duckdb_database,
        *const *const c_char,
        usize,
        *const Callbacks,
        *mut c_char,
        usize,
    ) -> c_int,
    pub(super) hold: unsafe extern "C" fn(ffi::duckdb_client_context) -> *mut c_void,
    pub(super) let_go: unsafe extern "C" fn(*mut c_void),
    pub(super) interrupted: unsafe extern "C" fn(*mut c_void) -> bool,
    pub(super) in_transaction: unsafe extern "C" fn(*mut c_void) -> bool,
    pub(super) connect:
        unsafe extern "C" fn(*mut c_void, *mut c_char, usize) -> ffi::duckdb_connection,
    pub(super) resolve: unsafe extern "C" fn(
        *mut c_void,
        *const c_char,
        *mut RawTarget,
        *mut c_char,
        usize,
    ) -> c_int,
    pub(super) free_target: unsafe extern "C" fn(*mut RawTarget),
}

/// A `TableName` as the shim fills it.
#[repr(C)]
pub(super) struct RawTarget {
    pub(super) catalog: *mut c_char,
    pub(super) schema: *mut c_char,
    pub(super) table: *mut c_char,
    pub(super) exists: bool,
    pub(super) view: bool,
    pub(super) temporary: bool,
    pub(super) read_only: bool,
}

impl Default for RawTarget {
    fn default() -> RawTarget {
        let none = ptr::null_mut();
        let (exists, view, temporary, read_only) = (false, false, false, false);
        RawTarget { catalog: none, schema: none, table: none, exists, view, temporary, read_only }
    }
}

/// Loaded once for the process, and never unloaded.
static LOADED: OnceLock<Result<&'static Shim, String>> = OnceLock::new();

/// Why the last database got no statement, although the shim is loaded.
static REFUSED: RwLock<Option<String>> = RwLock::new(None);

/// Returns the shim, or why it is missing.
pub(super) fn loaded() -> Result<&'static Shim, &'static str> {
    match LOADED.get() {
        Some(loaded) => loaded.as_ref().copied().map_err(String::as_str),
        None => Err("the extension is not loaded yet"),
    }
}

/// Returns why there is no CRAWL statement, if there is none.
pub(crate) fn missing() -> Option<String> {
    let refused = REFUSED.read().unwrap_or_else(PoisonError::into_inner).clone();
    loaded().err().map(str::to_owned).or(refused)
}

/// Adds the statement to a database, and progress and `not_yet` to these registered functions.
pub(super) fn attach(database: &LoadedDatabase, functions: &[&str]) {
    let Ok(shim) = LOADED.get_or_init(|| load(database)) else { return };
    let names: Vec<CString> = functions.iter().map(|name| super::error::c_text(name)).collect();
    let names: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
    let mut error = [0; 1024];
    // SAFETY: the database is open while the extension is loaded; names and buffer have the given
    // lengths.
    let refused = unsafe {
        let (raw, error) = (database.raw, error.as_mut_ptr());
        let failed = (shim.attach)(raw, names.as_ptr(), names.len(), &CALLBACKS, error, 1024) != 0;
        failed.then(|| said(error).unwrap_or_default())
    };
    *REFUSED.write().unwrap_or_else(PoisonError::into_inner) = refused;
}

#[cfg(not(target_os = "linux"))]
fn load(_: &LoadedDatabase) -> Result<&'static Shim, String> {
    Err("the CRAWL statement works on Linux only".to_owned())
}

#[cfg(target_os = "linux")]
fn load(database: &LoadedDatabase) -> Result<&'static Shim, String> {
    if BYTES.is_empty() {
        return Err("this extension was built without a C++ compiler".to_owned());
    }
    // SAFETY: it gives a C string that is always there.
    let release = unsafe { said(ffi::duckdb_library_version()) }.unwrap_or_default();
    if release != RELEASE {
        return Err(format!("it is made for DuckDB {RELEASE}, and this is {release}"));
    }
    linux::promote(database.host)?;
    let table = linux::open(BYTES)?.find(c"curtsy_shim")?;
    // SAFETY: the library was compiled with this one: the function returns its static table.
    unsafe {
        let table =
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const Shim>(table);
        Ok(&*table())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    //! Loads a library from bytes, and makes private symbols of its host visible.

    use std::ffi::{CStr, CString, c_void};
    use std::{mem, process};

    use super::said;

    /// Makes the symbols of the module that contains `function` visible to libraries that are
    /// loaded later. Python loads modules with private symbols.
    pub(super) fn promote(function: *const c_void) -> Result<(), String> {
        // SAFETY: `info` is filled if the result is not 0; the name lives as long as the module,
        // which is loaded.
        unsafe {
            let mut info: libc::Dl_info = mem::zeroed();
            if libc::dladdr(function, &mut info) == 0 || info.dli_fname.is_null() {
                return Err("DuckDB's own module was not found".to_owned());
            }
            // A program has no name that `dlopen` finds; its symbols are visible already, or never.
            libc::dlopen(info.dli_fname, libc::RTLD_NOW | libc::RTLD_GLOBAL | libc::RTLD_NOLOAD);
            Ok(())
        }
    }

    pub(super) struct Library(*mut c_void);

    /// Loads a library from memory. It stays loaded.
    pub(super) fn open(bytes: &[u8]) -> Result<Library, String> {
        // SAFETY: plain calls on a file of our own.
        unsafe {
            let file = libc::memfd_create(c"curtsy-statement".as_ptr(), libc::MFD_CLOEXEC);
            if file < 0 {
                return Err(format!("no file in memory: {}", std::io::Error::last_os_error()));
            }
            let mut rest = bytes;
            while !rest.is_empty() {
                let wrote = libc::write(file, rest.as_ptr().cast(), rest.len());
                let Some(next) = usize::try_from(wrote).ok().and_then(|n| rest.get(n..)) else {
                    let error = std::io::Error::last_os_error();
                    libc::close(file);
                    return Err(format!("no room for a file in memory: {error}"));
                };
                rest = next;
            }
            // The file stays open. Libraries are told apart by name, so another library that is
            // loaded this way must not get the same descriptor.
            let path = CString::new(format!("/proc/{}/fd/{file}", process::id()));
            let path = path.expect("there is no zero byte in it");
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            if library.is_null() {
                libc::close(file);
                let reason = said(libc::dlerror()).unwrap_or_default();
                return Err(match reason.contains("undefined symbol") {
                    true => "this DuckDB keeps its symbols to itself, as the command line's does"
                        .to_owned(),
                    false => reason,
                });
            }
            Ok(Library(library))
        }
    }

    impl Library {
        pub(super) fn find(&self, name: &CStr) -> Result<*mut c_void, String> {
            // SAFETY: the library is loaded.
            let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
            match found.is_null() {
                true => Err(format!("{} is not in it", name.to_string_lossy())),
                false => Ok(found),
            }
        }
    }
}
