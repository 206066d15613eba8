//! Errors of opening and writing a file, with messages that name the next step.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// A file could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process crawls into the file.
    #[error(
        "`{}` is in use by another crawl{}\nhint: wait for it or stop it, or name another file",
        path.display(),
        process(*.pid)
    )]
    Running {
        /// The crawl's file.
        path: PathBuf,
        /// The process, if the lock file has its number.
        pid: Option<u32>,
    },
    /// A newer version of the program wrote the file.
    #[error(
        "`{}` was written by a newer curtsy: its {what} has version {found}, this program knows up to {known}\nhint: upgrade this program, or name another file",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Which part of it.
        what: &'static str,
        /// Its version.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The path is a folder.
    #[error("`{}` is a folder, not a file\nhint: name a file in it: `{}`", path.display(), path.join("crawl.db").display())]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// The file is not a SQLite database.
    #[error("`{}` is not a SQLite database\nhint: {}", path.display(), instead(path))]
    NotDatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is a SQLite database of another program.
    #[error(
        "`{}` is a SQLite database of another program: curtsy made no table in it, and leaves it as it is\nhint: name another file",
        path.display()
    )]
    OtherDatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged.
    #[error(
        "`{}` is damaged: {source}\nhint: move it away or name another file; `sqlite3 FILE .recover` may save what is in it",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// The file has a table of that name which another program created.
    #[error(
        "`{}` has a table `{table}` that curtsy did not make\nhint: name another file, or rename that table",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The table.
        table: String,
    },
    /// The file has lines of another program, or other columns.
    #[error(
        "`{}` is there already and is not {what}\nhint: move it away or name another file",
        path.display()
    )]
    OtherFile {
        /// The file.
        path: PathBuf,
        /// What it should be.
        what: &'static str,
    },
    /// The file holds no rows of a crawl.
    #[error(
        "`{}` holds no rows of a crawl\nhint: name a file that `curtsy crawl --into FILE` wrote",
        path.display()
    )]
    NoRows {
        /// The file.
        path: PathBuf,
    },
    /// There is no such file.
    #[error("there is no file `{}`\nhint: name the file that a crawl wrote with `--into`", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file or its folder is not writable.
    #[error(
        "can't write to `{}`: {source}\nhint: the file and its folder must be writable, or name another file",
        path.display()
    )]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// What SQLite or the system says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The disk is full.
    #[error("no room left for `{}`: {source}\nhint: free some space and run the same command again; nothing is lost", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// What SQLite or the system says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The disk fails to read or write.
    #[error("the disk refuses to read or write `{}`: {source}\nhint: is it full, failing, or away? run the same command again when it is well", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// Another program holds a lock for too long.
    #[error("`{}` is locked by another program\nhint: close what has it open for writing, and run the same command again", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The content can't be read.
    #[error("can't read `{}`: {source}\nhint: may you read it, was it written by another program, is it damaged?", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What SQLite or the decoder says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The variable [`WRITES_VARIABLE`](crate::WRITES_VARIABLE) has an unknown value.
    #[error(
        "`{}` is `{value}`\nhint: set it to `gathered` (the default) or `direct`",
        crate::WRITES_VARIABLE
    )]
    Writes {
        /// The value.
        value: String,
    },
    /// Anything else.
    #[error("can't open `{}`: {source}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What SQLite or the system says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Returns the hint for a file that is no database. The crawl's own file lies beside a file of
/// lines.
fn instead(path: &Path) -> String {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".crawl.db");
    match Path::new(&beside).exists() {
        true => format!("the crawl's own file is beside it: `{}`", Path::new(&beside).display()),
        false => "name another file, or move this one away".to_owned(),
    }
}

fn process(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

impl OpenError {
    /// Returns the meaning of an error of SQLite for a file that is being opened.
    pub fn sqlite(path: &Path, source: rusqlite::Error) -> OpenError {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                OpenError::Damaged { path, source }
            }
            _ if path.is_dir() => OpenError::Folder { path },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                OpenError::ReadOnly { path, source: Box::new(source) }
            }
            _ if is_full(&source) => OpenError::Full { path, source: Box::new(source) },
            Some(ErrorCode::SystemIoFailure) => OpenError::Disk { path, source },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Locked { path },
            _ => OpenError::Other { path, source: Box::new(source) },
        }
    }

    /// Returns the meaning of an error of the system for a file that is being opened.
    pub fn io(path: &Path, source: io::Error) -> OpenError {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                OpenError::Full { path, source: Box::new(source) }
            }
            io::ErrorKind::IsADirectory => OpenError::Folder { path },
            io::ErrorKind::PermissionDenied
            | io::ErrorKind::NotFound
            | io::ErrorKind::ReadOnlyFilesystem => {
                OpenError::ReadOnly { path, source: Box::new(source) }
            }
            _ => OpenError::Other { path, source: Box::new(source) },
        }
    }
}

/// Returns the message for an error of writing, with the next step.
pub fn trouble(path: &Path, error: &rusqlite::Error) -> String {
    let path = path.display();
    match error.sqlite_error_code() {
        _ if is_full(error) => full(&path.to_string()),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            format!(
                "`{path}` is locked by another program\nhint: close what has it open for writing"
            )
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            format!(
                "can't write to `{path}`: {error}\nhint: the file and its folder must be writable"
            )
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            format!(
                "`{path}` is damaged: {error}\nhint: `sqlite3 FILE .recover` may save what is in it"
            )
        }
        Some(ErrorCode::SystemIoFailure) => {
            format!(
                "the disk refuses to read or write `{path}`: {error}\nhint: is it full, failing, or away?"
            )
        }
        _ => format!("can't write to `{path}`: {error}"),
    }
}

/// Returns the message for a full disk.
pub fn full(path: &str) -> String {
    format!("no room left for `{path}`\nhint: free some space; what waits is written then")
}

/// Whether the disk is full. SQLite has a code for that, and another one for a `-shm` file that
/// can't grow.
fn is_full(error: &rusqlite::Error) -> bool {
    let extended = error.sqlite_error().map(|e| e.extended_code);
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
        || extended == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
}
