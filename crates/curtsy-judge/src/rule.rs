//! The seventeen manners, by number.

use std::fmt;

/// One of the manners that a server's log can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // `what` says what each one asks
pub enum Rule {
    P0,
    P1,
    P2,
    P3,
    P4,
    P5,
    P6,
    P7,
    P8,
    P9,
    P10,
    P11,
    P12,
    P13,
    P14,
    P15,
    P16,
}

impl Rule {
    /// All of them, in order.
    pub const ALL: [Rule; 17] = [
        Rule::P0,
        Rule::P1,
        Rule::P2,
        Rule::P3,
        Rule::P4,
        Rule::P5,
        Rule::P6,
        Rule::P7,
        Rule::P8,
        Rule::P9,
        Rule::P10,
        Rule::P11,
        Rule::P12,
        Rule::P13,
        Rule::P14,
        Rule::P15,
        Rule::P16,
    ];

    /// What the rule asks, in at most 40 characters: a row of the report's table fits 80 columns.
    pub fn what(self) -> &'static str {
        match self {
            Rule::P0 => "says who it is; asks with GET or HEAD",
            Rule::P1 => "fetches robots.txt first, and each TTL",
            Rule::P2 => "obeys the robots.txt that was served",
            Rule::P3 => "stays away if robots.txt is unreachable",
            Rule::P4 => "keeps the delay between starts on a host",
            Rule::P5 => "keeps to its slots on a host",
            Rule::P6 => "keeps to its slots on a server address",
            Rule::P7 => "waits when asked to wait",
            Rule::P8 => "waits no less after each further refusal",
            Rule::P9 => "retries a URL seldom, ever more slowly",
            Rule::P10 => "asks anew only if stale, with validators",
            Rule::P11 => "fetches robots.txt once per TTL",
            Rule::P12 => "keeps to its page budget and stop orders",
            Rule::P13 => "keeps manners across crashes and losses",
            Rule::P14 => "treats a redirect hop as its own request",
            Rule::P15 => "asks a host that is down ever less often",
            Rule::P16 => "uses the pace it may while work waits",
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P{}", self.index())
    }
}
