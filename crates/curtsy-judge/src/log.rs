//! Reads access logs in the formats of [`LogFormat`].
//!
//! Each line is read by itself. Its content shows its format, unless the caller names one. An
//! unreadable line becomes [`Unreadable`], with its number and the reason, for the caller to count
//! and show. Only blank lines and the directives of the W3C format (`#…`) are skipped.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::connection::{ConnectionChange, ConnectionEvent, LogEntry};
use crate::exchange::{Exchange, LogLine, LogScheme};
use crate::format::{ANSWER_MAX, LogFormat, SECONDS};
use crate::generations::HashedKeys;
use crate::header::{iso_date, log_date};
use crate::host_name::split_port;
use crate::judge::LogDetail;
use crate::w3c::Columns;
use crate::{absolute, caddy, combined, w3c};

/// Reads a log line by line.
pub fn read_log<R: BufRead>(reader: R) -> LogReader<R> {
    LogReader {
        reader,
        line: 0,
        detail: None,
        names: SharedTexts::default(),
        failed: false,
        buffer: Vec::new(),
        format: None,
        columns: Columns::default(),
        keeps: Keeps::Nothing,
        formats: Vec::new(),
    }
}

/// The entries of a log, in the order of its lines.
pub struct LogReader<R> {
    reader: R,
    line: u64,
    detail: Option<LogDetail>,
    names: SharedTexts,
    failed: bool,
    buffer: Vec<u8>,
    format: Option<LogFormat>,
    columns: Columns,
    keeps: Keeps,
    formats: Vec<LogFormat>,
}

/// What is kept of a line besides its entry.
enum Keeps {
    Nothing,
    /// Number and text, and the name of the file if there are several.
    Lines(Option<Arc<str>>),
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
    /// Reads every line in this format.
    pub fn with_format(mut self, format: LogFormat) -> LogReader<R> {
        self.format = Some(format);
        self
    }

    /// Keeps each line with its exchange ([`Exchange::source`]), and the name of the file if there
    /// are several.
    pub fn keeping_lines(mut self, file: Option<Arc<str>>) -> LogReader<R> {
        self.keeps = Keeps::Lines(file);
        self
    }

    /// Returns the detail of all lines read so far.
    pub fn detail(&self) -> LogDetail {
        self.detail.unwrap_or(LogDetail::FULL)
    }

    /// Returns the formats of the lines read so far.
    pub fn formats(&self) -> &[LogFormat] {
        &self.formats
    }
}

impl<R: BufRead> Iterator for LogReader<R> {
    type Item = Result<LogEntry, Unreadable>;

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
            let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
            if text.is_empty() {
                continue;
            }
            if text[0] == b'#' && self.format.is_none_or(is_w3c) {
                self.columns.directive(&String::from_utf8_lossy(text));
                continue;
            }
            let parsed = parse(text, self.format, &self.columns, &mut self.names);
            return Some(match parsed {
                Ok((mut entry, detail, format)) => {
                    self.detail = Some(self.detail.map_or(detail, |known| known.least(detail)));
                    if !self.formats.contains(&format) {
                        self.formats.push(format);
                    }
                    if let Keeps::Lines(file) = &self.keeps {
                        let file = file.clone();
                        let text = kept_text(text);
                        entry.keep_source(LogLine { file, line: self.line, text });
                    }
                    Ok(entry)
                }
                Err(why) => Err(self.unreadable(why)),
            });
        }
        None
    }
}

/// Reads one line, in the given format or in the one that it shows.
fn parse(
    text: &[u8],
    format: Option<LogFormat>,
    columns: &Columns,
    names: &mut SharedTexts,
) -> Result<(LogEntry, LogDetail, LogFormat), String> {
    let looks = match text[0] {
        b'{' => None,
        _ => Some(columns.format().unwrap_or(LogFormat::Combined)),
    };
    let (found, format) = match format.or(looks) {
        Some(LogFormat::Combined) => {
            (combined::exchange_of(&lossy(text), names), LogFormat::Combined)
        }
        Some(format) if is_w3c(format) => (w3c::exchange_of(&lossy(text), columns, names), format),
        named => {
            let text = std::str::from_utf8(text).map_err(|_| "not UTF-8".to_owned())?;
            let line: Map<String, Value> = serde_json::from_str(text)
                .map_err(|error| format!("not a JSON object: {error}"))?;
            if let Some(event) = connection_of(&line, names)? {
                return Ok((event.into(), LogDetail::FULL, LogFormat::Json));
            }
            let caddy = named.map_or_else(|| caddy::is_line(&line), |f| f == LogFormat::Caddy);
            match caddy {
                true => (caddy::exchange_of(&line, names), LogFormat::Caddy),
                false => (exchange_of(&line, names), LogFormat::Json),
            }
        }
    };
    let (mut exchange, detail) = found?;
    absolute::split(&mut exchange, names);
    Ok((exchange.into(), detail, format))
}

fn is_w3c(format: LogFormat) -> bool {
    matches!(format, LogFormat::W3c | LogFormat::CloudFront)
}

fn lossy(text: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(text)
}

/// Returns the line as the report shows it, cut if it is very long.
fn kept_text(text: &[u8]) -> Box<str> {
    match text.len() <= SOURCE_MAX {
        true => lossy(text).into(),
        false => format!("{}…", lossy(&text[..SOURCE_MAX])).into(),
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

/// Reads a line, and keeps no more than the longest allowed line.
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

/// Stores texts that many lines share only once.
#[derive(Default)]
pub(crate) struct SharedTexts(HashMap<Box<str>, Arc<str>, HashedKeys>);

impl SharedTexts {
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

/// Returns the connection that a line is about, if it is about one: it has a number for `accept` or
/// `close`, and no request.
fn connection_of(
    line: &Map<String, Value>,
    names: &mut SharedTexts,
) -> Result<Option<ConnectionEvent>, String> {
    let about =
        ["accept", "close"].into_iter().find(|key| line.get(*key).is_some_and(Value::is_u64));
    let request = ["target", "request_uri", "request"].iter().any(|key| line.contains_key(*key));
    let Some(key) = about.filter(|_| !request) else { return Ok(None) };
    let fields = LineFields(line);
    let change = match (key, fields.text("by").as_deref()) {
        ("accept", _) => ConnectionChange::Accepted,
        (_, Some("server")) => ConnectionChange::ClosedByServer,
        (_, Some("client")) => ConnectionChange::ClosedByClient,
        (_, by) => {
            let by = by.unwrap_or("missing");
            return Err(format!("`by` is `{by}`, not `server` or `client`"));
        }
    };
    let port = fields.number("port")?.ok_or("`port` is missing")?;
    let address = |key: &str| fields.text(key).and_then(|text| text.parse().ok());
    Ok(Some(ConnectionEvent {
        at: fields.number(key)?.unwrap_or_default(),
        change,
        conn: fields.number("conn")?.ok_or("`conn` is missing")?,
        peer: address("peer"),
        local: address("local"),
        port: u16::try_from(port).map_err(|_| format!("`port` is `{port}`"))?,
        host: fields.text("host").map(|host| names.one(&host)),
        read_late: fields.flag("read_late").unwrap_or(false),
        ..ConnectionEvent::default()
    }))
}

fn exchange_of(
    line: &Map<String, Value>,
    names: &mut SharedTexts,
) -> Result<(Exchange, LogDetail), String> {
    let fields = LineFields(line);
    let (start, end, early, detail) = times(&fields)?;
    let host = fields.text_of(&["host", "http_host", "server_name"]);
    let host = host.ok_or("`host` is missing")?;
    let (host, named_port) = split_port(&host);
    let scheme = match fields.text("scheme").as_deref() {
        None | Some("http") => LogScheme::Http,
        Some("https") => LogScheme::Https,
        Some(other) => return Err(format!("`scheme` is `{other}`, not `http` or `https`")),
    };
    let port = match fields.number("port")?.or(fields.number("server_port")?) {
        Some(port) => u16::try_from(port).map_err(|_| format!("`port` is `{port}`"))?,
        None => named_port.unwrap_or(scheme.default_port()),
    };
    let status = match fields.number("status")? {
        None | Some(0) => None,
        Some(status) => Some(u16::try_from(status).map_err(|_| format!("`status` is `{status}`"))?),
    };
    // nginx's `$request` is the whole request line.
    let request = fields.text("request");
    let part = |nth: usize| request.as_deref().and_then(|line| line.split(' ').nth(nth));
    let target = fields.text_of(&["target", "request_uri"]);
    let target = target.as_deref().or(part(1)).ok_or("`target` is missing")?;
    let method = fields.text_of(&["method", "request_method"]);
    let method = method.as_deref().or(part(0)).ok_or("`method` is missing")?;
    let share =
        |names: &mut SharedTexts, keys: &[&str]| fields.text_of(keys).map(|text| names.one(&text));
    let own = |keys: &[&str]| fields.text_of(keys).map(|text| Arc::<str>::from(text.as_str()));
    let robots_body = match (line.get("robots_body"), line.get("robots_body_latin1")) {
        (Some(Value::String(text)), _) => Some(Arc::from(text.as_bytes())),
        (_, Some(Value::String(text))) => {
            Some(text.chars().map(|c| c as u32 as u8).collect::<Arc<[u8]>>())
        }
        _ => None,
    };
    let address = |keys: &[&str]| fields.text_of(keys).and_then(|text| text.parse().ok());
    let sent = |keys: &[&str]| keys.iter().find_map(|key| fields.flag(key));
    let complete = sent(&["complete", "request_completion"]).unwrap_or(status.is_some());
    let exchange = Exchange {
        start,
        end,
        conn: fields.number("conn")?.or(fields.number("connection")?).unwrap_or(0),
        peer: address(&["peer", "remote_addr"]),
        local: address(&["local", "server_addr"]),
        scheme,
        host: names.one(host),
        port,
        method: names.one(method),
        target: target.into(),
        user_agent: share(names, &["user_agent", "http_user_agent"]),
        from: share(names, &["from", "http_from"]),
        if_none_match: own(&["if_none_match", "http_if_none_match"]),
        if_modified_since: own(&["if_modified_since", "http_if_modified_since"]),
        cookie: sent(&["cookie", "http_cookie"]).unwrap_or(false),
        authorization: sent(&["authorization", "http_authorization"]).unwrap_or(false),
        // nginx writes 499 when the client has closed the connection: the client never saw a
        // status.
        status: status.filter(|&status| status != 499),
        location: own(&["location", "sent_http_location"]),
        retry_after: own(&["retry_after", "sent_http_retry_after"]),
        date: own(&["date"]),
        cache_control: share(names, &["cache_control", "sent_http_cache_control"]),
        etag: own(&["etag", "sent_http_etag"]),
        last_modified: own(&["last_modified", "sent_http_last_modified"]),
        robots_body,
        complete: complete && status != Some(499),
        read_late: fields.flag("read_late").unwrap_or(false),
        early,
        source: None,
    };
    Ok((exchange, detail))
}

/// Returns start, end, how much earlier the start may be, and the detail of the times.
///
/// The fields are `start` and `end` in microseconds, or `msec` and `request_time` in seconds, as
/// nginx writes them, or one of nginx's time stamps in whole seconds.
fn times(fields: &LineFields<'_>) -> Result<(u64, u64, u64, LogDetail), String> {
    if let Some(start) = fields.number("start")? {
        let end = fields.number("end")?;
        let detail = LogDetail { ends: end.is_some(), ..LogDetail::FULL };
        let end = end.unwrap_or(start);
        if end < start {
            return Err(format!("`end` {end} is before `start` {start}"));
        }
        return Ok((start, end, 0, detail));
    }
    let took = fields.seconds("request_time")?;
    let early = if took.is_some() { 0 } else { ANSWER_MAX };
    let headers = ["retry_after", "sent_http_retry_after"];
    let headers = headers.iter().any(|key| fields.0.contains_key(*key));
    let (end, detail) = match fields.seconds("msec")? {
        Some(end) => (end, LogDetail { resolution: NGINX, ends: took.is_some(), headers }),
        None => {
            let text = fields.text_of(&["time_iso8601", "time_local", "time"]);
            let text = text.ok_or("`start` (or `msec`, or `time_iso8601`) is missing")?;
            let local = || u64::try_from(log_date(&text)?.checked_mul(1_000_000)?).ok();
            let end = iso_date(&text).or_else(local);
            let end = end.ok_or_else(|| {
                format!("`{text}` is not a time like `1994-11-06T08:49:37+00:00`")
            })?;
            (end, LogDetail { headers, ..SECONDS })
        }
    };
    Ok((end.saturating_sub(took.unwrap_or(0)), end, early, detail))
}

/// The fields of a line, in a format with or without quotes.
struct LineFields<'a>(&'a Map<String, Value>);

impl LineFields<'_> {
    /// A text; empty and `-` are none.
    fn text(&self, key: &str) -> Option<String> {
        match self.0.get(key)? {
            Value::String(text) if text.is_empty() || text == "-" => None,
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// Returns the first of these fields that has a text.
    fn text_of(&self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| self.text(key))
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

    /// Returns decimal seconds as microseconds.
    fn seconds(&self, key: &str) -> Result<Option<u64>, String> {
        let Some(text) = self.text(key) else { return Ok(None) };
        match text.parse::<f64>() {
            Ok(seconds) if (0.0..1e12).contains(&seconds) => {
                Ok(Some((seconds * 1e3).round() as u64 * 1000))
            }
            _ => Err(format!("`{key}` is `{text}`, not a number of seconds")),
        }
    }

    /// Returns a flag. A text is a flag too, so a header itself can stand for "it was sent".
    fn flag(&self, key: &str) -> Option<bool> {
        match self.0.get(key)? {
            Value::Bool(flag) => Some(*flag),
            Value::Number(number) => Some(number.as_u64() != Some(0)),
            Value::String(text) => Some(!matches!(text.as_str(), "" | "-" | "0" | "false")),
            _ => None,
        }
    }
}

/// nginx cuts both numbers to milliseconds.
const NGINX: Duration = Duration::from_millis(2);
/// A line may have a robots.txt of 500 KiB with every byte escaped.
const LINE_MAX: usize = 4 << 20;
/// Limit of the text that is kept of a line.
const SOURCE_MAX: usize = 4096;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const TEXT_SHOWN: usize = 200;
const NAMES_MAX: usize = 1 << 16;
