//! A fleet's seeds, queued when they are due: `curtsy schedule`.
//!
//! The scheduler fetches nothing. It puts URLs and sitemaps into the lists that workers read; a
//! sitemap has a mark, and a worker fetches it with the manners of every other request. Of several
//! schedulers one leads, by a lease in Redis. Redis holds the moments that were queued, beside the
//! lists, and all times are those of Redis. So it does not matter which scheduler runs, for how
//! long, or how it ends.

mod due;
pub(crate) mod file;
mod leader;

use std::time::Duration;

use curtsy_core::evidence::timestamp;
use curtsy_core::time::Time;
use curtsy_store::redis::WireError;
use serde::Serialize;

pub use due::{CronError, CronLine, SeedDue, When};
pub use file::{FileError, Seed, SeedFile, SeedKind};
pub use leader::{look, run, run_once};

/// How long a lease lasts if its holder is not heard of any more.
const LEASE: Duration = Duration::from_secs(6);
/// How often the leader renews it, and how often the others try to get it.
const RENEWED_EVERY: Duration = Duration::from_secs(1);

/// What a scheduler is asked to do: plain data that the command fills in.
#[derive(Clone, Debug)]
pub struct ScheduleSpec {
    /// Where the queue is.
    pub redis_url: String,
    /// The queue's name.
    pub queue: String,
    /// What is queued.
    pub seeds: Vec<Seed>,
}

/// Why a scheduler can't work.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// Redis can't be used.
    #[error("redis: {0}")]
    Redis(WireError),
    /// Redis can't be reached.
    #[error("redis: no answer: {0}\nhint: start Redis, or set PAGE_FETCHER_REDIS_URL")]
    Away(WireError),
    /// The runtime can't be had.
    #[error("could not start: {0}")]
    Runtime(std::io::Error),
}

impl From<WireError> for ScheduleError {
    fn from(error: WireError) -> ScheduleError {
        match error {
            WireError::Unfit(_) | WireError::Refused(_) => ScheduleError::Redis(error),
            WireError::Unknown(_) | WireError::NotDone(_) => ScheduleError::Away(error),
        }
    }
}

/// What one look at the seeds came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScheduleReport {
    /// Redis' time.
    pub now: String,
    /// Whether another scheduler leads, so that nothing was done here.
    pub another_leads: bool,
    /// The seeds, in the file's order.
    pub seeds: Vec<SeedReport>,
}

/// What one look at a seed came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeedReport {
    /// `url` or `sitemap`.
    pub kind: &'static str,
    /// Its URL as the file has it.
    pub url: String,
    /// The list that it goes to.
    pub list: String,
    /// What was done with it, or would be.
    pub does: Does,
    /// The moment for which that is.
    pub due: Option<String>,
    /// When it is due next; none if that is not known here.
    pub next: Option<String>,
}

curtsy_core::word_enum! {
    /// What is done with a seed.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Does {
        /// It is queued.
        Queued = "queued",
        /// It is due and still waits in its list, so it is not queued again.
        Waits = "waits",
        /// It is not due.
        Nothing = "not due",
    }
}

/// A moment as reports have it; none if it never comes.
fn told(at: Time) -> Option<String> {
    (at < Time::NEVER).then(|| timestamp(at))
}
