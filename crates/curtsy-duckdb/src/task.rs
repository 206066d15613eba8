//! Work on a thread of its own that a query waits for, and that ends with the query.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::duck::{Chunk, SqlError};
use crate::order::sql_error;

/// How often a query checks whether the work is done.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long requests in flight may take to end when a query ends early.
const GRACE: Duration = Duration::from_millis(250);

/// A thread that ends with its query. The thread gets two signals: the first lets requests in
/// flight end, the second ends the work at once. The thread is always joined.
pub(crate) struct CrawlThread<T> {
    stop: Arc<Notify>,
    thread: Option<JoinHandle<T>>,
}

/// The signals by which a query stops its work.
pub(crate) struct StopSignal(Arc<Notify>);

impl StopSignal {
    /// Completes at the next signal.
    pub(crate) async fn heard(&self) -> io::Result<()> {
        self.0.notified().await;
        Ok(())
    }
}

impl<T: Send + 'static> CrawlThread<T> {
    /// Starts work that ends soon after the signal.
    pub(crate) fn start(
        work: impl FnOnce(StopSignal) -> T + Send + 'static,
    ) -> Result<Self, SqlError> {
        let stop = Arc::new(Notify::new());
        let signal = StopSignal(Arc::clone(&stop));
        let thread = std::thread::Builder::new().name("crawl".into()).spawn(move || work(signal));
        let thread = thread.map_err(|e| sql_error(format!("could not start: {e}")))?;
        Ok(CrawlThread { stop, thread: Some(thread) })
    }

    /// Returns the result of the work if it has ended. Otherwise the query has no rows yet.
    pub(crate) fn result(&mut self, out: &mut Chunk<'_>) -> Result<Option<T>, SqlError> {
        match self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            true => {
                out.not_yet(LOOK_EVERY);
                Ok(None)
            }
            false => self.join().map(Some),
        }
    }

    /// Waits for the result of the work. Resumes a panic of the thread.
    pub(crate) fn join(&mut self) -> Result<T, SqlError> {
        let thread = self.thread.take().ok_or_else(|| SqlError::from("the crawl is over"))?;
        thread.join().map_err(|panic| std::panic::resume_unwind(panic))
    }
}

impl<T> Drop for CrawlThread<T> {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.stop.notify_one();
        let until = Instant::now() + GRACE;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.stop.notify_one();
        // Nobody needs the result any more, not even a panic.
        let _ = thread.join();
    }
}
