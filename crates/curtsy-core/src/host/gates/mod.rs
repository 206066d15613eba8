//! The gates: the checks that a request must pass, one file each.
//!
//! A gate's file holds all that belongs to the gate: its finding before a request, its part of the host's state, what it learns from an
//! exchange, its reasons with their bytes and their sentences. [`HostState::admit`], [`HostState::reserve`], [`HostState::observe`] and
//! [`HostState::restore`] run through the list below and know no gate by name, but for the few places where one gate's answer ends the
//! decision. A new gate is a file and an entry in the list.

#[macro_use]
mod list;
#[macro_use]
mod tags;

pub(crate) mod address;
pub(crate) mod backoff;
pub(crate) mod breaker;
pub(crate) mod budget;
pub(crate) mod freshness;
pub(crate) mod pace;
pub(crate) mod risk;
pub(crate) mod robots;
pub(crate) mod slots;
pub(crate) mod stop;
pub(crate) mod trap;

use serde::{Deserialize, Serialize};

use super::verdict::{Finding, Findings, Verdict};
use super::{
    Ask, BookedTurn, Class, HostChanges, HostState, Observation, Outcome, RequestKind, Scene,
};
use crate::evidence::{FindingsReader, FindingsWriter, SentenceContext};
use crate::time::Time;
use crate::url::CrawlUrl;
use tags::{Packed, Tagged};

gates! {
    /// What robots.txt says.
    Robots: robots::RobotsGate, robots::RobotsReason;
    /// Whether the page is held already, still fresh.
    Freshness: freshness::FreshnessGate, freshness::FreshnessReason;
    /// The time since the host's last start.
    Pace: pace::PaceGate, pace::PaceReason;
    /// Requests in flight on the host.
    Slots: slots::SlotsGate, slots::SlotsReason;
    /// Requests in flight on the server's address.
    Address: address::AddressGate, address::AddressReason;
    /// A wait that the host, or this URL's last failure, caused.
    Backoff: backoff::BackoffGate, backoff::BackoffReason;
    /// Whether the host counts as down.
    Breaker: breaker::BreakerGate, breaker::BreakerReason;
    /// Friction that the host has shown.
    Risk: risk::RiskGate, risk::RiskReason;
    /// What the job may still spend.
    Budget: budget::BudgetGate, budget::BudgetReason;
    /// An order of a person to stop.
    Stop: stop::StopGate, stop::StopReason;
    /// Whether the URL looks like one of endlessly many.
    Trap: trap::TrapGate, trap::TrapReason;
}

/// One gate. Every method has a default, so a gate implements only what it takes part in.
trait GateCheck {
    /// Why the gate says what it says.
    type Reason: Tagged;
    /// The gate's name in settings, columns, JSON and metrics.
    const NAME: &'static str;
    /// The sentence for a finding of this gate without anything to say.
    const CLEAR: &'static str;

    /// The finding about the URL itself. A URL that is refused by it, or is fresh, needs no request and never waits for a turn.
    fn of_url(_: &GateCase<'_>) -> Finding {
        Finding::CLEAR
    }

    /// The finding about the request that the URL needs; none if [`GateCheck::of_url`] said everything.
    fn of_request(_: &GateCase<'_>, _: &Errand) -> Option<Finding> {
        None
    }

    /// The earliest moment at which the gate lets any request to the host start, whatever its URL.
    fn earliest(_: &HostState, _: &Scene<'_>, _: SlotEnds) -> Time {
        Time::START
    }

    /// Books a turn: notes the request as if it had been sent at the latest moment.
    fn book(_: &mut HostState, _: &Booking<'_>) {}

    /// Takes in what an exchange, or an attempt at one, came to.
    fn learn(_: &mut HostState, _: &RequestNews<'_>, _: &mut HostChanges) {}

    /// Takes over from what a worker remembers all that lengthens a wait. A lost store brings this about.
    fn restore(_: &mut HostState, _remembered: &HostState, _now: Time) {}

    /// The finding in words.
    fn sentence(reason: Self::Reason, telling: &Telling<'_>) -> String;
}

/// A URL before its host.
pub(super) struct GateCase<'a> {
    pub(super) host: &'a HostState,
    pub(super) ask: &'a Ask<'a>,
    pub(super) scene: &'a Scene<'a>,
}

/// The request that a URL needs first: for itself, for robots.txt, or the probe of a host that is down.
pub(super) struct Errand {
    pub(super) url: CrawlUrl,
    pub(super) kind: RequestKind,
}

/// When slots that are taken count as free again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotEnds {
    /// At their deadlines.
    Deadline,
    /// When they are likely to be given back, which is far earlier as a rule.
    Likely,
}

/// A turn that is being booked.
pub(super) struct Booking<'a> {
    pub(super) lease: super::Lease,
    pub(super) delay: std::time::Duration,
    pub(super) scene: &'a Scene<'a>,
}

/// News of one request.
pub(super) struct RequestNews<'a> {
    pub(super) step: RequestStep<'a>,
    /// What the web did, as far as it speaks of the host.
    pub(super) outcome: Outcome,
    /// The class of that outcome.
    pub(super) class: Class,
    /// When the exchange ended, or now where it goes on.
    pub(super) at: Time,
    pub(super) scene: &'a Scene<'a>,
}

/// How far a request has come.
#[derive(Clone, Copy)]
pub(super) enum RequestStep<'a> {
    /// No connection could be made.
    NoLine,
    /// The connection stood, and the permit was granted.
    Sent {
        turn: &'a BookedTurn,
        seen: &'a Observation,
        /// Whether the lease was still in the state. Without it the news was taken in already, or the lease ran out: then only what
        /// lengthens a wait is kept.
        ours: bool,
    },
}

impl<'a> RequestNews<'a> {
    /// The exchange, if it has ended, is heard of for the first time, and was no fault of ours.
    fn ended(&self) -> Option<(&'a BookedTurn, &'a Observation)> {
        match self.step {
            RequestStep::Sent { turn, seen, ours: true }
                if seen.ended.is_some() && self.is_theirs() =>
            {
                Some((turn, seen))
            }
            _ => None,
        }
    }

    /// The exchange, if it has ended and its lease was gone from the state.
    fn ended_late(&self) -> Option<(&'a BookedTurn, &'a Observation)> {
        match self.step {
            RequestStep::Sent { turn, seen, ours: false }
                if seen.ended.is_some() && self.is_theirs() =>
            {
                Some((turn, seen))
            }
            _ => None,
        }
    }

    /// Whether something was sent, and what came of it is not our own side's fault.
    fn is_theirs(&self) -> bool {
        !matches!(self.class, Class::Nothing | Class::Ours)
    }
}

/// A finding that is put into words.
pub(super) struct Telling<'a> {
    pub(super) verdict: Verdict,
    pub(super) names: &'a SentenceContext<'a>,
}

impl Telling<'_> {
    /// Whether the gate held the request up when it was decided.
    pub(super) fn waits(&self) -> bool {
        self.verdict > Verdict::Go
    }
}
