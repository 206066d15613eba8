//! A build by cargo, and the file that it made.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde_json::Value as Json;

/// Runs a build and returns the program or the shared library of the target `name`.
pub(crate) fn build(command: &mut Command, name: &str) -> anyhow::Result<PathBuf> {
    let built = command
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .context("starting cargo")?;
    if !built.status.success() {
        bail!("`{name}` could not be built");
    }
    let mut found = None;
    for message in serde_json::Deserializer::from_slice(&built.stdout).into_iter::<Json>() {
        let message = message.context("reading cargo's messages")?;
        let target = &message["target"];
        if message["reason"] != "compiler-artifact" || target["name"] != name {
            continue;
        }
        if let Some(program) = message["executable"].as_str() {
            found = Some(PathBuf::from(program));
        } else {
            let files = message["filenames"].as_array().into_iter().flatten();
            let files = files.filter_map(Json::as_str).map(PathBuf::from);
            found = files.into_iter().find(|file| is_shared(file)).or(found);
        }
    }
    found.with_context(|| format!("cargo built no `{name}`"))
}

fn is_shared(file: &Path) -> bool {
    let end = file.extension().and_then(|end| end.to_str());
    matches!(end, Some("so" | "dylib" | "dll"))
}
