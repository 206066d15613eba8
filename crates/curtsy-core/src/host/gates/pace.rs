//! Pace: the time between two starts on a host.
//!
//! What is kept is the last *start*, as late as the server can have seen it, and never the next turn: a Crawl-delay or a policy learnt
//! later then applies at once. A turn that is granted counts as a start at its latest moment until more is known.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Booking, Errand, GateCase, GateCheck, RequestNews, RequestStep, SlotEnds, Telling};
use crate::chance::{Purpose, between, draw};
use crate::evidence::span_text;
use crate::host::{
    BookedTurn, Class, Finding, HostChanges, HostState, MARGIN_MIN, Observation, Scene,
};
use crate::time::{Time, micros};

/// Answers after which a host's usual time is known.
pub const LATENCIES_KNOWN: u8 = 8;

/// Keeps the delay between two starts.
pub(super) struct PaceGate;

/// What the pace is, or why nothing starts yet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum PaceReason {
    /// The time since the last start.
    Delay {
        /// How long it must be, in microseconds.
        micros: u64,
        /// Who made it so long.
        by: DelayBy,
    },
    /// The store began anew: nothing is sent until every request that was in flight before has surely ended.
    StoreRestarted,
}

/// Who set the delay in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DelayBy {
    /// The policy's own delay.
    Policy,
    /// The site's Crawl-delay.
    CrawlDelay,
    /// A Crawl-delay so long that the host is parked: never shortened, and worth a person's look.
    Parked,
    /// Answers that take longer than usual.
    Latency,
    /// The risk level.
    Risk,
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
        // If nothing more is heard, the start may have reached the server as late as this.
        let latest = booking.lease.send_by + HostState::margin(booking.delay);
        host.last_start = host.last_start.max(Some(latest));
    }

    fn learn(host: &mut HostState, heard: &RequestNews<'_>, _: &mut HostChanges) {
        match heard.step {
            // Dialling counts as a start: it reached the server, or tried to.
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
    /// The delay in force before the next start, and who set it.
    pub fn delay(&self, scene: &Scene<'_>) -> (Duration, DelayBy) {
        let pace = &scene.policy.pace;
        let chance = draw(scene.seed, self.turn, Purpose::Delay);
        // The margin for late reading is part of a range: what the server sees stays inside it.
        let most = pace.delay_max.saturating_sub(HostState::margin(pace.delay_max));
        self.delay_from(between(pace.delay_min, most.max(pace.delay_min), chance), scene)
    }

    /// The least delay that may be in force: by the lower end of the policy's range. New connections are so far apart.
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

    /// When a start keeps `delay` to the one before it, and whether the quiet after a lost store is what it waits for.
    fn paced(&self, delay: Duration, scene: &Scene<'_>) -> (Time, bool) {
        let last = self.last_start.max(scene.floor);
        let next = last.map(|start| start + delay);
        // A delay that outlasts the quiet must show, or the end of the quiet would be prepared for as a turn.
        let quiet = scene.quiet_until.filter(|quiet| *quiet > scene.now && Some(*quiet) >= next);
        match (quiet, next) {
            (Some(quiet), _) => (quiet, true),
            // Without a delay nothing is kept apart: neither starts that are not heard of yet, nor those before a loss.
            (None, Some(next)) if !delay.is_zero() => (next, false),
            _ => (Time::START, false),
        }
    }

    /// How much later than our write a start can reach the server: half of the lateness that liveness grants.
    pub(in crate::host) fn margin(delay: Duration) -> Duration {
        (delay / 100).max(MARGIN_MIN)
    }

    /// By how much the last start may turn out to have been earlier than the state says: it is granted, and not heard of yet.
    pub fn start_unsure(&self, slots: u8) -> Option<Duration> {
        let last = self.leases.iter().find(|lease| lease.turn == self.turn)?;
        let turn_at = last.send_by.back(HostState::window(slots));
        self.last_start.filter(|start| *start > last.send_by).map(|start| start - turn_at)
    }

    /// Notes what is known of the start while an exchange goes on, so that the next turn need not wait for window and margin.
    pub fn confirm_start(&self, turn: &BookedTurn, sent: Time) -> HostState {
        let mut state = self.clone();
        if state.turn == turn.lease().turn && state.lease(turn.lease().id).is_some() {
            state.last_start = Some(sent + HostState::margin(turn.delay()));
        }
        state
    }

    /// If this was the last start booked, replaces its bound by what is known now.
    fn settle_start(&mut self, turn: &BookedTurn, seen: &Observation) {
        if self.turn != turn.lease().turn || self.last_start.is_none() {
            return;
        }
        // A first byte proves that the server had read the request; without one, margin covers its late reading.
        let by_sending = seen.sent.map(|sent| sent + HostState::margin(turn.delay()));
        let start = match (seen.first_byte, by_sending) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b).unwrap_or(turn.send_by() + HostState::margin(turn.delay())),
        };
        self.last_start = Some(start);
    }

    /// Gives a turn back that was not used.
    fn hand_turn_back(&mut self, turn: &BookedTurn) {
        if self.turn == turn.lease().turn {
            // The turn before is not known any more, but this one came after it: its turn time less the delay is a bound.
            self.last_start = Some(turn.at().back(turn.delay()));
        }
    }
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

/// `from` moved by one `part`-th of the way to `to`, and by at least one.
pub(in crate::host) fn step(from: u16, to: u16, part: u16) -> u16 {
    let gap = from.abs_diff(to);
    let by = (gap / part).max(u16::from(gap > 0));
    if to > from { from + by } else { from - by }
}
