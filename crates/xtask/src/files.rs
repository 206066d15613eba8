//! Files, with errors that name them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

pub(crate) fn read(path: impl AsRef<Path>) -> anyhow::Result<Vec<u8>> {
    let path = path.as_ref();
    fs::read(path).with_context(|| format!("reading `{}`", path.display()))
}

pub(crate) fn read_text(path: impl AsRef<Path>) -> anyhow::Result<String> {
    let path = path.as_ref();
    fs::read_to_string(path).with_context(|| format!("reading `{}`", path.display()))
}

/// Writes a file, and makes the folders that it is in.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let folder = path.parent().context("a file in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("making `{}`", folder.display()))?;
    fs::write(path, text).with_context(|| format!("writing `{}`", path.display()))
}

/// Removes a folder, if it exists.
pub(crate) fn remove_folder(path: &Path) -> anyhow::Result<()> {
    match path.exists() {
        true => fs::remove_dir_all(path).with_context(|| format!("removing `{}`", path.display())),
        false => Ok(()),
    }
}

/// Every file below a folder, sorted.
pub(crate) fn below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).with_context(|| format!("reading `{}`", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    Ok(found)
}

pub(crate) fn has_end(file: &Path, end: &str) -> bool {
    file.extension().is_some_and(|found| found == end)
}

/// A temporary folder, removed at the end.
pub(crate) struct TemporaryFolder(pub(crate) PathBuf);

impl TemporaryFolder {
    pub(crate) fn new(of: &str) -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("curtsy-{of}-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("making `{}`", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}
