//! The hosts of a ledger that were read or written last, in memory.

use std::collections::HashMap;
use std::sync::Arc;

use curtsy_core::host::HostState;
use curtsy_core::url::HostKey;

/// Hosts that are kept in memory; all are dropped when there are more.
pub(crate) const KEPT_MAX: usize = 16_384;

/// A host as the ledger has it.
#[derive(Clone, Debug)]
pub(crate) struct HostRow {
    /// Its row, where rows have numbers; none if it is not in the ledger.
    pub(crate) id: Option<i64>,
    /// Zero if it is not in the ledger.
    pub(crate) version: u64,
    pub(crate) state: Arc<HostState>,
}

/// What was read and written last. It counts as long as nobody else writes.
#[derive(Default)]
pub(crate) struct Kept {
    /// Each with the look of which it is known to be so.
    rows: HashMap<HostKey, (HostRow, u64)>,
    look: u64,
}

impl Kept {
    /// Somebody else wrote: what is kept must be compared before it is used.
    pub(crate) fn doubt(&mut self) {
        self.look += 1;
    }

    pub(crate) fn forget(&mut self, host: &HostKey) {
        self.rows.remove(host);
    }

    pub(crate) fn clear(&mut self) {
        self.rows.clear();
    }

    /// A host that is surely as it is kept.
    pub(crate) fn sure(&self, host: &HostKey) -> Option<&HostRow> {
        self.rows.get(host).filter(|(_, look)| *look == self.look).map(|(row, _)| row)
    }

    /// A host as it was kept, however long ago: if its version is still the same, so is the rest.
    pub(crate) fn old(&self, host: &HostKey) -> Option<&HostRow> {
        self.rows.get(host).map(|(row, _)| row)
    }

    /// A host is still as it is kept.
    pub(crate) fn confirm(&mut self, host: &HostKey) {
        if let Some((_, look)) = self.rows.get_mut(host) {
            *look = self.look;
        }
    }

    /// A host as it was just read or written.
    pub(crate) fn keep(&mut self, host: &HostKey, row: HostRow) {
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
