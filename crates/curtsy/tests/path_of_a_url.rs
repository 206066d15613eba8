//! Does the document about the path of a URL name functions that exist, and not too many?

use std::fs;
use std::path::{Path, PathBuf};

/// A walk that is longer than this no longer fits in a head.
const HOPS_MAX: usize = 90;

#[test]
fn every_function_on_the_path_of_a_url_is_in_its_file() {
    let text = read("docs/internals/path-of-a-url.md");
    let mut hops = 0;
    let mut file = "";
    for line in text.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [number, function, named] = cells[..] else { continue };
        let Ok(number) = number.parse::<usize>() else { continue };
        hops += 1;
        assert_eq!(number, hops, "the rows are numbered in order: {line}");
        if !named.is_empty() {
            file = named.trim_matches('`');
        }
        let (owner, name) = match function.trim_matches('`').rsplit_once("::") {
            Some((owner, name)) => (Some(owner), name),
            None => (None, function.trim_matches('`')),
        };
        let source = read(file);
        let defined = |definition: &str| {
            source.match_indices(definition).any(|(at, _)| {
                let next = source[at + definition.len()..].chars().next();
                next.is_some_and(|next| !next.is_alphanumeric() && next != '_')
            })
        };
        assert!(defined(&format!("fn {name}")), "`{file}` has no function `{name}`: {line}");
        // A module as the owner is the file itself.
        let owner = owner.map(|owner| owner.rsplit("::").next().unwrap_or(owner));
        if let Some(owner) = owner.filter(|owner| owner.starts_with(char::is_uppercase)) {
            assert!(defined(owner), "`{file}` has no implementation of `{owner}`: {line}");
        }
    }
    assert!(hops > HOPS_MAX / 2, "the tables were not found: {hops} rows");
    assert!(hops <= HOPS_MAX, "{hops} functions, expected at most {HOPS_MAX}");
}

fn read(path: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join(Path::new(path));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()))
}
