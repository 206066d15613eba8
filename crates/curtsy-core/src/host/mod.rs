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
mod breaker;
mod codec;
mod observe;
mod outcome;
mod reserve;
mod restore;
mod robots;
mod verdict;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use admit::{Action, Approach, Ask, AskKind, Decision, JobView, RiskLevel, Scene};
pub use codec::DecodeError;
pub use observe::{Observation, Settled};
pub use outcome::{Class, Fate, Friction, Outcome, Problem, Tries, fate};
pub use reserve::{Permit, Receipt, Reserved, SealedPermit};
pub use robots::{Chase, RobotsId, RobotsNews, RobotsStanding, RobotsState};
pub use verdict::{Confidence, DelayBy, Finding, Findings, Gate, Reason, Verdict};

use crate::time::Time;
use crate::url::{Authority, UrlKey};

/// Authorities of one host whose robots.txt is kept; URLs of further ones are refused.
pub const AUTHORITIES_MAX: usize = 64;
/// What the way to the server and its late reading may add to a start, at least (see [`HostState::margin`]); every wait that
/// counts from the end of an exchange gets it too, since the server may see that end later than we do.
const MARGIN_MIN: Duration = Duration::from_millis(25);
/// How long before its turn a host is handed out, beyond its handshake.
const LEAD: Duration = Duration::from_millis(50);
/// From a turn to the latest write, with one slot. Grant to write stays below the 250 ms in which a signal reaches all workers.
const WINDOW_ONE: Duration = Duration::from_millis(200);
/// The same with several slots, where the next start may wait for it.
const WINDOW_MANY: Duration = Duration::from_millis(50);

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
    /// Further authorities of this host.
    pub more_robots: Vec<RobotsState>,
    /// What the host told us to wait.
    pub backoff: Backoff,
    /// Whether the host counts as down.
    pub breaker: Breaker,
    /// Friction met on this host.
    pub risk: Risk,
    /// Smoothed time to the first byte, quick to rise and slow to fall, in milliseconds.
    pub latency_ms: u32,
    /// The usual time to the first byte, in milliseconds.
    pub baseline_ms: u32,
    /// Smoothed time from dialling to a ready line, in milliseconds.
    pub handshake_ms: u32,
    /// When the host last gave an ordinary answer.
    pub last_ok: Option<Time>,
}

/// The name of a lease, unique over all workers and restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeaseId(pub u64);

/// One request that may be in flight. It names its URL: that is the single flight for pages and robots alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Its name.
    pub id: LeaseId,
    /// What it asks for.
    pub kind: Kind,
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
pub enum Kind {
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

/// What the host told us to wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Backoff {
    /// Nothing starts before this.
    pub until: Option<Time>,
    /// The wait last in force, which the next of the streak does not undercut.
    pub last_wait: Duration,
    /// Refusals in a row.
    pub streak: u8,
    /// Raised with each refusal that counts, so that two at once count once and a late success clears nothing.
    pub generation: u32,
}

/// Whether the host counts as down.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Breaker {
    /// Site-wide failures in a row.
    pub failures: u8,
    /// When the last of them ended: an answer that had come before, and is told only now, does not end the row.
    pub failed_at: Option<Time>,
    /// Waits taken since it opened; zero is closed.
    pub level: u8,
    /// When the next probe may start, while open.
    pub until: Option<Time>,
}

/// Friction met on this host. The score decays continuously; decay is computed when read, never written by a timer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Risk {
    /// The score at `as_of`, 0 to 100.
    pub score: f32,
    /// When the score was that.
    pub as_of: Option<Time>,
    /// Friction signals in a row.
    pub streak: u8,
    /// When the first of them came.
    pub since: Option<Time>,
}

impl HostState {
    /// The robots state of an authority of this host.
    pub fn robots_of(&self, authority: &Authority) -> Option<&RobotsState> {
        self.all_robots().find(|r| r.is_of(authority))
    }

    /// Every authority's robots state.
    pub fn all_robots(&self) -> impl Iterator<Item = &RobotsState> {
        self.robots.iter().chain(&self.more_robots)
    }

    /// The lease of that name, if it has not ended.
    pub fn lease(&self, id: LeaseId) -> Option<&Lease> {
        self.leases.iter().find(|l| l.id == id)
    }

    /// Leases that have not ended at `now`.
    pub fn in_flight(&self, now: Time) -> impl Iterator<Item = &Lease> {
        self.leases.iter().filter(move |l| l.until > now)
    }

    /// How much later than our write a start can reach the server: half of the lateness that liveness grants.
    fn margin(delay: Duration) -> Duration {
        (delay / 100).max(MARGIN_MIN)
    }

    /// From the turn to the latest write.
    fn window(slots: u8) -> Duration {
        if slots > 1 { WINDOW_MANY } else { WINDOW_ONE }
    }

    /// How long before a turn the host should be in a worker's hands, so that the line stands when the turn comes.
    pub fn lead(&self) -> Duration {
        // A quarter more than the longest of late: what was never that slow may be once.
        Duration::from_millis(u64::from(self.handshake_ms) * 5 / 4) + LEAD
    }

    /// Moves the smoothed handshake time towards one that was measured.
    pub fn note_handshake(&mut self, took: Duration) {
        let ms = u32::try_from(took.as_millis()).unwrap_or(u32::MAX).min(60_000);
        // At once up and very slowly down: a line that stands late loses its turn, one that stands early costs little.
        self.handshake_ms = match ms.checked_sub(self.handshake_ms) {
            Some(_) => ms,
            None => step(self.handshake_ms, ms, 256),
        };
    }

    /// Moves the smoothed latency and its baseline towards one that was measured.
    fn note_latency(&mut self, took: Duration) {
        let ms = u32::try_from(took.as_millis()).unwrap_or(u32::MAX).clamp(1, 600_000);
        if self.baseline_ms == 0 {
            (self.latency_ms, self.baseline_ms) = (ms, ms);
            return;
        }
        let (rise, fall) = (4, 16);
        let part = if ms > self.latency_ms { rise } else { fall };
        self.latency_ms = step(self.latency_ms, ms, part);
        // What is usual moves only over hundreds of answers: one slow hour is not forgotten as soon as it has begun.
        self.baseline_ms = step(self.baseline_ms, ms, 256);
    }
}

/// `from` moved by one `part`-th of the way to `to`, and by at least one.
fn step(from: u32, to: u32, part: u32) -> u32 {
    let gap = from.abs_diff(to);
    let by = (gap / part).max(u32::from(gap > 0));
    if to > from { from + by } else { from - by }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_host_is_small() {
        assert!(size_of::<HostState>() <= 256, "{} bytes", size_of::<HostState>());
    }
}
