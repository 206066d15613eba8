//! What is left to do when the job's budget is used up?
//!
//! URLs that the budget does not reach stay in the queue as they are. Pages that were charged already are owed their row: a retry or the next
//! hop of a redirect is still asked for. When nothing is owed any more, the work ends.

use std::collections::BTreeMap;
use std::time::Duration;

use curtsy_core::host::{BudgetReason, LeaseId};
use curtsy_core::time::Time;
use curtsy_core::url::{HostKey, UrlKey};

use crate::becomes::{Becomes, unsent};
use crate::{UrlRecord, UrlWrite, Worker, World};

/// A host with nothing that the budget reaches is not handed out again for this long. A new run looks at every host anew.
const PARKED: Duration = Duration::from_secs(3600);

/// A budget, and the pages that it has been charged with and that have no row yet.
#[derive(Default)]
pub(crate) struct Budget {
    spent: Option<BudgetReason>,
    owed: BTreeMap<UrlKey, UrlRecord>,
}

impl Budget {
    /// Whether the budget is used up, and nothing that it was charged with is left to do.
    pub(crate) fn is_over(&self) -> Option<BudgetReason> {
        let done = self.owed.is_empty() || self.spent == Some(BudgetReason::TimeLimit);
        self.spent.filter(|_| done)
    }
}

impl<W: World> Worker<'_, W> {
    /// The budget does not reach a URL.
    pub(crate) fn budget_is_spent(&self, reason: BudgetReason) {
        self.budget.borrow_mut().spent.get_or_insert(reason);
        self.stop_if_over();
    }

    /// A page has its row.
    pub(crate) fn paid(&self, id: UrlKey) {
        self.budget.borrow_mut().owed.remove(&id);
        self.stop_if_over();
    }

    fn stop_if_over(&self) {
        if self.budget.borrow().is_over().is_some() {
            self.stop_switch().set(true);
        }
    }

    /// A page was charged: its row is owed.
    pub(crate) fn owe(&self, record: &UrlRecord) {
        if record.charged && self.policy.budget.pages.is_some() {
            self.budget.borrow_mut().owed.insert(record.id, record.clone());
        }
    }

    /// The store has written these records: a page that is owed a row is known by its new claim from now on.
    pub(crate) fn owe_as_written(&self, urls: &[UrlWrite]) {
        let mut budget = self.budget.borrow_mut();
        for record in urls.iter().filter_map(|write| write.to.as_ref()) {
            if let Some(owed) = budget.owed.get_mut(&record.id) {
                *owed = record.clone();
            }
        }
    }

    /// The store does not know a record by this claim. If that is the claim that we know, the record is in other hands, or has ended.
    pub(crate) fn owe_no_longer(&self, record: &UrlRecord) {
        let owed = self.budget.borrow().owed.get(&record.id).map(|owed| owed.claim);
        if owed == Some(record.claim) {
            self.paid(record.id);
        }
    }

    /// The record of a page that is owed a row, as it stands in the store after an exchange.
    pub(crate) fn still_owe(&self, record: &UrlRecord, becomes: &Becomes, claim: LeaseId) {
        let record = match becomes {
            Becomes::Retry { at, tries, outcome } => UrlRecord {
                ready: Some(*at),
                tries: *tries,
                last: Some(*outcome),
                claim: Some(claim),
                ..record.clone()
            },
            Becomes::Moved(to) => (**to).clone(),
            Becomes::Unsent => unsent(UrlRecord { claim: Some(claim), ..record.clone() }),
            Becomes::Unchanged | Becomes::New(_) | Becomes::Held(_) => return,
        };
        self.owe(&record);
    }

    /// What a visit may ask for: all that it was handed, or what is owed if the budget is used up.
    pub(crate) fn within_budget(&self, host: &HostKey, urls: Vec<UrlRecord>) -> Vec<UrlRecord> {
        let budget = self.budget.borrow();
        if budget.spent.is_none() {
            return urls;
        }
        budget.owed.values().filter(|record| record.host() == host).cloned().collect()
    }

    /// When a host is handed out again that would be due at `due`.
    pub(crate) fn due_within_budget(&self, host: &HostKey, due: Time, now: Time) -> Time {
        let budget = self.budget.borrow();
        if budget.spent.is_none() {
            return due;
        }
        let owed = budget.owed.values().filter(|record| record.host() == host);
        let ready = owed.map(|record| record.ready.unwrap_or(Time::START)).min();
        due.max(ready.unwrap_or(now + PARKED))
    }
}
