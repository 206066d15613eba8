//! Runs files of independent facts against the core and counts.
//!
//! Each kind of file has a module with one function that reads rows and fills a [`Report`]. A
//! skipped row has a reason.

pub mod challenges;
pub mod headers;
pub mod links;
pub mod robots;
pub mod robots_fetch;
pub mod sitemaps;
pub mod surt;
pub mod urls;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use serde::de::DeserializeOwned;

/// What became of the rows of one file.
#[derive(Debug, Default)]
pub struct Report {
    /// Rows that came out as expected.
    pub passed: usize,
    /// Rows that did not.
    pub failed: Vec<Failure>,
    /// Ids of rows that were not judged, by reason.
    pub skipped: BTreeMap<String, Vec<String>>,
}

/// One row that came out otherwise.
#[derive(Debug)]
pub struct Failure {
    /// The row's id.
    pub id: String,
    /// What the row asks for.
    pub expected: String,
    /// What we answered.
    pub got: String,
}

/// Judges the rows of a file: each line is one, as JSON.
fn judge_rows<R: DeserializeOwned>(
    path: &Path,
    mut judge: impl FnMut(&R, &mut Report) -> anyhow::Result<()>,
) -> anyhow::Result<Report> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("reading `{shown}`"))?;
    let mut report = Report::default();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let at = || format!("`{shown}` line {}", number + 1);
        let row = serde_json::from_str(line).with_context(at)?;
        judge(&row, &mut report).with_context(at)?;
    }
    Ok(report)
}

impl Report {
    /// Compares one row's answer with what it asks for.
    pub fn check(&mut self, id: &str, expected: impl Into<String>, got: impl Into<String>) {
        let (expected, got) = (expected.into(), got.into());
        if expected == got {
            self.passed += 1;
        } else {
            self.failed.push(Failure { id: id.to_owned(), expected, got });
        }
    }

    /// Notes a row that is not judged.
    pub fn skip(&mut self, id: &str, reason: &str) {
        self.skipped.entry(reason.to_owned()).or_default().push(id.to_owned());
    }

    /// Prints failing ids with expected and got, the skipped by reason, and the closing line.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        for f in &self.failed {
            writeln!(out, "{}: expected {}, got {}", f.id, f.expected, f.got)?;
        }
        let mut skipped = 0;
        for (reason, ids) in &self.skipped {
            skipped += ids.len();
            writeln!(out, "skipped {} ({reason}): {}", ids.len(), ids.join(" "))?;
        }
        writeln!(out, "{} passed, {} failed, {skipped} skipped", self.passed, self.failed.len())
    }
}
