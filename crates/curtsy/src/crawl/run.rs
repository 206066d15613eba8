//! One run of a crawl: opens what it needs, lets the engine work, watches, and reports.

use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use curtsy_core::evidence::{DiscoverySource, Names, RunEvidence, RunFigures, sentence, timestamp};
use curtsy_core::host::Verdict;
use curtsy_core::policy::Mode;
use curtsy_engine::discover::Discovery;
use curtsy_engine::{Memory, Outside, Over, Settings, Sink, UrlRecord, Worker, World, look};
use curtsy_fetch::{HttpFetch, Outlet, TokioClock};
use curtsy_sink::read::PagesFile;
use curtsy_sink::{CsvSink, FileOptions, JsonlSink, RobotsTexts, RunEnd, RunStart, SqliteSink};
use curtsy_store::{Crawl, Handle, Machine, Options};

use super::feed::Seeds;
use super::report::REQUEST_KINDS;
use super::tally::{Counted, Tally};
use crate::signals::Signals;

use super::{CrawlError, Ended, JobSpec, Progress, Report, Target, Waiting, Watch};

/// Hosts that wait, as many as anybody wants to read.
const WAITING_SHOWN: usize = 5;
/// Visits at once, for each connection that a process may have: most wait for their turn without one.
const VISITS_PER_CONNECTION: u32 = 4;
const VISITS_MAX: u32 = 4096;
/// Rows that are written together, if so many come within the time that a row may wait: keys are all over their index, and each
/// transaction writes every page of it that it touched.
const FLUSH_ROWS: usize = 400;

/// Runs a crawl until nothing is left, until what is left must wait too long, or until it is told to stop (Ctrl-C, SIGTERM).
pub fn run(spec: &JobSpec, watch: &mut dyn Watch) -> Result<Report, CrawlError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CrawlError::Runtime)?;
    runtime.block_on(work(spec, watch))
}

/// This machine, as a worker sees it.
struct Here {
    store: Handle<Machine>,
    fetch: HttpFetch,
    clock: TokioClock,
}

impl World for Here {
    type Store = Handle<Machine>;
    type Fetch = HttpFetch;
    type Clock = TokioClock;
    fn store(&self) -> &Handle<Machine> {
        &self.store
    }
    fn fetch(&self) -> &HttpFetch {
        &self.fetch
    }
    fn clock(&self) -> &TokioClock {
        &self.clock
    }
}

async fn work(spec: &JobSpec, watch: &mut dyn Watch) -> Result<Report, CrawlError> {
    // What can be wrong with the order is found before anything is begun.
    let outlet = Outlet::new(&spec.outlet)?;
    let discovery = Discovery::new(spec.discovery.clone())?;
    for path in [&spec.ledger, &spec.file] {
        if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)
                .map_err(|source| CrawlError::Folder { path: folder.to_owned(), source })?;
        }
    }
    let began = Instant::now();
    let name = format!("{:016x}", chance());
    let crawl = Crawl::open(&spec.ledger, &spec.file, Options::default())?;
    match spec.again {
        true => crawl.begin_again()?,
        false => crawl.begin_run()?,
    }
    let options =
        curtsy_sink::Options { robots: Some(texts(&crawl)), ..curtsy_sink::Options::default() };
    let pages = SqliteSink::open(&spec.file, options)?;
    pages.begin_run(RunStart {
        trace_id: name.clone(),
        at: crawl.now(),
        command: spec.command.clone(),
        policy: spec.policy.to_toml(),
        policy_hash: spec.policy.hash_hex(),
    })?;
    let kept = PagesFile::open(&spec.file)?;
    kept.known(|url, last, depth| {
        discovery.note_known(&url);
        if depth == 0 && last != url {
            discovery.admit_root(&last);
        }
    })?;
    let first = kept.runs()?.into_iter().next().map_or(name.clone(), |run| run.trace_id);
    let room = spec.policy.budget.pages.is_none_or(|max| crawl.pages() < max);
    if room && !spec.again {
        let left = kept.over_budget()?.into_iter();
        crawl.put_back(left.map(|(url, depth)| UrlRecord::page(url, depth)).collect())?;
    }
    drop(kept);
    let files = files(spec, first, &name, &crawl)?;
    let tally = Tally::default();
    let mut sinks: Vec<&dyn Sink> = vec![&pages];
    sinks.extend(files.iter().map(|file| &**file));
    sinks.push(&tally);

    let seeds = Seeds::new(spec.seeds.clone(), spec.seeds_are);
    let clock = TokioClock::new();
    let world = Here { store: crawl.handle(), fetch: HttpFetch::new(&outlet, clock), clock };
    let outside =
        Outside { source: &seeds, sinks, cache: &pages, reader: &discovery, listener: &() };
    let connections = spec.policy.slots.total_connections;
    let settings = Settings {
        worker: chance(),
        visits_max: connections.saturating_mul(VISITS_PER_CONNECTION).clamp(64, VISITS_MAX)
            as usize,
        until_empty: true,
        patience: spec.policy.patience,
        flush_rows: FLUSH_ROWS,
        ..Settings::default()
    };
    let memory = Rc::new(RefCell::new(Memory::default()));
    let policy = Arc::clone(&spec.policy);
    let worker = Worker::new(world, policy, spec.user_agent.clone(), outside, settings, memory);

    let mut signals = Signals::listen().map_err(CrawlError::Runtime)?;
    let switch = worker.stop_switch();
    let mut warned = Warned::default();
    let mut running = std::pin::pin!(worker.run());
    let mut tick = tokio::time::interval(watch.every());
    let over = loop {
        tokio::select! {
            over = &mut running => break Some(over),
            () = signals.next() => {
                if switch.replace(true) {
                    // Whoever asks twice means it. Nothing is lost: it is as if the process had been killed.
                    break None;
                }
                watch.note("stopping: what was sent is waited for; once more to end at once (nothing is lost either way)");
            }
            _ = tick.tick() => {
                let (rows, fetched, body_bytes, hosts) = tally.glance();
                let progress = Progress {
                    rows,
                    fetched,
                    body_bytes,
                    hosts,
                    requests: worker.counts().sent.iter().sum(),
                    queued: crawl.queued(),
                    took: began.elapsed(),
                    waiting: waiting(&crawl, spec).await,
                };
                warned.look(&crawl, spec, began.elapsed(), watch);
                watch.see(&progress);
            }
        }
    };
    let counts = worker.counts();
    let how = match over {
        Some(Over::Empty) => Ended::Complete,
        Some(Over::Waits(until)) => Ended::Waits(until),
        Some(Over::Stopped) | None => Ended::Stopped,
    };
    let counted = tally.counted();
    let report =
        report(spec, &crawl, name, how, counted, counts.sent, began.elapsed(), warned.said);
    pages.end_run(RunEnd {
        at: crawl.now(),
        outcome: report.ended.to_owned(),
        figures: serde_json::to_value(&report).unwrap_or_default(),
        evidence: Some(report.evidence.clone()),
    })?;
    Ok(report)
}

/// The sinks besides the crawl's own file. The job's name is that of its first run.
fn files(
    spec: &JobSpec,
    job: String,
    run: &str,
    crawl: &Crawl,
) -> Result<Vec<Box<dyn Sink>>, CrawlError> {
    let options = || FileOptions {
        job: job.clone(),
        run: run.to_owned(),
        policy_hash: spec.policy.hash_hex(),
        robots: Some(texts(crawl)),
    };
    let mut files: Vec<Box<dyn Sink>> = Vec::new();
    for target in &spec.targets {
        match target {
            Target::Sqlite => {}
            Target::JsonLines(path) => files.push(Box::new(JsonlSink::open(path, options())?)),
            Target::Csv(path) => files.push(Box::new(CsvSink::open(path, options())?)),
        }
    }
    Ok(files)
}

/// Who has the texts of robots.txt.
fn texts(crawl: &Crawl) -> RobotsTexts {
    let crawl = crawl.clone();
    Arc::new(move |id| crawl.robots(id))
}

#[allow(clippy::too_many_arguments, reason = "a report is made of everything")]
fn report(
    spec: &JobSpec,
    crawl: &Crawl,
    name: String,
    how: Ended,
    counted: Counted,
    sent: [u64; 5],
    took: Duration,
    warnings: Vec<String>,
) -> Report {
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
    let risk = counted.hosts.iter().filter_map(|host| {
        let state = crawl.state(host).ok()?;
        Some(state.risk_score(&spec.policy, crawl.now()))
    });
    let queued = crawl.queued();
    let figures = RunFigures {
        sources,
        planned: counted.rows + queued,
        fetched: counted.fetched,
        fresh: counted.cached,
        used: counted.used,
        cache_hits: counted.cached,
        cache_misses: counted.fetched,
        friction: counted.friction,
        our_fault: false,
        risk_score: risk.max().unwrap_or(0),
        took,
    };
    let mode = spec.policy.mode.unwrap_or(Mode::Standard);
    Report {
        ended: match how {
            Ended::Complete => "complete",
            Ended::Stopped => "stopped",
            Ended::Waits(_) => "waits",
        },
        resume_after: match how {
            Ended::Waits(until) => Some(timestamp(until)),
            _ => None,
        },
        rows: counted.rows,
        fetched: counted.fetched,
        cached: counted.cached,
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

/// Hosts with work that must wait, those that wait longest first, and whom they wait for.
async fn waiting(crawl: &Crawl, spec: &JobSpec) -> Vec<Waiting> {
    let handle = crawl.handle();
    let mut found = Vec::new();
    for (host, until, queued) in crawl.waiting(WAITING_SHOWN) {
        let now = crawl.now();
        let first = crawl.schedule(&host).ok().and_then(|(_, urls)| urls.into_iter().next());
        let product = spec.policy.product_token();
        let seen = match &first {
            Some(record) => look(&handle, &spec.policy, product, record, None).await.ok(),
            None => None,
        };
        let why = seen.and_then(|seen| {
            let (verdict, gate) = seen.decision.findings.worst();
            let names = Names { robots: None, now };
            (verdict > Verdict::Go).then(|| sentence(gate, seen.decision.findings.of(gate), &names))
        });
        let why = why.unwrap_or_else(|| "its turn".to_owned());
        found.push(Waiting { wait: until - now, host, until, queued, why });
    }
    found
}

/// What a user was told about budgets and about the store.
#[derive(Default)]
struct Warned {
    said: Vec<String>,
    pages: bool,
    time: bool,
    trouble: Option<String>,
}

impl Warned {
    fn look(&mut self, crawl: &Crawl, spec: &JobSpec, took: Duration, watch: &mut dyn Watch) {
        let budget = &spec.policy.budget;
        let part = |of: u64| of.saturating_mul(budget.warn_percent.into()) / 100;
        if let Some(max) = budget.pages
            && !self.pages
            && crawl.pages() >= part(max)
        {
            self.pages = true;
            self.say(format!("{} of {max} pages of the budget are used", crawl.pages()), watch);
        }
        if let Some(max) = budget.time
            && !self.time
            && took.as_secs() >= part(max.as_secs())
        {
            self.time = true;
            let percent = budget.warn_percent;
            self.say(format!("{percent} % of the time of the budget are used"), watch);
        }
        let trouble = crawl.trouble();
        if trouble != self.trouble {
            match &trouble {
                Some(trouble) => watch.note(&format!("the store can't be written: {trouble}")),
                None => watch.note("the store can be written again"),
            }
            self.trouble = trouble;
        }
    }

    fn say(&mut self, text: String, watch: &mut dyn Watch) {
        watch.note(&text);
        self.said.push(text);
    }
}

/// A number that nobody else has.
fn chance() -> u64 {
    RandomState::new().hash_one(std::process::id())
}
