//! What a worker knows of its store's time and epochs: how long nothing may be granted.
//!
//! Two events make a worker quiet: a new epoch, because the store lost something, and a long
//! silence of the store, because other workers may hold answers whose leases ran out meanwhile.

use std::cell::Cell;
use std::time::Duration;

use curtsy_core::time::Time;

use crate::stamp::Stamp;
use crate::{Epoch, Mono, Taken};

/// A store that did not answer for this long counts as silent, unless requests may not even take
/// as long. An idle worker polls its store twice as often.
const SILENCE: Duration = Duration::from_secs(10);
/// The time that other workers have for their reports once the store is back. They try five times
/// a second.
const REPORT_TIME: Duration = Duration::from_secs(1);
/// How much longer than a request may take a visit waits that sees an epoch before its worker does.
/// One lease, so the visit gives its host back.
const UNNOTED: Duration = Duration::from_secs(1);

/// The store's time and epochs, as far as a worker knows them.
pub(crate) struct StoreClock {
    request_max: Duration,
    /// The store's time when it last answered a take.
    last_stamp: Cell<Option<Stamp>>,
    /// When this worker may grant again, if that is later than the store says.
    quiet_until: Cell<Option<Time>>,
    /// Whether this worker is writing back what it remembers.
    recovering: Cell<bool>,
}

impl StoreClock {
    /// A clock of a store that was not asked yet, for requests that take up to `request_max`.
    pub(crate) fn new(request_max: Duration) -> StoreClock {
        StoreClock {
            request_max,
            last_stamp: Cell::new(None),
            quiet_until: Cell::new(None),
            recovering: Cell::new(false),
        }
    }

    /// Returns the longest pause between two questions that is no silence.
    pub(crate) fn poll_max(&self) -> Duration {
        self.silence() / 2
    }

    fn silence(&self) -> Duration {
        SILENCE.min(self.request_max)
    }

    pub(crate) fn last_stamp(&self) -> Option<Stamp> {
        self.last_stamp.get()
    }

    pub(crate) fn is_recovering(&self) -> bool {
        self.recovering.get()
    }

    pub(crate) fn set_recovering(&self, recovering: bool) {
        self.recovering.set(recovering);
    }

    /// Notes an answer to a take. After a silence nothing is granted until others have reported
    /// what they met. The quiet time of an epoch that passed in the silence is added at its end,
    /// because nobody could write anything back in it.
    pub(crate) fn note(&self, taken: &Taken, m0: Mono, m1: Mono) {
        let before = self.last_stamp.replace(Some(Stamp { now: taken.now, m0, m1 }));
        let before = before.map(|stamp| stamp.now);
        let Some(before) = before.filter(|before| taken.now - *before > self.silence()) else {
            return;
        };
        // An epoch that began in the silence has its whole quiet time before it.
        let since = taken.epoch.floor.unwrap_or(before).max(before);
        let quiet = taken.epoch.quiet_until.max(self.quiet_until.get());
        let left = quiet.map_or(Duration::ZERO, |quiet| quiet - since);
        self.quiet_until.set(Some(taken.now + left.max(REPORT_TIME)));
    }

    /// Returns when a turn may be granted again in `epoch`. `noted` is the epoch that the worker
    /// knows: if a visit sees a newer one first, what the worker remembers must be written first.
    pub(crate) fn quiet_until(&self, epoch: &Epoch, noted: Option<u64>, now: Time) -> Option<Time> {
        let unnoted = noted != Some(epoch.id);
        let unnoted = unnoted.then(|| now + self.request_max + UNNOTED);
        epoch.quiet_until.max(self.quiet_until.get()).max(unnoted)
    }
}
