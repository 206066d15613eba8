//! The blocks of a document, and what is to be done with each.

use std::path::Path;

/// A document.
pub(crate) struct Document {
    /// The servers that its blocks reach.
    pub(crate) setups: Vec<String>,
    pub(crate) blocks: Vec<Block>,
}

/// A block of code.
pub(crate) struct Block {
    /// Where it begins.
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) what: What,
}

/// What a block is.
#[derive(Debug)]
pub(crate) enum What {
    /// Commands for a shell, which end with this code.
    Shell { exit: i32 },
    /// Statements for DuckDB, with the table that follows them.
    Sql { table: Option<Vec<Vec<String>>> },
    /// A program in Python.
    Python,
    /// The content of a file.
    File(String),
    /// What the block before it printed.
    Output,
    /// A block that can't be run, and why.
    NotRun(String),
}

impl Document {
    pub(crate) fn read(path: &Path) -> Document {
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let mut document = Document { setups: Vec::new(), blocks: Vec::new() };
        let mut mark: Option<(&str, &str)> = None;
        let mut at = 0;
        while at < lines.len() {
            let line = lines[at];
            at += 1;
            if let Some(comment) = line.strip_prefix("<!-- ").and_then(|l| l.strip_suffix(" -->")) {
                let (word, rest) = comment.split_once(':').unwrap_or((comment, ""));
                match word {
                    "setup" => document.setups.extend(rest.split_whitespace().map(str::to_owned)),
                    "run" | "not run" | "file" | "output" => mark = Some((word, rest.trim())),
                    _ => panic!("{}:{at}: a comment that means nothing: {line}", path.display()),
                }
                continue;
            }
            let Some(language) = line.strip_prefix("```") else {
                assert!(mark.is_none() || line.is_empty(), "{}:{at}: no block", path.display());
                continue;
            };
            let begin = at;
            while lines[at] != "```" {
                at += 1;
            }
            let text = lines[begin..at].join("\n") + "\n";
            at += 1;
            let what = match (mark.take(), language) {
                (Some(("not run", reason)), _) => What::NotRun(reason.to_owned()),
                (Some(("file", name)), _) => What::File(name.to_owned()),
                (Some(("output", _)), _) => What::Output,
                (Some(("run", exit)), "sh") => {
                    What::Shell { exit: exit.strip_prefix("exit=").unwrap().parse().unwrap() }
                }
                (Some((word, _)), _) => panic!("{}:{begin}: `{word}` here?", path.display()),
                (None, "sh") => What::Shell { exit: 0 },
                (None, "sql") => What::Sql { table: table(&lines[at..]) },
                (None, "python") => What::Python,
                (None, "text" | "toml" | "yaml" | "json" | "xml" | "html") => continue,
                (None, other) => panic!("{}:{begin}: a block of `{other}`", path.display()),
            };
            document.blocks.push(Block { line: begin, text, what });
        }
        document
    }
}

/// The table that follows a block, after an empty line at most.
fn table(lines: &[&str]) -> Option<Vec<Vec<String>>> {
    let lines = lines.iter().skip_while(|line| line.is_empty());
    let cells = |line: &&&str| {
        let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
        inner.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    let rows: Vec<&&str> = lines.take_while(|line| line.starts_with('|')).collect();
    let shown = rows.iter().enumerate().filter(|(n, _)| *n != 1).map(|(_, line)| cells(line));
    (!rows.is_empty()).then(|| shown.collect())
}

/// Compares what a block printed with what the document shows.
#[track_caller]
pub(crate) fn assert_shown(shown: &str, printed: &str, at: &str) {
    let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let found: Vec<&str> = printed.lines().map(str::trim_end).collect();
    assert!(
        fits(&shown, &found),
        "{at} shows\n{}\nbut this was printed:\n{printed}",
        shown.join("\n")
    );
}

fn fits(shown: &[&str], found: &[&str]) -> bool {
    match shown.split_first() {
        None => found.is_empty(),
        Some((&"…", rest)) => (0..=found.len()).any(|skip| fits(rest, &found[skip..])),
        Some((line, rest)) => found
            .split_first()
            .is_some_and(|(first, after)| line_fits(line, first) && fits(rest, after)),
    }
}

/// Whether a line is shown by a line in which `…` stands for any text.
fn line_fits(shown: &str, found: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = parts.next().and_then(|first| found.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(found) => rest = &rest[found + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[test]
fn dots_stand_for_any_text_and_any_lines() {
    assert!(fits(&["a … c", "…", "z"], &["a b c", "x", "y", "z"]));
    assert!(fits(&["…"], &[]));
    assert!(fits(&["…ab…"], &["xxaby"]));
    assert!(!fits(&["a … c"], &["a b d"]));
    assert!(!fits(&["a", "…", "z"], &["a", "b"]));
}
