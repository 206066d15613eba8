//! `curtsy conformance`.

use super::{check, curtsy};

#[test]
fn failing_rows_are_named_and_the_last_line_counts() {
    check("conformance-surt", &curtsy(&["conformance", "surt", "facts/surt.jsonl"]));
    let folder = curtsy(&["conformance", "surt", "facts"]);
    assert!(folder.out.ends_with("1 passed, 1 failed, 0 skipped\n"), "{}", folder.out);
}

#[test]
fn a_file_that_is_not_there_or_not_rows_ends_with_2() {
    for arguments in
        [["conformance", "robots", "facts"], ["conformance", "urls", "policies/mine.toml"]]
    {
        let run = curtsy(&arguments);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(run.err.starts_with("error: "), "{}", run.err);
    }
}

#[test]
fn other_lists_of_pages_may_be_given_in_words() {
    check("conformance-sitemaps", &curtsy(&["conformance", "sitemaps", "facts"]));
}

#[test]
fn a_row_that_is_not_understood_fails_with_its_line() {
    for (file, says) in [("unknown-word", "any-order"), ("unknown-field", "news_title")] {
        let path = format!("facts/sitemaps/{file}.jsonl");
        let run = curtsy(&["conformance", "sitemaps", &path]);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
        assert!(run.err.contains(&format!("`{path}` line 2")), "{}", run.err);
        assert!(run.err.contains(says), "{}", run.err);
    }
}
