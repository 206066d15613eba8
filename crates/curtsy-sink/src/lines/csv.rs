//! A row as CSV (RFC 4180): records end with CRLF, a field is quoted if it needs that, quotes in it
//! are doubled, and line ends in a body stay as they are. NULL is an empty field; an empty text is
//! `""`. No text is a formula.

use super::{FileRow, Format};
use crate::columns::{COLUMNS, place};
use crate::record::CellValue;

/// The format of a [`CsvSink`](super::CsvSink).
pub struct Csv;

const BODY: usize = place("body");

impl Format for Csv {
    const WHAT: &'static str = "CSV with the columns of this version";

    fn opening() -> Vec<u8> {
        let names = COLUMNS.iter().map(|column| column.name);
        let names: Vec<&str> = names.chain(["body_base64", "policy_hash", "event_id"]).collect();
        format!("{}\r\n", names.join(",")).into_bytes()
    }

    fn start() -> Vec<u8> {
        Csv::opening()
    }

    fn line(out: &mut Vec<u8>, row: &FileRow<'_>) {
        for at in 0..COLUMNS.len() {
            match &row.record.values[at] {
                _ if at == BODY => {
                    if let Some(text) = &row.body_text {
                        field(out, text);
                    }
                }
                CellValue::Int(number) => out.extend_from_slice(number.to_string().as_bytes()),
                CellValue::Real(number) => out.extend_from_slice(number.to_string().as_bytes()),
                CellValue::Text(text) => field(out, &plain(text)),
                // In files of lines the body is the only column of bytes.
                CellValue::Null | CellValue::Bytes(_) => {}
            }
            out.push(b',');
        }
        if let Some(base64) = &row.body_base64 {
            field(out, base64);
        }
        out.push(b',');
        out.extend_from_slice(row.policy_hash.as_bytes());
        out.push(b',');
        quoted(out, &row.event_id);
        out.extend_from_slice(b"\r\n");
    }

    fn is_quoted(part: &[u8], quoted: bool) -> bool {
        let quotes = part.iter().filter(|byte| **byte == b'"').count();
        quoted ^ (quotes % 2 == 1)
    }

    fn event_id(end: &[u8]) -> Option<String> {
        let end = end.strip_suffix(b"\r\n")?;
        let comma = end.iter().rposition(|byte| *byte == b',')?;
        let id = std::str::from_utf8(&end[comma + 1..]).ok()?;
        Some(id.trim_matches('"').to_owned())
    }
}

/// Characters that make a spreadsheet take a text for a formula (also their full-width forms), and
/// the character that prevents that.
const LIVE: [char; 12] =
    ['=', '+', '-', '@', '\t', '\r', '\n', '\'', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// Writes a text of a site. A leading `'` keeps it from being a formula; a reader that needs the
/// original text removes the `'`.
fn field(out: &mut Vec<u8>, text: &str) {
    if text.starts_with(LIVE) { quoted(out, &format!("'{text}")) } else { quoted(out, text) }
}

/// Replaces control characters, which move a terminal's cursor or end a line. Not for bodies.
fn plain(text: &str) -> std::borrow::Cow<'_, str> {
    match text.chars().any(char::is_control) {
        true => text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect(),
        false => text.into(),
    }
}

fn quoted(out: &mut Vec<u8>, text: &str) {
    let special = |byte: u8| matches!(byte, b'"' | b',' | b'\r' | b'\n');
    // Spaces at an end belong to the field, but some readers drop them without quotes.
    let padded = text.starts_with(' ') || text.ends_with(' ');
    if !text.is_empty() && !padded && !text.bytes().any(special) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    for part in text.split_inclusive('"') {
        out.extend_from_slice(part.as_bytes());
        if part.ends_with('"') {
            out.push(b'"');
        }
    }
    out.push(b'"');
}
