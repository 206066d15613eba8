//! Sinks: what became of every URL, for people and for other programs.
//!
//! [`SqliteSink`] writes into the crawl's own file: a row for each URL with its content (`pages`),
//! a record for each decision and request (`decisions`), and one for each run. The same rows are
//! the page cache, so a body is on the disk once. [`read`] reads such a file for `why`, `links` and
//! `plan`, also while a crawl writes it.
//!
//! What must stay true:
//! - **A batch is written as a whole.** Once it is accepted, `kill -9` loses nothing of it.
//! - **Repeats are stored once**: a row has the key of its URL, a decision its URL and time.
//! - **A failed refetch never deletes stored content.** Nor does a refusal, a timeout or a 304.
//! - **Bodies are in `pages.body` only.** Decisions, runs and errors hold numbers, names and URLs.
//!
//! Columns and values are made in one place (`columns`, `record`), so all sinks use the same names.

mod columns;
mod facts;
#[cfg(feature = "kafka")]
mod kafka;
mod limits;
mod lines;
pub mod read;
mod reason;
mod record;
mod resume;
mod rules;
mod sqlite;
pub mod standing;
mod words;

pub use columns::{COLUMNS, Column, ColumnGroup};
pub use curtsy_file::OpenError;
pub use facts::Facts;
#[cfg(feature = "kafka")]
pub use kafka::{KafkaFault, KafkaSettings, KafkaSink};
pub use limits::limits;
pub use lines::{CsvSink, FileOptions, JsonlSink, LinesSink};
pub use reason::{Cause, PRIVATE_ADDRESS, UNKNOWN_ISSUER};
pub use record::RowChange;
pub use resume::Unreached;
pub use rules::{RobotsTexts, Rules};
pub use sqlite::{Forget, RunEnd, RunStart, SqliteOptions, SqliteSink};
pub use words::{FindingColumns, error_of as error_name, kind as request_kind};
