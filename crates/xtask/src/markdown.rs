//! Splits a Markdown document into blocks and finds its code spans. The site and the checks of words need no more of Markdown than this.

use std::ops::Range;

/// What a block of a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// A paragraph, or one item of a list.
    Text,
    Heading,
    /// One row of a table.
    Row,
    /// A fenced code block, with its fences.
    Code,
    /// An HTML comment on lines of its own.
    Comment,
    Blank,
}

/// One block. The blocks of a document, in order, are the whole document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block<'a> {
    pub(crate) kind: BlockKind,
    /// The line that the block begins on; the first line of a document is 1.
    pub(crate) line: usize,
    pub(crate) text: &'a str,
}

pub(crate) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut open: Option<OpenBlock> = None;
    let mut start = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let end = start + line.len();
        let trimmed = line.trim();
        let goes_on = open.is_some();
        let kind = match open {
            Some(OpenBlock::Fence(mark, length)) => {
                if trimmed.len() >= length && trimmed.chars().all(|char| char == mark) {
                    open = None;
                }
                BlockKind::Code
            }
            Some(OpenBlock::Comment) => {
                if trimmed.ends_with("-->") {
                    open = None;
                }
                BlockKind::Comment
            }
            None if trimmed.is_empty() => BlockKind::Blank,
            None if trimmed.starts_with("```") || trimmed.starts_with("~~~") => {
                let mark = if trimmed.starts_with('`') { '`' } else { '~' };
                open = Some(OpenBlock::Fence(
                    mark,
                    trimmed.chars().take_while(|c| *c == mark).count(),
                ));
                BlockKind::Code
            }
            None if trimmed.starts_with("<!--") => {
                if !trimmed.ends_with("-->") {
                    open = Some(OpenBlock::Comment);
                }
                BlockKind::Comment
            }
            None if trimmed.starts_with('#') => BlockKind::Heading,
            None if trimmed.starts_with('|') => BlockKind::Row,
            None => BlockKind::Text,
        };
        let joins = match kind {
            BlockKind::Code | BlockKind::Comment => goes_on,
            BlockKind::Text => !is_item(trimmed),
            BlockKind::Heading | BlockKind::Row | BlockKind::Blank => false,
        };
        match blocks.last_mut() {
            Some(last) if joins && last.kind == kind => {
                last.text = &text[start - last.text.len()..end];
            }
            _ => blocks.push(Block { kind, line: index + 1, text: &text[start..end] }),
        }
        start = end;
    }
    blocks
}

/// The code spans of a block with their backticks. A span may cross lines, as in CommonMark.
pub(crate) fn code_spans(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find('`').map(|found| at + found) {
        let length = ticks(&text[start..]);
        let mut close = start + length;
        let end = loop {
            let Some(next) = text[close..].find('`').map(|found| close + found) else {
                break None;
            };
            close = next + ticks(&text[next..]);
            if close - next == length {
                break Some(close);
            }
        };
        match end {
            Some(end) => {
                spans.push(start..end);
                at = end;
            }
            None => at = start + length,
        }
    }
    spans
}

enum OpenBlock {
    Fence(char, usize),
    Comment,
}

fn is_item(trimmed: &str) -> bool {
    let number = trimmed.trim_start_matches(|char: char| char.is_ascii_digit());
    let is_numbered = number.len() < trimmed.len() && number.starts_with(". ");
    is_numbered || ["- ", "* ", "+ "].iter().any(|mark| trimmed.starts_with(mark))
}

fn ticks(text: &str) -> usize {
    text.bytes().take_while(|byte| *byte == b'`').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# Title

A paragraph
with two lines.
- an item
  that goes on
- another
<!-- not run:
     two lines -->
```sh
| no row
# no heading
```
| a | b |
";

    #[test]
    fn blocks_are_the_whole_document() {
        let whole: String = blocks(PAGE).iter().map(|block| block.text).collect();
        assert_eq!(whole, PAGE);
    }

    #[test]
    fn blocks_have_kinds_and_lines() {
        let found = blocks(PAGE);
        let found: Vec<_> = found.iter().map(|block| (block.kind, block.line)).collect();
        let expected = [
            (BlockKind::Heading, 1),
            (BlockKind::Blank, 2),
            (BlockKind::Text, 3),
            (BlockKind::Text, 5),
            (BlockKind::Text, 7),
            (BlockKind::Comment, 8),
            (BlockKind::Code, 10),
            (BlockKind::Row, 14),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn code_spans_cross_lines_and_need_both_ends() {
        let text = "a `b\nc` d ``e ` f`` g ` h";
        let spans: Vec<_> = code_spans(text).into_iter().map(|span| &text[span]).collect();
        assert_eq!(spans, ["`b\nc`", "``e ` f``"]);
    }
}
