//! The robots.txt rows of the folder that `CURTSY_CONFORMANCE` names.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use curtsy::conformance::Report;
use curtsy::conformance::robots::robots;
use curtsy::conformance::robots_fetch::robots_fetch;

fn check(file: &str, run: fn(&Path) -> anyhow::Result<Report>) {
    let Some(folder) = env::var_os("CURTSY_CONFORMANCE") else {
        return skipped();
    };
    let report = run(&PathBuf::from(folder).join(file)).unwrap();
    report.print(&mut io::stderr()).unwrap();
    assert!(report.failed.is_empty(), "{} rows of `{file}` failed", report.failed.len());
    assert!(report.passed > 0, "`{file}` has no rows");
}

#[expect(clippy::print_stderr, reason = "a test that judged nothing says so")]
fn skipped() {
    eprintln!("skipped: CURTSY_CONFORMANCE names no folder");
}

#[test]
fn robots_rows_come_out_as_they_say() {
    check("robots.jsonl", robots);
}

#[test]
fn robots_fetch_rows_come_out_as_they_say() {
    check("robots_fetch_policy.jsonl", robots_fetch);
}
