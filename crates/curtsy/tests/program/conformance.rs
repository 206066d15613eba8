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
