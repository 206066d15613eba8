//! Our SQLite files: how are they opened, which version do their tables have, and what is said when something fails?
//!
//! A crawl's file has two writers with tables of their own, the frontier and the rows, each with its version; the ledger of hosts is a
//! file beside it. Whoever can't open or write one is told which file, why, and what to do next, in the same words for all of them.

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
