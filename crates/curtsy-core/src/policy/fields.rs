//! Every field of a policy, once: its key, its meaning, and its allowed values.
//!
//! Files, variables, flags, `policy show`, `policy diff`, the hash and the tables in the documents
//! are all made from this list. A new field of the struct is one entry here and one line in each
//! preset; tests fail until both exist.

use std::time::Duration;

use super::stored::Stored;
use super::value::{Kind, Value};
use super::{AgentMatch, CacheMode, Forbidden, Noindex, OnForbidden, Policy, Unreachable};

/// One field of a policy.
#[derive(Debug)]
pub struct Field {
    /// Its key in a file, such as `robots.ttl`.
    pub key: &'static str,
    /// What it is for, in one line.
    pub doc: &'static str,
    /// Which values are allowed.
    pub kind: Kind,
    get: fn(&Policy) -> Value,
    set: fn(&mut Policy, &Value) -> bool,
}

impl Field {
    /// The field with this key.
    pub fn find(key: &str) -> Option<&'static Field> {
        FIELDS.iter().find(|field| field.key == key)
    }

    /// The variable that sets it: `CURTSY_ROBOTS_TTL` for `robots.ttl`.
    pub fn variable(&self) -> String {
        match self.key {
            // The one setting that everybody needs has the name that everybody guesses.
            "identity.contact" => "CURTSY_CONTACT".to_owned(),
            key => format!("CURTSY_{}", key.replace('.', "_").to_ascii_uppercase()),
        }
    }

    /// The field's value in a policy.
    pub fn get(&self, policy: &Policy) -> Value {
        (self.get)(policy)
    }

    /// The field's value in a policy, as a flag would say it.
    pub fn text(&self, policy: &Policy) -> String {
        self.kind.write_text(&self.get(policy))
    }

    /// Sets the field, and answers whether the value fitted it.
    pub(super) fn set(&self, policy: &mut Policy, value: &Value) -> bool {
        (self.set)(policy, value)
    }
}

macro_rules! field {
    ($key:literal, $($path:ident).+, $kind:expr, $doc:literal) => {
        Field {
            key: $key,
            doc: $doc,
            kind: $kind,
            get: |policy| policy.$($path).+.value(),
            set: |policy, value| policy.$($path).+.store(value),
        }
    };
}

/// All fields, in the order of a written policy: a section's fields stand together.
pub static FIELDS: &[Field] = &[
    field!(
        "patience",
        patience,
        span_or("forever", ZERO, YEAR),
        "How long a crawl without progress waits for hosts before it ends and says when to resume."
    ),
    field!(
        "identity.product",
        identity.product,
        Kind::Product,
        "The `product/version` of the user agent. robots.txt groups are matched by the product."
    ),
    field!(
        "identity.contact",
        identity.contact,
        Kind::Contact,
        "How a site owner reaches a person. Required, except for crawls of this machine."
    ),
    field!(
        "robots.ttl",
        robots.ttl,
        span(SECOND, DAY),
        "How long a fetched robots.txt applies. It is not fetched again before that."
    ),
    field!(
        "robots.deny_ttl",
        robots.deny_ttl,
        span(SECOND, DAY),
        "How long to wait before the next try after robots.txt could not be fetched."
    ),
    field!(
        "robots.unreachable",
        robots.unreachable,
        Kind::Word(Unreachable::WORDS),
        "What to do while robots.txt is unreachable (5xx, 429, timeout, DNS, TLS, truncated)."
    ),
    field!(
        "robots.forbidden",
        robots.forbidden,
        Kind::Word(Forbidden::WORDS),
        "What 401 and 403 on robots.txt mean. RFC 9309 says `allow`."
    ),
    field!(
        "robots.agent_match",
        robots.agent_match,
        Kind::Word(AgentMatch::WORDS),
        "How robots.txt groups are matched with our product; `loose` accepts partial names."
    ),
    field!(
        "robots.keep",
        robots.keep,
        span(HOUR, YEAR),
        "How long a last good copy counts while robots.txt is unreachable; then as a 404."
    ),
    field!(
        "robots.chain_deadline",
        robots.chain_deadline,
        span(SECOND, Duration::from_secs(600)),
        "Time limit for a chain of robots.txt redirects."
    ),
    Field {
        key: "pace.delay",
        doc: "Least time between two request starts on a host; below 200ms only on your own.",
        kind: Kind::Range { max: DAY },
        get: |policy| Value::Range(policy.pace.delay_min, policy.pace.delay_max),
        set: |policy, value| {
            let Value::Range(low, high) = value else {
                return false;
            };
            (policy.pace.delay_min, policy.pace.delay_max) = (*low, *high);
            true
        },
    },
    field!(
        "pace.adaptive",
        pace.adaptive,
        Kind::Switch,
        "Whether the delay grows in proportion when a host responds more slowly than usual."
    ),
    field!(
        "pace.adaptive_max",
        pace.adaptive_max,
        span(ZERO, DAY),
        "Upper limit of the adaptive delay."
    ),
    field!(
        "pace.crawl_delay_park",
        pace.crawl_delay_park,
        span(SECOND, MONTH),
        "A host with a longer Crawl-delay is parked. A Crawl-delay is never shortened."
    ),
    field!(
        "slots.per_host",
        slots.per_host,
        count(1, 64),
        "Maximum requests in flight to one host."
    ),
    field!(
        "slots.wait",
        slots.wait,
        span_or("none", Duration::from_millis(100), HOUR),
        "How long a URL waits for a free slot of its host before `slot_timeout` is recorded."
    ),
    field!(
        "slots.per_address",
        slots.per_address,
        count_or(1, 65_535),
        "Maximum requests in flight to one IP address."
    ),
    field!(
        "slots.total_connections",
        slots.total_connections,
        count(1, 1_000_000),
        "Maximum connections of the whole process."
    ),
    field!(
        "slots.body_memory",
        slots.body_memory,
        Kind::Size { min: 1 << 20, max: 1 << 40 },
        "Maximum memory for bodies. When it is used up, reading waits."
    ),
    field!(
        "backoff.forbidden",
        backoff.forbidden,
        Kind::Word(OnForbidden::WORDS),
        "Effect of a 403: the whole host backs off as after a 429, or only that URL fails for good."
    ),
    field!(
        "backoff.curve.base",
        backoff.curve.base,
        span(WAIT_MIN, DAY),
        "Least wait of a host after its first 429. A longer Retry-After wins."
    ),
    field!(
        "backoff.curve.growth",
        backoff.curve.growth,
        Kind::Growth,
        "How the wait grows with each further 429 in a row."
    ),
    field!(
        "backoff.curve.cap",
        backoff.curve.cap,
        span(WAIT_MIN, MONTH),
        "Upper limit of the wait, jitter included. A Retry-After is never cut."
    ),
    field!(
        "backoff.curve.jitter",
        backoff.curve.jitter_percent,
        Kind::Jitter,
        "Random share that is added to the wait. It never shortens the wait."
    ),
    field!("retry.max", retry.max, count(0, 20), "Maximum retries of one URL after its first try."),
    field!(
        "retry.curve.base",
        retry.curve.base,
        span(WAIT_MIN, DAY),
        "Wait before the first retry of a URL."
    ),
    field!(
        "retry.curve.growth",
        retry.curve.growth,
        Kind::Growth,
        "How the wait grows with each further retry."
    ),
    field!(
        "retry.curve.cap",
        retry.curve.cap,
        span(WAIT_MIN, MONTH),
        "Upper limit of the wait before a retry, jitter included."
    ),
    field!(
        "retry.curve.jitter",
        retry.curve.jitter_percent,
        Kind::Jitter,
        "Random share that is added to the wait. It never shortens the wait."
    ),
    field!(
        "breaker.failures",
        breaker.failures,
        count(1, 100),
        "Site-wide failures in a row after which a host counts as down."
    ),
    field!(
        "breaker.curve.base",
        breaker.curve.base,
        span(WAIT_MIN, DAY),
        "Wait before the first probe of a host that is down."
    ),
    field!(
        "breaker.curve.growth",
        breaker.curve.growth,
        Kind::Growth,
        "How the wait grows with each failed probe."
    ),
    field!(
        "breaker.curve.cap",
        breaker.curve.cap,
        span(WAIT_MIN, MONTH),
        "Upper limit of the wait between probes, jitter included."
    ),
    field!(
        "breaker.curve.jitter",
        breaker.curve.jitter_percent,
        Kind::Jitter,
        "Random share that is added to the wait. It never shortens the wait."
    ),
    field!(
        "risk.active",
        risk.active,
        Kind::Switch,
        "Whether a host's risk score affects the crawl. The score is recorded in every preset."
    ),
    field!(
        "risk.early_stop",
        risk.early_stop,
        count(1, 100),
        "Friction signals in a row after which an automated run stops early."
    ),
    field!(
        "risk.daily_percent",
        risk.daily_percent,
        count(1, 100),
        "Share of the risk score that remains after a day, in percent."
    ),
    field!(
        "risk.delay",
        risk.delay,
        Kind::ThreeSpans { max: HOUR },
        "Delays at low, medium and high risk. Critical risk stops automated modes."
    ),
    field!(
        "cache.mode",
        cache.mode,
        Kind::Word(CacheMode::WORDS),
        "What decides freshness: nothing, Cache-Control (`http`), validators, or `cache.ttl` alone."
    ),
    field!(
        "cache.ttl",
        cache.ttl,
        span(ZERO, YEAR),
        "How long a page stays fresh if it does not say so itself."
    ),
    field!(
        "cache.stale_while_revalidate",
        cache.stale_while_revalidate,
        Kind::Switch,
        "Whether a stale page may be used while it is fetched again."
    ),
    field!(
        "cache.noindex",
        cache.noindex,
        Kind::Word(Noindex::WORDS),
        "Pages marked `noindex` are kept and marked, kept without their body, or not used."
    ),
    field!("budget.pages", budget.pages, count_or(1, 1_000_000_000_000), "Page limit of one run."),
    field!("budget.time", budget.time, span_or("none", SECOND, YEAR), "Time limit of one run."),
    field!(
        "budget.depth",
        budget.depth,
        count_or(0, 65_535),
        "How many links deep to follow from a seed."
    ),
    field!(
        "budget.warn_percent",
        budget.warn_percent,
        count(1, 100),
        "Share of a budget at which a warning is printed, in percent."
    ),
    field!(
        "body.decoded_max",
        body.decoded_max,
        Kind::Size { min: 1 << 10, max: 1 << 32 },
        "Largest body after decompression. A larger one is discarded and recorded as an error."
    ),
    field!(
        "body.accept",
        body.accept,
        Kind::MediaTypes,
        "Content types to read. An empty list means all."
    ),
    field!(
        "body.reject",
        body.reject,
        Kind::MediaTypes,
        "Content types to refuse. Checked after `body.accept`."
    ),
    field!(
        "body.keep",
        body.keep,
        Kind::Switch,
        "Whether rows keep page bodies. Links and titles are read either way."
    ),
    field!("body.redirects_max", body.redirects_max, count(0, 20), "Maximum redirects of one URL."),
    field!(
        "timeout.connect",
        timeout.connect,
        span(TIMEOUT_MIN, HOUR),
        "Timeout for name lookup and TCP connect."
    ),
    field!("timeout.tls", timeout.tls, span(TIMEOUT_MIN, HOUR), "Timeout for the TLS handshake."),
    field!(
        "timeout.first_byte",
        timeout.first_byte,
        span(TIMEOUT_MIN, HOUR),
        "Timeout from the request to the first byte of the response."
    ),
    field!(
        "timeout.whole",
        timeout.whole,
        span(TIMEOUT_MIN, HOUR),
        "Timeout for the whole exchange."
    ),
];

const fn span(min: Duration, max: Duration) -> Kind {
    Kind::Span { min, max, absent: None }
}

const fn span_or(absent: &'static str, min: Duration, max: Duration) -> Kind {
    Kind::Span { min, max, absent: Some(absent) }
}

const fn count(min: u64, max: u64) -> Kind {
    Kind::Count { min, max, absent: None }
}

const fn count_or(min: u64, max: u64) -> Kind {
    Kind::Count { min, max, absent: Some("none") }
}

const ZERO: Duration = Duration::ZERO;
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);
/// Also the longest that RFC 9309 §2.4 lets a robots.txt be used without asking again.
const DAY: Duration = Duration::from_secs(86_400);
const MONTH: Duration = Duration::from_secs(30 * 86_400);
const YEAR: Duration = Duration::from_secs(365 * 86_400);
const WAIT_MIN: Duration = Duration::from_millis(100);
const TIMEOUT_MIN: Duration = Duration::from_millis(100);
