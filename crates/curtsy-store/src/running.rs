//! Who is at work: locks on small files, which end with the process however it ends.
//!
//! They are files of their own. SQLite's locks belong to the process and are lost when any of its descriptors of the same file is
//! closed, so the database itself is never locked from here.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::OpenError;

/// The one process that crawls into a file.
#[derive(Debug)]
pub(crate) struct Running {
    _locked: File,
}

impl Running {
    /// Locks a crawl's file for this process.
    pub(crate) fn lock(path: &Path) -> Result<Running, OpenError> {
        let mut file = side_file(path, "-running")?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // The number is only for the message.
                let _ = file.read_to_string(&mut text);
                return Err(OpenError::Running {
                    path: path.into(),
                    pid: text.trim().parse().ok(),
                });
            }
            Err(TryLockError::Error(e)) => return Err(unwritable(path, e)),
        }
        let told = file
            .set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| writeln!(file, "{}", std::process::id()));
        // Without room for a number the lock is as good.
        drop(told);
        Ok(Running { _locked: file })
    }
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
