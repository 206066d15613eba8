//! What keeps a file from being opened, said so that the next step is clear; and what keeps it from being written.

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
        /// The process, if it told its number.
        pid: Option<u32>,
    },
    /// A newer program wrote it.
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
    /// A folder.
    #[error("`{}` is a folder, not a file\nhint: name a file in it: `{}`", path.display(), path.join("crawl.db").display())]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// Something else than a SQLite file.
    #[error("`{}` is not a SQLite database\nhint: {}", path.display(), instead(path))]
    NotDatabase {
        /// The file.
        path: PathBuf,
    },
    /// A SQLite file of another program.
    #[error(
        "`{}` is a SQLite database of another program: curtsy made no table in it, and leaves it as it is\nhint: name another file",
        path.display()
    )]
    OtherDatabase {
        /// The file.
        path: PathBuf,
    },
    /// Broken.
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
    /// A table of that name is there, and not one of ours.
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
    /// A file of lines that is none of ours, or has other columns.
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
    /// No crawl was written there.
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
    /// The file or its folder can't be written to.
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
    /// The disk does not do what it is asked.
    #[error("the disk refuses to read or write `{}`: {source}\nhint: is it full, failing, or away? run the same command again when it is well", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// Somebody holds a lock for too long.
    #[error("`{}` is locked by another program\nhint: close what has it open for writing, and run the same command again", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// What is in it can't be read.
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

/// What to do with a file that is no database: rows as lines have the crawl's own file beside them.
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
    /// What an error of SQLite means for whoever opens that file.
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

    /// What an error of the system means for whoever opens that file.
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

/// What an error while writing means, with the next step.
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

/// What is said of a disk without room.
pub fn full(path: &str) -> String {
    format!("no room left for `{path}`\nhint: free some space; what waits is written then")
}

/// Whether there is no room: told as such, or by an index beside the file that can't be made longer.
fn is_full(error: &rusqlite::Error) -> bool {
    let extended = error.sqlite_error().map(|e| e.extended_code);
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
        || extended == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
}
