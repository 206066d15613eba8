//! The store's time and its epochs: restarts, sleep, reboots, removed ledgers.

mod place;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use curtsy_core::time::Time;
use curtsy_core::url::HostKey;
use curtsy_engine::{Commit, Committed, Store, View};
use curtsy_store::{Ledger, MachineClock, MachineStore, Options, StoreHandle};

use place::{Folder, now};

const QUIET: Duration = Duration::from_secs(31);
const HOUR: u64 = 3_600_000_000;

/// The clocks of a machine that a test can put to sleep and boot.
#[derive(Clone)]
struct Laptop(Arc<Mutex<Clocks>>);

#[derive(Clone)]
struct Clocks {
    monotonic: u64,
    since_boot: u64,
    wall: u64,
    boot: u32,
}

impl Laptop {
    fn new() -> Laptop {
        let clocks =
            Clocks { monotonic: HOUR, since_boot: 2 * HOUR, wall: 500_000 * HOUR, boot: 1 };
        Laptop(Arc::new(Mutex::new(clocks)))
    }

    fn set(&self, change: impl FnOnce(&mut Clocks)) {
        change(&mut self.0.lock().unwrap());
    }

    fn get(&self) -> Clocks {
        self.0.lock().unwrap().clone()
    }

    fn pass(&self, micros: u64) {
        self.set(|c| {
            c.monotonic += micros;
            c.since_boot += micros;
            c.wall += micros;
        });
    }

    fn sleep(&self, micros: u64) {
        self.set(|c| {
            c.since_boot += micros;
            c.wall += micros;
        });
    }

    fn boot(&self, after: u64, up_for: u64) {
        self.set(|c| {
            c.boot += 1;
            c.monotonic = up_for;
            c.since_boot = up_for;
            c.wall += after;
        });
    }
}

impl MachineClock for Laptop {
    fn monotonic(&self) -> u64 {
        self.get().monotonic
    }
    fn since_boot(&self) -> u64 {
        self.get().since_boot
    }
    fn wall(&self) -> u64 {
        self.get().wall
    }
    fn boot(&self) -> String {
        self.get().boot.to_string()
    }
}

fn open(folder: &Folder, name: &str, hours: &Laptop) -> MachineStore<Laptop> {
    let path = folder.path().join(name);
    let options = Options { quiet: QUIET, ..Options::default() };
    MachineStore::open_with(&folder.ledger(), &path, options, hours.clone()).unwrap()
}

fn view(store: &StoreHandle<Laptop>) -> View {
    now(store.load(&HostKey::parse("a.test").unwrap())).unwrap()
}

/// Writes a state, so that the ledger has the latest time.
fn write(store: &StoreHandle<Laptop>) -> View {
    let view = view(store);
    let commit = Commit {
        host: view.host.clone(),
        version: view.version,
        epoch: view.epoch.id,
        state: Some(view.state.clone()),
        not_before: view.now,
        grant: None,
        release: None,
        robots: Vec::new(),
        urls: Vec::new(),
        exchanged: None,
    };
    assert!(matches!(now(store.commit(commit)).unwrap(), Committed::Done(_)));
    self::view(store)
}

#[test]
fn a_first_ledger_makes_nobody_wait() {
    let (folder, hours) = (Folder::new("first"), Laptop::new());
    let view = view(&open(&folder, "a.db", &hours).handle());
    assert_eq!((view.epoch.floor, view.epoch.quiet_until), (None, None));
    assert_eq!(view.now.micros(), hours.wall());
}

#[test]
fn a_restart_counts_the_time_in_between_and_begins_no_epoch() {
    let (folder, hours) = (Folder::new("restart"), Laptop::new());
    let before = write(&open(&folder, "a.db", &hours).handle());
    hours.pass(10 * HOUR);
    // The wall clock does not matter.
    hours.set(|c| c.wall -= 100 * HOUR);
    let after = view(&open(&folder, "a.db", &hours).handle());
    assert_eq!((after.now - before.now).as_micros() as u64, 10 * HOUR);
    assert_eq!(after.epoch, before.epoch);
}

#[test]
fn sleep_does_not_count_while_a_process_uses_the_ledger() {
    let (folder, hours) = (Folder::new("sleep"), Laptop::new());
    let one = open(&folder, "a.db", &hours);
    let before = write(&one.handle());
    hours.sleep(HOUR);
    hours.pass(1_000);
    let other = open(&folder, "b.db", &hours);
    for crawl in [&one, &other] {
        // A permit from before the sleep is as late as both think.
        let after = view(&crawl.handle());
        assert_eq!((after.now - before.now).as_micros(), 1_000);
    }
    drop((one, other));
    let alone = view(&open(&folder, "a.db", &hours).handle());
    assert_eq!((alone.now - before.now).as_micros() as u64, HOUR + 1_000, "now it counts");
    assert_eq!(alone.epoch, before.epoch);
}

#[test]
fn a_reboot_begins_an_epoch_at_the_boot() {
    let (folder, hours) = (Folder::new("boot"), Laptop::new());
    let before = write(&open(&folder, "a.db", &hours).handle());
    hours.boot(2 * HOUR, HOUR);
    let after = view(&open(&folder, "a.db", &hours).handle());
    assert_eq!(after.now.micros(), hours.wall());
    assert_eq!(after.epoch.id, before.epoch.id + 1);
    let booted = Time::from_micros(hours.wall() - HOUR);
    assert_eq!(after.epoch.floor, Some(booted), "nothing of ours started since");
    assert_eq!(after.epoch.quiet_until, Some(booted + QUIET));
    assert!(!after.epoch.emptied);
    let again = view(&open(&folder, "a.db", &hours).handle());
    assert_eq!(again.epoch, after.epoch, "once for each boot");
}

#[test]
fn a_wall_clock_that_went_back_takes_nothing_back() {
    let (folder, hours) = (Folder::new("back"), Laptop::new());
    let before = write(&open(&folder, "a.db", &hours).handle());
    hours.boot(0, 1_000_000);
    hours.set(|c| c.wall = HOUR);
    let after = view(&open(&folder, "a.db", &hours).handle());
    assert!(after.now > before.now);
    assert_eq!(after.epoch.floor, Some(after.now), "nobody knows how long it took");
    assert_eq!(after.epoch.quiet_until, Some(after.now + QUIET));
}

#[test]
fn a_ledger_that_is_taken_away_is_noticed() {
    let (folder, hours) = (Folder::new("away"), Laptop::new());
    let crawl = open(&folder, "a.db", &hours);
    let before = write(&crawl.handle());
    remove(&folder.ledger());
    hours.pass(2_000_000);
    let commit = Commit {
        host: before.host.clone(),
        version: before.version,
        epoch: before.epoch.id,
        state: Some(before.state.clone()),
        not_before: before.now,
        grant: None,
        release: None,
        robots: Vec::new(),
        urls: Vec::new(),
        exchanged: None,
    };
    let Committed::Stale(after) = now(crawl.handle().commit(commit)).unwrap() else {
        panic!("it was lost");
    };
    assert_ne!(after.epoch.id, before.epoch.id);
    assert_eq!(after.epoch.floor, Some(after.now));
    assert!(after.now >= before.now && after.version == 0);
    assert!(folder.ledger().exists(), "others find the new one");
}

#[test]
fn a_ledger_that_was_here_before_is_a_loss() {
    let (folder, hours) = (Folder::new("gone"), Laptop::new());
    write(&open(&folder, "a.db", &hours).handle());
    remove(&folder.ledger());
    let after = view(&open(&folder, "b.db", &hours).handle());
    assert_eq!(after.epoch.floor, Some(after.now));
    assert_eq!(after.epoch.quiet_until, Some(after.now + QUIET));
}

#[test]
fn a_crawl_that_comes_with_another_ledger_waits_a_lease() {
    let (folder, hours) = (Folder::new("other"), Laptop::new());
    write(&open(&folder, "a.db", &hours).handle());
    hours.pass(1_000_000);
    let other = folder.path().join("other-hosts.db");
    drop(Ledger::open(&other, hours.clone(), QUIET).unwrap());
    let options = Options { quiet: QUIET, ..Options::default() };
    let crawl =
        MachineStore::open_with(&other, &folder.path().join("a.db"), options, hours.clone())
            .unwrap();
    let view = view(&crawl.handle());
    assert_eq!(view.epoch.quiet_until, Some(view.now + QUIET));
}

fn remove(ledger: &Path) {
    for end in ["", "-wal", "-shm"] {
        let mut name = ledger.as_os_str().to_owned();
        name.push(end);
        let _ = std::fs::remove_file(name);
    }
}
