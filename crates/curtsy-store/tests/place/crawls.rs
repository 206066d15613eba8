//! Several crawls on one ledger, which the simulator sees as one store.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::RobotsId;
use curtsy_core::url::HostKey;
use curtsy_engine::{
    Commit, Committed, Offered, Order, RobotsFile, Store, StoreError, Taken, UrlRecord, UrlWrite,
    View,
};
use curtsy_sim::{Backing, SimClock};
use curtsy_store::{MachineClock, MachineStore, Options, StoreHandle};

use super::Folder;

/// Crawls that share a ledger. Workers are assigned to them in turn.
pub(crate) struct Crawls<H> {
    crawls: Vec<MachineStore<H>>,
    next: Cell<usize>,
    /// Their folder, if it is removed with them.
    _folder: Option<Folder>,
}

impl<H: MachineClock> Crawls<H> {
    pub(crate) fn new(crawls: Vec<MachineStore<H>>, folder: Option<Folder>) -> Crawls<H> {
        Crawls { crawls, next: Cell::new(0), _folder: folder }
    }
}

/// So little memory that most comes from the tables.
pub(crate) fn options(quiet: Duration) -> Options {
    Options {
        quiet,
        known_in_memory: 500,
        hosts_in_memory: 20,
        urls_in_memory: 200,
        merge_after: 300,
        ..Options::default()
    }
}

/// A worker of one crawl. Every URL belongs to one crawl, every host to all of them: a URL of two
/// crawls would rightly be requested twice.
pub(crate) struct Dealt<H> {
    own: StoreHandle<H>,
    all: Vec<StoreHandle<H>>,
}

impl<H: MachineClock> Dealt<H> {
    fn deal(
        &self,
        records: Vec<UrlRecord>,
    ) -> impl Iterator<Item = (&StoreHandle<H>, Vec<UrlRecord>)> {
        let mut dealt = vec![Vec::new(); self.all.len()];
        for record in records {
            dealt[(record.id.as_u128() % self.all.len() as u128) as usize].push(record);
        }
        self.all.iter().zip(dealt).filter(|(_, records)| !records.is_empty())
    }
}

impl<H: MachineClock> Store for Dealt<H> {
    async fn offer(&self, records: &[UrlRecord]) -> Result<Offered, StoreError> {
        let mut offered = Offered::default();
        for (crawl, records) in self.deal(records.to_vec()) {
            let some = crawl.offer(&records).await?;
            offered.new += some.new;
            offered.known += some.known;
        }
        Ok(offered)
    }

    async fn remind(&self, records: Vec<UrlRecord>) -> Result<(), StoreError> {
        for (crawl, records) in self.deal(records) {
            crawl.remind(records).await?;
        }
        Ok(())
    }

    async fn order(&self, orders: Vec<Order>) -> Result<(), StoreError> {
        self.own.order(orders).await
    }

    async fn take(&self, hosts: usize) -> Result<Taken, StoreError> {
        self.own.take(hosts).await
    }

    async fn load(&self, host: &HostKey) -> Result<View, StoreError> {
        self.own.load(host).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.own.commit(commit).await
    }

    async fn settle(&self, writes: Vec<UrlWrite>) -> Result<(), StoreError> {
        self.own.settle(writes).await
    }

    async fn robots(&self, id: RobotsId) -> Result<Option<Arc<RobotsFile>>, StoreError> {
        self.own.robots(id).await
    }
}

impl<H: MachineClock> Backing for Crawls<H> {
    type Store = Dealt<H>;

    fn handle(&self, _: SimClock) -> Self::Store {
        let next = self.next.get();
        self.next.set(next + 1);
        let own = self.crawls[next % self.crawls.len()].handle();
        Dealt { own, all: self.crawls.iter().map(MachineStore::handle).collect() }
    }

    fn stop(&self, host: &HostKey, stopped: bool) {
        // The order is given in one process. The others find it in the ledger.
        self.crawls[0].stop(host, stopped).unwrap();
    }

    fn lose(&self, _: Duration) {}

    fn empty(&self) {
        for crawl in &self.crawls {
            crawl.empty().unwrap();
        }
    }

    fn queued(&self) -> u64 {
        self.crawls.iter().map(MachineStore::queued).sum()
    }

    fn describe(&self, host: &HostKey) -> String {
        let state = self.crawls[0].state(host);
        let queues: Vec<_> = self.crawls.iter().map(|crawl| crawl.schedule(host)).collect();
        format!("{state:#?}\n{queues:?}")
    }
}
