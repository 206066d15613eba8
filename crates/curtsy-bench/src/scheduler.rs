//! A minimal scheduler over many hosts: encoded states, a due-list, an index of names.
//!
//! Any store must keep this of its hosts, apart from the URLs.

use std::collections::BTreeSet;
use std::time::Duration;

use curtsy_core::host::{HostState, LeaseId, SlotEnds};
use curtsy_core::time::Time;
use curtsy_core::url::HostKey;
use hashbrown::HashTable;

use crate::host::{Around, START};

/// Encoded states and the due-list. Each host has a number, and its name is stored once.
#[derive(Default)]
pub struct HostScheduler {
    hosts: Vec<Resting>,
    by_name: HashTable<u32>,
    due: BTreeSet<(Time, u32)>,
}

/// An encoded host, with the room that a store needs for its version, its times and its queue.
struct Resting {
    name: HostKey,
    state: Box<[u8]>,
    version: u64,
    due: Option<Time>,
    not_before: Option<Time>,
    _queue: Option<Box<u8>>,
}

impl HostScheduler {
    /// Returns a scheduler over this many quiet hosts, all of them due.
    pub fn over(size: u32, around: &Around) -> HostScheduler {
        let state = rested(around);
        let mut scheduler = HostScheduler::default();
        for n in 0..size {
            scheduler.add(host(n), &state);
        }
        scheduler
    }

    fn add(&mut self, name: HostKey, state: &HostState) {
        let number = self.hosts.len() as u32;
        let hosts = &self.hosts;
        // Hosts fall due in no order at first.
        let due = START + Duration::from_micros(name.seed() % 1_000_000);
        self.due.insert((due, number));
        self.by_name.insert_unique(name.seed(), number, |n| hosts[*n as usize].name.seed());
        self.hosts.push(Resting {
            name,
            state: state.encode().as_slice().into(),
            version: 0,
            due: Some(due),
            not_before: None,
            _queue: None,
        });
    }

    /// Takes a due host, decides, and puts it back under its name, as a commit does.
    pub fn decide(&mut self, around: &Around, now: Time, id: LeaseId) {
        let (due, number) = *self.due.first().expect("no host is ever removed");
        assert!(due <= now, "the tour is long enough");
        let taken = &self.hosts[number as usize];
        let name = taken.name.clone();
        let mut state = HostState::decode(&taken.state).expect("written by us");
        around.round(&mut state, now, id);
        self.put(&name, &state, state.hand_out_at(&around.scene(now), SlotEnds::Deadline));
    }

    fn put(&mut self, name: &HostKey, state: &HostState, due: Time) {
        let hosts = &self.hosts;
        let number = self.by_name.find(name.seed(), |n| hosts[*n as usize].name == *name);
        let number = *number.expect("what was taken is known");
        let host = &mut self.hosts[number as usize];
        let bytes = state.encode();
        // The length is mostly unchanged, and nothing is allocated.
        match bytes.len() == host.state.len() {
            true => host.state.copy_from_slice(&bytes),
            false => host.state = bytes.as_slice().into(),
        }
        host.version += 1;
        host.not_before = Some(due);
        if let Some(old) = host.due.replace(due) {
            self.due.remove(&(old, number));
        }
        self.due.insert((due, number));
    }
}

/// Returns a quiet host whose robots.txt does not expire during the measurement.
pub fn rested(around: &Around) -> HostState {
    let mut state = around.quiet();
    around.learn(&mut state, START + YEAR);
    state
}

/// Returns names in no order, so that neighbours in memory do not fall due together.
pub fn host(n: u32) -> HostKey {
    let name = format!("www.{:08x}.example", n.wrapping_mul(0x9E37_79B1));
    HostKey::parse(&name).expect("a name of ours")
}

/// The time of successive decisions.
pub struct Tour {
    now: Time,
    step: Duration,
}

impl Tour {
    /// Returns a tour of this many hosts.
    pub fn new(size: u32) -> Tour {
        Tour { now: START + TOUR * 10, step: TOUR / size }
    }

    /// Returns the time of the next decision.
    #[expect(clippy::should_implement_trait, reason = "a tour never ends")]
    pub fn next(&mut self) -> Time {
        self.now = self.now + self.step;
        self.now
    }
}

/// Every host has one turn in this time, which is longer than the delay between two starts.
const TOUR: Duration = Duration::from_secs(15);

const YEAR: Duration = Duration::from_secs(365 * 86_400);
