//! Text for people that fits the terminal: long lines are broken here, with an indent, so that a
//! terminal does not break them anywhere and tear tables apart.

use std::io::{self, Write};

use unicode_width::UnicodeWidthChar;

/// The columns that a report may take: those of the terminal on stdout. A narrow terminal counts as
/// one of 80 columns, and so does a file or a pipe.
pub(super) fn of_stdout() -> usize {
    let size = terminal_size::terminal_size_of(io::stdout());
    size.map_or(COLUMNS, |(columns, _)| usize::from(columns.0).max(COLUMNS))
}

/// Prints a text. Lines that are too long are broken, and what follows is indented further.
pub(super) fn print(text: &str, columns: usize, out: &mut dyn Write) -> io::Result<()> {
    for line in text.lines() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let indent = " ".repeat(if indent < columns / 2 { indent + 2 } else { 2 });
        let (first, mut rest) = broken(line, columns);
        writeln!(out, "{first}")?;
        while !rest.is_empty() {
            let (next, left) = broken(rest, columns.saturating_sub(indent.len()));
            writeln!(out, "{indent}{next}")?;
            rest = left;
        }
    }
    Ok(())
}

/// What fits into so many columns, and the rest: broken at a space if there is one in the last
/// third, else anywhere.
fn broken(text: &str, columns: usize) -> (&str, &str) {
    let mut taken = 0;
    let too_far = text.char_indices().find(|(at, c)| {
        taken += c.width().unwrap_or(0);
        taken > columns && *at > 0
    });
    let Some((end, _)) = too_far else { return (text, "") };
    // The space itself may stand just behind the last column.
    let behind = text[end..].starts_with(' ').then_some(end);
    match behind.or(text[..end].rfind(' ')).filter(|space| *space > end * 2 / 3) {
        Some(space) => (&text[..space], &text[space + 1..]),
        None => text.split_at(end),
    }
}

const COLUMNS: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, columns: usize, expected: &[&str]) {
        let mut out = Vec::new();
        print(text, columns, &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out.lines().collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn a_long_line_goes_on_with_an_indent() {
        check("short\n\n  too", 8, &["short", "", "  too"]);
        check("note: one two", 10, &["note: one", "  two"]);
        check("  line 1: GET /a HTTP", 15, &["  line 1: GET", "    /a HTTP"]);
        check("exactly ten", 7, &["exactly", "  ten"]);
    }

    #[test]
    fn a_long_word_is_broken_anywhere_and_nothing_is_lost() {
        check("abcdefghijklmnop", 8, &["abcdefgh", "  ijklmn", "  op"]);
        check("東京東京", 5, &["東京", "  東", "  京"]);
        check("ü".repeat(9).as_str(), 5, &["üüüüü", "  üüü", "  ü"]);
    }
}
