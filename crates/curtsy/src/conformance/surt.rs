//! Facts about SURT keys: URL, options, key.

use std::path::Path;

use curtsy_core::url::SurtOptions;
use serde::Deserialize;

use super::{FactsReport, Judged, judge_rows};

#[derive(Deserialize)]
struct SurtFact {
    url: String,
    /// Kept as it is: an option that we don't have skips its row.
    options: Option<serde_json::Value>,
    /// `None` asks for an error.
    surt: Option<String>,
}

/// Judges every row of the file.
pub fn surt(path: &Path) -> anyhow::Result<FactsReport> {
    judge_rows(path, |row: &SurtFact| {
        let options = match row.options.as_ref().map(SurtOptions::deserialize).transpose() {
            Ok(options) => options.unwrap_or_default(),
            Err(unknown) => {
                return Ok(Judged::Skipped(format!("option not offered: {unknown}")));
            }
        };
        let got = curtsy_core::url::surt(&row.url, &options);
        let expected = row.surt.as_deref().unwrap_or(ERROR);
        Ok(Judged::compared(expected, got.as_deref().unwrap_or(ERROR)))
    })
}

const ERROR: &str = "an error";
