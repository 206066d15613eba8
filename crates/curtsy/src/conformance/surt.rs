//! Facts about SURT keys: URL, options, key.

use std::fs;
use std::path::Path;

use anyhow::Context;
use curtsy_core::url::SurtOptions;
use serde::Deserialize;

use super::Report;

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
    let text = fs::read_to_string(path).with_context(|| format!("reading `{}`", path.display()))?;
    let mut report = Report::default();
    for row in serde_json::Deserializer::from_str(&text).into_iter() {
        let row: SurtFact =
            row.with_context(|| format!("reading a row of `{}`", path.display()))?;
        let options = match row.options.map(serde_json::from_value::<SurtOptions>).transpose() {
            Ok(options) => options.unwrap_or_default(),
            Err(unknown) => {
                report.skip(&row.id, &format!("option not offered: {unknown}"));
                continue;
            }
        };
        let got = curtsy_core::url::surt(&row.url, &options);
        report.check(
            &row.id,
            row.surt.unwrap_or_else(|| ERROR.to_owned()),
            got.unwrap_or_else(|_| ERROR.to_owned()),
        );
    }
    Ok(report)
}

const ERROR: &str = "an error";
