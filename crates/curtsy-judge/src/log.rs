//! Reads access logs: JSON lines in full detail, or the combined format of nginx and Apache.
//!
//! Each line is read on its own and says by its first character which kind it is. A line that can't be read comes out as
//! [`Unreadable`], with its number and the reason: the caller counts and shows it. Nothing is skipped in silence but blank lines.

use std::collections::HashMap;
use std::fmt;
use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::combined;
use crate::exchange::{Exchange, Scheme};
use crate::generations::ByHash;
use crate::host_name::split_port;
use crate::judge::LogDetail;

/// Reads a log line by line.
pub fn read_log<R: BufRead>(reader: R) -> LogReader<R> {
    LogReader {
        reader,
        line: 0,
        detail: None,
        names: Names::default(),
        failed: false,
        buffer: Vec::new(),
    }
}

/// The exchanges of a log, in the order of its lines.
pub struct LogReader<R> {
    reader: R,
    line: u64,
    detail: Option<LogDetail>,
    names: Names,
    failed: bool,
    buffer: Vec<u8>,
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Its number, counted from 1.
    pub line: u64,
    /// Its text, shortened.
    pub text: String,
    /// Why it could not be read.
    pub why: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: {}", self.line, self.why, self.text)
    }
}

impl std::error::Error for Unreadable {}

impl<R> LogReader<R> {
    /// How much the lines read so far show, all together.
    pub fn detail(&self) -> LogDetail {
        self.detail.unwrap_or(LogDetail::FULL)
    }
}

impl<R: BufRead> Iterator for LogReader<R> {
    type Item = Result<Exchange, Unreadable>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed {
            self.buffer.clear();
            self.line += 1;
            let read = read_line(&mut self.reader, &mut self.buffer);
            let whole = match read {
                Ok(0) => return None,
                Ok(read) => read as usize <= LINE_MAX,
                Err(error) => {
                    self.failed = true;
                    return Some(Err(self.unreadable(format!("the log can't be read: {error}"))));
                }
            };
            if !whole {
                let why = format!("longer than {LINE_MAX} bytes");
                return Some(Err(self.unreadable(why)));
            }
            let text = self.buffer.trim_ascii();
            if text.is_empty() {
                continue;
            }
            let found = match std::str::from_utf8(text) {
                Ok(text) if text.starts_with('{') => exchange_of(text, &mut self.names),
                Ok(text) => combined::exchange_of(text, &mut self.names),
                Err(_) => Err("not UTF-8".to_owned()),
            };
            return Some(match found {
                Ok((exchange, detail)) => {
                    self.detail = Some(self.detail.map_or(detail, |known| known.least(detail)));
                    Ok(exchange)
                }
                Err(why) => Err(self.unreadable(why)),
            });
        }
        None
    }
}

impl<R> LogReader<R> {
    fn unreadable(&self, why: String) -> Unreadable {
        let text: String = String::from_utf8_lossy(&self.buffer[..self.buffer.len().min(1000)])
            .trim()
            .chars()
            .map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .take(TEXT_SHOWN)
            .collect();
        Unreadable { line: self.line, text, why }
    }
}

/// Reads up to the end of a line, and keeps no more than the longest line allowed.
fn read_line<R: BufRead>(reader: &mut R, buffer: &mut Vec<u8>) -> std::io::Result<u64> {
    let mut read = 0u64;
    loop {
        let available = match reader.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = available.iter().position(|&b| b == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        let room = LINE_MAX.saturating_sub(buffer.len());
        buffer.extend_from_slice(&part[..part.len().min(room)]);
        let used = part.len() + usize::from(end.is_some());
        let done = end.is_some() || used == 0;
        reader.consume(used);
        read += used as u64;
        if done {
            return Ok(read);
        }
    }
}

/// Texts that most lines share are kept once.
#[derive(Default)]
pub(crate) struct Names(HashMap<Box<str>, Arc<str>, ByHash>);

impl Names {
    pub(crate) fn one(&mut self, text: &str) -> Arc<str> {
        if let Some(name) = self.0.get(text) {
            return Arc::clone(name);
        }
        if self.0.len() >= NAMES_MAX {
            self.0.clear();
        }
        let name: Arc<str> = text.into();
        self.0.insert(text.into(), Arc::clone(&name));
        name
    }
}

fn exchange_of(text: &str, names: &mut Names) -> Result<(Exchange, LogDetail), String> {
    let line: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))?;
    let fields = Fields(&line);
    let (start, end, detail) = times(&fields)?;
    let host = fields.text("host").ok_or("`host` is missing")?;
    let (host, named_port) = split_port(&host);
    let scheme = match fields.text("scheme").as_deref() {
        None | Some("http") => Scheme::Http,
        Some("https") => Scheme::Https,
        Some(other) => return Err(format!("`scheme` is `{other}`, not `http` or `https`")),
    };
    let port = match fields.number("port")? {
        Some(port) => u16::try_from(port).map_err(|_| format!("`port` is `{port}`"))?,
        None => named_port.unwrap_or(scheme.default_port()),
    };
    let status = match fields.number("status")? {
        None | Some(0) => None,
        Some(status) => Some(u16::try_from(status).map_err(|_| format!("`status` is `{status}`"))?),
    };
    let target = fields.text("target").ok_or("`target` is missing")?;
    let share = |names: &mut Names, key: &str| fields.text(key).map(|text| names.one(&text));
    let own = |key: &str| fields.text(key).map(|text| Arc::<str>::from(text.as_str()));
    let robots_body = match (line.get("robots_body"), line.get("robots_body_latin1")) {
        (Some(Value::String(text)), _) => Some(Arc::from(text.as_bytes())),
        (_, Some(Value::String(text))) => {
            Some(text.chars().map(|c| c as u32 as u8).collect::<Arc<[u8]>>())
        }
        _ => None,
    };
    let exchange = Exchange {
        start,
        end,
        conn: fields.number("conn")?.unwrap_or(0),
        peer: fields.text("peer").and_then(|text| text.parse().ok()),
        local: fields.text("local").and_then(|text| text.parse().ok()),
        scheme,
        host: names.one(host),
        port,
        method: names.one(&fields.text("method").ok_or("`method` is missing")?),
        target: target.as_str().into(),
        user_agent: share(names, "user_agent"),
        from: share(names, "from"),
        if_none_match: own("if_none_match"),
        if_modified_since: own("if_modified_since"),
        cookie: fields.flag("cookie").unwrap_or(false),
        authorization: fields.flag("authorization").unwrap_or(false),
        // nginx writes 499 when the client has hung up: the client never saw a status.
        status: status.filter(|&status| status != 499),
        location: own("location"),
        retry_after: own("retry_after"),
        date: own("date"),
        cache_control: share(names, "cache_control"),
        etag: own("etag"),
        last_modified: own("last_modified"),
        robots_body,
        complete: fields.flag("complete").unwrap_or(status.is_some()) && status != Some(499),
        read_late: fields.flag("read_late").unwrap_or(false),
    };
    Ok((exchange, detail))
}

/// `start` and `end` in microseconds; or `msec` and `request_time` in seconds, as nginx gives them.
fn times(fields: &Fields<'_>) -> Result<(u64, u64, LogDetail), String> {
    if let Some(start) = fields.number("start")? {
        let end = fields.number("end")?;
        let detail = LogDetail { ends: end.is_some(), ..LogDetail::FULL };
        let end = end.unwrap_or(start);
        if end < start {
            return Err(format!("`end` {end} is before `start` {start}"));
        }
        return Ok((start, end, detail));
    }
    let end = fields.seconds("msec")?.ok_or("`start` (or `msec`) is missing")?;
    let took = fields.seconds("request_time")?;
    let detail = LogDetail { resolution: NGINX, ends: took.is_some(), headers: true };
    Ok((end.saturating_sub(took.unwrap_or(0)), end, detail))
}

/// The fields of a line, whether their writer could quote or not.
struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    /// A text; empty and `-` are none.
    fn text(&self, key: &str) -> Option<String> {
        match self.0.get(key)? {
            Value::String(text) if text.is_empty() || text == "-" => None,
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    fn number(&self, key: &str) -> Result<Option<u64>, String> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Number(number)) if number.is_u64() => Ok(number.as_u64()),
            Some(Value::String(text)) if text.is_empty() || text == "-" => Ok(None),
            Some(Value::String(text)) if text.parse::<u64>().is_ok() => Ok(text.parse().ok()),
            Some(other) => Err(format!("`{key}` is `{other}`, not a whole number")),
        }
    }

    /// Decimal seconds, as microseconds.
    fn seconds(&self, key: &str) -> Result<Option<u64>, String> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        match text.parse::<f64>() {
            Ok(seconds) if (0.0..1e12).contains(&seconds) => {
                Ok(Some((seconds * 1e3).round() as u64 * 1000))
            }
            _ => Err(format!("`{key}` is `{text}`, not a number of seconds")),
        }
    }

    /// A flag; a text is one too, so that a header itself can stand for "it was sent".
    fn flag(&self, key: &str) -> Option<bool> {
        match self.0.get(key)? {
            Value::Bool(flag) => Some(*flag),
            Value::Number(number) => Some(number.as_u64() != Some(0)),
            Value::String(text) => Some(!matches!(text.as_str(), "" | "-" | "0" | "false")),
            _ => None,
        }
    }
}

/// Both of nginx's numbers are cut to milliseconds.
const NGINX: Duration = Duration::from_millis(2);
/// A line may hold a robots.txt of 500 KiB, every byte of it escaped.
const LINE_MAX: usize = 4 << 20;
const TEXT_SHOWN: usize = 200;
const NAMES_MAX: usize = 1 << 16;
