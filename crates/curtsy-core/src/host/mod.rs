//! A host, as plain data: what we did to it, what it told us, and when it may be asked again.
//!
//! `admit` answers "may this URL be fetched now?", `reserve` books the turn, `observe` takes in what happened. All three are pure:
//! state, event, policy and time go in, a new state and a decision with its reasons come out. One implementation serves one
//! process, several, and a fleet; stores only compare versions and keep time.
//!
//! Scopes: pace, slots, backoff, breaker and risk belong to the **host** (canonical name, no scheme, no port); robots.txt belongs
//! to the **authority** (scheme, host, port). What is kept are *starts* and *deadlines*, never "next turn": a Crawl-delay or a
//! policy learnt later then applies at once, and deadlines combine by maximum.

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
pub use gates::trap::{TrapKind, TrapReason};
pub use gates::{Gate, Reason, SlotEnds};
pub use line::{HANDSHAKES_KNOWN, Handshake};
pub use observe::{HostChanges, Observation};
pub use outcome::{Class, Fate, Friction, Outcome, Problem, Tries, fate};
pub use reserve::{BookedTurn, Reserved, SealedPermit};
pub use verdict::{Finding, Findings, Verdict};

use crate::time::Time;
use crate::url::UrlKey;

/// Authorities of one host whose robots.txt is kept; URLs of further ones are refused.
pub const AUTHORITIES_MAX: usize = 64;
/// What the way to the server and its late reading may add to a start, at least (see [`HostState::margin`]); every wait that
/// counts from the end of an exchange gets it too, since the server may see that end later than we do.
const MARGIN_MIN: Duration = Duration::from_millis(25);
/// Everything we remember of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostState {
    /// Starts booked so far; also the counter from which chance is drawn.
    pub turn: u32,
    /// The latest moment at which the last start can have reached the server.
    pub last_start: Option<Time>,
    /// Requests that may be in flight, each with its deadline.
    pub leases: Vec<Lease>,
    /// What is known of robots.txt, by authority: the first one inline, since most hosts have one.
    pub robots: Option<RobotsState>,
    /// Further authorities of this host. Few hosts have any, so a slice is enough, and a word smaller.
    pub more_robots: Box<[RobotsState]>,
    /// What the host told us to wait.
    pub backoff: BackoffState,
    /// Whether the host counts as down.
    pub breaker: BreakerState,
    /// Friction met on this host.
    pub risk: RiskState,
    /// The time to the first byte of an answer.
    pub latency: Latency,
    /// The time from dialling to a ready line.
    pub handshake: Handshake,
    /// When the host last gave an answer that is no failure of its own.
    pub last_ok: Option<Time>,
    /// Why the last connection could not be made, if none has stood since.
    pub unreached: Option<Problem>,
    /// The latest moment at which the last new connection can have been dialled.
    pub dialled_at: Option<Time>,
}

/// The name of a lease, unique over all workers and restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeaseId(pub u64);

impl LeaseId {
    /// The `n`-th lease of a worker. The worker's number is random, so the ranges of two workers don't meet.
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

    /// Whether this is a lease of the worker with that number.
    pub fn is_of(self, worker: u64) -> bool {
        self.0.wrapping_sub(worker) <= u64::from(u32::MAX)
    }
}

/// One request that may be in flight. It names its URL: that is the single flight for pages and robots alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Its name.
    pub id: LeaseId,
    /// What it asks for.
    pub kind: RequestKind,
    /// Whether it is the one request that tests an open breaker.
    pub probe: bool,
    /// The URL asked for.
    pub url: UrlKey,
    /// Its number among the host's starts.
    pub turn: u32,
    /// The backoff's generation when it was granted.
    pub generation: u32,
    /// The latest moment of its first byte.
    pub send_by: Time,
    /// When it counts as ended even if nothing more is heard.
    pub until: Time,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RequestKind {
    /// A page of the crawl.
    Page,
    /// The robots.txt of an authority.
    Robots,
    /// A further hop of another authority's robots.txt: it pays here but is not checked against this host's rules.
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
