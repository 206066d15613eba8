//! Rows as lines of a file: JSON lines and CSV.
//!
//! A batch is one write. If it fails, the file is truncated to its length before, so a batch is
//! written as a whole or not at all. A kill during a write leaves a truncated last line, which the
//! next start removes; the crawl sends those rows again. A repeated row is skipped if it is among
//! the last rows of the file; older repeats can be dropped by `event_id`.
//!
//! Accepted lines are in the operating system's cache, and on the disk when the sink is closed.
//! They survive the end of the process, but not a power failure.
//!
//! A file has one line for each URL. Requests on the way to a row are not in it.

mod csv;
mod jsonl;
mod text;

use std::collections::{HashSet, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use curtsy_core::evidence::{RobotsContent, RobotsEvidence, SentenceContext, sentence};
use curtsy_core::host::{Finding, Gate};
use curtsy_engine::{Batch, Boxed, Row, Sink, SinkError};
use data_encoding::{BASE64, HEXLOWER};

use crate::columns::place;
use crate::facts::Facts;
use crate::record::{CellValue, RowRecord, quote, set};
use crate::rules::{RobotsTexts, Rules};
use curtsy_file::{OpenError, full};

/// Rows that are remembered as written.
pub(crate) const REMEMBERED: usize = 20_000;

/// What the lines of a file need to know about the crawl.
#[derive(Clone, Default)]
pub struct FileOptions {
    /// The name of the job: constant when the job is resumed, different for another crawl. Every
    /// `event_id` begins with it. It consists of letters, digits and dashes, and is short.
    pub job: String,
    /// The run's trace id, for the column `run`.
    pub run: String,
    /// The policy's hash, for the column `policy_hash`.
    pub policy_hash: String,
    /// Finds texts of robots.txt. Without, a row has only the number of the line that decided.
    pub robots: Option<RobotsTexts>,
    /// Called when the reader of the standard output is gone (`| head`). Further rows are dropped.
    pub unread: Option<Arc<dyn Fn() + Send + Sync>>,
    /// The policy's limit on bodies, for the column `reason`.
    pub body_max: Option<u64>,
}

/// Rows as JSON lines: an object a line.
pub type JsonlSink = LinesSink<jsonl::Jsonl>;

/// Rows as CSV (RFC 4180), with a first line of names.
pub type CsvSink = LinesSink<csv::Csv>;

/// A file of rows.
pub struct LinesSink<F> {
    path: PathBuf,
    options: FileOptions,
    inner: Mutex<OpenLines>,
    format: PhantomData<F>,
}

impl<F: Format> Sink for LinesSink<F> {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        Box::pin(std::future::ready(self.write_batch(batch)))
    }
}

/// A format of lines.
pub trait Format {
    /// The name of such a file in messages.
    const WHAT: &'static str;
    /// Returns the first line of a new file.
    fn opening() -> Vec<u8>;
    /// Returns the bytes with which every file of this format begins.
    fn start() -> Vec<u8>;
    /// Adds a row.
    fn line(out: &mut Vec<u8>, row: &FileRow<'_>);
    /// Whether a line feed after `part` is inside a quoted text. `quoted` is the same for the line
    /// feed before it.
    fn is_quoted(part: &[u8], quoted: bool) -> bool;
    /// Returns the event id of a line, by the last bytes of the line.
    fn event_id(end: &[u8]) -> Option<String>;
}

/// The last bytes of a line, which have its event id.
const END_BYTES: usize = 256;

/// Reads a file from its beginning. Returns the end of its last whole line, and adds the event ids
/// of its last lines to `seen`. Returns none if the file is not of this format.
fn survey<F: Format>(file: &mut File, seen: &mut RecentIds) -> io::Result<Option<u64>> {
    let expected = F::start();
    let (mut start, mut end) = (Vec::new(), Vec::new());
    let (mut at, mut whole, mut quoted) = (0_u64, 0_u64, false);
    pieces(file, |piece| {
        let missing = expected.len().saturating_sub(start.len());
        start.extend_from_slice(&piece[..missing.min(piece.len())]);
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            at += part.len() as u64;
            quoted = F::is_quoted(part, quoted);
            end.extend_from_slice(&part[part.len().saturating_sub(END_BYTES)..]);
            end.drain(..end.len().saturating_sub(END_BYTES));
            if part.ends_with(b"\n") && !quoted {
                whole = at;
                F::event_id(&end).into_iter().for_each(|id| seen.add(id));
                end.clear();
            }
        }
    })?;
    // A kill may have truncated the very first line. Another program's file must not be taken for a
    // truncated line of ours.
    let ours = start == expected || expected.starts_with(&start) && whole == 0;
    Ok(ours.then_some(whole))
}

/// A row with the values that only files of lines have.
pub struct FileRow<'a> {
    record: RowRecord<'a>,
    body_text: Option<std::borrow::Cow<'a, str>>,
    body_base64: Option<String>,
    event_id: String,
    policy_hash: &'a str,
}

impl FileRow<'_> {
    /// Returns the robots.txt evidence of the URL; none if robots.txt was not consulted.
    fn evidence(&self) -> Option<String> {
        let row = self.record.row;
        let rule = match &self.record.values[const { place("robots_rule") }] {
            CellValue::Text(rule) => Some(rule.to_string()),
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
        // A number always converts to JSON.
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

struct OpenLines {
    out: LinesOut,
    recent: RecentIds,
    rules: Rules,
    buffer: Vec<u8>,
}

enum LinesOut {
    File {
        file: File,
        length: u64,
    },
    Standard,
    /// The standard output, after its reader has gone.
    Unread,
}

impl<F: Format> LinesSink<F> {
    /// Opens or creates a file; `-` is the standard output.
    pub fn open(path: &Path, options: FileOptions) -> Result<LinesSink<F>, OpenError> {
        let mut recent = RecentIds::default();
        let mut out = match path.as_os_str() == "-" {
            true => LinesOut::Standard,
            false => open_file::<F>(path, &mut recent)?,
        };
        if !matches!(out, LinesOut::File { length: 1.., .. }) {
            out.write(&F::opening()).map_err(|e| OpenError::io(path, e))?;
        }
        let rules = Rules::new(options.robots.clone());
        let inner = OpenLines { out, recent, rules, buffer: Vec::new() };
        let inner = Mutex::new(inner);
        Ok(LinesSink { path: path.to_owned(), options, inner, format: PhantomData })
    }

    /// Refuses the file of another program. Creates and changes nothing.
    pub fn check(path: &Path) -> Result<(), OpenError> {
        if path.as_os_str() == "-" || !path.is_file() {
            // A missing file, or one that cannot be written, shows when it is opened.
            return Ok(());
        }
        let mut file = File::open(path).map_err(|e| OpenError::io(path, e))?;
        whole_lines::<F>(path, &mut file, &mut RecentIds::default()).map(drop)
    }

    fn write_batch(&self, batch: &Batch) -> Result<(), SinkError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let OpenLines { out, recent, rules, buffer } = &mut *inner;
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
            Err(e) if is_unread(&e) && matches!(out, LinesOut::Standard) => {
                *out = LinesOut::Unread;
                self.options.unread.iter().for_each(|told| told());
            }
            written => {
                written.map_err(|e| SinkError { rows: batch.rows.len(), why: self.trouble(&e) })?
            }
        }
        fresh.into_iter().for_each(|id| recent.add(id));
        // Frees the memory of a huge batch.
        buffer.shrink_to(1 << 20);
        Ok(())
    }

    fn complete<'a>(
        &'a self,
        facts: Facts<'a>,
        rules: &mut Rules,
        event_id: String,
    ) -> FileRow<'a> {
        let row = facts.row;
        let mut record = RowRecord::new(facts, self.options.body_max);
        rules.complete(&mut record);
        if !self.options.run.is_empty() {
            set!(record, run = self.options.run.as_str());
        }
        if let Some((file, _)) = record.facts.robots {
            set!(record, robots_file = HEXLOWER.encode(&file.0));
        }
        set!(record, findings = findings(row));
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
        FileRow { record, body_text, body_base64, event_id, policy_hash }
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

/// Returns the length of a file and the length of its whole lines.
fn whole_lines<F: Format>(
    path: &Path,
    file: &mut File,
    recent: &mut RecentIds,
) -> Result<(u64, u64), OpenError> {
    let of = |e| OpenError::io(path, e);
    let length = file.metadata().map_err(of)?.len();
    let whole = if length == 0 { Some(0) } else { survey::<F>(file, recent).map_err(of)? };
    let other = || OpenError::OtherFile { path: path.to_owned(), what: F::WHAT };
    Ok((length, whole.ok_or_else(other)?))
}

/// Opens a file, cuts off a truncated last line and reads the event ids of the last lines.
fn open_file<F: Format>(path: &Path, recent: &mut RecentIds) -> Result<LinesOut, OpenError> {
    let of = |e| OpenError::io(path, e);
    let mut options = OpenOptions::new();
    let mut file =
        options.read(true).write(true).create(true).truncate(false).open(path).map_err(of)?;
    let (length, whole) = whole_lines::<F>(path, &mut file, recent)?;
    if whole < length {
        file.set_len(whole).map_err(of)?;
    }
    file.seek(SeekFrom::Start(whole)).map_err(of)?;
    Ok(LinesOut::File { file, length: whole })
}

impl LinesOut {
    /// Writes all bytes or, to a file, none.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            LinesOut::Unread => Ok(()),
            LinesOut::Standard => {
                let mut out = io::stdout().lock();
                out.write_all(bytes)?;
                out.flush()
            }
            LinesOut::File { file, length } => {
                if let Err(error) = file.write_all(bytes) {
                    // If this fails too, the next write still begins at the same place.
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

impl Drop for OpenLines {
    fn drop(&mut self) {
        if let LinesOut::File { file, .. } = &self.out {
            // Nobody could receive the error.
            let _ = file.sync_data();
        }
    }
}

/// The event ids of the last rows.
#[derive(Default)]
struct RecentIds {
    ids: HashSet<String>,
    order: VecDeque<String>,
}

impl RecentIds {
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

/// Returns the findings of the gates as a JSON object of sentences, without clear gates.
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

/// Reads a file from its beginning, piece by piece.
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
