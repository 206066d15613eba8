//! The tables of `docs/reference/policy.md` agree with the program. `UPDATE_DOCS=1 cargo test -p
//! curtsy-core` updates them.
#![allow(clippy::disallowed_methods, reason = "this test is about a file")]

use std::path::Path;

use curtsy_core::policy::{Policy, tables};

fn document() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/policy.md")
}

#[test]
fn generated_tables_are_fresh() {
    let path = document();
    let mut text = std::fs::read_to_string(&path).expect("docs/reference/policy.md is there");
    let stale = tables().into_iter().filter(|(name, table)| {
        let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
        let from = text.find(&begin).unwrap_or_else(|| panic!("no `{begin}`")) + begin.len();
        let to = from + text[from..].find(&end).unwrap_or_else(|| panic!("no `{end}`"));
        let is_stale = text[from..to] != **table;
        text.replace_range(from..to, table);
        is_stale
    });
    let stale: Vec<_> = stale.map(|(name, _)| name).collect();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).expect("docs/reference/policy.md can be written");
        return;
    }
    assert!(
        stale.is_empty(),
        "docs/reference/policy.md is stale in {stale:?}\nhint: UPDATE_DOCS=1 cargo test -p curtsy-core --test policy_document"
    );
}

#[test]
fn examples_in_the_document_are_policies() {
    let text = std::fs::read_to_string(document()).expect("docs/reference/policy.md is there");
    let examples: Vec<_> =
        text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!examples.is_empty());
    for example in examples {
        if let Err(error) = Policy::parse(example) {
            panic!("{error}\n{example}");
        }
    }
}
