//! `cargo xtask`: what building this repository and its documents needs beyond cargo.

mod duckdb;
mod footer;
mod picture;

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = env::args().skip(1);
    let done = match words.next().as_deref() {
        Some("duckdb") => duckdb::run(words),
        Some("picture") => picture::run(words),
        _ => Err(anyhow::anyhow!("{HELP}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stderr, reason = "this is a program")]
fn say(text: &str) {
    eprintln!("{text}");
}

const HELP: &str = "\
usage: cargo xtask duckdb [--release | --profile PROFILE] [--out FILE]
       cargo xtask picture CURTSY [--out FILE]

duckdb   builds the DuckDB extension and prints the path of the file that LOAD takes
picture  records the program CURTSY in a terminal and draws docs/images/curtsy.svg";
