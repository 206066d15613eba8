//! The limits of curtsy: what has a bound, and how large it is.
//!
//! Each crate lists its own limits from its constants (`limits()`). `docs/reference/limits.md` says
//! in words what each one bounds and what happens when it is reached; a test of the program writes
//! the values into that table and compares its rows with these lists. Reaching a limit is an
//! outcome, not an error.

use std::time::Duration;

use crate::host::{AUTHORITIES_MAX, Problem};
use crate::policy::{FILE_BYTES_MAX, Field, Policy, Preset, write_size, write_span};
use crate::robots::{CRAWL_DELAY_MAX, LINE_BYTES_MAX, ROBOTS_BYTES_MAX};
use crate::url::{CrawlUrl, HostKey};
use crate::{evidence, headers};

/// A bound on something that others choose.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Its name: the part that has the limit, a dot, and what is bounded.
    pub name: &'static str,
    /// The bound.
    pub bound: Bound,
    /// What it is counted as, if the hit is an exchange's end.
    pub hit: Option<Hit>,
}

impl Limit {
    /// A limit of so many bytes.
    pub fn bytes(name: &'static str, bytes: impl TryInto<u64>) -> Limit {
        Limit { name, bound: Bound::Bytes(whole(bytes)), hit: None }
    }

    /// A limit of so many of something.
    pub fn count(name: &'static str, count: impl TryInto<u64>) -> Limit {
        Limit { name, bound: Bound::Count(whole(count)), hit: None }
    }

    /// A limit on time.
    pub fn within(name: &'static str, span: Duration) -> Limit {
        Limit { name, bound: Bound::Within(span), hit: None }
    }

    /// A limit that a field of the policy sets.
    pub fn field(name: &'static str, key: &'static str) -> Limit {
        Limit { name, bound: Bound::Field(key), hit: None }
    }

    /// The same limit, counted as `hit` when it ends an exchange.
    pub fn hit(self, hit: Hit) -> Limit {
        Limit { hit: Some(hit), ..self }
    }
}

fn whole(number: impl TryInto<u64>) -> u64 {
    number.try_into().ok().expect("a bound is not negative")
}

/// How much is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// So many bytes.
    Bytes(u64),
    /// So many of them.
    Count(u64),
    /// So long.
    Within(Duration),
    /// What this field of the policy says.
    Field(&'static str),
}

impl Bound {
    /// The bound in words; a field with its value in the default preset.
    pub fn text(self) -> String {
        match self {
            Bound::Bytes(bytes) => write_size(bytes),
            Bound::Count(count) => grouped(count),
            Bound::Within(span) => write_span(span),
            Bound::Field(key) => {
                let careful = Policy::preset(Preset::Careful);
                let value = Field::find(key).map(|field| field.text(&careful)).unwrap_or_default();
                format!("`{key}`, {value}")
            }
        }
    }
}

/// What a limit that ends an exchange is counted as: the label of the metric, and there are no others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Hit {
    /// Looking up, connecting and shaking hands took too long.
    Connect,
    /// No first byte in time.
    FirstByte,
    /// The exchange took too long.
    Whole,
    /// It came too slowly.
    Speed,
    /// The head of the answer was too large.
    Head,
    /// Too many interim answers, or too much before the head.
    Interim,
    /// Too much around the body: chunk headers, frames, trailers.
    Around,
    /// The body was too large, before or after decoding.
    #[default]
    Body,
    /// Its packing was: codings in each other, or much that unpacks to nothing.
    Coding,
    /// A proxy's answer was too large.
    Proxy,
}

impl Hit {
    /// All of them.
    pub const ALL: [Hit; 10] = [
        Hit::Connect,
        Hit::FirstByte,
        Hit::Whole,
        Hit::Speed,
        Hit::Head,
        Hit::Interim,
        Hit::Around,
        Hit::Body,
        Hit::Coding,
        Hit::Proxy,
    ];

    /// The label.
    pub const fn name(self) -> &'static str {
        match self {
            Hit::Connect => "connect",
            Hit::FirstByte => "first_byte",
            Hit::Whole => "whole",
            Hit::Speed => "speed",
            Hit::Head => "head",
            Hit::Interim => "interim",
            Hit::Around => "around",
            Hit::Body => "body",
            Hit::Coding => "coding",
            Hit::Proxy => "proxy",
        }
    }

    /// Returns the limit that a problem is about, if it is about one.
    pub const fn of(problem: Problem) -> Option<Hit> {
        match problem {
            Problem::ConnectTimeout => Some(Hit::Connect),
            Problem::FirstByteTimeout => Some(Hit::FirstByte),
            Problem::WholeTimeout => Some(Hit::Whole),
            Problem::TooSlow => Some(Hit::Speed),
            Problem::OverLimit(hit) => Some(hit),
            _ => None,
        }
    }
}

/// The limits of this crate: URLs, header values, robots.txt, hosts, evidence and policies.
pub fn limits() -> Vec<Limit> {
    vec![
        Limit::bytes("url.bytes", CrawlUrl::BYTES_MAX),
        Limit::bytes("url.text_bytes", CrawlUrl::TEXT_BYTES_MAX),
        Limit::bytes("url.host_bytes", HostKey::NAME_BYTES_MAX),
        Limit::bytes("url.label_bytes", HostKey::LABEL_BYTES_MAX),
        Limit::count("headers.retry_after_lines", headers::RETRY_AFTER_LINES_MAX),
        Limit::count("headers.cache_directives", headers::CACHE_DIRECTIVES_MAX),
        Limit::count("headers.robots_rules", headers::ROBOTS_RULES_MAX),
        Limit::bytes("robots.bytes", ROBOTS_BYTES_MAX),
        Limit::bytes("robots.line_bytes", LINE_BYTES_MAX),
        Limit::within("robots.crawl_delay", CRAWL_DELAY_MAX),
        Limit::count("robots.rule_chars", evidence::robots::RULE_CHARS_MAX),
        Limit::count("host.authorities", AUTHORITIES_MAX),
        Limit::count("evidence.friction_signals", evidence::FRICTION_SIGNALS_MAX),
        Limit::bytes("policy.file_bytes", FILE_BYTES_MAX),
        Limit::field("budget.pages", "budget.pages"),
        Limit::field("budget.time", "budget.time"),
        Limit::field("budget.depth", "budget.depth"),
        Limit::field("retry.tries", "retry.max"),
        Limit::field("redirects.hops", "body.redirects_max"),
    ]
}

fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
