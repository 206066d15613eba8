//! What people are shown of hosts and pages, in tables of their own beside the ledger: `domain_risk` and `url_fetch_cache`.
//!
//! A row is written in the transaction of the state that it shows, or not at all. Nothing is decided by it: it can be wrong, missing or
//! changed by hand, and no host is asked sooner.

use std::time::Duration;

use curtsy_core::evidence::timestamp;
use curtsy_core::host::HostState;
use curtsy_core::policy;
use curtsy_core::time::Time;
use curtsy_core::url::HostKey;
use curtsy_engine::{Exchanged, FrictionEvent};

/// Friction signals that a host's row shows: the last ones.
pub(crate) const FRICTION_EVENTS_MAX: i32 = 100;
/// Pages that went stale so long ago are thrown away when a ledger is opened.
pub(crate) const STALE_FOR: Duration = Duration::from_secs(30 * 86_400);

/// What is shown beside what is known of hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Shows {
    /// Nothing.
    #[default]
    Nothing,
    /// Risk scores in `domain_risk`, which fade as this policy has it, and pages in `url_fetch_cache`.
    RiskAndPages(policy::Risk),
}

/// What a host's row of `domain_risk` becomes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RiskRow {
    pub(crate) hostname: String,
    pub(crate) score: i32,
    /// A further signal, as JSON.
    pub(crate) event: Option<String>,
    /// When the host was last sent a request, if that is news.
    pub(crate) fetched_at: Option<Time>,
    pub(crate) now: Time,
}

impl Shows {
    /// Whether there is anything to show.
    pub(crate) fn anything(&self) -> bool {
        *self != Shows::Nothing
    }

    /// What a host's row becomes with a new state; none if nothing of what it shows has changed.
    pub(crate) fn risk_row(
        &self,
        host: &HostKey,
        (old, new): (&HostState, &HostState),
        exchanged: Option<&Exchanged>,
        now: Time,
    ) -> Option<RiskRow> {
        let Shows::RiskAndPages(policy) = self else { return None };
        if exchanged.is_none() && old.risk == new.risk {
            return None;
        }
        let friction = exchanged.and_then(|exchanged| exchanged.friction.as_ref());
        Some(RiskRow {
            hostname: host.as_str().to_owned(),
            score: new.risk.score(policy, now).into(),
            event: friction.map(|event| json(event, now)),
            // A clock that is read twice may be a little behind the second time.
            fetched_at: exchanged.map(|exchanged| exchanged.sent.min(now)),
            now,
        })
    }
}

fn json(event: &FrictionEvent, now: Time) -> String {
    let FrictionEvent { signal, points } = event;
    serde_json::json!({ "at": timestamp(now), "signal": signal, "points": points }).to_string()
}
