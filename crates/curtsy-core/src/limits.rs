//! What has a bound, and what comes of it when somebody goes past?
//!
//! Each crate lists its own limits from the constants that it goes by (`limits()`), so that the table of `docs/reference/limits.md`, which is made from
//! these lists, can't say something else than the code does. A limit that is hit is an outcome, never an error.

use std::time::Duration;

use crate::host::{AUTHORITIES_MAX, Problem};
use crate::policy::{FILE_BYTES_MAX, Field, Policy, Preset, write_size, write_span};
use crate::robots::{CRAWL_DELAY_MAX, LINE_BYTES_MAX, ROBOTS_BYTES_MAX};
use crate::url::{CrawlUrl, HostKey};
use crate::{evidence, headers};

/// A bound on something that others choose.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Its name: the part that has it, a dot, and what it is about.
    pub name: &'static str,
    /// What is bounded.
    pub what: &'static str,
    /// The bound.
    pub bound: Bound,
    /// What comes of it, as the row or the document says it.
    pub outcome: &'static str,
    /// What it is counted as, if the hit is an exchange's end.
    pub hit: Option<Hit>,
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
    let limit = |name, what, bound, outcome| Limit { name, what, bound, outcome, hit: None };
    let bytes = |bytes: usize| Bound::Bytes(bytes as u64);
    let count = |count: usize| Bound::Count(count as u64);
    vec![
        limit(
            "url.bytes",
            "a normalised URL",
            bytes(CrawlUrl::BYTES_MAX),
            "not a URL: a seed is refused, a link is counted as unusable",
        ),
        limit(
            "url.text_bytes",
            "a text that is parsed as a URL",
            bytes(CrawlUrl::TEXT_BYTES_MAX),
            "not a URL: a seed is refused, a link is counted as unusable",
        ),
        limit(
            "url.host_bytes",
            "a host name",
            bytes(HostKey::NAME_BYTES_MAX),
            "not a URL: a seed is refused, a link is counted as unusable",
        ),
        limit(
            "url.label_bytes",
            "a label of a host name",
            bytes(HostKey::LABEL_BYTES_MAX),
            "not a URL: a seed is refused, a link is counted as unusable",
        ),
        limit(
            "headers.retry_after_lines",
            "`Retry-After` lines that are read",
            count(headers::RETRY_AFTER_LINES_MAX),
            "the longest wait of these counts",
        ),
        limit(
            "headers.cache_directives",
            "directives of `Cache-Control`",
            count(headers::CACHE_DIRECTIVES_MAX),
            "the rest is ignored",
        ),
        limit(
            "headers.robots_rules",
            "robots rules of one `X-Robots-Tag` line or `meta` element",
            count(headers::ROBOTS_RULES_MAX),
            "the rest is ignored",
        ),
        limit(
            "robots.bytes",
            "a robots.txt",
            bytes(ROBOTS_BYTES_MAX),
            "the rest is dropped after the last whole line, and the evidence says so",
        ),
        limit(
            "robots.line_bytes",
            "a line of a robots.txt",
            bytes(LINE_BYTES_MAX),
            "the rest of the line is dropped",
        ),
        limit(
            "robots.crawl_delay",
            "a Crawl-delay",
            Bound::Within(CRAWL_DELAY_MAX),
            "a longer delay counts as this long",
        ),
        limit(
            "robots.rule_chars",
            "characters of the deciding line that the evidence shows",
            count(evidence::robots::RULE_CHARS_MAX),
            "truncated",
        ),
        limit(
            "host.authorities",
            "robots.txt files of one host: schemes and ports",
            count(AUTHORITIES_MAX),
            "URLs of further ones are refused",
        ),
        limit(
            "evidence.friction_signals",
            "friction signals that the report of a run lists",
            count(evidence::FRICTION_SIGNALS_MAX),
            "the rest is left out",
        ),
        limit("policy.file_bytes", "a policy file", bytes(FILE_BYTES_MAX), "refused"),
        limit("budget.pages", "pages of a job", Bound::Field("budget.pages"), "the job ends"),
        limit("budget.time", "the time of a job", Bound::Field("budget.time"), "the job ends"),
        limit(
            "budget.depth",
            "links from a seed",
            Bound::Field("budget.depth"),
            "links further on are not followed",
        ),
        limit(
            "retry.tries",
            "retries of one URL, and workers that die while they fetch it",
            Bound::Field("retry.max"),
            "the row says `dead` or `unheard`; in a fleet the URL becomes a dead letter or is rejected",
        ),
        limit(
            "redirects.hops",
            "redirects of one URL",
            Bound::Field("body.redirects_max"),
            "the URL ends as a lost redirect",
        ),
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
