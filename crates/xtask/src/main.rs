//! `cargo xtask`: what building this repository and its documents needs beyond cargo.

mod cargo;
mod check;
mod dist;
mod duckdb;
mod files;
mod footer;
mod markdown;
mod picture;
mod prose;
mod rules;
mod site;

use std::env;
use std::fmt::Display;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = env::args().skip(1);
    let done = match words.next().as_deref() {
        Some("dist") => dist::run(words),
        Some("duckdb") => duckdb::run(words),
        Some("picture") => picture::run(words),
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
fn print(text: impl Display) {
    println!("{text}");
}

const HELP: &str = "\
usage: cargo xtask COMMAND

duckdb [--release | --profile PROFILE] [--out FILE]
    Builds the DuckDB extension and prints the path of the file that LOAD takes.
dist [--out DIR] [--native] [--profile PROFILE] [--try]
dist --program FILE --extension FILE [--out DIR] [--try]
    Builds the packages of a release (tar.gz, .deb, wheel, SBOM, SHA256SUMS) into DIR
    [default: target/packages] and prints their paths. Installs Zig from PyPI, so that the
    packages run with an older C library than this machine's; --native does without.
    --try installs, uses and removes each package in a fresh Debian (root, debootstrap).
picture CURTSY [--out FILE]
    Records the program CURTSY in a terminal and draws docs/images/curtsy.svg.
prose
    Checks the documents: lines of at most 100 columns, sentences of at most 40 words, and the
    house rules for words in crates/xtask/src/rules.rs.
site [--out DIR] [--check CURTSY]
    Builds the web site of the documents with MkDocs (from PyPI) and prints its folder.
    --check serves it on 127.0.0.1 and fails if the program CURTSY finds a broken link,
    image or fragment.";
