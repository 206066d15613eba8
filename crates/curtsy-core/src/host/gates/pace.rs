//! The pace gate: the time between two starts on a host.
//!
//! The state keeps the last *start*, as late as the server can have seen it, and never the next
//! turn. A Crawl-delay or a policy that is learnt later therefore applies at once. A granted turn
//! counts as a start at its latest moment until more is known.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Booking, Errand, GateCase, GateCheck, RequestNews, RequestStep, SlotEnds, Telling};
use crate::chance::{Purpose, between, draw};
use crate::evidence::span_text;
use crate::host::{
    BookedTurn, Class, Finding, HostChanges, HostState, MARGIN_MIN, Observation, Scene,
};
use crate::time::{Time, micros};

/// The number of responses after which the usual latency of a host is known.
pub const LATENCIES_KNOWN: u8 = 8;

/// Keeps the delay between two starts.
pub(super) struct PaceGate;

/// The delay in force, or why nothing starts yet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum PaceReason {
    /// The time since the last start must be this long.
    Delay {
        /// The delay, in microseconds.
        micros: u64,
        /// Who set the delay.
        by: DelayBy,
    },
    /// The store began a new epoch: nothing is sent until every earlier request has surely ended.
    StoreRestarted,
}

/// Who set the delay in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DelayBy {
    /// The policy's own delay.
    Policy,
    /// The site's Crawl-delay.
    CrawlDelay,
    /// A Crawl-delay so long that the host is parked. It is never shortened, and a person should
    /// look at it.
    Parked,
    /// Responses that take longer than usual.
    Latency,
    /// The risk level.
    Risk,
}

/// The latency of a host's responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// The smoothed latency in milliseconds. It rises quickly and falls slowly.
    pub ms: u16,
    /// The usual latency, in milliseconds.
    pub usual_ms: u16,
    /// The number of responses so far, up to [`LATENCIES_KNOWN`].
    pub seen: u8,
}

impl GateCheck for PaceGate {
    type Reason = PaceReason;
    const NAME: &'static str = "pace";
    const CLEAR: &'static str = "no start of the host is to be kept away from";

    fn of_request(case: &GateCase<'_>, _: &Errand) -> Option<Finding> {
        let (host, scene) = (case.host, case.scene);
        let (delay, by) = host.delay(scene);
        let (at, restarted) = host.paced(delay, scene);
        let reason = match restarted {
            true => PaceReason::StoreRestarted,
            false => PaceReason::Delay { micros: micros(delay), by },
        };
        Some(Finding::wait(at, scene.now, reason))
    }

    fn earliest(host: &HostState, scene: &Scene<'_>, _: SlotEnds) -> Time {
        host.paced(host.delay(scene).0, scene).0
    }

    fn book(host: &mut HostState, booking: &Booking<'_>) {
        host.turn = booking.lease.turn;
        // Until more is known, the start may have reached the server as late as this.
        let latest = booking.lease.send_by + HostState::margin(booking.delay);
        host.last_start = host.last_start.max(Some(latest));
    }

    fn learn(host: &mut HostState, heard: &RequestNews<'_>, _: &mut HostChanges) {
        match heard.step {
            // A dial counts as a start: it reached the server, or tried to.
            RequestStep::NoLine => {
                host.turn = host.turn.wrapping_add(1);
                host.last_start = host.last_start.max(Some(heard.at));
                host.note_dial(heard.at, None);
            }
            RequestStep::Sent { turn, ours, .. } if heard.class == Class::Nothing => {
                if ours {
                    host.hand_turn_back(turn);
                }
            }
            RequestStep::Sent { turn, seen, .. } => host.settle_start(turn, seen),
        }
        if let Some((_, seen)) = heard.ended()
            && let Some(latency) = seen.latency
            && heard.class == Class::Good
        {
            host.latency.note(latency);
        }
    }

    fn restore(host: &mut HostState, remembered: &HostState, _: Time) {
        host.turn = host.turn.max(remembered.turn);
        host.last_start = host.last_start.max(remembered.last_start);
        host.latency.restore(&remembered.latency);
        host.restore_lines(remembered);
    }

    fn sentence(reason: PaceReason, _: &Telling<'_>) -> String {
        match reason {
            PaceReason::Delay { micros, by } => {
                let delay = span_text(Duration::from_micros(micros));
                format!("waits {delay} between two starts ({})", by.words())
            }
            PaceReason::StoreRestarted => {
                "the store began anew; what was in flight before must surely have ended".to_owned()
            }
        }
    }
}

tags! {
    PaceReason { 13 Delay { by, micros }, 26 StoreRestarted }
}
byte_enum!(DelayBy { Policy, CrawlDelay, Parked, Latency, Risk });

impl DelayBy {
    fn words(self) -> &'static str {
        match self {
            DelayBy::Policy => "policy",
            DelayBy::CrawlDelay => "Crawl-delay",
            DelayBy::Parked => "Crawl-delay, so long that the host is parked",
            DelayBy::Latency => "answers take longer than usual",
            DelayBy::Risk => "risk",
        }
    }
}

impl HostState {
    /// Returns the delay before the next start, and who set it.
    pub fn delay(&self, scene: &Scene<'_>) -> (Duration, DelayBy) {
        let pace = &scene.policy.pace;
        let chance = draw(scene.seed, self.turn, Purpose::Delay);
        // A range includes the margin for late reading: the server sees no gap above its upper end.
        let most = pace.delay_max.saturating_sub(HostState::margin(pace.delay_max));
        self.delay_from(between(pace.delay_min, most.max(pace.delay_min), chance), scene)
    }

    /// Returns the least delay, by the lower end of the policy's range. New connections are this
    /// far apart.
    pub fn delay_least(&self, scene: &Scene<'_>) -> Duration {
        self.delay_from(scene.policy.pace.delay_min, scene).0
    }

    fn delay_from(&self, own: Duration, scene: &Scene<'_>) -> (Duration, DelayBy) {
        let pace = &scene.policy.pace;
        let own = (own, DelayBy::Policy);
        let risk = match scene.policy.risk.active {
            true => (self.risk_delay(scene.policy, scene.now), DelayBy::Risk),
            false => own,
        };
        let asked = self.all_robots().map(|r| r.crawl_delay_micros).max().unwrap_or(0);
        let asked = Duration::from_micros(asked);
        let parked = asked > pace.crawl_delay_park;
        let robots = (asked, if parked { DelayBy::Parked } else { DelayBy::CrawlDelay });
        let mut longest = own;
        for (delay, by) in [risk, robots] {
            if delay > longest.0 {
                longest = (delay, by);
            }
        }
        let slower = self.latency.slower();
        if pace.adaptive && slower > 1.0 {
            let stretched = longest.0.mul_f64(slower).min(pace.adaptive_max);
            if stretched > longest.0 {
                longest = (stretched, DelayBy::Latency);
            }
        }
        longest
    }

    /// Returns when a start keeps `delay` to the one before, and whether it waits for the end of
    /// the quiet time after a lost store.
    fn paced(&self, delay: Duration, scene: &Scene<'_>) -> (Time, bool) {
        let last = self.last_start.max(scene.floor);
        let next = last.map(|start| start + delay);
        // A delay that is longer than the quiet time must show. Otherwise the end of the quiet time
        // would be prepared as a turn.
        let quiet = scene.quiet_until.filter(|quiet| *quiet > scene.now && Some(*quiet) >= next);
        match (quiet, next) {
            (Some(quiet), _) => (quiet, true),
            // Without a delay nothing is kept apart, neither from unknown starts nor from those
            // before a loss.
            (None, Some(next)) if !delay.is_zero() => (next, false),
            _ => (Time::START, false),
        }
    }

    /// Returns how much later than our write a start can reach the server: half of the lateness
    /// that the liveness rule allows.
    pub(in crate::host) fn margin(delay: Duration) -> Duration {
        (delay / 100).max(MARGIN_MIN)
    }

    /// Returns by how much the last start may have been earlier than the state says, if it is
    /// granted and its time is not yet known.
    pub fn start_unsure(&self, slots: u8) -> Option<Duration> {
        let last = self.leases.iter().find(|lease| lease.turn == self.turn)?;
        let turn_at = last.send_by.back(HostState::window(slots));
        self.last_start.filter(|start| *start > last.send_by).map(|start| start - turn_at)
    }

    /// Records the known time of a start while its exchange goes on, so that the next turn need not
    /// wait for window and margin.
    pub fn confirm_start(&self, turn: &BookedTurn, sent: Time) -> HostState {
        let mut state = self.clone();
        if state.turn == turn.lease().turn && state.lease(turn.lease().id).is_some() {
            state.last_start = Some(sent + HostState::margin(turn.delay()));
        }
        state
    }

    /// Replaces the bound of the last booked start by its known time, if this was that start.
    fn settle_start(&mut self, turn: &BookedTurn, seen: &Observation) {
        if self.turn != turn.lease().turn || self.last_start.is_none() {
            return;
        }
        // A first byte proves that the server had read the request. Without one, the margin covers
        // late reading.
        let by_sending = seen.sent.map(|sent| sent + HostState::margin(turn.delay()));
        let start = match (seen.first_byte, by_sending) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b).unwrap_or(turn.send_by() + HostState::margin(turn.delay())),
        };
        self.last_start = Some(start);
    }

    /// Gives back a turn that was not used.
    fn hand_turn_back(&mut self, turn: &BookedTurn) {
        if self.turn == turn.lease().turn {
            // The start before is unknown, but this turn came after it: its time less the delay is
            // a bound.
            self.last_start = Some(turn.at().back(turn.delay()));
        }
    }
}

impl Latency {
    /// Returns how many times the usual latency responses take now; 1 until the usual latency is
    /// known.
    pub fn slower(&self) -> f64 {
        if self.seen < LATENCIES_KNOWN || self.usual_ms == 0 {
            return 1.0;
        }
        (f64::from(self.ms) / f64::from(self.usual_ms)).max(1.0)
    }

    fn note(&mut self, took: Duration) {
        let ms = u16::try_from(took.as_millis()).unwrap_or(u16::MAX).max(1);
        if self.seen < LATENCIES_KNOWN {
            // The first few responses set the usual latency: one quick response is no measure.
            let sum = u32::from(self.usual_ms) * u32::from(self.seen) + u32::from(ms);
            self.seen += 1;
            self.usual_ms = (sum / u32::from(self.seen)).max(1) as u16;
            self.ms = self.usual_ms;
            return;
        }
        let (rise, fall) = (4, 16);
        self.ms = step(self.ms, ms, if ms > self.ms { rise } else { fall });
        // The usual latency changes only over hundreds of responses, so one slow hour does not
        // become usual.
        self.usual_ms = step(self.usual_ms, ms, 256);
    }

    /// Merges what a worker remembers: the slower latency, and the smaller usual latency.
    fn restore(&mut self, remembered: &Latency) {
        self.ms = self.ms.max(remembered.ms);
        self.usual_ms = match (self.usual_ms, remembered.usual_ms) {
            (0, known) | (known, 0) => known,
            (ours, theirs) => ours.min(theirs),
        };
        self.seen = self.seen.max(remembered.seen);
    }
}

/// Returns `from` moved by one `part`-th of the way to `to`, and by at least one.
pub(in crate::host) fn step(from: u16, to: u16, part: u16) -> u16 {
    let gap = from.abs_diff(to);
    let by = (gap / part).max(u16::from(gap > 0));
    if to > from { from + by } else { from - by }
}
