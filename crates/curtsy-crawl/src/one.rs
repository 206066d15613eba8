//! One page for somebody who waits for it.
//!
//! A stale page of the shared cache is returned at once if its server permits use during
//! revalidation (RFC 5861). The answer of the site is for the next caller.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use curtsy_core::host::AskKind;
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_engine::{Batch, Boxed, Head, PageSource, Row, Sink, SinkError};
use curtsy_store::{Ledger, Options, ReadableTables, SystemClock};

use crate::run::make_folder;
use crate::sharing::Sharing;
use crate::stream::{Keeper, Streaming};
use crate::{CrawlError, JobSpec, Report, Watch, stream};

/// A page that somebody waited for.
#[derive(Clone, Debug)]
pub struct OnePage {
    /// The page that was asked for.
    pub url: CrawlUrl,
    /// Where it was found.
    pub final_url: CrawlUrl,
    /// The head of the answer.
    pub head: Arc<Head>,
    /// The body.
    pub body: Bytes,
    /// Where it comes from.
    pub source: PageSource,
    /// When its answer came, or was last confirmed.
    pub at: Time,
}

/// Gets the only page of a job. `show` is called for a stale page first, if its server permits
/// that, and then for the answer of the site.
pub fn get(
    spec: &JobSpec,
    show: &mut dyn FnMut(&OnePage),
    watch: &mut dyn Watch,
    asked: impl AsyncFnMut() -> std::io::Result<()>,
) -> Result<Report, CrawlError> {
    if let Some(stale) = stale(spec)? {
        show(&stale);
    }
    let pages = Mutex::new(Vec::new());
    let how = Streaming { workers: 1, rows: 1, known: Vec::new(), shows: ReadableTables::Nothing };
    let report = stream(spec, how, |_| OnePageKeeper(&pages), watch, asked)?;
    for page in pages.into_inner().unwrap_or_else(PoisonError::into_inner) {
        show(&page);
    }
    Ok(report)
}

/// The page as the shared cache has it, if it is stale and may be used while it is asked for again.
fn stale(spec: &JobSpec) -> Result<Option<OnePage>, CrawlError> {
    let ledger = spec.ledger_file()?;
    make_folder(ledger)?;
    let (Some(sharing), [url, ..]) = (Sharing::open(spec).0, &spec.seeds[..]) else {
        return Ok(None);
    };
    let Some(held) = sharing.find(url.key()).filter(|held| held.head.status == 200) else {
        return Ok(None);
    };
    let now = Ledger::open(ledger, SystemClock, Options::default().quiet)?.now();
    if held.kept.fresh_until > now || held.usable_until <= now {
        return Ok(None);
    }
    Ok(sharing.page(url.key()).map(|page| OnePage {
        url: url.clone(),
        final_url: url.clone(),
        head: page.head,
        body: page.body,
        source: PageSource::Stale,
        at: held.at,
    }))
}

/// Whoever waits for the page.
struct OnePageKeeper<'p>(&'p Mutex<Vec<OnePage>>);

impl Keeper for OnePageKeeper<'_> {
    fn sink(&self) -> Box<dyn Sink + '_> {
        Box::new(OnePageKeeper(self.0))
    }
}

impl Sink for OnePageKeeper<'_> {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        let pages = batch.rows.iter().filter(|row| row.kind == AskKind::Page);
        let pages = pages.filter_map(|row| page(row));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(pages);
        Box::pin(std::future::ready(Ok(())))
    }
}

fn page(row: &Row) -> Option<OnePage> {
    let page = row.page.as_deref()?;
    Some(OnePage {
        url: row.url.clone(),
        final_url: row.final_url.clone(),
        head: Arc::clone(&page.head),
        body: page.body.clone()?,
        source: page.source,
        at: row.at,
    })
}
