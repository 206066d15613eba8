//! What a run came to.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use curtsy_core::evidence::{DiscoverySource, RunEvidence, RunFigures, timestamp};
use curtsy_core::host::{Gate, Problem, Reason};
use curtsy_core::policy::Mode;
use curtsy_core::time::Time;
use curtsy_core::url::HostKey;
use curtsy_engine::Over;
use curtsy_store::Crawl;
use serde::Serialize;

use crate::JobSpec;
use crate::tally::Counted;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ended {
    /// Nothing is left to do.
    Complete,
    /// It was told to stop.
    Stopped,
    /// What is left must wait longer than the crawl's patience, at least until then.
    Waits(Time),
    /// The budget is used up: pages, or time.
    Spent(Reason),
    /// Our own side failed in a way that waiting does not mend.
    Ours(Problem),
}

/// What a run came to. A run is one command; a crawl may take several.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The run's own name.
    pub run: String,
    /// `complete`, `stopped`, `waits`, `budget` or `our_side`.
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
    /// Pages by where their content comes from: `network`, `crawl` (this file held it), `shared` (another crawl fetched it).
    pub sources: BTreeMap<&'static str, u64>,
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
pub(crate) const REQUEST_KINDS: [&str; 5] = ["page", "robots", "robots_hop", "sitemap", "probe"];

/// What is known when a run is over.
pub(crate) struct Done {
    pub(crate) name: String,
    pub(crate) over: Option<Over>,
    pub(crate) counted: Counted,
    /// How many pages were planned and where they came from, if somebody knows better than the crawl.
    pub(crate) planned: Option<(u64, Vec<DiscoverySource>)>,
    pub(crate) sent: [u64; 5],
    pub(crate) warnings: Vec<String>,
    pub(crate) began: Instant,
}

impl Done {
    /// The report.
    pub(crate) fn report(self, spec: &JobSpec, crawl: &Crawl) -> Report {
        let Done { name, over, counted, planned, sent, warnings, began } = self;
        let took = began.elapsed();
        let how = match over {
            Some(Over::Empty) => Ended::Complete,
            Some(Over::Waits(until)) => Ended::Waits(until),
            Some(Over::Spent(reason)) => Ended::Spent(reason),
            Some(Over::Ours(problem)) => Ended::Ours(problem),
            Some(Over::Stopped) | None => Ended::Stopped,
        };
        let mut sources = Vec::new();
        if counted.sitemaps > 0 {
            sources.push(DiscoverySource::Sitemap);
        }
        if sent[1] > 0 {
            sources.push(DiscoverySource::Robots);
        }
        if spec.discovery.follow_links {
            sources.push(DiscoverySource::Homepage);
        }
        // Of a run without rows it is that of the hosts where it was to begin.
        let begins: Vec<HostKey> = match counted.hosts.is_empty() {
            true => spec.seeds.iter().map(|seed| seed.host().clone()).collect(),
            false => Vec::new(),
        };
        let risk = counted.hosts.iter().chain(&begins).filter_map(|host| {
            let state = crawl.state(host).ok()?;
            Some(state.risk_score(&spec.policy, crawl.now()))
        });
        let queued = crawl.queued();
        let (planned, sources) = planned.unwrap_or((counted.rows + queued, sources));
        let figures = RunFigures {
            sources,
            planned,
            fetched: counted.fetched,
            fresh: counted.cached,
            used: counted.used,
            cache_hits: counted.cached,
            cache_misses: counted.fetched,
            friction: counted.friction,
            kept_off: counted.refused.contains_key(Gate::Risk.name()),
            our_fault: matches!(how, Ended::Ours(_)),
            risk_score: risk.max().unwrap_or(0),
            took,
        };
        let mode = spec.policy.mode.unwrap_or(Mode::Standard);
        Report {
            ended: match how {
                Ended::Complete => "complete",
                Ended::Stopped => "stopped",
                Ended::Waits(_) => "waits",
                Ended::Spent(_) => "budget",
                Ended::Ours(_) => "our_side",
            },
            resume_after: match how {
                Ended::Waits(until) => Some(timestamp(until)),
                _ => None,
            },
            rows: counted.rows,
            fetched: counted.fetched,
            cached: counted.cached,
            sources: counted.sources,
            endings: counted.endings,
            refused: counted.refused,
            statuses: counted.statuses,
            retries: counted.retries,
            sitemaps: counted.sitemaps,
            requests: REQUEST_KINDS.into_iter().zip(sent).filter(|(_, n)| *n > 0).collect(),
            hosts: counted.hosts.len(),
            body_bytes: counted.body_bytes,
            queued,
            pages_charged: crawl.pages(),
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            warnings,
            evidence: RunEvidence::new(name.clone(), mode, figures),
            run: name,
            how,
            took,
        }
    }
}
