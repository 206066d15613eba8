//! The gates: the checks that a request must pass, one file each.
//!
//! A gate's file has everything about the gate: its finding before a request, its part of the
//! host's state, what it learns from an exchange, its reasons with their tags and sentences.
//! [`HostState::admit`], [`HostState::reserve`], [`HostState::observe`] and [`HostState::restore`]
//! run through the list below. They name a gate only in the few places where its answer ends the
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
    /// Whether a fresh copy of the page is cached.
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
    /// Whether the job's budget is used up.
    Budget: budget::BudgetGate, budget::BudgetReason;
    /// A person's order to stop.
    Stop: stop::StopGate, stop::StopReason;
    /// Whether the URL looks like one of endlessly many.
    Trap: trap::TrapGate, trap::TrapReason;
}

/// One gate. Every method has a default, so a gate implements only what it needs.
trait GateCheck {
    /// The reasons of the gate.
    type Reason: Tagged;
    /// The gate's name in settings, columns, JSON and metrics.
    const NAME: &'static str;
    /// The sentence for a gate without a finding.
    const CLEAR: &'static str;

    /// Returns the finding about the URL itself. A URL that this finding refuses, or shows to be
    /// fresh, needs no request and never waits for a turn.
    fn of_url(_: &GateCase<'_>) -> Finding {
        Finding::CLEAR
    }

    /// Returns the finding about the request that the URL needs, or `None` if [`GateCheck::of_url`]
    /// is all.
    fn of_request(_: &GateCase<'_>, _: &Errand) -> Option<Finding> {
        None
    }

    /// Returns the earliest moment at which the gate allows any request to the host.
    fn earliest(_: &HostState, _: &Scene<'_>, _: SlotEnds) -> Time {
        Time::START
    }

    /// Books a turn, as if the request were sent at the latest moment.
    fn book(_: &mut HostState, _: &Booking<'_>) {}

    /// Applies the result of an exchange, or of a failed connection.
    fn learn(_: &mut HostState, _: &RequestNews<'_>, _: &mut HostChanges) {}

    /// Merges what a worker remembers, after the store has lost data: everything that lengthens a
    /// wait.
    fn restore(_: &mut HostState, _remembered: &HostState, _now: Time) {}

    /// Returns the finding as a sentence.
    fn sentence(reason: Self::Reason, telling: &Telling<'_>) -> String;
}

/// A request to decide about a URL, with the state of its host.
pub(super) struct GateCase<'a> {
    pub(super) host: &'a HostState,
    pub(super) ask: &'a Ask<'a>,
    pub(super) scene: &'a Scene<'a>,
}

/// The request that a URL needs first: for itself, for robots.txt, or the probe of a host that is
/// down.
pub(super) struct Errand {
    pub(super) url: CrawlUrl,
    pub(super) kind: RequestKind,
}

/// When a taken slot counts as free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotEnds {
    /// At their deadlines.
    Deadline,
    /// When it is likely to be given back, which is usually much earlier.
    Likely,
}

/// A turn that is being booked.
pub(super) struct Booking<'a> {
    pub(super) lease: super::Lease,
    pub(super) delay: std::time::Duration,
    pub(super) scene: &'a Scene<'a>,
}

/// The result of one request.
pub(super) struct RequestNews<'a> {
    pub(super) step: RequestStep<'a>,
    /// The outcome, as far as it is about the host.
    pub(super) outcome: Outcome,
    /// The class of that outcome.
    pub(super) class: Class,
    /// When the exchange ended, or now if it has not.
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
        /// Whether the lease was still in the state. If not, the result was applied before or the
        /// lease expired, and only what lengthens a wait is kept.
        ours: bool,
    },
}

impl<'a> RequestNews<'a> {
    /// Returns the exchange, if it has ended, is applied for the first time, and did not fail on
    /// our side.
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

    /// Returns the exchange, if it has ended and its lease was gone from the state.
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

    /// Returns whether something was sent and the result is not our own failure.
    fn is_theirs(&self) -> bool {
        !matches!(self.class, Class::Nothing | Class::Ours)
    }
}

/// A finding that becomes a sentence.
pub(super) struct Telling<'a> {
    pub(super) verdict: Verdict,
    pub(super) names: &'a SentenceContext<'a>,
}

impl Telling<'_> {
    /// Returns whether the gate delayed the request at the time of the decision.
    pub(super) fn waits(&self) -> bool {
        self.verdict > Verdict::Go
    }
}
