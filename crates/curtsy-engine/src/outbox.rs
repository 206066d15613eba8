//! The outbox: rows and steps on their way to the sinks.
//!
//! Rows wait a moment for others, so that sinks write batches. One batch is on its way at a time. A
//! batch that a sink did not accept goes back to the front, and is tried again after a second.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{Findings, LeaseId};
use curtsy_core::time::Time;

use crate::{Ending, Mono, Page, Row, Step, UrlRecord, UrlWrite, View, WorkerSettings};

/// Steps without a row are written once there are this many.
const STEPS_FLUSH: usize = 1000;
/// The most steps that wait for a sink. The oldest are dropped.
pub(crate) const STEPS_MAX: usize = 10_000;
/// How long a batch may be on its way to the sinks before nothing more is fetched.
pub(crate) const SINK_PATIENCE: Duration = Duration::from_secs(2);
/// Batches that may wait behind the one that is on its way.
pub(crate) const SINK_BATCHES: usize = 2;
/// The pause after a sink did not accept a batch.
const RETRY: Duration = Duration::from_secs(1);

/// A URL that has ended, until its row and its fate are written.
#[derive(Clone, Debug)]
pub(crate) struct FinishedUrl {
    pub(crate) row: Option<Arc<Row>>,
    /// The write that settles the URL; none if the URL never was in the queue.
    pub(crate) write: Option<UrlWrite>,
    /// The URL's claim before its last hold, if it is unknown whether that hold was written.
    pub(crate) before: Option<Option<LeaseId>>,
    /// The record, to keep the URL from other workers while it waits.
    pub(crate) record: UrlRecord,
}

impl FinishedUrl {
    /// A URL of `view`'s host that ended with a row.
    pub(crate) fn new(
        view: &View,
        record: &UrlRecord,
        ending: Ending,
        findings: Findings,
        at: Time,
    ) -> FinishedUrl {
        let row = Row {
            id: record.id,
            url: record.origin.clone(),
            wish: record.wish.clone(),
            final_url: record.url.clone(),
            redirects: record.hop,
            depth: record.depth,
            kind: record.kind(),
            tries: record.tries.counted,
            ending,
            findings,
            crawl_delay: view.state.crawl_delay_of(&record.url.authority()),
            at,
            page: None,
        };
        FinishedUrl { row: Some(Arc::new(row)), ..FinishedUrl::without_row(view, record) }
    }

    /// A URL of `view`'s host that ended without a row: a hop of a robots.txt.
    pub(crate) fn without_row(view: &View, record: &UrlRecord) -> FinishedUrl {
        let from = Some(view.host.clone());
        let write = UrlWrite { from, id: record.id, claim: record.claim, to: None };
        FinishedUrl { row: None, write: Some(write), before: None, record: record.clone() }
    }

    /// The same with its page.
    pub(crate) fn with(mut self, page: Option<Arc<Page>>) -> FinishedUrl {
        if let Some(row) = &mut self.row {
            Arc::make_mut(row).page = page;
        }
        self
    }

    /// The writes that change the URL's record to `to`, one for each claim that it may have.
    pub(crate) fn writes(&self, to: Option<&UrlRecord>) -> impl Iterator<Item = UrlWrite> {
        let write = self.write.as_ref().map(|write| UrlWrite { to: to.cloned(), ..write.clone() });
        let before = write.clone().zip(self.before);
        before.map(|(write, claim)| UrlWrite { claim, ..write }).into_iter().chain(write)
    }

    /// Bytes of its body.
    fn body_bytes(&self) -> usize {
        let page = self.row.as_ref().and_then(|r| r.page.as_ref());
        page.and_then(|p| p.body.as_ref()).map_or(0, |b| b.len())
    }
}

/// The rows and steps of a worker that no sink has accepted yet.
pub(crate) struct Outbox {
    urls: Vec<FinishedUrl>,
    /// Bytes of the bodies in `urls`.
    body_bytes: usize,
    steps: Vec<Step>,
    /// When the oldest of `urls` came in, or when a batch that was refused is tried again.
    first_at: Option<Mono>,
    /// When the batch that is on its way was begun.
    flush_began: Option<Mono>,
    /// Whether the sinks accepted the last batch.
    last_accepted: bool,
    /// When the URLs that wait for a sink were last held in the store.
    pub(crate) held_at: Option<Mono>,
}

impl Outbox {
    pub(crate) fn new() -> Outbox {
        Outbox {
            urls: Vec::new(),
            body_bytes: 0,
            steps: Vec::new(),
            first_at: None,
            flush_began: None,
            last_accepted: true,
            held_at: None,
        }
    }

    pub(crate) fn push(&mut self, url: FinishedUrl, now: Mono) {
        self.first_at.get_or_insert(now);
        self.body_bytes += url.body_bytes();
        self.urls.push(url);
    }

    pub(crate) fn push_step(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Whether no row waits, and no batch is on its way.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.urls.is_empty() && !self.is_flushing()
    }

    /// Whether neither a row nor a step waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.urls.is_empty() && self.steps.is_empty()
    }

    /// Whether the sinks accepted the last batch.
    pub(crate) fn last_accepted(&self) -> bool {
        self.last_accepted
    }

    /// Whether a batch is on its way.
    pub(crate) fn is_flushing(&self) -> bool {
        self.flush_began.is_some()
    }

    /// Returns when the next batch is to be written; none if nothing waits. Steps without a row
    /// wait for one, unless there are many or the work is `ending`.
    pub(crate) fn flush_at(
        &self,
        now: Mono,
        ending: bool,
        settings: &WorkerSettings,
    ) -> Option<Mono> {
        let alone = self.urls.is_empty();
        if alone && (self.steps.is_empty() || self.steps.len() < STEPS_FLUSH && !ending) {
            return None;
        }
        let first = self.first_at.unwrap_or(now);
        let full =
            self.urls.len() >= settings.flush_rows || self.body_bytes >= settings.flush_bytes;
        Some(if alone || full || ending { first } else { first + settings.flush_after })
    }

    /// Whether the sinks keep up: they accepted the last batch, the one on its way does not take
    /// too long, and not too much waits behind it.
    pub(crate) fn has_room(&self, now: Mono, settings: &WorkerSettings) -> bool {
        let behind = self.flush_began.is_some_and(|began| {
            now - began > SINK_PATIENCE
                || self.body_bytes >= SINK_BATCHES * settings.flush_bytes
                || self.urls.len() >= SINK_BATCHES * settings.flush_rows
        });
        self.last_accepted && !behind
    }

    pub(crate) fn begin_flush(&mut self, now: Mono) {
        self.flush_began = Some(now);
        self.first_at = None;
    }

    /// Takes the rows of the next batch.
    pub(crate) fn take_urls(&mut self) -> Vec<FinishedUrl> {
        self.body_bytes = 0;
        std::mem::take(&mut self.urls)
    }

    /// Takes the steps of the next batch.
    pub(crate) fn take_steps(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.steps)
    }

    /// Puts rows back that were not accepted, before those that came in since.
    pub(crate) fn put_back_urls(&mut self, urls: Vec<FinishedUrl>) {
        self.body_bytes += urls.iter().map(FinishedUrl::body_bytes).sum::<usize>();
        self.urls.splice(0..0, urls);
    }

    /// Puts steps back that were not accepted, before those that came in since.
    pub(crate) fn put_back_steps(&mut self, mut steps: Vec<Step>) {
        steps.append(&mut self.steps);
        steps.drain(..steps.len().saturating_sub(STEPS_MAX));
        self.steps = steps;
    }

    pub(crate) fn end_flush(&mut self, now: Mono, accepted: bool) {
        self.flush_began = None;
        self.last_accepted = accepted;
        if !accepted {
            self.first_at = Some(now + RETRY);
        }
    }
}
