//! Pseudo-random numbers: a draw is a function of its purpose and of a counter in the state.
//!
//! So a recorded run replays to the same waits, and two workers that see the same state compute the
//! same delay.

use std::time::Duration;

use crate::policy::{Curve, Growth};

/// The purpose of a draw, which makes the draws of one turn independent.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    /// The delay of a turn, within the policy's range.
    Delay = 1,
    /// The jitter of a backoff.
    Backoff = 2,
    /// The jitter of a retry.
    Retry = 3,
    /// The jitter of the breaker's waits.
    Breaker = 4,
}

/// Returns a pseudo-random number: the same for the same seed, counter and purpose.
pub fn draw(seed: u64, counter: u32, purpose: Purpose) -> u64 {
    // The finaliser of SplitMix64 (Steele, Lea and Flood 2014) over the mixed input.
    let mut z =
        seed ^ (u64::from(counter) << 8 | purpose as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Returns a span between `low` and `high`, both included.
pub fn between(low: Duration, high: Duration, draw: u64) -> Duration {
    let width = high.saturating_sub(low);
    let width = u64::try_from(width.as_micros()).unwrap_or(u64::MAX);
    low + Duration::from_micros(((u128::from(draw) * (u128::from(width) + 1)) >> 64) as u64)
}

impl Curve {
    /// Returns the wait after the `n`-th failure in a row, counted from zero, without jitter.
    pub fn plain(&self, n: u32) -> Duration {
        let factor = match self.growth {
            // 64 doublings exceed any cap that passes the policy's checks.
            Growth::Times(by) => by.powi(n.min(64) as i32),
            Growth::Fibonacci => fibonacci(n),
        };
        let secs = (self.base.as_secs_f64() * factor).min(self.cap.as_secs_f64());
        Duration::from_secs_f64(secs)
    }

    /// Returns the same wait with its jitter: never shorter than the plain one, never above the
    /// cap.
    pub fn wait(&self, n: u32, draw: u64) -> Duration {
        let plain = self.plain(n);
        let (least, most) = self.jitter_percent;
        let part = |percent: u8| plain * u32::from(percent) / 100;
        (plain + between(part(least), part(most), draw)).min(self.cap)
    }
}

/// 1, 1, 2, 3, 5, 8…, bounded.
fn fibonacci(n: u32) -> f64 {
    let (mut a, mut b) = (1.0_f64, 1.0_f64);
    for _ in 0..n.min(90) {
        (a, b) = (b, a + b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(base: u64, growth: Growth, cap: u64, jitter: (u8, u8)) -> Curve {
        Curve {
            base: Duration::from_secs(base),
            growth,
            cap: Duration::from_secs(cap),
            jitter_percent: jitter,
        }
    }

    fn secs(curve: &Curve, n: u32) -> Vec<u64> {
        (0..n).map(|i| curve.wait(i, 0).as_secs()).collect()
    }

    #[test]
    fn doubling_stops_at_the_cap() {
        let breaker = curve(30, Growth::Times(2.0), 300, (0, 0));
        assert_eq!(secs(&breaker, 7), [30, 60, 120, 240, 300, 300, 300]);
    }

    #[test]
    fn fibonacci_starts_with_two_ones() {
        let warehouse = curve(1, Growth::Fibonacci, 600, (0, 0));
        assert_eq!(secs(&warehouse, 17)[..8], [1, 1, 2, 3, 5, 8, 13, 21]);
        assert_eq!(warehouse.plain(1_000), Duration::from_secs(600));
    }

    #[test]
    fn jitter_only_lengthens_and_never_passes_the_cap() {
        let careful = curve(900, Growth::Times(2.0), 86_400, (10, 20));
        for turn in 0..100_000 {
            let d = draw(7, turn, Purpose::Backoff);
            let wait = careful.wait(turn % 12, d);
            let plain = careful.plain(turn % 12);
            assert!(wait >= plain.mul_f64(1.1).min(careful.cap) && wait <= plain.mul_f64(1.2));
            assert!(wait <= careful.cap);
        }
    }

    #[test]
    fn a_range_reaches_both_ends_and_nothing_beyond() {
        let (low, high) = (Duration::from_millis(200), Duration::from_millis(500));
        assert_eq!(between(low, high, 0), low);
        assert_eq!(between(low, high, u64::MAX), high);
        assert_eq!(between(low, low, u64::MAX), low);
    }
}
