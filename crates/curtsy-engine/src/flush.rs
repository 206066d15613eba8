//! Rows out, then fates, then acknowledgements.

use std::time::Duration;

use curtsy_core::url::UrlKey;

use crate::becomes::HELD;
use crate::worker::Event;
use crate::{Clock, Point, Row, Store, UrlRecord, UrlWrite, Worker, World};

/// A URL that has ended, on its way out.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) row: Option<Row>,
    pub(crate) write: UrlWrite,
    /// The record, to keep it from others while it waits.
    pub(crate) record: UrlRecord,
}

/// A row that waits longer than this for its sink has its URL held anew.
const RENEW: Duration = Duration::from_secs(30);

impl<W: World> Worker<'_, W> {
    /// Flushes what has ended so far.
    pub(crate) async fn flush_batch(&self) -> Event {
        let mut batch = std::mem::take(&mut *self.ended.borrow_mut());
        let kept = self.write_out(&batch).await;
        if kept {
            self.held_at.set(None);
        } else {
            self.hold_on(&mut batch).await;
            // Nothing is lost: it goes out before what came after it.
            self.ended.borrow_mut().splice(0..0, batch);
        }
        Event::Flushed { kept }
    }

    /// Keeps URLs whose rows can't be kept now from being handed out again: what was fetched is not fetched twice.
    async fn hold_on(&self, batch: &mut [Ended]) {
        let now = self.world.clock().mono();
        let since = self.held_at.get().unwrap_or(now);
        self.held_at.set(Some(since));
        let Some(stamp) = self.last_stamp.get().filter(|_| now - since >= RENEW) else {
            return;
        };
        let until = stamp.latest(now) + HELD;
        let mut writes = Vec::new();
        for ended in batch.iter_mut() {
            let claim = Some(self.new_lease());
            let record = UrlRecord { ready: Some(until), claim, ..ended.record.clone() };
            writes.push(UrlWrite { to: Some(record.clone()), ..ended.write.clone() });
            ended.write.claim = claim;
            ended.record = record;
        }
        // If it does not get through, the next try finds another claim and leaves the URL to whoever has it.
        if self.world.store().settle(writes).await.is_ok() {
            self.held_at.set(Some(now));
        }
    }

    /// Writes a batch: the rows to every sink, then one settle for the fates, then the acknowledgements.
    pub(crate) async fn write_out(&self, batch: &[Ended]) -> bool {
        let rows: Vec<Row> = batch.iter().filter_map(|e| e.row.clone()).collect();
        if !rows.is_empty() {
            for sink in &self.outside.sinks {
                if sink.write(&rows).await.is_err() {
                    return false;
                }
            }
        }
        self.world.reached(Point::RowWritten).await;
        let writes: Vec<UrlWrite> = batch.iter().map(|e| e.write.clone()).collect();
        if self.world.store().settle(writes).await.is_err() {
            return false;
        }
        self.world.reached(Point::FateWritten).await;
        let ids: Vec<UrlKey> = rows.iter().map(|r| r.id).collect();
        self.outside.source.ack(&ids).await;
        self.counts.borrow_mut().rows += rows.len() as u64;
        self.world.reached(Point::Acknowledged).await;
        true
    }
}
