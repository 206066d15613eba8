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

/// The names in the lists of commands at the top of the program's help.
fn listed_commands(help: &str) -> Vec<&str> {
    let (lists, _) = help.split_once("\nOptions:\n").expect("options follow the commands");
    let names = lists.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase())).collect()
}

#[test]
fn help_shows_every_command_with_examples_and_exit_codes() {
    let run = curtsy(&["--help"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert!(run.out.contains("\nExamples:\n"), "{}", run.out);
    for code in ["0 ", "1 ", "2 ", "3 ", "4 ", "130 ", "141 "] {
        assert!(run.out.contains(&format!("\n  {code} ")), "{code}: {}", run.out);
    }
    let listed = listed_commands(&run.out);
    let place = |name: &str| listed.iter().position(|listed| *listed == name).unwrap();
    assert!(place("crawl") < place("demo") && place("demo") < place("policy"), "{listed:?}");
    // Shells complete every command that there is.
    let completions = curtsy(&["completions", "fish"]).out;
    let completed = completions.lines().filter(|line| line.contains("__fish_curtsy_needs_command"));
    let completed = completed.filter_map(|line| line.split_once(" -a \"")?.1.split('"').next());
    let mut completed: Vec<&str> = completed.collect();
    // Another name of `block`, which its help shows.
    completed.retain(|name| *name != "stop");
    let mut sorted = listed.clone();
    completed.sort_unstable();
    sorted.sort_unstable();
    assert_eq!(sorted, completed, "the commands of the help and of the shells");
    for name in listed.into_iter().filter(|name| *name != "help") {
        let help = curtsy(&[name, "--help"]);
        assert_eq!((help.code, help.err.as_str()), (Some(0), ""), "{name}");
        let shows = ["Example", "xamples:", "Commands:", "cargo build"];
        assert!(shows.iter().any(|shows| help.out.contains(shows)), "{name}: {}", help.out);
    }
}

/// Text that was broken into lines twice has lines that end much too early.
#[test]
fn help_fits_every_width_and_is_wrapped_once() {
    for width in [80, 100, 120] {
        let columns = width.to_string();
        for command in ["crawl", "zoo", "site", "worker", "serve", "explain", "judge"] {
            let run = curtsy_with(&[command, "--help"], &[("COLUMNS", &columns)], "");
            assert_eq!(run.code, Some(0), "{}", run.err);
            let long = run.out.lines().find(|line| line.chars().count() > width.min(110));
            assert_eq!(long, None, "{command} at {width} columns");
        }
    }
}

#[cfg(not(feature = "fleet"))]
#[test]
fn a_command_that_was_left_out_says_how_to_get_it() {
    for name in ["worker", "schedule", "fleet", "dlq"] {
        let run = curtsy(&[name, "status", "--json"]);
        assert_eq!(run.code, Some(2), "{}", run.err);
        assert!(run.err.contains("\"code\":\"not_built\""), "{}", run.err);
        let build = "cargo build --release -p curtsy --features fleet";
        assert!(run.err.contains(build), "{}", run.err);
        let help = curtsy(&[name, "--help"]);
        assert_eq!(help.code, Some(0), "{}", help.err);
        assert!(help.out.contains(build), "{}", help.out);
    }
}

#[cfg(feature = "fleet")]
#[test]
fn a_worker_shows_its_own_default_policy() {
    let run = curtsy_with(&["worker", "--help"], &[("COLUMNS", "110")], "");
    assert!(run.out.contains("[default: fleet]"), "{}", run.out);
    assert!(!run.out.contains("[default: careful]"), "{}", run.out);
}

#[cfg(feature = "serve")]
#[test]
fn the_service_shows_its_own_default_policy() {
    let run = curtsy_with(&["serve", "--help"], &[("COLUMNS", "110")], "");
    assert!(run.out.contains("[default: survey]"), "{}", run.out);
    assert!(!run.out.contains("[default: careful]"), "{}", run.out);
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
