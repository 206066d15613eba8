//! Decides about robots.txt for our product, by two matchers that must agree.
//!
//! The first matcher is the crawler's own. The second is a naive one that shares no code with it.
//! Each text is parsed once, however often it is served, and a verdict of both is remembered. If
//! they ever differ, the judge itself is wrong and says so.
//!
//! The naive matcher reads the whole text for each target. So it is used for a share of the targets
//! if the caller chose that ([`SecondMatcher::Sampled`]) or the text is long. It is always used for
//! targets that the first matcher forbids, since those lead to a charge.

use std::collections::HashMap;
use std::sync::Arc;

use curtsy_core::policy::AgentMatch;
use curtsy_core::robots::naive::naive_decide;
use curtsy_core::robots::{AgentRules, Robots};
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128};

use crate::generations::{Generations, HashedKeys};

/// How often the second robots matcher is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondMatcher {
    /// For every target, unless the robots.txt is longer than 16 KiB.
    Always,
    /// For the first 256 targets of each robots.txt, then for a share of them that costs less than
    /// 1 µs a request.
    Sampled,
}

/// One robots.txt, with the rules for one product.
pub(crate) struct Text {
    bytes: Arc<[u8]>,
    product: Box<str>,
    rules: AgentRules,
    /// Identifies the text among the remembered verdicts.
    id: u64,
    /// The Crawl-delay, in microseconds; zero if there is none.
    pub(crate) crawl_delay: u64,
    /// The paths of the sitemaps in the text.
    pub(crate) sitemaps: Vec<String>,
}

/// All robots.txt texts of the log, parsed once.
pub(crate) struct Matchers {
    texts: HashMap<u128, Arc<Text>, HashedKeys>,
    /// Verdicts on which both matchers agreed.
    agreed: Generations<bool>,
    pub(crate) second: SecondMatcher,
    /// The bytes that the second matcher may still read, for each text.
    credit: HashMap<u64, usize, HashedKeys>,
    /// The number of verdicts by the first matcher only.
    pub(crate) by_one: u64,
    pub(crate) differ: u64,
    pub(crate) first: Option<String>,
}

impl Matchers {
    pub(crate) fn new() -> Matchers {
        Matchers {
            texts: HashMap::default(),
            agreed: Generations::new(VERDICTS_MAX),
            second: SecondMatcher::Always,
            credit: HashMap::default(),
            by_one: 0,
            differ: 0,
            first: None,
        }
    }

    /// Sets how many verdicts are remembered.
    pub(crate) fn remember(&mut self, verdicts: usize) {
        self.agreed = Generations::new(verdicts);
    }

    /// Returns the text with the rules for `product`.
    pub(crate) fn read(&mut self, bytes: &Arc<[u8]>, product: &str) -> Arc<Text> {
        let id = xxh3_64_with_seed(bytes, xxh3_64_with_seed(product.as_bytes(), 0));
        let key = xxh3_128(bytes) ^ u128::from(id);
        if let Some(text) = self.texts.get(&key) {
            return Arc::clone(text);
        }
        // A log with more texts than this is parsed again, not held in memory.
        if self.texts.len() >= TEXTS_MAX {
            self.texts.clear();
            self.credit.clear();
        }
        let robots = Robots::parse(bytes);
        let rules = robots.for_agent(product, AgentMatch::Rfc);
        let delay = rules.crawl_delay().unwrap_or_default();
        let text = Arc::new(Text {
            bytes: Arc::clone(bytes),
            product: product.into(),
            id,
            crawl_delay: u64::try_from(delay.as_micros()).unwrap_or(u64::MAX).min(CRAWL_DELAY_MAX),
            sitemaps: robots.sitemaps().map(|(_, url)| path_of(&url).to_owned()).collect(),
            rules,
        });
        self.texts.insert(key, Arc::clone(&text));
        text
    }

    /// Returns whether the text allows the target, by both matchers. If they differ, the target
    /// counts as allowed.
    pub(crate) fn allows(&mut self, text: &Text, target: &str) -> bool {
        let key = u128::from(xxh3_64_with_seed(target.as_bytes(), text.id)) << 64
            | u128::from(xxh3_64_with_seed(target.as_bytes(), !text.id));
        if let Some(&verdict) = self.agreed.get(key) {
            return verdict;
        }
        let ours = text.rules.decide(target).allowed;
        if ours && !self.second_is_asked(text) {
            self.by_one += 1;
            return ours;
        }
        let naive = naive_decide(&text.bytes, &text.product, target);
        if ours != naive {
            self.differ += 1;
            let said = |allowed| if allowed { "allows" } else { "forbids" };
            self.first.get_or_insert_with(|| {
                format!(
                    "the core's matcher {} `{target}` to `{}`, the naive one {} it, in {:?}",
                    said(ours),
                    text.product,
                    said(naive),
                    String::from_utf8_lossy(&text.bytes[..text.bytes.len().min(2000)])
                )
            });
            return true;
        }
        self.agreed.put(key, ours, |_| false);
        ours
    }

    fn second_is_asked(&mut self, text: &Text) -> bool {
        let cost = text.bytes.len().max(1);
        if self.second == SecondMatcher::Always && cost <= LONG_TEXT {
            return true;
        }
        let first = FIRST_TARGETS.min(LONG_TEXT / cost + 1);
        let credit = self.credit.entry(text.id).or_insert(first * cost);
        *credit = credit.saturating_add(EARNED);
        let enough = *credit >= cost;
        if enough {
            *credit -= cost;
        }
        enough
    }

    /// Returns the deciding line, for the sentence of a violation.
    pub(crate) fn line(&self, text: &Text, target: &str) -> String {
        match text.rules.decide(target).rule {
            Some(rule) => {
                let robots = Robots::parse(&text.bytes);
                let line = robots.line_text(rule.line).unwrap_or_default();
                format!("line {}, `{line}`", rule.line)
            }
            None => "no line".to_owned(),
        }
    }
}

/// Returns path and query of a URL, or the URL itself if it has no host.
fn path_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find('/').map_or(url, |at| &rest[at..])
}

/// The naive matcher takes some 30 ns for a byte of text. Above this size, every target would take
/// half a millisecond.
const LONG_TEXT: usize = 16 << 10;
/// The number of targets of one text for which the second matcher is always used.
const FIRST_TARGETS: usize = 256;
/// The bytes that each verdict lets the second matcher read.
const EARNED: usize = 24;
const TEXTS_MAX: usize = 10_000;
const VERDICTS_MAX: usize = 1 << 17;
/// A hundred years, in microseconds.
const CRAWL_DELAY_MAX: u64 = 100 * 365 * 86_400 * 1_000_000;
