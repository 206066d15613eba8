//! What a site asks of crawlers in its robots.txt, and which line says so.
//!
//! [`Robots::parse`] reads the bytes once and never fails: whatever a site serves is a robots.txt, perhaps one without
//! rules. [`Robots::for_agent`] picks the groups that speak to us and prepares their rules; [`AgentRules::decide`] then
//! answers one path with the line that decided. The rules are RFC 9309's; where the RFC is silent the reader is as lenient as
//! Google's, because a site owner who misspells `Disallow` still means it. Every choice is listed in `docs/reference/robots.md`.
//!
//! Three bounds hold whatever the bytes are: only the first 500 KiB count, a line counts up to its first 16,663 octets, and
//! there is no backtracking and no regex, so that file and path add to the cost of a decision and don't multiply.
//!
//! Deliberately not here: fetching, caching, redirects and time. What an answer to `GET /robots.txt` means is [`class_of`].
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

/// How much of a robots.txt counts: 500 KiB, as RFC 9309 §2.5 asks of every crawler at least.
pub const ROBOTS_BYTES_MAX: usize = 512_000;

/// What an absurd Crawl-delay is taken as: a hundred years, which any clock of ours can still add to a date.
pub const CRAWL_DELAY_MAX: Duration = Duration::from_secs(100 * 365 * 86_400);

/// One robots.txt, read once. Holds the text and where its known lines are; nothing in it changes afterwards.
#[derive(Clone, Debug)]
pub struct Robots {
    text: Box<[u8]>,
    records: Box<[LineRecord]>,
    unknown_lines: u32,
    truncated: bool,
}

impl Robots {
    /// Reads a robots.txt. Any bytes are one; what is not understood is counted and left aside.
    pub fn parse(text: &[u8]) -> Robots {
        let (text, truncated) = first_part(text);
        let (records, unknown_lines) = lines::read(text);
        Robots { text: text.into(), records, unknown_lines, truncated }
    }

    /// Prepares the rules of the groups that speak to `product`: a product token, or `product/version`.
    pub fn for_agent(&self, product: &str, how: AgentMatch) -> AgentRules {
        agent::rules_for(&self.text, &self.records, product, how)
    }

    /// The sitemaps that the file names, with their lines. They belong to no group (RFC 9309 §2.2.4).
    pub fn sitemaps(&self) -> impl Iterator<Item = (u32, Cow<'_, str>)> {
        self.records
            .iter()
            .filter(|r| r.kind == LineKind::Sitemap)
            .map(|r| (r.line, String::from_utf8_lossy(r.value(&self.text))))
    }

    /// The text of a line, without its line end and the blanks around it: the evidence behind a line number.
    pub fn line_text(&self, line: u32) -> Option<Cow<'_, str>> {
        lines::nth(&self.text, line).map(|l| String::from_utf8_lossy(lines::trim(l)))
    }

    /// How many lines had something on them, but nothing that we know.
    pub fn unknown_lines(&self) -> u32 {
        self.unknown_lines
    }

    /// Whether the file was longer than [`ROBOTS_BYTES_MAX`], so that its end was not read.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Whether this is a page of HTML served in place of a robots.txt. It is obeyed as far as it has rules; the flag is for
    /// the evidence.
    pub fn looks_like_html(&self) -> bool {
        lines::looks_like_html(&self.text)
    }

    /// The part of the file that counts, as it was served.
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

/// The rules that speak to one agent, ready for many questions.
#[derive(Clone, Debug)]
pub struct AgentRules {
    index: RuleIndex,
    group: AgentGroup,
    crawl_delay: Option<Duration>,
    usage: Box<[UsageLine]>,
}

impl AgentRules {
    /// May this path be fetched, and which line says so?
    ///
    /// `path_and_query` is what stands in the request line: from the first `/`, with the query, without a fragment.
    pub fn decide(&self, path_and_query: &str) -> RobotsAnswer {
        let path = if path_and_query.is_empty() { "/" } else { path_and_query };
        // RFC 9309 §2.2.2: "The /robots.txt URI is implicitly allowed."
        let rule = if path == "/robots.txt" { None } else { self.index.decide(path.as_bytes()) };
        RobotsAnswer {
            allowed: rule.is_none_or(|r| r.kind == RuleKind::Allow),
            rule,
            group: self.group,
        }
    }

    /// The largest Crawl-delay of the groups that speak to us.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// Which groups speak to us.
    pub fn group(&self) -> AgentGroup {
        self.group
    }

    /// `Content-Usage` and `Content-Signal` lines of the groups that speak to us, in the order of the file.
    pub fn usage(&self) -> &[UsageLine] {
        &self.usage
    }
}

/// What robots.txt says about one path, as numbers; the text behind them is [`Robots::line_text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RobotsAnswer {
    /// Whether the path may be fetched.
    pub allowed: bool,
    /// The rule that decided; `None` if no rule matches, which allows.
    pub rule: Option<RuleLine>,
    /// Which groups were asked.
    pub group: AgentGroup,
}

/// A rule, by its place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleLine {
    /// The line, counted from 1.
    pub line: u32,
    /// What the rule does.
    pub kind: RuleKind,
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// The rule opens what it matches.
    Allow,
    /// The rule closes what it matches.
    Disallow,
}

/// Which groups of a robots.txt speak to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentGroup {
    /// Groups that name it.
    Named,
    /// No group names it; those of `*` stand in.
    Star,
    /// Neither names it nor speaks to all: nothing is forbidden.
    None,
}

/// The part of a file that counts: at most [`ROBOTS_BYTES_MAX`], cut at a line end, since half a rule is another rule.
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
