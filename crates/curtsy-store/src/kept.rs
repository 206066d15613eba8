//! The hosts of a ledger that were read or written last, in memory.

use std::collections::HashMap;
use std::sync::Arc;

use curtsy_core::host::HostState;
use curtsy_core::url::HostKey;

/// Hosts in memory, at most. If there are more, all are removed.
pub(crate) const KEPT_MAX: usize = 16_384;

/// A host as it is in the ledger.
#[derive(Clone, Debug)]
pub(crate) struct LedgerRow {
    /// The number of its row; `None` if the ledger has none or does not number its rows.
    pub(crate) id: Option<i64>,
    /// Zero if the ledger does not have the host.
    pub(crate) version: u64,
    pub(crate) state: Arc<HostState>,
}

/// The hosts that were read or written last. An entry is valid as long as no other process writes.
#[derive(Default)]
pub(crate) struct HostCache {
    /// Each host, with the value of `look` at which it was valid.
    rows: HashMap<HostKey, (LedgerRow, u64)>,
    look: u64,
}

impl HostCache {
    /// Marks all entries as possibly outdated: another process has written.
    pub(crate) fn doubt(&mut self) {
        self.look += 1;
    }

    pub(crate) fn forget(&mut self, host: &HostKey) {
        self.rows.remove(host);
    }

    pub(crate) fn clear(&mut self) {
        self.rows.clear();
    }

    /// Returns a host whose entry is valid.
    pub(crate) fn sure(&self, host: &HostKey) -> Option<&LedgerRow> {
        self.rows.get(host).filter(|(_, look)| *look == self.look).map(|(row, _)| row)
    }

    /// Returns a host's entry, valid or not. It is valid if the ledger has the same version.
    pub(crate) fn old(&self, host: &HostKey) -> Option<&LedgerRow> {
        self.rows.get(host).map(|(row, _)| row)
    }

    /// Marks a host's entry as valid.
    pub(crate) fn confirm(&mut self, host: &HostKey) {
        if let Some((_, look)) = self.rows.get_mut(host) {
            *look = self.look;
        }
    }

    /// Adds a host that was just read or written.
    pub(crate) fn keep(&mut self, host: &HostKey, row: LedgerRow) {
        if let Some(kept) = self.rows.get_mut(host) {
            *kept = (row, self.look);
            return;
        }
        if self.rows.len() >= KEPT_MAX {
            self.rows.clear();
        }
        self.rows.insert(host.clone(), (row, self.look));
    }
}
