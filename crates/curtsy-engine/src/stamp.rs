//! How the store's time relates to a worker's own clock.

use std::time::Duration;

use curtsy_core::time::Time;

use crate::{Mono, View};

/// A host's state as this worker last read or wrote it.
pub(crate) struct StampedView {
    pub(crate) view: View,
    pub(crate) stamp: Stamp,
}

/// One reading of the store's time: it was `now` at some moment between `m0` and `m1`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    pub(crate) now: Time,
    pub(crate) m0: Mono,
    pub(crate) m1: Mono,
}

impl Stamp {
    /// The earliest that the store's time can be at `at`. Waits are measured with it.
    pub(crate) fn earliest(&self, at: Mono) -> Time {
        self.now.back(self.m1 - at) + (at - self.m1)
    }

    /// The latest that the store's time can be at `at`, for events that are reported. `at` may lie
    /// before the reading.
    pub(crate) fn latest(&self, at: Mono) -> Time {
        self.now.back(self.m0 - at) + (at - self.m0)
    }

    /// The moment from which on the store's time has certainly reached `time`.
    pub(crate) fn not_before(&self, time: Time) -> Mono {
        self.m1 + (time - self.now)
    }

    /// The moment up to which the store's time is certainly not past `time`.
    pub(crate) fn deadline(&self, time: Time) -> Mono {
        self.m0 + (time - self.now)
    }

    pub(crate) fn round_trip(&self) -> Duration {
        self.m1 - self.m0
    }
}
