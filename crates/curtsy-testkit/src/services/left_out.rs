//! How a test says that it could not run.
//!
//! `./test` sets `CURTSY_LEFT_OUT` to the path of a file, and prints its lines at its end. Without
//! the variable the reason is only in the test's own output.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::thread;

/// Says that the test at hand could not run, and why. Where `CI` is set, the test fails instead:
/// everything that it needs must be installed there.
#[track_caller]
pub fn could_not_run(why: &str) {
    let is_ci = env::var_os("CI").is_some_and(|ci| !ci.is_empty() && ci != "false");
    assert!(!is_ci, "this test must run where CI is set: {why}");
    left_out(why);
}

/// Says that the test at hand checked nothing, and why, also where `CI` is set: what it needs does
/// not belong to the repository.
#[expect(clippy::print_stderr, reason = "a test that did not run says so")]
pub fn left_out(why: &str) {
    let test = thread::current().name().unwrap_or("a test").to_owned();
    eprintln!("not run: {test}: {why}");
    if let Some(path) = env::var_os("CURTSY_LEFT_OUT") {
        // Tests run in parallel. One short write to a file that is appended to is not torn.
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let written =
            file.and_then(|mut file| file.write_all(format!("{test}: {why}\n").as_bytes()));
        written.unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
    }
}
