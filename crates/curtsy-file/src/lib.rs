//! The SQLite files of the program: how they are opened, the versions of their tables, and the
//! messages of their errors.
//!
//! Two parts of the program write to a crawl's file, the frontier and the rows. Each has its own
//! tables with a version. The ledger of hosts is a file of its own. An error message names the
//! file, the cause and the next step, with the same words for every file.

mod database;
mod error;
mod gather;
mod statements;
mod vfs;

pub use database::{
    BUSY_STEPS_MAX, Begins, LOG_BYTES_MAX, OPEN_TRIES_MAX, PAGE_BYTES_LARGE, Schema, look_first,
    open, open_passing, open_to_read,
};
pub use error::{OpenError, full, trouble};
pub use gather::GATHERED_MAX;
pub use statements::Statements;
pub use vfs::WRITES_VARIABLE;
