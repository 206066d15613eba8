//! The table of `docs/reference/limits.md` has every limit with its value.
//!
//! The document has the words: what each limit bounds, and what happens when it is reached. The
//! code has the values. `UPDATE_DOCS=1 cargo test -p curtsy --features fleet,serve --test limits`
//! writes the values into the document, and a row without words for each new limit. Both features
//! are needed: without them the lists are not complete.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use curtsy_core::limits::{Bound, Hit, Limit};
use curtsy_core::policy::Field;

const HEAD: &str = "| limit | what is bounded | bound | when it is reached | counted as |\n|---|---|---|---|---|\n";

#[test]
fn the_table_of_limits_has_the_values_of_the_code_and_words_for_each() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/limits.md");
    let mut text = std::fs::read_to_string(&path).expect("docs/reference/limits.md is there");
    let (begin, end) = ("<!-- begin limits -->\n", "<!-- end limits -->");
    let from = text.find(begin).expect("the table begins") + begin.len();
    let to = text.find(end).expect("the table ends");
    let written = text[from..to].to_owned();
    let fresh = table(&words(&written));
    text.replace_range(from..to, &fresh);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).expect("docs/reference/limits.md can be written");
    } else {
        assert_eq!(
            written, fresh,
            "docs/reference/limits.md is stale\nhint: UPDATE_DOCS=1 cargo test -p curtsy --features fleet,serve --test limits"
        );
    }
    for (name, (what, outcome)) in words(&fresh) {
        assert!(!what.is_empty() && !outcome.is_empty(), "`{name}` has no words in {path:?}");
    }
}

#[test]
fn every_limit_has_one_name_and_every_field_is_one() {
    let mut names = BTreeSet::new();
    for limit in all() {
        assert!(names.insert(limit.name), "`{}` is there twice", limit.name);
        if let Bound::Field(key) = limit.bound {
            assert!(Field::find(key).is_some(), "`{key}` is a field of the policy");
        }
    }
}

#[test]
fn every_label_is_some_limit() {
    for &hit in Hit::ALL {
        assert!(all().iter().any(|limit| limit.hit == Some(hit)), "`{}`", hit.name());
        assert_eq!(Hit::ALL[hit as usize], hit, "counted by its place");
    }
}

fn all() -> Vec<Limit> {
    let lists = [
        curtsy_fetch::limits(),
        curtsy_core::limits::limits(),
        curtsy_parse::limits(),
        curtsy_engine::limits(),
        curtsy_store::limits(),
        curtsy_sink::limits(),
        curtsy_crawl::limits(),
        curtsy::limits(),
        curtsy_serve::limits(),
        curtsy_tiles::limits(),
    ];
    lists.concat()
}

/// The words of each row: what is bounded, and what happens when the limit is reached.
fn words(table: &str) -> BTreeMap<&str, (&str, &str)> {
    let rows = table.strip_prefix(HEAD).expect("the head of the table").lines();
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let words = cells.map(|cells| match cells[..] {
        ["", name, what, _, outcome, _, ""] => (name.trim_matches('`'), (what, outcome)),
        _ => panic!("not a row of five cells: {cells:?}"),
    });
    words.collect()
}

fn table(words: &BTreeMap<&str, (&str, &str)>) -> String {
    let rows = all().into_iter().map(|Limit { name, bound, hit }| {
        let (what, outcome) = words.get(name).copied().unwrap_or_default();
        let hit = hit.map_or_else(|| "–".to_owned(), |hit| format!("`{}`", hit.name()));
        format!("| `{name}` | {what} | {} | {outcome} | {hit} |\n", bound.text())
    });
    std::iter::once(HEAD.to_owned()).chain(rows).collect()
}
