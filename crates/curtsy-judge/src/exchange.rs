//! One request and its answer, as the server saw them.
//!
//! This is a line of the access log. Times are microseconds of the server's own clock; nothing here says which worker, process
//! or machine asked, and the judge never wants to know.

use std::fmt;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::Arc;

use serde_json::{Value, json};

/// One request and its answer, as the server saw them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exchange {
    /// When the first byte of the request was read, in microseconds of the server's clock.
    pub start: u64,
    /// When the last byte of the answer was sent, or the connection closed.
    pub end: u64,
    /// Which connection carried it.
    pub conn: u64,
    /// The client's address.
    pub peer: Option<IpAddr>,
    /// The server's address that was asked.
    pub local: Option<IpAddr>,
    /// http or https.
    pub scheme: LogScheme,
    /// The host that was asked for, as the client spelt it.
    pub host: Arc<str>,
    /// The server's port.
    pub port: u16,
    /// The method, as sent.
    pub method: Arc<str>,
    /// The request target: path and query, as sent.
    pub target: Arc<str>,
    /// The `User-Agent` header.
    pub user_agent: Option<Arc<str>>,
    /// The `From` header.
    pub from: Option<Arc<str>>,
    /// The `If-None-Match` header.
    pub if_none_match: Option<Arc<str>>,
    /// The `If-Modified-Since` header.
    pub if_modified_since: Option<Arc<str>>,
    /// Whether a `Cookie` header was sent.
    pub cookie: bool,
    /// Whether an `Authorization` header was sent.
    pub authorization: bool,
    /// The status of the answer; `None` if the server closed before it had sent one.
    pub status: Option<u16>,
    /// The `Location` header of the answer.
    pub location: Option<Arc<str>>,
    /// The `Retry-After` header of the answer.
    pub retry_after: Option<Arc<str>>,
    /// The `Date` header of the answer.
    pub date: Option<Arc<str>>,
    /// The `Cache-Control` header of the answer.
    pub cache_control: Option<Arc<str>>,
    /// The `ETag` header of the answer.
    pub etag: Option<Arc<str>>,
    /// The `Last-Modified` header of the answer.
    pub last_modified: Option<Arc<str>>,
    /// The body, if this was an answer about robots.txt.
    pub robots_body: Option<Arc<[u8]>>,
    /// Whether the whole answer was sent.
    pub complete: bool,
    /// The test server read this request later than 20 ms after it came: P4 and P16 around it are not judged.
    pub read_late: bool,
    /// By how many microseconds the request may have begun before `start`, where the log gives no better time.
    pub early: u64,
    /// The line of the log that this exchange was read from, if the reader keeps lines.
    pub source: Option<Arc<LogLine>>,
}

/// A line of a log, as it stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The file, where several are read.
    pub file: Option<Arc<str>>,
    /// The number of the line, counted from 1.
    pub line: u64,
    /// The text; a line that is longer than 4096 bytes is cut. Empty if only the number was kept.
    pub text: Box<str>,
}

impl fmt::Display for LogLine {
    /// Writes `file:12` or `line 12`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{file}:{}", self.line),
            None => write!(f, "line {}", self.line),
        }
    }
}

/// The scheme of a URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LogScheme {
    /// Plain.
    #[default]
    Http,
    /// Over TLS.
    Https,
}

impl LogScheme {
    /// Its spelling in a URL.
    pub fn as_str(self) -> &'static str {
        match self {
            LogScheme::Http => "http",
            LogScheme::Https => "https",
        }
    }

    /// The port that a URL of this scheme means when it names none.
    pub fn default_port(self) -> u16 {
        match self {
            LogScheme::Http => 80,
            LogScheme::Https => 443,
        }
    }
}

impl Exchange {
    /// A plain GET that was answered at once and in full; the fields that differ are set by the caller.
    pub fn get(start: u64, host: &str, target: &str, status: u16) -> Exchange {
        Exchange {
            start,
            end: start,
            host: host.into(),
            port: 80,
            method: "GET".into(),
            target: target.into(),
            status: Some(status),
            complete: true,
            ..Exchange::default()
        }
    }

    /// Returns the earliest time at which the request can have begun.
    pub(crate) fn at_earliest(&self) -> u64 {
        self.start.saturating_sub(self.early)
    }
}

/// Writes one line of the log, as [`read_log`](crate::read_log) reads it. Fields without a value are left out.
pub fn write_line(x: &Exchange, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(line_of(x).as_bytes())?;
    out.write_all(b"\n")
}

/// One line of the log, its fields in the order of the format.
pub(crate) fn line_of(x: &Exchange) -> String {
    let mut line = format!("{{\"start\":{},\"end\":{},\"conn\":{}", x.start, x.end, x.conn);
    let mut put = |key: &str, value: Value| {
        line.push_str(&format!(",\"{key}\":{value}"));
    };
    for (key, address) in [("peer", x.peer), ("local", x.local)] {
        if let Some(address) = address {
            put(key, json!(address.to_string()));
        }
    }
    put("scheme", json!(x.scheme.as_str()));
    put("host", json!(&*x.host));
    put("port", json!(x.port));
    put("method", json!(&*x.method));
    put("target", json!(&*x.target));
    let request = [
        ("user_agent", &x.user_agent),
        ("from", &x.from),
        ("if_none_match", &x.if_none_match),
        ("if_modified_since", &x.if_modified_since),
    ];
    for (key, value) in request {
        if let Some(value) = value {
            put(key, json!(&**value));
        }
    }
    for (key, flag) in [("cookie", x.cookie), ("authorization", x.authorization)] {
        if flag {
            put(key, json!(true));
        }
    }
    if let Some(status) = x.status {
        put("status", json!(status));
    }
    let answer = [
        ("location", &x.location),
        ("retry_after", &x.retry_after),
        ("date", &x.date),
        ("cache_control", &x.cache_control),
        ("etag", &x.etag),
        ("last_modified", &x.last_modified),
    ];
    for (key, value) in answer {
        if let Some(value) = value {
            put(key, json!(&**value));
        }
    }
    if let Some(body) = &x.robots_body {
        match std::str::from_utf8(body) {
            Ok(text) => put("robots_body", json!(text)),
            // Bytes that are not text keep their values: one character for each byte.
            Err(_) => put(
                "robots_body_latin1",
                json!(body.iter().map(|&b| char::from(b)).collect::<String>()),
            ),
        }
    }
    put("complete", json!(x.complete));
    if x.read_late {
        put("read_late", json!(true));
    }
    line.push('}');
    line
}
