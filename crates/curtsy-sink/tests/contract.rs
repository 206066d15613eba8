//! SQLite, JSON lines and CSV keep the contract of every sink, and SQLite that of every cache.

mod sample;

use std::cell::RefCell;
use std::fs::OpenOptions;
use std::path::PathBuf;

use curtsy_core::url::CrawlUrl;
use curtsy_engine::{Batch, Cache, Document, Head, Row, Sink};
use curtsy_parse::html;
use curtsy_sink::{CsvSink, FileOptions, JsonlSink, SqliteOptions, SqliteSink};
use curtsy_testkit::cache::CacheRig;
use curtsy_testkit::sink::{KeptRow, SinkRig, keep_the_contract};
use rusqlite::Connection;
use serde_json::Value;

use sample::{Folder, csv_records, from_base64};

#[test]
fn sqlite_keeps_the_contract() {
    keep_the_contract(|| InSqlite(Folder::new("contract")));
}

#[test]
fn json_lines_keep_the_contract() {
    keep_the_contract(|| InLines(Folder::new("contract"), Kind::Jsonl));
}

#[test]
fn csv_keeps_the_contract() {
    keep_the_contract(|| InLines(Folder::new("contract"), Kind::Csv));
}

fn read(url: &CrawlUrl, head: &Head, body: &[u8]) -> Document {
    let page =
        html::HtmlPage::read(url, head.content_type.as_deref(), body, &html::PageLimits::default());
    Document { html: Some(page), ..Document::default() }
}

#[test]
fn the_cache_of_a_crawl_keeps_the_contract() {
    curtsy_testkit::cache::keep_the_contract(|| {
        CachedInSqlite(Folder::new("contract"), RefCell::default())
    });
}

struct InSqlite(Folder);

/// The sink that is also a cache, and its file.
struct CachedInSqlite(Folder, RefCell<Option<SqliteSink>>);

fn open(folder: &Folder) -> SqliteSink {
    SqliteSink::open(&folder.file("crawl.db"), SqliteOptions::default()).unwrap()
}

impl CacheRig for CachedInSqlite {
    fn open(&self) -> Box<dyn Cache + '_> {
        self.1.take();
        let sink = open(&self.0);
        self.1.replace(Some(sink.clone()));
        Box::new(sink)
    }

    fn write(&self, row: Row) {
        let batch = Batch::of_rows(vec![row]);
        let sink = self.1.borrow();
        curtsy_testkit::block_on(sink.as_ref().unwrap().write(&batch)).unwrap();
    }
}

impl SinkRig for InSqlite {
    fn open(&self) -> Box<dyn Sink> {
        Box::new(open(&self.0))
    }

    fn kept(&self) -> Vec<KeptRow> {
        let db = Connection::open(self.0.file("crawl.db")).unwrap();
        let sql = "SELECT url, http_status, body, title, links, decision, gate, error, decided_at
            FROM pages";
        let mut statement = db.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| {
            let links: Option<String> = row.get(4)?;
            Ok(KeptRow {
                url: row.get(0)?,
                http_status: row.get(1)?,
                body: row.get(2)?,
                title: row.get(3)?,
                links: links.map_or(Vec::new(), |json| serde_json::from_str(&json).unwrap()),
                decision: row.get(5)?,
                gate: row.get(6)?,
                error: row.get(7)?,
                decided_at: row.get(8)?,
            })
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    fn document(&self, url: &CrawlUrl, head: &Head, body: &[u8]) -> Document {
        read(url, head, body)
    }
}

enum Kind {
    Jsonl,
    Csv,
}

struct InLines(Folder, Kind);

impl InLines {
    fn path(&self) -> PathBuf {
        match self.1 {
            Kind::Jsonl => self.0.file("pages.jsonl"),
            Kind::Csv => self.0.file("pages.csv"),
        }
    }
}

impl SinkRig for InLines {
    fn open(&self) -> Box<dyn Sink> {
        let options = FileOptions { job: "job-1-".into(), ..FileOptions::default() };
        match self.1 {
            Kind::Jsonl => Box::new(JsonlSink::open(&self.path(), options).unwrap()),
            Kind::Csv => Box::new(CsvSink::open(&self.path(), options).unwrap()),
        }
    }

    fn kept(&self) -> Vec<KeptRow> {
        let text = std::fs::read_to_string(self.path()).unwrap();
        let objects: Vec<Value> = match self.1 {
            Kind::Jsonl => text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
            Kind::Csv => csv_records(&text),
        };
        objects.iter().map(row_of).collect()
    }

    fn tear(&self) -> bool {
        let file = OpenOptions::new().write(true).open(self.path()).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len(length - 40).unwrap();
        true
    }

    fn document(&self, url: &CrawlUrl, head: &Head, body: &[u8]) -> Document {
        read(url, head, body)
    }
}

fn row_of(object: &Value) -> KeptRow {
    let text = |name: &str| object.get(name).and_then(Value::as_str).map(str::to_owned);
    let body = text("body").map(String::into_bytes);
    let links = object.get("links").map(|links| match links {
        Value::String(json) => serde_json::from_str(json).unwrap(),
        links => serde_json::from_value(links.clone()).unwrap(),
    });
    let status = object.get("http_status").map(|status| match status {
        Value::String(digits) => digits.parse().unwrap(),
        number => u16::try_from(number.as_u64().unwrap()).unwrap(),
    });
    KeptRow {
        url: text("url").unwrap(),
        http_status: status,
        body: body.or_else(|| text("body_base64").map(|base64| from_base64(&base64))),
        title: text("title"),
        links: links.unwrap_or_default(),
        decision: text("decision").unwrap(),
        gate: text("gate"),
        error: text("error"),
        decided_at: text("decided_at").unwrap(),
    }
}
