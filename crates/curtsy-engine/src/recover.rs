//! Recovery after the store lost something: the worker writes back what it remembers.

use curtsy_core::host::HostState;
use curtsy_core::url::UrlKey;
use futures_util::stream::{self, StreamExt};

use crate::run::Event;
use crate::{Epoch, Note, Order, Store, UrlRecord, Worker, World};

/// Hosts that are restored at once.
const RESTORED_AT_ONCE: usize = 64;
/// Orders or URLs that are written at once.
const BATCH_MAX: usize = 500;

impl<W: World> Worker<'_, W> {
    /// Writes back stop orders, URLs with their tries, and host states, which merge by maximum.
    /// Then sources offer again what they have no acknowledgement for, because offers may be lost.
    pub(crate) async fn recover(&self, epoch: Epoch) -> Event {
        self.counts.borrow_mut().recoveries += 1;
        self.outside.listener.note(Note::Recovering);
        let hosts = self.memory.borrow().hosts.clone();
        // Nothing is granted in the first half minute of an epoch. What is remembered must be back
        // by then, even in a slow store: few calls first, then all hosts at once.
        self.order_again().await;
        self.remind().await;
        let restoring = stream::iter(hosts).for_each_concurrent(
            RESTORED_AT_ONCE,
            |(host, (_, state))| async move {
                self.change(&host, |view| {
                    let mut restored = HostState::clone(&view.state);
                    restored.restore(&state, view.now);
                    restored
                })
                .await;
            },
        );
        restoring.await;
        if epoch.emptied {
            let wishes = self.visiting.borrow().wishes();
            self.offer(&wishes).await;
            self.outside.listener.note(Note::OfferedAgain { urls: wishes.len() });
        }
        self.outside.source.rewind(epoch.id).await;
        Event::Recovered
    }

    /// Writes the remembered stop orders.
    async fn order_again(&self) {
        let orders: Vec<Order> = self.memory.borrow().orders.iter().collect();
        for batch in orders.chunks(BATCH_MAX) {
            self.until_answered(async |store| store.order(batch.to_vec()).await).await;
        }
    }

    /// Writes the remembered tries of all URLs that failed.
    pub(crate) async fn remind(&self) {
        let urls: Vec<UrlRecord> = self.memory.borrow().urls.values().cloned().collect();
        for batch in urls.chunks(BATCH_MAX) {
            self.until_answered(async |store| store.remind(batch.to_vec()).await).await;
        }
    }

    /// Writes the remembered tries of one URL.
    pub(crate) async fn remind_of_url(&self, id: UrlKey) {
        let record = self.memory.borrow().urls.get(&id).cloned();
        if let Some(record) = record {
            self.until_answered(async |store| store.remind(vec![record.clone()]).await).await;
        }
    }
}
