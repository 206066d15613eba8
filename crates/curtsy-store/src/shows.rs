//! The tables of a ledger that people read: `domain_risk` and `url_fetch_cache`.
//!
//! A row is written in the same transaction as the state that it shows. Nothing is decided by these
//! tables: a row may be wrong, missing or edited, and no request is sent earlier for it.

use std::time::Duration;

use curtsy_core::evidence::timestamp;
use curtsy_core::host::HostState;
use curtsy_core::policy;
use curtsy_core::time::Time;
use curtsy_core::url::HostKey;
use curtsy_engine::{Exchanged, FrictionEvent};

/// The last friction signals of a host that its row keeps.
pub(crate) const FRICTION_EVENTS_MAX: i32 = 100;
/// Pages that have been stale for this long are deleted when a ledger is opened.
pub(crate) const STALE_FOR: Duration = Duration::from_secs(30 * 86_400);

/// Which readable tables a ledger has.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ReadableTables {
    /// None.
    #[default]
    Nothing,
    /// Risk scores in `domain_risk`, which decay by this policy, and pages in `url_fetch_cache`.
    RiskAndPages(policy::Risk),
}

/// The new values of a host's row in `domain_risk`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RiskRow {
    pub(crate) hostname: String,
    pub(crate) score: i32,
    /// A new signal, as JSON.
    pub(crate) event: Option<String>,
    /// The start of the request that was recorded, if one was.
    pub(crate) fetched_at: Option<Time>,
    pub(crate) now: Time,
}

impl ReadableTables {
    /// Whether there are such tables.
    pub(crate) fn anything(&self) -> bool {
        *self != ReadableTables::Nothing
    }

    /// Returns the row of a host with a new state; `None` if nothing in the row changes.
    pub(crate) fn risk_row(
        &self,
        host: &HostKey,
        (old, new): (&HostState, &HostState),
        exchanged: Option<&Exchanged>,
        now: Time,
    ) -> Option<RiskRow> {
        let ReadableTables::RiskAndPages(policy) = self else { return None };
        if exchanged.is_none() && old.risk == new.risk {
            return None;
        }
        let friction = exchanged.and_then(|exchanged| exchanged.friction.as_ref());
        Some(RiskRow {
            hostname: host.as_str().to_owned(),
            score: new.risk.score(policy, now).into(),
            event: friction.map(|event| json(event, now)),
            // The second reading of a clock may be slightly behind the first.
            fetched_at: exchanged.map(|exchanged| exchanged.sent.min(now)),
            now,
        })
    }
}

fn json(event: &FrictionEvent, now: Time) -> String {
    let FrictionEvent { signal, points } = event;
    serde_json::json!({ "at": timestamp(now), "signal": signal, "points": points }).to_string()
}
