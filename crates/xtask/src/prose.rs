//! Checks the words of the documents: width of lines, length of sentences, and the [`rules`](crate::rules) of house English.
//!
//! Code is not prose: fenced blocks, code spans and targets of links are left out. So are the quoted outputs of programs, which are code
//! blocks. Tables are exempt from the width only.

use std::fmt::{self, Display};
use std::path::Path;

use regex::{Regex, RegexBuilder};

use crate::files;
use crate::markdown::{Block, BlockKind, blocks, code_spans};
use crate::rules::{DIARIES, DIARY, rules};
use crate::site::{documents, root};

const COLUMNS_MAX: usize = 100;
const WORDS_MAX: usize = 40;

/// Prints every finding, and fails if there is one.
pub(crate) fn run() -> anyhow::Result<()> {
    let findings = findings(&root())?;
    for finding in &findings {
        crate::print(finding);
    }
    anyhow::ensure!(findings.is_empty(), "{} findings", findings.len());
    Ok(())
}

fn findings(root: &Path) -> anyhow::Result<Vec<WordFinding>> {
    let checker = Checker::new();
    let mut found = Vec::new();
    for document in documents(root)? {
        let text = files::read_text(root.join(&document))?;
        found.extend(checker.check(&document.display().to_string(), &text));
    }
    Ok(found)
}

#[derive(Debug)]
struct WordFinding {
    file: String,
    line: usize,
    phrase: String,
    reason: String,
    instead: &'static str,
}

impl Display for WordFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, phrase, reason, instead } = self;
        write!(f, "{file}:{line}: “{phrase}”: {reason}; better: {instead}")
    }
}

struct Checker {
    rules: Vec<(Regex, Vec<Regex>, &'static str, &'static str)>,
}

impl Checker {
    fn new() -> Self {
        let compile = |pattern: &str| {
            let pattern = pattern.replace(' ', r"\s+");
            let built = RegexBuilder::new(&pattern).case_insensitive(true).build();
            built.unwrap_or_else(|error| panic!("`{pattern}`: {error}"))
        };
        let rules = rules().into_iter().map(|rule| {
            let except = rule.except.iter().map(|pattern| compile(pattern)).collect();
            (compile(rule.pattern), except, rule.reason, rule.instead)
        });
        Self { rules: rules.collect() }
    }

    fn check(&self, file: &str, text: &str) -> Vec<WordFinding> {
        let mut found = Vec::new();
        for block in blocks(text) {
            if !matches!(block.kind, BlockKind::Text | BlockKind::Heading | BlockKind::Row) {
                continue;
            }
            let words = without_code(block.text);
            let line = |at: usize| block.line + block.text[..at].matches('\n').count();
            let mut add = |at, phrase: &str, reason: String, instead| {
                let phrase = phrase.split_whitespace().collect::<Vec<_>>().join(" ");
                found.push(WordFinding {
                    file: file.to_owned(),
                    line: line(at),
                    phrase,
                    reason,
                    instead,
                });
            };
            for (at, shown, columns) in wide_lines(&block) {
                let reason = format!("{columns} columns, at most {COLUMNS_MAX}");
                add(at, shown, reason, "wrap the line");
            }
            for (pattern, except, reason, instead) in &self.rules {
                for hit in pattern.find_iter(&words) {
                    let is_right = |except: &Regex| {
                        let mut right = except.find_iter(&words);
                        right.any(|right| right.start() < hit.end() && hit.start() < right.end())
                    };
                    let is_in_its_place = *reason == DIARY && DIARIES.contains(&file);
                    if !is_in_its_place && !except.iter().any(is_right) {
                        add(hit.start(), hit.as_str(), (*reason).to_owned(), instead);
                    }
                }
            }
            for (at, sentence) in sentences(&words, block.kind) {
                let count = count(sentence);
                if count > WORDS_MAX {
                    let start: String = sentence.chars().take(60).collect();
                    let reason = format!("a sentence of {count} words, at most {WORDS_MAX}");
                    add(at, &format!("{start}…"), reason, "two sentences, or a list");
                }
                // A title in bold or of a link may begin so.
                let is_title = block.text[..at].ends_with(['*', '[']);
                let opens_with_what = sentence.starts_with("What ") && sentence.ends_with('.');
                let opens_with_what = opens_with_what && !is_title;
                if opens_with_what && block.kind == BlockKind::Text {
                    let start: String = sentence.chars().take(60).collect();
                    let reason = "a clause as the subject".to_owned();
                    add(at, &format!("{start}…"), reason, "the noun: URLs that, pages that");
                }
            }
        }
        found
    }
}

/// Lines that are too wide, with where they begin and their columns. A table's row has no end but its own, and neither has a URL.
fn wide_lines<'a>(block: &Block<'a>) -> Vec<(usize, &'a str, usize)> {
    let mut wide = Vec::new();
    if block.kind == BlockKind::Row {
        return wide;
    }
    let mut at = 0;
    for line in block.text.split_inclusive('\n') {
        let shown = line.trim_end();
        let columns = shown.chars().count();
        let is_one_link = {
            let rest = shown.trim_start().trim_start_matches("- ");
            (rest.starts_with('[') || rest.starts_with("http")) && !rest.contains(") ")
        };
        if columns > COLUMNS_MAX && !(is_one_link && shown.contains("://")) {
            wide.push((at, shown, columns));
        }
        at += line.len();
    }
    wide
}

/// The text with code, targets of links and comments replaced by underscores, byte by byte.
fn without_code(text: &str) -> String {
    let mut hidden = text.as_bytes().to_vec();
    let mut hide = |range: std::ops::Range<usize>| hidden[range].fill(b'_');
    let spans = code_spans(text);
    for span in &spans {
        hide(span.clone());
    }
    let is_code = |at: usize| spans.iter().any(|span| span.contains(&at));
    for (start, ends, after) in [("](", ")", 1), ("<!--", "-->", 3), ("://", " ", 0)] {
        for (at, _) in text.match_indices(start).filter(|(at, _)| !is_code(*at)) {
            let end = text[at..].find(ends).map_or(text.trim_end().len(), |end| at + end + after);
            let end = if start == "://" {
                let end_of_url = |char: char| char.is_whitespace() || ")>,|".contains(char);
                text[at..].find(end_of_url).map_or(end, |end| at + end)
            } else {
                end
            };
            if at < end {
                hide(at..end);
            }
        }
    }
    String::from_utf8(hidden).expect("whole characters are replaced")
}

/// The sentences of a block and where they begin. A cell of a table ends a sentence.
fn sentences(words: &str, kind: BlockKind) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut push = |start: usize, end: usize| {
        let sentence = words[start..end]
            .trim_start_matches(|char: char| !char.is_alphanumeric() && !"_“\"".contains(char));
        let at = end - sentence.len();
        if !sentence.trim().is_empty() {
            found.push((at, sentence.trim_end()));
        }
    };
    for (at, char) in words.char_indices() {
        let rest = &words[at + char.len_utf8()..];
        let is_end = match char {
            '.' | '!' | '?' => {
                let after = rest.trim_start_matches(['"', '”', ')', '*', '\'']);
                let next = after.trim_start();
                after.is_empty()
                    || (after.len() > next.len() && !next.starts_with(char::is_lowercase))
            }
            '|' => kind == BlockKind::Row,
            _ => false,
        };
        if is_end {
            push(start, at + char.len_utf8());
            start = at + char.len_utf8();
        }
    }
    push(start, words.len());
    found
}

/// How many words a sentence has. A code span or a link's target is part of one word.
fn count(sentence: &str) -> usize {
    let words = sentence.split_whitespace();
    words.filter(|word| word.contains(|char: char| char.is_alphanumeric() || char == '_')).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each document in plain English, within 100 columns.
    #[test]
    fn the_documents_follow_the_house_rules() {
        let findings = findings(&root()).unwrap();
        let shown: Vec<String> = findings.iter().map(WordFinding::to_string).collect();
        assert!(shown.is_empty(), "{} findings:\n{}", shown.len(), shown.join("\n"));
    }

    fn phrases(text: &str) -> Vec<String> {
        Checker::new().check("page.md", text).into_iter().map(|finding| finding.phrase).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(phrases(text), expected, "{text}");
    }

    #[test]
    fn sentences_that_readers_stumbled_over_are_found() {
        check("Then nobody else is dialled.", &["nobody else"]);
        check("It makes business facts of small sites.", &["makes business facts of"]);
        check("`*` stands for any signs, `?` stands for itself.", &["signs", "stands for itself"]);
        check("A glob without `?` doesn't care for the query.", &["care for"]);
        check("If both days are given, either will do.", &["will do"]);
        check("Pages that are told of and not asked for.", &["told", "asked for"]);
        check("A crawl that goes with its process.", &["goes with"]);
        check("Open it with leave to load it.", &["leave to"]);
        check(
            "A plan is no run: nothing is kept of it.",
            &["of it", "is kept of", "A plan is no run"],
        );
        check("No bot check is ever climbed.", &["climbed"]);
        check("Some pages could not be had.", &["be had"]);
        check("Nothing would be the base, but for white space.", &["but for"]);
        check("Hosts that others leave lying.", &["leave lying"]);
        check("A folder is at hand.", &["at hand"]);
        check("Beside them the judge.", &["Beside them"]);
        check(
            "What brings no answer takes none away.",
            &["takes none away", "What brings no answer takes none away.…"],
        );
    }

    #[test]
    fn diaries_and_american_spelling_are_found() {
        check("On the 16th it was slower.", &["On the 16th"]);
        check("It normalizes the host.", &["normalizes"]);
        check("Its behavior has a license.", &["behavior", "license"]);
    }

    #[test]
    fn a_phrase_may_cross_lines_and_has_the_line_that_it_begins_on() {
        let found = Checker::new().check("page.md", "# Title\n\nThe rows are\nasked\nfor.\n");
        assert_eq!((found[0].line, found[0].phrase.as_str()), (4, "asked for"));
        assert_eq!(
            found[0].to_string(),
            "page.md:4: “asked for”: one small verb for many acts; better: request, fetch, require, need"
        );
    }

    #[test]
    fn code_links_and_right_uses_are_not_found() {
        check("```text\nnobody else told\n```\n", &[]);
        check("<!-- told -->\n", &[]);
        check("`tell` and [a page](told.md#whoever).", &[]);
        check("`a code span\nthat is told`.", &[]);
        check("A site asks for a wait. It signs in.", &[]);
        check("Print what a crawl would do. The size is 4 kB.", &[]);
        check("We license it. What is a fate?", &[]);
    }

    #[test]
    fn wide_lines_are_found() {
        let wide = "word ".repeat(21);
        check(&wide, &[wide.trim()]);
        check(&format!("| {wide} |"), &[]);
        check(&format!("[a link](https://e.org/{})", "a".repeat(100)), &[]);
        let narrow = "ä".repeat(100);
        check(&narrow, &[]);
    }

    #[test]
    fn long_sentences_are_found() {
        let forty = vec!["word"; 40].join("\n");
        check(&format!("{forty}."), &[]);
        check(&format!("{forty}. Next."), &[]);
        assert_eq!(phrases(&format!("{forty} more.")).len(), 1);
        assert_eq!(phrases(&format!("| a | {} more |", vec!["word"; 40].join(" "))).len(), 1);
        check(&format!("| {0} | {0} |", vec!["word"; 40].join(" ")), &[]);
        check(&format!("{forty} `a code span with more words`").replacen("word\n", "", 1), &[]);
    }
}
