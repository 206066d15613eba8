//! What a worker does, reported as it happens: for progress, logs and metrics. Nothing depends on a
//! listener.

use std::time::Duration;

use curtsy_core::host::{Outcome, Problem, RequestKind};
use curtsy_core::limits::Hit;
use curtsy_core::url::HostKey;

/// An event in a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum Note<'a> {
    /// The turn of a request has come. [`Note::Ended`] follows, unless the worker ends before it.
    Sending {
        /// The host.
        host: &'a HostKey,
        /// What is requested.
        kind: RequestKind,
    },
    /// A request was written.
    Sent {
        /// The host.
        host: &'a HostKey,
        /// What was requested.
        kind: RequestKind,
        /// How long after its turn it was written.
        late: Duration,
    },
    /// A request has ended.
    Ended {
        /// The host.
        host: &'a HostKey,
        /// What was requested.
        kind: RequestKind,
        /// How long it took; none if nothing was written.
        took: Option<Duration>,
        /// The result.
        outcome: Outcome,
    },
    /// No connection could be made, so no request was written.
    NoLine {
        /// The host.
        host: &'a HostKey,
        /// What was to be requested.
        kind: RequestKind,
        /// Why.
        problem: Problem,
    },
    /// A limit of ours ended an exchange, or prevented a connection.
    LimitHit {
        /// Which limit.
        hit: Hit,
    },
    /// A host counts as down. It is tried again after this time.
    BreakerOpened {
        /// The host.
        host: &'a HostKey,
        /// When it is tried.
        probe_in: Duration,
    },
    /// A host that was down responds again.
    BreakerClosed {
        /// The host.
        host: &'a HostKey,
    },
    /// Our own network is down: everything waits.
    OwnTrouble,
    /// The store lost something. What this worker remembers is written back.
    Recovering,
    /// The store came back empty. The URLs of this worker's visits were offered again.
    OfferedAgain {
        /// How many URLs.
        urls: usize,
    },
    /// A sink did not accept a batch, which waits.
    NotKept {
        /// Why.
        why: &'a str,
    },
}

/// Receives a worker's notes.
pub trait Listener {
    /// Receives a note. Must be quick.
    fn note(&self, note: Note<'_>);
}

/// Ignores all notes.
impl Listener for () {
    fn note(&self, _: Note<'_>) {}
}
