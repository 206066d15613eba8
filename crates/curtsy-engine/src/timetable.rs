//! When a store hands out its hosts: the same in memory and on SQLite. The Redis scripts `take.lua`
//! and `frontier.lua` mirror it.

use std::collections::BTreeSet;

use curtsy_core::time::Time;

use crate::check::HOLD;

/// The hosts of a store by the times at which they are due. A `K` names a host.
#[derive(Debug)]
pub struct Timetable<K>(BTreeSet<(Time, K)>);

/// When one host is handed out.
#[derive(Clone, Copy, Debug, Default)]
pub struct HandOut {
    not_before: Option<Time>,
    due: Option<Time>,
    /// Whether a visit has the host. Then it is due when other visits may have it.
    held: bool,
    /// Whether to hand the host out before `not_before`, once.
    look: bool,
}

impl HandOut {
    /// Returns the schedule of a host that must not be handed out before this time.
    pub fn not_before(time: Option<Time>) -> HandOut {
        HandOut { not_before: time, ..HandOut::default() }
    }

    /// Returns when the host is due. `None` if it has no URLs.
    pub fn due(&self) -> Option<Time> {
        self.due
    }

    /// Whether a visit has the host.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Hands the host out once without its wait: other URLs wait for a new one, which may need no
    /// request.
    pub fn look(&mut self) {
        self.look = true;
    }

    fn wanted(&self, ready: Option<Time>) -> Option<Time> {
        let not_before = self.not_before.filter(|_| !self.look).unwrap_or(Time::START);
        ready.map(|ready| ready.max(not_before))
    }
}

impl<K> Default for Timetable<K> {
    fn default() -> Timetable<K> {
        Timetable(BTreeSet::new())
    }
}

impl<K: Ord + Clone> Timetable<K> {
    /// Returns the hosts with work and their due times, the earliest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &(Time, K)> + ExactSizeIterator {
        self.0.iter()
    }

    /// Returns when the first host is due.
    pub fn first_due(&self) -> Option<Time> {
        self.0.first().map(|(due, _)| *due)
    }

    /// Hands a host out. It is not removed: it is due again after [`HOLD`], unless it is given back
    /// before.
    pub fn take(&mut self, key: &K, host: &mut HandOut, now: Time) {
        self.set(key, host, Some(now + HOLD));
        (host.held, host.look) = (true, false);
    }

    /// Gives a host back. It is handed out not before `not_before`, if that is given, and not
    /// before its first URL is `ready`.
    pub fn give_back(
        &mut self,
        key: &K,
        host: &mut HandOut,
        not_before: Option<Time>,
        ready: Option<Time>,
    ) {
        host.not_before = not_before.or(host.not_before);
        host.held = false;
        self.set(key, host, host.wanted(ready));
    }

    /// Updates a host whose queue has changed, unless a visit has the host.
    pub fn queue_changed(&mut self, key: &K, host: &mut HandOut, ready: Option<Time>) {
        let wanted = host.wanted(ready);
        // An earlier due time stays: it only makes a visit come too early. A later one may be a
        // hold.
        let sooner = host.due > wanted && !host.held;
        if host.due.is_none() || wanted.is_none() || sooner {
            self.set(key, host, wanted);
        }
    }

    /// Removes a host.
    pub fn remove(&mut self, key: &K, host: &mut HandOut) {
        self.set(key, host, None);
    }

    /// Removes all hosts.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn set(&mut self, key: &K, host: &mut HandOut, due: Option<Time>) {
        if host.due == due {
            return;
        }
        if let Some(old) = host.due {
            self.0.remove(&(old, key.clone()));
        }
        if let Some(due) = due {
            self.0.insert((due, key.clone()));
        }
        host.due = due;
    }
}
