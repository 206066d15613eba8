//! Texts similar to those of a corpus: a fuzzer that runs on stable Rust, within the test command.
//!
//! A corpus is a file of JSON strings, one a line, so that control characters are visible. An input
//! that ever failed is added to it by hand, in addition to what proptest stores.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::FileFailurePersistence;

/// Returns texts of the corpus with up to eight edits, and sometimes a random text.
pub(crate) fn near(corpus: &str) -> impl Strategy<Value = String> + use<> {
    let texts: Vec<String> =
        corpus.lines().map(|line| serde_json::from_str(line).expect("a JSON string")).collect();
    let edited = (select(texts.clone()), prop::collection::vec(edit(texts), 0..8)).prop_map(
        |(text, edits)| {
            let mut chars: Vec<char> = text.chars().collect();
            for edit in edits {
                edit.apply(&mut chars);
            }
            chars.into_iter().collect()
        },
    );
    prop_oneof![9 => edited, 1 => any::<String>()]
}

/// The number of texts for each property, unless `PROPTEST_CASES` sets another.
#[expect(clippy::disallowed_methods, reason = "the number of cases is a setting")]
pub(crate) fn config() -> ProptestConfig {
    let config = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(2_000),
    };
    let kept = FileFailurePersistence::WithSource("regressions");
    ProptestConfig { failure_persistence: Some(Box::new(kept)), ..config }
}

#[derive(Clone, Debug)]
enum Edit {
    Insert(Index, char),
    Replace(Index, char),
    Remove(Index, usize),
    Repeat(Index, usize, usize),
    Splice(Index, String),
}

fn edit(texts: Vec<String>) -> impl Strategy<Value = Edit> {
    let sign = prop_oneof![8 => select(SIGNS.to_vec()), 1 => any::<char>()];
    prop_oneof![
        (any::<Index>(), sign.clone()).prop_map(|(at, sign)| Edit::Insert(at, sign)),
        (any::<Index>(), sign).prop_map(|(at, sign)| Edit::Replace(at, sign)),
        (any::<Index>(), 1..6usize).prop_map(|(at, length)| Edit::Remove(at, length)),
        (any::<Index>(), 1..12usize, 1..40usize).prop_map(|(at, len, n)| Edit::Repeat(at, len, n)),
        (any::<Index>(), select(texts)).prop_map(|(at, other)| Edit::Splice(at, other)),
    ]
}

impl Edit {
    fn apply(self, chars: &mut Vec<char>) {
        let place = |at: Index| at.index(chars.len() + 1);
        match self {
            Edit::Insert(at, sign) => chars.insert(place(at), sign),
            Edit::Replace(at, sign) => {
                let at = place(at);
                match chars.get_mut(at) {
                    Some(old) => *old = sign,
                    None => chars.push(sign),
                }
            }
            Edit::Remove(at, length) => {
                let at = place(at);
                chars.drain(at..(at + length).min(chars.len()));
            }
            Edit::Repeat(at, length, times) => {
                let at = place(at);
                let part = chars[at..(at + length).min(chars.len())].repeat(times);
                chars.splice(at..at, part);
            }
            Edit::Splice(at, other) => {
                let at = place(at);
                chars.splice(at..at, other.chars());
            }
        }
    }
}

/// Characters that parsers treat specially.
const SIGNS: &[char] = &[
    ' ', '\t', '\n', '\r', '\0', '\u{1f}', '\u{7f}', '/', '\\', '?', '#', '@', ':', ';', ',', '.',
    '%', '&', '=', '+', '-', '_', '~', '*', '"', '\'', '(', ')', '[', ']', '<', '>', '|', '^', '`',
    '{', '}', '0', '1', '2', '5', '9', 'a', 'A', 'f', 'x', 'X', 'z', 'w', 'é', 'ß', 'ς', '日',
    '。', '．', '０', 'א', '٣', '\u{ad}', '\u{200d}', '\u{feff}', '\u{fffd}', '\u{301}', '😀',
];
