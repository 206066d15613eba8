//! Every field of a policy, once: its key, what it is for, and what would do.
//!
//! Files, variables, flags, `policy show`, `policy diff`, the hash and the tables in the documents are all made from this list. A
//! new field of the struct is one entry here and one line in each preset; tests fail until both stand.

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
    /// Which values would do.
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
        "How long a crawl waits for hosts that must wait before it ends and says when to resume."
    ),
    field!(
        "identity.product",
        identity.product,
        Kind::Product,
        "The `product/version` of the user agent; robots.txt is matched with the product."
    ),
    field!(
        "identity.contact",
        identity.contact,
        Kind::Contact,
        "Where a site owner reaches a person. No contact, no crawl (loopback excepted)."
    ),
    field!(
        "robots.ttl",
        robots.ttl,
        span(SECOND, DAY),
        "How long a robots.txt that was served stays in force; it is not asked for again before."
    ),
    field!(
        "robots.deny_ttl",
        robots.deny_ttl,
        span(SECOND, DAY),
        "How long to wait after a robots.txt that could not be had."
    ),
    field!(
        "robots.unreachable",
        robots.unreachable,
        Kind::Word(Unreachable::WORDS),
        "What a robots.txt that can't be had means (5xx, 429, time-out, DNS, TLS, truncated)."
    ),
    field!(
        "robots.forbidden",
        robots.forbidden,
        Kind::Word(Forbidden::WORDS),
        "What 401 and 403 on robots.txt mean; `allow` is RFC 9309."
    ),
    field!(
        "robots.agent_match",
        robots.agent_match,
        Kind::Word(AgentMatch::WORDS),
        "How a group's agent is compared with our product: as in RFC 9309, or partially too."
    ),
    field!(
        "robots.keep",
        robots.keep,
        span(HOUR, YEAR),
        "How long a last good copy is obeyed while robots.txt can't be had; then it counts as a 404."
    ),
    field!(
        "robots.chain_deadline",
        robots.chain_deadline,
        span(SECOND, Duration::from_secs(600)),
        "How long a chain of robots.txt redirects may take."
    ),
    Field {
        key: "pace.delay",
        doc: "The span between two starts on a host without a Crawl-delay; a range is random. Below 200ms only for your own hosts.",
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
        "Whether answers slower than the host's usual lengthen the delay in proportion."
    ),
    field!(
        "pace.adaptive_max",
        pace.adaptive_max,
        span(ZERO, DAY),
        "What an adaptive delay never exceeds by itself."
    ),
    field!(
        "pace.crawl_delay_park",
        pace.crawl_delay_park,
        span(SECOND, MONTH),
        "A Crawl-delay above this parks the host, with a finding; it is never shortened."
    ),
    field!("slots.per_host", slots.per_host, count(1, 64), "Requests in flight on one host."),
    field!(
        "slots.wait",
        slots.wait,
        span_or("none", Duration::from_millis(100), HOUR),
        "How long a URL waits for a slot before `slot_timeout` is recorded."
    ),
    field!(
        "slots.per_address",
        slots.per_address,
        count_or(1, 65_535),
        "Requests in flight on one address."
    ),
    field!(
        "slots.total_connections",
        slots.total_connections,
        count(1, 1_000_000),
        "Connections of the whole process."
    ),
    field!(
        "slots.body_memory",
        slots.body_memory,
        Kind::Size { min: 1 << 20, max: 1 << 40 },
        "Bodies in memory at once; when it is used up, reading waits."
    ),
    field!(
        "backoff.forbidden",
        backoff.forbidden,
        Kind::Word(OnForbidden::WORDS),
        "What a 403 does: the host backs off as after a 429, or only that URL fails for good."
    ),
    field!(
        "backoff.curve.base",
        backoff.curve.base,
        span(WAIT_MIN, DAY),
        "The least wait of a host after its first 429; a longer Retry-After is kept."
    ),
    field!(
        "backoff.curve.growth",
        backoff.curve.growth,
        Kind::Growth,
        "How the wait grows with each 429 in a row."
    ),
    field!(
        "backoff.curve.cap",
        backoff.curve.cap,
        span(WAIT_MIN, MONTH),
        "What the wait never exceeds, jitter included. A Retry-After is never capped."
    ),
    field!(
        "backoff.curve.jitter",
        backoff.curve.jitter_percent,
        Kind::Jitter,
        "The part of the wait that chance adds; it only ever lengthens."
    ),
    field!("retry.max", retry.max, count(0, 20), "Retries of one URL after its first try."),
    field!(
        "retry.curve.base",
        retry.curve.base,
        span(WAIT_MIN, DAY),
        "The wait before the first retry of a URL."
    ),
    field!(
        "retry.curve.growth",
        retry.curve.growth,
        Kind::Growth,
        "How the wait grows with each retry."
    ),
    field!(
        "retry.curve.cap",
        retry.curve.cap,
        span(WAIT_MIN, MONTH),
        "What the wait before a retry never exceeds, jitter included."
    ),
    field!(
        "retry.curve.jitter",
        retry.curve.jitter_percent,
        Kind::Jitter,
        "The part of the wait that chance adds; it only ever lengthens."
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
        "The wait before the first probe of a host that is down."
    ),
    field!(
        "breaker.curve.growth",
        breaker.curve.growth,
        Kind::Growth,
        "How the wait grows with each probe that fails."
    ),
    field!(
        "breaker.curve.cap",
        breaker.curve.cap,
        span(WAIT_MIN, MONTH),
        "What the wait between probes never exceeds, jitter included."
    ),
    field!(
        "breaker.curve.jitter",
        breaker.curve.jitter_percent,
        Kind::Jitter,
        "The part of the wait that chance adds; it only ever lengthens."
    ),
    field!(
        "risk.active",
        risk.active,
        Kind::Switch,
        "Whether a host's risk score decides anything; it is kept in every preset."
    ),
    field!(
        "risk.early_stop",
        risk.early_stop,
        count(1, 100),
        "Friction signals in a row that stop an automated run early."
    ),
    field!(
        "risk.daily_percent",
        risk.daily_percent,
        count(1, 100),
        "How much of the score a day leaves, in percent."
    ),
    field!(
        "risk.delay",
        risk.delay,
        Kind::ThreeSpans { max: HOUR },
        "The delays at low, medium and high risk; critical stops automated modes."
    ),
    field!(
        "cache.mode",
        cache.mode,
        Kind::Word(CacheMode::WORDS),
        "What decides how long a page stays fresh: nothing, Cache-Control, validators, or the ttl alone."
    ),
    field!(
        "cache.ttl",
        cache.ttl,
        span(ZERO, YEAR),
        "How long a page stays fresh that says nothing about it."
    ),
    field!(
        "cache.stale_while_revalidate",
        cache.stale_while_revalidate,
        Kind::Switch,
        "Whether a stale page may be used while it is asked for again."
    ),
    field!(
        "cache.noindex",
        cache.noindex,
        Kind::Word(Noindex::WORDS),
        "What becomes of pages marked `noindex`: kept and marked, kept without body, or not used."
    ),
    field!(
        "budget.pages",
        budget.pages,
        count_or(1, 1_000_000_000_000),
        "Pages after which a job ends."
    ),
    field!(
        "budget.time",
        budget.time,
        span_or("none", SECOND, YEAR),
        "Time after which a job ends."
    ),
    field!("budget.depth", budget.depth, count_or(0, 65_535), "Links followed from a seed."),
    field!(
        "budget.warn_percent",
        budget.warn_percent,
        count(1, 100),
        "The part of a budget at which a warning is given, in percent."
    ),
    field!(
        "body.decoded_max",
        body.decoded_max,
        Kind::Size { min: 1 << 10, max: 1 << 32 },
        "The largest body after decoding; a larger one is an error and is discarded."
    ),
    field!(
        "body.accept",
        body.accept,
        Kind::MediaTypes,
        "Content types that are read; none named is all."
    ),
    field!(
        "body.reject",
        body.reject,
        Kind::MediaTypes,
        "Content types that are refused, checked after `body.accept`."
    ),
    field!(
        "body.keep",
        body.keep,
        Kind::Switch,
        "Whether rows keep the bodies of pages; links and titles are read either way."
    ),
    field!("body.redirects_max", body.redirects_max, count(0, 20), "Redirect hops of one URL."),
    field!(
        "timeout.connect",
        timeout.connect,
        span(TIMEOUT_MIN, HOUR),
        "Name lookup and TCP connect."
    ),
    field!("timeout.tls", timeout.tls, span(TIMEOUT_MIN, HOUR), "The TLS handshake."),
    field!(
        "timeout.first_byte",
        timeout.first_byte,
        span(TIMEOUT_MIN, HOUR),
        "From the request to the first byte of the answer."
    ),
    field!("timeout.whole", timeout.whole, span(TIMEOUT_MIN, HOUR), "The whole exchange."),
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
