//! A crawl that works on its own threads while a query takes its rows.
//!
//! Workers hand on batches and wait until the query has taken them, so a query that pauses holds the crawl up, and never more than a
//! batch of each worker is on its way. Dropping it ends the crawl: what was sent is waited for a moment, then everything ends as if the
//! process had been killed, which loses nothing that others need; every thread is joined.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use curtsy_core::host::AskKind;
use curtsy_core::time::Time;
use curtsy_core::url::UrlKey;
use curtsy_crawl::{
    CrawlError, Keeper, Left, Progress, Report, Streaming, Watch, robots_texts, stream,
};
use curtsy_engine::{
    Batch, Boxed, Cache, CachedPage, Fetched, Head, Row, Sink, SinkError, UrlRecord,
};
use curtsy_sink::{RobotsTexts, Rules};
use curtsy_store::{MachineStore, ReadableTables, StoreHandle, SystemClock};
use tokio::sync::oneshot;

use crate::duck::{Caller, Fault};
use crate::order::{Asked, fault};
use crate::task::Task;

/// Rows that a worker hands on at once.
const ROWS_PER_THREAD: usize = 20;
/// How long a query waits for rows before DuckDB looks after it: an interrupt is seen so soon.
const PATIENCE: Duration = Duration::from_millis(50);

/// Rows on their way from a worker.
pub(crate) struct Delivery {
    /// The rows.
    pub(crate) rows: Vec<Arc<Row>>,
    /// Pages that must wait too long, at the end.
    pub(crate) left: Vec<Left>,
    taken: oneshot::Sender<()>,
}

impl Delivery {
    /// They are kept: the worker may go on.
    pub(crate) fn keep(self) {
        // Nobody waits for it any more if the crawl was ended.
        let _ = self.taken.send(());
    }
}

/// What comes next.
pub(crate) enum Next {
    /// Rows.
    Rows(Delivery),
    /// The crawl is over.
    Over(Box<Report>),
    /// Nothing yet.
    Nothing,
}

/// A crawl at work.
pub(crate) struct Crawling {
    /// Let go before the threads are waited for: whoever waits for its rows to be taken is told that nobody takes them.
    deliveries: Receiver<Delivery>,
    work: Task<Result<Report, CrawlError>>,
    /// Who has the texts of robots.txt, once the crawl is open.
    texts: Arc<Mutex<Option<RobotsTexts>>>,
    done: Arc<AtomicU64>,
    caller: Caller,
    /// The policy's limit on bodies.
    body_max: u64,
}

/// Pages that a table holds, for a crawl that asks again for those that may have changed.
pub(crate) type Held = HashMap<UrlKey, HeldPage>;

/// What a table holds of a page.
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
        asked: &Asked,
        known: Vec<UrlKey>,
        held: Held,
        caller: Caller,
    ) -> Result<Crawling, Fault> {
        let (sender, deliveries) = channel();
        let texts: Arc<Mutex<Option<RobotsTexts>>> = Arc::default();
        let done = Arc::new(AtomicU64::new(0));
        let shows = ReadableTables::Nothing;
        let how = Streaming { workers: asked.threads, rows: ROWS_PER_THREAD, known, shows };
        let (job, told) = (asked.job.clone(), Arc::clone(&texts));
        let mut watch = Watching { done: Arc::clone(&done) };
        let work = Task::start(move |stop| {
            let keeper = |crawl: &MachineStore| {
                let robots = robots_texts(crawl);
                *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(robots);
                Post { sender, pages: Mutex::new(Pages { held, listed: HashMap::new() }) }
            };
            let asked = async || {
                stop.notified().await;
                Ok(())
            };
            stream(&job, how, keeper, &mut watch, asked)
        })?;
        let body_max = asked.job.policy.body.decoded_max;
        Ok(Crawling { deliveries, work, texts, done, caller, body_max })
    }

    /// Waits a moment for what comes next.
    pub(crate) fn next(&mut self) -> Result<Next, Fault> {
        self.caller.set_progress(self.progress());
        match self.deliveries.recv_timeout(PATIENCE) {
            Ok(delivery) => Ok(Next::Rows(delivery)),
            Err(RecvTimeoutError::Timeout) => Ok(Next::Nothing),
            Err(RecvTimeoutError::Disconnected) => {
                let report = self.work.join()?.map_err(fault)?;
                Ok(Next::Over(Box::new(report)))
            }
        }
    }

    /// The lines of robots.txt that decide, as text.
    pub(crate) fn rules(&self) -> Rules {
        let texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut rules = Rules::new(texts);
        rules.body_max = Some(self.body_max);
        rules
    }

    fn progress(&self) -> f64 {
        f64::from_bits(self.done.load(Ordering::Relaxed))
    }
}

/// Whoever looks how a crawl stands.
struct Watching {
    done: Arc<AtomicU64>,
}

impl Watch for Watching {
    fn every(&self) -> Duration {
        Duration::from_millis(250)
    }

    fn see(&mut self, progress: &Progress) {
        let (rows, all) = (progress.rows as f64, (progress.rows + progress.queued).max(1) as f64);
        self.done.store((rows / all).to_bits(), Ordering::Relaxed);
    }

    fn note(&mut self, _: &str) {}
}

/// The way of rows from workers to the query.
struct Post {
    sender: Sender<Delivery>,
    pages: Mutex<Pages>,
}

impl Keeper for Post {
    fn sink(&self) -> Box<dyn Sink + '_> {
        Box::new(Desk { post: self, sender: self.sender.clone() })
    }

    fn cache(&self, _: &StoreHandle<SystemClock>) -> Box<dyn Cache + '_> {
        Box::new(Shelf(&self.pages))
    }

    fn left(&self, left: Vec<Left>) {
        let (taken, _) = oneshot::channel();
        // If the query has ended, nobody asks.
        let _ = self.sender.send(Delivery { rows: Vec::new(), left, taken });
    }
}

/// Where one worker hands on its rows.
struct Desk<'p> {
    post: &'p Post,
    sender: Sender<Delivery>,
}

impl Sink for Desk<'_> {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        let rows = batch.rows.clone();
        let count = rows.len();
        self.post.pages.lock().unwrap_or_else(PoisonError::into_inner).learn(&rows);
        let (taken, heard) = oneshot::channel();
        let sent = self.sender.send(Delivery { rows, left: Vec::new(), taken });
        Box::pin(async move {
            let gone = || SinkError { rows: count, why: "the query has ended".to_owned() };
            sent.map_err(|_| gone())?;
            heard.await.map_err(|_| gone())
        })
    }
}

/// What is known of pages: by the table, and by the sitemaps of this crawl.
struct Pages {
    held: Held,
    listed: HashMap<UrlKey, Listed>,
}

/// What a sitemap says of a page.
#[derive(Clone, Copy)]
struct Listed {
    modified: Option<Time>,
    changes: Option<Duration>,
}

impl Pages {
    /// Takes in what sitemaps list, if anybody asks for it later.
    fn learn(&mut self, rows: &[Arc<Row>]) {
        if self.held.is_empty() {
            return;
        }
        let sitemaps = rows.iter().filter(|row| row.kind == AskKind::Sitemap);
        let pages = sitemaps.filter_map(|row| row.page.as_deref());
        for entry in
            pages.filter_map(|page| page.document.sitemap.as_ref()).flat_map(|s| &s.entries)
        {
            let modified = entry.modified_ms.and_then(|ms| u64::try_from(ms).ok());
            let listed = Listed {
                modified: modified.map(|ms| Time::from_micros(ms.saturating_mul(1000))),
                changes: entry.change.map(|change| change.every()),
            };
            if self.held.contains_key(&entry.url.key()) {
                self.listed.insert(entry.url.key(), listed);
            }
        }
    }

    /// What is held of a page, and until when it is good: by the date of the sitemap, else by how often it says that the page changes;
    /// without either it is asked for with its validators.
    fn get(&self, key: UrlKey) -> Option<CachedPage> {
        let held = self.held.get(&key)?;
        let fresh_until = match (held.crawl_time, self.listed.get(&key)) {
            (Some(at), Some(Listed { modified: Some(modified), .. })) => {
                if *modified > at {
                    Time::from_secs(0)
                } else {
                    Time::NEVER
                }
            }
            (Some(at), Some(Listed { changes: Some(every), .. })) => at + *every,
            _ => Time::from_secs(0),
        };
        let (etag, last_modified) = (held.etag.clone(), held.last_modified.clone());
        Some(CachedPage { fresh_until, etag, last_modified })
    }
}

/// The pages that the table holds, as a worker asks for them.
struct Shelf<'p>(&'p Mutex<Pages>);

impl Cache for Shelf<'_> {
    fn get(&self, key: UrlKey) -> Boxed<'_, Option<CachedPage>> {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key);
        Box::pin(std::future::ready(found))
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
