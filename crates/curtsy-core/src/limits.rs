//! The limits on everything that others choose, and the outcome of each.
//!
//! Each crate lists its own limits from the constants that it uses (`limits()`). The table of
//! `docs/reference/limits.md` is generated from these lists, so it always agrees with the code. A
//! limit that is hit is an outcome, never an error.

use std::time::Duration;

use crate::host::{AUTHORITIES_MAX, Problem};
use crate::policy::{FILE_BYTES_MAX, Field, Policy, Preset, write_size, write_span};
use crate::robots::{CRAWL_DELAY_MAX, LINE_BYTES_MAX, ROBOTS_BYTES_MAX};
use crate::url::{CrawlUrl, HostKey};
use crate::{evidence, headers};

/// A limit on something that others choose.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The name: the part of the program, a dot, and the subject.
    pub name: &'static str,
    /// What is limited.
    pub what: &'static str,
    /// The bound.
    pub bound: Bound,
    /// The outcome, as the row or the document says it.
    pub outcome: &'static str,
    /// The label in metrics, if the hit ends an exchange.
    pub hit: Option<Hit>,
}

/// The bound of a limit.
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
    crate::limit_table! {
        "url.bytes", Bound::bytes(CrawlUrl::BYTES_MAX),
            "a normalised URL" => "not a URL: a seed is refused, a link is counted as unusable";
        "url.text_bytes", Bound::bytes(CrawlUrl::TEXT_BYTES_MAX),
            "a text that is parsed as a URL" =>
            "not a URL: a seed is refused, a link is counted as unusable";
        "url.host_bytes", Bound::bytes(HostKey::NAME_BYTES_MAX),
            "a host name" => "not a URL: a seed is refused, a link is counted as unusable";
        "url.label_bytes", Bound::bytes(HostKey::LABEL_BYTES_MAX),
            "a label of a host name" =>
            "not a URL: a seed is refused, a link is counted as unusable";
        "headers.retry_after_lines", Bound::count(headers::RETRY_AFTER_LINES_MAX),
            "`Retry-After` lines that are read" => "the longest wait of these counts";
        "headers.cache_directives", Bound::count(headers::CACHE_DIRECTIVES_MAX),
            "directives of `Cache-Control`" => "the rest is ignored";
        "headers.robots_rules", Bound::count(headers::ROBOTS_RULES_MAX),
            "robots rules of one `X-Robots-Tag` line or `meta` element" => "the rest is ignored";
        "robots.bytes", Bound::bytes(ROBOTS_BYTES_MAX),
            "a robots.txt" =>
            "the rest is dropped after the last whole line, and the evidence says so";
        "robots.line_bytes", Bound::bytes(LINE_BYTES_MAX),
            "a line of a robots.txt" => "the rest of the line is dropped";
        "robots.crawl_delay", Bound::Within(CRAWL_DELAY_MAX),
            "a Crawl-delay" => "a longer delay counts as this long";
        "robots.rule_chars", Bound::count(evidence::robots::RULE_CHARS_MAX),
            "characters of the deciding line that the evidence shows" => "truncated";
        "host.authorities", Bound::count(AUTHORITIES_MAX),
            "robots.txt files of one host: schemes and ports" => "URLs of further ones are refused";
        "evidence.friction_signals", Bound::count(evidence::FRICTION_SIGNALS_MAX),
            "friction signals that the report of a run lists" => "the rest is left out";
        "policy.file_bytes", Bound::bytes(FILE_BYTES_MAX),
            "a policy file" => "refused";
        "budget.pages", Bound::Field("budget.pages"),
            "pages of a job" => "the job ends";
        "budget.time", Bound::Field("budget.time"),
            "the time of a job" => "the job ends";
        "budget.depth", Bound::Field("budget.depth"),
            "links from a seed" => "links further on are not followed";
        "retry.tries", Bound::Field("retry.max"),
            "retries of one URL, and workers that die while they fetch it" =>
            "the row says `dead` or `unheard`; in a fleet the URL becomes a dead letter or is rejected";
        "redirects.hops", Bound::Field("body.redirects_max"),
            "redirects of one URL" => "the URL ends as a lost redirect";
    }
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
