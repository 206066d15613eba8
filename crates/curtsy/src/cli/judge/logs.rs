//! Opens the logs: files or stdin, gzipped or not, and gives their lines in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use anyhow::{Context, bail};
use curtsy_judge::{LogDetail, LogEntry, LogFormat, LogReader, Unreadable, read_log};
use flate2::bufread::MultiGzDecoder;

/// Several logs, merged in the order of time: rotated logs may have names in any order.
pub(super) struct Logs {
    logs: Vec<LogFile>,
    /// The next entry of each log by its end, which is the order in which servers write.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    /// Lines that could not be read.
    pub(super) unreadable: u64,
    /// The first few of them, with the reason.
    pub(super) unreadable_first: Vec<String>,
    /// How much the lines read so far show, all together.
    pub(super) detail: LogDetail,
    /// The formats of the lines read so far.
    pub(super) formats: Vec<LogFormat>,
    several: bool,
}

struct LogFile {
    name: String,
    lines: LogReader<Box<dyn BufRead>>,
    head: Option<LogEntry>,
}

impl Logs {
    /// Opens every log and reads the first line of each that can be read.
    pub(super) fn open(files: &[String], format: Option<LogFormat>) -> anyhow::Result<Logs> {
        if files.len() > FILES_MAX {
            bail!(
                "{} logs, at most {FILES_MAX} can be read at once\nhint: cat access.log* | curtsy judge -, or zcat for gzipped ones",
                files.len()
            );
        }
        if files.iter().filter(|file| *file == "-").count() > 1 {
            bail!("`-` is stdin, which can be read only once");
        }
        refuse_copies(files)?;
        let mut logs = Logs {
            logs: Vec::new(),
            heads: BinaryHeap::new(),
            unreadable: 0,
            unreadable_first: Vec::new(),
            detail: LogDetail::FULL,
            formats: Vec::new(),
            several: files.len() > 1,
        };
        for file in files {
            let name = logs.several.then(|| Arc::from(file.as_str()));
            let mut lines = read_log(open(file)?).keeping_lines(name);
            if let Some(format) = format {
                lines = lines.with_format(format);
            }
            logs.logs.push(LogFile { name: file.clone(), lines, head: None });
            let log = logs.logs.len() - 1;
            let (before, shown) = (logs.unreadable, logs.unreadable_first.len());
            logs.advance(log);
            if logs.logs[log].head.is_none() && logs.unreadable > before {
                let tried: Vec<&str> = match format {
                    Some(format) => vec![format.name()],
                    None => LogFormat::ALL.map(LogFormat::name).to_vec(),
                };
                bail!(
                    "`{file}` holds no line that can be read, in any of these formats: {}\n{}",
                    tried.join(", "),
                    logs.unreadable_first[shown..].join("\n")
                );
            }
        }
        if logs.heads.is_empty() {
            bail!("`{}` holds no line at all", files.join("`, `"));
        }
        Ok(logs)
    }

    /// The next entry of all logs.
    pub(super) fn next(&mut self) -> Option<LogEntry> {
        let Reverse((_, log)) = self.heads.pop()?;
        let entry = self.logs[log].head.take();
        self.advance(log);
        entry
    }

    fn advance(&mut self, log: usize) {
        while let Some(line) = self.logs[log].lines.next() {
            match line {
                Ok(entry) => {
                    self.heads.push(Reverse((entry.end(), log)));
                    let log = &mut self.logs[log];
                    log.head = Some(entry);
                    self.detail = self.detail.least(log.lines.detail());
                    for format in log.lines.formats() {
                        if !self.formats.contains(format) {
                            self.formats.push(*format);
                        }
                    }
                    return;
                }
                Err(unreadable) => self.count(log, &unreadable),
            }
        }
    }

    fn count(&mut self, log: usize, unreadable: &Unreadable) {
        self.unreadable += 1;
        if self.unreadable_first.len() < UNREADABLE_SHOWN {
            let file = match self.several {
                true => format!("{}: ", self.logs[log].name),
                false => String::new(),
            };
            self.unreadable_first.push(format!("{file}{unreadable}"));
        }
    }
}

/// Refuses a log that is given twice, as `access.log` and again gzipped: each request would count
/// twice, and look like two at once.
fn refuse_copies(files: &[String]) -> anyhow::Result<()> {
    let mut begins: Vec<(&str, Vec<u8>)> = Vec::new();
    for file in files.iter().filter(|_| files.len() > 1) {
        // What is no file, such as stdin or a pipe, can be read only once.
        if file == "-" || !std::fs::metadata(file).is_ok_and(|found| found.is_file()) {
            continue;
        }
        let mut begin = Vec::new();
        let read = open(file)?.take(COMPARED_BYTES).read_to_end(&mut begin);
        read.with_context(|| format!("could not read `{file}`"))?;
        if let Some((same, _)) =
            begins.iter().find(|(_, other)| *other == begin && !begin.is_empty())
        {
            bail!(
                "`{file}` and `{same}` are the same log: each request would count twice\nhint: give each log once"
            );
        }
        begins.push((file, begin));
    }
    Ok(())
}

/// Opens a file or stdin, and unpacks it if it is gzipped, as rotated logs are.
pub(super) fn open(file: &str) -> anyhow::Result<Box<dyn BufRead>> {
    let mut reader: Box<dyn BufRead> = match file {
        "-" => Box::new(BufReader::new(io::stdin())),
        path => Box::new(BufReader::new(
            File::open(path).with_context(|| format!("could not read `{path}`"))?,
        )),
    };
    let start = reader.fill_buf().with_context(|| format!("could not read `{file}`"))?;
    match start.starts_with(&GZIP) {
        true => Ok(Box::new(BufReader::new(MultiGzDecoder::new(reader)))),
        false => Ok(reader),
    }
}

const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Logs that are open at once.
const FILES_MAX: usize = 512;
/// Two logs that begin with the same so many bytes, unpacked, are the same.
const COMPARED_BYTES: u64 = 16 * 1024;
const UNREADABLE_SHOWN: usize = 5;
