//! A row as a JSON object on a line of its own. Columns without a value are left out.

use super::{FileRow, Format};
use crate::columns::{COLUMNS, place};
use crate::record::{CellValue, quote};

/// The format of a [`JsonlSink`](super::JsonlSink).
pub struct Jsonl;

/// Columns that are JSON already.
const JSON: [usize; 5] =
    [place("links"), place("links_nofollow"), place("frames"), place("headers"), place("findings")];
const BODY: usize = place("body");

impl Format for Jsonl {
    const WHAT: &'static str = "a file of JSON lines";

    fn opening() -> Vec<u8> {
        Vec::new()
    }

    fn start() -> Vec<u8> {
        b"{\"url\":\"http".to_vec()
    }

    fn line(out: &mut Vec<u8>, row: &FileRow<'_>) {
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
                CellValue::Int(number) => member(column.name, &|line| *line += &number.to_string()),
                CellValue::Real(number) => {
                    member(column.name, &|line| *line += &number.to_string())
                }
                CellValue::Text(json) if JSON.contains(&at) => {
                    member(column.name, &|line| line.push_str(json));
                }
                CellValue::Text(text) => member(column.name, &|line| quote(line, text)),
                // In files of lines the body is the only column of bytes.
                CellValue::Null | CellValue::Bytes(_) => {}
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

    fn is_quoted(_: &[u8], _: bool) -> bool {
        false
    }

    fn event_id(end: &[u8]) -> Option<String> {
        // The first bytes may be the rest of a character.
        let text = (0..4).find_map(|from| std::str::from_utf8(end.get(from..)?).ok())?;
        Some(text.strip_suffix("\"}\n")?.rsplit_once("\"event_id\":\"")?.1.to_owned())
    }
}
