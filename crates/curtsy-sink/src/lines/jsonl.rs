//! A row as a JSON object on a line of its own. Columns without a value are left out.

use std::fs::File;
use std::io;

use super::{Format, Line, Recent, pieces};
use crate::columns::{COLUMNS, place};
use crate::record::{Value, quote};

pub(super) struct Jsonl;

/// Columns that are JSON already.
const JSON: [usize; 5] =
    [place("links"), place("links_nofollow"), place("frames"), place("headers"), place("findings")];
const BODY: usize = place("body");

impl Format for Jsonl {
    const WHAT: &'static str = "a file of JSON lines";

    fn opening() -> Vec<u8> {
        Vec::new()
    }

    fn line(out: &mut Vec<u8>, row: &Line<'_>) {
        let mut line = String::with_capacity(1024);
        line.push('{');
        let mut member = |name: &str, value: &dyn Fn(&mut String)| {
            if line.len() > 1 {
                line.push(',');
            }
            quote(&mut line, name);
            line.push(':');
            value(&mut line);
        };
        for (at, column) in COLUMNS.iter().enumerate() {
            match &row.record.values[at] {
                _ if at == BODY => {
                    if let Some(text) = &row.body_text {
                        member("body", &|line| quote(line, text));
                    }
                    if let Some(base64) = &row.body_base64 {
                        member("body_base64", &|line| quote(line, base64));
                    }
                }
                Value::Int(number) => {
                    member(column.name, &|line| line.push_str(&number.to_string()))
                }
                Value::Real(number) => {
                    member(column.name, &|line| line.push_str(&number.to_string()));
                }
                Value::Text(json) if JSON.contains(&at) => {
                    member(column.name, &|line| line.push_str(json));
                }
                Value::Text(text) => member(column.name, &|line| quote(line, text)),
                // The body is the only column of bytes that a file has.
                Value::Null | Value::Bytes(_) => {}
            }
        }
        if let Some(evidence) = row.evidence() {
            member("evidence", &|line| line.push_str(&evidence));
        }
        if !row.policy_hash.is_empty() {
            member("policy_hash", &|line| quote(line, row.policy_hash));
        }
        member("event_id", &|line| quote(line, &row.event_id));
        line.push_str("}\n");
        out.extend_from_slice(line.as_bytes());
    }

    fn survey(file: &mut File, seen: &mut Recent) -> io::Result<Option<u64>> {
        let (mut at, mut whole) = (0_u64, 0_u64);
        let (mut start, mut end) = (Vec::new(), Vec::new());
        pieces(file, |piece| {
            let missing = START.len().saturating_sub(start.len());
            start.extend_from_slice(&piece[..missing.min(piece.len())]);
            for line in piece.split_inclusive(|byte| *byte == b'\n') {
                at += line.len() as u64;
                end.extend_from_slice(&line[line.len().saturating_sub(END_BYTES)..]);
                end.drain(..end.len().saturating_sub(END_BYTES));
                if line.ends_with(b"\n") {
                    whole = at;
                    if let Some(id) = event_id(&end) {
                        seen.add(id);
                    }
                    end.clear();
                }
            }
        })?;
        // Somebody else's file must not be taken for a torn line of ours.
        Ok(START.starts_with(&start).then_some(whole))
    }
}

/// What every line of ours begins with.
const START: &[u8] = b"{\"url\":\"http";
/// Where in a line its event id is found: at its end.
const END_BYTES: usize = 256;

fn event_id(end: &[u8]) -> Option<String> {
    let end = std::str::from_utf8(end.strip_suffix(b"\"}\n")?).ok().or_else(|| {
        // The cut may lie within a character.
        let from = (1..4)
            .find(|from| std::str::from_utf8(end.get(*from..).unwrap_or_default()).is_ok())?;
        std::str::from_utf8(end[from..].strip_suffix(b"\"}\n")?).ok()
    })?;
    Some(end.rsplit_once("\"event_id\":\"")?.1.to_owned())
}
