//! A crawl that works on its own threads while a query takes its rows.
//!
//! A worker hands on a batch and waits until the query has taken it. A query that pauses therefore
//! pauses the crawl, and at most one batch of each worker is in flight. Dropping the crawl ends it:
//! requests in flight get a moment to end, then everything ends as if the process had been killed,
//! which loses nothing that other crawls need. Every thread is joined.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use curtsy_core::host::AskKind;
use curtsy_core::time::Time;
use curtsy_core::url::UrlKey;
use curtsy_crawl::{
    CrawlError, CrawlReport, Keeper, LeftPage, Progress, Streaming, Watch, robots_texts, stream,
};
use curtsy_engine::{Batch, Boxed, Cache, CachedPage, Row, Sink, SinkError};
use curtsy_sink::{RobotsTexts, Rules};
use curtsy_store::{MachineStore, ReadableTables, StoreHandle, SystemClock};
use tokio::sync::oneshot;

use crate::duck::{CallerSession, SqlError};
use crate::order::{CrawlOrder, sql_error};
use crate::task::CrawlThread;

/// Rows that a worker hands on at once.
const ROWS_PER_THREAD: usize = 20;
/// How long a query waits for rows before it returns to DuckDB, which then notices an interrupt.
const PATIENCE: Duration = Duration::from_millis(50);

/// Rows that a worker hands to the query.
pub(crate) struct RowDelivery {
    /// The rows.
    pub(crate) rows: Vec<Arc<Row>>,
    /// Pages that must wait longer than the crawl's patience: the last delivery has them.
    pub(crate) left: Vec<LeftPage>,
    taken: oneshot::Sender<()>,
}

impl RowDelivery {
    /// Tells the worker that the query has the rows.
    pub(crate) fn accept(self) {
        // Fails if the crawl has ended.
        let _ = self.taken.send(());
    }
}

/// What a query gets next.
pub(crate) enum NextRows {
    /// Rows.
    Delivered(RowDelivery),
    /// The crawl has ended.
    Ended(Box<CrawlReport>),
    /// Nothing yet.
    Nothing,
}

/// A running crawl.
pub(crate) struct Crawling {
    /// Dropped before the threads are joined: a worker that waits for its rows to be taken then
    /// learns that the query has ended.
    deliveries: Receiver<RowDelivery>,
    work: CrawlThread<Result<CrawlReport, CrawlError>>,
    /// The texts of robots.txt, once the crawl is open.
    texts: Arc<Mutex<Option<RobotsTexts>>>,
    /// The policy's limit on bodies.
    body_max: u64,
}

/// Pages that a table holds, for a crawl that refetches those that may have changed.
pub(crate) type HeldPages = HashMap<UrlKey, HeldPage>;

/// A page that a table holds.
#[derive(Clone, Debug)]
pub(crate) struct HeldPage {
    /// When it was fetched.
    pub(crate) crawl_time: Option<Time>,
    pub(crate) etag: Option<String>,
    pub(crate) last_modified: Option<String>,
}

impl Crawling {
    /// Starts a crawl.
    pub(crate) fn start(
        order: &CrawlOrder,
        known: Vec<UrlKey>,
        held: HeldPages,
        caller: CallerSession,
    ) -> Result<Crawling, SqlError> {
        let (sender, deliveries) = channel();
        let texts: Arc<Mutex<Option<RobotsTexts>>> = Arc::default();
        let shows = ReadableTables::Nothing;
        let how = Streaming { workers: order.threads, rows: ROWS_PER_THREAD, known, shows };
        let (job, known_texts) = (order.job.clone(), Arc::clone(&texts));
        let mut progress = QueryProgress::begin(caller);
        let work = CrawlThread::start(move |stop| {
            let keeper = |crawl: &MachineStore| {
                let robots = robots_texts(crawl);
                *known_texts.lock().unwrap_or_else(PoisonError::into_inner) = Some(robots);
                let pages = TablePages { held, listed: HashMap::new() };
                QueryKeeper { sender, pages: Mutex::new(pages) }
            };
            stream(&job, how, keeper, &mut progress, async || stop.heard().await)
        })?;
        let body_max = order.job.policy.body.decoded_max;
        Ok(Crawling { deliveries, work, texts, body_max })
    }

    /// Waits a moment for rows.
    pub(crate) fn next(&mut self) -> Result<NextRows, SqlError> {
        match self.deliveries.recv_timeout(PATIENCE) {
            Ok(delivery) => Ok(NextRows::Delivered(delivery)),
            Err(RecvTimeoutError::Timeout) => Ok(NextRows::Nothing),
            Err(RecvTimeoutError::Disconnected) => {
                let report = self.work.join()?.map_err(sql_error)?;
                Ok(NextRows::Ended(Box::new(report)))
            }
        }
    }

    /// The lines of robots.txt that decided, as text.
    pub(crate) fn rules(&self) -> Rules {
        let texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut rules = Rules::new(texts);
        rules.body_max = Some(self.body_max);
        rules
    }
}

/// Reports a crawl's progress to DuckDB's progress bar.
pub(crate) struct QueryProgress(CallerSession);

impl QueryProgress {
    /// Begins at zero.
    pub(crate) fn begin(caller: CallerSession) -> QueryProgress {
        caller.set_progress(0.0);
        QueryProgress(caller)
    }
}

impl Watch for QueryProgress {
    fn every(&self) -> Duration {
        Duration::from_millis(250)
    }

    fn see(&mut self, progress: &Progress) {
        let (rows, all) = (progress.rows as f64, (progress.rows + progress.queued).max(1) as f64);
        self.0.set_progress(rows / all);
    }
}

/// Hands rows from workers to the query.
struct QueryKeeper {
    sender: Sender<RowDelivery>,
    pages: Mutex<TablePages>,
}

impl QueryKeeper {
    fn pages(&self) -> std::sync::MutexGuard<'_, TablePages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeper for QueryKeeper {
    fn sink(&self) -> Box<dyn Sink + '_> {
        Box::new(QuerySink { keeper: self, sender: self.sender.clone() })
    }

    fn cache(&self, _: &StoreHandle<SystemClock>) -> Box<dyn Cache + '_> {
        Box::new(TableCache(self))
    }

    fn left(&self, left: Vec<LeftPage>) {
        let (taken, _) = oneshot::channel();
        // Fails if the query has ended.
        let _ = self.sender.send(RowDelivery { rows: Vec::new(), left, taken });
    }
}

/// The sink of one worker.
struct QuerySink<'k> {
    keeper: &'k QueryKeeper,
    sender: Sender<RowDelivery>,
}

impl Sink for QuerySink<'_> {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        let rows = batch.rows.clone();
        let count = rows.len();
        self.keeper.pages().learn(&rows);
        let (taken, accepted) = oneshot::channel();
        let sent = self.sender.send(RowDelivery { rows, left: Vec::new(), taken });
        Box::pin(async move {
            let gone = || SinkError { rows: count, why: "the query has ended".to_owned() };
            sent.map_err(|_| gone())?;
            accepted.await.map_err(|_| gone())
        })
    }
}

/// The pages that the table holds, and what the sitemaps of this crawl say about them.
struct TablePages {
    held: HeldPages,
    listed: HashMap<UrlKey, SitemapDates>,
}

/// What a sitemap says about a page.
#[derive(Clone, Copy)]
struct SitemapDates {
    modified: Option<Time>,
    changes: Option<Duration>,
}

impl TablePages {
    /// Remembers what sitemaps say about held pages.
    fn learn(&mut self, rows: &[Arc<Row>]) {
        if self.held.is_empty() {
            return;
        }
        let sitemaps = rows.iter().filter(|row| row.kind == AskKind::Sitemap);
        let sitemaps = sitemaps.filter_map(|row| row.page.as_deref()?.document.sitemap.as_ref());
        for entry in sitemaps.flat_map(|sitemap| &sitemap.entries) {
            let modified = entry.modified_ms.and_then(|ms| u64::try_from(ms).ok());
            let dates = SitemapDates {
                modified: modified.map(|ms| Time::from_micros(ms.saturating_mul(1000))),
                changes: entry.change.map(|change| change.every()),
            };
            if self.held.contains_key(&entry.url.key()) {
                self.listed.insert(entry.url.key(), dates);
            }
        }
    }

    /// A held page, and until when it is fresh: by its date in the sitemap, else by the change
    /// frequency there. Without either the page is revalidated.
    fn get(&self, key: UrlKey) -> Option<CachedPage> {
        let held = self.held.get(&key)?;
        let fresh_until =
            match (held.crawl_time, self.listed.get(&key)) {
                (Some(at), Some(SitemapDates { modified: Some(modified), .. })) => {
                    if *modified > at { Time::START } else { Time::NEVER }
                }
                (Some(at), Some(SitemapDates { changes: Some(every), .. })) => at + *every,
                _ => Time::START,
            };
        let (etag, last_modified) = (held.etag.clone(), held.last_modified.clone());
        Some(CachedPage { fresh_until, etag, last_modified })
    }
}

/// The pages that the table holds, as the cache of a worker.
struct TableCache<'k>(&'k QueryKeeper);

impl Cache for TableCache<'_> {
    fn get(&self, key: UrlKey) -> Boxed<'_, Option<CachedPage>> {
        let found = self.0.pages().get(key);
        Box::pin(std::future::ready(found))
    }
}
