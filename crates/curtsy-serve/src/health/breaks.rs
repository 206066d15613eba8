//! Faults for tests of the checks. No other service starts with one.

use curtsy_core::policy::{CacheMode, Policy};
use curtsy_engine::discover::DiscoverySpec;
use serde_json::Value as Json;

use std::time::Duration;

/// What is broken; each is what the check of that name should notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// Evidence lacks one of its markers.
    Evidence,
    /// Sitemaps are not asked for.
    Discovery,
    /// Rules are read that are meant for others.
    Robots,
    /// No span is kept between requests.
    Throttling,
    /// Friction does not end a run.
    Friction,
    /// Nothing is cached.
    Cache,
    /// The page has no choice of modes.
    ModeSelector,
    /// A blocked run is shown without a way on.
    BotWall,
    /// Friction is not counted.
    Risk,
}

impl Break {
    /// All of them, in the order of the checks that should notice.
    pub const ALL: [Break; 9] = [
        Break::Evidence,
        Break::Discovery,
        Break::Robots,
        Break::Throttling,
        Break::Friction,
        Break::Cache,
        Break::ModeSelector,
        Break::BotWall,
        Break::Risk,
    ];

    /// Breaks the manners of a run.
    pub(crate) fn policy(self, policy: &mut Policy) {
        match self {
            Break::Robots => policy.identity.product = "somebody-else/1.0".to_owned(),
            Break::Throttling => {
                (policy.pace.delay_min, policy.pace.delay_max) = Default::default();
                policy.risk.delay = [Duration::ZERO; 3];
            }
            Break::Friction => policy.risk.early_stop = u8::MAX,
            Break::Cache => policy.cache.mode = CacheMode::Off,
            Break::Risk => policy.risk.active = false,
            _ => {}
        }
    }

    /// Breaks what a run looks for.
    pub(crate) fn discovery(self, discovery: &mut DiscoverySpec) {
        if self == Break::Discovery {
            discovery.follow_sitemaps = false;
        }
    }

    /// Breaks what is kept of a run.
    pub(crate) fn evidence(self, evidence: &mut Json) {
        if self == Break::Evidence
            && let Some(ingest) = evidence["nm_ingest"].as_object_mut()
        {
            ingest.remove("cacheHits");
        }
    }

    /// Breaks a page.
    pub(crate) fn page(self, html: String) -> String {
        match self {
            Break::ModeSelector => html.replace("name=\"mode\"", "name=\"other\""),
            Break::BotWall => html.replace("blocked-tile", "other"),
            _ => html,
        }
    }
}
