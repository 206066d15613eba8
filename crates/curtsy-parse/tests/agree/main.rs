//! Pages that nobody would write, read by this crate and by html5ever: both must see the same
//! elements in the same order.

mod pieces;
mod seen;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::FileFailurePersistence;

use pieces::{BLOCKS, FOREIGN, FORMATTING, HEAD, ISLANDS, LINKS, RAW, SIGNS, TABLE};
use seen::{is_misread_by_them, ours, theirs};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn soup_is_read_as_by_another_parser(pieces in prop::collection::vec(piece(), 0..40)) {
        let page = pieces.concat();
        if !is_misread_by_them(&page) {
            prop_assert_eq!(ours(&page), theirs(&page), "{}", page);
        }
    }

    #[test]
    fn tables_are_read_as_by_another_parser(
        pieces in prop::collection::vec(prop_oneof![3 => select(TABLE), 1 => select(LINKS)], 0..30),
    ) {
        let page = pieces.concat();
        if !is_misread_by_them(&page) {
            prop_assert_eq!(ours(&page), theirs(&page), "{}", page);
        }
    }

    #[test]
    fn formatting_is_read_as_by_another_parser(
        pieces in prop::collection::vec(prop_oneof![3 => select(FORMATTING), 1 => select(BLOCKS)], 0..40),
    ) {
        let page = pieces.concat();
        if !is_misread_by_them(&page) {
            prop_assert_eq!(ours(&page), theirs(&page), "{}", page);
        }
    }

    #[test]
    fn islands_are_read_as_by_another_parser(pieces in prop::collection::vec(select(ISLANDS), 0..30)) {
        let page = pieces.concat();
        prop_assert_eq!(ours(&page), theirs(&page), "{}", page);
    }

    #[test]
    fn signs_are_read_as_by_another_parser(pieces in prop::collection::vec(select(SIGNS), 0..60)) {
        let page = pieces.concat();
        prop_assert_eq!(ours(&page), theirs(&page), "{:?}", page);
    }
}

#[test]
fn pages_on_which_they_once_differed() {
    for page in DIFFERED {
        assert_eq!(ours(page), theirs(page), "{page}");
    }
}

fn piece() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        4 => select(LINKS),
        4 => select(BLOCKS),
        3 => select(FORMATTING),
        3 => select(TABLE),
        2 => select(HEAD),
        2 => select(FOREIGN),
        2 => select(RAW),
        1 => select(SIGNS),
    ]
}

#[expect(clippy::disallowed_methods, reason = "the number of cases is a setting")]
fn config() -> ProptestConfig {
    let config = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(1_500),
    };
    let kept = FileFailurePersistence::WithSource("regressions");
    ProptestConfig { failure_persistence: Some(Box::new(kept)), ..config }
}

const DIFFERED: &[&str] = &[
    // A link of a template is opened again after it: the cell's marker is taken for the template's.
    "<template><colgroup><a href=7><th><a href=t></template>x",
    // White space after the end of a frameset page opens formatting again.
    "<a href=1><frameset></frameset></html> ",
];
