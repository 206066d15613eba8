//! Rows as lines of a file: JSON lines and CSV.
//!
//! A batch is one write. If it fails, the file is cut back to where it was, so a batch is kept as a whole or not at all. A kill in the
//! middle of a write leaves a torn last line, which the next start cuts off; the crawl tells those rows again. A row that is told
//! twice is written once as far as the last rows of the file are remembered; beyond that, readers drop repeats by `event_id`.
//!
//! Lines are with the operating system when a batch is accepted, and on the disk when the sink is closed: they survive the process at
//! any moment, the power only then.
//!
//! Requests on the way to a row are not here: a file of lines has one line for each URL.

mod csv;
mod jsonl;
mod text;

use std::collections::{HashSet, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use curtsy_core::evidence::{RobotsContent, RobotsEvidence, SentenceContext, sentence};
use curtsy_core::host::{Finding, Gate};
use curtsy_engine::{Batch, Boxed, Row, Sink, SinkError};
use data_encoding::{BASE64, HEXLOWER};

use crate::columns::place;
use crate::facts::Facts;
use crate::record::{Record, Value, quote};
use crate::rules::{RobotsTexts, Rules};
use curtsy_file::{OpenError, full};

/// Rows of which it is remembered that they are written.
pub(crate) const REMEMBERED: usize = 20_000;

/// What a file of lines knows of its crawl.
#[derive(Clone, Default)]
pub struct FileOptions {
    /// The job's own name: the same when it is resumed, another for another crawl. It begins every `event_id`, so it is of letters,
    /// digits and dashes, and short.
    pub job: String,
    /// The run's trace id, for the column `run`.
    pub run: String,
    /// The policy's hash, for the column `policy_hash`.
    pub policy_hash: String,
    /// Who has the texts of robots.txt; without, a row has the number of the line that decided.
    pub robots: Option<RobotsTexts>,
    /// Called when nobody reads the standard output any more (`| head`). Rows are dropped from then on: nobody wants them.
    pub unread: Option<Arc<dyn Fn() + Send + Sync>>,
    /// The policy's limit on bodies, for the column `reason`.
    pub body_max: Option<u64>,
}

/// Rows as JSON lines: an object a line.
pub struct JsonlSink(Lines<jsonl::Jsonl>);

impl JsonlSink {
    /// Opens or begins a file; `-` is the standard output.
    pub fn open(path: &Path, options: FileOptions) -> Result<JsonlSink, OpenError> {
        Lines::open(path, options).map(JsonlSink)
    }

    /// Refuses a file that is something else; nothing is made or changed.
    pub fn check(path: &Path) -> Result<(), OpenError> {
        check_file::<jsonl::Jsonl>(path)
    }
}

/// Rows as CSV (RFC 4180), with a first line of names.
pub struct CsvSink(Lines<csv::Csv>);

impl CsvSink {
    /// Opens or begins a file; `-` is the standard output.
    pub fn open(path: &Path, options: FileOptions) -> Result<CsvSink, OpenError> {
        Lines::open(path, options).map(CsvSink)
    }

    /// Refuses a file that is something else; nothing is made or changed.
    pub fn check(path: &Path) -> Result<(), OpenError> {
        check_file::<csv::Csv>(path)
    }
}

impl Sink for JsonlSink {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        Box::pin(std::future::ready(self.0.write(batch)))
    }
}

impl Sink for CsvSink {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        Box::pin(std::future::ready(self.0.write(batch)))
    }
}

/// How rows become lines.
trait Format {
    /// What a file of this kind is called in messages.
    const WHAT: &'static str;
    /// What a new file begins with.
    fn opening() -> Vec<u8>;
    /// Adds a row.
    fn line(out: &mut Vec<u8>, row: &Line<'_>);
    /// Reads a file from its beginning: where its last whole line ends, and what its last lines are called. None if the file is not of
    /// this kind.
    fn survey(file: &mut File, seen: &mut Recent) -> io::Result<Option<u64>>;
}

/// A row with what only files of lines have.
struct Line<'a> {
    record: Record<'a>,
    body_text: Option<std::borrow::Cow<'a, str>>,
    body_base64: Option<String>,
    event_id: String,
    policy_hash: &'a str,
}

impl Line<'_> {
    /// What robots.txt said about the URL, as a record of its own; none if it had no say.
    fn evidence(&self) -> Option<String> {
        let row = self.record.row;
        let rule = match &self.record.values[const { place("robots_rule") }] {
            Value::Text(rule) => Some(rule.to_string()),
            _ => None,
        };
        let found = row.findings.of(Gate::Robots);
        let evidence =
            RobotsEvidence::with_rule(found, &row.final_url, rule, row.crawl_delay, row.at)?;
        let RobotsContent { allowed, matched_rule, crawl_delay, timestamp } = evidence.content;
        let mut both = format!("\"allowed\":{allowed},\"matchedRule\":");
        match matched_rule {
            Some(rule) => quote(&mut both, &rule),
            None => both.push_str("null"),
        }
        both.push_str(",\"crawlDelay\":");
        // A number of ours always is JSON.
        both.push_str(&serde_json::to_string(&crawl_delay).unwrap_or_default());
        let mut url = String::new();
        quote(&mut url, row.final_url.as_str());
        Some(format!(
            "{{\"type\":\"{}\",\"content\":{{{both},\"timestamp\":\"{timestamp}\"}},\"metadata\":{{\"url\":{url},{both}}},\"confidence\":\"{}\"}}",
            evidence.kind.name(),
            evidence.confidence.name(),
        ))
    }
}

struct Lines<F> {
    path: PathBuf,
    options: FileOptions,
    inner: Mutex<Inner>,
    format: std::marker::PhantomData<F>,
}

struct Inner {
    out: Out,
    recent: Recent,
    rules: Rules,
    buffer: Vec<u8>,
}

enum Out {
    File {
        file: File,
        length: u64,
    },
    Standard,
    /// The standard output, after its reader has gone.
    Unread,
}

impl<F: Format> Lines<F> {
    fn open(path: &Path, options: FileOptions) -> Result<Lines<F>, OpenError> {
        let mut recent = Recent::default();
        let mut out = match path.as_os_str() == "-" {
            true => Out::Standard,
            false => open_file::<F>(path, &mut recent)?,
        };
        if !matches!(out, Out::File { length: 1.., .. }) {
            out.write(&F::opening()).map_err(|e| OpenError::io(path, e))?;
        }
        let rules = Rules::new(options.robots.clone());
        let inner = Inner { out, recent, rules, buffer: Vec::new() };
        let format = std::marker::PhantomData;
        Ok(Lines { path: path.to_owned(), options, inner: Mutex::new(inner), format })
    }

    fn write(&self, batch: &Batch) -> Result<(), SinkError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Inner { out, recent, rules, buffer } = &mut *inner;
        buffer.clear();
        let mut fresh: HashSet<String> = HashSet::new();
        for facts in batch.rows.iter().map(|row| Facts::of(row)) {
            let event_id = format!("{}{}", self.options.job, facts.row.id);
            if recent.has(&event_id) || !fresh.insert(event_id.clone()) {
                continue;
            }
            F::line(buffer, &self.complete(facts, rules, event_id));
        }
        match out.write(buffer) {
            Err(e) if is_unread(&e) && matches!(out, Out::Standard) => {
                *out = Out::Unread;
                self.options.unread.iter().for_each(|told| told());
            }
            written => {
                written.map_err(|e| SinkError { rows: batch.rows.len(), why: self.trouble(&e) })?
            }
        }
        fresh.into_iter().for_each(|id| recent.add(id));
        // One huge batch is no reason to keep its room.
        buffer.shrink_to(1 << 20);
        Ok(())
    }

    fn complete<'a>(&'a self, facts: Facts<'a>, rules: &mut Rules, event_id: String) -> Line<'a> {
        let row = facts.row;
        let mut record = Record::new(facts, self.options.body_max);
        rules.complete(&mut record);
        if !self.options.run.is_empty() {
            record.set(const { place("run") }, Value::Text(self.options.run.as_str().into()));
        }
        if let Some((file, _)) = record.facts.robots {
            record
                .set(const { place("robots_file") }, Value::Text(HEXLOWER.encode(&file.0).into()));
        }
        record.set(const { place("findings") }, Value::Text(findings(row).into()));
        let (body_text, body_base64) = match row.page.as_ref().and_then(|p| p.body.as_ref()) {
            None => (None, None),
            Some(body) => {
                let html = row.page.as_ref().and_then(|page| page.document.html.as_ref());
                match text::of(body, html.map(|html| html.charset.decode(body))) {
                    Some(text) => (Some(text), None),
                    None => (None, Some(BASE64.encode(body))),
                }
            }
        };
        let policy_hash = &self.options.policy_hash;
        Line { record, body_text, body_base64, event_id, policy_hash }
    }

    fn trouble(&self, error: &io::Error) -> String {
        let path = self.path.display();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => full(&path.to_string()),
            _ => format!(
                "can't write to `{path}`: {error}\nhint: is the disk full, failing, or away?"
            ),
        }
    }
}

fn is_unread(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// Opens a file, cuts off a torn last line and takes in what its last lines are called.
fn check_file<F: Format>(path: &Path) -> Result<(), OpenError> {
    if path.as_os_str() == "-" || !path.is_file() {
        // What is not there yet, or can't be written, shows when it is opened.
        return Ok(());
    }
    let of = |e| OpenError::io(path, e);
    let mut file = File::open(path).map_err(of)?;
    if file.metadata().map_err(of)?.len() == 0 {
        return Ok(());
    }
    match F::survey(&mut file, &mut Recent::default()).map_err(of)? {
        Some(_) => Ok(()),
        None => Err(OpenError::OtherFile { path: path.to_owned(), what: F::WHAT }),
    }
}

fn open_file<F: Format>(path: &Path, recent: &mut Recent) -> Result<Out, OpenError> {
    let of = |e| OpenError::io(path, e);
    let mut options = OpenOptions::new();
    let mut file =
        options.read(true).write(true).create(true).truncate(false).open(path).map_err(of)?;
    let length = file.metadata().map_err(of)?.len();
    let whole = match length {
        0 => Some(0),
        _ => F::survey(&mut file, recent).map_err(of)?,
    };
    let Some(whole) = whole else {
        return Err(OpenError::OtherFile { path: path.to_owned(), what: F::WHAT });
    };
    if whole < length {
        file.set_len(whole).map_err(of)?;
    }
    file.seek(SeekFrom::Start(whole)).map_err(of)?;
    Ok(Out::File { file, length: whole })
}

impl Out {
    /// Writes all of it or, to a file, nothing.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Out::Unread => Ok(()),
            Out::Standard => {
                let mut out = io::stdout().lock();
                out.write_all(bytes)?;
                out.flush()
            }
            Out::File { file, length } => {
                if let Err(error) = file.write_all(bytes) {
                    // If that fails too, the next write begins at the same place.
                    let _ = file.set_len(*length);
                    file.seek(SeekFrom::Start(*length))?;
                    return Err(error);
                }
                *length += bytes.len() as u64;
                Ok(())
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Out::File { file, .. } = &self.out {
            // Nobody is left to be told.
            let _ = file.sync_data();
        }
    }
}

/// What the last rows are called.
#[derive(Default)]
struct Recent {
    ids: HashSet<String>,
    order: VecDeque<String>,
}

impl Recent {
    fn has(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    fn add(&mut self, id: String) {
        if self.ids.insert(id.clone()) {
            self.order.push_back(id);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }
}

/// What the gates found, as a JSON object of sentences; those that are clear are left out.
fn findings(row: &Row) -> String {
    let names = SentenceContext { robots: None, now: row.at };
    let mut out = String::from("{");
    for (gate, finding) in row.findings.iter().filter(|(_, f)| **f != Finding::CLEAR) {
        if out.len() > 1 {
            out.push(',');
        }
        quote(&mut out, gate.name());
        out.push(':');
        quote(&mut out, &sentence(gate, finding, &names));
    }
    out.push('}');
    out
}

/// Reads a file in pieces, from its beginning.
fn pieces(file: &mut File, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => take(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
