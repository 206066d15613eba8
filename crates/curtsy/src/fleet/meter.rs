//! Metrics in Prometheus' text format: the page fetcher's names and types, and some of our own.
//!
//! No host is a label: a fleet has millions of hosts. A metric about hosts is a maximum or a count
//! over the hosts that this worker wrote last.

use std::cell::{RefCell, RefMut};
use std::collections::BTreeSet;
use std::fmt::{Display, Write};
use std::time::Duration;

use curtsy_core::evidence::{Sureness, circuit_open};
use curtsy_core::host::{
    AskKind, Class, Findings, Gate, HostState, RequestKind, RobotsStanding, Verdict,
};
use curtsy_core::limits::Hit;
use curtsy_core::policy::Policy;
use curtsy_core::time::Time;
use curtsy_core::url::HostKey;
use curtsy_engine::{
    Batch, Boxed, Ending, Listener, Note, Row, Sink, SinkError, Step, Then, WorkerMemory,
};

use super::log::{FleetLog, trouble};
use super::way_out::WayOut;

/// Hosts of which it is remembered that a warning was given.
const UNSURE_MAX: usize = 10_000;

const DURATIONS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
const SIZES: [f64; 9] = [1e3, 4e3, 16e3, 64e3, 256e3, 1_024e3, 4_096e3, 10_485_760.0, 67_108_864.0];
const LATE: [f64; 10] = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0];
const KINDS: [(RequestKind, &str); 5] = [
    (RequestKind::Page, "page"),
    (RequestKind::Robots, "robots"),
    (RequestKind::RobotsHop, "robots_hop"),
    (RequestKind::Sitemap, "sitemap"),
    (RequestKind::Probe, "probe"),
];

/// What a worker has done, counted.
pub(super) struct Meter<'l> {
    log: &'l FleetLog,
    way_out: &'l WayOut<'l>,
    counts: RefCell<MeterCounts>,
    /// Why the last batch was not kept; none if it was.
    not_kept: RefCell<Option<String>>,
    /// Hosts that a warning named because they are fetched although their robots.txt is
    /// unreachable.
    unsure: RefCell<BTreeSet<HostKey>>,
}

/// The counters and histograms of a worker.
#[derive(Default)]
struct MeterCounts {
    fetched: u64,
    failed: u64,
    skipped: u64,
    requeued: u64,
    retries: u64,
    opened: u64,
    closed: u64,
    /// Probes that were answered, and probes that failed.
    probes: [u64; 2],
    /// Requests by kind.
    sent: [u64; KINDS.len()],
    /// Requests that a limit ended, by limit.
    limits: [u64; Hit::ALL.len()],
    recoveries: u64,
    offered_again: u64,
    durations: MetricHistogram,
    sizes: MetricHistogram,
    late: MetricHistogram,
}

/// What others know, at the moment of a look.
#[derive(Clone, Debug, Default)]
pub(super) struct Elsewhere {
    pub(super) input_queue: u64,
    pub(super) dlq: u64,
    pub(super) rejected: u64,
    pub(super) dlq_put: u64,
    pub(super) rejected_put: u64,
    pub(super) cache: (u64, u64),
    pub(super) published: u64,
    pub(super) round_trips: u64,
    pub(super) store_down: bool,
    pub(super) network_down: bool,
    pub(super) ordered: bool,
}

impl<'l> Meter<'l> {
    pub(super) fn new(log: &'l FleetLog, way_out: &'l WayOut<'l>) -> Meter<'l> {
        Meter {
            log,
            way_out,
            counts: RefCell::default(),
            not_kept: RefCell::default(),
            unsure: RefCell::default(),
        }
    }

    /// Why rows can't be kept, if they can't.
    pub(super) fn not_kept(&self) -> Option<String> {
        self.not_kept.borrow().clone()
    }

    /// URLs that were offered again since Redis came back empty.
    pub(super) fn offered_again(&self) -> u64 {
        self.counts().offered_again
    }

    /// Pages so far, and failures.
    pub(super) fn pages(&self) -> (u64, u64) {
        let counts = self.counts();
        (counts.fetched, counts.failed)
    }

    fn counts(&self) -> RefMut<'_, MeterCounts> {
        self.counts.borrow_mut()
    }

    /// Warns once of a host that is fetched although its robots.txt is unreachable. If there are
    /// too many such hosts, warnings may repeat.
    fn look_at_robots(&self, host: &HostKey, findings: &Findings) {
        let found = findings.of(Gate::Robots);
        let unsure = Sureness::of(found) == Some(Sureness::Low) && found.verdict == Verdict::Go;
        let mut known = self.unsure.borrow_mut();
        if !unsure {
            if Sureness::of(found) == Some(Sureness::High) {
                known.remove(host);
            }
            return;
        }
        if known.len() >= UNSURE_MAX {
            known.clear();
        }
        if known.insert(host.clone()) {
            let message =
                format!("robots.txt of {host} could not be fetched: allowed, low confidence");
            let fields = [("host", host.as_str().into()), ("confidence", "low".into())];
            self.log.warn("robots_low_confidence", &message, &fields);
        }
    }

    fn row(&self, row: &Row) {
        self.look_at_robots(row.final_url.host(), &row.findings);
        let mut counts = self.counts();
        if let Some(page) = row.webpage() {
            counts.fetched += 1;
            counts.sizes.note(&SIZES, page.body.len() as f64);
        }
        if row.kind != AskKind::Page {
            return;
        }
        match &row.ending {
            Ending::Dead(_) | Ending::LostRedirect | Ending::Unheard => counts.failed += 1,
            Ending::Refused(Gate::Robots) => {
                counts.skipped += 1;
                let host = row.url.host().as_str();
                let message = format!("robots.txt of {host} does not allow this URL");
                self.log.info("skipped_robots", &message, &[("host", host.into())]);
            }
            Ending::LoginWall(_) => {
                let host = row.url.host().as_str();
                let message = format!("{host} wants a login for this URL, which is never tried");
                self.log.info("skipped_login", &message, &[("host", host.into())]);
            }
            _ => {}
        }
    }

    fn step(&self, step: &Step) {
        self.look_at_robots(step.url.host(), &step.findings);
        let mut counts = self.counts();
        let is_site_wide = step.outcome.class() == Class::SiteWide;
        if step.kind == RequestKind::Probe {
            counts.probes[usize::from(is_site_wide)] += 1;
        }
        if let Then::Retry(_) = step.then {
            counts.requeued += u64::from(is_site_wide);
            counts.retries += u64::from(!is_site_wide);
        }
    }

    /// Everything as Prometheus reads it.
    pub(super) fn render(
        &self,
        memory: &WorkerMemory,
        policy: &Policy,
        now: Time,
        elsewhere: &Elsewhere,
    ) -> String {
        let hosts = Hosts::of(memory, policy, now);
        let counts = self.counts();
        let paused = [
            ("sink", self.not_kept.borrow().is_some()),
            ("store", elsewhere.store_down),
            ("network", elsewhere.network_down),
            ("order", elsewhere.ordered),
        ];
        let mut out = MetricsText(String::with_capacity(8 * 1024));
        // The first sixteen are the page fetcher's.
        out.counter("pages_fetched_total", "Successful fetches", counts.fetched);
        let help = "URL-specific permanent failures (after retries)";
        out.counter("pages_failed_total", help, counts.failed);
        out.counter("pages_skipped_robots_total", "Skipped due to robots.txt", counts.skipped);
        let help = "Re-enqueued due to site-wide failure";
        out.counter("pages_requeued_total", help, counts.requeued);
        out.counter("retries_total", "Total retry attempts", counts.retries);
        out.counter("dlq_enqueued_total", "URLs sent to DLQ", elsewhere.dlq_put);
        let help = "Times circuit transitioned to open";
        out.counter("circuit_breaker_opened_total", help, counts.opened);
        let help = "Times circuit transitioned to closed";
        out.counter("circuit_breaker_closed_total", help, counts.closed);
        let probes = [("success", counts.probes[0]), ("failure", counts.probes[1])];
        out.counters("circuit_breaker_probes_total", "Probe attempts", "result", &probes);
        let help = "URLs in crawler_queue and taken from it";
        out.gauge("input_queue_size", help, elsewhere.input_queue);
        out.gauge("dlq_size", "Current DLQ size", elsewhere.dlq);
        let help = "0=closed, 1=open, 2=half_open; maximum over hosts";
        out.gauge("circuit_breaker_state", help, hosts.state);
        let help = "Current consecutive failure count; maximum over hosts";
        out.gauge("circuit_breaker_consecutive_failures", help, hosts.failures);
        let help = "Current backoff duration; maximum over hosts";
        out.gauge("circuit_breaker_current_backoff_seconds", help, hosts.backoff.as_secs_f64());
        out.histogram(
            "fetch_duration_seconds",
            "HTTP request duration",
            &DURATIONS,
            &counts.durations,
        );
        out.histogram("content_size_bytes", "Downloaded page size", &SIZES, &counts.sizes);
        out.counter("cache_hits_total", "Pages that were still fresh", elsewhere.cache.0);
        out.counter("cache_misses_total", "Pages that were not fresh", elsewhere.cache.1);
        let help = "Entries that are not URLs or cannot be processed";
        out.counter("rejected_total", help, elsewhere.rejected_put);
        let help = "Events acknowledged by the brokers";
        out.counter("events_published_total", help, elsewhere.published);
        let requests = KINDS.map(|(kind, word)| (word, counts.sent[kind as usize]));
        out.counters("requests_total", "Requests sent, by kind", "kind", &requests);
        out.counter("redis_round_trips_total", "Round trips to Redis", elsewhere.round_trips);
        let help = "Times Redis may have lost writes";
        out.counter("recoveries_total", help, counts.recoveries);
        let help = "Hosts by the state of their breaker";
        out.gauges("circuit_breaker_hosts", help, "state", &hosts.states());
        out.gauges("hosts_waiting", "Hosts that must wait, by reason", "reason", &hosts.waiting);
        let help = "Current size of the list of rejected entries";
        out.gauge("rejected_size", help, elsewhere.rejected);
        let paused = paused.map(|(reason, is)| (reason, u64::from(is)));
        out.gauges("paused", "Whether the worker is paused, by reason", "reason", &paused);
        let hits: Vec<_> =
            Hit::ALL.iter().map(|hit| (hit.name(), counts.limits[*hit as usize])).collect();
        out.counters("limit_hits_total", "Requests ended by a limit, by limit", "limit", &hits);
        let unreached = self.way_out.counts();
        out.counters("unreached_total", "Failed connections, by reason", "reason", &unreached);
        let help = "How long after its turn a request started";
        out.histogram("start_lateness_seconds", help, &LATE, &counts.late);
        out.0
    }
}

impl Sink for Meter<'_> {
    /// Comes after the sinks that keep rows, so it counts what is kept.
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        batch.rows.iter().for_each(|row| self.row(row));
        batch.steps.iter().for_each(|step| self.step(step));
        if self.not_kept.take().is_some() {
            self.log.info("sink_back", "rows can be kept again", &[]);
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Listener for Meter<'_> {
    fn note(&self, note: Note<'_>) {
        match note {
            Note::Sent { kind, late, .. } => {
                let mut counts = self.counts();
                counts.sent[kind as usize] += 1;
                counts.late.note(&LATE, late.as_secs_f64());
            }
            Note::Sending { .. } | Note::Ended { took: None, .. } => {}
            Note::Ended { host, kind, took: Some(took), outcome } => {
                if kind == RequestKind::Page {
                    self.counts().durations.note(&DURATIONS, took.as_secs_f64());
                }
                self.way_out.ended(host, kind, &outcome);
            }
            Note::NoLine { host, problem, .. } => self.way_out.no_line(host, problem),
            Note::LimitHit { hit } => self.counts().limits[hit as usize] += 1,
            Note::BreakerOpened { host, probe_in } => {
                self.counts().opened += 1;
                let fields = [
                    ("host", host.as_str().into()),
                    ("backoff_seconds", probe_in.as_secs_f64().into()),
                ];
                self.log.warn("circuit_open", &circuit_open(host, probe_in), &fields);
            }
            Note::BreakerClosed { host } => {
                self.counts().closed += 1;
                let message = format!("Circuit closed: {host} answers again.");
                self.log.info("circuit_closed", &message, &[("host", host.as_str().into())]);
            }
            Note::OwnTrouble => self.way_out.network_down(),
            Note::Recovering => {
                self.counts().recoveries += 1;
                let message = "the store had lost something: what is known here is written back";
                self.log.warn("recovering", message, &[]);
            }
            Note::OfferedAgain { urls } => {
                self.counts().offered_again += urls as u64;
                let message = "redis came back empty: what was in hand here is offered again";
                self.log.warn("offered_again", message, &[("urls", urls.into())]);
            }
            Note::NotKept { why } => {
                let before = self.not_kept.replace(Some(why.to_owned()));
                if before.as_deref() != Some(why) {
                    let message = "rows can't be kept, so nothing more is fetched";
                    self.log.warn("sink_away", message, &trouble(why));
                }
            }
        }
    }
}

/// Metrics as text. Writing to a string does not fail.
struct MetricsText(String);

impl MetricsText {
    /// Begins a metric, and returns its whole name.
    fn begin(&mut self, name: &str, kind: &str, help: &str) -> String {
        let name = format!("page_fetcher_{name}");
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        name
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        let name = self.begin(name, "counter", help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        let name = self.begin(name, "gauge", help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn counters(&mut self, name: &str, help: &str, label: &str, values: &[(&str, u64)]) {
        let name = self.begin(name, "counter", help);
        self.labelled(&name, label, values);
    }

    fn gauges(&mut self, name: &str, help: &str, label: &str, values: &[(&str, u64)]) {
        let name = self.begin(name, "gauge", help);
        self.labelled(&name, label, values);
    }

    fn labelled(&mut self, name: &str, label: &str, values: &[(&str, u64)]) {
        for (word, value) in values {
            let _ = writeln!(self.0, "{name}{{{label}=\"{word}\"}} {value}");
        }
    }

    fn histogram(&mut self, name: &str, help: &str, bounds: &[f64], values: &MetricHistogram) {
        let name = self.begin(name, "histogram", help);
        values.render(bounds, &mut self.0, &name);
    }
}

/// How often values fell below each of some bounds, of which there are at most twelve.
#[derive(Default)]
struct MetricHistogram {
    counts: [u64; 12],
    sum: f64,
    total: u64,
}

impl MetricHistogram {
    fn note(&mut self, bounds: &[f64], value: f64) {
        if let Some(at) = bounds.iter().position(|bound| value <= *bound) {
            self.counts[at] += 1;
        }
        self.sum += value;
        self.total += 1;
    }

    fn render(&self, bounds: &[f64], out: &mut String, name: &str) {
        let mut below = 0;
        for (bound, count) in bounds.iter().zip(&self.counts) {
            below += count;
            let _ = writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {below}");
        }
        let (sum, total) = (self.sum, self.total);
        let _ = writeln!(
            out,
            "{name}_bucket{{le=\"+Inf\"}} {total}\n{name}_sum {sum}\n{name}_count {total}"
        );
    }
}

/// What the hosts that a worker wrote last come to.
#[derive(Debug, Default)]
struct Hosts {
    /// The maximum over hosts: 0 closed, 1 open, 2 half-open.
    state: u8,
    failures: u8,
    backoff: Duration,
    closed: u64,
    open: u64,
    half_open: u64,
    waiting: [(&'static str, u64); 4],
}

impl Hosts {
    fn of(memory: &WorkerMemory, policy: &Policy, now: Time) -> Hosts {
        let mut hosts = Hosts {
            waiting: [("pace", 0), ("backoff", 0), ("breaker", 0), ("robots", 0)],
            ..Hosts::default()
        };
        for (host, (_, state)) in &memory.hosts {
            let delay = policy.for_host(host.as_str()).pace.delay_min;
            hosts.count(state, delay, now);
        }
        hosts
    }

    fn count(&mut self, state: &HostState, delay: Duration, now: Time) {
        let until = state.breaker.until.filter(|_| state.breaker.level > 0);
        let probing = state.leases.iter().any(|lease| lease.probe && lease.until > now);
        self.failures = self.failures.max(state.breaker.failures);
        match until {
            None => self.closed += 1,
            Some(until) => {
                let half = probing || until <= now;
                self.state = self.state.max(if half { 2 } else { 1 });
                self.half_open += u64::from(half);
                self.open += u64::from(!half);
                self.backoff = self.backoff.max(until - now);
            }
        }
        let waits = [
            state.last_start.is_some_and(|start| start + delay > now),
            state.backoff.until > Some(now),
            until > Some(now),
            state.all_robots().any(
                |robots| matches!(robots.standing, RobotsStanding::Unreachable(at) if at > now),
            ),
        ];
        for (waiting, waits) in self.waiting.iter_mut().zip(waits) {
            waiting.1 += u64::from(waits);
        }
    }

    fn states(&self) -> [(&'static str, u64); 3] {
        [("closed", self.closed), ("open", self.open), ("half_open", self.half_open)]
    }
}
