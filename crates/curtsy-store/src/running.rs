//! Who is at work: locks on small files, which end with the process however it ends.
//!
//! They are files of their own. SQLite's locks belong to the process and are lost when any of its descriptors of the same file is
//! closed, so the database itself is never locked from here.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use curtsy_core::host::{HostState, LeaseId};
use curtsy_core::time::Time;

use crate::OpenError;

/// The one process that crawls into a file. The lock file holds its process id, then the numbers of the workers of this process and
/// of those before it, a line each.
#[derive(Debug)]
pub(crate) struct Running {
    locked: File,
    /// The crawl's file, beside which the lock file lies.
    path: PathBuf,
    before: RunsBefore,
    /// Whether the lock file is removed with this lock: no request of this process is in flight.
    ended: bool,
}

/// The workers of the processes that crawled into a file before this one. All of them are dead: they held the lock.
#[derive(Debug)]
pub(crate) struct RunsBefore {
    workers: Vec<u64>,
    /// When their lock was found free.
    since: Time,
}

/// Workers of earlier processes that are remembered: leases live for half a minute, so the last few are enough.
const WORKERS_KEPT: usize = 64;

impl RunsBefore {
    /// Returns the state of a host in which leases of dead workers end soon; `None` if the host has no such lease.
    pub(crate) fn shorten(&self, state: &HostState) -> Option<HostState> {
        state.without_killed(|lease| self.had(lease), self.since)
    }

    /// Whether a lease belongs to a dead worker.
    pub(crate) fn had(&self, lease: LeaseId) -> bool {
        self.workers.iter().any(|worker| lease.is_of(*worker))
    }
}

impl Running {
    /// Locks a crawl's file for this process.
    pub(crate) fn lock(path: &Path, now: Time) -> Result<Running, OpenError> {
        let (mut file, locked) = loop {
            let file = side_file(path, RUNNING)?;
            let locked = file.try_lock();
            // The process that held the lock may have removed the file in between.
            if locked.is_err() || is_at(&file, &beside(path, RUNNING)) {
                break (file, locked);
            }
        };
        let mut text = String::new();
        // The process id is only for a message, and leases of workers that can't be read run to their ends.
        let _ = file.read_to_string(&mut text);
        let mut lines = text.lines();
        let pid = lines.next().and_then(|line| line.trim().parse().ok());
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::Running { path: path.into(), pid });
            }
            Err(TryLockError::Error(e)) => return Err(unwritable(path, e)),
        }
        let mut workers: Vec<u64> = lines.filter_map(|line| line.trim().parse().ok()).collect();
        workers.drain(..workers.len().saturating_sub(WORKERS_KEPT));
        let mut text = format!("{}\n", std::process::id());
        workers.iter().for_each(|worker| text.extend([&worker.to_string(), "\n"]));
        let before = RunsBefore { workers, since: now };
        let mut running = Running { locked: file, path: path.to_owned(), before, ended: false };
        let rewritten = running.locked.set_len(0);
        let rewritten = rewritten.and_then(|()| running.locked.seek(SeekFrom::Start(0)));
        // Without room for these lines the lock is as good.
        let _ = rewritten.and_then(|_| running.locked.write_all(text.as_bytes()));
        Ok(running)
    }

    /// The workers of the processes before this one.
    pub(crate) fn before(&self) -> &RunsBefore {
        &self.before
    }

    /// Notes the number of a worker of this process. Without room for the number its leases run to their ends after a kill.
    pub(crate) fn note_worker(&mut self, worker: u64) {
        let _ = writeln!(self.locked, "{worker}");
    }

    /// Notes that this process has nothing in flight any more. The lock file goes with the lock.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended {
            // A lock file that stays does no harm.
            let _ = std::fs::remove_file(beside(&self.path, RUNNING));
        }
    }
}

/// How the name of a crawl's lock file ends.
const RUNNING: &str = "-running";

/// Whether an open file is still the one at this path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    let (here, there) = (file.metadata().map(place), std::fs::metadata(path).map(place));
    matches!((here, there), (Ok(here), Ok(there)) if here == there)
}

/// A file that is open can't be removed here.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// One of the processes that use a ledger.
#[derive(Debug)]
pub(crate) struct Users {
    file: File,
    /// Whether a ledger was here before.
    pub(crate) seen_before: bool,
}

impl Users {
    /// Joins the users of a ledger.
    pub(crate) fn join(path: &Path) -> Result<Users, OpenError> {
        let file = side_file(path, "-users")?;
        // A process that is just making the ledger has made this file and not written to it yet.
        let seen_before = file.metadata().map_err(|e| unwritable(path, e))?.len() > 0;
        Ok(Users { file, seen_before })
    }

    /// The ledger is made: if it is missing from now on, it was lost.
    pub(crate) fn made(&mut self, path: &Path) -> Result<(), OpenError> {
        use std::io::Write;
        if !self.seen_before {
            self.file.write_all(b"made\n").map_err(|e| unwritable(path, e))?;
        }
        Ok(())
    }

    /// Whether nobody else is there: then nobody else comes before [`Users::share`].
    pub(crate) fn try_alone(&self) -> bool {
        self.file.try_lock().is_ok()
    }

    /// Lets others in. They count us until this process ends.
    pub(crate) fn share(&self, path: &Path) -> Result<(), OpenError> {
        self.file.lock_shared().map_err(|e| unwritable(path, e))
    }
}

fn side_file(path: &Path, end: &str) -> Result<File, OpenError> {
    let side = beside(path, end);
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&side)
        .map_err(|e| unwritable(path, e))
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn unwritable(path: &Path, error: std::io::Error) -> OpenError {
    OpenError::ReadOnly { path: path.to_owned(), source: Box::new(error) }
}
