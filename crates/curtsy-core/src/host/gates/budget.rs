//! The budget gate: the pages and the time of a job.
//!
//! A page is charged once, with its first grant. Robots.txt, sitemaps, probes and retries are not
//! charged.

use serde::{Deserialize, Serialize};

use super::{GateCase, GateCheck, Telling};
use crate::host::{AskKind, Finding};

/// Limits the pages and the time of a job.
pub(super) struct BudgetGate;

/// The part of the budget that is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BudgetReason {
    /// The job's pages.
    PageLimit {
        /// Pages that were charged.
        pages: u64,
    },
    /// The job's time.
    TimeLimit,
}

impl GateCheck for BudgetGate {
    type Reason = BudgetReason;
    const NAME: &'static str = "budget";
    const CLEAR: &'static str = "within the job's budget";

    fn of_url(case: &GateCase<'_>) -> Finding {
        let GateCase { ask, scene, .. } = *case;
        let budget = &scene.policy.budget;
        if budget.time.is_some_and(|time| scene.job.started_at + time <= scene.now) {
            return Finding::never(BudgetReason::TimeLimit);
        }
        let pages = scene.job.pages;
        let over = budget.pages.is_some_and(|cap| pages >= cap);
        if over && !ask.charged && matches!(ask.kind, AskKind::Page | AskKind::Check) {
            return Finding::never(BudgetReason::PageLimit { pages });
        }
        Finding::CLEAR
    }

    fn sentence(reason: BudgetReason, _: &Telling<'_>) -> String {
        match reason {
            BudgetReason::PageLimit { pages } => {
                format!("page limit: {pages} pages are charged already")
            }
            BudgetReason::TimeLimit => "time limit: the job's time is used up".to_owned(),
        }
    }
}

tags! {
    BudgetReason { 23 PageLimit { pages }, 24 TimeLimit }
}
