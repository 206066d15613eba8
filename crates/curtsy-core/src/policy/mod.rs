//! What we promise before we know a site: one struct, five presets.
//!
//! A `Policy` is plain data, checked when it is parsed and never changed afterwards. What a site tells us (a crawl delay, a
//! Retry-After) lives in the host's state, not here. Robots.txt, the guard on addresses, Retry-After and the identity can't be
//! switched off by any field.
//!
//! The plain data stands here. [`FIELDS`] names every field once; files ([`Policy::parse`]), variables and flags ([`Layers`]), the written
//! form and the documents are made from that list.

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

/// Everything that can be chosen about a crawl's manners.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The preset that this policy starts from.
    pub preset: Preset,
    /// How thorough a survey is; only the survey preset has modes.
    pub mode: Option<Mode>,
    /// Who we say we are.
    pub identity: Identity,
    /// How robots.txt is read.
    pub robots: RobotsPolicy,
    /// How fast one host is asked.
    pub pace: Pace,
    /// How many requests run at once.
    pub slots: Slots,
    /// What follows a 429 without a Retry-After.
    pub backoff: Backoff,
    /// What follows a failed fetch of one URL.
    pub retry: Retry,
    /// When a host counts as down, and how often it is probed then.
    pub breaker: Breaker,
    /// Friction and risk scores.
    pub risk: Risk,
    /// How long a fetched page stays good.
    pub cache: CachePolicy,
    /// When a job ends by itself.
    pub budget: Budget,
    /// What is accepted of an answer.
    pub body: BodyPolicy,
    /// How long each phase of an exchange may take.
    pub timeout: Timeouts,
    /// How long a crawl waits for hosts that must wait: `None` is for ever.
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

/// Who we say we are, in every request.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// `product/version`; its product token is what robots.txt is matched with.
    pub product: String,
    /// A mail address or page where a site owner reaches a person. No contact, no crawl (loopback excepted).
    pub contact: Option<String>,
}

/// How robots.txt is read.
#[derive(Clone, Debug, PartialEq)]
pub struct RobotsPolicy {
    /// How long a robots.txt that was served stays in force; it is asked for again then and never before.
    pub ttl: Duration,
    /// How long to wait after a robots.txt that could not be had.
    pub deny_ttl: Duration,
    /// What an unreachable robots.txt means (5xx, 429, time-out, DNS, TLS, truncated).
    pub unreachable: Unreachable,
    /// What 401 and 403 on robots.txt mean.
    pub forbidden: Forbidden,
    /// How a group's agent is compared with our product token.
    pub agent_match: AgentMatch,
    /// How long a last good copy is obeyed while robots.txt is unreachable; after that it counts as a 404.
    pub keep: Duration,
    /// The time that a chain of robots redirects may take.
    pub chain_deadline: Duration,
}

crate::word_enum! {
    /// What an unreachable robots.txt means.
    pub enum Unreachable {
        /// Nothing may be fetched.
        Deny = "deny",
        /// Everything may be fetched, with a low-confidence finding and a warning.
        Allow = "allow",
    }
}

crate::word_enum! {
    /// What 401 and 403 on robots.txt mean.
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

/// How fast one host is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// The least span between two starts on a host.
    pub delay_min: Duration,
    /// The upper end of a random delay; equal to `delay_min` if the delay is fixed.
    pub delay_max: Duration,
    /// Whether slower answers than usual lengthen the delay in proportion.
    pub adaptive: bool,
    /// What an adaptive delay never exceeds by itself.
    pub adaptive_max: Duration,
    /// A Crawl-delay above this parks the host, with a finding and an estimate; it is never shortened.
    pub crawl_delay_park: Duration,
}

/// How many requests run at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Slots {
    /// Requests in flight on one host.
    pub per_host: u8,
    /// How long a URL waits for a slot before `slot_timeout` is recorded; `None` never records it.
    pub wait: Option<Duration>,
    /// Requests in flight on one address; `None` is no cap.
    pub per_address: Option<u16>,
    /// Connections of the whole process.
    pub total_connections: u32,
    /// Bytes of bodies in memory at once; reading waits when they are used up.
    pub body_memory: u64,
}

/// How a wait that we invent grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// The first wait.
    pub base: Duration,
    /// How each wait follows from the one before.
    pub growth: Growth,
    /// What the wait never exceeds, jitter included.
    pub cap: Duration,
    /// The least and largest part of the wait that chance adds, in percent. Jitter only ever lengthens.
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

/// What follows a refusal.
#[derive(Clone, Debug, PartialEq)]
pub struct Backoff {
    /// The waits after consecutive 429 answers without a Retry-After.
    pub curve: Curve,
    /// What a 403 means.
    pub forbidden: OnForbidden,
}

crate::word_enum! {
    /// What a 403 means.
    pub enum OnForbidden {
        /// The host backs off as after a 429; that URL is not retried.
        BackOff = "back-off",
        /// A permanent failure of that URL, nothing more.
        Permanent = "permanent",
    }
}

/// What follows a failed fetch of one URL.
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
    /// Whether the score decides anything (it is kept in every preset).
    pub active: bool,
    /// Friction signals in a row that stop an automated run early.
    pub early_stop: u8,
    /// How much of the score a day leaves, in percent.
    pub daily_percent: u8,
    /// The delays at low, medium and high risk; critical stops automated modes.
    pub delay: [Duration; 3],
}

/// How long a fetched page stays good.
#[derive(Clone, Debug, PartialEq)]
pub struct CachePolicy {
    /// What decides freshness.
    pub mode: CacheMode,
    /// The freshness of a page that says nothing.
    pub ttl: Duration,
    /// Whether a stale page may be used while it is asked for again.
    pub stale_while_revalidate: bool,
    /// What becomes of pages marked `noindex`.
    pub noindex: Noindex,
}

crate::word_enum! {
    /// What decides freshness.
    pub enum CacheMode {
        /// Nothing is kept for a later crawl.
        Off = "off",
        /// Cache-Control, else the ttl.
        Http = "http",
        /// Validators are sent; freshness is the sitemap's word.
        Validators = "validators",
        /// The ttl, whatever the page says.
        Fixed = "fixed",
    }
}

crate::word_enum! {
    /// What becomes of pages marked `noindex`.
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
    /// Pages of a job.
    pub pages: Option<u64>,
    /// Time of a job.
    pub time: Option<Duration>,
    /// Links followed from a seed.
    pub depth: Option<u16>,
    /// The part of a budget at which a warning is given, in percent.
    pub warn_percent: u8,
}

/// What is accepted of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyPolicy {
    /// Bytes of a body after decoding.
    pub decoded_max: u64,
    /// Content types that are read, with wildcards; empty is all.
    pub accept: Vec<String>,
    /// Content types that are refused, checked after `accept`.
    pub reject: Vec<String>,
    /// Whether rows keep the bodies of pages.
    pub keep: bool,
    /// Redirect hops of one URL.
    pub redirects_max: u8,
}

/// How long each phase of an exchange may take.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeouts {
    /// DNS and TCP.
    pub connect: Duration,
    /// The TLS handshake.
    pub tls: Duration,
    /// From the request to the first byte of the answer.
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
    /// The one origin to which the credentials below are sent; `https` on its usual port if there is none.
    pub origin: Option<String>,
    /// Whether that may be an origin without encryption, although it is not on this machine.
    pub plain_http: Option<bool>,
    /// Headers that are sent there, by name.
    pub headers: Option<Vec<(String, Secret)>>,
    /// A login by HTTP Basic.
    pub basic_auth: Option<BasicAuth>,
    /// A cookie.
    pub cookie: Option<Secret>,
}
