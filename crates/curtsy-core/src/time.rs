//! Time in the store's clock.
//!
//! Every stored moment is in the store's clock, in microseconds since the Unix epoch by that clock.
//! Workers never compare wall clocks: they sleep differences on their own monotonic clock.

use std::fmt;
use std::num::NonZeroU64;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment in the store's clock, in microseconds.
///
/// `Option<Time>` has the size of `Time`, so "no time" needs no sentinel.
///
/// ```
/// use curtsy_core::time::Time;
/// use std::time::Duration;
/// let noon = Time::from_secs(43_200);
/// assert_eq!(noon + Duration::from_secs(3) - noon, Duration::from_secs(3));
/// assert_eq!(noon - (noon + Duration::from_secs(3)), Duration::ZERO, "a span is never negative");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(NonZeroU64);

impl Time {
    /// The first moment of the clock.
    pub const START: Time = Time(NonZeroU64::MIN);
    /// Later than any real moment. It waits for a person, not for a clock.
    pub const NEVER: Time = Time(NonZeroU64::MAX);

    /// Returns the moment `micros` after the epoch. Zero becomes the first moment.
    pub const fn from_micros(micros: u64) -> Time {
        match NonZeroU64::new(micros) {
            Some(t) => Time(t),
            None => Time::START,
        }
    }

    /// Returns the moment `secs` after the epoch.
    pub const fn from_secs(secs: u64) -> Time {
        Time::from_micros(secs.saturating_mul(1_000_000))
    }

    /// Returns the microseconds since the epoch.
    pub const fn micros(self) -> u64 {
        self.0.get()
    }

    /// Returns the whole seconds since the epoch.
    pub const fn secs(self) -> u64 {
        self.0.get() / 1_000_000
    }

    /// Returns the moment `span` earlier, or the first moment.
    pub fn back(self, span: Duration) -> Time {
        Time::from_micros(self.micros().saturating_sub(micros(span)))
    }
}

/// Returns a span in whole microseconds, saturating.
pub fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, span: Duration) -> Time {
        Time::from_micros(self.micros().saturating_add(micros(span)))
    }
}

/// Returns the span from `earlier` to `self`, zero if `earlier` is later.
impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Time) -> Duration {
        Duration::from_micros(self.micros().saturating_sub(earlier.micros()))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Time::NEVER {
            return f.write_str("never");
        }
        write!(f, "{}.{:06}s", self.secs(), self.micros() % 1_000_000)
    }
}
