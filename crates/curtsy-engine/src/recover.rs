//! After the store lost something: put back what this worker knows.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{HostState, RobotsId};
use curtsy_core::time::Time;
use curtsy_core::url::{HostKey, UrlKey};
use futures_util::stream::{self, StreamExt};

use crate::worker::Event;
use crate::{
    Commit, Committed, Epoch, Note, Order, RobotsFile, Store, UrlRecord, View, Worker, World,
};

/// Hosts that are restored at once.
const RESTORED_AT_ONCE: usize = 64;

impl<W: World> Worker<'_, W> {
    /// Writes waits and leases again, by maximum, host by host, then URLs with their tries; then has sources offer again what they
    /// have no acknowledgement for, since offers may have been lost.
    pub(crate) async fn recover(&self, epoch: Epoch) -> Event {
        self.counts.borrow_mut().recoveries += 1;
        self.outside.listener.note(Note::Recovering);
        let hosts: Vec<(HostKey, Arc<HostState>)> =
            self.memory.borrow().hosts.iter().map(|(h, (_, s))| (h.clone(), s.clone())).collect();
        // Nothing is granted in the first half minute of an epoch: what is known must be back by then, even from a slow store. So orders
        // and URLs come first, which are few calls, and hosts all at once.
        self.order_again().await;
        self.remind().await;
        let restoring =
            stream::iter(hosts).for_each_concurrent(RESTORED_AT_ONCE, |(host, state)| async move {
                self.change(&host, |view| {
                    let mut restored = HostState::clone(&view.state);
                    restored.restore(&state, view.now);
                    restored
                })
                .await;
            });
        restoring.await;
        if epoch.emptied {
            let wishes = self.visiting.borrow().wishes();
            self.offer(&wishes).await;
            self.outside.listener.note(Note::OfferedAgain { urls: wishes.len() });
        }
        self.outside.source.rewind(epoch.id).await;
        Event::Recovered
    }

    /// Tells the store again which orders were heard.
    async fn order_again(&self) {
        let orders: Vec<Order> = self.memory.borrow().orders.iter().collect();
        for batch in orders.chunks(500) {
            while self.world.store().order(batch.to_vec()).await.is_err() {
                self.pause(Duration::from_millis(200)).await;
            }
        }
    }

    /// Tells the store again what is remembered of URLs that failed.
    pub(crate) async fn remind(&self) {
        let urls: Vec<UrlRecord> = self.memory.borrow().urls.values().cloned().collect();
        for batch in urls.chunks(500) {
            while self.world.store().remind(batch.to_vec()).await.is_err() {
                self.pause(Duration::from_millis(200)).await;
            }
        }
    }

    /// Tells the store again what is remembered of one URL.
    pub(crate) async fn remind_of(&self, id: UrlKey) {
        let Some(record) = self.memory.borrow().urls.get(&id).cloned() else {
            return;
        };
        while self.world.store().remind(vec![record.clone()]).await.is_err() {
            self.pause(Duration::from_millis(200)).await;
        }
    }

    /// Remembers a state that this worker wrote.
    pub(crate) fn remember(&self, host: &HostKey, state: &Arc<HostState>, now: Time) {
        self.memory.borrow_mut().remember(host, state, now);
    }

    /// Changes a host's state outside of a visit, until it is written.
    pub(crate) async fn change(&self, host: &HostKey, change: impl Fn(&View) -> HostState) {
        let mut view = self.load(host).await;
        loop {
            let state = change(&view);
            if state == *view.state {
                return;
            }
            let commit = Commit {
                host: host.clone(),
                version: view.version,
                epoch: view.epoch.id,
                not_before: self.scene_due(&view, &state),
                grant: None,
                release: None,
                robots: self.held_files(&state),
                urls: Vec::new(),
                exchanged: None,
                state: Some(Arc::new(state)),
            };
            match self.world.store().commit(commit).await {
                Ok(Committed::Stale(newer)) => view = newer,
                Ok(_) => return,
                Err(_) => {
                    self.pause(Duration::from_millis(200)).await;
                    view = self.load(host).await;
                }
            }
        }
    }

    /// The robots.txt files of a host that this worker holds: a store that lost them gets them back.
    fn held_files(&self, state: &HostState) -> Vec<(RobotsId, Arc<RobotsFile>)> {
        let held = self.rules.borrow();
        let ids = state.all_robots().filter_map(|r| r.file);
        ids.filter_map(|id| held.get(&id).map(|(_, file)| (id, Arc::clone(file)))).collect()
    }

    /// Reads a host's state, however often it takes.
    pub(crate) async fn load(&self, host: &HostKey) -> View {
        loop {
            match self.world.store().load(host).await {
                Ok(view) => return view,
                Err(_) => self.pause(Duration::from_millis(200)).await,
            }
        }
    }
}
