//! Runs the files of independent facts, from the folder that `CURTSY_CONFORMANCE` names.

use std::path::{Path, PathBuf};

use curtsy::conformance::{
    FactsReport, challenges, headers, links, robots, robots_fetch, sitemaps, surt, urls,
};
use curtsy_testkit::services::left_out;

#[test]
fn every_robots_row_passes_that_is_not_a_choice() {
    check("robots.jsonl", robots::robots);
}

#[test]
fn every_row_on_fetching_robots_passes_that_is_not_a_choice() {
    check("robots_fetch_policy.jsonl", robots_fetch::robots_fetch);
}

#[test]
fn every_surt_row_passes() {
    check_whole("surt.jsonl", surt::surt);
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

/// Judges a file, of which no row may be skipped.
#[track_caller]
fn check_whole(file: &str, run: fn(&Path) -> anyhow::Result<FactsReport>) {
    let skipped = check(file, run);
    assert_eq!(skipped, 0, "{file}: rows were skipped");
}

/// Judges a file: no row may fail, and one at least must pass. Returns the number of skipped rows.
#[track_caller]
fn check(file: &str, run: fn(&Path) -> anyhow::Result<FactsReport>) -> usize {
    let Some(folder) = std::env::var_os("CURTSY_CONFORMANCE") else {
        // The files do not belong to the repository: a fork has none.
        left_out("CURTSY_CONFORMANCE names no folder");
        return 0;
    };
    let report = run(&PathBuf::from(folder).join(file)).unwrap();
    let mut text = Vec::new();
    report.print(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(report.failed.is_empty() && report.passed > 0, "{file}:\n{text}");
    report.skipped.values().map(Vec::len).sum()
}
