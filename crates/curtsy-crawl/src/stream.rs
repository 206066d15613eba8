//! A crawl whose rows a face keeps. Only the ledger of hosts keeps something of such a crawl.

use std::sync::Arc;
use std::time::Instant;

use curtsy_core::evidence::{DiscoverySource, SentenceContext, sentence};
use curtsy_core::host::{Friction, Gate, RequestKind};
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_engine::discover::Discovery;
use curtsy_engine::{
    Boxed, Cache, CachedPage, Document, Fetched, Head, Outside, Over, Reader, RobotsFile, Sink,
    UrlRecord, Want, WorkerCounts, look,
};
use curtsy_store::{Crawl, Handle, Machine, Options, Shows};
use tokio::sync::oneshot;
use tokio::sync::watch::{Receiver, channel};

use crate::attend::{Attendant, runtime};
use crate::report::Done;
use crate::run::{make_folder, try_own_machine};
use crate::tally::Tally;
use crate::work::{Crew, chance};
use crate::{CrawlError, JobSpec, Report, Watch};

/// Whoever keeps the rows of a crawl. Each worker asks on its own thread.
pub trait Keeper: Sync {
    /// The sink for a worker's rows.
    fn sink(&self) -> Box<dyn Sink + '_>;
    /// The cache of the pages that the face holds; none by default. The store is the worker's.
    fn cache(&self, store: &Handle<Machine>) -> Box<dyn Cache + '_> {
        let _ = store;
        Box::new(NoCache)
    }
    /// Takes the pages that must wait longer than the crawl's patience, at the end of the crawl.
    fn left(&self, left: Vec<Left>) {
        let _ = left;
    }
    /// Looks at the links of a document before they are offered. A link that the keeper removes is
    /// not requested.
    fn found(&self, record: &UrlRecord, document: &mut Document) {
        let _ = (record, document);
    }
    /// The number of planned pages and where they came from, if the keeper made a plan.
    fn planned(&self) -> Option<(u64, Vec<DiscoverySource>)> {
        None
    }
}

/// A page that must wait longer than a crawl's patience.
#[derive(Clone, Debug)]
pub struct Left {
    /// The page.
    pub url: CrawlUrl,
    /// Whom or what it waits for.
    pub gate: Gate,
    /// A sentence that says why.
    pub why: String,
}

/// Pages that are told to wait, at most.
pub(crate) const LEFT_MAX: usize = 100_000;

/// No pages are held.
#[derive(Clone, Copy, Debug)]
pub struct NoCache;

impl Cache for NoCache {
    fn get(&self, _: UrlKey) -> Boxed<'_, Option<CachedPage>> {
        Box::pin(std::future::ready(None))
    }

    fn page(&self, _: UrlKey) -> Boxed<'_, Option<(Arc<Head>, Fetched)>> {
        Box::pin(std::future::ready(None))
    }

    fn put(
        &self,
        _: &UrlRecord,
        _: CachedPage,
        _: Option<(&Arc<Head>, &Fetched)>,
    ) -> Boxed<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// How rows are handed on.
#[derive(Clone, Debug)]
pub struct Streaming {
    /// Threads that work.
    pub workers: usize,
    /// Rows in a batch of each worker, if that many arrive within the time that a row may wait.
    pub rows: usize,
    /// Pages that are not asked for, as they are held already.
    pub known: Vec<UrlKey>,
    /// What is shown of hosts and pages, for people, beside the ledger.
    pub shows: Shows,
}

/// Runs a crawl as [`run`](crate::run) does, with rows that go to a keeper. The keeper is made when
/// the crawl's store is open.
pub fn stream<K: Keeper>(
    spec: &JobSpec,
    how: Streaming,
    keeper: impl FnOnce(&Crawl) -> K,
    watch: &mut dyn Watch,
    asked: impl AsyncFnMut() -> std::io::Result<()>,
) -> Result<Report, CrawlError> {
    let checked = Crew::check(spec)?;
    if let Some(file) = spec.ledger.file() {
        make_folder(file)?;
    }
    let began = Instant::now();
    let crawl =
        Crawl::open_passing(&spec.ledger, Options { shows: how.shows, ..Options::default() })?;
    crawl.begin_run()?;
    crawl.note_known(how.known)?;
    try_own_machine(spec, &crawl)?;
    let keeper = keeper(&crawl);
    let tally = Tally::new(&spec.policy);
    let mut crew = Crew::new(spec, &crawl, checked, how.workers.max(1), how.rows);
    crew.single = spec.is_single();
    // Before anybody begins: who finds nothing to do has nothing left to wait for.
    runtime()?.block_on(crew.seeds.offer_all(&crawl.handle()))?;
    let (told, hears) = channel(0);
    let (ends, warnings) = std::thread::scope(|threads| {
        // When the first worker fails, the others are told by the end of this.
        let told = told;
        let (mut others, mut ends) = (Vec::new(), Vec::new());
        for which in 1..crew.workers {
            let (crew, keeper, tally, hears) = (&crew, &keeper, &tally, hears.clone());
            let (end, ended) = oneshot::channel();
            let work = move || {
                let over = runtime()
                    .map(|runtime| runtime.block_on(one(crew, which, keeper, tally, hears)));
                // If nobody listens any more, the crawl has failed elsewhere.
                let _ = end.send(over);
            };
            let thread = std::thread::Builder::new().name("crawl".into());
            others.push(thread.spawn_scoped(threads, work).map_err(CrawlError::Runtime)?);
            ends.push(ended);
        }
        let mut attendant = Attendant::new(&crew, &tally, began, watch);
        // All of them are attended to until the last one has ended.
        let all = async {
            let mut overs = vec![one(&crew, 0, &keeper, &tally, hears).await];
            for ended in ends {
                // Whoever ended without a word has panicked.
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
            // What one of them waited for was another one's work.
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
    Ok(done.report(spec, &crawl))
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

/// Documents as the crawl reads them, shown to the keeper.
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

    fn instead(&self, record: &UrlRecord) -> Vec<UrlRecord> {
        self.discovery.instead(record)
    }
}

/// The pages that are left, and why.
async fn left(spec: &JobSpec, crawl: &Crawl) -> Result<Vec<Left>, CrawlError> {
    let (handle, product) = (crawl.handle(), spec.policy.product_token());
    let mut left = Vec::new();
    for record in crawl.left(LEFT_MAX)?.into_iter().filter(|record| record.want == Want::Page) {
        let seen = look(&handle, &spec.policy, product, &record, None).await?;
        let findings = &seen.decision.findings;
        let (_, gate) = findings.worst();
        let why =
            sentence(gate, findings.of(gate), &SentenceContext { robots: None, now: crawl.now() });
        left.push(Left { url: record.origin, gate, why });
    }
    Ok(left)
}

/// How a crawl ended whose workers ended so: it is complete if nobody left anything.
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
