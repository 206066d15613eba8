//! Rows and pages in the crawl's own file.
//!
//! A thread of its own writes: a worker that waits for the disk would miss turns. It takes a batch, makes its values, and writes them in
//! one transaction; the worker's other visits go on meanwhile. Looking up a page has its own connection, which no writer stops.

mod forget;
mod held;
mod runs;
pub(crate) mod schema;
pub(crate) mod write;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use bytes::Bytes;
use curtsy_core::evidence::read_timestamp;
use curtsy_core::time::Time;
use curtsy_core::url::UrlKey;
use curtsy_engine::{Batch, Boxed, Cache, CachedPage, Fetched, Head, Sink, SinkError, UrlRecord};
use rusqlite::{Connection, OptionalExtension};
use tokio::sync::oneshot;

use held::Held;
use write::{Writer, id};

pub use forget::Forget;
pub use runs::{RunEnd, RunStart};

use crate::record::read_headers;
use crate::rules::RobotsTexts;
use curtsy_file::{OpenError, trouble};

/// How the sink behaves.
#[derive(Clone)]
pub struct Options {
    /// Fetched pages that are kept in memory until their rows are written, at most.
    pub pages_held: usize,
    /// Bytes of their bodies, at most.
    pub bytes_held: usize,
    /// Who has the texts of robots.txt; without, a row has the number of the line that decided.
    pub robots: Option<RobotsTexts>,
    /// The policy's limit on bodies, for the column `reason`.
    pub body_max: Option<u64>,
}

impl Default for Options {
    fn default() -> Options {
        Options { pages_held: 10_000, bytes_held: 64 * 1024 * 1024, robots: None, body_max: None }
    }
}

/// Rows, decisions, runs and the page cache of one crawl, in its file. Clones are the same sink.
#[derive(Clone)]
pub struct SqliteSink(Arc<Shared>);

struct Shared {
    path: PathBuf,
    held: Mutex<Held>,
    reader: Mutex<Connection>,
    /// What the writing thread is asked to do; none once it is to end.
    jobs: Mutex<Option<Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

type Job = Box<dyn FnOnce(&mut Writer) + Send>;

impl SqliteSink {
    /// Opens or begins the rows of a crawl's file.
    pub fn open(path: &Path, options: Options) -> Result<SqliteSink, OpenError> {
        let db = schema::open(path)?;
        let reader = schema::open_to_read(path)?;
        let mut held = Held::new(options.pages_held, options.bytes_held);
        fill(&db, &mut held).map_err(|e| OpenError::sqlite(path, e))?;
        let mut writer = Writer::new(db, options.robots, options.body_max)
            .map_err(|e| OpenError::sqlite(path, e))?;
        let (jobs, orders): (Sender<Job>, Receiver<Job>) = mpsc::channel();
        let thread = std::thread::Builder::new().name("rows".into()).spawn(move || {
            for job in orders {
                job(&mut writer);
            }
        });
        let thread = thread.map_err(|e| OpenError::io(path, e))?;
        Ok(SqliteSink(Arc::new(Shared {
            path: path.to_owned(),
            held: Mutex::new(held),
            reader: Mutex::new(reader),
            jobs: Mutex::new(Some(jobs)),
            thread: Mutex::new(Some(thread)),
        })))
    }

    /// Begins a run: what is written from now on belongs to it. A run with the same trace id goes on.
    pub fn begin_run(&self, run: RunStart) -> Result<(), SinkError> {
        self.run(move |writer| {
            let number = runs::begin(writer.db(), &run)?;
            writer.set_run(number);
            Ok(())
        })
    }

    /// Ends the run that was begun last.
    pub fn end_run(&self, run: RunEnd) -> Result<(), SinkError> {
        self.run(move |writer| match writer.run() {
            Some(number) => runs::end(writer.db(), number, &run),
            None => Ok(()),
        })
    }

    /// Takes rows out again; tells how many. Their room in the file is used for others.
    pub fn forget(&self, what: Forget) -> Result<usize, SinkError> {
        // First from memory: what waits for its row may be of it.
        lock(&self.0.held).clear();
        self.run(move |writer| forget::forget(writer.db(), &what))
    }

    /// Queues a job for the writing thread, and hands its result to `answer` there. `answer` is
    /// dropped without a call if the thread has ended.
    fn queue<T>(
        &self,
        rows: usize,
        job: impl FnOnce(&mut Writer) -> Result<T, rusqlite::Error> + Send + 'static,
        answer: impl FnOnce(Result<T, SinkError>) + Send + 'static,
    ) {
        let path = self.0.path.clone();
        let job: Job = Box::new(move |writer| {
            answer(job(writer).map_err(|e| SinkError { rows, why: trouble(&path, &e) }));
        });
        if let Some(jobs) = lock(&self.0.jobs).as_ref() {
            // Fails if the thread has ended, which the caller sees by the dropped `answer`.
            let _ = jobs.send(job);
        }
    }

    /// Runs a job in the writing thread and blocks this thread until its result is there.
    fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Writer) -> Result<T, rusqlite::Error> + Send + 'static,
    ) -> Result<T, SinkError> {
        // Not tokio's channel, whose blocking receiver panics inside a runtime.
        let (answer, result) = mpsc::sync_channel(1);
        self.queue(0, job, move |done| drop(answer.send(done)));
        result.recv().unwrap_or_else(|_| Err(self.ended(0)))
    }

    fn ended(&self, rows: usize) -> SinkError {
        let why = format!("the thread that writes `{}` has ended", self.0.path.display());
        SinkError { rows, why }
    }

    /// When a page that is held was fetched or confirmed; now, as it were, if its row is not written yet.
    pub fn held_since(&self, key: UrlKey) -> Option<Time> {
        let held = lock(&self.0.held);
        if held.get(key).is_some() {
            return Some(Time::NEVER);
        }
        let found = self.in_table(held, key, [SINCE, SINCE_MOVED], |row| row.get::<_, String>(0));
        read_timestamp(&found?)
    }

    /// What is held of a page: in memory, or in the table.
    fn look_up(&self, key: UrlKey) -> Option<CachedPage> {
        let held = lock(&self.0.held);
        if let Some(kept) = held.get(key) {
            return Some(kept.page.clone());
        }
        let found = self.in_table(held, key, [KEPT, KEPT_MOVED], |row| {
            Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?))
        });
        let (fresh_until, etag, last_modified) = found?;
        Some(CachedPage { fresh_until: read_timestamp(&fresh_until)?, etag, last_modified })
    }

    fn look_up_page(&self, key: UrlKey) -> Option<(Arc<Head>, Fetched)> {
        let held = lock(&self.0.held);
        if let Some((head, body)) = held.get(key).and_then(|kept| kept.answer.as_ref()) {
            return Some((Arc::clone(head), Fetched { body: body.clone() }));
        }
        let found = self.in_table(held, key, [ANSWER, ANSWER_MOVED], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, Vec<u8>>(2)?,
                row.get::<_, bool>(3)?,
            ))
        });
        let (_, headers, body, own) = found?;
        let head = Head { own, ..read_headers(&headers, 200)? };
        Some((Arc::new(head), Fetched { body: Bytes::from(body) }))
    }

    /// Asks the table. A page is kept under the URL at which it was found: its own, or one to which others were led as well; what is
    /// fresh longest counts, which is what the values are compared by. What can't be read is not held: that costs a request.
    fn in_table<T: Ord>(
        &self,
        held: MutexGuard<'_, Held>,
        key: UrlKey,
        [own, moved]: [&str; 2],
        read: fn(&rusqlite::Row<'_>) -> Result<T, rusqlite::Error>,
    ) -> Option<T> {
        if !held.may_have(key) {
            return None;
        }
        let any_moved = held.any_moved;
        drop(held);
        let reader = lock(&self.0.reader);
        let ask = |sql| {
            let mut statement = reader.prepare_cached(sql).ok()?;
            statement.query_row([&id(key)[..]], read).optional().ok()?
        };
        let own = ask(own);
        if any_moved { own.max(ask(moved)) } else { own }
    }
}

impl Sink for SqliteSink {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        let (rows, copy) = (batch.rows.len(), batch.clone());
        let (answer, result) = oneshot::channel();
        self.queue(rows, move |writer| writer.write(&copy), move |done| drop(answer.send(done)));
        Box::pin(async move {
            let pages = result.await.unwrap_or_else(|_| Err(self.ended(rows)))?;
            let mut held = lock(&self.0.held);
            for (key, page, moved) in &pages {
                held.written(*key, page, *moved);
            }
            Ok(())
        })
    }
}

impl Cache for SqliteSink {
    fn get(&self, key: UrlKey) -> Boxed<'_, Option<CachedPage>> {
        Box::pin(std::future::ready(self.look_up(key)))
    }

    fn page(&self, key: UrlKey) -> Boxed<'_, Option<(Arc<Head>, Fetched)>> {
        Box::pin(std::future::ready(self.look_up_page(key)))
    }

    /// The crawl's own file.
    fn is_shared(&self) -> bool {
        false
    }

    fn put(
        &self,
        asked: &UrlRecord,
        page: CachedPage,
        answer: Option<(&Arc<Head>, &Fetched)>,
    ) -> Boxed<'_, ()> {
        let answer = answer.map(|(head, page)| (Arc::clone(head), page.body.clone()));
        lock(&self.0.held).put(asked.url.key(), page, answer);
        Box::pin(std::future::ready(()))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The thread ends when nobody can ask it any more, after what it was asked.
        drop(lock(&self.jobs).take());
        if let Some(thread) = lock(&self.thread).take() {
            // It can't be helped any more if it panicked.
            let _ = thread.join();
        }
    }
}

/// Which pages the table holds.
fn fill(db: &Connection, held: &mut Held) -> Result<(), rusqlite::Error> {
    let mut note = |sql| {
        let mut count = 0;
        let mut statement = db.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if let Ok(key) = <[u8; 16]>::try_from(row.get_ref(0)?.as_blob().unwrap_or_default()) {
                held.note(UrlKey::from_u128(u128::from_be_bytes(key)));
                count += 1;
            }
        }
        Ok::<u64, rusqlite::Error>(count)
    };
    note("SELECT id FROM pages")?;
    held.any_moved = note("SELECT final_id FROM pages WHERE final_id IS NOT NULL")? > 0;
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const KEPT: &str = "SELECT fresh_until, etag, last_modified FROM pages
    WHERE id = ?1 AND final_id IS NULL AND fresh_until IS NOT NULL";
const KEPT_MOVED: &str = "SELECT fresh_until, etag, last_modified FROM pages
    WHERE final_id = ?1 AND fresh_until IS NOT NULL ORDER BY fresh_until DESC LIMIT 1";
const SINCE: &str = "SELECT decided_at FROM pages
    WHERE id = ?1 AND final_id IS NULL AND fresh_until IS NOT NULL";
const SINCE_MOVED: &str = "SELECT decided_at FROM pages
    WHERE final_id = ?1 AND fresh_until IS NOT NULL ORDER BY decided_at DESC LIMIT 1";
const ANSWER: &str = "SELECT fresh_until, headers, body, access IS 'own' FROM pages
    WHERE id = ?1 AND final_id IS NULL AND fresh_until IS NOT NULL AND body IS NOT NULL";
const ANSWER_MOVED: &str = "SELECT fresh_until, headers, body, access IS 'own' FROM pages
    WHERE final_id = ?1 AND fresh_until IS NOT NULL AND body IS NOT NULL
    ORDER BY fresh_until DESC LIMIT 1";
