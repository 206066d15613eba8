//! Rows out, then fates, then acknowledgements.

use std::sync::Arc;

use curtsy_core::host::LeaseId;
use curtsy_core::url::UrlKey;

use crate::becomes::held_for;
use crate::worker::Event;
use crate::{
    Batch, Clock, Note, Page, Point, Row, Store, StoreError, UrlRecord, UrlWrite, Worker, World,
};

/// A URL that has ended, on its way out.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) row: Option<Arc<Row>>,
    /// What settles it; none if it never was in the queue.
    pub(crate) write: Option<UrlWrite>,
    /// The claim that the URL has still if its last hold was not written, which is not known.
    pub(crate) before: Option<Option<LeaseId>>,
    /// The record, to keep it from others while it waits.
    pub(crate) record: UrlRecord,
}

impl Ended {
    /// With its page.
    pub(crate) fn with(mut self, page: Option<Arc<Page>>) -> Ended {
        if let Some(row) = &mut self.row {
            Arc::make_mut(row).page = page;
        }
        self
    }

    /// What makes this of it in the store, under whichever claim it is there.
    fn writes(&self, to: Option<&UrlRecord>) -> impl Iterator<Item = UrlWrite> {
        let of = |write: &UrlWrite| UrlWrite { to: to.cloned(), ..write.clone() };
        let write = self.write.as_ref().map(of);
        let before = write.clone().zip(self.before);
        before.map(|(write, claim)| UrlWrite { claim, ..write }).into_iter().chain(write)
    }

    /// Bytes of its body.
    pub(crate) fn bytes(&self) -> usize {
        let page = self.row.as_ref().and_then(|r| r.page.as_ref());
        page.and_then(|p| p.body.as_ref()).map_or(0, |b| b.len())
    }
}

/// Steps that wait for a sink, at most; older ones give way.
pub(crate) const STEPS_MAX: usize = 10_000;
/// A row that waits for its sink has its URL held anew so often while a hold lasts.
const RENEWED: u32 = 4;

impl<W: World> Worker<'_, W> {
    /// Flushes what has ended so far.
    pub(crate) async fn flush_batch(&self) -> Event {
        let mut batch = std::mem::take(&mut *self.ended.borrow_mut());
        self.ended_bytes.set(0);
        let kept = self.write_out(&batch).await;
        if kept {
            self.held_at.set(None);
        } else {
            self.hold_on(&mut batch).await;
            // Nothing is lost: it goes out before what came after it.
            let bytes: usize = batch.iter().map(Ended::bytes).sum();
            self.ended_bytes.set(self.ended_bytes.get() + bytes);
            self.ended.borrow_mut().splice(0..0, batch);
        }
        Event::Flushed { kept }
    }

    /// Keeps URLs whose rows can't be kept now from being handed out again: what was fetched is not fetched twice.
    async fn hold_on(&self, batch: &mut [Ended]) {
        let now = self.world.clock().mono();
        let since = self.held_at.get().unwrap_or(now);
        self.held_at.set(Some(since));
        let held_for = held_for(&self.policy);
        let Some(stamp) = self.last_stamp.get().filter(|_| now - since >= held_for / RENEWED)
        else {
            return;
        };
        let until = stamp.latest(now) + held_for;
        for ended in batch.iter_mut() {
            let Some(write) = &ended.write else { continue };
            // As long as it is not known whether a claim was written it stays the same, and the one before it may be the URL's own.
            let claim = match ended.before {
                Some(_) => write.claim,
                None => Some(self.new_lease()),
            };
            ended.record.ready = Some(until);
            ended.record.held = true;
            ended.record.claim = claim;
        }
        let writes = batch.iter().flat_map(|ended| ended.writes(Some(&ended.record))).collect();
        let written = self.world.store().settle(writes).await;
        for ended in batch.iter_mut() {
            let Some(write) = &mut ended.write else { continue };
            match written {
                Ok(()) => (write.claim, ended.before) = (ended.record.claim, None),
                Err(StoreError::Unknown(_)) => {
                    ended.before.get_or_insert(write.claim);
                    write.claim = ended.record.claim;
                }
                Err(StoreError::Refused(..)) => {}
            }
        }
        if written.is_ok() {
            self.held_at.set(Some(now));
        }
    }

    /// Writes a batch: the rows to every sink, then one settle for the fates, then the acknowledgements.
    pub(crate) async fn write_out(&self, batch: &[Ended]) -> bool {
        let out = Batch {
            rows: batch.iter().filter_map(|e| e.row.clone()).collect(),
            steps: std::mem::take(&mut *self.steps.borrow_mut()),
        };
        if !out.rows.is_empty() || !out.steps.is_empty() {
            for sink in &self.outside.sinks {
                if let Err(error) = sink.write(&out).await {
                    self.outside.listener.note(Note::NotKept { why: &error.why });
                    let mut steps = out.steps;
                    steps.append(&mut self.steps.borrow_mut());
                    steps.drain(..steps.len().saturating_sub(STEPS_MAX));
                    *self.steps.borrow_mut() = steps;
                    return false;
                }
            }
        }
        self.world.reached(Point::RowWritten).await;
        let writes: Vec<UrlWrite> = batch
            .iter()
            .flat_map(|e| e.writes(e.write.as_ref().and_then(|w| w.to.as_ref())))
            .collect();
        if !writes.is_empty() && self.world.store().settle(writes).await.is_err() {
            return false;
        }
        self.world.reached(Point::FateWritten).await;
        let ids: Vec<UrlKey> = out.rows.iter().map(|r| r.id).collect();
        self.outside.source.ack(&ids).await;
        self.counts.borrow_mut().rows += out.rows.len() as u64;
        self.world.reached(Point::Acknowledged).await;
        true
    }
}
