//! The trap gate: URLs that seem to be some of endlessly many.
//!
//! Traps are recognised from what a crawl has read, when a link is found or when its turn comes. So
//! the gate finds nothing in a host's state. A link that is left gets this finding.

use serde::{Deserialize, Serialize};

use super::{GateCheck, Telling};
use crate::host::{Finding, Findings, Gate};
use crate::url::Region;

/// Refuses URLs of endless spaces.
pub(super) struct TrapGate;

/// Why a link is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TrapReason {
    /// The URL itself is unusual, or too many are like it.
    Looks {
        /// What the URL looks like.
        trap: TrapShape,
        /// How many URLs of its shape are allowed, or how long, deep or repetitive a URL may be.
        limit: u32,
    },
    /// Only pages without new text link to the URL, and pages like it had no new text.
    Vain {
        /// Which pages are like it.
        region: Region,
        /// How many of those pages were read.
        read: u32,
        /// How many of them had new text.
        new: u32,
        /// How many may be read in vain.
        limit: u32,
    },
    /// The pages of this part of the site lead to ever new pages of the same part.
    Endless {
        /// The part.
        region: Region,
        /// How many of its pages were read.
        read: u32,
        /// How many pages it must have at least, estimated from what was read.
        pages: u64,
    },
}

/// The shape of a URL that probably leads nowhere new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TrapShape {
    /// A part of the path repeats. Only rows of version 0.1 have it.
    Repetition,
    /// Longer or deeper than ordinary URLs.
    Length,
    /// The same page with another session ID.
    Session,
    /// A calendar without an end. Only rows of version 0.1 have it.
    Calendar,
    /// The same path with ever new queries. Only rows of version 0.1 have it.
    Queries,
    /// Too many links from a seed.
    Depth,
}

impl TrapReason {
    /// Returns the findings of a link that is refused as a trap.
    pub fn refusal(self) -> Findings {
        let mut findings = Findings::CLEAR;
        findings.set(Gate::Trap, Finding::never(self));
        findings
    }

    /// Returns the reason in words, without what to do about it.
    ///
    /// ```
    /// use curtsy_core::host::TrapReason;
    /// use curtsy_core::url::Region;
    /// let reason = TrapReason::Vain { region: Region::Shape, read: 60, new: 1, limit: 48 };
    /// assert_eq!(
    ///     reason.words(),
    ///     "60 pages of this shape were read, and 1 of them had new text (limit 48 in vain)",
    /// );
    /// ```
    pub fn words(self) -> String {
        match self {
            TrapReason::Looks { trap, limit } => {
                let many = |differ: &str| format!("more than {limit} URLs differ by {differ} only");
                match trap {
                    TrapShape::Repetition => format!("one part of its path is there {limit} times"),
                    TrapShape::Length => format!("longer than {limit}"),
                    TrapShape::Session => many("a session"),
                    TrapShape::Calendar => many("a date"),
                    TrapShape::Queries => many("their query"),
                    TrapShape::Depth => format!("more than {limit} links from a seed"),
                }
            }
            TrapReason::Vain { region, read, new, limit } => {
                let of = of_region(region);
                format!(
                    "{read} pages {of} were read, and {new} of them had new text (limit {limit} in \
                     vain)"
                )
            }
            TrapReason::Endless { region, read, pages } => {
                let of = of_region(region);
                format!(
                    "{read} pages {of} were read, and nearly all of their links lead to new pages: \
                     there must be more than {pages}"
                )
            }
        }
    }
}

fn of_region(region: Region) -> &'static str {
    match region {
        Region::Shape => "of this shape",
        Region::Subfolder | Region::Folder => "of this folder",
        Region::Host => "of this host",
    }
}

impl GateCheck for TrapGate {
    type Reason = TrapReason;
    const NAME: &'static str = "trap";
    const CLEAR: &'static str = "does not look like a trap";

    fn sentence(reason: TrapReason, _: &Telling<'_>) -> String {
        format!("looks like a trap: {}", reason.words())
    }
}

tags!(TrapReason {
    27 Looks { trap, limit },
    30 Vain { region, read, new, limit },
    31 Endless { region, read, pages }
});

byte_enum!(TrapShape { Repetition, Length, Session, Calendar, Queries, Depth });
byte_enum!(Region { Shape, Subfolder, Folder, Host });
