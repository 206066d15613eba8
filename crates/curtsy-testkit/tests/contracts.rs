//! Every store, sink and cache of the workspace is listed in `docs/internals/contracts.md`: with
//! the test in which it keeps its contract, or with the reason why it has none.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_store_sink_and_cache_is_listed_with_its_test_or_a_reason() {
    let listed = listed();
    let found = implementations();
    let names = |of: &BTreeSet<Implementation>| of.iter().map(show).collect::<Vec<_>>().join("\n");
    let missing: BTreeSet<_> = found.difference(&listed).cloned().collect();
    assert!(missing.is_empty(), "not listed in docs/internals/contracts.md:\n{}", names(&missing));
    let gone: BTreeSet<_> = listed.difference(&found).cloned().collect();
    assert!(gone.is_empty(), "listed in docs/internals/contracts.md, but gone:\n{}", names(&gone));
}

/// A trait, a type, and the crate that implements the trait for the type.
type Implementation = (String, String, String);

fn show((name, of, in_crate): &Implementation) -> String {
    format!("`{name}` for `{of}` in `{in_crate}`")
}

/// What the document lists. A test that it names must be there.
fn listed() -> BTreeSet<Implementation> {
    let text = fs::read_to_string(root().join("docs/internals/contracts.md")).unwrap();
    let mut listed = BTreeSet::new();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [of, name, in_crate, last] = cells[..] else { panic!("four cells: {line}") };
        let plain = |cell: &str| cell.trim_matches('`').to_owned();
        assert!(!last.is_empty(), "a test or a reason: {line}");
        if let Some((file, test)) = last.trim_matches('`').split_once("::") {
            let text = fs::read_to_string(root().join("crates").join(file));
            let text = text.unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(text.contains(&format!("fn {test}()")), "`{test}` is not in {file}");
        }
        assert!(listed.insert((plain(name), plain(of), plain(in_crate))), "twice: {line}");
    }
    assert!(listed.len() > 10, "the tables were found");
    listed
}

/// Every `impl … Store for …`, `impl … Sink for …` and `impl … Cache for …` in `src` of a crate.
fn implementations() -> BTreeSet<Implementation> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        for file in sources(&folder.join("src")) {
            for line in fs::read_to_string(file).unwrap().lines() {
                let Some((head, of)) = line.trim().split_once(" for ") else { continue };
                let (Some("impl"), Some(implemented)) =
                    (head.get(..4), head.rsplit([' ', '>', ':']).next())
                else {
                    continue;
                };
                if ["Store", "Sink", "Cache"].contains(&implemented) {
                    let end = of.find(['<', ' ', '{']).unwrap_or(of.len());
                    found.insert((implemented.to_owned(), of[..end].to_owned(), name.clone()));
                }
            }
        }
    }
    found
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let inside = folders.iter().flat_map(|folder| sources(folder));
    files.into_iter().filter(rust).chain(inside).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
