//! `cargo xtask`: what building this repository needs beyond cargo.

mod check;
mod duckdb;
mod footer;
mod markdown;
mod prose;
mod rules;
mod site;

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = env::args().skip(1);
    let done = match words.next().as_deref() {
        Some("duckdb") => duckdb::run(words),
        Some("prose") => prose::run(),
        Some("site") => site::run(words),
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

#[expect(clippy::print_stdout, reason = "this is a program")]
fn print(text: &str) {
    println!("{text}");
}

const HELP: &str = "\
usage: cargo xtask duckdb [--release | --profile PROFILE] [--out FILE]
       cargo xtask prose
       cargo xtask site [--out DIR] [--check CURTSY]

duckdb  builds the DuckDB extension and prints the path of the file that LOAD takes
prose   checks the documents: lines of at most 100 columns, sentences of at most 40 words, and the
        house rules for words in crates/xtask/src/rules.rs
site    builds the web site of the documents with MkDocs (from PyPI, into target/venv) and prints
        its folder; with --check, serves it on 127.0.0.1 and fails if the program CURTSY finds a
        broken link, image or fragment";
