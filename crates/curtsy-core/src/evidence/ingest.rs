//! The report of one run of the survey preset: `nm_ingest`.
//!
//! Names and order of the fields are those of the requirement.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::host::{Friction, Outcome};
use crate::policy::Mode;
use crate::url::CrawlUrl;

/// The contract that runs are checked against.
pub const POLICY_VERSION: &str = "orbitBehaviourContract.v1.1.0";

/// Limit of the friction signals in a report. A run stops long before, since three in a row end it.
pub const FRICTION_SIGNALS_MAX: usize = 200;

/// The evidence of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunEvidence {
    /// The ID of the run.
    #[serde(rename = "traceId")]
    pub trace_id: String,
    /// The version of the contract.
    #[serde(rename = "nm_policyVersion")]
    pub policy_version: &'static str,
    /// The figures of the run.
    #[serde(rename = "nm_ingest")]
    pub ingest: Ingest,
}

/// The figures of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ingest {
    /// The mode of the survey.
    #[serde(serialize_with = "as_mode_name")]
    pub mode: Mode,
    /// The sources of the run's URLs.
    pub discovery_sources: Vec<DiscoverySource>,
    /// Planned pages.
    pub pages_planned: u64,
    /// Fetched pages.
    pub pages_fetched: u64,
    /// Pages whose content is in a tile, or in a row with a body.
    pub pages_used: u64,
    /// Pages that were in the cache.
    pub cache_hits: u64,
    /// Pages that were not in the cache.
    pub cache_misses: u64,
    /// The outcome of the run.
    pub outcome: RunOutcome,
    /// The friction signals, as `403:example.com/admin`.
    pub friction_signals: Vec<String>,
    /// The host's risk score at the end, 0 to 100.
    pub domain_risk_score: u8,
    /// The duration of the run.
    pub duration_ms: u64,
}

/// A source of URLs, in the order in which the sources are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DiscoverySource {
    /// Sitemaps.
    Sitemap,
    /// The sitemaps that robots.txt names.
    Robots,
    /// The links of the home page.
    Homepage,
}

crate::word_enum! {
    /// The outcome of a run.
    #[derive(Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum RunOutcome {
        /// Every planned page was fetched or is fresh.
        Success = "success",
        /// Some planned pages were fetched or are fresh.
        Partial = "partial",
        /// No page was fetched, and there was friction.
        Blocked = "blocked",
        /// Our own fault, or no page came for another reason.
        Error = "error",
    }
}

/// The counts of a run, from which the report follows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFigures {
    /// The sources of the run's URLs, in the order of [`DiscoverySource`].
    pub sources: Vec<DiscoverySource>,
    /// Planned pages.
    pub planned: u64,
    /// Planned pages that were fetched.
    pub fetched: u64,
    /// Planned pages that needed no request, since the cached copy is fresh.
    pub fresh: u64,
    /// Pages whose content was used.
    pub used: u64,
    /// Pages that were in the cache.
    pub cache_hits: u64,
    /// Pages that were not in the cache.
    pub cache_misses: u64,
    /// The friction signals, see [`friction_signal`].
    pub friction: Vec<String>,
    /// Whether the host's risk prevented requests, because of earlier friction.
    pub kept_off: bool,
    /// Whether the run ended by our own fault (store, sink, network).
    pub our_fault: bool,
    /// The host's risk score at the end.
    pub risk_score: u8,
    /// The duration of the run.
    pub took: Duration,
}

impl RunFigures {
    /// Returns the outcome of the run.
    ///
    /// A plan without pages is a success, unless friction is what kept it empty. If no page came
    /// without friction or a fault of ours (the host is down, or robots.txt forbids everything),
    /// the outcome is an error.
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
    /// Returns the report of a run.
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

/// Returns the mode's name in reports and requests.
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

/// Returns a friction signal as `403:example.com/admin`, if the outcome is friction. It has no
/// query, which may be confidential.
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
