//! Rows about robots.txt: is this URL allowed, how long is the delay, which sitemaps are named.
//!
//! Rows of strength `consensus` and `google+rfc` must give the expected answer. A `google-only` row
//! is a matter of policy. If our answer differs from Google's, one of our written decisions must
//! cover the row *and* the strict reading of RFC 9309 must give our answer; then the row is skipped
//! with that decision as the reason. Any other difference fails.
//!
//! Each row is given to the matcher that decides and to the naive one; if they differ, the row
//! fails.

use std::path::Path;

use anyhow::Result;
use curtsy_core::policy::AgentMatch;
use curtsy_core::robots::{AgentRules, Robots, naive::naive_decide};
use serde::Deserialize;
use serde_json::Value;

use super::{FactsReport, Judged, bytes, judge_rows};

/// Runs a file of robots.txt rows.
pub fn robots(path: &Path) -> Result<FactsReport> {
    judge_rows(path, |row: &RobotsFact| {
        Ok(row.judge(&bytes([&row.robots, &row.robots_b64, &row.robots_gz_b64])?))
    })
}

#[derive(Deserialize)]
struct RobotsFact {
    robots: Option<String>,
    robots_b64: Option<String>,
    robots_gz_b64: Option<String>,
    ua: String,
    url: Option<String>,
    expect: Option<String>,
    strength: Option<String>,
    #[serde(default)]
    verdicts: Value,
    /// Outer `None`: not in the row. Inner `None`: the row says that there is no delay.
    #[serde(default, deserialize_with = "present")]
    crawl_delay: Option<Option<f64>>,
    crawl_delay_by: Option<String>,
    sitemaps: Option<Vec<String>>,
}

fn present<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Option<f64>>, D::Error> {
    Option::deserialize(value).map(Some)
}

impl RobotsFact {
    /// One row may ask three things; it counts once, and as its worst.
    fn judge(&self, text: &[u8]) -> Judged {
        let robots = Robots::parse(text);
        let rules = robots.for_agent(&self.ua, AgentMatch::Rfc);
        let mut expected = Vec::new();
        let mut got = Vec::new();
        let mut decision = None;
        if let (Some(url), Some(expect)) = (&self.url, &self.expect) {
            let ours = self.verdict(text, &rules, url);
            if ours != *expect {
                decision = self.decision(text, url, &ours);
            }
            if decision.is_none() {
                expected.push(expect.clone());
                got.push(ours);
            }
        }
        if let Some(delay) = self.crawl_delay {
            let ours = rules.crawl_delay().map(|d| d.as_secs_f64());
            if self.crawl_delay_by.is_some() && ours != delay {
                decision = decision.or(Some(ONE_LIBRARY));
            } else {
                expected.push(format!("delay {delay:?}"));
                got.push(format!("delay {ours:?}"));
            }
        }
        if let Some(sitemaps) = &self.sitemaps {
            expected.push(format!("{sitemaps:?}"));
            got.push(format!("{:?}", robots.sitemaps().map(|(_, url)| url).collect::<Vec<_>>()));
        }
        match decision {
            Some(reason) if expected == got => Judged::skipped(reason),
            _ => Judged::Compared(expected.join(", "), got.join(", ")),
        }
    }

    fn verdict(&self, text: &[u8], rules: &AgentRules, url: &str) -> String {
        let path = exact_path(url);
        let fast = rules.decide(&path).allowed;
        if naive_decide(text, &self.ua, &path) != fast {
            return "the two matchers differ".to_owned();
        }
        (if fast { "allow" } else { "disallow" }).to_owned()
    }

    /// Returns the decision by which our answer differs from Google's. See the table in
    /// `docs/reference/robots.md`.
    fn decision(&self, text: &[u8], url: &str, ours: &str) -> Option<&'static str> {
        if self.strength.as_deref() != Some("google-only")
            || self.verdicts["rfc9309_reading"] != ours
        {
            return None;
        }
        if exact_path(url) == "/robots.txt" {
            return Some(ROBOTS_ITSELF);
        }
        let escapes = |bytes: &[u8]| bytes.iter().any(|b| *b == b'%' || !b.is_ascii());
        if escapes(text) || escapes(url.as_bytes()) {
            return Some(ENCODING);
        }
        let index = text.windows(10).any(|w| w == b"/index.htm");
        (index && ours == "disallow").then_some(INDEX_HTML)
    }
}

const ROBOTS_ITSELF: &str = "decided: /robots.txt itself is always allowed, RFC 9309 §2.2.2";
const ENCODING: &str = "decided: paths and patterns are compared in one spelling, RFC 9309 §2.2.2";
const INDEX_HTML: &str =
    "decided: `Allow: /index.html` does not open `/`, RFC 9309 has no such rule";
const ONE_LIBRARY: &str = "decided: a Crawl-delay that only this one library reads so";

/// Path and query of the exact string, as Google's matcher cuts them: no parsing, no clean-up.
fn exact_path(url: &str) -> String {
    let from = if url.starts_with("//") { 2 } else { 0 };
    let host = match url[from..].find("://") {
        Some(colon) if !url[from..from + colon].contains(['/', '?', ';']) => from + colon + 3,
        _ => from,
    };
    let hash = url[from..].find('#').map_or(url.len(), |i| from + i);
    match url[host..].find(['/', '?', ';']).map(|i| host + i) {
        Some(start) if start < hash && url[start..].starts_with('/') => url[start..hash].to_owned(),
        Some(start) if start < hash => format!("/{}", &url[start..hash]),
        _ => "/".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::base64;
    use super::exact_path;

    #[test]
    fn the_path_is_cut_from_the_exact_string() {
        let check = |url: &str, path: &str| assert_eq!(exact_path(url), path, "{url}");
        check("https://a.example/x?y#z", "/x?y");
        check("https://a.example", "/");
        check("https://a.example?q=/x", "/?q=/x");
        check("https://a.example;p", "/;p");
        check("https://a.example#/x", "/");
        check("//a.example/x", "/x");
        check("/x/://y", "/x/://y");
        check("a.example/x", "/x");
        check("", "/");
    }

    #[test]
    fn base64_is_read_with_and_without_padding() {
        assert_eq!(base64("VXNlcg==").unwrap(), b"User");
        assert_eq!(base64("VXNlcg").unwrap(), b"User");
        assert_eq!(base64("/+8=").unwrap(), [0xFF, 0xEF]);
        assert!(base64("a b").is_err());
    }
}
