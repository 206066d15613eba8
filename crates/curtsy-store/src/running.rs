//! Locks on small files that show which processes are running. The system releases them however a
//! process ends.
//!
//! The files are separate. SQLite's locks belong to the process and are lost when any of its
//! descriptors of the same file is closed, so this module never locks the database itself.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use curtsy_core::host::{HostState, LeaseId};
use curtsy_core::time::Time;

use crate::OpenError;

/// The lock of the one process that crawls into a file. The lock file holds its process id, then a
/// line for each worker of this process and of those before it.
#[derive(Debug)]
pub(crate) struct CrawlLock {
    locked: File,
    /// The crawl's file. The lock file is beside it.
    path: PathBuf,
    before: RunsBefore,
    /// Whether to remove the lock file with this lock: no request of this process is in flight.
    ended: bool,
}

/// The workers of the processes that crawled into a file before this one. All of these processes
/// have ended, since their lock was free.
#[derive(Debug)]
pub(crate) struct RunsBefore {
    workers: Vec<u64>,
    /// When their lock was found free.
    since: Time,
}

/// Workers of earlier processes that are remembered. Leases last half a minute, so the last few are
/// enough.
const WORKERS_KEPT: usize = 64;

impl RunsBefore {
    /// Returns the state of a host in which leases of dead workers end soon; `None` if the host has
    /// no such lease.
    pub(crate) fn shorten(&self, state: &HostState) -> Option<HostState> {
        state.without_killed(|lease| self.had(lease), self.since)
    }

    /// Whether a lease belongs to a dead worker.
    pub(crate) fn had(&self, lease: LeaseId) -> bool {
        self.workers.iter().any(|worker| lease.is_of(*worker))
    }
}

impl CrawlLock {
    /// Locks a crawl's file for this process.
    pub(crate) fn lock(path: &Path, now: Time) -> Result<CrawlLock, OpenError> {
        let (mut file, locked) = loop {
            let file = side_file(path, RUNNING)?;
            let locked = file.try_lock();
            // The process that held the lock may have removed the file in between.
            if locked.is_err() || is_at(&file, &beside(path, RUNNING)) {
                break (file, locked);
            }
        };
        let mut text = String::new();
        // The process id is only for a message. If a worker's number can't be read, its leases run
        // to their ends.
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
        let mut running = CrawlLock { locked: file, path: path.to_owned(), before, ended: false };
        let rewritten = running.locked.set_len(0);
        let rewritten = rewritten.and_then(|()| running.locked.seek(SeekFrom::Start(0)));
        // The lock is valid without these lines too.
        let _ = rewritten.and_then(|_| running.locked.write_all(text.as_bytes()));
        Ok(running)
    }

    /// Returns the workers of the processes before this one.
    pub(crate) fn before(&self) -> &RunsBefore {
        &self.before
    }

    /// Notes the number of a worker of this process. If that fails, the worker's leases run to
    /// their ends after a kill.
    pub(crate) fn note_worker(&mut self, worker: u64) {
        let _ = writeln!(self.locked, "{worker}");
    }

    /// Notes that nothing of this process is in flight. The lock file is removed with the lock.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }
}

impl Drop for CrawlLock {
    fn drop(&mut self) {
        if self.ended {
            // A lock file that stays does no harm.
            let _ = std::fs::remove_file(beside(&self.path, RUNNING));
        }
    }
}

/// The suffix of a crawl's lock file.
const RUNNING: &str = "-running";

/// Whether an open file is still the one at this path.
fn is_at(file: &File, path: &Path) -> bool {
    let (here, there) = (file.metadata().map(inode), std::fs::metadata(path).map(inode));
    matches!((here, there), (Ok(here), Ok(there)) if here == there)
}

/// Returns the device and inode of a file.
pub(crate) fn inode(file: Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// The membership of a process among those that use a ledger.
#[derive(Debug)]
pub(crate) struct LedgerUsers {
    file: File,
    /// Whether there was a ledger before.
    pub(crate) seen_before: bool,
}

impl LedgerUsers {
    /// Joins the users of a ledger.
    pub(crate) fn join(path: &Path) -> Result<LedgerUsers, OpenError> {
        let file = side_file(path, "-users")?;
        // A process that is creating the ledger has created this file and not written to it yet.
        let seen_before = file.metadata().map_err(|e| unwritable(path, e))?.len() > 0;
        Ok(LedgerUsers { file, seen_before })
    }

    /// Notes that the ledger exists. If it is missing later, it was lost.
    pub(crate) fn made(&mut self, path: &Path) -> Result<(), OpenError> {
        if !self.seen_before {
            self.file.write_all(b"made\n").map_err(|e| unwritable(path, e))?;
        }
        Ok(())
    }

    /// Whether no other process uses the ledger. Then none can join before [`LedgerUsers::share`].
    pub(crate) fn try_alone(&self) -> bool {
        self.file.try_lock().is_ok()
    }

    /// Lets other processes join. They see this process until it ends.
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
