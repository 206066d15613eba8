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

/// A limit on something that others choose.
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
    /// A number of bytes.
    Bytes(u64),
    /// A number of things.
    Count(u64),
    /// A span of time.
    Within(Duration),
    /// The value of this field of the policy.
    Field(&'static str),
}

impl Bound {
    /// Returns the bound of this many bytes.
    pub fn bytes(bytes: usize) -> Bound {
        Bound::Bytes(bytes as u64)
    }

    /// Returns the bound of this many things.
    pub fn count(count: usize) -> Bound {
        Bound::Count(count as u64)
    }

    /// Returns the bound as a text. A field has its value in the default preset.
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

crate::word_enum! {
    /// The limits that end an exchange. The words are the labels of the metric.
    #[derive(Default)]
    pub enum Hit {
        /// Look-up, connect and handshake took too long.
        Connect = "connect",
        /// No first byte in time.
        FirstByte = "first_byte",
        /// The exchange took too long.
        Whole = "whole",
        /// The body came too slowly.
        Speed = "speed",
        /// The head of the response was too large.
        Head = "head",
        /// Too many interim responses, or too much before the head.
        Interim = "interim",
        /// Too much besides the body: chunk headers, frames, trailers.
        Around = "around",
        /// The body was too large, before or after decoding.
        #[default]
        Body = "body",
        /// Nested encodings, or compressed data that expands to nothing.
        Coding = "coding",
        /// A proxy's response was too large.
        Proxy = "proxy",
    }
}

impl Hit {
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

/// Makes a list of limits that end no exchange: the name, the bound, what is bounded and the
/// outcome.
#[macro_export]
macro_rules! limit_table {
    ($($name:literal, $bound:expr, $what:literal => $outcome:expr;)+) => {
        vec![$($crate::limits::Limit {
            name: $name,
            what: $what,
            bound: $bound,
            outcome: $outcome,
            hit: None,
        }),+]
    };
}

/// Returns the limits of this crate: URLs, header values, robots.txt, hosts, evidence and policies.
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
