//! Rows out: what became of every URL, for people and for other programs.
//!
//! [`SqliteSink`] writes into the crawl's own file: one row for each URL with its content (`pages`), one record for each decision and
//! request (`decisions`), one for each run. The same rows are the cache of pages for the next time, so a body is on the disk once.
//! [`read`] is the other side: what `why`, `links` and `plan` ask of such a file, also while a crawl writes it.
//!
//! What must stay true:
//! - **A batch is kept as a whole**, and once it is accepted `kill -9` takes nothing of it.
//! - **Told twice is kept once**: a row is known by the key of its URL, a decision by its URL and moment.
//! - **What brings no answer takes none away**: a refusal, a time-out or a confirmation leaves the content that a row holds.
//! - **Bodies are in `pages.body` only.** Decisions, runs and errors hold numbers, names and URLs.
//!
//! Columns and their values are made in one place (`columns`, `record`), so every sink calls the same thing by the same name.

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

pub use columns::{COLUMNS, Column, Group};
pub use curtsy_file::OpenError;
pub use facts::Facts;
#[cfg(feature = "kafka")]
pub use kafka::{KafkaFault, KafkaSettings, KafkaSink};
pub use limits::limits;
pub use lines::{CsvSink, FileOptions, JsonlSink};
pub use reason::{Cause, PRIVATE_ADDRESS, UNKNOWN_ISSUER};
pub use record::News;
pub use resume::Unreached;
pub use rules::{RobotsTexts, Rules};
pub use sqlite::{Forget, Options, RunEnd, RunStart, SqliteSink};
pub use words::{Said, error_of as error_name, kind as request_kind};
