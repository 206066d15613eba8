//! Runs the program itself and compares what it prints, where, and the code that it ends with.

mod conformance;
mod judge;
mod policy;
mod robots;
mod sim;
mod site;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How one run of the program ended.
struct Run {
    out: String,
    err: String,
    code: Option<i32>,
}

/// Runs the program in an empty environment, in this folder of example files.
fn curtsy(arguments: &[&str]) -> Run {
    curtsy_with(arguments, &[], "")
}

fn curtsy_with(arguments: &[&str], variables: &[(&str, &str)], input: &str) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_curtsy"))
        .args(arguments)
        .env_clear()
        .envs(variables.iter().copied())
        .current_dir(folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // A program that ends without reading its input has closed the pipe: that is its right.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let ended = child.wait_with_output().expect("the program ends");
    let text = |bytes| String::from_utf8(bytes).expect("the program prints UTF-8");
    Run { out: text(ended.stdout), err: text(ended.stderr), code: ended.status.code() }
}

/// Compares with a file under `snapshots/`; `UPDATE_SNAPSHOTS=1 cargo test -p curtsy` writes it anew.
#[track_caller]
fn check(name: &str, run: &Run) {
    let text = format!(
        "code {}\n--- stdout\n{}--- stderr\n{}",
        run.code.map_or("none".to_owned(), |code| code.to_string()),
        run.out,
        run.err
    )
    // A release changes the version everywhere and nothing else.
    .replace(concat!("curtsy/", env!("CARGO_PKG_VERSION")), "curtsy/VERSION");
    let path = folder().join("snapshots").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, text).expect("snapshots can be written");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "hint: UPDATE_SNAPSHOTS=1 cargo test -p curtsy --test program");
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program")
}

#[test]
fn help_shows_every_command_with_examples_and_exit_codes() {
    let run = curtsy(&["--help"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    for part in ["policy", "sim", "Examples:", "Exit codes: 0"] {
        assert!(run.out.contains(part), "{}", run.out);
    }
}

#[test]
fn a_wrong_argument_ends_with_2_and_prints_no_data() {
    for arguments in [&["polite"][..], &["policy", "show", "--colour"], &["policy"], &[]] {
        let run = curtsy(arguments);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(!run.err.is_empty());
    }
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_curtsy"))
        .args(["policy", "show", "careful", "--json"])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let ended = child.wait_with_output().expect("the program ends");
    // Quick as it is, the program may have written everything before we closed; it never panics.
    assert!(matches!(ended.status.code(), Some(0 | 141)), "{:?}", ended.status);
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
}
