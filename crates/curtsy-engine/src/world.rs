//! A worker's world: its store, its connections to sites, its clock.

use std::ops::{Add, Sub};
use std::time::Duration;

use crate::{Fetch, Store};

/// What differs between one machine, a fleet and a simulation.
pub trait World {
    /// Host states and frontier.
    type Store: Store;
    /// Connections to sites.
    type Fetch: Fetch;
    /// Monotonic time.
    type Clock: Clock;

    /// The store.
    fn store(&self) -> &Self::Store;
    /// The connections to sites.
    fn fetch(&self) -> &Self::Fetch;
    /// The clock.
    fn clock(&self) -> &Self::Clock;

    /// Called at each named point of a visit. A test kills the worker here; elsewhere it does
    /// nothing.
    async fn reached(&self, point: Point) {
        let _ = point;
    }
}

/// A monotonic clock.
pub trait Clock {
    /// Returns the time since some fixed moment.
    fn mono(&self) -> Mono;
    /// Waits until that moment.
    async fn sleep_until(&self, until: Mono);
}

/// A moment of one worker's monotonic clock, in microseconds. Never stored, never compared between
/// workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mono(pub u64);

impl Add<Duration> for Mono {
    type Output = Mono;
    fn add(self, span: Duration) -> Mono {
        Mono(self.0.saturating_add(curtsy_core::time::micros(span)))
    }
}

impl Sub for Mono {
    type Output = Duration;
    fn sub(self, earlier: Mono) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// The named points of a visit at which a worker may die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Point {
    /// A visit was taken.
    Taken,
    /// The line stands.
    Connected,
    /// The grant is written.
    Granted,
    /// Just before the first byte.
    BeforeSend,
    /// The request is out and the head is read.
    HeadRead,
    /// The body is read.
    BodyRead,
    /// The page is in the cache.
    Cached,
    /// The observation is written.
    Observed,
    /// Found links are offered.
    Offered,
    /// The row is accepted.
    RowWritten,
    /// The fate is written.
    FateWritten,
    /// The source has its acknowledgement.
    Acknowledged,
}

impl Point {
    /// All of them, in the order of a visit.
    pub const ALL: [Point; 12] = [
        Point::Taken,
        Point::Connected,
        Point::Granted,
        Point::BeforeSend,
        Point::HeadRead,
        Point::BodyRead,
        Point::Cached,
        Point::Observed,
        Point::Offered,
        Point::RowWritten,
        Point::FateWritten,
        Point::Acknowledged,
    ];
}
