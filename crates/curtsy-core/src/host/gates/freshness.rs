//! The freshness gate: whether a fresh copy of the page is cached.

use serde::{Deserialize, Serialize};

use super::{GateCase, GateCheck, Telling};
use crate::host::{Finding, Verdict};

/// Keeps a page that is cached and fresh from being requested.
pub(super) struct FreshnessGate;

/// Why no request is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FreshnessReason {
    /// The cached page is fresh.
    Fresh,
}

impl GateCheck for FreshnessGate {
    type Reason = FreshnessReason;
    const NAME: &'static str = "freshness";
    const CLEAR: &'static str = "no fresh copy of the page is held";

    fn of_url(case: &GateCase<'_>) -> Finding {
        match case.ask.fresh_until {
            Some(until) if until > case.scene.now => {
                Finding::new(Verdict::NotBefore(until), FreshnessReason::Fresh)
            }
            _ => Finding::CLEAR,
        }
    }

    fn sentence(_: FreshnessReason, _: &Telling<'_>) -> String {
        "the page that we hold is still fresh".to_owned()
    }
}

tags! {
    FreshnessReason { 12 Fresh }
}
