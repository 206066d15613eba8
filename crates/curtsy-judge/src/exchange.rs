//! One request and its response, as the server saw them.
//!
//! This is a line of the access log. Times are microseconds of the server's own clock. Nothing here
//! says which worker, process or machine made the request; the judge does not need it.

use std::fmt;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::Arc;

use serde_json::{Value, json};

/// One request and its response, as the server saw them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exchange {
    /// When the first byte of the request was read, in microseconds of the server's clock.
    pub start: u64,
    /// When the last byte of the response was sent, or the connection closed.
    pub end: u64,
    /// The number of the connection.
    pub conn: u64,
    /// The client's address.
    pub peer: Option<IpAddr>,
    /// The server's address.
    pub local: Option<IpAddr>,
    /// The scheme.
    pub scheme: LogScheme,
    /// The requested host, in the client's spelling.
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
    /// The status; `None` if the server closed the connection before a response.
    pub status: Option<u16>,
    /// The `Location` header of the response.
    pub location: Option<Arc<str>>,
    /// The `Retry-After` header of the response.
    pub retry_after: Option<Arc<str>>,
    /// The `Date` header of the response.
    pub date: Option<Arc<str>>,
    /// The `Cache-Control` header of the response.
    pub cache_control: Option<Arc<str>>,
    /// The `ETag` header of the response.
    pub etag: Option<Arc<str>>,
    /// The `Last-Modified` header of the response.
    pub last_modified: Option<Arc<str>>,
    /// The body, if the response was for robots.txt.
    pub robots_body: Option<Arc<[u8]>>,
    /// Whether the whole response was sent.
    pub complete: bool,
    /// Whether the test server read this request more than 20 ms after it arrived. P4 and P16
    /// around it are not judged.
    pub read_late: bool,
    /// By how many microseconds the request may have begun before `start`, where the log gives no
    /// better time.
    pub early: u64,
    /// The line of the log, if the reader keeps lines.
    pub source: Option<Arc<LogLine>>,
}

/// A line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The file, if several are read.
    pub file: Option<Arc<str>>,
    /// The number of the line, counted from 1.
    pub line: u64,
    /// The text. A line longer than 4096 bytes is cut. Empty if only the number was kept.
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
    /// Returns the spelling in a URL.
    pub fn as_str(self) -> &'static str {
        match self {
            LogScheme::Http => "http",
            LogScheme::Https => "https",
        }
    }

    /// Returns the port of a URL without one.
    pub fn default_port(self) -> u16 {
        match self {
            LogScheme::Http => 80,
            LogScheme::Https => 443,
        }
    }
}

impl Exchange {
    /// Returns a plain GET with an immediate and complete response. The caller sets the fields that
    /// differ.
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

/// Writes one line of the log, as [`read_log`](crate::read_log) reads it. Fields without a value
/// are left out.
pub fn write_line(x: &Exchange, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(line_of(x).as_bytes())?;
    out.write_all(b"\n")
}

/// Returns one line of the log, its fields in the order of the format.
pub(crate) fn line_of(x: &Exchange) -> String {
    let mut line = format!("{{\"start\":{},\"end\":{},\"conn\":{}", x.start, x.end, x.conn);
    let mut put = |key: &str, value: Value| {
        line.push_str(&format!(",\"{key}\":{value}"));
    };
    for (key, address) in [("peer", x.peer), ("local", x.local)] {
        address.iter().for_each(|address| put(key, json!(address.to_string())));
    }
    put("scheme", json!(x.scheme.as_str()));
    put("host", json!(&*x.host));
    put("port", json!(x.port));
    put("method", json!(&*x.method));
    put("target", json!(&*x.target));
    for (key, value) in [
        ("user_agent", &x.user_agent),
        ("from", &x.from),
        ("if_none_match", &x.if_none_match),
        ("if_modified_since", &x.if_modified_since),
    ] {
        value.iter().for_each(|value| put(key, json!(&**value)));
    }
    for (key, flag) in [("cookie", x.cookie), ("authorization", x.authorization)] {
        if flag {
            put(key, json!(true));
        }
    }
    x.status.iter().for_each(|status| put("status", json!(status)));
    for (key, value) in [
        ("location", &x.location),
        ("retry_after", &x.retry_after),
        ("date", &x.date),
        ("cache_control", &x.cache_control),
        ("etag", &x.etag),
        ("last_modified", &x.last_modified),
    ] {
        value.iter().for_each(|value| put(key, json!(&**value)));
    }
    if let Some(body) = &x.robots_body {
        match std::str::from_utf8(body) {
            Ok(text) => put("robots_body", json!(text)),
            // A body that is no text keeps its bytes: one character for each.
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
