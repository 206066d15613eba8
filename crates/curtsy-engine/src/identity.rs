//! How a worker is known: to sites by its user agent, to the store by the names of its leases.

use std::cell::Cell;

use curtsy_core::host::LeaseId;

/// The names under which a worker acts.
pub(crate) struct WorkerIdentity {
    pub(crate) user_agent: String,
    worker: u64,
    leases: Cell<u32>,
}

impl WorkerIdentity {
    pub(crate) fn new(user_agent: String, worker: u64) -> WorkerIdentity {
        WorkerIdentity { user_agent, worker, leases: Cell::new(0) }
    }

    /// Returns a name for a lease that no other lease has.
    pub(crate) fn new_lease(&self) -> LeaseId {
        let number = self.leases.get();
        self.leases.set(number.wrapping_add(1));
        LeaseId::of(self.worker, number)
    }
}
