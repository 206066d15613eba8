//! A crawl whose rows a face keeps. Only the ledger of hosts outlives such a crawl.

use std::time::Instant;

use curtsy_core::evidence::{DiscoverySource, SentenceContext, sentence};
use curtsy_core::host::{Friction, Gate, RequestKind};
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_engine::discover::{Discovery, LeftLink};
use curtsy_engine::{
    Batch, Boxed, Cache, CachedPage, Document, Fetched, Head, Outside, Over, Reader, RobotsFile,
    Sink, SinkError, UrlRecord, Want, WorkerCounts, look,
};
use curtsy_store::{MachineStore, Options, ReadableTables, StoreHandle, SystemClock};
use tokio::sync::oneshot;
use tokio::sync::watch::{Receiver, channel};

use crate::attend::{Attendant, runtime};
use crate::report::{Done, LeftPart};
use crate::run::{make_folder, try_own_machine};
use crate::tally::Tally;
use crate::work::{Crew, chance};
use crate::{CrawlError, CrawlReport, JobSpec, Watch};

/// Keeps the rows of a crawl. Each worker uses it on its own thread.
pub trait Keeper: Sync {
    /// Returns the sink for a worker's rows.
    fn sink(&self) -> Box<dyn Sink + '_>;
    /// Returns the cache of the pages that the face holds; none by default. The store is the
    /// worker's.
    fn cache(&self, store: &StoreHandle<SystemClock>) -> Box<dyn Cache + '_> {
        let _ = store;
        Box::new(NoCache)
    }
    /// Takes the pages that must wait longer than the crawl's patience, at the end of the crawl.
    fn left(&self, left: Vec<LeftPage>) {
        let _ = left;
    }
    /// Inspects the links of a document before they are offered. A removed link is not requested.
    fn found(&self, record: &UrlRecord, document: &mut Document) {
        let _ = (record, document);
    }
    /// Returns the number of planned pages and their sources, if the keeper made a plan.
    fn planned(&self) -> Option<(u64, Vec<DiscoverySource>)> {
        None
    }
}

/// A page that must wait longer than a crawl's patience.
#[derive(Clone, Debug)]
pub struct LeftPage {
    /// The page.
    pub url: CrawlUrl,
    /// The gate at which it waits.
    pub gate: Gate,
    /// The reason as a sentence.
    pub why: String,
}

/// The largest number of waiting pages that are reported.
pub(crate) const LEFT_MAX: usize = 100_000;

/// A cache without pages.
#[derive(Clone, Copy, Debug)]
pub struct NoCache;

impl Cache for NoCache {
    fn get(&self, _: UrlKey) -> Boxed<'_, Option<CachedPage>> {
        Box::pin(std::future::ready(None))
    }
}

/// How the rows of a crawl are handed on.
#[derive(Clone, Debug)]
pub struct Streaming {
    /// Worker threads.
    pub workers: usize,
    /// Rows in a batch of each worker, if that many arrive within the time that a row may wait.
    pub rows: usize,
    /// Pages that are held already and not requested.
    pub known: Vec<UrlKey>,
    /// What the ledger shows of hosts and pages to people.
    pub shows: ReadableTables,
}

impl Streaming {
    /// One worker that hands on so many rows at once.
    pub fn one_worker(rows: usize) -> Streaming {
        Streaming { workers: 1, rows, known: Vec::new(), shows: ReadableTables::Nothing }
    }
}

/// A keeper that passes every batch to a function, and holds no pages.
#[derive(Clone, Copy, Debug)]
pub struct EachBatch<F>(pub F);

impl<F: Fn(&Batch) + Sync> Keeper for EachBatch<F> {
    fn sink(&self) -> Box<dyn Sink + '_> {
        Box::new(EachBatch(&self.0))
    }
}

impl<F: Fn(&Batch)> Sink for EachBatch<F> {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        (self.0)(batch);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Runs a crawl as [`run`](crate::run) does, with rows that go to a keeper. The keeper is made when
/// the crawl's store is open.
pub fn stream<K: Keeper>(
    spec: &JobSpec,
    how: Streaming,
    keeper: impl FnOnce(&MachineStore) -> K,
    watch: &mut dyn Watch,
    asked: impl AsyncFnMut() -> std::io::Result<()>,
) -> Result<CrawlReport, CrawlError> {
    let checked = Crew::check(spec)?;
    if let Some(file) = spec.ledger.file() {
        make_folder(file)?;
    }
    let began = Instant::now();
    let crawl = MachineStore::open_passing(
        &spec.ledger,
        Options { shows: how.shows, ..Options::default() },
    )?;
    crawl.begin_run()?;
    crawl.note_known(how.known)?;
    try_own_machine(spec, &crawl)?;
    let keeper = keeper(&crawl);
    let tally = Tally::new(&spec.policy);
    let mut crew = Crew::new(spec, &crawl, checked, how.workers.max(1), how.rows);
    crew.single = spec.is_single();
    // Before any worker starts: a worker without work would end.
    runtime()?.block_on(crew.seeds.offer_all(&crawl.handle()))?;
    let (told, hears) = channel(0);
    let (ends, warnings) = std::thread::scope(|threads| {
        // If the first worker fails, dropping this stops the others.
        let told = told;
        let (mut others, mut ends) = (Vec::new(), Vec::new());
        for which in 1..crew.workers {
            let (crew, keeper, tally, hears) = (&crew, &keeper, &tally, hears.clone());
            let (end, ended) = oneshot::channel();
            let work = move || {
                let over = runtime()
                    .map(|runtime| runtime.block_on(one(crew, which, keeper, tally, hears)));
                // Fails if the crawl has failed elsewhere.
                let _ = end.send(over);
            };
            let thread = std::thread::Builder::new().name("crawl".into());
            others.push(thread.spawn_scoped(threads, work).map_err(CrawlError::Runtime)?);
            ends.push(ended);
        }
        let mut attendant = Attendant::new(&crew, &tally, began, watch);
        // Signals are passed on until the last worker has ended.
        let all = async {
            let mut overs = vec![one(&crew, 0, &keeper, &tally, hears).await];
            for ended in ends {
                // A worker without a result has panicked.
                overs.extend(ended.await.ok().transpose()?);
            }
            Ok::<_, CrawlError>(overs)
        };
        let ends = runtime()?.block_on(attendant.attend(all, asked, &told))??;
        for other in others {
            other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        Ok::<_, CrawlError>((ends, attendant.said()))
    })?;
    let mut sent = [0; 5];
    for (_, counts) in &ends {
        sent.iter_mut().zip(counts.sent).for_each(|(sum, n)| *sum += n);
    }
    let mut over = ends.into_iter().map(|(over, _)| over).reduce(together).flatten();
    if let Some(Over::Waits(_) | Over::Ours(_)) = over {
        match crawl.queued() {
            // A worker may have waited for the work of another one.
            0 => over = Some(Over::Empty),
            _ => keeper.left(runtime()?.block_on(left(spec, &crawl))?),
        }
    }
    let name = format!("{:016x}", chance());
    let planned = keeper.planned();
    let mut counted = tally.counted();
    let waits = runtime()?.block_on(crew.waits(over, &tally, &counted, began));
    crew.complete(&mut counted);
    let not_dialled = crew.outlet.refusals();
    let done = Done { name, over, counted, planned, sent, warnings, not_dialled, waits, began };
    let mut report = done.report(spec, &crawl);
    report.left = LeftPart::all(&crew.discovery);
    Ok(report)
}

async fn one<K: Keeper>(
    crew: &Crew<'_>,
    which: usize,
    keeper: &K,
    tally: &Tally,
    hears: Receiver<u32>,
) -> (Option<Over>, WorkerCounts) {
    let store = crew.store(which);
    let (sink, cache) = (keeper.sink(), crew.shelves(keeper.cache(&store)));
    let reader = KeeperReader { discovery: &crew.discovery, keeper };
    let mut sinks: Vec<&dyn Sink> = vec![&*sink];
    sinks.extend(crew.sharing.as_ref().map(|sharing| sharing as &dyn Sink));
    sinks.push(tally);
    let outside =
        Outside { source: &crew.seeds, sinks, cache: &*cache, reader: &reader, listener: tally };
    crew.work(store, outside, hears).await
}

/// Reads documents as discovery does, and shows them to the keeper.
struct KeeperReader<'k, K> {
    discovery: &'k Discovery,
    keeper: &'k K,
}

impl<K: Keeper> Reader for KeeperReader<'_, K> {
    fn read(&self, record: &UrlRecord, head: &Head, page: &Fetched, now: Time) -> Document {
        let mut document = self.discovery.read(record, head, page, now);
        self.keeper.found(record, &mut document);
        document
    }

    fn friction(&self, kind: RequestKind, head: &Head, page: &Fetched) -> Option<Friction> {
        self.discovery.friction(kind, head, page)
    }

    fn entrances(&self, record: &UrlRecord, robots: Option<&RobotsFile>) -> Vec<UrlRecord> {
        self.discovery.entrances(record, robots)
    }

    fn leaves(&self, record: &UrlRecord) -> Option<LeftLink> {
        self.discovery.leaves(record)
    }

    fn instead(&self, record: &UrlRecord) -> Vec<UrlRecord> {
        self.discovery.instead(record)
    }
}

/// Returns the pages that are left, and why.
async fn left(spec: &JobSpec, crawl: &MachineStore) -> Result<Vec<LeftPage>, CrawlError> {
    let (handle, product) = (crawl.handle(), spec.policy.product_token());
    let mut left = Vec::new();
    for record in crawl.left(LEFT_MAX)?.into_iter().filter(|record| record.want == Want::Page) {
        let seen = look(&handle, &spec.policy, product, &record, None).await?;
        let findings = &seen.decision.findings;
        let (_, gate) = findings.worst();
        let why =
            sentence(gate, findings.of(gate), &SentenceContext { robots: None, now: crawl.now() });
        left.push(LeftPage { url: record.origin, gate, why });
    }
    Ok(left)
}

/// Combines the ends of two workers: the crawl is complete if neither left anything.
fn together(a: Option<Over>, b: Option<Over>) -> Option<Over> {
    match (a?, b?) {
        (Over::Ours(problem), _) | (_, Over::Ours(problem)) => Some(Over::Ours(problem)),
        (Over::Stopped, _) | (_, Over::Stopped) => Some(Over::Stopped),
        (Over::Spent(limit), _) | (_, Over::Spent(limit)) => Some(Over::Spent(limit)),
        (Over::Waits(a), Over::Waits(b)) => Some(Over::Waits(a.min(b))),
        (Over::Waits(until), _) | (_, Over::Waits(until)) => Some(Over::Waits(until)),
        (Over::Empty, Over::Empty) => Some(Over::Empty),
    }
}
