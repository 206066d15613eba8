//! Runs the files of independent facts about URLs and headers, from the folder that `CURTSY_CONFORMANCE` names.

#![expect(clippy::print_stderr, reason = "a test says what it skipped and counted")]

use std::path::{Path, PathBuf};

use curtsy::conformance::{Report, headers, surt, urls};

#[test]
fn every_surt_row_passes() {
    check("surt.jsonl", surt::surt);
}

#[test]
fn every_url_row_passes_that_can_be_crawled() {
    check("urls.jsonl", urls::urls);
}

#[test]
fn every_header_row_passes_that_is_not_a_choice() {
    check("headers.jsonl", headers::headers);
}

/// Fails with the report if any row failed; says so and passes if there is no folder to read from.
fn check(file: &str, run: fn(&Path) -> anyhow::Result<Report>) {
    let Some(folder) = std::env::var_os("CURTSY_CONFORMANCE") else {
        eprintln!("skipped: CURTSY_CONFORMANCE names no folder with {file}");
        return;
    };
    let report = run(&PathBuf::from(folder).join(file)).unwrap();
    let mut text = Vec::new();
    report.print(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    eprintln!("{text}");
    assert!(report.failed.is_empty() && report.passed > 0, "{file}:\n{text}");
}
