//! Runs files of independent facts against the core and counts.
//!
//! Each kind of file has a module with one function that judges its rows. A skipped row has a reason.

pub mod challenges;
pub mod headers;
pub mod links;
pub mod robots;
pub mod robots_fetch;
pub mod sitemaps;
pub mod surt;
pub mod urls;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, bail};
use data_encoding::BASE64_NOPAD;
use flate2::read::GzDecoder;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What became of the rows of one file.
#[derive(Debug, Default)]
pub struct FactsReport {
    /// Rows that came out as expected.
    pub passed: usize,
    /// Rows that did not.
    pub failed: Vec<FailedFact>,
    /// Ids of rows that were not judged, by reason.
    pub skipped: BTreeMap<String, Vec<String>>,
}

/// One row that came out otherwise.
#[derive(Debug)]
pub struct FailedFact {
    /// The row's id.
    pub id: String,
    /// What the row asks for.
    pub expected: String,
    /// What we answered.
    pub got: String,
}

/// What one row came to.
enum Judged {
    /// What the row asks for, and what we answered.
    Compared(String, String),
    /// The row is not judged, for this reason.
    Skipped(String),
}

impl Judged {
    fn compared(expected: impl Into<String>, got: impl Into<String>) -> Judged {
        Judged::Compared(expected.into(), got.into())
    }

    fn skipped(reason: &str) -> Judged {
        Judged::Skipped(reason.to_owned())
    }
}

/// Judges the rows of a file: each line is one, as JSON, with an `id` beside its facts.
fn judge_rows<R: DeserializeOwned>(
    path: &Path,
    judge: impl Fn(&R) -> anyhow::Result<Judged>,
) -> anyhow::Result<FactsReport> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("reading `{shown}`"))?;
    let mut report = FactsReport::default();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let at = || format!("`{shown}` line {}", number + 1);
        let row: Value = serde_json::from_str(line).with_context(at)?;
        let id = row["id"].as_str().context("a row without `id`").with_context(at)?.to_owned();
        let facts = serde_json::from_value(row).with_context(at)?;
        match judge(&facts).with_context(at)? {
            Judged::Compared(expected, got) if expected == got => report.passed += 1,
            Judged::Compared(expected, got) => report.failed.push(FailedFact { id, expected, got }),
            Judged::Skipped(reason) => report.skipped.entry(reason).or_default().push(id),
        }
    }
    Ok(report)
}

/// The bytes of a row's document: as text, else in Base64, else compressed in Base64.
fn bytes([text, coded, packed]: [&Option<String>; 3]) -> anyhow::Result<Vec<u8>> {
    match (text, coded, packed) {
        (Some(text), ..) => Ok(text.clone().into_bytes()),
        (None, Some(coded), _) => base64(coded),
        (None, None, Some(packed)) => {
            let mut bytes = Vec::new();
            let packed = base64(packed)?;
            GzDecoder::new(&packed[..]).take(ROW_BYTES_MAX).read_to_end(&mut bytes)?;
            Ok(bytes)
        }
        (None, None, None) => bail!("a row without its document"),
    }
}

/// Decodes standard Base64, with or without padding.
fn base64(coded: &str) -> anyhow::Result<Vec<u8>> {
    BASE64_NOPAD.decode(coded.trim_end_matches('=').as_bytes()).context("not Base64")
}

/// The most bytes of a compressed document that are read.
const ROW_BYTES_MAX: u64 = 16 << 20;

impl FactsReport {
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
