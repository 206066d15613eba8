//! The promises of a crawl to all sites: one struct and five presets.
//!
//! A `Policy` is plain data, checked when it is parsed and never changed afterwards. What a site
//! demands (a Crawl-delay, a Retry-After) is in the host's state, not here. No field switches off
//! robots.txt, the guard on addresses, Retry-After or the identity.
//!
//! This file has the plain data. [`FIELDS`] lists every field once. Files ([`Policy::parse`]),
//! variables and flags ([`Layers`]), the written form and the documents are generated from that
//! list.

mod amount;
mod body;
mod document;
mod environment;
mod error;
mod fields;
mod file;
mod host;
mod identity;
mod layers;
mod mode;
mod own;
mod preset;
mod render;
mod stored;
mod typo;
pub use typo::nearest;
mod value;

use std::collections::BTreeMap;
use std::time::Duration;

pub use amount::{read_range, read_size, read_span, write_range, write_size, write_span};
pub use document::tables;
pub use environment::{INHERITED, Inherited, Variables, WORKER, variable_typos};
pub use error::{PolicyError, PolicyFault, ValuePlace};
pub use fields::{FIELDS, Field};
pub use file::FILE_BYTES_MAX;
pub use host::{HOST_FIELDS, HostField, PUBLIC_DELAY_MIN, Reach};
pub use layers::{FlagValue, Layers, Origin, SettingsFile, SettledPolicy};
pub use mode::Mode;
pub use own::{BasicAuth, HEADERS_MAX as OWN_HEADERS_MAX, OwnHost, Secret};
pub use render::{Difference, FieldNote};
pub use value::{FieldValue, ValueKind};

/// All choices about a crawl's manners.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The preset that this policy starts from.
    pub preset: Preset,
    /// How thorough a survey is; only the survey preset has modes.
    pub mode: Option<Mode>,
    /// The identity in every request.
    pub identity: Identity,
    /// How robots.txt is read.
    pub robots: RobotsPolicy,
    /// The delay between requests to one host.
    pub pace: Pace,
    /// Limits of requests at the same time.
    pub slots: Slots,
    /// The reaction to a 429 without a Retry-After.
    pub backoff: Backoff,
    /// The reaction to a failed fetch of one URL.
    pub retry: Retry,
    /// When a host counts as down, and how often it is probed then.
    pub breaker: Breaker,
    /// Friction and risk scores.
    pub risk: Risk,
    /// How long a fetched page stays fresh.
    pub cache: CachePolicy,
    /// When a job ends by itself.
    pub budget: Budget,
    /// When links are left because their site seems to have no end.
    pub traps: TrapPolicy,
    /// Which bodies are accepted.
    pub body: BodyPolicy,
    /// Timeouts of each phase of an exchange.
    pub timeout: Timeouts,
    /// How long a crawl waits for hosts that must wait; `None` is forever.
    pub patience: Option<Duration>,
    /// Sections that override fields for one host, by canonical host name.
    pub host: BTreeMap<String, HostOverride>,
}

crate::word_enum! {
    /// The five presets, one for each of the requirement documents.
    pub enum Preset {
        /// RFC 9309, 3 s a host, slowdown tokens up to 24 h, HTTP caching: the default.
        Careful = "careful",
        /// Scan budgets, 2 slots a host, 200–500 ms, evidence for each robots decision.
        Audit = "audit",
        /// SQL table out, sitemaps and links, Fibonacci backoff, adaptive pace.
        Warehouse = "warehouse",
        /// Redis queue, Kafka events, circuit breaker, dead letters.
        Fleet = "fleet",
        /// Light, standard and user-assisted modes, risk scores, friction, `nm_ingest` evidence.
        Survey = "survey",
    }
}

/// The identity in every request.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// `product/version`. robots.txt groups are matched by the product token.
    pub product: String,
    /// A mail address or page of a person. A crawl needs one, except for loopback.
    pub contact: Option<String>,
}

/// How robots.txt is read.
#[derive(Clone, Debug, PartialEq)]
pub struct RobotsPolicy {
    /// How long a fetched robots.txt applies. It is not requested again before that.
    pub ttl: Duration,
    /// How long to wait after robots.txt could not be fetched.
    pub deny_ttl: Duration,
    /// The meaning of an unreachable robots.txt (5xx, 429, timeout, DNS, TLS, truncated).
    pub unreachable: Unreachable,
    /// The meaning of 401 and 403 on robots.txt.
    pub forbidden: Forbidden,
    /// How a group's agent is compared with our product token.
    pub agent_match: AgentMatch,
    /// How long the last good copy is obeyed while robots.txt is unreachable. After that it counts
    /// as a 404.
    pub keep: Duration,
    /// The time limit of a chain of robots.txt redirects.
    pub chain_deadline: Duration,
}

crate::word_enum! {
    /// The meaning of an unreachable robots.txt.
    pub enum Unreachable {
        /// Nothing may be fetched.
        Deny = "deny",
        /// Everything may be fetched, with a low-confidence finding and a warning.
        Allow = "allow",
    }
}

crate::word_enum! {
    /// The meaning of 401 and 403 on robots.txt.
    pub enum Forbidden {
        /// As a 404: no rules (RFC 9309 §2.3.1.3).
        Allow = "allow",
        /// Nothing may be fetched.
        Deny = "deny",
    }
}

crate::word_enum! {
    /// How a group's agent is compared with our product token.
    pub enum AgentMatch {
        /// RFC 9309: the product token, case-insensitively.
        Rfc = "rfc",
        /// Exact, then partial either way, then `*`.
        Loose = "loose",
    }
}

/// The delay between requests to one host.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// The least span between two starts on a host.
    pub delay_min: Duration,
    /// The upper end of a random delay; equal to `delay_min` if the delay is fixed.
    pub delay_max: Duration,
    /// Whether the delay grows in proportion when responses are slower than usual.
    pub adaptive: bool,
    /// The upper limit of the adaptive delay.
    pub adaptive_max: Duration,
    /// A host with a longer Crawl-delay is parked, with a finding and an estimate. A Crawl-delay is
    /// never shortened.
    pub crawl_delay_park: Duration,
}

/// Limits of requests at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct Slots {
    /// Requests in flight to one host.
    pub per_host: u8,
    /// How long a URL waits for a slot before `slot_timeout` is recorded; `None` never records it.
    pub wait: Option<Duration>,
    /// Requests in flight to one address; `None` is no limit.
    pub per_address: Option<u16>,
    /// Connections of the whole process.
    pub total_connections: u32,
    /// Bytes of bodies in memory. When they are used up, reading waits.
    pub body_memory: u64,
}

/// How the waits of the crawler itself grow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// The first wait.
    pub base: Duration,
    /// How each wait follows from the one before.
    pub growth: Growth,
    /// The upper limit of a wait, jitter included.
    pub cap: Duration,
    /// The least and the largest share of the wait that is added at random, in percent. Jitter only
    /// lengthens a wait.
    pub jitter_percent: (u8, u8),
}

/// How each wait follows from the one before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Growth {
    /// Each wait is the base times this factor to the power of the streak.
    Times(f64),
    /// 1, 1, 2, 3, 5, 8… times the base.
    Fibonacci,
}

/// The reaction to a refusal.
#[derive(Clone, Debug, PartialEq)]
pub struct Backoff {
    /// The waits after consecutive 429 answers without a Retry-After.
    pub curve: Curve,
    /// The meaning of a 403.
    pub forbidden: OnForbidden,
}

crate::word_enum! {
    /// The meaning of a 403.
    pub enum OnForbidden {
        /// The host backs off as after a 429. The URL is not retried.
        BackOff = "back-off",
        /// A permanent failure of that URL only.
        Permanent = "permanent",
    }
}

/// The reaction to a failed fetch of one URL.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// Retries after the first try.
    pub max: u8,
    /// The waits before them.
    pub curve: Curve,
}

/// When a host counts as down, and how often it is probed then.
#[derive(Clone, Debug, PartialEq)]
pub struct Breaker {
    /// Consecutive site-wide failures that open the breaker.
    pub failures: u8,
    /// The waits between probes.
    pub curve: Curve,
}

/// Friction and risk scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Risk {
    /// Whether the score affects the crawl. It is recorded in every preset.
    pub active: bool,
    /// Friction signals in a row that stop an automated run early.
    pub early_stop: u8,
    /// The share of the score that remains after a day, in percent.
    pub daily_percent: u8,
    /// The delays at low, medium and high risk. Critical risk stops automated modes.
    pub delay: [Duration; 3],
}

/// How long a fetched page stays fresh.
#[derive(Clone, Debug, PartialEq)]
pub struct CachePolicy {
    /// What decides freshness.
    pub mode: CacheMode,
    /// How long a page without caching headers stays fresh.
    pub ttl: Duration,
    /// Whether a stale page may be used while it is fetched again.
    pub stale_while_revalidate: bool,
    /// The treatment of pages marked `noindex`.
    pub noindex: Noindex,
}

crate::word_enum! {
    /// What decides freshness.
    pub enum CacheMode {
        /// Nothing is kept for a later crawl.
        Off = "off",
        /// Cache-Control, else the ttl.
        Http = "http",
        /// Validators are sent. The sitemap decides freshness.
        Validators = "validators",
        /// The ttl, whatever the page says.
        Fixed = "fixed",
    }
}

crate::word_enum! {
    /// The treatment of pages marked `noindex`.
    pub enum Noindex {
        /// Kept, marked.
        Mark = "mark",
        /// The row is kept, its body is not.
        DropBody = "drop-body",
        /// Fetched but not used.
        Unused = "unused",
    }
}

/// When a job ends by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// The page limit of a job.
    pub pages: Option<u64>,
    /// The time limit of a job.
    pub time: Option<Duration>,
    /// How many links deep to follow from a seed.
    pub depth: Option<u16>,
    /// The share of a budget at which a warning is printed, in percent.
    pub warn_percent: u8,
}

/// When links are left because their site seems to have no end. `docs/reference/discovery.md`
/// explains the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrapPolicy {
    /// Whether links are left at all.
    pub detect: TrapDetection,
    /// Pages of one shape or folder that may be requested in vain: only pages without new text link
    /// to them, and they have no new text either.
    pub vain_max: u32,
    /// The same for all pages of a host.
    pub vain_host_max: u32,
    /// A part of a site that only opens counts as endless if it must have more pages than this.
    pub pages_max: u32,
    /// Links between a page and its seed.
    pub depth_max: u32,
    /// Rows for links of one shape or folder that are left. More are only counted.
    pub rows_max: u32,
    /// Bytes of a URL.
    pub url_bytes_max: u32,
    /// Parts of a path between slashes.
    pub segments_max: u32,
    /// URLs that differ only in a session ID.
    pub sessions_max: u32,
}

crate::word_enum! {
    /// Whether links are left where a site seems to have no end.
    pub enum TrapDetection {
        /// They are left, with the reason.
        On = "on",
        /// Every link is taken.
        Off = "off",
    }
}

impl Default for TrapPolicy {
    /// The values of all presets.
    fn default() -> TrapPolicy {
        TrapPolicy {
            detect: TrapDetection::On,
            vain_max: 64,
            vain_host_max: 500,
            pages_max: 2_000_000,
            depth_max: 4_000,
            rows_max: 1_000,
            url_bytes_max: 2_083,
            segments_max: 32,
            sessions_max: 1,
        }
    }
}

/// Which bodies are accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyPolicy {
    /// The largest body after decoding, in bytes.
    pub decoded_max: u64,
    /// Content types that are read, with wildcards; empty means all.
    pub accept: Vec<String>,
    /// Content types that are refused, checked after `accept`.
    pub reject: Vec<String>,
    /// Whether rows keep the bodies of pages.
    pub keep: bool,
    /// Redirect hops of one URL.
    pub redirects_max: u8,
}

/// Timeouts of each phase of an exchange.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeouts {
    /// DNS and TCP.
    pub connect: Duration,
    /// The TLS handshake.
    pub tls: Duration,
    /// From the request to the first byte of the response.
    pub first_byte: Duration,
    /// The whole exchange.
    pub whole: Duration,
}

/// Fields that a `[host."example.org"]` section may set for one host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostOverride {
    /// The least and largest delay.
    pub delay: Option<(Duration, Duration)>,
    /// Requests in flight.
    pub slots: Option<u8>,
    /// Whether the pace adapts to latency.
    pub adaptive: Option<bool>,
    /// Retries after the first try.
    pub retries: Option<u8>,
    /// Whether links are left where the host seems to have no end.
    pub traps: Option<TrapDetection>,
    /// The only origin to which the credentials below are sent. Default: `https` on its usual port.
    pub origin: Option<String>,
    /// Whether that origin may be unencrypted although it is not on this machine.
    pub plain_http: Option<bool>,
    /// Headers that are sent to that origin, by name.
    pub headers: Option<Vec<(String, Secret)>>,
    /// A login by HTTP Basic.
    pub basic_auth: Option<BasicAuth>,
    /// A cookie.
    pub cookie: Option<Secret>,
}
