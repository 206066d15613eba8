//! Rows about what an answer to `GET /robots.txt` means.
//!
//! Rows about the meaning of a status or a failure, about size and about HTML are judged here. Rows
//! about time (a copy that is a day old, a host that is away for a month) and about the place of
//! robots.txt belong to the host's state and to URL identity; they are skipped with that reason.

use std::path::Path;

use anyhow::Result;
use curtsy_core::policy::{AgentMatch, Forbidden};
use curtsy_core::robots::{ROBOTS_BYTES_MAX, Robots, RobotsClass, RobotsReply, class_of};
use serde::Deserialize;
use serde_json::Value;

use super::{FactsReport, Judged, judge_rows};

/// Runs a file of rows about fetching robots.txt.
pub fn robots_fetch(path: &Path) -> Result<FactsReport> {
    judge_rows(path, |row: &RobotsFetchFact| Ok(row.judge()))
}

#[derive(Deserialize)]
struct RobotsFetchFact {
    situation: Value,
    expect_rfc9309: String,
}

impl RobotsFetchFact {
    fn judge(&self) -> Judged {
        let situation = &self.situation;
        if situation.get("page").is_some() {
            return Judged::skipped(
                "where robots.txt stands is URL identity, tested with `Authority`",
            );
        }
        if situation.get("cached_age_hours").is_some() || situation.get("for_days").is_some() {
            return Judged::skipped("time is the host state's business, tested with `HostState`");
        }
        let class = class_of(reply(situation), Forbidden::Allow);
        let got = match (class, &situation["bytes"], situation.get("body")) {
            (RobotsClass::Rules, Value::Number(bytes), _) => {
                read_of_large(bytes.as_u64().unwrap_or_default() as usize).to_owned()
            }
            (RobotsClass::Rules, _, Some(_)) => read_of_html().to_owned(),
            (RobotsClass::Rules, ..) => "parse".to_owned(),
            (RobotsClass::NoRules, ..) => "allow-all".to_owned(),
            (RobotsClass::Denied | RobotsClass::Unreachable, ..) => "disallow-all".to_owned(),
        };
        Judged::compared(&*self.expect_rfc9309, got)
    }
}

/// The end of the exchange that a row tells of.
fn reply(situation: &Value) -> RobotsReply {
    if situation.get("error").is_some() {
        return RobotsReply::Failed;
    }
    match &situation["redirects"] {
        Value::String(_) => return RobotsReply::TooManyRedirects,
        Value::Number(hops) if hops.as_u64().is_some_and(|hops| hops > 5) => {
            return RobotsReply::TooManyRedirects;
        }
        _ => {}
    }
    let status = situation.get("then").unwrap_or(&situation["status"]).as_u64();
    status.and_then(|s| u16::try_from(s).ok()).map_or(RobotsReply::Failed, RobotsReply::Status)
}

/// Whether rules count up to the limit and no further.
fn read_of_large(bytes: usize) -> &'static str {
    let mut text = b"User-agent: *\nDisallow: /early\n".to_vec();
    while text.len() < bytes.max(ROBOTS_BYTES_MAX + 1) {
        text.extend_from_slice(b"# a long file\n");
    }
    text.extend_from_slice(b"Disallow: /late\n");
    let robots = Robots::parse(&text);
    let rules = robots.for_agent("curtsy", AgentMatch::Rfc);
    let right =
        robots.truncated() && !rules.decide("/early").allowed && rules.decide("/late").allowed;
    if right { "parse at least the first 512000 bytes" } else { "something else" }
}

/// Whether a page in place of a robots.txt forbids nothing, and is known for what it is.
fn read_of_html() -> &'static str {
    let page = b"<!DOCTYPE html><html><head><title>Not here</title></head>\n<body><p>Sorry: nothing.</p></body></html>";
    let robots = Robots::parse(page);
    let right =
        robots.looks_like_html() && robots.for_agent("curtsy", AgentMatch::Rfc).decide("/").allowed;
    if right { "parse; no parsable line, so nothing is forbidden" } else { "something else" }
}
