//! Writes a batch: rows to every sink, then fates to the store, then acknowledgements.

use curtsy_core::url::UrlKey;

use crate::outbox::FinishedUrl;
use crate::run::Event;
use crate::url_fate::held_for;
use crate::{Batch, Note, Point, Store, StoreError, UrlWrite, Worker, World};

/// A URL whose row waits for a sink is held anew this often while one hold lasts.
const HOLDS_RENEWED: u32 = 4;

impl<W: World> Worker<'_, W> {
    /// Writes the rows that wait in the outbox.
    pub(crate) async fn flush(&self) -> Event {
        let mut batch = self.outbox.borrow_mut().take_urls();
        let accepted = self.write_out(&batch).await;
        if accepted {
            self.outbox.borrow_mut().held_at = None;
        } else {
            self.hold(&mut batch).await;
            self.outbox.borrow_mut().put_back_urls(batch);
        }
        Event::Flushed { accepted }
    }

    /// Holds the URLs of a batch that was not accepted, so that no other worker fetches them again.
    async fn hold(&self, batch: &mut [FinishedUrl]) {
        let now = self.now();
        let since = *self.outbox.borrow_mut().held_at.get_or_insert(now);
        let held_for = held_for(&self.policies.job);
        let due = now - since >= held_for / HOLDS_RENEWED;
        let Some(stamp) = self.store_clock.last_stamp().filter(|_| due) else {
            return;
        };
        let until = stamp.latest(now) + held_for;
        for url in batch.iter_mut() {
            let Some(write) = &url.write else { continue };
            // While it is unknown whether a claim was written, the claim stays the same, and the
            // claim before it may still be valid.
            let claim = match url.before {
                Some(_) => write.claim,
                None => Some(self.identity.new_lease()),
            };
            url.record.ready = Some(until);
            url.record.held = true;
            url.record.claim = claim;
        }
        let writes = batch.iter().flat_map(|url| url.writes(Some(&url.record))).collect();
        let written = self.world.store().settle(writes).await;
        for url in batch.iter_mut() {
            let Some(write) = &mut url.write else { continue };
            match written {
                Ok(()) => (write.claim, url.before) = (url.record.claim, None),
                Err(StoreError::Unknown(_)) => {
                    url.before.get_or_insert(write.claim);
                    write.claim = url.record.claim;
                }
                Err(StoreError::Refused(..)) => {}
            }
        }
        if written.is_ok() {
            self.outbox.borrow_mut().held_at = Some(now);
        }
    }

    /// Writes a batch, together with the steps that wait. Returns whether all of it was accepted.
    pub(crate) async fn write_out(&self, urls: &[FinishedUrl]) -> bool {
        let batch = Batch {
            rows: urls.iter().filter_map(|url| url.row.clone()).collect(),
            steps: self.outbox.borrow_mut().take_steps(),
        };
        if !batch.rows.is_empty() || !batch.steps.is_empty() {
            for sink in &self.outside.sinks {
                if let Err(error) = sink.write(&batch).await {
                    self.outside.listener.note(Note::NotKept { why: &error.why });
                    self.outbox.borrow_mut().put_back_steps(batch.steps);
                    return false;
                }
            }
        }
        self.world.reached(Point::RowWritten).await;
        let writes: Vec<UrlWrite> = urls
            .iter()
            .flat_map(|url| url.writes(url.write.as_ref().and_then(|write| write.to.as_ref())))
            .collect();
        if !writes.is_empty() && self.world.store().settle(writes).await.is_err() {
            return false;
        }
        self.world.reached(Point::FateWritten).await;
        let ids: Vec<UrlKey> = batch.rows.iter().map(|row| row.id).collect();
        self.outside.source.ack(&ids).await;
        self.counts.borrow_mut().rows += batch.rows.len() as u64;
        self.world.reached(Point::Acknowledged).await;
        true
    }
}
