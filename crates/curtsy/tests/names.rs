//! Names of types: a name means one thing in the whole workspace.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Names that several types still share, each in a crate or a program of its own. A name that has
/// become unique must leave the list.
const EXCEPTIONS: &str = "\
    Answer Coding Ending Mode Options Outcome Scene Sitemap SitemapKind Way";

#[test]
fn every_type_has_a_name_of_its_own() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in sources() {
        let text = fs::read_to_string(&file).expect("a source file is text");
        for name in text.lines().filter_map(defined) {
            let place = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
            places.entry(name.to_owned()).or_default().push(place);
        }
    }
    places.retain(|_, places| places.len() > 1);
    let exceptions: Vec<&str> = EXCEPTIONS.split_whitespace().collect();
    let shared: Vec<String> = places
        .iter()
        .filter(|(name, _)| !exceptions.contains(&name.as_str()))
        .map(|(name, places)| format!("`{name}`: {}", places.join(", ")))
        .collect();
    assert!(shared.is_empty(), "types that share a name:\n{}", shared.join("\n"));
    let unique: Vec<_> = exceptions.iter().filter(|name| !places.contains_key(**name)).collect();
    assert!(unique.is_empty(), "unique now, remove them from the exceptions: {unique:?}");
}

/// Returns the name of the type that a line defines. Associated types, which are indented, do not
/// count: their names are those of their traits.
fn defined(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let code = match code.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => code,
    };
    let (keyword, rest) = code.split_once(' ')?;
    let counts = match keyword {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => !line.starts_with(' '),
        _ => false,
    };
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    (counts && end > 0).then_some(&rest[..end])
}

fn sources() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = children(&root().join("crates"));
    folders.iter_mut().for_each(|folder| folder.push("src"));
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for child in children(&folder) {
            match child.is_dir() {
                true => folders.push(child),
                false if child.extension().is_some_and(|end| end == "rs") => files.push(child),
                false => {}
            }
        }
    }
    files
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
