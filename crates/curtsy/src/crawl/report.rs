//! What a run came to.

use std::collections::BTreeMap;
use std::time::Duration;

use curtsy_core::evidence::RunEvidence;
use curtsy_core::time::Time;
use serde::Serialize;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Nothing is left to do.
    Complete,
    /// It was told to stop.
    Stopped,
    /// What is left must wait longer than the crawl's patience, at least until then.
    Waits(Time),
}

/// What a run came to. A run is one command; a crawl may take several.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The run's own name.
    pub run: String,
    /// `complete`, `stopped` or `waits`.
    pub ended: &'static str,
    /// When what is left falls due, if it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_after: Option<String>,
    /// Rows of pages, fetched or not.
    pub rows: u64,
    /// Pages fetched.
    pub fetched: u64,
    /// Pages that needed no request.
    pub cached: u64,
    /// Pages by how they ended.
    pub endings: BTreeMap<&'static str, u64>,
    /// Refusals by gate.
    pub refused: BTreeMap<&'static str, u64>,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Tries that failed and were repeated later.
    pub retries: u64,
    /// Sitemaps read or not found.
    pub sitemaps: u64,
    /// Requests written: pages, robots.txt, hops of a robots.txt, sitemaps, probes.
    pub requests: BTreeMap<&'static str, u64>,
    /// Hosts with rows.
    pub hosts: usize,
    /// Bytes of bodies kept.
    pub body_bytes: u64,
    /// URLs that are not settled.
    pub queued: u64,
    /// Pages charged to the whole crawl.
    pub pages_charged: u64,
    /// How long it took.
    pub took_ms: u64,
    /// Warnings about budgets and the like.
    pub warnings: Vec<String>,
    /// The same as evidence of the ingestion contract.
    pub evidence: RunEvidence,
    /// How it ended.
    #[serde(skip)]
    pub how: Ended,
    /// How long it took.
    #[serde(skip)]
    pub took: Duration,
}

/// The kinds of requests, in the order in which the engine counts them.
pub(super) const REQUEST_KINDS: [&str; 5] = ["page", "robots", "robots_hop", "sitemap", "probe"];
