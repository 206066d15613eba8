//! Every field of a policy, once: its key, its meaning, and its allowed values.
//!
//! Files, variables, flags, `policy show`, `policy diff`, the hash and the tables in the documents
//! are all made from this list. A new field of the struct is one entry here and one line in each
//! preset; tests fail until both exist.

use std::time::Duration;

use super::stored::FieldType;
use super::value::{FieldValue, ValueKind};
use super::{
    AgentMatch, CacheMode, Forbidden, Noindex, OnForbidden, Policy, TrapDetection, Unreachable,
};

/// One field of a policy.
#[derive(Debug)]
pub struct Field {
    /// The key in a file, such as `robots.ttl`.
    pub key: &'static str,
    /// The meaning, in one line.
    pub doc: &'static str,
    /// The allowed values.
    pub kind: ValueKind,
    get: fn(&Policy) -> FieldValue,
    set: fn(&mut Policy, &FieldValue) -> bool,
}

impl Field {
    /// Returns the field with this key.
    pub fn find(key: &str) -> Option<&'static Field> {
        FIELDS.iter().find(|field| field.key == key)
    }

    /// Returns the environment variable that sets the field: `CURTSY_ROBOTS_TTL` for `robots.ttl`.
    pub fn variable(&self) -> String {
        match self.key {
            // Every crawl needs this setting, so it has a short name.
            "identity.contact" => "CURTSY_CONTACT".to_owned(),
            key => format!("CURTSY_{}", key.replace('.', "_").to_ascii_uppercase()),
        }
    }

    /// Returns the field's value in a policy.
    pub fn get(&self, policy: &Policy) -> FieldValue {
        (self.get)(policy)
    }

    /// Returns the field's value in a policy, in the spelling of a flag.
    pub fn text(&self, policy: &Policy) -> String {
        self.kind.write_text(&self.get(policy))
    }

    /// Sets the field. Returns whether the value fits the field's type.
    pub(super) fn set(&self, policy: &mut Policy, value: &FieldValue) -> bool {
        (self.set)(policy, value)
    }
}

/// Makes [`FIELDS`]. Each entry has the path of the field in [`Policy`] (or of both ends of a
/// range), the key if it differs from the path, the kind of the values, and the meaning.
macro_rules! fields {
    (@key $key:literal $($path:ident)+) => { $key };
    (@key $first:ident $($rest:ident)*) => {
        concat!(stringify!($first) $(, ".", stringify!($rest))*)
    };
    (@get $policy:ident [$($path:ident).+]) => { $policy.$($path).+.value() };
    (@get $policy:ident [$($low:ident).+] [$($high:ident).+]) => {
        ($policy.$($low).+, $policy.$($high).+).value()
    };
    (@set $policy:ident $new:ident [$($path:ident).+]) => { $policy.$($path).+ = $new };
    (@set $policy:ident $new:ident [$($low:ident).+] [$($high:ident).+]) => {
        ($policy.$($low).+, $policy.$($high).+) = $new
    };
    ($($($path:ident).+ $(..$($high:ident).+)? $(as $key:literal)?: $kind:expr, $doc:literal;)+) => {
        /// All fields, in the order of a written policy: the fields of a section are together.
        pub static FIELDS: &[Field] = &[$(Field {
            key: fields!(@key $($key)? $($path)+),
            doc: $doc,
            kind: $kind,
            get: |policy| fields!(@get policy [$($path).+] $([$($high).+])?),
            set: |policy, value| {
                let new = FieldType::of(value);
                new.map(|new| fields!(@set policy new [$($path).+] $([$($high).+])?)).is_some()
            },
        }),+];
    };
}

fields! {
    patience: span_or("forever", ZERO, YEAR),
        "How long a crawl without progress waits for hosts before it ends and says when to resume.";
    identity.product: ValueKind::Product,
        "The `product/version` of the user agent. robots.txt groups are matched by the product.";
    identity.contact: ValueKind::Contact,
        "How a site owner reaches a person. Required, except for crawls of this machine.";
    robots.ttl: span(SECOND, DAY),
        "How long a fetched robots.txt applies. It is not fetched again before that.";
    robots.deny_ttl: span(SECOND, DAY),
        "How long to wait before the next try after robots.txt could not be fetched.";
    robots.unreachable: ValueKind::Word(Unreachable::WORDS),
        "What to do while robots.txt is unreachable (5xx, 429, timeout, DNS, TLS, truncated).";
    robots.forbidden: ValueKind::Word(Forbidden::WORDS),
        "What 401 and 403 on robots.txt mean. RFC 9309 says `allow`.";
    robots.agent_match: ValueKind::Word(AgentMatch::WORDS),
        "How robots.txt groups are matched with our product; `loose` accepts partial names.";
    robots.keep: span(HOUR, YEAR),
        "How long a last good copy counts while robots.txt is unreachable; then as a 404.";
    robots.chain_deadline: span(SECOND, Duration::from_secs(600)),
        "Time limit for a chain of robots.txt redirects.";
    pace.delay_min..pace.delay_max as "pace.delay": ValueKind::Range { max: DAY },
        "Least time between two request starts on a host; below 200ms only on your own.";
    pace.adaptive: ValueKind::Switch,
        "Whether the delay grows in proportion when a host responds more slowly than usual.";
    pace.adaptive_max: span(ZERO, DAY),
        "Upper limit of the adaptive delay.";
    pace.crawl_delay_park: span(SECOND, MONTH),
        "A host with a longer Crawl-delay is parked. A Crawl-delay is never shortened.";
    slots.per_host: count(1, 64),
        "Maximum requests in flight to one host.";
    slots.wait: span_or("none", Duration::from_millis(100), HOUR),
        "How long a URL waits for a free slot of its host before `slot_timeout` is recorded.";
    slots.per_address: count_or(1, 65_535),
        "Maximum requests in flight to one IP address.";
    slots.total_connections: count(1, 1_000_000),
        "Maximum connections of the whole process.";
    slots.body_memory: ValueKind::Size { min: 1 << 20, max: 1 << 40 },
        "Maximum memory for bodies. When it is used up, reading waits.";
    backoff.forbidden: ValueKind::Word(OnForbidden::WORDS),
        "Effect of a 403: the whole host backs off as after a 429, or only that URL fails for good.";
    backoff.curve.base: span(WAIT_MIN, DAY),
        "Least wait of a host after its first 429. A longer Retry-After wins.";
    backoff.curve.growth: ValueKind::Growth,
        "How the wait grows with each further 429 in a row.";
    backoff.curve.cap: span(WAIT_MIN, MONTH),
        "Upper limit of the wait, jitter included. A Retry-After is never cut.";
    backoff.curve.jitter_percent as "backoff.curve.jitter": ValueKind::Jitter,
        "Random share that is added to the wait. It never shortens the wait.";
    retry.max: count(0, 20),
        "Maximum retries of one URL after its first try.";
    retry.curve.base: span(WAIT_MIN, DAY),
        "Wait before the first retry of a URL.";
    retry.curve.growth: ValueKind::Growth,
        "How the wait grows with each further retry.";
    retry.curve.cap: span(WAIT_MIN, MONTH),
        "Upper limit of the wait before a retry, jitter included.";
    retry.curve.jitter_percent as "retry.curve.jitter": ValueKind::Jitter,
        "Random share that is added to the wait. It never shortens the wait.";
    breaker.failures: count(1, 100),
        "Site-wide failures in a row after which a host counts as down.";
    breaker.curve.base: span(WAIT_MIN, DAY),
        "Wait before the first probe of a host that is down.";
    breaker.curve.growth: ValueKind::Growth,
        "How the wait grows with each failed probe.";
    breaker.curve.cap: span(WAIT_MIN, MONTH),
        "Upper limit of the wait between probes, jitter included.";
    breaker.curve.jitter_percent as "breaker.curve.jitter": ValueKind::Jitter,
        "Random share that is added to the wait. It never shortens the wait.";
    risk.active: ValueKind::Switch,
        "Whether a host's risk score affects the crawl. The score is recorded in every preset.";
    risk.early_stop: count(1, 100),
        "Friction signals in a row after which an automated run stops early.";
    risk.daily_percent: count(1, 100),
        "Share of the risk score that remains after a day, in percent.";
    risk.delay: ValueKind::ThreeSpans { max: HOUR },
        "Delays at low, medium and high risk. Critical risk stops automated modes.";
    cache.mode: ValueKind::Word(CacheMode::WORDS),
        "What decides freshness: nothing, Cache-Control (`http`), validators, or `cache.ttl` alone.";
    cache.ttl: span(ZERO, YEAR),
        "How long a page stays fresh if it does not say so itself.";
    cache.stale_while_revalidate: ValueKind::Switch,
        "Whether a stale page may be used while it is fetched again.";
    cache.noindex: ValueKind::Word(Noindex::WORDS),
        "Pages marked `noindex` are kept and marked, kept without their body, or not used.";
    budget.pages: count_or(1, 1_000_000_000_000),
        "Page limit of one run.";
    budget.time: span_or("none", SECOND, YEAR),
        "Time limit of one run.";
    budget.depth: count_or(0, 65_535),
        "How many links deep to follow from a seed.";
    budget.warn_percent: count(1, 100),
        "Share of a budget at which a warning is printed, in percent.";
    traps.detect: ValueKind::Word(TrapDetection::WORDS),
        "Whether links are left where a site seems to have no end. `--no-traps` sets it to `off`.";
    traps.vain_max: count(1, 1_000_000),
        "Pages of one shape or folder that may be requested in vain before the rest is left.";
    traps.vain_host_max: count(1, 1_000_000),
        "The same for all pages of a host.";
    traps.pages_max: count(1_000, 4_000_000_000),
        "A part of a site that only opens is left if it must have more pages than this.";
    traps.depth_max: count(1, 65_535),
        "Links from a seed after which a link counts as one of an endless chain.";
    traps.rows_max: count(0, 1_000_000),
        "Rows for links of one shape or folder that are left. More are only counted.";
    traps.url_bytes_max: count(100, 65_535),
        "Longest URL in bytes. A longer link is left.";
    traps.segments_max: count(1, 65_535),
        "Most parts of a path between slashes.";
    traps.sessions_max: count(1, 1_000_000),
        "URLs that may differ only in a session ID.";
    body.decoded_max: ValueKind::Size { min: 1 << 10, max: 1 << 32 },
        "Largest body after decompression. A larger one is discarded and recorded as an error.";
    body.accept: ValueKind::MediaTypes,
        "Content types to read. An empty list means all.";
    body.reject: ValueKind::MediaTypes,
        "Content types to refuse. Checked after `body.accept`.";
    body.keep: ValueKind::Switch,
        "Whether rows keep page bodies. Links and titles are read either way.";
    body.redirects_max: count(0, 20),
        "Maximum redirects of one URL.";
    timeout.connect: span(TIMEOUT_MIN, HOUR),
        "Timeout for name lookup and TCP connect.";
    timeout.tls: span(TIMEOUT_MIN, HOUR),
        "Timeout for the TLS handshake.";
    timeout.first_byte: span(TIMEOUT_MIN, HOUR),
        "Timeout from the request to the first byte of the response.";
    timeout.whole: span(TIMEOUT_MIN, HOUR),
        "Timeout for the whole exchange.";
}

const fn span(min: Duration, max: Duration) -> ValueKind {
    ValueKind::Span { min, max, absent: None }
}

const fn span_or(absent: &'static str, min: Duration, max: Duration) -> ValueKind {
    ValueKind::Span { min, max, absent: Some(absent) }
}

const fn count(min: u64, max: u64) -> ValueKind {
    ValueKind::Count { min, max, absent: None }
}

const fn count_or(min: u64, max: u64) -> ValueKind {
    ValueKind::Count { min, max, absent: Some("none") }
}

const ZERO: Duration = Duration::ZERO;
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);
/// RFC 9309 §2.4 lets a robots.txt be used for at most this long without a new request.
const DAY: Duration = Duration::from_secs(86_400);
const MONTH: Duration = Duration::from_secs(30 * 86_400);
const YEAR: Duration = Duration::from_secs(365 * 86_400);
const WAIT_MIN: Duration = Duration::from_millis(100);
const TIMEOUT_MIN: Duration = Duration::from_millis(100);
