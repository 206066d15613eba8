//! Several workers of one crawl: each has hosts of its own, and no host is neglected.

mod place;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use curtsy_core::url::CrawlUrl;
use curtsy_engine::{Store, UrlRecord};
use curtsy_store::{MachineClock, MachineStore, Options, StoreHandle};

use place::{Folder, now};

/// A clock that is set by hand, in microseconds.
#[derive(Clone)]
struct ByHand(Rc<Cell<u64>>);

impl MachineClock for ByHand {
    fn monotonic(&self) -> u64 {
        self.0.get()
    }
    fn since_boot(&self) -> u64 {
        self.0.get()
    }
    fn wall(&self) -> u64 {
        1_700_000_000_000_000 + self.0.get()
    }
    fn boot(&self) -> String {
        "by hand".into()
    }
}

fn hosts(worker: &StoreHandle<ByHand>) -> BTreeSet<String> {
    let taken = now(worker.take(100)).unwrap();
    taken.visits.iter().map(|visit| visit.view.host.as_str().to_owned()).collect()
}

#[test]
fn a_worker_takes_its_own_hosts_and_those_of_others_only_when_it_has_none() {
    let (folder, clock) = (Folder::new("shares"), ByHand(Rc::new(Cell::new(1_000_000))));
    let crawl = MachineStore::open_passing_with(folder.ledger(), Options::default(), clock.clone())
        .unwrap();
    let workers: Vec<StoreHandle<ByHand>> = (0..3).map(|n| crawl.handle_of(n, 3)).collect();
    let url = |n: usize| CrawlUrl::parse(&format!("http://h{n}.test/")).unwrap();
    let records: Vec<UrlRecord> = (0..30).map(|n| UrlRecord::page(url(n), 0)).collect();
    now(workers[0].offer(&records)).unwrap();

    let (first, second) = (hosts(&workers[0]), hosts(&workers[1]));
    assert_eq!((first.len(), second.len()), (10, 10));
    assert!(first.is_disjoint(&second));
    // The third worker does not come. Its hosts were due before the first call.
    let mut helped = BTreeSet::new();
    for worker in workers.iter().take(2).cycle().take(10) {
        let one = hosts(worker);
        assert_eq!(one.len(), 1, "a host at a time");
        helped.extend(one);
    }
    assert_eq!(helped.len(), 10);
    assert!(helped.is_disjoint(&first) && helped.is_disjoint(&second));
    assert!(hosts(&workers[0]).is_empty(), "all of them are out");
}
