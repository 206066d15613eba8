//! The report on a run.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use curtsy_core::evidence::{DiscoverySource, RunEvidence, RunFigures, timestamp};
use curtsy_core::host::{BudgetReason, Gate, Problem};
use curtsy_core::policy::Mode;
use curtsy_core::time::Time;
use curtsy_core::url::HostKey;
use curtsy_engine::Over;
use curtsy_engine::discover::{Discovery, LeftRegion};
use curtsy_fetch::GuardRefusal;
use curtsy_sink::read::CrawlRunRow;
use curtsy_store::MachineStore;
use serde::{Deserialize, Serialize, Serializer};

use crate::tally::{Counted, Happened};
use crate::{Compared, JobSpec, LookedFor, Wait};

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RunEnding {
    /// Nothing was left to do.
    Complete,
    /// It was stopped.
    Stopped,
    /// The remaining URLs must wait longer than the crawl's patience, at least until this time.
    Waits(Time),
    /// The budget is used up: pages, or time.
    Spent(BudgetReason),
    /// A failure on our own side that does not end by waiting.
    Ours(Problem),
}

/// The report on a run. A run is one command; a crawl may need several.
#[derive(Clone, Debug, Serialize)]
pub struct CrawlReport {
    /// The trace id.
    pub run: String,
    /// `complete`, `stopped`, `waits`, `budget` or `our_side`.
    pub ended: &'static str,
    /// When the remaining URLs are due, if they wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_after: Option<String>,
    /// Rows of pages, fetched or not.
    pub rows: u64,
    /// Pages fetched.
    pub fetched: u64,
    /// Pages that needed no request.
    pub cached: u64,
    /// Of these, pages that another crawl had fetched.
    pub cached_shared: u64,
    /// URLs that were not requested because another crawl knew that they are missing.
    pub missing_shared: u64,
    /// Pages by the source of their content: `network`, `crawl` (this file held it) or `shared`
    /// (another crawl fetched it).
    pub sources: BTreeMap<&'static str, u64>,
    /// Pages by outcome.
    pub endings: BTreeMap<&'static str, u64>,
    /// Refusals by gate.
    pub refused: BTreeMap<&'static str, u64>,
    /// Responses by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Why pages have no content, the most frequent first.
    pub reasons: Vec<ReasonCount>,
    /// Parts of sites in which links were left as traps, the largest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<LeftPart>,
    /// The budget that is used up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetEnd>,
    /// The time since the crawl's last progress, if its patience ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patience_ms: Option<u64>,
    /// Hosts that must wait, if the crawl was stopped or if the remaining URLs must wait longer
    /// than its patience.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// Failed tries that were repeated later.
    pub retries: u64,
    /// Sitemaps read or not found.
    pub sitemaps: u64,
    /// Requests written: pages, robots.txt, hops of a robots.txt, sitemaps, probes.
    pub requests: BTreeMap<&'static str, u64>,
    /// Number of hosts with rows.
    pub hosts: usize,
    /// Bytes of stored bodies.
    pub body_bytes: u64,
    /// Pages with more links than are read.
    pub links_cut_pages: u64,
    /// Links of these pages that were not read.
    pub links_cut: u64,
    /// URLs without an outcome.
    pub queued: u64,
    /// Pages charged to this run.
    pub pages_charged: u64,
    /// Since when the crawl is complete, if there was nothing left to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete_since: Option<String>,
    /// Flags that differ from those with which the crawl became complete.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed_flags: Vec<&'static str>,
    /// Pages that the crawl's file holds, if there was nothing left to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages_held: Option<u64>,
    /// The changes of held pages, if the crawl began anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<Compared>,
    /// The settings that decide which found URLs it takes.
    pub looked_for: LookedFor,
    /// Its duration.
    pub took_ms: u64,
    /// Warnings to the user.
    pub warnings: Vec<String>,
    /// Hosts whose last try failed to connect, each with the cause: `dns`, `connect`, `tls_issuer`,
    /// `guard`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unreached: BTreeMap<String, &'static str>,
    /// Hosts that were not dialled, why, and what would allow them.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "refusals")]
    pub not_dialled: Vec<GuardRefusal>,
    /// The evidence of the ingestion contract.
    pub evidence: RunEvidence,
    /// Whether it ended because the reader of the standard output was gone.
    #[serde(skip)]
    pub unread: bool,
    /// How it ended.
    #[serde(skip)]
    pub how: RunEnding,
    /// Its duration.
    #[serde(skip)]
    pub took: Duration,
}

fn refusals<S: Serializer>(refusals: &[GuardRefusal], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(refusals.iter().map(|refused| {
        let GuardRefusal { host, address, what, allow } = refused;
        serde_json::json!({"host": host, "address": address, "what": what, "allow": allow})
    }))
}

/// How many pages have no content for one reason.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReasonCount {
    /// The reason, in words.
    pub reason: String,
    /// Number of pages.
    pub urls: u64,
    /// Some of their hosts, if the cause is the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// What the user can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl ReasonCount {
    /// Returns the reasons in the report of a run that has ended.
    pub(crate) fn of_run(run: &CrawlRunRow) -> Vec<ReasonCount> {
        let figures: Option<serde_json::Value> =
            run.figures.as_deref().and_then(|figures| serde_json::from_str(figures).ok());
        let reasons = figures.map(|figures| figures["reasons"].clone());
        reasons.and_then(|reasons| serde_json::from_value(reasons).ok()).unwrap_or_default()
    }
}

/// A part of a site in which links were left as traps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftPart {
    /// The host.
    pub host: String,
    /// The part: a folder, or a shape of URLs as `/item/N?sort`.
    pub part: String,
    /// The reason, in words.
    pub why: String,
    /// How many different links were left. Only some of them have rows.
    pub links: u64,
}

impl LeftPart {
    /// Returns what a crawl has left.
    pub(crate) fn all(discovery: &Discovery) -> Vec<LeftPart> {
        let part = |left: LeftRegion| {
            let LeftRegion { host, name, reason, links } = left;
            LeftPart { host, part: name, why: reason.words(), links }
        };
        discovery.left_regions().into_iter().take(LEFT_PARTS_MAX).map(part).collect()
    }
}

/// Parts of sites that a report names.
const LEFT_PARTS_MAX: usize = 100;

/// The budget that is used up.
#[derive(Clone, Debug, Serialize)]
pub struct BudgetEnd {
    /// `pages` or `time`.
    pub limit: &'static str,
    /// The limit itself: pages, or milliseconds.
    pub max: u64,
    /// URLs that were not requested because of it.
    pub left: u64,
}

impl BudgetEnd {
    fn of(spec: &JobSpec, how: &RunEnding, left: u64) -> Option<BudgetEnd> {
        let budget = &spec.policy.budget;
        match how {
            RunEnding::Spent(BudgetReason::TimeLimit) => {
                let max = u64::try_from(budget.time?.as_millis()).unwrap_or(u64::MAX);
                Some(BudgetEnd { limit: "time", max, left })
            }
            RunEnding::Spent(_) => Some(BudgetEnd { limit: "pages", max: budget.pages?, left }),
            _ => None,
        }
    }
}

/// The last time that a date can express. What is due later waits for a person.
const FOR_A_PERSON: Time = Time::from_secs(253_402_300_799);

/// The kinds of requests, in the order in which the engine counts them.
pub(crate) const REQUEST_KINDS: [&str; 5] = ["page", "robots", "robots_hop", "sitemap", "probe"];

/// The data of a run that is over.
pub(crate) struct Done {
    pub(crate) name: String,
    pub(crate) over: Option<Over>,
    pub(crate) counted: Counted,
    /// The number of planned pages and where they came from, if the face made a plan.
    pub(crate) planned: Option<(u64, Vec<DiscoverySource>)>,
    pub(crate) sent: [u64; 5],
    pub(crate) warnings: Vec<String>,
    pub(crate) not_dialled: Vec<GuardRefusal>,
    /// Hosts that must wait.
    pub(crate) waits: Vec<Wait>,
    pub(crate) began: Instant,
}

impl Done {
    /// A run without work.
    pub(crate) fn nothing(began: Instant) -> Done {
        Done {
            name: String::new(),
            over: Some(Over::Empty),
            counted: Counted::default(),
            planned: None,
            sent: [0; 5],
            warnings: Vec::new(),
            not_dialled: Vec::new(),
            waits: Vec::new(),
            began,
        }
    }

    /// Makes the report.
    pub(crate) fn report(self, spec: &JobSpec, crawl: &MachineStore) -> CrawlReport {
        let Done { name, over, counted, planned, sent, warnings, not_dialled, waits, began } = self;
        let took = began.elapsed();
        let how = match over {
            Some(Over::Empty) => RunEnding::Complete,
            Some(Over::Waits(until)) => RunEnding::Waits(until),
            Some(Over::Spent(reason)) => RunEnding::Spent(reason),
            Some(Over::Ours(problem)) => RunEnding::Ours(problem),
            Some(Over::Stopped) | None => RunEnding::Stopped,
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
        // A run without rows reports the risk of its seeds' hosts.
        let begins: Vec<HostKey> = match counted.hosts.is_empty() {
            true => spec.seeds.iter().map(|seed| seed.host().clone()).collect(),
            false => Vec::new(),
        };
        let risk = counted.hosts.iter().chain(&begins).filter_map(|host| {
            let state = crawl.state(host).ok()?;
            Some(state.risk_score(&spec.policy, crawl.now()))
        });
        let queued = crawl.queued();
        let budget = BudgetEnd::of(spec, &how, queued);
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
            our_fault: matches!(how, RunEnding::Ours(_)),
            risk_score: risk.max().unwrap_or(0),
            took,
        };
        let mode = spec.policy.mode.unwrap_or(Mode::Standard);
        CrawlReport {
            ended: match how {
                RunEnding::Complete => "complete",
                RunEnding::Stopped => "stopped",
                RunEnding::Waits(_) => "waits",
                RunEnding::Spent(_) => "budget",
                RunEnding::Ours(_) => "our_side",
            },
            resume_after: match how {
                // A wait for a person has no end.
                RunEnding::Waits(until) => (until < FOR_A_PERSON).then(|| timestamp(until)),
                _ => None,
            },
            patience_ms: match how {
                RunEnding::Waits(_) => {
                    let patience = spec.policy.patience;
                    patience.map(|span| u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
                }
                _ => None,
            },
            rows: counted.rows,
            fetched: counted.fetched,
            cached: counted.cached,
            cached_shared: counted.cached_shared,
            missing_shared: counted.missing_shared,
            sources: counted.sources,
            endings: counted.endings,
            refused: counted.refused,
            statuses: counted.statuses,
            reasons: reasons(counted.reasons),
            left: Vec::new(),
            budget,
            waits,
            retries: counted.retries,
            sitemaps: counted.sitemaps,
            requests: REQUEST_KINDS.into_iter().zip(sent).filter(|(_, n)| *n > 0).collect(),
            hosts: counted.hosts.len(),
            body_bytes: counted.body_bytes,
            links_cut_pages: counted.links_cut_pages,
            links_cut: counted.links_cut,
            queued,
            pages_charged: crawl.pages(),
            complete_since: None,
            changed_flags: Vec::new(),
            pages_held: None,
            compared: None,
            looked_for: LookedFor::of(spec),
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            warnings,
            unreached: counted.unreached,
            not_dialled,
            evidence: RunEvidence::new(name.clone(), mode, figures),
            run: name,
            unread: false,
            how,
            took,
        }
    }
}

/// The reasons, the most frequent first.
fn reasons(counted: BTreeMap<String, Happened>) -> Vec<ReasonCount> {
    let mut reasons: Vec<ReasonCount> = counted
        .into_iter()
        .map(|(reason, Happened { urls, hosts, hint })| ReasonCount {
            reason,
            urls,
            hosts: hosts.iter().map(|host| host.as_str().to_owned()).collect(),
            hint,
        })
        .collect();
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.urls));
    reasons
}
