//! What a terminal shows after the bytes that were printed into it.
//!
//! Knows the control sequences that curtsy and a plain shell print. Any other sequence that would move or erase text is an error, so that
//! a picture never differs from what a terminal would show. Every character takes one column.

use anyhow::bail;

/// A screen without a last row: nothing scrolls away.
pub(crate) struct Screen {
    columns: usize,
    rows: Vec<ScreenRow>,
    row: usize,
    column: usize,
    style: Style,
    /// Bytes of a sequence or character whose rest has not been read yet.
    rest: Vec<u8>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScreenRow(pub Vec<Cell>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub char: char,
    pub style: Style,
}

/// How a character is printed: the attributes of Select Graphic Rendition (ECMA-48 §8.3.117) that a picture shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underline: bool,
    pub colour: Option<Colour>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    /// One of the 16 colours that a terminal's theme defines: 0 to 7, and 8 to 15 for the bright ones.
    Theme(u8),
    Rgb(u8, u8, u8),
}

impl ScreenRow {
    /// The characters, without spaces at the end.
    pub(crate) fn text(&self) -> String {
        let text: String = self.0.iter().map(|cell| cell.char).collect();
        text.trim_end().to_owned()
    }
}

impl Screen {
    pub(crate) fn new(columns: usize) -> Screen {
        let style = Style::default();
        Screen {
            columns,
            rows: vec![ScreenRow::default()],
            row: 0,
            column: 0,
            style,
            rest: Vec::new(),
        }
    }

    /// The number of the row that the cursor is in, from 0.
    pub(crate) fn row(&self) -> usize {
        self.row
    }

    pub(crate) fn rows(&self) -> &[ScreenRow] {
        &self.rows
    }

    /// Prints bytes. A sequence may be split between two calls.
    pub(crate) fn print(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.rest.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.rest);
        let mut left = bytes.as_slice();
        while let Some(token) = token(left)? {
            left = &left[token.bytes()..];
            self.apply(&token)?;
        }
        self.rest = left.to_vec();
        Ok(())
    }

    fn apply(&mut self, token: &ScreenToken) -> anyhow::Result<()> {
        match token {
            ScreenToken::Char(char) => self.put(*char),
            ScreenToken::Control(b'\r') => self.column = 0,
            ScreenToken::Control(b'\n') => self.down(),
            ScreenToken::Control(b'\x08') => self.column = self.column.saturating_sub(1),
            ScreenToken::Control(b'\x07') | ScreenToken::Title(_) => {}
            ScreenToken::Control(byte) => bail!("unknown control character {byte:#04x}"),
            ScreenToken::Sequence(parameters, last) => self.sequence(parameters, *last)?,
        }
        Ok(())
    }

    fn put(&mut self, char: char) {
        if self.column == self.columns {
            self.column = 0;
            self.down();
        }
        let ScreenRow(cells) = &mut self.rows[self.row];
        let blank = Cell { char: ' ', style: Style::default() };
        if cells.len() <= self.column {
            cells.resize(self.column + 1, blank);
        }
        cells[self.column] = Cell { char, style: self.style };
        self.column += 1;
    }

    fn down(&mut self) {
        self.row += 1;
        if self.rows.len() <= self.row {
            self.rows.resize(self.row + 1, ScreenRow::default());
        }
    }

    fn sequence(&mut self, parameters: &str, last: u8) -> anyhow::Result<()> {
        // Modes such as a hidden cursor and bracketed paste show nothing.
        if parameters.starts_with('?') && matches!(last, b'h' | b'l') {
            return Ok(());
        }
        let numbers = parameters.split(';').map(|number| match number {
            "" => Ok(0),
            _ => number.parse::<u16>(),
        });
        let Ok(numbers) = numbers.collect::<Result<Vec<u16>, _>>() else {
            bail!("unknown sequence `ESC [ {parameters} {}`", char::from(last));
        };
        let count = usize::from(numbers[0].max(1));
        match (last, numbers[0]) {
            (b'm', _) => self.style = styled(self.style, &numbers),
            (b'A', _) => self.row = self.row.saturating_sub(count),
            (b'C', _) => self.column = (self.column + count).min(self.columns - 1),
            (b'D', _) => self.column = self.column.saturating_sub(count),
            (b'G', _) => self.column = (count - 1).min(self.columns - 1),
            (b'K', 0) => self.rows[self.row].0.truncate(self.column),
            (b'J', 0) => {
                self.rows[self.row].0.truncate(self.column);
                self.rows.truncate(self.row + 1);
            }
            _ => bail!("unknown sequence `ESC [ {parameters} {}`", char::from(last)),
        }
        Ok(())
    }
}

/// The style after `ESC [ numbers m`. Unknown attributes change nothing.
fn styled(mut style: Style, numbers: &[u16]) -> Style {
    let mut numbers = numbers.iter().copied();
    while let Some(number) = numbers.next() {
        match number {
            0 => style = Style::default(),
            1 => style.bold = true,
            2 => style.dim = true,
            3 => style.italic = true,
            4 => style.underline = true,
            22 => (style.bold, style.dim) = (false, false),
            23 => style.italic = false,
            24 => style.underline = false,
            30..=37 => style.colour = Some(Colour::Theme((number - 30) as u8)),
            90..=97 => style.colour = Some(Colour::Theme((number - 90 + 8) as u8)),
            38 => style.colour = extended(&mut numbers).or(style.colour),
            48 => _ = extended(&mut numbers),
            39 => style.colour = None,
            _ => {}
        }
    }
    style
}

/// The colour after a 38 or 48: `5;INDEX` or `2;RED;GREEN;BLUE`.
fn extended(numbers: &mut impl Iterator<Item = u16>) -> Option<Colour> {
    let kind = numbers.next()?;
    let mut byte = || u8::try_from(numbers.next()?).ok();
    match kind {
        2 => Some(Colour::Rgb(byte()?, byte()?, byte()?)),
        5 => Some(indexed(byte()?)),
        _ => None,
    }
}

/// A colour of xterm's 256: 16 of the theme, a cube of 6 × 6 × 6, and 24 greys.
fn indexed(index: u8) -> Colour {
    let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    match index {
        0..=15 => Colour::Theme(index),
        16..=231 => {
            let cube = index - 16;
            Colour::Rgb(level(cube / 36), level(cube / 6 % 6), level(cube % 6))
        }
        232..=255 => {
            let grey = 8 + 10 * (index - 232);
            Colour::Rgb(grey, grey, grey)
        }
    }
}

/// The smallest thing that a terminal reads at once.
enum ScreenToken<'a> {
    Char(char),
    Control(u8),
    /// `ESC [ parameters last`.
    Sequence(&'a str, u8),
    /// `ESC ] … BEL`: the window's title and the like, with its length.
    Title(usize),
}

impl ScreenToken<'_> {
    fn bytes(&self) -> usize {
        match self {
            ScreenToken::Char(char) => char.len_utf8(),
            ScreenToken::Control(_) => 1,
            ScreenToken::Sequence(parameters, _) => 2 + parameters.len() + 1,
            ScreenToken::Title(bytes) => *bytes,
        }
    }
}

/// The first token, or `None` if more bytes are needed to know it.
fn token(bytes: &[u8]) -> anyhow::Result<Option<ScreenToken<'_>>> {
    let token = match bytes {
        [] | [0x1b] => return Ok(None),
        [0x1b, b'[', rest @ ..] => {
            let Some(end) = rest.iter().position(|byte| matches!(byte, 0x40..=0x7e)) else {
                return Ok(None);
            };
            ScreenToken::Sequence(str::from_utf8(&rest[..end])?, rest[end])
        }
        [0x1b, b']', rest @ ..] => match rest.iter().position(|byte| *byte == 0x07) {
            Some(end) => ScreenToken::Title(2 + end + 1),
            None => return Ok(None),
        },
        [0x1b, byte, ..] => bail!("unknown sequence `ESC {}`", byte.escape_ascii()),
        [byte @ (0..=0x1f | 0x7f), ..] => ScreenToken::Control(*byte),
        [first, ..] => {
            let length = match first {
                0..=0x7f => 1,
                0xc0..=0xdf => 2,
                0xe0..=0xef => 3,
                _ => 4,
            };
            match bytes.get(..length) {
                Some(char) => match str::from_utf8(char)?.chars().next() {
                    Some(char) => ScreenToken::Char(char),
                    None => return Ok(None),
                },
                None => return Ok(None),
            }
        }
    };
    Ok(Some(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(columns: usize, printed: &[&str]) -> Screen {
        let mut screen = Screen::new(columns);
        for part in printed {
            screen.print(part.as_bytes()).unwrap();
        }
        screen
    }

    fn check(printed: &[&str], expected: &[&str]) {
        let screen = shown(10, printed);
        let rows: Vec<String> = screen.rows().iter().map(ScreenRow::text).collect();
        assert_eq!(rows, expected, "{printed:?}");
    }

    fn check_style(printed: &str, expected: Style) {
        let screen = shown(10, &[printed, "x"]);
        let last = screen.rows()[0].0.last().copied();
        assert_eq!(last, Some(Cell { char: 'x', style: expected }), "{printed:?}");
    }

    #[test]
    fn text_goes_into_rows() {
        check(&["one\r\ntwo"], &["one", "two"]);
        check(&["one\rO"], &["One"]);
        check(&["· ✗ →"], &["· ✗ →"]);
    }

    #[test]
    fn a_long_line_goes_on_in_the_next_row() {
        check(&["0123456789"], &["0123456789"]);
        check(&["0123456789ab"], &["0123456789", "ab"]);
        check(&["0123456789\r\nab"], &["0123456789", "ab"]);
    }

    #[test]
    fn progress_is_erased_and_printed_again() {
        let first = "1 page\r\n  waits\r\n";
        check(&[first, "\x1b[2A\r\x1b[J", "done\r\n"], &["done", ""]);
        check(&["12345\x1b[3D\x1b[K"], &["12"]);
    }

    #[test]
    fn a_sequence_may_come_in_two_parts() {
        check(&["a\r\nb\x1b", "[1", "A\rc"], &["c", "b"]);
        let mut screen = Screen::new(10);
        for byte in "✗→".as_bytes() {
            screen.print(&[*byte]).unwrap();
        }
        assert_eq!(screen.rows()[0].text(), "✗→");
    }

    #[test]
    fn modes_and_titles_show_nothing() {
        check(&["\x1b[?2004ha\x1b[?25l\x1b]0;title\x07b"], &["ab"]);
    }

    #[test]
    fn what_is_not_known_is_an_error() {
        for printed in ["\x1b[5;5H", "\x1b[2J", "\x1bM", "\t", "\x1b[xm"] {
            assert!(Screen::new(10).print(printed.as_bytes()).is_err(), "{printed:?}");
        }
        assert!(Screen::new(10).print(b"\xff\xff\xff\xff").is_err());
    }

    #[test]
    fn styles_are_set_and_reset() {
        let plain = Style::default();
        let theme = |number| Some(Colour::Theme(number));
        check_style("\x1b[1;32m", Style { bold: true, colour: theme(2), ..plain });
        check_style("\x1b[91m\x1b[2m", Style { dim: true, colour: theme(9), ..plain });
        check_style("\x1b[3;4m\x1b[23m", Style { underline: true, ..plain });
        check_style("\x1b[1;31m\x1b[m", plain);
        check_style("\x1b[1;31m\x1b[22;39m", plain);
        check_style("\x1b[7m\x1b[48;5;1m", plain);
    }

    #[test]
    fn colours_of_256_and_of_16_million_are_read() {
        let coloured = |colour| Style { colour: Some(colour), ..Style::default() };
        check_style("\x1b[38;5;9m", coloured(Colour::Theme(9)));
        check_style("\x1b[38;5;196m", coloured(Colour::Rgb(255, 0, 0)));
        check_style("\x1b[38;5;244m", coloured(Colour::Rgb(128, 128, 128)));
        check_style("\x1b[38;2;1;2;3m", coloured(Colour::Rgb(1, 2, 3)));
    }
}
