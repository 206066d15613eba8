//! What comes in and what goes out: seeds and rows.

use curtsy_core::host::{Findings, Gate, Outcome};
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, UrlKey};

use crate::UrlRecord;
use crate::page::Boxed;

/// One URL that was considered, fetched or not, with the evidence.
#[derive(Clone, Debug)]
pub struct Row {
    /// The URL as it was offered.
    pub id: UrlKey,
    /// The same, to print.
    pub url: CrawlUrl,
    /// Where it was found in the end.
    pub final_url: CrawlUrl,
    /// Redirects followed.
    pub redirects: u8,
    /// How it ended.
    pub ending: Ending,
    /// Every gate's finding at its last decision.
    pub findings: Findings,
    /// The store's time.
    pub at: Time,
}

/// How a URL ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// Fetched: an answer of the site.
    Fetched(Outcome),
    /// The page that we hold is fresh.
    Cached,
    /// Refused by a gate.
    Refused(Gate),
    /// A failure that stays.
    Dead(Outcome),
    /// Nothing was heard of any of its tries: whoever asked for it died.
    Unheard,
    /// More redirects than allowed, or one that leads nowhere.
    LostRedirect,
}

/// Seeds.
pub trait Source {
    /// The next seeds, none if there are none now.
    fn next(&self, max: usize) -> Boxed<'_, Vec<UrlRecord>>;
    /// The rows of these are kept: they need not be offered again.
    fn ack(&self, ids: &[UrlKey]) -> Boxed<'_, ()>;
    /// The store lost something in this epoch: everything that is not acknowledged must be offered again.
    fn rewind(&self, epoch: u64) -> Boxed<'_, ()>;
}

/// Rows out. Accepts a batch as a whole; may be told a row twice, with the same id.
pub trait Sink {
    /// Writes a batch; when this returns, it is kept.
    fn write<'a>(&'a self, rows: &'a [Row]) -> Boxed<'a, Result<(), SinkError>>;
}

/// The sink could not keep a batch.
#[derive(Clone, Debug, thiserror::Error)]
#[error("sink could not keep {rows} rows: {why}")]
pub struct SinkError {
    /// How many.
    pub rows: usize,
    /// Why.
    pub why: String,
}
