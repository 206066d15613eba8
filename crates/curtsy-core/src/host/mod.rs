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
mod killed;
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
pub use verdict::{Confidence, DelayBy, Finding, Findings, Gate, Reason, Trap, Verdict};

use crate::time::Time;
use crate::url::{Authority, UrlKey};

/// Authorities of one host whose robots.txt is kept; URLs of further ones are refused.
pub const AUTHORITIES_MAX: usize = 64;
/// What the way to the server and its late reading may add to a start, at least (see [`HostState::margin`]); every wait that
/// counts from the end of an exchange gets it too, since the server may see that end later than we do.
const MARGIN_MIN: Duration = Duration::from_millis(25);
/// A host whose slots are taken is looked at again so soon, at the earliest.
const SLOT_LOOK: Duration = Duration::from_secs(1);
/// How long before its turn a host is handed out, beyond its handshake.
const LEAD: Duration = Duration::from_millis(50);
/// Answers after which a host's usual time is known.
pub const LATENCIES_KNOWN: u8 = 8;
/// Handshakes after which a host's own are known well enough.
pub const HANDSHAKES_KNOWN: u8 = 16;
/// A handshake that is reckoned with until then.
const HANDSHAKE_SLOW: Duration = Duration::from_secs(3);
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
    /// Further authorities of this host. Few hosts have any, so a slice is enough, and a word smaller.
    pub more_robots: Box<[RobotsState]>,
    /// What the host told us to wait.
    pub backoff: Backoff,
    /// Whether the host counts as down.
    pub breaker: Breaker,
    /// Friction met on this host.
    pub risk: Risk,
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

/// How long a host's answers take to begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Smoothed, quick to rise and slow to fall, in milliseconds.
    pub ms: u16,
    /// What is usual, in milliseconds.
    pub usual_ms: u16,
    /// How many answers were seen, up to [`LATENCIES_KNOWN`].
    pub seen: u8,
}

impl Latency {
    /// How many times as long as usual answers take now; one until the usual is known.
    pub fn slower(&self) -> f64 {
        if self.seen < LATENCIES_KNOWN || self.usual_ms == 0 {
            return 1.0;
        }
        (f64::from(self.ms) / f64::from(self.usual_ms)).max(1.0)
    }

    fn note(&mut self, took: Duration) {
        let ms = u16::try_from(took.as_millis()).unwrap_or(u16::MAX).max(1);
        if self.seen < LATENCIES_KNOWN {
            // The first few make the usual: one quick answer is no measure.
            let sum = u32::from(self.usual_ms) * u32::from(self.seen) + u32::from(ms);
            self.seen += 1;
            self.usual_ms = (sum / u32::from(self.seen)).max(1) as u16;
            self.ms = self.usual_ms;
            return;
        }
        let (rise, fall) = (4, 16);
        self.ms = step(self.ms, ms, if ms > self.ms { rise } else { fall });
        // What is usual moves only over hundreds of answers: one slow hour is not forgotten as soon as it has begun.
        self.usual_ms = step(self.usual_ms, ms, 256);
    }

    /// Takes over what a worker remembers: the slower of two, against the smaller of two usual times.
    fn restore(&mut self, remembered: &Latency) {
        self.ms = self.ms.max(remembered.ms);
        self.usual_ms = match (self.usual_ms, remembered.usual_ms) {
            (0, known) | (known, 0) => known,
            (ours, theirs) => ours.min(theirs),
        };
        self.seen = self.seen.max(remembered.seen);
    }
}

/// How long a host's handshakes take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handshake {
    /// The longest of late, in milliseconds: at once up and very slowly down.
    pub ms: u16,
    /// How many were seen, up to [`HANDSHAKES_KNOWN`].
    pub seen: u8,
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

    /// The Crawl-delay that an authority's robots.txt has for us, if it has one.
    pub fn crawl_delay_of(&self, authority: &Authority) -> Option<Duration> {
        let micros = self.robots_of(authority)?.crawl_delay_micros;
        (micros > 0).then(|| Duration::from_micros(micros))
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

    /// By how much the last start may turn out to have been earlier than the state says: it is granted, and not heard of yet.
    pub fn start_unsure(&self, slots: u8) -> Option<Duration> {
        let last = self.leases.iter().find(|lease| lease.turn == self.turn)?;
        let turn_at = last.send_by.back(HostState::window(slots));
        self.last_start.filter(|start| *start > last.send_by).map(|start| start - turn_at)
    }

    /// The latest moment at which the last new connection can have been dialled. Where only a start is known, that had a connection.
    pub fn last_dial(&self) -> Option<Time> {
        self.dialled_at.or(self.last_start)
    }

    /// The state with a dial booked, which happens at `by` at the latest.
    pub fn book_dial(&self, by: Time) -> HostState {
        HostState { dialled_at: self.dialled_at.max(Some(by)), ..self.clone() }
    }

    /// Notes that a connection was dialled at `at`. A booking for it ends; one that somebody else made since stays.
    pub fn note_dial(&mut self, at: Time, booked: Option<Time>) {
        if booked.is_some() && self.dialled_at == booked {
            self.dialled_at = Some(at);
        } else {
            self.dialled_at = self.dialled_at.max(Some(at));
        }
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
    pub fn lead(&self, scene: &Scene<'_>) -> Duration {
        // A quarter more than the longest of late: what was never that slow may be once.
        let longest = Duration::from_millis(u64::from(self.handshake.ms) * 5 / 4);
        let longest = match self.handshake.seen < HANDSHAKES_KNOWN {
            // Of a host that is hardly known a slow one is reckoned with, as far as its delay has room.
            true => longest.max((self.delay(scene).0 / 3).min(HANDSHAKE_SLOW)),
            false => longest,
        };
        longest + LEAD
    }

    /// Takes in how long a handshake took; nothing for a line that stood already.
    pub fn note_handshake(&mut self, took: Duration) {
        if took.is_zero() {
            return;
        }
        let ms = u16::try_from(took.as_millis()).unwrap_or(u16::MAX);
        // A line that stands late loses its turn, one that stands early costs little.
        self.handshake.ms = match ms >= self.handshake.ms {
            true => ms,
            false => step(self.handshake.ms, ms, 256),
        };
        self.handshake.seen = (self.handshake.seen + 1).min(HANDSHAKES_KNOWN);
    }
}

/// `from` moved by one `part`-th of the way to `to`, and by at least one.
fn step(from: u16, to: u16, part: u16) -> u16 {
    let gap = from.abs_diff(to);
    let by = (gap / part).max(u16::from(gap > 0));
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
