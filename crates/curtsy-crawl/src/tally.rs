//! Counts the rows and requests of a run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use curtsy_core::evidence::friction_signal;
use curtsy_core::host::{
    AskKind, Class, Confidence, Findings, Gate, Outcome, Reason, RobotsReason,
};
use curtsy_core::policy::Policy;
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, HostKey};
use curtsy_engine::{Batch, Boxed, Ending, Listener, Note, PageSource, Row, Sink, SinkError, Step};
use curtsy_fetch::GuardRefusal;
use curtsy_sink::read::DecisionRow;
use curtsy_sink::{Cause, error_name};
use tokio::sync::Notify;

/// The largest number of hosts, and of friction signals, that are kept by name.
pub(crate) const NAMES_MAX: usize = 10_000;
/// The largest number of reasons that are counted separately.
pub(crate) const REASONS_MAX: usize = 100;
/// The name of all other reasons.
pub(crate) const OTHER_REASONS: &str = "other reasons";
/// The largest number of hosts that are named with a reason.
pub(crate) const HOSTS_SHOWN: usize = 3;

/// Counts rows after the other sinks have accepted them, and notices when rows are not accepted.
#[derive(Default)]
pub(crate) struct Tally {
    /// The policy's limit on bodies, for reasons.
    body_max: Option<u64>,
    counted: Mutex<Counted>,
    /// Why the last rows were not accepted.
    trouble: Mutex<Option<String>>,
    /// Hosts with requests in flight, and their number.
    in_flight: Mutex<HashMap<HostKey, u32>>,
    /// Requests whose turn has come.
    requests: AtomicU64,
    /// Wakes who waits for the next request.
    sent: Notify,
}

/// The counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    /// Pages by outcome.
    pub(crate) endings: BTreeMap<&'static str, u64>,
    /// Refusals by gate.
    pub(crate) refused: BTreeMap<&'static str, u64>,
    /// Responses by status.
    pub(crate) statuses: BTreeMap<u16, u64>,
    pub(crate) rows: u64,
    pub(crate) fetched: u64,
    pub(crate) cached: u64,
    /// Pages by where their content comes from.
    pub(crate) sources: BTreeMap<&'static str, u64>,
    /// Pages that needed no request because another crawl had fetched them.
    pub(crate) cached_shared: u64,
    /// URLs that needed no request because another crawl knew that they are missing.
    pub(crate) missing_shared: u64,
    pub(crate) used: u64,
    pub(crate) sitemaps: u64,
    pub(crate) retries: u64,
    pub(crate) body_bytes: u64,
    /// Pages with more links than are read, and the number of further links.
    pub(crate) links_cut_pages: u64,
    pub(crate) links_cut: u64,
    pub(crate) hosts: BTreeSet<HostKey>,
    pub(crate) friction: Vec<String>,
    /// Hosts with a port whose last try failed to connect, and the cause.
    pub(crate) unreached: BTreeMap<String, &'static str>,
    /// Pages without content, by reason.
    pub(crate) reasons: BTreeMap<String, Happened>,
    /// The last request to each host that may cause a wait.
    pub(crate) setbacks: BTreeMap<HostKey, Setback>,
    /// When the last row was accepted.
    pub(crate) last_row: Option<Instant>,
    /// Hosts that are requested although their robots.txt could not be fetched.
    pub(crate) unsure: BTreeMap<HostKey, Confidence>,
}

/// The number of pages with one reason.
#[derive(Clone, Debug, Default)]
pub(crate) struct Happened {
    pub(crate) urls: u64,
    /// Some of their hosts, if the cause is the host.
    pub(crate) hosts: BTreeSet<HostKey>,
    /// What the user can do, if it is the same for all.
    pub(crate) hint: Option<String>,
}

/// A request that was refused or failed.
#[derive(Clone, Debug)]
pub(crate) struct Setback {
    pub(crate) url: CrawlUrl,
    /// The result in words.
    pub(crate) answer: String,
    /// The wait that it asked for (Retry-After).
    pub(crate) asked: Option<Duration>,
    pub(crate) at: Time,
}

impl Setback {
    /// Reads it from a crawl's file; none if its URL is invalid.
    pub(crate) fn of(row: &DecisionRow) -> Option<Setback> {
        let answer = match row.http_status {
            Some(status) => format!("answered {status}"),
            None => format!("failed ({})", row.reason.as_deref().or(row.error.as_deref())?),
        };
        let url = CrawlUrl::parse(&row.url).ok()?;
        Some(Setback { url, answer, asked: row.retry_after, at: row.at? })
    }
}

impl Tally {
    pub(crate) fn new(policy: &Policy) -> Tally {
        Tally { body_max: Some(policy.body.decoded_max), ..Tally::default() }
    }

    /// Returns the hosts without a fetched robots.txt, if there are more than `known`.
    pub(crate) fn unsure(&self, known: usize) -> Option<BTreeMap<HostKey, Confidence>> {
        let counted = self.lock();
        (counted.unsure.len() > known).then(|| counted.unsure.clone())
    }

    pub(crate) fn counted(&self) -> Counted {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns why rows are not accepted, while they are not.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.in_trouble().clone()
    }

    fn in_trouble(&self) -> MutexGuard<'_, Option<String>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a host has a request of this crawl in flight.
    pub(crate) fn is_in_flight(&self, host: &HostKey) -> bool {
        self.in_flight().contains_key(host)
    }

    fn in_flight(&self) -> MutexGuard<'_, HashMap<HostKey, u32>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of requests that were made until now.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Waits until a request has been sent since the last call returned.
    pub(crate) async fn next_request(&self) {
        self.sent.notified().await;
    }

    /// Rows, pages fetched and bytes, without a copy.
    pub(crate) fn glance(&self) -> (u64, u64, u64, usize) {
        let counted = self.lock();
        (counted.rows, counted.fetched, counted.body_bytes, counted.hosts.len())
    }
}

impl Sink for Tally {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        *self.in_trouble() = None;
        let mut counted = self.lock();
        if !batch.rows.is_empty() {
            counted.last_row = Some(Instant::now());
        }
        batch.rows.iter().for_each(|row| counted.row(row, self.body_max));
        batch.steps.iter().for_each(|step| counted.step(step));
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Listener for Tally {
    fn note(&self, note: Note<'_>) {
        match note {
            Note::NotKept { why } => *self.in_trouble() = Some(why.to_owned()),
            Note::Sending { host, .. } => {
                self.requests.fetch_add(1, Ordering::Relaxed);
                self.sent.notify_one();
                *self.in_flight().entry(host.clone()).or_default() += 1;
            }
            Note::Ended { host, .. } => {
                let mut in_flight = self.in_flight();
                if let Some(requests) = in_flight.get_mut(host) {
                    *requests -= 1;
                    if *requests == 0 {
                        in_flight.remove(host);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Counted {
    fn row(&mut self, row: &Row, body_max: Option<u64>) {
        self.look_at_robots(&row.final_url, &row.findings);
        if let Ending::Fetched(outcome) | Ending::Dead(outcome) = &row.ending {
            self.setback(&row.final_url, outcome, row.at);
        }
        if row.kind == AskKind::Sitemap {
            self.sitemaps += 1;
            if let Ending::Fetched(outcome) | Ending::Dead(outcome) = &row.ending {
                self.reached(outcome, &row.final_url);
                self.friction(outcome, &row.final_url);
            }
            return;
        }
        self.rows += 1;
        if self.hosts.len() < NAMES_MAX && !self.hosts.contains(row.url.host()) {
            self.hosts.insert(row.url.host().clone());
        }
        if let Some(cause) = Cause::of_row(row, body_max) {
            self.happened(cause, row);
        }
        *self.endings.entry(ending_name(&row.ending)).or_default() += 1;
        match &row.ending {
            Ending::Fetched(outcome) => {
                self.fetched += 1;
                self.answer(outcome, row);
            }
            Ending::LoginWall(outcome) => self.answer(outcome, row),
            Ending::Dead(outcome) => {
                self.reached(outcome, &row.final_url);
                self.answer(outcome, row);
            }
            Ending::Cached => self.cached += 1,
            Ending::Refused(gate) => *self.refused.entry(gate.name()).or_default() += 1,
            Ending::Unheard | Ending::LostRedirect => {}
        }
        let html = row.page.as_ref().and_then(|p| p.document.html.as_ref());
        if let Some(cut) = html.map(|html| html.cut.links).filter(|cut| *cut > 0) {
            self.links_cut_pages += 1;
            self.links_cut += cut as u64;
        }
        if let Some(page) = &row.page {
            *self.sources.entry(page.source.name()).or_default() += 1;
            if page.source == PageSource::Shared {
                match row.ending {
                    Ending::Cached => self.cached_shared += 1,
                    Ending::Dead(Outcome::Answered { .. }) => self.missing_shared += 1,
                    _ => {}
                }
            }
        }
        if let Some(body) = row.page.as_ref().and_then(|p| p.body.as_ref()) {
            self.used += 1;
            self.body_bytes += body.len() as u64;
        }
    }

    /// Counts why a page has no content.
    fn happened(&mut self, cause: Cause, row: &Row) {
        let what = match self.reasons.len() < REASONS_MAX || self.reasons.contains_key(&*cause.what)
        {
            true => cause.what.into_owned(),
            false => OTHER_REASONS.to_owned(),
        };
        let happened = self.reasons.entry(what).or_default();
        happened.urls += 1;
        if cause.by_host && happened.hosts.len() < HOSTS_SHOWN {
            happened.hosts.insert(row.final_url.host().clone());
        }
        if cause.by_host && happened.urls == 1 {
            happened.hint = cause.detail;
        }
    }

    /// Notes a request that may cause a wait of its host.
    fn setback(&mut self, url: &CrawlUrl, outcome: &Outcome, at: Time) {
        let refused = outcome.status() == Some(403)
            || matches!(outcome.class(), Class::ToldToWait | Class::SiteWide | Class::Ambiguous);
        let host = url.host();
        if !refused || self.setbacks.len() >= NAMES_MAX && !self.setbacks.contains_key(host) {
            return;
        }
        let answer = answer_of(outcome, host);
        let asked = match outcome {
            Outcome::Answered { retry_after, .. } => *retry_after,
            Outcome::Failed(_) | Outcome::NotSent => None,
        };
        self.setbacks.insert(host.clone(), Setback { url: url.clone(), answer, asked, at });
    }

    /// Notes a host that is requested although its robots.txt could not be fetched.
    fn look_at_robots(&mut self, url: &CrawlUrl, findings: &Findings) {
        let found = findings.of(Gate::Robots);
        let standing = match found.reason {
            Reason::Robots(RobotsReason::UnreachableAllowed) => Confidence::Current,
            Reason::Robots(RobotsReason::Allows { standing: Confidence::LastGood, .. }) => {
                Confidence::LastGood
            }
            _ => return,
        };
        if self.unsure.len() < NAMES_MAX && !self.unsure.contains_key(url.host()) {
            self.unsure.insert(url.host().clone(), standing);
        }
    }

    fn answer(&mut self, outcome: &Outcome, row: &Row) {
        if let Some(status) = outcome.status() {
            *self.statuses.entry(status).or_default() += 1;
        }
        self.friction(outcome, &row.final_url);
    }

    fn step(&mut self, step: &Step) {
        if let curtsy_engine::Then::Retry(_) = step.then {
            self.retries += 1;
        }
        self.reached(&step.outcome, &step.url);
        self.look_at_robots(&step.url, &step.findings);
        self.setback(&step.url, &step.outcome, step.at);
        self.friction(&step.outcome, &step.url);
    }

    /// Notes whether a connection to a host succeeded.
    fn reached(&mut self, outcome: &Outcome, url: &CrawlUrl) {
        let host = GuardRefusal::host(url);
        match outcome {
            // Failures on our own side are reported separately.
            Outcome::Failed(problem) if problem.class() == Class::Ours => {}
            Outcome::Failed(problem) if problem.may_be_ours() || problem.is_refusal() => {
                if self.unreached.len() < NAMES_MAX {
                    self.unreached.extend(error_name(outcome).map(|word| (host, word)));
                }
            }
            _ => drop(self.unreached.remove(&host)),
        }
    }

    fn friction(&mut self, outcome: &Outcome, url: &CrawlUrl) {
        if self.friction.len() < NAMES_MAX {
            self.friction.extend(friction_signal(outcome, url));
        }
    }
}

/// Returns the result of a request in words that follow the URL.
fn answer_of(outcome: &Outcome, host: &HostKey) -> String {
    match outcome.status() {
        Some(status) => format!("answered {status}"),
        None => {
            let cause = Cause::of_outcome(outcome, host, None, None);
            format!("failed ({})", cause.map_or_else(String::new, |cause| cause.what.into_owned()))
        }
    }
}

/// Returns the word for the outcome of a URL in reports and progress.
pub(crate) fn ending_name(ending: &Ending) -> &'static str {
    match ending {
        Ending::Fetched(_) => "fetched",
        Ending::Cached => "cached",
        Ending::Refused(_) => "refused",
        Ending::Dead(_) => "dead",
        Ending::Unheard => "unheard",
        Ending::LostRedirect => "lost_redirect",
        Ending::LoginWall(_) => "login_wall",
    }
}
