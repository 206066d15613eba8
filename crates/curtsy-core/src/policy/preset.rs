//! The five presets, read from the files in `presets/`.

use std::sync::LazyLock;
use std::time::Duration;

use super::file::FileLayer;
use super::{
    AgentMatch, Backoff, BodyPolicy, Breaker, Budget, CacheMode, CachePolicy, Curve, Forbidden,
    Growth, Identity, Noindex, OnForbidden, Pace, Policy, Preset, Retry, Risk, RobotsPolicy, Slots,
    Timeouts, TrapPolicy, Unreachable,
};

impl Policy {
    /// Returns the policy of a preset.
    ///
    /// ```
    /// use curtsy_core::policy::{Policy, Preset};
    /// assert_eq!(Policy::preset(Preset::Careful).pace.delay_min.as_secs(), 3);
    /// ```
    pub fn preset(preset: Preset) -> Policy {
        PRESETS[preset as usize].clone()
    }
}

impl Preset {
    /// Returns the preset's file, which quotes the requirement for each value.
    pub const fn source(self) -> &'static str {
        match self {
            Preset::Careful => include_str!("presets/careful.toml"),
            Preset::Audit => include_str!("presets/audit.toml"),
            Preset::Warehouse => include_str!("presets/warehouse.toml"),
            Preset::Fleet => include_str!("presets/fleet.toml"),
            Preset::Survey => include_str!("presets/survey.toml"),
        }
    }
}

static PRESETS: LazyLock<Vec<Policy>> =
    LazyLock::new(|| Preset::ALL.iter().map(|preset| read(*preset)).collect());

fn read(preset: Preset) -> Policy {
    let layer = FileLayer::read(preset.source());
    // The files are part of the program, and a test reads each of them. No user input gets here.
    assert!(layer.faults.is_empty(), "preset {}: {:?}", preset.name(), layer.faults);
    let mut policy = blank(preset);
    policy.mode = layer.mode.map(|(mode, _)| mode);
    for (field, value, _) in layer.fields {
        field.set(&mut policy, &value);
    }
    policy
}

/// Returns a policy in which only the identity has a meaning. The preset's file sets all other
/// fields.
fn blank(preset: Preset) -> Policy {
    let curve = Curve {
        base: Duration::ZERO,
        growth: Growth::Fibonacci,
        cap: Duration::ZERO,
        jitter_percent: (0, 0),
    };
    Policy {
        preset,
        mode: None,
        identity: Identity {
            product: concat!("curtsy/", env!("CARGO_PKG_VERSION")).to_owned(),
            contact: None,
        },
        robots: RobotsPolicy {
            ttl: Duration::ZERO,
            deny_ttl: Duration::ZERO,
            unreachable: Unreachable::Deny,
            forbidden: Forbidden::Allow,
            agent_match: AgentMatch::Rfc,
            keep: Duration::ZERO,
            chain_deadline: Duration::ZERO,
        },
        pace: Pace {
            delay_min: Duration::ZERO,
            delay_max: Duration::ZERO,
            adaptive: false,
            adaptive_max: Duration::ZERO,
            crawl_delay_park: Duration::ZERO,
        },
        slots: Slots {
            per_host: 1,
            wait: None,
            per_address: None,
            total_connections: 0,
            body_memory: 0,
        },
        backoff: Backoff { curve, forbidden: OnForbidden::BackOff },
        retry: Retry { max: 0, curve },
        breaker: Breaker { failures: 0, curve },
        risk: Risk { active: false, early_stop: 0, daily_percent: 0, delay: [Duration::ZERO; 3] },
        cache: CachePolicy {
            mode: CacheMode::Off,
            ttl: Duration::ZERO,
            stale_while_revalidate: false,
            noindex: Noindex::Mark,
        },
        budget: Budget { pages: None, time: None, depth: None, warn_percent: 0 },
        traps: TrapPolicy::default(),
        body: BodyPolicy {
            decoded_max: 0,
            accept: Vec::new(),
            reject: Vec::new(),
            keep: true,
            redirects_max: 0,
        },
        timeout: Timeouts {
            connect: Duration::ZERO,
            tls: Duration::ZERO,
            first_byte: Duration::ZERO,
            whole: Duration::ZERO,
        },
        patience: None,
        host: Default::default(),
    }
}
