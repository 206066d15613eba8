//! Hours of a fleet over SQLite, in virtual time, with faults, judged by the servers' own log.
//!
//! The engine's loop, the synthetic web and the faults are the simulator's; only the store is ours. The workers belong to several crawls, each
//! with its own file, which share one ledger: what one crawl does, the others must see. Of the simulator's faults one is left out: "the
//! store loses its last writes" happens to SQLite with the power alone, and the next boot begins an epoch (see `hours.rs`).

mod place;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::RobotsId;
use curtsy_core::url::HostKey;
use curtsy_engine::{
    Commit, Committed, Offered, Order, RobotsFile, Store, StoreError, Taken, UrlRecord, UrlWrite,
    View,
};
use curtsy_sim::executor::Universe;
use curtsy_sim::{Backing, Mode, SimClock, Spec, simulate_over};
use curtsy_store::{Crawl, Handle, Options};

use place::{Folder, Virtual, lived};

/// Crawls that share a ledger; workers are dealt out to them in turn.
struct Crawls {
    _folder: Folder,
    crawls: Vec<Crawl<Virtual>>,
    next: Cell<usize>,
}

impl Crawls {
    fn new(count: usize, universe: Rc<Universe>, quiet: Duration) -> Crawls {
        let folder = Folder::new("days");
        let options = Options {
            quiet,
            known_in_memory: 500,
            hosts_in_memory: 20,
            urls_in_memory: 200,
            merge_after: 300,
        };
        let crawls = (0..count).map(|n| {
            let path = folder.path().join(format!("crawl-{n}.db"));
            let hours = Virtual(Rc::clone(&universe));
            Crawl::open_with(&folder.ledger(), &path, options.clone(), hours).unwrap()
        });
        let crawls = crawls.collect();
        Crawls { _folder: folder, crawls, next: Cell::new(0) }
    }
}

/// A worker of one crawl. Every URL belongs to one crawl, every host to all of them: a URL that two crawls want would be asked for twice,
/// and rightly so.
struct Dealt {
    own: Handle<Virtual>,
    all: Vec<Handle<Virtual>>,
}

impl Dealt {
    fn deal(
        &self,
        records: Vec<UrlRecord>,
    ) -> impl Iterator<Item = (&Handle<Virtual>, Vec<UrlRecord>)> {
        let mut dealt = vec![Vec::new(); self.all.len()];
        for record in records {
            dealt[(record.id.as_u128() % self.all.len() as u128) as usize].push(record);
        }
        self.all.iter().zip(dealt).filter(|(_, records)| !records.is_empty())
    }
}

impl Store for Dealt {
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

impl Backing for Crawls {
    type Store = Dealt;

    fn handle(&self, _: SimClock) -> Self::Store {
        let next = self.next.get();
        self.next.set(next + 1);
        let own = self.crawls[next % self.crawls.len()].handle();
        Dealt { own, all: self.crawls.iter().map(Crawl::handle).collect() }
    }

    fn stop(&self, host: &HostKey, stopped: bool) {
        // One process is told; the others find it in the ledger.
        self.crawls[0].stop(host, stopped).unwrap();
    }

    fn lose(&self, _: Duration) {}

    fn empty(&self) {
        for crawl in &self.crawls {
            crawl.empty().unwrap();
        }
    }

    fn queued(&self) -> u64 {
        self.crawls.iter().map(Crawl::queued).sum()
    }

    fn describe(&self, host: &HostKey) -> String {
        let state = self.crawls[0].state(host);
        let queues: Vec<_> = self.crawls.iter().map(|crawl| crawl.schedule(host)).collect();
        format!("{state:#?}\n{queues:?}")
    }
}

/// Lives some hours and gives the requests that the servers read.
fn live(seed: u64, hours: u64, crawls: usize) -> u64 {
    let mut spec = Spec::day(seed, Mode::Safety);
    spec.seconds = hours * 3600;
    let outcome = simulate_over(&spec, |universe, _, quiet| Crawls::new(crawls, universe, quiet));
    lived(&spec, &outcome)
}

#[test]
fn one_crawl_lives_hours_with_faults() {
    let requests: u64 = (1..=3).map(|seed| live(seed, 3, 1)).sum();
    assert!(requests > 5_000, "{requests} requests");
}

#[test]
fn four_crawls_share_one_ledger() {
    let requests: u64 = (1..=3).map(|seed| live(seed, 3, 4)).sum();
    assert!(requests > 5_000, "{requests} requests");
}
