//! The table of `docs/reference/limits.md` is what the code goes by. `UPDATE_DOCS=1 cargo test -p curtsy --features fleet,serve --test limits`
//! writes it anew; it has the limits of every part, so both features must be there.

use std::collections::BTreeSet;
use std::path::Path;

use curtsy_core::limits::{Bound, Hit, Limit};
use curtsy_core::policy::Field;

#[test]
fn the_table_of_limits_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/limits.md");
    let mut text = std::fs::read_to_string(&path).expect("docs/reference/limits.md is there");
    let (begin, end) = ("<!-- begin limits -->\n", "<!-- end limits -->");
    let from = text.find(begin).expect("the table begins") + begin.len();
    let to = text.find(end).expect("the table ends");
    let fresh = text[from..to] == table();
    text.replace_range(from..to, &table());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).expect("docs/reference/limits.md can be written");
        return;
    }
    assert!(
        fresh,
        "docs/reference/limits.md is stale\nhint: UPDATE_DOCS=1 cargo test -p curtsy --features fleet,serve --test limits"
    );
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

fn table() -> String {
    let mut text = String::from(
        "| limit | what is bounded | bound | when it is reached | counted as |\n|---|---|---|---|---|\n",
    );
    for Limit { name, what, bound, outcome, hit } in all() {
        let hit = hit.map_or_else(|| "–".to_owned(), |hit| format!("`{}`", hit.name()));
        text.push_str(&format!("| `{name}` | {what} | {} | {outcome} | {hit} |\n", bound.text()));
    }
    text
}
