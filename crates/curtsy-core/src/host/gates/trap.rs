//! The trap gate: URLs that look like one of endlessly many.
//!
//! Traps are recognised from all URLs of a crawl, when a link is found and before it is queued. So
//! the gate finds nothing in a host's state. A refused link gets this finding and never reaches the
//! queue.

use serde::{Deserialize, Serialize};

use super::{GateCheck, Packed, Tagged, Telling};
use crate::evidence::{FindingsReader, FindingsWriter};
use crate::host::{Finding, Findings, Gate};

/// Refuses URLs of endless spaces.
pub(super) struct TrapGate;

/// The shape of the URL, and the limit that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrapReason {
    /// What the URL looks like.
    pub trap: TrapShape,
    /// How many URLs of its shape are allowed, or how long or repetitive a URL may be.
    pub limit: u32,
}

/// The shape of a URL that probably leads nowhere new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TrapShape {
    /// A part of the path repeats.
    Repetition,
    /// Longer or deeper than ordinary URLs.
    Length,
    /// The same page with another session ID.
    Session,
    /// A calendar without an end.
    Calendar,
    /// The same path with ever new queries.
    Queries,
}

impl TrapReason {
    /// Returns the findings of a link that is refused as a trap.
    pub fn refusal(self) -> Findings {
        let mut findings = Findings::CLEAR;
        findings.set(Gate::Trap, Finding::never(self));
        findings
    }
}

impl GateCheck for TrapGate {
    type Reason = TrapReason;
    const NAME: &'static str = "trap";
    const CLEAR: &'static str = "does not look like a trap";

    fn sentence(TrapReason { trap, limit }: TrapReason, _: &Telling<'_>) -> String {
        let many = |differ: &str| format!("more than {limit} addresses differ by {differ} only");
        let looks = match trap {
            TrapShape::Repetition => format!("a part of its path comes more than {limit} times"),
            TrapShape::Length => return format!("looks like a trap: longer than {limit}"),
            TrapShape::Session => many("a session"),
            TrapShape::Calendar => many("a date"),
            TrapShape::Queries => many("their query"),
        };
        format!("looks like a trap: {looks}")
    }
}

impl Tagged for TrapReason {
    fn write(self, out: &mut FindingsWriter) -> u8 {
        self.trap.write(out);
        self.limit.write(out);
        27
    }

    fn read(tag: u8, input: &mut FindingsReader<'_>) -> Option<TrapReason> {
        (tag == 27).then_some(())?;
        Some(TrapReason { trap: TrapShape::read(input)?, limit: u32::read(input)? })
    }
}

byte_enum!(TrapShape { Repetition, Length, Session, Calendar, Queries });
