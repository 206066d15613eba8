//! Compares each row of a crawl that runs again with the page that the file held.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use curtsy_core::host::AskKind;
use curtsy_core::time::Time;
use curtsy_core::url::UrlKey;
use curtsy_engine::{
    Batch, Boxed, Cache, CachedPage, Ending, Fetched, Head, Row, Sink, SinkError, UrlRecord,
};
use curtsy_sink::SqliteSink;
use curtsy_sink::read::{PageRow, PagesFile};
use serde::Serialize;

/// The changes of pages since their last requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// The content has changed.
    pub changed: u64,
    /// The content is the same, or was fresh and not requested.
    pub unchanged: u64,
    /// Held before, and now missing (404 or 410).
    pub gone: u64,
    /// Not held before.
    pub new: u64,
    /// Pages that were held before and were not requested, because no document leads to them any
    /// more. Known when nothing is left to do.
    pub unlinked: u64,
}

impl std::ops::AddAssign for Compared {
    fn add_assign(&mut self, more: Compared) {
        self.changed += more.changed;
        self.unchanged += more.unchanged;
        self.gone += more.gone;
        self.new += more.new;
        self.unlinked += more.unlinked;
    }
}

/// The rows of a crawl's file, each compared with the one before it.
pub(crate) struct Comparing<'p> {
    pages: &'p SqliteSink,
    before: &'p PagesFile,
    compared: Mutex<Compared>,
}

impl<'p> Comparing<'p> {
    pub(crate) fn new(pages: &'p SqliteSink, before: &'p PagesFile) -> Comparing<'p> {
        Comparing { pages, before, compared: Mutex::default() }
    }

    /// Returns the counts so far.
    pub(crate) fn compared(&self) -> Compared {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Compared> {
        self.compared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a row that is not written yet. A row may arrive a second time, after it was written;
    /// it counts once.
    fn compare(&self, row: &Row, sum: &mut Compared) -> Result<(), curtsy_store::OpenError> {
        if row.kind != AskKind::Page {
            return Ok(());
        }
        let before = self.before.row(&row.url)?;
        if before.as_ref().is_some_and(|before| before.decided_at == Some(row.at)) {
            return Ok(());
        }
        // The content of a page with `noindex` may not be stored.
        let was_there = |before: PageRow| {
            before.content_hash.is_some() || ["fetched", "confirmed"].contains(&&*before.decision)
        };
        let held = before.is_some_and(was_there);
        match &row.ending {
            Ending::Cached => sum.unchanged += 1,
            Ending::Fetched(outcome) | Ending::Dead(outcome) => match outcome.status() {
                Some(304) => sum.unchanged += 1,
                Some(404 | 410) if held => sum.gone += 1,
                Some(200..=299) if !held => sum.new += 1,
                Some(200..=299) => {
                    let body = row.page.as_ref().and_then(|page| page.body.as_ref());
                    let same = self.before.body(&row.url)?.as_deref() == body.map(|b| &b[..]);
                    *if same { &mut sum.unchanged } else { &mut sum.changed } += 1;
                }
                _ => {}
            },
            Ending::Refused(_) | Ending::LoginWall(_) | Ending::Unheard | Ending::LostRedirect => {}
        }
        Ok(())
    }
}

impl Sink for Comparing<'_> {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        Box::pin(async move {
            let mut more = Compared::default();
            for row in &batch.rows {
                let compared = self.compare(row, &mut more);
                compared.map_err(|e| SinkError { rows: batch.rows.len(), why: e.to_string() })?;
            }
            self.pages.write(batch).await?;
            // Several visits write concurrently.
            *self.lock() += more;
            Ok(())
        })
    }
}

/// The pages of a crawl's file, where every page that was held before this moment is stale: each is
/// requested again, with its validators. The answers are kept for other crawls too, since they are
/// newer than the copies in the shared cache.
pub(crate) struct Forced<'p> {
    pub(crate) pages: &'p SqliteSink,
    pub(crate) shelves: &'p dyn Cache,
    pub(crate) since: Time,
}

impl Cache for Forced<'_> {
    fn get(&self, key: UrlKey) -> Boxed<'_, Option<CachedPage>> {
        Box::pin(async move {
            let page = self.pages.get(key).await?;
            let known = self.pages.held_since(key).is_some_and(|held| held >= self.since);
            let fresh_until = if known { page.fresh_until } else { Time::START };
            Some(CachedPage { fresh_until, ..page })
        })
    }

    fn page(&self, key: UrlKey) -> Boxed<'_, Option<(Arc<Head>, Fetched)>> {
        self.pages.page(key)
    }

    fn remembers_missing(&self) -> bool {
        self.shelves.remembers_missing()
    }

    fn is_shared(&self) -> bool {
        self.shelves.is_shared()
    }

    fn put(
        &self,
        asked: &UrlRecord,
        page: CachedPage,
        answer: Option<(&Arc<Head>, &Fetched)>,
    ) -> Boxed<'_, ()> {
        self.shelves.put(asked, page, answer)
    }
}
