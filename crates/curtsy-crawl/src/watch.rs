//! The progress of a running crawl.

use std::time::Duration;

use curtsy_core::host::{Gate, Reason};
use curtsy_core::time::Time;
use curtsy_core::url::HostKey;

/// Receives the progress of a crawl.
pub trait Watch {
    /// Returns the least time between two calls of `see`.
    fn every(&self) -> Duration {
        Duration::from_secs(1)
    }
    /// Takes the progress.
    fn see(&mut self, progress: &Progress) {
        let _ = progress;
    }
    /// Takes an event that a person should know at once: a store that cannot be written, an order
    /// to stop.
    fn note(&mut self, text: &str) {
        let _ = text;
    }
}

/// Ignores the progress of a crawl.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// The progress of a crawl.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Rows of pages, fetched or not.
    pub rows: u64,
    /// Pages fetched.
    pub fetched: u64,
    /// Bytes of stored bodies.
    pub body_bytes: u64,
    /// Requests that were made.
    pub requests: u64,
    /// URLs without an outcome.
    pub queued: u64,
    /// Of these, as many as the budget of pages allows in this run.
    pub in_budget: u64,
    /// The rest of the budget of time.
    pub time_left: Option<Duration>,
    /// Hosts with rows.
    pub hosts: usize,
    /// The time since the beginning of the run.
    pub took: Duration,
    /// The least time that the queued URLs take: each host's queue at its pace, after its wait.
    /// None if nothing is queued.
    pub left: Option<Duration>,
    /// The hosts with work that wait longest.
    pub waiting: Vec<Waiting>,
}

/// A host with work that has to wait.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The host.
    pub host: HostKey,
    /// The end of the wait.
    pub until: Time,
    /// The length of the wait.
    pub wait: Duration,
    /// Its URLs without an outcome.
    pub queued: u64,
    /// The reason as a sentence.
    pub why: String,
    /// The gate at which it waits.
    pub gate: Gate,
    /// The gate's finding.
    pub reason: Reason,
}
