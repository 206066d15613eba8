//! The store in memory keeps the contract of every store.

use std::rc::Rc;

use curtsy_core::url::HostKey;
use curtsy_engine::memory::{Control, MemoryStore, Options};
use curtsy_sim::SimClock;
use curtsy_sim::executor::Universe;
use curtsy_testkit::store::{Rig, Way, keep_the_contract};

struct InMemory(Control);

impl Rig for InMemory {
    type Store = MemoryStore<SimClock>;

    fn handle(&self, clock: SimClock) -> Self::Store {
        self.0.handle(clock)
    }

    fn stop(&self, host: &HostKey, stopped: bool) {
        self.0.stop(host, stopped);
    }

    fn empty(&self) {
        self.0.empty();
    }

    fn reopen(&self) -> bool {
        false
    }
}

fn make(universe: Rc<Universe>) -> InMemory {
    InMemory(Control::new(Options::default(), move || universe.now()))
}

#[test]
fn the_store_in_memory_keeps_the_contract() {
    keep_the_contract(Way::Straight, make);
}

#[test]
fn the_store_in_memory_keeps_the_contract_behind_faults() {
    for seed in 1..=10 {
        keep_the_contract(Way::Faulty(seed), make);
    }
}
