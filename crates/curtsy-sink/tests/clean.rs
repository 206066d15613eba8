//! Whatever pages and servers send, a row is one line of JSON and one record of CSV, no field is a
//! formula, and nothing is run as SQL.
#![allow(clippy::print_stdout, reason = "figures are what the long run is for")]

mod sample;

use std::sync::Arc;

use curtsy_engine::{Batch, Row, Sink};
use curtsy_sink::{CsvSink, FileOptions, JsonlSink, SqliteOptions, SqliteSink};
use sample::{Folder, block, csv_records, page_of, row};

/// Texts with a meaning for a terminal, a spreadsheet, a database, or a reader of lines.
const PARTS: [&str; 28] = [
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "\u{ff1d}1+1",
    "'=1",
    "'",
    "\r\n",
    "\n{\"url\":\"http",
    "\x1b[2J",
    "\x1b]0;x\x07",
    "\u{202e}",
    "\u{2028}",
    "\0",
    "\u{85}",
    "\"",
    "\"\"",
    ",",
    ";",
    "'); DROP TABLE pages; --",
    "\\",
    "\u{feff}",
    "\u{1f600}",
    "</script>",
    "plain",
];

struct Chance(u64);

impl Chance {
    fn next(&mut self) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) as usize
    }

    fn text(&mut self) -> String {
        let length = if self.next().is_multiple_of(500) { 2_000 } else { 1 + self.next() % 5 };
        let mut text = String::new();
        for _ in 0..length {
            match self.next() % 4 {
                0 => text.extend(char::from_u32((self.next() % 0x11_0000) as u32)),
                _ => text += PARTS[self.next() % PARTS.len()],
            }
        }
        text
    }

    fn row(&mut self, number: usize) -> Row {
        let escaped: String = self.text().bytes().map(|byte| format!("%{byte:02x}")).collect();
        let url =
            format!("http://a.test/{number}/{}?{}", &escaped[..escaped.len().min(3_000)], "=1");
        let body = match self.next() % 3 {
            0 => self.text(),
            _ => format!("<title>{}</title><a href=\"{}\">", self.text(), self.text()),
        };
        let mut page = page_of(&body);
        let head = Arc::make_mut(&mut page.head);
        head.etag = Some(self.text());
        head.last_modified = Some(self.text());
        head.content_type = Some(self.text());
        head.others.push((format!("x-{}", self.text()), self.text()));
        row(&url, number as u64, Some(page))
    }
}

fn options() -> FileOptions {
    FileOptions {
        job: "j1-".into(),
        run: "trace-1".into(),
        policy_hash: "00ff".into(),
        robots: None,
        unread: None,
        body_max: Some(10 << 20),
    }
}

/// Columns that are numbers.
const NUMBERS: [&str; 6] =
    ["http_status", "redirect_count", "depth", "tries", "body_bytes", "latency_ms"];

fn fuzz(records: usize, seed: u64) {
    let folder = Folder::new("clean");
    let mut chance = Chance(seed);
    let sqlite = folder.file("pages.db");
    let db = SqliteSink::open(&sqlite, SqliteOptions::default()).unwrap();
    let mut formulas = 0;
    for first in (0..records).step_by(1_000) {
        let count = (records - first).min(1_000);
        let rows: Vec<Row> = (0..count).map(|n| chance.row(first + n)).collect();
        let (jsonl, csv) = (folder.file("pages.jsonl"), folder.file("pages.csv"));
        let batch = Batch::of_rows(rows);
        block(JsonlSink::open(&jsonl, options()).unwrap().write(&batch)).unwrap();
        block(CsvSink::open(&csv, options()).unwrap().write(&batch)).unwrap();
        // Twenty thousand rows test as much as a million.
        if first < 20_000 {
            block(db.write(&batch)).unwrap();
        }
        let lines = std::fs::read_to_string(&jsonl).unwrap();
        assert!(!lines.chars().any(|c| c.is_control() && c != '\n'), "a control character in JSON");
        let lines: Vec<serde_json::Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let records = csv_records(&std::fs::read_to_string(&csv).unwrap());
        assert_eq!((lines.len(), records.len()), (count, count), "a line for each");
        for (line, record) in lines.iter().zip(&records) {
            for (name, field) in record.as_object().unwrap() {
                let field = field.as_str().unwrap();
                assert!(name == "body" || !field.contains(char::is_control), "{name}: {field:?}");
                let live = ['=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}'];
                assert!(!field.starts_with(live), "{name} is a formula: {field:?}");
                formulas += usize::from(field.starts_with('\''));
                if NUMBERS.contains(&name.as_str()) {
                    let number: f64 = field.parse().unwrap();
                    assert_eq!(line[name].as_f64(), Some(number), "{name} is a number in both");
                }
                if let ("body", Some(body)) = (name.as_str(), line[name].as_str()) {
                    assert_eq!(field.strip_prefix('\'').unwrap_or(field), body, "as it was");
                }
            }
            assert_eq!(line.as_object().unwrap().len(), record.as_object().unwrap().len());
        }
        std::fs::remove_file(&jsonl).unwrap();
        std::fs::remove_file(&csv).unwrap();
    }
    drop(db);
    let db = rusqlite::Connection::open(&sqlite).unwrap();
    let kept: i64 = db.query_row("SELECT count(*) FROM pages", [], |row| row.get(0)).unwrap();
    assert_eq!(kept as usize, records.min(20_000), "every row is there");
    assert!(formulas * 10 > records, "formulas were among them: {formulas}");
    println!("{records} records: one line each, {formulas} fields kept from being formulas");
}

#[test]
fn hostile_texts_stay_in_their_fields() {
    fuzz(20_000, 0x5eed_0001);
}

#[test]
#[ignore = "a million records: ./chaos clean"]
fn a_million_hostile_rows_stay_in_their_fields() {
    fuzz(1_000_000, 0x5eed_0002);
}
