//! Runs the files of independent facts about documents, from the folder that `CURTSY_CONFORMANCE` names.

#![expect(clippy::print_stderr, reason = "a test says what it skipped and counted")]

use std::path::{Path, PathBuf};

use curtsy::conformance::{Report, challenges, links, sitemaps};

#[test]
fn every_page_links_to_what_a_browser_sees() {
    check("links.jsonl", links::links);
}

#[test]
fn every_sitemap_names_its_pages() {
    check("sitemaps/manifest.jsonl", sitemaps::sitemaps);
}

#[test]
fn every_wall_is_known_and_no_page_is_taken_for_one() {
    check("challenges.jsonl", challenges::challenges);
}

/// Fails with the report if any row failed or was skipped; says so and passes if there is no folder to read from.
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
    let all = report.failed.is_empty() && report.skipped.is_empty() && report.passed > 0;
    assert!(all, "{file}:\n{text}");
}
