//! The report of one run, as the survey preset gives it: `nm_ingest`.
//!
//! Names and order of the fields are the requirement's own.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::host::{Friction, Outcome};
use crate::policy::Mode;
use crate::url::CrawlUrl;

/// The contract that runs are held against.
pub const POLICY_VERSION: &str = "orbitBehaviourContract.v1.1.0";

/// Friction signals that a report lists; a run stops long before, since three in a row end it.
pub const FRICTION_SIGNALS_MAX: usize = 200;

/// The evidence of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunEvidence {
    /// The run's own name.
    #[serde(rename = "traceId")]
    pub trace_id: String,
    /// The contract's version.
    #[serde(rename = "nm_policyVersion")]
    pub policy_version: &'static str,
    /// What the run did.
    #[serde(rename = "nm_ingest")]
    pub ingest: Ingest,
}

/// What a run did.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ingest {
    /// How thorough it was.
    #[serde(serialize_with = "as_mode_name")]
    pub mode: Mode,
    /// Where its URLs came from.
    pub discovery_sources: Vec<DiscoverySource>,
    /// Pages that the plan had.
    pub pages_planned: u64,
    /// Pages that were fetched.
    pub pages_fetched: u64,
    /// Pages whose content went into a tile, or into a row with a body.
    pub pages_used: u64,
    /// Pages that the cache had.
    pub cache_hits: u64,
    /// Pages that it had not.
    pub cache_misses: u64,
    /// How it ended.
    pub outcome: RunOutcome,
    /// What stood in the way, as `403:example.com/admin`.
    pub friction_signals: Vec<String>,
    /// The host's risk score at the end, 0 to 100.
    pub domain_risk_score: u8,
    /// How long it took.
    pub duration_ms: u64,
}

/// Where URLs come from, in the order in which that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DiscoverySource {
    /// Sitemaps.
    Sitemap,
    /// What robots.txt names.
    Robots,
    /// The links of the home page.
    Homepage,
}

crate::word_enum! {
    /// How a run ended.
    #[derive(Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum RunOutcome {
        /// Every planned page was fetched or is fresh.
        Success = "success",
        /// Some were.
        Partial = "partial",
        /// None was, and there was friction.
        Blocked = "blocked",
        /// Our fault; also where no page came and nothing else explains it.
        Error = "error",
    }
}

/// What a run counted: the report follows from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFigures {
    /// Where its URLs came from, in the order of [`DiscoverySource`].
    pub sources: Vec<DiscoverySource>,
    /// Pages that the plan had.
    pub planned: u64,
    /// Planned pages that were fetched.
    pub fetched: u64,
    /// Planned pages that needed no request, since the copy that we hold is fresh.
    pub fresh: u64,
    /// Pages whose content was used.
    pub used: u64,
    /// Pages that the cache had.
    pub cache_hits: u64,
    /// Pages that it had not.
    pub cache_misses: u64,
    /// Friction met, see [`friction_signal`].
    pub friction: Vec<String>,
    /// Whether the host's risk kept pages from being asked for: friction that was met before.
    pub kept_off: bool,
    /// Whether it ended by a fault of ours (store, sink, network).
    pub our_fault: bool,
    /// The host's risk score at the end.
    pub risk_score: u8,
    /// How long it took.
    pub took: Duration,
}

impl RunFigures {
    /// How the run ended.
    ///
    /// A plan without pages is fulfilled, unless friction is what kept it empty. No page, no friction and no fault of ours (the
    /// host is down, or robots.txt forbids all of it) is still no result: that is an error.
    pub fn outcome(&self) -> RunOutcome {
        let got = self.fetched.saturating_add(self.fresh);
        match got {
            _ if got >= self.planned && got > 0 => RunOutcome::Success,
            _ if self.our_fault => RunOutcome::Error,
            1.. => RunOutcome::Partial,
            0 if !self.friction.is_empty() || self.kept_off => RunOutcome::Blocked,
            0 if self.planned == 0 => RunOutcome::Success,
            0 => RunOutcome::Error,
        }
    }
}

impl RunEvidence {
    /// The report of a run.
    pub fn new(trace_id: String, mode: Mode, figures: RunFigures) -> RunEvidence {
        let outcome = figures.outcome();
        let mut friction = figures.friction;
        friction.truncate(FRICTION_SIGNALS_MAX);
        RunEvidence {
            trace_id,
            policy_version: POLICY_VERSION,
            ingest: Ingest {
                mode,
                discovery_sources: figures.sources,
                pages_planned: figures.planned,
                pages_fetched: figures.fetched,
                pages_used: figures.used,
                cache_hits: figures.cache_hits,
                cache_misses: figures.cache_misses,
                outcome,
                friction_signals: friction,
                domain_risk_score: figures.risk_score,
                duration_ms: u64::try_from(figures.took.as_millis()).unwrap_or(u64::MAX),
            },
        }
    }
}

/// The mode's name in reports and requests.
pub const fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Light => "light",
        Mode::Standard => "standard",
        Mode::UserAssisted => "user_assisted",
    }
}

fn as_mode_name<S: Serializer>(mode: &Mode, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(mode_name(*mode))
}

/// A friction signal as `403:example.com/admin`, if the outcome is one. No query: it may hold what nobody should read.
///
/// ```
/// use curtsy_core::evidence::friction_signal;
/// use curtsy_core::host::Outcome;
/// use curtsy_core::url::CrawlUrl;
/// let url = CrawlUrl::parse("https://example.com/admin?token=s3cret").unwrap();
/// let refused = Outcome::Answered { status: 403, retry_after: None, friction: None };
/// assert_eq!(friction_signal(&refused, &url).unwrap(), "403:example.com/admin");
/// ```
pub fn friction_signal(outcome: &Outcome, url: &CrawlUrl) -> Option<String> {
    outcome.friction_points()?;
    let what = match *outcome {
        Outcome::Answered { friction: Some(Friction::Challenge), .. } => "challenge".to_owned(),
        Outcome::Answered { status: status @ (403 | 429 | 503), .. } => status.to_string(),
        _ => "unusual".to_owned(),
    };
    let authority = url.authority();
    let port = match authority.port {
        port if port == authority.scheme.default_port() => String::new(),
        port => format!(":{port}"),
    };
    let path = url.path_and_query();
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    Some(format!("{what}:{}{port}{path}", authority.host))
}
