//! The cache of the simulation keeps the contract of every cache.

use curtsy_engine::Cache;
use curtsy_sim::outside::SimCache;
use curtsy_testkit::cache::{CacheRig, keep_the_contract};

struct InMemory;

impl CacheRig for InMemory {
    fn open(&self) -> Box<dyn Cache + '_> {
        Box::new(SimCache::default())
    }

    fn is_durable(&self) -> bool {
        false
    }
}

#[test]
fn the_cache_of_the_simulation_keeps_the_contract() {
    keep_the_contract(|| InMemory);
}
