//! The table of `docs/reference/zoo.md` is that of the code. `UPDATE_DOCS=1 cargo test -p
//! curtsy-lab --test zoo_document` writes it anew.

use std::fmt::Write;
use std::path::Path;

use curtsy_lab::zoo::{CaseGroup, cases};

#[test]
fn the_table_of_cases_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/zoo.md");
    let mut text = std::fs::read_to_string(&path).expect("docs/reference/zoo.md is there");
    let (begin, end) = ("<!-- begin cases -->\n", "<!-- end cases -->");
    let from = text.find(begin).expect("the table begins") + begin.len();
    let to = from + text[from..].find(end).expect("the table ends");
    let table = table();
    let stale = text[from..to] != table;
    text.replace_range(from..to, &table);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).expect("docs/reference/zoo.md can be written");
        return;
    }
    assert!(
        !stale,
        "docs/reference/zoo.md is stale\nhint: UPDATE_DOCS=1 cargo test -p curtsy-lab --test zoo_document"
    );
}

/// Every case, group by group.
fn table() -> String {
    let cases = cases();
    let mut text = format!("{} cases.\n", cases.len());
    for &group in CaseGroup::ALL {
        let name = group.name();
        let mut rows = cases.iter().filter(|case| case.group == group).peekable();
        if rows.peek().is_none() {
            continue;
        }
        write!(text, "\n### {name}\n\n| case | the server | expected | ends by | requests |\n|---|---|---|---|---:|\n").unwrap();
        for case in rows {
            let or = case.or.map_or_else(String::new, |or| format!(" or {or}"));
            let because = match case.because {
                "" => String::new(),
                because => format!(" ({because})"),
            };
            writeln!(
                text,
                "| `{}` | {} | {}{or}{because} | {} | {} |",
                case.name,
                case.does,
                case.expect,
                case.deadline.name(),
                case.requests_max
            )
            .unwrap();
        }
    }
    text
}

/// "≥ 120 misbehaviours, each a named, documented case."
#[test]
fn there_are_enough_of_them() {
    let hostile = cases().iter().filter(|case| case.group != CaseGroup::Control).count();
    assert!(hostile >= 120, "{hostile}");
}
