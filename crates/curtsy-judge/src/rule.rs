//! The eighteen manners, by number.

use std::fmt;

/// The number of rules.
pub(crate) const RULES: usize = 18;

macro_rules! rules {
    ($($rule:ident: $what:literal;)+) => {
        /// One of the manners that a server's log can show.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)] // `what` says what each one asks
        pub enum Rule {
            $($rule,)+
        }

        impl Rule {
            /// All rules, in order.
            pub const ALL: [Rule; RULES] = [$(Rule::$rule),+];

            /// Returns what the rule asks, in at most 40 characters: a row of the report's table
            /// fits 80 columns.
            pub fn what(self) -> &'static str {
                match self {
                    $(Rule::$rule => $what,)+
                }
            }
        }
    };
}

rules! {
    P0: "says who it is; asks with GET or HEAD";
    P1: "fetches robots.txt first, and each TTL";
    P2: "obeys the robots.txt that was served";
    P3: "stays away if robots.txt is unreachable";
    P4: "keeps the delay between starts on a host";
    P5: "keeps to its slots on a host";
    P6: "keeps to its slots on a server address";
    P7: "waits when asked to wait";
    P8: "waits no less after each further refusal";
    P9: "retries a URL seldom, ever more slowly";
    P10: "asks anew only if stale, with validators";
    P11: "fetches robots.txt once per TTL";
    P12: "keeps to its page budget and stop orders";
    P13: "keeps manners across crashes and losses";
    P14: "treats a redirect hop as its own request";
    P15: "asks a host that is down ever less often";
    P16: "uses the pace it may while work waits";
    P17: "keeps the delay between connections";
}

impl Rule {
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P{}", self.index())
    }
}
