//! Facts about SURT keys: URL, options, key.

use std::path::Path;

use curtsy_core::url::SurtOptions;
use serde::Deserialize;

use super::{Report, judge_rows};

#[derive(Deserialize)]
struct SurtFact {
    id: String,
    url: String,
    /// Kept as it is: an option that we don't have skips its row.
    options: Option<serde_json::Value>,
    /// `None` asks for an error.
    surt: Option<String>,
}

/// Judges every row of the file.
pub fn surt(path: &Path) -> anyhow::Result<Report> {
    judge_rows(path, |row: &SurtFact, report| {
        let options = match row.options.as_ref().map(SurtOptions::deserialize).transpose() {
            Ok(options) => options.unwrap_or_default(),
            Err(unknown) => {
                report.skip(&row.id, &format!("option not offered: {unknown}"));
                return Ok(());
            }
        };
        let got = curtsy_core::url::surt(&row.url, &options);
        report.check(
            &row.id,
            row.surt.as_deref().unwrap_or(ERROR),
            got.as_deref().unwrap_or(ERROR),
        );
        Ok(())
    })
}

const ERROR: &str = "an error";
