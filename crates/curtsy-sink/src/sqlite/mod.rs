//! Rows and pages in the crawl's own file.
//!
//! A thread of its own writes: a worker that waits for the disk would miss turns. The thread takes
//! a batch, makes its values, and writes them in one transaction, while the worker's other visits
//! continue. Lookups have a connection of their own, which no writer blocks.

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

use held::UnwrittenPages;
use write::{RowWriter, id};

pub use forget::Forget;
pub use runs::{RunEnd, RunStart};

use crate::record::read_headers;
use crate::rules::RobotsTexts;
use curtsy_file::{OpenError, trouble};

/// Settings of the sink.
#[derive(Clone)]
pub struct SqliteOptions {
    /// The largest number of fetched pages in memory whose rows are not written yet.
    pub pages_held: usize,
    /// The largest number of bytes of their bodies.
    pub bytes_held: usize,
    /// Finds texts of robots.txt. Without, a row has only the number of the line that decided.
    pub robots: Option<RobotsTexts>,
    /// The policy's limit on bodies, for the column `reason`.
    pub body_max: Option<u64>,
}

impl Default for SqliteOptions {
    fn default() -> SqliteOptions {
        SqliteOptions {
            pages_held: 10_000,
            bytes_held: 64 * 1024 * 1024,
            robots: None,
            body_max: None,
        }
    }
}

/// Rows, decisions, runs and the page cache of one crawl, in its file. Clones are the same sink.
#[derive(Clone)]
pub struct SqliteSink(Arc<SinkState>);

struct SinkState {
    path: PathBuf,
    held: Mutex<UnwrittenPages>,
    reader: Mutex<Connection>,
    /// The jobs of the writing thread; none when it must end.
    jobs: Mutex<Option<Sender<WriterJob>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

type WriterJob = Box<dyn FnOnce(&mut RowWriter) + Send>;

impl SqliteSink {
    /// Opens or creates the tables of rows in a crawl's file.
    pub fn open(path: &Path, options: SqliteOptions) -> Result<SqliteSink, OpenError> {
        let db = schema::open(path)?;
        let reader = schema::open_to_read(path)?;
        let mut held = UnwrittenPages::new(options.pages_held, options.bytes_held);
        fill(&db, &mut held).map_err(|e| OpenError::sqlite(path, e))?;
        let mut writer = RowWriter::new(db, options.robots, options.body_max)
            .map_err(|e| OpenError::sqlite(path, e))?;
        let (jobs, orders): (Sender<WriterJob>, Receiver<WriterJob>) = mpsc::channel();
        let thread = std::thread::Builder::new().name("rows".into()).spawn(move || {
            for job in orders {
                job(&mut writer);
            }
        });
        let thread = thread.map_err(|e| OpenError::io(path, e))?;
        Ok(SqliteSink(Arc::new(SinkState {
            path: path.to_owned(),
            held: Mutex::new(held),
            reader: Mutex::new(reader),
            jobs: Mutex::new(Some(jobs)),
            thread: Mutex::new(Some(thread)),
        })))
    }

    /// Begins a run, to which further rows belong. A run with the same trace id is continued.
    pub fn begin_run(&self, run: RunStart) -> Result<(), SinkError> {
        self.run(move |writer| {
            let number = runs::begin(writer.db(), &run)?;
            writer.set_run(number);
            Ok(())
        })
    }

    /// Ends the current run.
    pub fn end_run(&self, run: RunEnd) -> Result<(), SinkError> {
        self.run(move |writer| match writer.run() {
            Some(number) => runs::end(writer.db(), number, &run),
            None => Ok(()),
        })
    }

    /// Deletes rows and returns their number. The file reuses their space.
    pub fn forget(&self, what: Forget) -> Result<usize, SinkError> {
        // A deleted page may still be in memory.
        lock(&self.0.held).clear();
        self.run(move |writer| forget::forget(writer.db(), &what))
    }

    /// Queues a job for the writing thread, and hands its result to `answer` there. `answer` is
    /// dropped without a call if the thread has ended.
    fn queue<T>(
        &self,
        rows: usize,
        job: impl FnOnce(&mut RowWriter) -> Result<T, rusqlite::Error> + Send + 'static,
        answer: impl FnOnce(Result<T, SinkError>) + Send + 'static,
    ) {
        let path = self.0.path.clone();
        let job: WriterJob = Box::new(move |writer| {
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
        job: impl FnOnce(&mut RowWriter) -> Result<T, rusqlite::Error> + Send + 'static,
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

    /// Returns when a held page was fetched or confirmed. A page whose row is not written yet is
    /// newer than any time.
    pub fn held_since(&self, key: UrlKey) -> Option<Time> {
        let held = lock(&self.0.held);
        if held.get(key).is_some() {
            return Some(Time::NEVER);
        }
        let found = self.in_table(held, key, [SINCE, SINCE_MOVED], |row| row.get::<_, String>(0));
        read_timestamp(&found?)
    }

    /// Looks a page up in memory, then in the table.
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

    /// Looks a page up in the table: by its own URL, and by the final URL of other rows. The
    /// greater value counts, which is the one that is fresh longer. A failed lookup costs a
    /// request.
    fn in_table<T: Ord>(
        &self,
        held: MutexGuard<'_, UnwrittenPages>,
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

    /// The crawl's own file is not shared.
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

impl Drop for SinkState {
    fn drop(&mut self) {
        // The thread ends when its queue is closed, after the queued jobs.
        drop(lock(&self.jobs).take());
        if let Some(thread) = lock(&self.thread).take() {
            // A panic of the thread was reported by the job that failed.
            let _ = thread.join();
        }
    }
}

/// Adds the table's keys to the filter.
fn fill(db: &Connection, held: &mut UnwrittenPages) -> Result<(), rusqlite::Error> {
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
