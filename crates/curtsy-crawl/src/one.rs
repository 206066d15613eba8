//! Fetches one page for a caller who waits.
//!
//! A stale page of the shared cache is returned at once if its server permits use during
//! revalidation (RFC 5861). The response of the site is for the next caller.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use curtsy_core::host::AskKind;
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_engine::{Batch, Head, PageSource, Row};
use curtsy_store::{Ledger, Options, SystemClock};

use crate::run::make_folder;
use crate::sharing::Sharing;
use crate::{CrawlError, CrawlReport, EachBatch, JobSpec, Streaming, Watch, stream};

/// The fetched page.
#[derive(Clone, Debug)]
pub struct OnePage {
    /// The requested URL.
    pub url: CrawlUrl,
    /// The URL after all redirects.
    pub final_url: CrawlUrl,
    /// The head of the response.
    pub head: Arc<Head>,
    /// The body.
    pub body: Bytes,
    /// Where the content came from.
    pub source: PageSource,
    /// When the response arrived, or was last confirmed.
    pub at: Time,
}

/// Fetches the only page of a job. `show` is called for a stale page first, if its server permits
/// that, and then for the response.
pub fn get(
    spec: &JobSpec,
    show: &mut dyn FnMut(&OnePage),
    watch: &mut dyn Watch,
    asked: impl AsyncFnMut() -> std::io::Result<()>,
) -> Result<CrawlReport, CrawlError> {
    if let Some(stale) = stale(spec)? {
        show(&stale);
    }
    let pages = Mutex::new(Vec::new());
    let keep = |batch: &Batch| {
        let rows = batch.rows.iter().filter(|row| row.kind == AskKind::Page);
        let mut pages = pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.extend(rows.filter_map(|row| page(row)));
    };
    let report = stream(spec, Streaming::one_worker(1), |_| EachBatch(keep), watch, asked)?;
    for page in pages.into_inner().unwrap_or_else(PoisonError::into_inner) {
        show(&page);
    }
    Ok(report)
}

/// Returns the page of the shared cache if it is stale and may be used during revalidation.
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
