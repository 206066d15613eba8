//! Compares the page reader with html5ever's finished tree. Each byte is a piece of a page, so
//! every input is a page of mixed tags and not junk.

use curtsy_parse::html::Markup;

use crate::{FuzzTarget, choice};

#[path = "../../../curtsy-parse/tests/agree/pieces.rs"]
mod pieces;
#[path = "../../../curtsy-parse/tests/agree/seen.rs"]
mod seen;

use pieces::{BLOCKS, FOREIGN, FORMATTING, HEAD, ISLANDS, LINKS, RAW, SIGNS, TABLE};

pub(crate) const TARGET: FuzzTarget =
    FuzzTarget { name: "agree", run, seeds: SEEDS, dictionary: "" };

fn run(data: &[u8]) {
    let page = page(data);
    // We read a page of this size completely. html5ever's adoption agency is slow on longer ones.
    if !seen::is_misread_by_them(&page) && Markup::read(&page).complete {
        assert_eq!(seen::ours(&page), seen::theirs(&page), "{page:?}");
    }
}

/// Builds a page: the first byte chooses the word lists, each other byte one word.
fn page(data: &[u8]) -> String {
    let (choice, bytes) = choice(data);
    let lists = SOUPS[choice % SOUPS.len()];
    let words: Vec<&str> = lists.iter().flat_map(|list| list.iter().copied()).collect();
    bytes.iter().take(PIECES_MAX).map(|byte| words[usize::from(*byte) % words.len()]).collect()
}

/// Lists that may be mixed: html5ever is right about these (apart from
/// [`seen::is_misread_by_them`]).
const SOUPS: &[&[&[&str]]] = &[
    &[LINKS, BLOCKS, FORMATTING, TABLE],
    &[LINKS, BLOCKS, HEAD, RAW, SIGNS],
    &[LINKS, TABLE],
    &[FORMATTING, BLOCKS],
    &[LINKS, FOREIGN, FORMATTING],
    &[ISLANDS],
    &[SIGNS],
    &[RAW, HEAD],
];

const PIECES_MAX: usize = 120;
const SEEDS: &[&[u8]] = &[
    b"\x00abcdefgh",
    b"\x01\x10\x20\x30\x40",
    b"\x02zyxwv",
    b"\x03\x01\x02\x03",
    b"\x04qwert",
    b"\x05\x05\x07",
    b"\x06<a b",
    b"\x07raw",
];
