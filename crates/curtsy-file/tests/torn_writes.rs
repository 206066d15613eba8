//! Transactions are all or nothing when a write to the disk is cut.
//!
//! The tests replace the system calls of SQLite's own VFS, which lies behind ours, and cut the n-th
//! call that changes a file, for every n. A killed process is a child process of this test: the
//! same program, which runs one test and aborts itself in the middle of a write.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::env;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use curtsy_file::{Begins, GATHERED_MAX, Schema, open};
use rusqlite::Connection;
use rusqlite::ffi::{SQLITE_OK, sqlite3_syscall_ptr, sqlite3_vfs, sqlite3_vfs_find};

const TABLE: Schema<'static> = Schema {
    what: "t",
    steps: &["CREATE TABLE t (number INTEGER, body BLOB)"],
    begins: Begins::First,
    page_bytes: 32_768,
    names: &["t"],
    checkpoint_pages: 20,
};

/// Rows of each transaction, of [`BODY_BYTES`]. The third one does not fit into the memory in which
/// writes are gathered. The last ones are written after a checkpoint, to the start of the log.
const TRANSACTIONS: [usize; 6] = [1, 3, GATHERED_MAX / BODY_BYTES + 5, 2, 4, 1];
const BODY_BYTES: usize = 30_000;

/// Which part of the faulty write reaches the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// No byte.
    Whole,
    /// The first 24 bytes: the header of a page in the log.
    AfterHeader,
    /// Half of the bytes.
    Half,
    /// All bytes but the last.
    LastByte,
}

impl Cut {
    const ALL: [Cut; 4] = [Cut::Whole, Cut::AfterHeader, Cut::Half, Cut::LastByte];

    fn bytes_left(self, count: usize) -> usize {
        match self {
            Cut::Whole => 0,
            Cut::AfterHeader => count.min(24),
            Cut::Half => count / 2,
            Cut::LastByte => count.saturating_sub(1),
        }
    }
}

/// What happens to this thread's system calls.
#[derive(Clone, Copy)]
enum Fault {
    None,
    /// After this many calls one is cut, and then the process ends.
    Kill(u32, Cut),
    /// After this many calls one is cut, and the disk is full from then on.
    Full(u32, Cut),
}

thread_local! {
    static FAULT: Cell<Fault> = const { Cell::new(Fault::None) };
}

/// Returns how many of `count` bytes the next write may write.
fn bytes_allowed(count: usize) -> usize {
    match FAULT.get() {
        Fault::None => count,
        Fault::Kill(0, cut) => cut.bytes_left(count),
        Fault::Full(0, cut) => {
            FAULT.set(Fault::Full(0, Cut::Whole));
            cut.bytes_left(count)
        }
        Fault::Kill(calls, cut) => {
            FAULT.set(Fault::Kill(calls - 1, cut));
            count
        }
        Fault::Full(calls, cut) => {
            FAULT.set(Fault::Full(calls - 1, cut));
            count
        }
    }
}

type Pwrite = unsafe extern "C" fn(c_int, *const c_void, usize, i64) -> isize;
type Ftruncate = unsafe extern "C" fn(c_int, i64) -> c_int;
type Unlink = unsafe extern "C" fn(*const c_char) -> c_int;

/// The system calls that SQLite used before.
struct Real {
    pwrite: Pwrite,
    ftruncate: Ftruncate,
    unlink: Unlink,
}

static REAL: OnceLock<Real> = OnceLock::new();

fn real() -> &'static Real {
    REAL.get().expect("the calls were replaced before SQLite made one")
}

unsafe extern "C" fn pwrite(file: c_int, bytes: *const c_void, count: usize, at: i64) -> isize {
    let killed = matches!(FAULT.get(), Fault::Kill(0, _));
    let allowed = bytes_allowed(count);
    // SAFETY: as SQLite calls this, with no more bytes than it gave.
    let written = unsafe { (real().pwrite)(file, bytes, allowed, at) };
    if killed {
        std::process::abort();
    }
    written
}

unsafe extern "C" fn ftruncate(file: c_int, size: i64) -> c_int {
    if bytes_allowed(1) == 0 {
        end_if_killed();
        return -1;
    }
    // SAFETY: as SQLite calls this.
    unsafe { (real().ftruncate)(file, size) }
}

unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    if bytes_allowed(1) == 0 {
        end_if_killed();
        return -1;
    }
    // SAFETY: as SQLite calls this.
    unsafe { (real().unlink)(path) }
}

fn end_if_killed() {
    if matches!(FAULT.get(), Fault::Kill(0, _)) {
        std::process::abort();
    }
}

/// Puts the functions of this file in the place of SQLite's system calls.
fn replace_system_calls() {
    REAL.get_or_init(|| {
        // SAFETY: SQLite's own VFS lives for ever, and its table has these calls with these types.
        unsafe {
            let vfs = sqlite3_vfs_find(std::ptr::null());
            let name = [c"pwrite", c"pwrite64"];
            let name = name.into_iter().find(|name| system_call(vfs, name).is_some());
            let name = name.expect("SQLite writes with one of these");
            let real = Real {
                pwrite: std::mem::transmute::<sqlite3_syscall_ptr, Pwrite>(system_call(vfs, name)),
                ftruncate: std::mem::transmute::<sqlite3_syscall_ptr, Ftruncate>(system_call(
                    vfs,
                    c"ftruncate",
                )),
                unlink: std::mem::transmute::<sqlite3_syscall_ptr, Unlink>(system_call(
                    vfs, c"unlink",
                )),
            };
            let set = |name: &CStr, call: *const ()| {
                let call = std::mem::transmute::<*const (), sqlite3_syscall_ptr>(call);
                let set = (*vfs).xSetSystemCall.expect("the VFS of Unix has it");
                assert_eq!(set(vfs, name.as_ptr(), call), SQLITE_OK);
            };
            set(name, pwrite as *const ());
            set(c"ftruncate", ftruncate as *const ());
            set(c"unlink", unlink as *const ());
            real
        }
    });
}

/// # Safety
/// `vfs` must be SQLite's own.
unsafe fn system_call(vfs: *mut sqlite3_vfs, name: &CStr) -> sqlite3_syscall_ptr {
    // SAFETY: as the caller promises.
    unsafe { (*vfs).xGetSystemCall.expect("the VFS of Unix has it")(vfs, name.as_ptr()) }
}

/// Writes one transaction.
fn write(db: &mut Connection, rows: usize) -> Result<(), rusqlite::Error> {
    let tx = db.transaction()?;
    for number in 0..rows {
        let body = vec![u8::try_from(number % 251).unwrap(); BODY_BYTES];
        tx.execute("INSERT INTO t VALUES (?1, ?2)", (i64::try_from(number).unwrap(), body))?;
    }
    tx.commit()
}

/// Returns the number of whole transactions in the file. Fails if the file has a part of one.
#[track_caller]
fn transactions_in(db: &Connection, context: &str) -> usize {
    let sound: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok", "{context}");
    let rows: i64 = db.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
    let ends = |count: usize| TRANSACTIONS[..count].iter().sum::<usize>();
    (0..=TRANSACTIONS.len())
        .find(|count| i64::try_from(ends(*count)) == Ok(rows))
        .unwrap_or_else(|| panic!("{rows} rows are a part of a transaction: {context}"))
}

fn folder(name: &str) -> PathBuf {
    let folder = env::temp_dir().join(format!("curtsy-torn-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn new_file(folder: &Path) -> PathBuf {
    let path = folder.join("t.db");
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(folder.join(format!("t.db{end}")));
    }
    drop(open(&path, &TABLE).unwrap());
    path
}

#[test]
fn a_transaction_that_a_kill_cuts_is_there_as_a_whole_or_not_at_all() {
    if let Ok(order) = env::var(ORDER) {
        return die_in_a_write(&order);
    }
    let folder = folder("kill");
    let counts = folder.join("committed");
    let mut cuts = 0;
    for cut in Cut::ALL {
        for calls in 0.. {
            let path = new_file(&folder);
            std::fs::write(&counts, "0").unwrap();
            let place = Cut::ALL.iter().position(|other| *other == cut).unwrap();
            let ended = Command::new(env::current_exe().unwrap())
                .arg("a_transaction_that_a_kill_cuts_is_there_as_a_whole_or_not_at_all")
                .env(ORDER, format!("{calls} {place}"))
                .env(FOLDER, &folder)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .unwrap();
            let context = format!("{cut:?} of call {calls}");
            let committed: usize =
                std::fs::read_to_string(&counts).unwrap().parse().expect("a number");
            let mut db = open(&path, &TABLE).unwrap();
            let found = transactions_in(&db, &context);
            assert!(found == committed || found == committed + 1, "{found}: {context}");
            write(&mut db, 1).unwrap();
            if ended.success() {
                assert_eq!(committed, TRANSACTIONS.len());
                break;
            }
            cuts += 1;
        }
    }
    assert!(cuts > 40, "{cuts} cuts");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What the child process does: the number of calls and the place of the cut in [`Cut::ALL`].
const ORDER: &str = "TORN_WRITES_ORDER";
const FOLDER: &str = "TORN_WRITES_FOLDER";

fn die_in_a_write(order: &str) {
    let (calls, cut) = order.split_once(' ').unwrap();
    let cut = Cut::ALL[cut.parse::<usize>().unwrap()];
    let folder = PathBuf::from(env::var_os(FOLDER).unwrap());
    replace_system_calls();
    let mut db = open(&folder.join("t.db"), &TABLE).unwrap();
    FAULT.set(Fault::Kill(calls.parse().unwrap(), cut));
    for (number, rows) in TRANSACTIONS.into_iter().enumerate() {
        write(&mut db, rows).unwrap();
        std::fs::write(folder.join("committed"), (number + 1).to_string()).unwrap();
    }
    // The last connection moves the log into the file and removes the log.
    drop(db);
}

#[test]
fn a_transaction_that_a_full_disk_cuts_fails_as_a_whole_and_can_be_repeated() {
    replace_system_calls();
    let folder = folder("full");
    let mut failures = 0;
    for cut in Cut::ALL {
        for calls in 0.. {
            let path = new_file(&folder);
            let mut db = open(&path, &TABLE).unwrap();
            let reader = Connection::open(&path).unwrap();
            FAULT.set(Fault::Full(calls, cut));
            let mut failed = false;
            for (number, rows) in TRANSACTIONS.into_iter().enumerate() {
                let context = format!("{cut:?} of call {calls}, transaction {number}");
                if write(&mut db, rows).is_err() {
                    failed = true;
                    FAULT.set(Fault::None);
                    assert_eq!(transactions_in(&reader, &context), number, "{context}");
                    write(&mut db, rows).unwrap();
                }
                assert_eq!(transactions_in(&reader, &context), number + 1, "{context}");
            }
            // A checkpoint that fails leaves the log as it is, and is no failure of a transaction.
            let cut_was_reached = matches!(FAULT.get(), Fault::None | Fault::Full(0, Cut::Whole));
            FAULT.set(Fault::None);
            drop((db, reader));
            if !failed && !cut_was_reached {
                break;
            }
            failures += u32::from(failed);
        }
    }
    assert!(failures > 40, "{failures} failures");
    std::fs::remove_dir_all(&folder).unwrap();
}
