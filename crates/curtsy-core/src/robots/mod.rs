//! Reads robots.txt and finds the line that decides about a path.
//!
//! [`Robots::parse`] reads the bytes once and never fails: any bytes are a robots.txt, perhaps one
//! without rules. [`Robots::for_agent`] selects the groups for us and prepares their rules.
//! [`AgentRules::decide`] then answers for one path, with the line that decided. The rules are
//! those of RFC 9309. Where the RFC is silent, the reader is as lenient as Google's, because a site
//! owner who misspells `Disallow` still means it. `docs/reference/robots.md` lists every choice.
//!
//! Three bounds hold for any bytes: only the first 500 KiB count, a line counts up to its first
//! 16,663 octets, and there is no backtracking and no regex, so the costs of file and path add up
//! and do not multiply.
//!
//! Not here: fetching, caching, redirects and time. [`class_of`] says what an answer to `GET
//! /robots.txt` means.
//!
//! ```
//! use curtsy_core::policy::AgentMatch;
//! use curtsy_core::robots::{AgentGroup, Robots, RuleKind};
//!
//! let robots = Robots::parse(b"User-agent: *\nDisallow: /private/\nAllow: /private/press*.pdf$\n");
//! let rules = robots.for_agent("curtsy", AgentMatch::Rfc);
//! let answer = rules.decide("/private/diary");
//! assert!(!answer.allowed);
//! assert_eq!(answer.group, AgentGroup::Star);
//! let rule = answer.rule.unwrap();
//! assert_eq!((rule.line, rule.kind), (2, RuleKind::Disallow));
//! assert_eq!(robots.line_text(rule.line).unwrap(), "Disallow: /private/");
//! assert!(rules.decide("/private/press-2024.pdf").allowed);
//! ```

mod agent;
mod arrange;
mod index;
mod lines;
pub mod naive;
mod occurrences;
mod pattern;
mod reply;

pub(crate) use lines::LINE_BYTES_MAX;

use std::borrow::Cow;
use std::time::Duration;

use crate::policy::AgentMatch;

pub use agent::{UsageKind, UsageLine};
pub use reply::{RobotsClass, RobotsReply, class_of};

use index::RuleIndex;
use lines::{LineKind, LineRecord};

/// How much of a robots.txt counts: 500 KiB, the least that RFC 9309 §2.5 demands of a crawler.
pub const ROBOTS_BYTES_MAX: usize = 512_000;

/// The upper limit of a Crawl-delay: a hundred years, which any clock of ours can still add to a
/// date.
pub const CRAWL_DELAY_MAX: Duration = Duration::from_secs(100 * 365 * 86_400);

/// One parsed robots.txt: the text, and the places of its known lines.
#[derive(Clone, Debug)]
pub struct Robots {
    text: Box<[u8]>,
    records: Box<[LineRecord]>,
    unknown_lines: u32,
    truncated: bool,
}

impl Robots {
    /// Parses a robots.txt. Any bytes are one. Unknown lines are counted and ignored.
    pub fn parse(text: &[u8]) -> Robots {
        let (text, truncated) = first_part(text);
        let (records, unknown_lines) = lines::read(text);
        Robots { text: text.into(), records, unknown_lines, truncated }
    }

    /// Prepares the rules of the groups for `product`: a product token, or `product/version`.
    pub fn for_agent(&self, product: &str, how: AgentMatch) -> AgentRules {
        agent::rules_for(&self.text, &self.records, product, how)
    }

    /// Returns the sitemaps in the file, with their lines. They belong to no group (RFC 9309
    /// §2.2.4).
    pub fn sitemaps(&self) -> impl Iterator<Item = (u32, Cow<'_, str>)> {
        self.records
            .iter()
            .filter(|r| r.kind == LineKind::Sitemap)
            .map(|r| (r.line, String::from_utf8_lossy(r.value(&self.text))))
    }

    /// Returns the text of a line without its line end and surrounding blanks, as evidence for a
    /// line number.
    pub fn line_text(&self, line: u32) -> Option<Cow<'_, str>> {
        lines::nth(&self.text, line).map(|l| String::from_utf8_lossy(lines::trim(l)))
    }

    /// Returns the number of lines that are neither empty nor known.
    pub fn unknown_lines(&self) -> u32 {
        self.unknown_lines
    }

    /// Returns whether the file was longer than [`ROBOTS_BYTES_MAX`], so that its end was not read.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Returns whether the file is an HTML page. It is obeyed as far as it has rules; the flag is
    /// for the evidence.
    pub fn looks_like_html(&self) -> bool {
        lines::looks_like_html(&self.text)
    }

    /// Returns the part of the file that counts, as it was served.
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

/// The rules for one agent, ready for many paths.
#[derive(Clone, Debug)]
pub struct AgentRules {
    index: RuleIndex,
    group: AgentGroup,
    crawl_delay: Option<Duration>,
    usage: Box<[UsageLine]>,
}

impl AgentRules {
    /// Decides about a path, and returns the deciding line.
    ///
    /// `path_and_query` is the target of a request line: from the first `/`, with the query,
    /// without a fragment.
    pub fn decide(&self, path_and_query: &str) -> RobotsDecision {
        let path = if path_and_query.is_empty() { "/" } else { path_and_query };
        // RFC 9309 §2.2.2: "The /robots.txt URI is implicitly allowed."
        let rule = if path == "/robots.txt" { None } else { self.index.decide(path.as_bytes()) };
        RobotsDecision {
            allowed: rule.is_none_or(|r| r.kind == RuleKind::Allow),
            rule,
            group: self.group,
        }
    }

    /// Returns the largest Crawl-delay of the groups for us.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// Returns which groups apply to us.
    pub fn group(&self) -> AgentGroup {
        self.group
    }

    /// Returns the `Content-Usage` and `Content-Signal` lines of the groups for us, in the order of
    /// the file.
    pub fn usage(&self) -> &[UsageLine] {
        &self.usage
    }
}

/// The decision about one path, as numbers. [`Robots::line_text`] returns the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RobotsDecision {
    /// Whether the path may be fetched.
    pub allowed: bool,
    /// The deciding rule; `None` if no rule matches, which allows the path.
    pub rule: Option<RuleLine>,
    /// The groups that were used.
    pub group: AgentGroup,
}

/// A rule, by its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleLine {
    /// The line, counted from 1.
    pub line: u32,
    /// The kind of the rule.
    pub kind: RuleKind,
}

/// The kind of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// The rule allows the paths that it matches.
    Allow,
    /// The rule forbids the paths that it matches.
    Disallow,
}

/// Which groups of a robots.txt apply to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentGroup {
    /// Groups that name the agent.
    Named,
    /// Groups of `*`, because no group names the agent.
    Star,
    /// None, so nothing is forbidden.
    None,
}

/// Returns the part of a file that counts: at most [`ROBOTS_BYTES_MAX`], cut at a line end, since a
/// cut rule would be another rule.
fn first_part(text: &[u8]) -> (&[u8], bool) {
    if text.len() <= ROBOTS_BYTES_MAX {
        return (text, false);
    }
    let ends_a_line = matches!(text[ROBOTS_BYTES_MAX], b'\n' | b'\r');
    let head = &text[..ROBOTS_BYTES_MAX];
    let kept = if ends_a_line {
        head.len()
    } else {
        memchr::memrchr2(b'\n', b'\r', head).map_or(0, |i| i + 1)
    };
    (&head[..kept], true)
}
