//! Runs the files of independent facts about URLs, headers and documents, from the folder that `CURTSY_CONFORMANCE` names.

#![expect(clippy::print_stderr, reason = "a test says what it skipped and counted")]

use std::path::{Path, PathBuf};

use curtsy::conformance::{Report, challenges, headers, links, sitemaps, surt, urls};

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

#[test]
fn every_page_links_to_what_a_browser_sees() {
    check_whole("links.jsonl", links::links);
}

#[test]
fn every_sitemap_names_its_pages() {
    check_whole("sitemaps/manifest.jsonl", sitemaps::sitemaps);
}

#[test]
fn every_wall_is_known_and_no_page_is_taken_for_one() {
    check_whole("challenges.jsonl", challenges::challenges);
}

/// As `check`, and nothing may be skipped.
fn check_whole(file: &str, run: fn(&Path) -> anyhow::Result<Report>) {
    let skipped = check(file, run);
    assert_eq!(skipped, 0, "{file}: rows were skipped");
}

/// Fails with the report if any row failed; says so and passes if there is no folder to read from. Gives the rows skipped.
fn check(file: &str, run: fn(&Path) -> anyhow::Result<Report>) -> usize {
    let Some(folder) = std::env::var_os("CURTSY_CONFORMANCE") else {
        eprintln!("skipped: CURTSY_CONFORMANCE names no folder with {file}");
        return 0;
    };
    let report = run(&PathBuf::from(folder).join(file)).unwrap();
    let mut text = Vec::new();
    report.print(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    eprintln!("{text}");
    assert!(report.failed.is_empty() && report.passed > 0, "{file}:\n{text}");
    report.skipped.len()
}
