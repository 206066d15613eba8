//! SQLite passes the contract of every store: without faults, with faults, with little memory, and
//! with a frontier that ends with its process.

mod place;

use std::cell::RefCell;
use std::rc::Rc;

use curtsy_core::url::HostKey;
use curtsy_sim::SimClock;
use curtsy_sim::executor::Universe;
use curtsy_store::{MachineStore, Options, StoreHandle};
use curtsy_testkit::store::{Rig, Way, keep_the_contract};

use place::{Folder, Virtual};

struct OnDisk {
    folder: Folder,
    hours: Virtual,
    options: Options,
    /// Whether the crawl ends with its process.
    passing: bool,
    crawl: RefCell<Option<MachineStore<Virtual>>>,
}

impl OnDisk {
    fn new(universe: Rc<Universe>, options: Options, passing: bool) -> OnDisk {
        let (folder, hours) = (Folder::new("contract"), Virtual(universe));
        let rig = OnDisk { folder, hours, options, passing, crawl: RefCell::new(None) };
        rig.open();
        rig
    }

    fn open(&self) {
        let (ledger, options) = (self.folder.ledger(), self.options.clone());
        let opened = match self.passing {
            true => MachineStore::open_passing_with(&ledger, options, self.hours.clone()),
            false => {
                MachineStore::open_with(&ledger, &self.folder.crawl(), options, self.hours.clone())
            }
        };
        self.crawl.replace(Some(opened.unwrap()));
    }

    fn crawl(&self) -> MachineStore<Virtual> {
        self.crawl.borrow().clone().expect("it is open")
    }
}

impl Rig for OnDisk {
    type Store = StoreHandle<Virtual>;

    fn handle(&self, _: SimClock) -> Self::Store {
        self.crawl().handle()
    }

    fn stop(&self, host: &HostKey, stopped: bool) {
        self.crawl().stop(host, stopped).unwrap();
    }

    fn empty(&self) {
        self.crawl().empty().unwrap();
    }

    fn reopen(&self) -> bool {
        if self.passing {
            return false;
        }
        self.crawl.replace(None);
        self.open();
        true
    }
}

fn make(universe: Rc<Universe>) -> OnDisk {
    OnDisk::new(universe, Options::default(), false)
}

fn make_passing(universe: Rc<Universe>) -> OnDisk {
    OnDisk::new(universe, forgetful(), true)
}

fn make_forgetful(universe: Rc<Universe>) -> OnDisk {
    OnDisk::new(universe, forgetful(), false)
}

/// Everything is written to the tables and read again.
fn forgetful() -> Options {
    Options {
        known_in_memory: 8,
        hosts_in_memory: 4,
        urls_in_memory: 8,
        merge_after: 16,
        ..Options::default()
    }
}

#[test]
fn sqlite_keeps_the_contract() {
    keep_the_contract(Way::Straight, make);
}

#[test]
fn sqlite_keeps_the_contract_behind_faults() {
    for seed in 1..=5 {
        keep_the_contract(Way::Faulty(seed), make);
    }
}

#[test]
fn sqlite_keeps_the_contract_with_hardly_any_memory() {
    keep_the_contract(Way::Straight, make_forgetful);
    keep_the_contract(Way::Faulty(7), make_forgetful);
}

#[test]
fn a_crawl_that_leaves_nothing_behind_keeps_the_contract() {
    keep_the_contract(Way::Straight, make_passing);
    keep_the_contract(Way::Faulty(3), make_passing);
}
