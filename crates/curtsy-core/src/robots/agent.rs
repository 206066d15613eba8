//! Selects the groups of a robots.txt for us, and reads their extensions.
//!
//! A group is a run of `User-agent` lines and the rules that follow; other lines do not end the run
//! (RFC 9309 §2.2.1, as Google reads it). All groups that name our product token count as one. If
//! none does, those of `*` count.
//!
//! House rule: `Crawl-delay`, `Content-Usage` and `Content-Signal`, which the RFC does not know,
//! apply to the agents that were named since the last line of any kind that applies to agents. In
//! `User-agent: a`, `Crawl-delay: 9`, `User-agent: b`, `Disallow: /x` the rule applies to both, and
//! the delay to `a` only. The libraries that read Crawl-delay do the same.

use std::time::Duration;

use crate::policy::AgentMatch;

use super::arrange::RuleSet;
use super::lines::{LineKind, LineRecord, is_blank};
use super::{AgentGroup, AgentRules, CRAWL_DELAY_MAX, RuleKind};

/// A line about the use of content. It is data for the evidence, not yet a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageLine {
    /// The line, counted from 1.
    pub line: u32,
    /// The vocabulary of the line.
    pub kind: UsageKind,
    /// The path pattern before the preference (`Content-Usage` only).
    pub path: Option<String>,
    /// The preference as written, for example `train-ai=n`.
    pub value: String,
}

/// The vocabulary of a usage line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageKind {
    /// `Content-Usage`, of the IETF's AIPREF group.
    ContentUsage,
    /// `Content-Signal`, of contentsignals.org.
    ContentSignal,
}

/// Returns everything that the file says to `product`.
pub(super) fn rules_for(
    text: &[u8],
    records: &[LineRecord],
    product: &str,
    how: AgentMatch,
) -> AgentRules {
    let product = token(product.as_bytes());
    let reach = |record: &LineRecord| reach(record.value(text), product, how);
    let agents = records.iter().filter(|r| r.kind == LineKind::Agent);
    let nearest = agents.filter_map(reach).max();

    let mut rules = RuleSet::default();
    let mut crawl_delay: Option<Duration> = None;
    let mut usage = Vec::new();
    let (mut list, mut extension_list) = (AgentList::default(), AgentList::default());
    for record in records {
        let value = record.value(text);
        match record.kind {
            LineKind::Sitemap => {}
            LineKind::Agent => {
                let ours = nearest.is_some() && reach(record) == nearest;
                list.agent(ours);
                extension_list.agent(ours);
            }
            LineKind::Allow | LineKind::Disallow => {
                // Both calls are needed: a rule ends both lists, whether it is for us or not.
                let ours = list.speaks();
                extension_list.speaks();
                if ours && !value.is_empty() {
                    let kind = if record.kind == LineKind::Allow {
                        RuleKind::Allow
                    } else {
                        RuleKind::Disallow
                    };
                    rules.add(record.line, kind, value);
                }
            }
            LineKind::CrawlDelay => {
                if extension_list.speaks() {
                    crawl_delay = crawl_delay.max(seconds(value));
                }
            }
            LineKind::ContentUsage | LineKind::ContentSignal => {
                if extension_list.speaks() {
                    usage.push(usage_line(record, value));
                }
            }
        }
    }
    let group = match nearest {
        Some(AgentNearness::Star) => AgentGroup::Star,
        Some(_) => AgentGroup::Named,
        None => AgentGroup::None,
    };
    AgentRules { index: rules.index(), group, crawl_delay, usage: usage.into() }
}

/// How closely an agent line matches us. The closest wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AgentNearness {
    Star,
    Partial,
    Exact,
}

/// The run of agent lines to which the next lines apply.
#[derive(Default)]
struct AgentList {
    ours: bool,
    ended: bool,
}

impl AgentList {
    /// Adds an agent. It begins a new run if lines applied to the last run.
    fn agent(&mut self, ours: bool) {
        self.ours = ours || self.ours && !self.ended;
        self.ended = false;
    }

    /// Ends the run, because a line applies to it. Returns whether we are in the run.
    fn speaks(&mut self) -> bool {
        self.ended = true;
        self.ours
    }
}

fn reach(value: &[u8], product: &[u8], how: AgentMatch) -> Option<AgentNearness> {
    match value {
        [] => return None,
        [b'*'] => return Some(AgentNearness::Star),
        [b'*', next, ..] if is_blank(*next) => return Some(AgentNearness::Star),
        _ => {}
    }
    if !product.is_empty() && letters(value).eq_ignore_ascii_case(product) {
        return Some(AgentNearness::Exact);
    }
    let partial =
        how == AgentMatch::Loose && (contains(value, product) || contains(product, value));
    partial.then_some(AgentNearness::Partial)
}

/// Returns the product token before a version: `AEO-Audit` of `AEO-Audit/1.0`.
fn token(product: &[u8]) -> &[u8] {
    let end = product.iter().position(|&b| b == b'/' || is_blank(b)).unwrap_or(product.len());
    &product[..end]
}

/// Returns the product token at the start of an agent line (RFC 9309 §2.2.1: letters, `-` and `_`).
fn letters(value: &[u8]) -> &[u8] {
    let end = value.iter().position(|b| !matches!(b, b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'_'));
    &value[..end.unwrap_or(value.len())]
}

fn contains(whole: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && whole.windows(part.len()).any(|w| w.eq_ignore_ascii_case(part))
}

/// Reads a Crawl-delay in seconds: a decimal number with optional fraction and exponent, and
/// nothing else.
///
/// House rule: other texts (`10s`, `1,5`, `NaN`, `inf`, `0x10`) and negative numbers have no
/// effect. A number that is too large becomes [`CRAWL_DELAY_MAX`]. Fractions are rounded up to
/// whole microseconds.
fn seconds(value: &[u8]) -> Option<Duration> {
    // Rust reads `inf` and `nan` as numbers. Site owners do not mean them as such.
    if !value.iter().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) {
        return None;
    }
    let seconds: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    if seconds.is_nan() || seconds < 0.0 {
        return None;
    }
    if seconds >= CRAWL_DELAY_MAX.as_secs_f64() {
        return Some(CRAWL_DELAY_MAX);
    }
    // The nearest microsecond if it is within the rounding error of the decimal, else the next one.
    let micros = seconds * 1e6;
    let near = micros.round();
    let whole =
        if (micros - near).abs() <= micros * f64::EPSILON * 2.0 { near } else { micros.ceil() };
    Some(Duration::from_micros(whole as u64))
}

fn usage_line(record: &LineRecord, value: &[u8]) -> UsageLine {
    let kind = if record.kind == LineKind::ContentUsage {
        UsageKind::ContentUsage
    } else {
        UsageKind::ContentSignal
    };
    let value = String::from_utf8_lossy(value);
    let (path, value) = match value.split_once([' ', '\t']) {
        Some((path, rest)) if kind == UsageKind::ContentUsage && path.starts_with('/') => {
            (Some(path.to_owned()), rest.trim_ascii_start())
        }
        _ => (None, &*value),
    };
    UsageLine { line: record.line, kind, path, value: value.to_owned() }
}
