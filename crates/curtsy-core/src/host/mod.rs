//! The state of a host, as plain data: our requests, the host's demands, and when the next request
//! may start.
//!
//! `admit` answers "may this URL be fetched now?", `reserve` books the turn, `observe` applies the
//! result. All three are pure: state, event, policy and time go in, a new state and a decision with
//! its reasons come out. One implementation serves one process, several, and a fleet. Stores only
//! compare versions and keep time.
//!
//! Pace, slots, backoff, breaker and risk belong to the **host** (canonical name, no scheme, no
//! port). Robots.txt belongs to the **authority** (scheme, host, port). The state keeps *starts*
//! and *deadlines*, never "next turn": a Crawl-delay or a policy that is learnt later applies at
//! once, and deadlines combine by maximum.

mod admit;
mod codec;
mod forget;
mod gates;
mod killed;
mod line;
mod observe;
mod outcome;
mod reserve;

mod verdict;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use admit::{Action, Approach, Ask, AskKind, Decision, JobView, Scene};
pub use codec::DecodeError;
pub use forget::Anew;
pub use gates::address::{AddressReason, AddressSlot};
pub use gates::backoff::{BackoffReason, BackoffState};
pub use gates::breaker::{BreakerReason, BreakerState};
pub use gates::budget::BudgetReason;
pub use gates::freshness::FreshnessReason;
pub use gates::pace::{DelayBy, LATENCIES_KNOWN, Latency, PaceReason};
pub use gates::risk::{RiskLevel, RiskReason, RiskState};
pub use gates::robots::{
    Chase, Confidence, RobotsId, RobotsNews, RobotsReason, RobotsStanding, RobotsState,
};
pub use gates::slots::SlotsReason;
pub use gates::stop::StopReason;
pub use gates::trap::{TrapReason, TrapShape};
pub use gates::{Gate, Reason, SlotEnds};
pub use line::{HANDSHAKES_KNOWN, Handshake};
pub use observe::{HostChanges, Observation};
pub use outcome::{Class, Fate, Friction, Outcome, Problem, Tries, fate};
pub use reserve::{BookedTurn, Reserved, SealedPermit};
pub use verdict::{Finding, Findings, Verdict};

use crate::time::Time;
use crate::url::UrlKey;

/// Limit of the authorities of one host whose robots.txt is kept. URLs of further ones are refused.
pub const AUTHORITIES_MAX: usize = 64;
/// The least time that the way to the server and late reading may add to a start (see
/// [`HostState::margin`]). Every wait from the end of an exchange is longer by it too, since the
/// server may see that end later.
const MARGIN_MIN: Duration = Duration::from_millis(25);
/// Everything that is remembered about a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostState {
    /// The number of booked starts. Random numbers are drawn from it too.
    pub turn: u32,
    /// The latest moment at which the last start can have reached the server.
    pub last_start: Option<Time>,
    /// Requests that may be in flight, each with its deadline.
    pub leases: Vec<Lease>,
    /// The state of the first authority's robots.txt. It is inline, since most hosts have one
    /// authority.
    pub robots: Option<RobotsState>,
    /// Further authorities. Few hosts have any, so this is a slice, which is a word smaller than a
    /// vector.
    pub more_robots: Box<[RobotsState]>,
    /// The wait that the host demanded.
    pub backoff: BackoffState,
    /// Whether the host counts as down.
    pub breaker: BreakerState,
    /// The friction of this host.
    pub risk: RiskState,
    /// The time to the first byte of a response.
    pub latency: Latency,
    /// The time from the dial to a ready connection.
    pub handshake: Handshake,
    /// When the host last gave an answer that is not a failure of its own.
    pub last_ok: Option<Time>,
    /// Why the last connection could not be made, if none has stood since.
    pub unreached: Option<Problem>,
    /// The latest moment at which the last new connection can have been dialled.
    pub dialled_at: Option<Time>,
}

/// The ID of a lease, unique over all workers and restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeaseId(pub u64);

impl LeaseId {
    /// Returns the `n`-th lease of a worker. The worker's number is random, so the ranges of two
    /// workers do not meet.
    ///
    /// ```
    /// use curtsy_core::host::LeaseId;
    /// let (worker, other) = (u64::MAX - 1, 1 << 40);
    /// assert!(LeaseId::of(worker, 5).is_of(worker));
    /// assert!(!LeaseId::of(worker, 5).is_of(other));
    /// ```
    pub fn of(worker: u64, n: u32) -> LeaseId {
        LeaseId(worker.wrapping_add(u64::from(n)))
    }

    /// Returns whether this is a lease of the worker with that number.
    pub fn is_of(self, worker: u64) -> bool {
        self.0.wrapping_sub(worker) <= u64::from(u32::MAX)
    }
}

/// A request that may be in flight. It names its URL, which makes requests for pages and robots.txt
/// single-flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The ID of the lease.
    pub id: LeaseId,
    /// The kind of the request.
    pub kind: RequestKind,
    /// Whether the request tests an open breaker.
    pub probe: bool,
    /// The requested URL.
    pub url: UrlKey,
    /// The number of the start among the host's starts.
    pub turn: u32,
    /// The generation of the backoff at the grant.
    pub generation: u32,
    /// The latest moment of the first byte.
    pub send_by: Time,
    /// When the lease counts as ended without further news.
    pub until: Time,
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RequestKind {
    /// A page of the crawl.
    Page,
    /// The robots.txt of an authority.
    Robots,
    /// A hop of another authority's robots.txt redirect. It takes a turn here, but this host's
    /// rules do not apply.
    RobotsHop,
    /// A sitemap.
    Sitemap,
    /// `HEAD /`, to see whether a host that was down is back.
    Probe,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_host_is_small() {
        assert!(size_of::<HostState>() <= 256, "{} bytes", size_of::<HostState>());
    }
}
