//! A VFS (SQLite's interface to the operating system) whose write-ahead logs
//! [gather](crate::gather) their writes.
//!
//! It is a copy of the system's default VFS under another name, and opens all files as the default
//! does. Only a write-ahead log gets a file object of this module. The real file object lies behind
//! it, in the same piece of memory. [`WRITES_VARIABLE`] switches the VFS off.

#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::mem::size_of;
use std::ptr;
use std::sync::OnceLock;

use rusqlite::ffi::{
    SQLITE_OK, SQLITE_OPEN_WAL, sqlite3_file, sqlite3_io_methods, sqlite3_vfs, sqlite3_vfs_find,
    sqlite3_vfs_register,
};

use crate::OpenError;
use crate::gather::Gather;

/// The name under which SQLite knows this VFS.
const NAME: &CStr = c"curtsy";

/// The most bytes for one write of the default VFS, which reads only 17 bits of the count. SQLite
/// itself never writes more than a page.
const WRITE_MAX: usize = 64 * 1024;

/// The default VFS, and whether ours is registered beside it.
struct VfsPair {
    real: *mut sqlite3_vfs,
    registered: bool,
}

// SAFETY: a registered VFS is never freed or changed, and SQLite itself uses it from all threads.
unsafe impl Send for VfsPair {}
// SAFETY: as above.
unsafe impl Sync for VfsPair {}

static PAIR: OnceLock<VfsPair> = OnceLock::new();

/// The environment variable that switches this module off.
pub const WRITES_VARIABLE: &str = "CURTSY_SQLITE_WRITES";

/// Which VFS writes the logs of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    /// The VFS of this module.
    Gathered,
    /// The VFS of SQLite.
    Direct,
}

impl Writes {
    /// Returns what [`WRITES_VARIABLE`] says. Unset and empty mean [`Writes::Gathered`].
    pub(crate) fn of_environment() -> Result<Writes, OpenError> {
        Writes::parse(&std::env::var_os(WRITES_VARIABLE).unwrap_or_default())
    }

    fn parse(value: &OsStr) -> Result<Writes, OpenError> {
        match value.to_str() {
            Some("" | "gathered") => Ok(Writes::Gathered),
            Some("direct") => Ok(Writes::Direct),
            _ => Err(OpenError::Writes { value: value.to_string_lossy().into_owned() }),
        }
    }

    /// Returns the name of the VFS to open a database with, or `None` for SQLite's own. A system
    /// for which SQLite has no VFS gets `None`, too.
    pub(crate) fn vfs(self) -> Option<&'static CStr> {
        (self == Writes::Gathered && pair().registered).then_some(NAME)
    }
}

fn pair() -> &'static VfsPair {
    PAIR.get_or_init(|| {
        // SAFETY: null asks for the default VFS. The result is null if there is none.
        let real = unsafe { sqlite3_vfs_find(ptr::null()) };
        if real.is_null() {
            return VfsPair { real, registered: false };
        }
        // SAFETY: the default VFS is initialised and is never freed.
        let theirs = unsafe { *real };
        let head = c_int::try_from(size_of::<GatheringLog>()).unwrap_or(c_int::MAX);
        let ours = sqlite3_vfs {
            szOsFile: theirs.szOsFile.saturating_add(head),
            pNext: ptr::null_mut(),
            zName: NAME.as_ptr(),
            xOpen: Some(open),
            ..theirs
        };
        // SAFETY: the VFS is complete and is never freed.
        let done = unsafe { sqlite3_vfs_register(Box::into_raw(Box::new(ours)), 0) };
        VfsPair { real, registered: done == SQLITE_OK }
    })
}

/// The file object of a write-ahead log. The real file object follows it in memory.
#[repr(C)]
struct GatheringLog {
    seen: sqlite3_file,
    gather: *mut Gather,
}

/// The methods of a log. SQLite calls those of versions 2 and 3 for databases only.
static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

/// Calls a method of the real file. Does nothing if the file has no such method.
macro_rules! real {
    ($file:expr, $method:ident $(, $value:expr)*) => {{
        // SAFETY: `file` is a log that `open` made. The real file lies behind it and is open.
        let real = unsafe { behind($file) };
        // SAFETY: an open file has methods, which live as long as SQLite.
        match unsafe { (*(*real).pMethods).$method } {
            // SAFETY: the arguments are those with which SQLite called this VFS.
            Some(method) => unsafe { method(real $(, $value)*) },
            None => SQLITE_OK,
        }
    }};
}

/// Returns the real file of a log.
///
/// # Safety
/// `file` must point to a log, with room for the real file behind it.
unsafe fn behind(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: as the caller promises.
    unsafe { file.cast::<GatheringLog>().add(1).cast() }
}

/// Returns the writes of a log that wait.
///
/// # Safety
/// `file` must point to an open log. SQLite uses a file from one thread at a time, so this is the
/// only reference.
unsafe fn gather<'a>(file: *mut sqlite3_file) -> &'a mut Gather {
    // SAFETY: as the caller promises. `close` frees the value, and SQLite calls no method after
    // that.
    unsafe { &mut *(*file.cast::<GatheringLog>()).gather }
}

unsafe extern "C" fn open(
    _ours: *mut sqlite3_vfs,
    path: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    let real = pair().real;
    let is_log = flags & SQLITE_OPEN_WAL != 0;
    // SAFETY: SQLite allocates `szOsFile` bytes, enough for our object and the real one.
    let place = if is_log { unsafe { behind(file) } } else { file };
    // SAFETY: the default VFS is initialised.
    let Some(theirs) = (unsafe { (*real).xOpen }) else { return rusqlite::ffi::SQLITE_CANTOPEN };
    // SAFETY: the arguments are those with which SQLite called this VFS.
    let opened = unsafe { theirs(real, path, place, flags, flags_out) };
    if is_log {
        // SAFETY: `file` points to memory for this object. SQLite does not close a file without
        // methods, so such a file gets no `Gather`.
        unsafe {
            let open = opened == SQLITE_OK;
            let methods = if open { &raw const METHODS } else { ptr::null() };
            let gather = if open { Box::into_raw(Box::default()) } else { ptr::null_mut() };
            file.cast::<GatheringLog>()
                .write(GatheringLog { seen: sqlite3_file { pMethods: methods }, gather });
        }
    }
    opened
}

/// Writes the bytes that wait to the real file.
///
/// # Safety
/// `file` must point to an open log.
unsafe fn flush(file: *mut sqlite3_file) -> c_int {
    // SAFETY: as the caller promises.
    let done = unsafe { gather(file) }.flush(|bytes, at| put(file, bytes, at));
    done.err().unwrap_or(SQLITE_OK)
}

fn put(file: *mut sqlite3_file, bytes: &[u8], at: i64) -> Result<(), c_int> {
    let mut at = at;
    for part in bytes.chunks(WRITE_MAX) {
        let count = WRITE_MAX.min(part.len()) as c_int;
        match real!(file, xWrite, part.as_ptr().cast(), count, at) {
            SQLITE_OK => at += i64::from(count),
            fault => return Err(fault),
        }
    }
    Ok(())
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    bytes: *const c_void,
    count: c_int,
    at: i64,
) -> c_int {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: SQLite passes `count` bytes.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), count) };
    // SAFETY: SQLite calls methods of open files only.
    let done = unsafe { gather(file) }.write(bytes, at, |bytes, at| put(file, bytes, at));
    done.err().unwrap_or(SQLITE_OK)
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    bytes: *mut c_void,
    count: c_int,
    at: i64,
) -> c_int {
    // SAFETY: SQLite calls methods of open files only.
    let flushed = unsafe { flush(file) };
    if flushed != SQLITE_OK {
        return flushed;
    }
    // SAFETY: as above.
    unsafe { gather(file) }.read(at);
    real!(file, xRead, bytes, count, at)
}

/// Defines a method that flushes the log first.
macro_rules! after_flush {
    ($name:ident, $method:ident $(, $value:ident: $kind:ty)*) => {
        unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $value: $kind)*) -> c_int {
            // SAFETY: SQLite calls methods of open files only.
            match unsafe { flush(file) } {
                SQLITE_OK => real!(file, $method $(, $value)*),
                fault => fault,
            }
        }
    };
}

after_flush!(truncate, xTruncate, size: i64);
after_flush!(sync, xSync, flags: c_int);
after_flush!(file_size, xFileSize, size: *mut i64);
after_flush!(file_control, xFileControl, what: c_int, value: *mut c_void);

/// Defines a method that only calls the real one.
macro_rules! as_it_is {
    ($name:ident, $method:ident $(, $value:ident: $kind:ty)*) => {
        unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $value: $kind)*) -> c_int {
            real!(file, $method $(, $value)*)
        }
    };
}

as_it_is!(lock, xLock, level: c_int);
as_it_is!(unlock, xUnlock, level: c_int);
as_it_is!(check_reserved_lock, xCheckReservedLock, held: *mut c_int);
as_it_is!(sector_size, xSectorSize);
as_it_is!(device_characteristics, xDeviceCharacteristics);

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // Bytes that still wait belong to a transaction that did not end. They are dropped.
    // SAFETY: the log is open and is not used after this. `open` made `gather` from a box.
    unsafe {
        let log = file.cast::<GatheringLog>();
        drop(Box::from_raw((*log).gather));
        (*log).gather = ptr::null_mut();
    }
    real!(file, xClose)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_switches_gathering_off_and_other_values_are_refused() {
        assert_eq!(Writes::parse(OsStr::new("")).unwrap().vfs(), Some(NAME));
        assert_eq!(Writes::parse(OsStr::new("gathered")).unwrap().vfs(), Some(NAME));
        assert_eq!(Writes::parse(OsStr::new("direct")).unwrap().vfs(), None);
        let refused = Writes::parse(OsStr::new("off")).unwrap_err().to_string();
        assert!(refused.starts_with("`CURTSY_SQLITE_WRITES` is `off`"), "{refused}");
    }
}
