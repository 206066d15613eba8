//! What is left to do when the job's budget is used up?
//!
//! URLs beyond the budget stay in the queue as they are. Pages that were charged already are *owed*
//! a row: a retry or the next hop of a redirect is still requested. When nothing is owed any more,
//! the work ends.

use std::collections::BTreeMap;
use std::time::Duration;

use curtsy_core::host::{BudgetReason, LeaseId};
use curtsy_core::time::Time;
use curtsy_core::url::{HostKey, UrlKey};

use crate::url_fate::{UrlFate, unsent};
use crate::{UrlRecord, UrlWrite, Worker, World};

/// How long a host without owed pages is not handed out again. A new run looks at every host anew.
const PARKED: Duration = Duration::from_secs(3600);

/// Whether the budget is used up, and the charged pages that have no row yet.
#[derive(Default)]
pub(crate) struct JobBudget {
    spent: Option<BudgetReason>,
    owed: BTreeMap<UrlKey, UrlRecord>,
}

impl JobBudget {
    /// Returns which budget is used up, if no charged page is left to do.
    pub(crate) fn is_over(&self) -> Option<BudgetReason> {
        let done = self.owed.is_empty() || self.spent == Some(BudgetReason::TimeLimit);
        self.spent.filter(|_| done)
    }

    fn owed_on<'b>(&'b self, host: &'b HostKey) -> impl Iterator<Item = &'b UrlRecord> {
        self.owed.values().filter(move |record| record.host() == host)
    }
}

impl<W: World> Worker<'_, W> {
    /// Notes that the budget does not reach a URL.
    pub(crate) fn budget_is_spent(&self, reason: BudgetReason) {
        self.finish.with_budget(|budget| {
            budget.spent.get_or_insert(reason);
        });
    }

    /// Notes that a page has its row.
    pub(crate) fn paid(&self, id: UrlKey) {
        self.finish.with_budget(|budget| drop(budget.owed.remove(&id)));
    }

    /// Notes that a page was charged.
    pub(crate) fn owe(&self, record: &UrlRecord) {
        if record.charged && self.policies.job.budget.pages.is_some() {
            self.finish.with_budget(|budget| drop(budget.owed.insert(record.id, record.clone())));
        }
    }

    /// Notes the records of owed pages that the store has written: they have new claims.
    pub(crate) fn owe_as_written(&self, urls: &[UrlWrite]) {
        self.finish.with_budget(|budget| {
            for record in urls.iter().filter_map(|write| write.to.as_ref()) {
                if let Some(owed) = budget.owed.get_mut(&record.id) {
                    *owed = record.clone();
                }
            }
        });
    }

    /// Notes that the store knows no record by this claim. If the page is owed under this claim,
    /// another worker has it, or it has ended.
    pub(crate) fn owe_no_longer(&self, record: &UrlRecord) {
        self.finish.with_budget(|budget| {
            if budget.owed.get(&record.id).is_some_and(|owed| owed.claim == record.claim) {
                budget.owed.remove(&record.id);
            }
        });
    }

    /// Notes the record of an owed page as it stands in the store after an exchange.
    pub(crate) fn still_owe(&self, record: &UrlRecord, fate: &UrlFate, claim: LeaseId) {
        let record = match fate {
            UrlFate::Retry { at, tries, outcome } => UrlRecord {
                ready: Some(*at),
                tries: *tries,
                last: Some(*outcome),
                claim: Some(claim),
                ..record.clone()
            },
            UrlFate::Moved(to) => (**to).clone(),
            UrlFate::Unsent => unsent(UrlRecord { claim: Some(claim), ..record.clone() }),
            UrlFate::Unchanged | UrlFate::New(_) | UrlFate::Held(_) => return,
        };
        self.owe(&record);
    }

    /// Returns the URLs that a visit may request: those that were handed out, or those that are
    /// owed if the budget is used up.
    pub(crate) fn within_budget(&self, host: &HostKey, urls: Vec<UrlRecord>) -> Vec<UrlRecord> {
        self.finish.with_budget(|budget| match budget.spent {
            None => urls,
            Some(_) => budget.owed_on(host).cloned().collect(),
        })
    }

    /// Returns when a host is handed out again that is due at `due`.
    pub(crate) fn due_within_budget(&self, host: &HostKey, due: Time, now: Time) -> Time {
        self.finish.with_budget(|budget| {
            if budget.spent.is_none() {
                return due;
            }
            let ready = budget.owed_on(host).map(|record| record.ready.unwrap_or(Time::START));
            due.max(ready.min().unwrap_or(now + PARKED))
        })
    }
}
