//! The evidence about a robots decision, as the audit preset stores it: `robots_allowed` or
//! `blocked_by_robots`.
//!
//! Content and metadata have exactly the fields of the requirement. The confidence is beside them.

use std::time::Duration;

use serde::{Serialize, Serializer};

use super::sentence::SentenceContext;
use super::timestamp::timestamp;
use crate::host::{Confidence, Finding, Reason, RobotsReason, Verdict};
use crate::robots::Robots;
use crate::time::Time;
use crate::url::CrawlUrl;

/// The record of one robots decision.
///
/// ```
/// use curtsy_core::evidence::{SentenceContext, RobotsEvidence};
/// use curtsy_core::host::{Finding, RobotsReason, Verdict};
/// use curtsy_core::time::Time;
/// use curtsy_core::url::CrawlUrl;
/// let names = SentenceContext { robots: None, now: Time::from_secs(1_704_067_200) };
/// let found = Finding::new(Verdict::Go, RobotsReason::Absent);
/// let url = CrawlUrl::parse("https://example.com/page").unwrap();
/// let evidence = RobotsEvidence::of(&found, &url, None, &names).unwrap();
/// assert!(evidence.content.allowed);
/// assert_eq!(evidence.content.timestamp, "2024-01-01T00:00:00.000Z");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RobotsEvidence {
    /// Which of the two it is.
    #[serde(rename = "type")]
    pub kind: RobotsType,
    /// The decision and its time.
    pub content: RobotsContent,
    /// The same, by URL.
    pub metadata: RobotsMetadata,
    /// The confidence of the decision.
    pub confidence: Sureness,
}

crate::word_enum! {
    /// The two evidence types.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RobotsType {
        /// The URL may be fetched.
        RobotsAllowed = "robots_allowed",
        /// The URL may not be fetched.
        BlockedByRobots = "blocked_by_robots",
    }
}

/// The decision and its time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RobotsContent {
    /// Whether the URL may be fetched.
    pub allowed: bool,
    /// The deciding rule, as its line has it; `None` if no rule matched.
    pub matched_rule: Option<String>,
    /// The site's Crawl-delay for us.
    pub crawl_delay: Option<Seconds>,
    /// The time of the decision, in RFC 3339 with milliseconds.
    pub timestamp: String,
}

/// The decision, by URL.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RobotsMetadata {
    /// The URL.
    pub url: CrawlUrl,
    /// Whether it may be fetched.
    pub allowed: bool,
    /// The deciding rule.
    pub matched_rule: Option<String>,
    /// The site's Crawl-delay for us.
    pub crawl_delay: Option<Seconds>,
}

crate::word_enum! {
    /// The confidence of a robots verdict.
    #[derive(Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Sureness {
        /// The site answered within the time that an answer counts.
        High = "high",
        /// robots.txt can't be had now: a last good copy, or the policy, decided.
        Low = "low",
    }
}

/// A span that is written as a number of seconds, without decimals if it is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds(pub Duration);

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if self.0.subsec_nanos() == 0 {
            s.serialize_u64(self.0.as_secs())
        } else {
            s.serialize_f64(self.0.as_secs_f64())
        }
    }
}

impl RobotsEvidence {
    /// Returns the record of a robots finding, decided at `names.now`. Returns `None` if robots.txt
    /// says nothing yet (unknown, past its time, being fetched) or does not apply.
    pub fn of(
        finding: &Finding,
        url: &CrawlUrl,
        crawl_delay: Option<Duration>,
        names: &SentenceContext<'_>,
    ) -> Option<RobotsEvidence> {
        let line = match finding.reason {
            Reason::Robots(
                RobotsReason::Allows { line, .. } | RobotsReason::Forbids { line, .. },
            ) => line,
            _ => None,
        };
        let rule = line.and_then(|line| names.robots.and_then(|robots| rule_text(robots, line)));
        RobotsEvidence::with_rule(finding, url, rule, crawl_delay, names.now)
    }

    /// Returns the same for a caller that has the text of the deciding rule, and not the whole
    /// robots.txt.
    pub fn with_rule(
        finding: &Finding,
        url: &CrawlUrl,
        rule: Option<String>,
        crawl_delay: Option<Duration>,
        at: Time,
    ) -> Option<RobotsEvidence> {
        let confidence = Sureness::of(finding)?;
        let allowed = finding.verdict == Verdict::Go;
        let crawl_delay = crawl_delay.map(Seconds);
        Some(RobotsEvidence {
            kind: if allowed { RobotsType::RobotsAllowed } else { RobotsType::BlockedByRobots },
            content: RobotsContent {
                allowed,
                matched_rule: rule.clone(),
                crawl_delay,
                timestamp: timestamp(at),
            },
            metadata: RobotsMetadata { url: url.clone(), allowed, matched_rule: rule, crawl_delay },
            confidence,
        })
    }
}

impl Sureness {
    /// Returns the confidence of a robots finding, or `None` if robots.txt says nothing yet or does
    /// not apply.
    pub fn of(finding: &Finding) -> Option<Sureness> {
        let Reason::Robots(said) = finding.reason else { return None };
        match said {
            RobotsReason::Allows { standing, .. } | RobotsReason::Forbids { standing, .. } => {
                Some(standing.into())
            }
            RobotsReason::Absent | RobotsReason::Refused => Some(Sureness::High),
            RobotsReason::Unreachable
            | RobotsReason::UnreachableAllowed
            | RobotsReason::AuthorityLimit => Some(Sureness::Low),
            _ => None,
        }
    }
}

impl From<Confidence> for Sureness {
    fn from(standing: Confidence) -> Sureness {
        match standing {
            Confidence::Current => Sureness::High,
            Confidence::LastGood => Sureness::Low,
        }
    }
}

/// Returns the rule on a line, as `Disallow: /private`: the line's own spelling without comment and
/// extra blanks, shortened, and without characters that could break a log line or a terminal.
pub fn rule_text(robots: &Robots, line: u32) -> Option<String> {
    let text = robots.line_text(line)?;
    let text = text.split(['#', '\0']).next().unwrap_or_default();
    // The reader accepts a missing colon between two words.
    let (key, value) = text.split_once(':').or_else(|| text.trim().split_once([' ', '\t']))?;
    let rule = format!("{}: {}", key.trim(), value.trim());
    let clean = |c: char| if c.is_control() { '\u{FFFD}' } else { c };
    let mut shown: String = rule.chars().take(RULE_CHARS_MAX).map(clean).collect();
    if shown.len() < rule.len() && rule.chars().nth(RULE_CHARS_MAX).is_some() {
        shown.push('…');
    }
    Some(shown.trim_end().to_owned())
}

/// Limit of the characters of a rule that are shown.
pub(crate) const RULE_CHARS_MAX: usize = 500;
