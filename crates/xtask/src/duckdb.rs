//! Builds the extension and writes the file that DuckDB loads: the library and a footer.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, bail};

use crate::cargo;
use crate::dist::Toolchain;
use crate::files;
use crate::footer::Footer;

/// The version of DuckDB's C API that the extension asks for when it is loaded.
const API: &str = "v1.5.6";

/// The name before `.duckdb_extension` is that of the function which DuckDB calls first: `curtsy_init_c_api`.
const FILE: &str = "curtsy.duckdb_extension";

struct ExtensionChoice {
    profile: String,
    out: Option<PathBuf>,
}

pub(crate) fn run(words: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let choice = choice(words)?;
    let library = build(&Toolchain::native(), &choice.profile)?;
    let out = match choice.out {
        Some(out) => out,
        None => library.with_file_name(FILE),
    };
    put(&library, &out)?;
    crate::print(out.display());
    Ok(())
}

/// Builds the extension with a toolchain and writes the file that DuckDB loads.
pub(crate) fn write(toolchain: &Toolchain, profile: &str, out: &Path) -> anyhow::Result<()> {
    put(&build(toolchain, profile)?, out)
}

fn build(toolchain: &Toolchain, profile: &str) -> anyhow::Result<PathBuf> {
    let mut command = toolchain.cargo();
    command.args(["--package", "curtsy-duckdb", "--lib", "--profile", profile]);
    cargo::build(&mut command, "curtsy_duckdb")
}

/// Writes the library and its footer.
fn put(library: &Path, out: &Path) -> anyhow::Result<()> {
    let mut bytes = files::read(library)?;
    let extension = format!("v{}", env!("CARGO_PKG_VERSION"));
    let footer = Footer { abi: "C_STRUCT", api: API, extension: &extension, platform: platform()? };
    bytes.extend(footer.bytes());
    // A DuckDB that has the old file loaded keeps it: the new one comes under the same name, not into the same file.
    let fresh = out.with_extension("new");
    fs::write(&fresh, bytes).with_context(|| format!("writing `{}`", fresh.display()))?;
    fs::rename(&fresh, out).with_context(|| format!("writing `{}`", out.display()))
}

fn choice(mut words: impl Iterator<Item = String>) -> anyhow::Result<ExtensionChoice> {
    let mut choice = ExtensionChoice { profile: "dev".to_owned(), out: None };
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("expected a value after {word}"));
        match word.as_str() {
            "--release" => choice.profile = "release".to_owned(),
            "--profile" => choice.profile = value()?,
            "--out" => choice.out = Some(value()?.into()),
            _ => bail!("unexpected `{word}`\n{}", crate::HELP),
        }
    }
    Ok(choice)
}

/// DuckDB's name for the machine that this is built on.
fn platform() -> anyhow::Result<&'static str> {
    match (env::consts::OS, env::consts::ARCH) {
        ("linux", "x86_64") => Ok("linux_amd64"),
        ("linux", "aarch64") => Ok("linux_arm64"),
        ("macos", "x86_64") => Ok("osx_amd64"),
        ("macos", "aarch64") => Ok("osx_arm64"),
        ("windows", "x86_64") => Ok("windows_amd64"),
        (os, arch) => bail!("DuckDB has no name for {os} on {arch}"),
    }
}
