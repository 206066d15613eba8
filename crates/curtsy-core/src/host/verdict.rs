//! What the gates say. Verdicts combine by maximum; findings are the evidence and are stored with the row.
//!
//! A [`Reason`] is `Copy` and holds numbers only. Sentences and JSON are made when somebody reads them (`crate::evidence`), so
//! deciding costs no allocation and no page text can get into the evidence.

use serde::{Deserialize, Serialize};

use super::robots::RobotsId;
use crate::time::Time;

/// One gate's answer, and the answer of them all together: the largest.
///
/// ```
/// use curtsy_core::host::Verdict;
/// use curtsy_core::time::Time;
/// let later = Verdict::NotBefore(Time::from_secs(60));
/// assert_eq!(Verdict::Go.max(later).max(Verdict::NotBefore(Time::from_secs(9))), later);
/// assert!(Verdict::Never > later);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// Nothing is against it.
    Go,
    /// Not before this moment; [`Time::NEVER`] waits for a person.
    NotBefore(Time),
    /// Not in this job.
    Never,
}

/// The ten things that are asked before a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Gate {
    /// What robots.txt says.
    Robots,
    /// Whether we have the page already, still fresh.
    Freshness,
    /// The span since the host's last start.
    Pace,
    /// Requests in flight on the host.
    Slots,
    /// Requests in flight on the address.
    Address,
    /// Whether the host, or this URL's last failure, makes us wait.
    Backoff,
    /// Whether the host counts as down.
    Breaker,
    /// How much friction the host has shown.
    Risk,
    /// What the job may still spend.
    Budget,
    /// Whether somebody ordered us to stop.
    Stop,
}

impl Gate {
    /// All gates, in the order in which findings are kept.
    pub const ALL: [Gate; 10] = [
        Gate::Robots,
        Gate::Freshness,
        Gate::Pace,
        Gate::Slots,
        Gate::Address,
        Gate::Backoff,
        Gate::Breaker,
        Gate::Risk,
        Gate::Budget,
        Gate::Stop,
    ];

    /// Its name in settings, columns, JSON and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Gate::Robots => "robots",
            Gate::Freshness => "freshness",
            Gate::Pace => "pace",
            Gate::Slots => "slots",
            Gate::Address => "address",
            Gate::Backoff => "backoff",
            Gate::Breaker => "breaker",
            Gate::Risk => "risk",
            Gate::Budget => "budget",
            Gate::Stop => "stop",
        }
    }
}

/// Why a gate says what it says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reason {
    /// Nothing is against it.
    Clear,
    /// No robots.txt of this authority has been asked for yet.
    RobotsUnknown,
    /// The robots.txt we hold is past its time.
    RobotsDue,
    /// Somebody is asking for it right now.
    RobotsAsked,
    /// A robots.txt allows it: by this line, or by no line.
    RobotsAllows {
        /// The text.
        file: RobotsId,
        /// The deciding line, counted from one; none if no rule matches.
        line: Option<u32>,
        /// Whether that text is current.
        standing: Confidence,
    },
    /// A robots.txt forbids it, by this line.
    RobotsForbids {
        /// The text.
        file: RobotsId,
        /// The deciding line.
        line: Option<u32>,
        /// Whether that text is current.
        standing: Confidence,
    },
    /// The site has no robots.txt (404 and the like): no rules.
    RobotsAbsent,
    /// 401 or 403 on robots.txt, and the policy takes that as a no.
    RobotsRefused,
    /// robots.txt could not be had, so nothing may be fetched until it is asked again.
    RobotsUnreachable,
    /// robots.txt could not be had, and the policy goes on with low confidence.
    RobotsUnreachableAllowed,
    /// A request that robots.txt has no say in: robots.txt itself and the hops of its redirect.
    RobotsExempt,
    /// More authorities on this host than we keep robots.txt for.
    AuthorityLimit,
    /// The page we hold is fresh.
    Fresh,
    /// The span since the last start.
    Delay {
        /// How long it must be, in microseconds.
        micros: u64,
        /// Who made it so long.
        by: DelayBy,
    },
    /// All slots of the host are taken.
    SlotsTaken {
        /// Requests in flight.
        in_flight: u8,
    },
    /// Somebody fetches this very URL.
    SingleFlight,
    /// No slot came free in the time that the policy waits for one.
    SlotTimeout,
    /// All slots of the address are taken.
    AddressTaken,
    /// The host told us to wait, or refused us.
    ToldToWait {
        /// Refusals in a row.
        streak: u8,
        /// The wait, in microseconds.
        micros: u64,
    },
    /// This URL failed and waits for its next try.
    Retry {
        /// Tries so far.
        tries: u8,
    },
    /// The host counts as down; the next probe is due then.
    Down {
        /// Site-wide failures in a row.
        failures: u8,
        /// The wait that is in force, counted from one.
        level: u8,
    },
    /// Friction on this host.
    RiskScore {
        /// The score, 0 to 100, rounded.
        score: u8,
    },
    /// Friction signals in a row stopped this run.
    EarlyStop {
        /// How many.
        streak: u8,
    },
    /// The job's pages are used up.
    PageLimit {
        /// Pages charged.
        pages: u64,
    },
    /// The job's time is used up.
    TimeLimit,
    /// Somebody ordered us to stop asking this host.
    Stopped,
    /// The store began anew: nothing is sent until what was in flight before has surely ended.
    StoreRestarted,
    /// The address looks like one of endlessly many.
    Trap {
        /// What it looks like.
        trap: Trap,
        /// How many of its kind are taken, or how long or repetitive it may be.
        limit: u32,
    },
}

/// What an address that leads nowhere new looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trap {
    /// A part of the path comes again and again.
    Repetition,
    /// Longer or deeper than addresses are.
    Length,
    /// The same page under another session's name.
    Session,
    /// A calendar that goes on for ever.
    Calendar,
    /// The same path with ever new queries.
    Queries,
}

/// How sure a robots verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confidence {
    /// The text was served within its time.
    Current,
    /// robots.txt is unreachable now; this is the last good copy.
    LastGood,
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

/// One gate's verdict with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What the gate says.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
}

impl Finding {
    /// Nothing is against it.
    pub const CLEAR: Finding = Finding { verdict: Verdict::Go, reason: Reason::Clear };

    /// A verdict and its reason.
    pub fn new(verdict: Verdict, reason: Reason) -> Finding {
        Finding { verdict, reason }
    }

    /// A wait until `until` if that is still to come, else a go; the reason stands either way.
    pub fn wait(until: Time, now: Time, reason: Reason) -> Finding {
        let verdict = if until > now { Verdict::NotBefore(until) } else { Verdict::Go };
        Finding { verdict, reason }
    }
}

/// Every gate's finding, in the order of [`Gate::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Findings(pub [Finding; 10]);

impl Findings {
    /// All gates clear.
    pub const CLEAR: Findings = Findings([Finding::CLEAR; 10]);

    /// What one gate found.
    pub fn of(&self, gate: Gate) -> &Finding {
        &self.0[gate as usize]
    }

    /// Notes what one gate found.
    pub fn set(&mut self, gate: Gate, finding: Finding) {
        self.0[gate as usize] = finding;
    }

    /// The largest verdict and the gate that gave it; the first of equals.
    pub fn worst(&self) -> (Verdict, Gate) {
        let mut worst = (self.0[0].verdict, Gate::Robots);
        for gate in Gate::ALL {
            let verdict = self.of(gate).verdict;
            if verdict > worst.0 {
                worst = (verdict, gate);
            }
        }
        worst
    }

    /// Each gate with its finding.
    pub fn iter(&self) -> impl Iterator<Item = (Gate, &Finding)> {
        Gate::ALL.into_iter().zip(&self.0)
    }
}
