//! Builds the extension and writes the file that DuckDB loads: the library and a footer.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context, bail};
use serde_json::Value as Json;

use crate::footer::Footer;

/// The version of DuckDB's C API that the extension asks for when it is loaded.
const API: &str = "v1.5.6";

/// The name before `.duckdb_extension` is that of the function which DuckDB calls first: `curtsy_init_c_api`.
const FILE: &str = "curtsy.duckdb_extension";

struct Choice {
    profile: String,
    out: Option<PathBuf>,
}

pub(crate) fn run(words: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let choice = choice(words)?;
    let library = build(&choice.profile)?;
    let out = match choice.out {
        Some(out) => out,
        None => library.with_file_name(FILE),
    };
    let mut bytes =
        fs::read(&library).with_context(|| format!("reading `{}`", library.display()))?;
    let extension = format!("v{}", env!("CARGO_PKG_VERSION"));
    let footer = Footer { abi: "C_STRUCT", api: API, extension: &extension, platform: platform()? };
    bytes.extend(footer.bytes());
    // A DuckDB that has the old file loaded keeps it: the new one comes under the same name, not into the same file.
    let fresh = out.with_extension("new");
    fs::write(&fresh, bytes).with_context(|| format!("writing `{}`", fresh.display()))?;
    fs::rename(&fresh, &out).with_context(|| format!("writing `{}`", out.display()))?;
    crate::print(&out.display().to_string());
    Ok(())
}

fn choice(mut words: impl Iterator<Item = String>) -> anyhow::Result<Choice> {
    let mut choice = Choice { profile: "dev".to_owned(), out: None };
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

/// Builds the library and says where it is, as cargo reports it.
fn build(profile: &str) -> anyhow::Result<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--package", "curtsy-duckdb", "--lib", "--profile", profile])
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .context("starting cargo")?;
    if !built.status.success() {
        bail!("the extension could not be built");
    }
    let messages = serde_json::Deserializer::from_slice(&built.stdout).into_iter::<Json>();
    let mut library = None;
    for message in messages {
        let message = message.context("reading what cargo says")?;
        if message["reason"] != "compiler-artifact" || message["target"]["name"] != "curtsy_duckdb"
        {
            continue;
        }
        let files = message["filenames"].as_array().into_iter().flatten();
        let files = files.filter_map(Json::as_str).map(PathBuf::from);
        library = files.into_iter().find(|file| is_library(file)).or(library);
    }
    library.context("cargo built no library")
}

fn is_library(file: &Path) -> bool {
    let end = file.extension().and_then(|end| end.to_str());
    matches!(end, Some("so" | "dylib" | "dll"))
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
