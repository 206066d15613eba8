//! What DuckDB may ask about a running call: its progress, and whether "no rows" means the end.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The pulse of one call.
pub(super) struct Pulse {
    /// In percent, as the bits of a floating-point number.
    progress: AtomicU64,
    /// The requested wait in milliseconds, or whether a wait may be requested at all.
    waits: AtomicU64,
}

/// "No rows" would be taken for the end.
const MUST_FILL: u64 = u64::MAX;
/// The shim understands that "no rows" may not be the end.
const MAY_WAIT: u64 = 0;

/// The longest wait, so that an interrupt is noticed soon.
const LONGEST: Duration = Duration::from_millis(100);

impl Pulse {
    pub(super) fn new() -> Arc<Pulse> {
        let progress = AtomicU64::new((-1.0_f64).to_bits());
        Arc::new(Pulse { progress, waits: AtomicU64::new(MUST_FILL) })
    }

    /// From 0 to 1.
    pub(super) fn set_progress(&self, done: f64) {
        self.progress.store((done.clamp(0.0, 1.0) * 100.0).to_bits(), Ordering::Relaxed);
    }

    /// In percent; negative if unknown.
    fn percent(&self) -> f64 {
        f64::from_bits(self.progress.load(Ordering::Relaxed))
    }

    /// Reports that there are no rows yet. If DuckDB would take that for the end, waits here and
    /// returns true: the caller then tries again.
    pub(super) fn wait(&self, wait: Duration) -> bool {
        let wait = wait.clamp(Duration::from_millis(1), LONGEST);
        if self.waits.load(Ordering::Relaxed) == MUST_FILL {
            std::thread::sleep(wait);
            return true;
        }
        self.waits.store(wait.as_millis() as u64, Ordering::Relaxed);
        false
    }
}

/// The callbacks of the shim. Their argument is the bind data of a table function of ours, which
/// begins with the pulse (`BindData`).
#[repr(C)]
pub(super) struct Callbacks {
    progress: unsafe extern "C" fn(*const c_void) -> f64,
    may_wait: unsafe extern "C" fn(*const c_void),
    waits: unsafe extern "C" fn(*const c_void) -> u64,
}

pub(super) const CALLBACKS: Callbacks = Callbacks { progress, may_wait, waits };

unsafe extern "C" fn progress(bound: *const c_void) -> f64 {
    // SAFETY: the shim passes bind data of ours, which lives as long as its query.
    unsafe { &*bound.cast::<Arc<Pulse>>() }.percent()
}

unsafe extern "C" fn may_wait(bound: *const c_void) {
    // SAFETY: as above.
    unsafe { &*bound.cast::<Arc<Pulse>>() }.waits.store(MAY_WAIT, Ordering::Relaxed);
}

unsafe extern "C" fn waits(bound: *const c_void) -> u64 {
    // SAFETY: as above.
    let waits = unsafe { &*bound.cast::<Arc<Pulse>>() }.waits.swap(MUST_FILL, Ordering::Relaxed);
    if waits == MUST_FILL { 0 } else { waits }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask<T>(pulse: &Arc<Pulse>, callback: unsafe extern "C" fn(*const c_void) -> T) -> T {
        // SAFETY: the callback is given what it wants.
        unsafe { callback(std::ptr::from_ref(pulse).cast()) }
    }

    #[test]
    fn progress_is_unknown_until_it_is_said() {
        let pulse = Pulse::new();
        assert!(ask(&pulse, progress) < 0.0);
        pulse.set_progress(0.25);
        assert_eq!(ask(&pulse, progress), 25.0);
        pulse.set_progress(7.0);
        assert_eq!(ask(&pulse, progress), 100.0);
    }

    #[test]
    fn whoever_fills_waits_itself_unless_it_may_not_need_to() {
        let pulse = Pulse::new();
        assert!(pulse.wait(Duration::ZERO), "waited here");
        ask(&pulse, may_wait);
        assert_eq!(ask(&pulse, waits), 0, "it was the end");
        ask(&pulse, may_wait);
        assert!(!pulse.wait(Duration::from_secs(7)));
        assert_eq!(ask(&pulse, waits), 100);
        assert!(pulse.wait(Duration::ZERO), "each time anew");
    }
}
