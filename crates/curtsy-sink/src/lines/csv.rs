//! A row as CSV (RFC 4180): CRLF at the end of a record, quotes where a field needs them, quotes in it doubled, line ends in a body as they
//! are. Nothing is an empty field; an empty text is `""`. No text is a formula.

use std::fs::File;
use std::io;

use super::{Format, Line, Recent, pieces};
use crate::columns::{COLUMNS, place};
use crate::record::Value;

pub(super) struct Csv;

const BODY: usize = place("body");

impl Format for Csv {
    const WHAT: &'static str = "CSV with the columns of this version";

    fn opening() -> Vec<u8> {
        let names = COLUMNS.iter().map(|column| column.name);
        let names: Vec<&str> = names.chain(["body_base64", "policy_hash", "event_id"]).collect();
        format!("{}\r\n", names.join(",")).into_bytes()
    }

    fn line(out: &mut Vec<u8>, row: &Line<'_>) {
        for at in 0..COLUMNS.len() {
            match &row.record.values[at] {
                _ if at == BODY => {
                    if let Some(text) = &row.body_text {
                        field(out, text);
                    }
                }
                Value::Int(number) => out.extend_from_slice(number.to_string().as_bytes()),
                Value::Real(number) => out.extend_from_slice(number.to_string().as_bytes()),
                Value::Text(text) => field(out, &plain(text)),
                // The body is the only column of bytes that a file has.
                Value::Null | Value::Bytes(_) => {}
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

    /// Only from its beginning can it be told which line ends stand in quotes.
    fn survey(file: &mut File, seen: &mut Recent) -> io::Result<Option<u64>> {
        let opening = Csv::opening();
        let mut start = Vec::new();
        let (mut at, mut whole, mut quoted) = (0_u64, 0_u64, false);
        let mut end = Vec::new();
        pieces(file, |piece| {
            let missing = opening.len().saturating_sub(start.len());
            start.extend_from_slice(&piece[..missing.min(piece.len())]);
            for part in piece.split_inclusive(|byte| *byte == b'\n') {
                at += part.len() as u64;
                let quotes = part.iter().filter(|byte| **byte == b'"').count();
                quoted ^= quotes % 2 == 1;
                end.extend_from_slice(&part[part.len().saturating_sub(END_BYTES)..]);
                end.drain(..end.len().saturating_sub(END_BYTES));
                if part.ends_with(b"\n") && !quoted {
                    whole = at;
                    if let Some(id) = event_id(&end) {
                        seen.add(id);
                    }
                    end.clear();
                }
            }
        })?;
        // A kill may have torn the very first line.
        let ours = start == opening || opening.starts_with(&start) && whole == 0;
        Ok(ours.then_some(whole))
    }
}

/// Where in a record its event id is found: at its end.
const END_BYTES: usize = 256;

fn event_id(end: &[u8]) -> Option<String> {
    let end = end.strip_suffix(b"\r\n")?;
    let comma = end.iter().rposition(|byte| *byte == b',')?;
    let id = std::str::from_utf8(&end[comma + 1..]).ok()?;
    Some(id.trim_matches('"').to_owned())
}

/// Characters with which a spreadsheet takes a text for a formula (also in the width of ideographs), and the sign that keeps it from that.
const LIVE: [char; 12] =
    ['=', '+', '-', '@', '\t', '\r', '\n', '\'', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// What a site wrote is a text, never a formula: `'` before it says so, and is taken away by whoever wants the text as it was.
fn field(out: &mut Vec<u8>, text: &str) {
    match text.starts_with(LIVE) {
        true => quoted(out, &format!("'{text}")),
        false => quoted(out, text),
    }
}

/// A text without what moves a terminal's cursor or ends a line: for all but bodies.
fn plain(text: &str) -> std::borrow::Cow<'_, str> {
    match text.chars().any(char::is_control) {
        true => text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect(),
        false => text.into(),
    }
}

fn quoted(out: &mut Vec<u8>, text: &str) {
    let special = |byte: u8| matches!(byte, b'"' | b',' | b'\r' | b'\n');
    // Spaces at an end are part of the field, and some readers need to be told.
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
