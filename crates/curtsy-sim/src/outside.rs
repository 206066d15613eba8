//! Seeds, rows and pages of a simulated run, and the count that nothing was lost.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use curtsy_core::host::{Friction, RequestKind};
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_engine::{
    Batch, Boxed, Cache, CachedPage, Document, Fetched, Head, Reader, Sink, SinkError, Source,
    UrlRecord,
};

use crate::executor::Universe;
use crate::web::SECOND;

/// Seeds that are offered until their rows are kept: what was handed out and not acknowledged is
/// handed out again after a while, as a queue does whose consumer died.
pub struct SimSource {
    universe: Rc<Universe>,
    again_at: Cell<u64>,
    waiting: RefCell<VecDeque<UrlRecord>>,
    open: RefCell<BTreeMap<UrlKey, UrlRecord>>,
    rewound: Cell<u64>,
}

/// How long a queue waits for an acknowledgement.
const AGAIN_AFTER: u64 = 900 * SECOND;

impl SimSource {
    /// A source without seeds.
    pub fn new(universe: Rc<Universe>) -> SimSource {
        let again_at = Cell::new(universe.now() + AGAIN_AFTER);
        SimSource {
            universe,
            again_at,
            waiting: RefCell::default(),
            open: RefCell::default(),
            rewound: Cell::new(0),
        }
    }

    /// Adds a seed.
    pub fn add(&self, url: CrawlUrl) {
        let record = UrlRecord::page(url, 0);
        self.open.borrow_mut().insert(record.id, record.clone());
        self.waiting.borrow_mut().push_back(record);
    }

    /// Seeds without an acknowledgement.
    pub fn open(&self) -> usize {
        self.open.borrow().len()
    }
}

impl Source for SimSource {
    fn next(&self, max: usize) -> Boxed<'_, Vec<UrlRecord>> {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.is_empty() && self.universe.now() >= self.again_at.get() {
            self.again_at.set(self.universe.now() + AGAIN_AFTER);
            waiting.extend(self.open.borrow().values().cloned());
        }
        let count = max.min(waiting.len());
        let seeds = waiting.drain(..count).collect();
        Box::pin(std::future::ready(seeds))
    }

    fn ack(&self, ids: &[UrlKey]) -> Boxed<'_, ()> {
        let mut open = self.open.borrow_mut();
        for id in ids {
            open.remove(id);
        }
        Box::pin(std::future::ready(()))
    }

    fn rewind(&self, epoch: u64) -> Boxed<'_, ()> {
        if self.rewound.replace(epoch) != epoch {
            let open = self.open.borrow();
            self.waiting.borrow_mut().extend(open.values().cloned());
        }
        Box::pin(std::future::ready(()))
    }
}

/// Rows that are kept, by URL.
#[derive(Default)]
pub struct SimSink {
    rows: RefCell<HashMap<UrlKey, u32>>,
    /// Rows that came more than once.
    pub repeats: Cell<u64>,
    /// Whether it accepts nothing now.
    pub away: Cell<bool>,
    /// Calls while it was away.
    pub refused: Cell<u64>,
    /// The last row of each way to end.
    pub endings: RefCell<BTreeMap<String, u64>>,
}

impl SimSink {
    /// Whether a URL has its row.
    pub fn has(&self, id: UrlKey) -> bool {
        self.rows.borrow().contains_key(&id)
    }

    /// URLs with a row.
    pub fn len(&self) -> usize {
        self.rows.borrow().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.borrow().is_empty()
    }
}

impl Sink for SimSink {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        let rows = &batch.rows;
        if self.away.get() {
            self.refused.set(self.refused.get() + 1);
            let error = SinkError { rows: rows.len(), why: "simulated".into() };
            return Box::pin(std::future::ready(Err(error)));
        }
        let mut kept = self.rows.borrow_mut();
        for row in rows {
            let count = kept.entry(row.id).or_default();
            *count += 1;
            self.repeats.set(self.repeats.get() + u64::from(*count > 1));
            let mut name = format!("{:?}", row.ending);
            name.truncate(name.find(['(', ' ']).unwrap_or(name.len()));
            *self.endings.borrow_mut().entry(name).or_default() += 1;
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Pages for the next time.
#[derive(Default)]
pub struct SimCache {
    pages: RefCell<HashMap<UrlKey, Kept>>,
}

type Kept = (CachedPage, Option<(Arc<Head>, Fetched)>);

impl Cache for SimCache {
    fn get(&self, key: UrlKey) -> Boxed<'_, Option<CachedPage>> {
        let page = self.pages.borrow().get(&key).map(|(page, _)| page.clone());
        Box::pin(std::future::ready(page))
    }

    fn page(&self, key: UrlKey) -> Boxed<'_, Option<(Arc<Head>, Fetched)>> {
        let answer = self.pages.borrow().get(&key).and_then(|(_, answer)| answer.clone());
        Box::pin(std::future::ready(answer))
    }

    fn put(
        &self,
        asked: &UrlRecord,
        page: CachedPage,
        answer: Option<(&Arc<Head>, &Fetched)>,
    ) -> Boxed<'_, ()> {
        let key = asked.url.key();
        let mut pages = self.pages.borrow_mut();
        let old = pages.remove(&key).and_then(|(_, answer)| answer);
        let answer = answer.map(|(head, page)| (Arc::clone(head), page.clone()));
        pages.insert(key, (page, answer.or(old)));
        Box::pin(std::future::ready(()))
    }
}

/// Reads the pages of the synthetic web: a link a line.
pub struct SimReader;

impl Reader for SimReader {
    fn read(&self, record: &UrlRecord, _: &Head, page: &Fetched, _: Time) -> Document {
        let text = String::from_utf8_lossy(&page.body);
        let depth = record.depth.saturating_add(1);
        let links = text.lines().filter_map(|line| CrawlUrl::parse(line).ok());
        Document {
            offers: links.map(|link| UrlRecord::page(link, depth)).collect(),
            ..Document::default()
        }
    }

    fn friction(&self, _: RequestKind, _: &Head, _: &Fetched) -> Option<Friction> {
        None
    }
}
