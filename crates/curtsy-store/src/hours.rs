//! The time of one machine, as its store tells it.
//!
//! While anybody works, the store's time is the machine's monotonic clock, moved by what the ledger says: the same for every process,
//! without steps, and as fast as the workers' own clocks. A machine that sleeps stops it, as it stops the workers, so a permit from
//! before the sleep is as late as the store thinks. Whoever opens the ledger and finds nobody else at work adds the sleep
//! (`CLOCK_BOOTTIME`). After a reboot only the wall clock knows how long it took; it never takes the store back.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use curtsy_core::time::Time;

/// What a machine's clocks say, in microseconds.
pub trait Hours {
    /// A clock without steps, as fast as the workers' own, the same in every process until the next boot.
    fn monotonic(&self) -> u64;
    /// The same, with the time in which the machine slept.
    fn since_boot(&self) -> u64;
    /// Since 1970, as far as the machine knows.
    fn wall(&self) -> u64;
    /// A name that changes with each boot.
    fn boot(&self) -> String;
    /// What the clock of a database's server shows, where another one counts than its own: for tests in virtual time.
    fn server(&self) -> Option<u64> {
        None
    }
}

/// This machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine;

#[cfg(target_os = "linux")]
impl Hours for Machine {
    fn monotonic(&self) -> u64 {
        clock(rustix::time::ClockId::Monotonic)
    }

    fn since_boot(&self) -> u64 {
        clock(rustix::time::ClockId::Boottime)
    }

    fn wall(&self) -> u64 {
        wall()
    }

    fn boot(&self) -> String {
        let name = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
        name.map(|name| name.trim().to_owned()).unwrap_or_default()
    }
}

#[cfg(target_os = "linux")]
fn clock(id: rustix::time::ClockId) -> u64 {
    let time = rustix::time::clock_gettime(id);
    let secs = u64::try_from(time.tv_sec).unwrap_or(0);
    secs.saturating_mul(1_000_000).saturating_add(time.tv_nsec.unsigned_abs() / 1000)
}

/// Elsewhere all processes share the wall clock only.
#[cfg(not(target_os = "linux"))]
impl Hours for Machine {
    fn monotonic(&self) -> u64 {
        wall()
    }

    fn since_boot(&self) -> u64 {
        wall()
    }

    fn wall(&self) -> u64 {
        wall()
    }

    fn boot(&self) -> String {
        String::new()
    }
}

fn wall() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// The store's time at one moment of the machine's clocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    /// The boot in which it counts.
    pub(crate) boot: String,
    /// The monotonic clock then.
    pub(crate) monotonic: u64,
    /// The clock that counts sleep, then.
    pub(crate) since_boot: u64,
    /// The store's time then.
    pub(crate) time: Time,
}

impl Anchor {
    /// The store's time is `time` now.
    pub(crate) fn new(hours: &impl Hours, time: Time) -> Anchor {
        Anchor {
            boot: hours.boot(),
            monotonic: hours.monotonic(),
            since_boot: hours.since_boot(),
            time,
        }
    }

    /// The store's time now, without the machine's sleep.
    pub(crate) fn now(&self, hours: &impl Hours) -> Time {
        self.time + Duration::from_micros(hours.monotonic().saturating_sub(self.monotonic))
    }

    /// The store's time now, with the machine's sleep: for who finds nobody at work.
    pub(crate) fn now_after_sleep(&self, hours: &impl Hours) -> Time {
        let slept =
            self.time + Duration::from_micros(hours.since_boot().saturating_sub(self.since_boot));
        slept.max(self.now(hours))
    }
}
