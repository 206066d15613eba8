//! Work on a thread of its own that a query waits for, and that ends with the query.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use curtsy_crawl::{Progress, Watch};
use tokio::sync::Notify;

use crate::duck::{Chunk, Fault};
use crate::order::fault;

/// How often a query looks whether the work is done.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long what was sent is waited for when a query ends early.
const GRACE: Duration = Duration::from_millis(250);

/// A thread that is asked to end when it is no longer wanted: once to finish what was sent, then to end at once. It is always joined.
pub(crate) struct Task<T> {
    stop: Arc<Notify>,
    thread: Option<JoinHandle<T>>,
}

impl<T: Send + 'static> Task<T> {
    /// Starts work that ends soon after it is notified.
    pub(crate) fn start(
        work: impl FnOnce(Arc<Notify>) -> T + Send + 'static,
    ) -> Result<Self, Fault> {
        let stop = Arc::new(Notify::new());
        let told = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("crawl".into()).spawn(move || work(told));
        let thread = thread.map_err(|e| fault(format!("could not start: {e}")))?;
        Ok(Task { stop, thread: Some(thread) })
    }

    /// What the work came to, if it is over; else the query has no rows yet.
    pub(crate) fn done(&mut self, out: &mut Chunk<'_>) -> Result<Option<T>, Fault> {
        match self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            true => {
                out.not_yet(LOOK_EVERY);
                Ok(None)
            }
            false => self.join().map(Some),
        }
    }

    /// What the work came to, once it is over. A panic goes on here.
    pub(crate) fn join(&mut self) -> Result<T, Fault> {
        let thread = self.thread.take().ok_or_else(|| Fault::from("the crawl is over"))?;
        thread.join().map_err(|panic| std::panic::resume_unwind(panic))
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        self.stop.notify_one();
        let until = Instant::now() + GRACE;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.stop.notify_one();
        // What it came to is nobody's business any more, not even a panic.
        let _ = thread.join();
    }
}

/// Nobody looks how it stands.
pub(crate) struct Unseen;

impl Watch for Unseen {
    fn every(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn see(&mut self, _: &Progress) {}

    fn note(&mut self, _: &str) {}
}
