//! Hours of a fleet over SQLite, in virtual time, with faults, judged by the servers' own log.
//!
//! The engine's loop, the synthetic web and the faults are those of the simulator. The workers
//! belong to several crawls, each with its own file, which share one ledger: each crawl must see
//! what the others do. One fault of the simulator is left out, the loss of the last writes. SQLite
//! loses them only in a power failure, and the next boot begins an epoch (see `hours.rs`).

mod place;

use std::rc::Rc;
use std::time::Duration;

use curtsy_sim::executor::Universe;
use curtsy_sim::{Mode, Spec, simulate_over};
use curtsy_store::MachineStore;

use place::crawls::{Crawls, options};
use place::{Folder, Virtual, lived};

/// Crawls with a file each, on one ledger.
fn on_disk(count: usize, universe: Rc<Universe>, quiet: Duration) -> Crawls<Virtual> {
    let folder = Folder::new("days");
    let crawls = (0..count).map(|n| {
        let path = folder.path().join(format!("crawl-{n}.db"));
        let hours = Virtual(Rc::clone(&universe));
        MachineStore::open_with(&folder.ledger(), &path, options(quiet), hours).unwrap()
    });
    let crawls = crawls.collect();
    Crawls::new(crawls, Some(folder))
}

/// Runs some hours and returns the requests that the servers received.
fn live(seed: u64, hours: u64, crawls: usize) -> u64 {
    let mut spec = Spec::day(seed, Mode::Safety);
    spec.seconds = hours * 3600;
    let outcome = simulate_over(&spec, |universe, _, quiet| on_disk(crawls, universe, quiet));
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
