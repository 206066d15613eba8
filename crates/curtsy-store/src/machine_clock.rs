//! The time of a machine's store, from the machine's clocks.
//!
//! While any process uses the ledger, the store's time is the machine's monotonic clock plus an
//! offset in the ledger. It is the same for every process, has no steps, and runs as fast as the
//! workers' own clocks. While the machine sleeps this clock stands still, and so do the workers, so
//! a permit from before the sleep is as late as the store thinks. A process that opens the ledger
//! alone adds the time of sleep (`CLOCK_BOOTTIME`). After a reboot only the wall clock shows how
//! long it took. The store's time never goes back.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use curtsy_core::time::Time;

/// The clocks of a machine, in microseconds.
pub trait MachineClock {
    /// A clock without steps, as fast as the workers' own, the same in every process until the next
    /// boot.
    fn monotonic(&self) -> u64;
    /// The same clock plus the time in which the machine slept.
    fn since_boot(&self) -> u64;
    /// The time since 1970, as far as the machine knows it.
    fn wall(&self) -> u64;
    /// A name that changes with each boot.
    fn boot(&self) -> String;
    /// The clock of a database server, if another clock replaces the server's own: for tests in
    /// virtual time.
    fn server(&self) -> Option<u64> {
        None
    }
}

/// The clocks of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

/// On other systems than Linux all processes share the wall clock only.
impl MachineClock for SystemClock {
    fn monotonic(&self) -> u64 {
        #[cfg(target_os = "linux")]
        return clock(rustix::time::ClockId::Monotonic);
        #[cfg(not(target_os = "linux"))]
        wall()
    }

    fn since_boot(&self) -> u64 {
        #[cfg(target_os = "linux")]
        return clock(rustix::time::ClockId::Boottime);
        #[cfg(not(target_os = "linux"))]
        wall()
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

fn wall() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// The store's time at one moment of the machine's clocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    /// The boot in which it is valid.
    pub(crate) boot: String,
    /// The monotonic clock at that moment.
    pub(crate) monotonic: u64,
    /// The clock that includes sleep, at that moment.
    pub(crate) since_boot: u64,
    /// The store's time at that moment.
    pub(crate) time: Time,
}

impl Anchor {
    /// Makes `time` the store's time of now.
    pub(crate) fn new(hours: &impl MachineClock, time: Time) -> Anchor {
        Anchor {
            boot: hours.boot(),
            monotonic: hours.monotonic(),
            since_boot: hours.since_boot(),
            time,
        }
    }

    /// Returns the store's time now, without the machine's sleep.
    pub(crate) fn now(&self, hours: &impl MachineClock) -> Time {
        self.time + Duration::from_micros(hours.monotonic().saturating_sub(self.monotonic))
    }

    /// Returns the store's time now, with the machine's sleep. For a process that is alone.
    pub(crate) fn now_after_sleep(&self, hours: &impl MachineClock) -> Time {
        let slept =
            self.time + Duration::from_micros(hours.since_boot().saturating_sub(self.since_boot));
        slept.max(self.now(hours))
    }
}
