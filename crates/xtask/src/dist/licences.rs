//! The licences of what is linked into the program: their texts must go with it.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Context;

use super::sbom::Package;
use crate::files;

/// One text with every licence, and the crates that it applies to.
pub(super) fn notice(packages: &[Package]) -> anyhow::Result<Vec<u8>> {
    let mut list = String::new();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages.iter().filter(|package| package.foreign) {
        let name = format!("{} {}", package.name, package.version);
        let licence = package.licence.as_deref().unwrap_or("see its text below");
        list.push_str(&format!("{name}: {licence}\n"));
        let entries = fs::read_dir(&package.folder)
            .with_context(|| format!("reading `{}`", package.folder.display()))?;
        for entry in entries {
            let path = entry.context("reading a crate's folder")?.path();
            let file = path.file_name().map(|name| name.to_string_lossy().to_uppercase());
            let starts = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE", "COPYRIGHT"];
            let is_licence =
                file.is_some_and(|file| starts.iter().any(|one| file.starts_with(one)));
            if is_licence && path.is_file() {
                let bytes = files::read(&path)?;
                let text = String::from_utf8_lossy(&bytes).trim().replace("\r\n", "\n");
                texts.entry(text).or_default().push(name.clone());
            }
        }
    }
    let mut notice = format!(
        "The program curtsy contains the libraries below. Their licences follow the list.\n\n{list}"
    );
    let mut texts: Vec<(String, Vec<String>)> = texts.into_iter().collect();
    texts.sort_by(|one, other| one.1.cmp(&other.1).then_with(|| one.0.cmp(&other.0)));
    for (text, mut names) in texts {
        names.sort();
        names.dedup();
        let rule = "-".repeat(80);
        notice.push_str(&format!("\n{rule}\nThe licence of {}:\n\n{text}\n", names.join(", ")));
    }
    Ok(notice.into_bytes())
}
