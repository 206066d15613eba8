//! What a worker does, told as it happens: for logs and metrics. Nothing depends on who listens.

use std::time::Duration;

use curtsy_core::host::{Kind, Outcome, Problem};
use curtsy_core::limits::Hit;
use curtsy_core::url::HostKey;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Note<'a> {
    /// A request went out, so much later than its turn.
    Sent {
        /// What for.
        kind: Kind,
        /// How late.
        late: Duration,
    },
    /// A request came to its end, so long after it went out.
    Ended {
        /// The host.
        host: &'a HostKey,
        /// What for.
        kind: Kind,
        /// How long it took.
        took: Duration,
        /// What came of it.
        outcome: Outcome,
    },
    /// No connection could be made, so no request went out.
    NoLine {
        /// The host.
        host: &'a HostKey,
        /// What for.
        kind: Kind,
        /// Why.
        problem: Problem,
    },
    /// A limit of ours ended an exchange, or kept a line from being made.
    LimitHit {
        /// Which one.
        hit: Hit,
    },
    /// A host counts as down; it is tried again after this.
    BreakerOpened {
        /// The host.
        host: &'a HostKey,
        /// When it is tried.
        probe_in: Duration,
    },
    /// A host that was down answers again.
    BreakerClosed {
        /// The host.
        host: &'a HostKey,
    },
    /// Our own network is down: everything waits.
    OwnTrouble,
    /// The store lost something; what is known here is written back.
    Recovering,
    /// The store came back empty; what was in hand here is offered again.
    OfferedAgain {
        /// How many URLs that are.
        urls: usize,
    },
    /// A batch could not be kept, and waits.
    NotKept {
        /// Why.
        why: &'a str,
    },
}

/// Whoever wants to know.
pub trait Listener {
    /// Something happened. Must be quick.
    fn note(&self, note: Note<'_>);
}

/// Nobody.
impl Listener for () {
    fn note(&self, _: Note<'_>) {}
}
