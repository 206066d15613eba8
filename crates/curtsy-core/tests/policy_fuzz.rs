//! Any text is read as a policy file or refused, without a panic, and a policy that was read keeps
//! its own bounds.
//!
//! The corpus is the presets and the files of `policy_corpus/`; each case is one of them after a
//! few random changes.
#![allow(clippy::disallowed_methods, reason = "the corpus is files")]

use std::path::Path;
use std::sync::LazyLock;

use curtsy_core::policy::{Layers, Policy, Preset, Reach};
use proptest::prelude::*;

static CORPUS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/policy_corpus");
    let files = std::fs::read_dir(folder).expect("the corpus is there");
    let mut paths: Vec<_> =
        files.map(|file| file.expect("the corpus can be read").path()).collect();
    paths.sort();
    let texts =
        paths.into_iter().map(|path| std::fs::read_to_string(path).expect("the corpus is UTF-8"));
    texts.chain(Preset::ALL.iter().map(|preset| preset.source().to_owned())).collect()
});

/// One change to a text, by characters.
#[derive(Clone, Debug)]
enum Change {
    Cut { from: usize, length: usize },
    Insert { at: usize, text: String },
    Repeat { from: usize, length: usize },
    SwapLines { one: usize, other: usize },
    Splice { file: usize, from: usize, length: usize, at: usize },
}

fn changes() -> impl Strategy<Value = Change> {
    let (place, length) = (0usize..8000, 0usize..60);
    prop_oneof![
        (place.clone(), length.clone()).prop_map(|(from, length)| Change::Cut { from, length }),
        (place.clone(), token()).prop_map(|(at, text)| Change::Insert { at, text }),
        (place.clone(), length.clone()).prop_map(|(from, length)| Change::Repeat { from, length }),
        (0usize..80, 0usize..80).prop_map(|(one, other)| Change::SwapLines { one, other }),
        (0usize..100, place.clone(), length, place)
            .prop_map(|(file, from, length, at)| { Change::Splice { file, from, length, at } }),
    ]
}

fn token() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(vec![
            "\"",
            "'",
            "\"\"\"",
            "[",
            "]",
            "[[",
            "{",
            "}",
            "=",
            ".",
            "..",
            "\n",
            "\r\n",
            "#",
            "none",
            "forever",
            "0s",
            "-1",
            "99999999999999999999",
            "1e400",
            "nan",
            "inf",
            "true",
            "x",
            "%",
            "MiB",
            "\u{0}",
            "\u{1b}",
            "\u{feff}",
            "é",
            "\\u0000",
            "\\",
            "[host.\"a.b\"]",
            "curve = {}",
            "1979-05-27",
            "0x",
            "_",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,8}",
    ]
}

fn apply(text: &str, change: &Change) -> String {
    let chars: Vec<char> = text.chars().collect();
    let part = |chars: &[char], from: usize, length: usize| -> (usize, usize) {
        let from = from.min(chars.len());
        (from, (from + length).min(chars.len()))
    };
    match change {
        Change::Cut { from, length } => {
            let (from, to) = part(&chars, *from, *length);
            chars[..from].iter().chain(&chars[to..]).collect()
        }
        Change::Insert { at, text } => {
            let at = (*at).min(chars.len());
            chars[..at]
                .iter()
                .copied()
                .chain(text.chars())
                .chain(chars[at..].iter().copied())
                .collect()
        }
        Change::Repeat { from, length } => {
            let (from, to) = part(&chars, *from, *length);
            chars[..to].iter().chain(&chars[from..to]).chain(&chars[to..]).collect()
        }
        Change::SwapLines { one, other } => {
            let mut lines: Vec<&str> = text.split('\n').collect();
            let (one, other) = (one % lines.len(), other % lines.len());
            lines.swap(one, other);
            lines.join("\n")
        }
        Change::Splice { file, from, length, at } => {
            let other: Vec<char> = CORPUS[file % CORPUS.len()].chars().collect();
            let (from, to) = part(&other, *from, *length);
            let at = (*at).min(chars.len());
            chars[..at].iter().chain(&other[from..to]).chain(&chars[at..]).collect()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_file_is_read_or_refused(
        file in 0usize..100,
        changes in proptest::collection::vec(changes(), 0..5),
    ) {
        let mut text = CORPUS[file % CORPUS.len()].clone();
        for change in &changes {
            text = apply(&text, change);
        }
        for reach in [Reach::Public, Reach::AllowedNet] {
            match (Layers { file: Some(&text), ..Layers::default() }).settle(reach) {
                Ok(settled) => {
                    let written = settled.policy.to_toml();
                    let again = Layers { file: Some(&written), ..Layers::default() }.settle(reach);
                    prop_assert_eq!(again.map(|again| again.policy), Ok(settled.policy));
                }
                Err(error) => {
                    let shown = error.to_string();
                    prop_assert!(!error.faults.is_empty() && shown.len() < 100_000);
                    // Whatever was in the file, the message can't talk to a terminal.
                    prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{:?}", shown);
                }
            }
        }
    }
}

#[test]
fn the_corpus_itself_is_read_or_refused_as_it_says() {
    for (text, fine) in CORPUS.iter().zip([false, false, true, false, false]) {
        let read = Policy::parse(text);
        assert_eq!(read.is_ok(), fine, "{text}\n{read:?}");
    }
}
