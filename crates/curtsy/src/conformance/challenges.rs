//! Facts about bot walls and their look-alikes: whose it is, and what it wants.

use std::path::Path;

use curtsy_parse::challenge::{WallKind, wall};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{FactsReport, Judged, judge_rows};

#[derive(Deserialize)]
struct ChallengeFact {
    status: u16,
    headers: Map<String, Value>,
    body: String,
    expect_vendor: Option<String>,
    expect_challenge: bool,
    expect_block: bool,
}

/// Judges every row of the file.
pub fn challenges(path: &Path) -> anyhow::Result<FactsReport> {
    judge_rows(path, |row: &ChallengeFact| {
        let mut headers: Vec<(&str, &str)> = Vec::new();
        for (name, value) in &row.headers {
            match value {
                Value::Array(lines) => {
                    headers.extend(lines.iter().filter_map(Value::as_str).map(|v| (&**name, v)));
                }
                value => headers.extend(value.as_str().map(|value| (&**name, value))),
            }
        }
        let found = wall(row.status, headers, row.body.as_bytes());
        let expected = words(row.expect_vendor.as_deref(), row.expect_challenge, row.expect_block);
        let is = |kind| found.is_some_and(|wall| wall.kind == kind);
        let got = words(
            found.map(|wall| wall.vendor.name()),
            is(WallKind::Challenge),
            is(WallKind::Block),
        );
        Ok(Judged::Compared(expected, got))
    })
}

fn words(vendor: Option<&str>, challenge: bool, block: bool) -> String {
    let kind = match (challenge, block) {
        (false, false) => "an ordinary answer",
        (true, false) => "a challenge",
        (false, true) => "a block",
        (true, true) => "a challenge and a block",
    };
    format!("{kind} of {}", vendor.unwrap_or("nobody"))
}
