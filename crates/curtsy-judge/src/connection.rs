//! A connection, as the server saw it: accepted, and closed.
//!
//! An accept has no Host header and no user agent. [`InStartOrder`](crate::InStartOrder) finds host
//! and agent among the requests of the log. A server that has one host at an address names it, for
//! a log without a request there.

use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::exchange::{Exchange, LogLine, line_of};

/// One entry of an access log.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "nearly all entries are exchanges")]
pub enum LogEntry {
    /// A request and its response.
    Exchange(Exchange),
    /// A connection that was accepted or closed.
    Connection(ConnectionEvent),
}

/// A connection that was accepted or closed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionEvent {
    /// When, in microseconds of the server's clock.
    pub at: u64,
    /// What happened.
    pub change: ConnectionChange,
    /// The number of the connection, which its exchanges have too.
    pub conn: u64,
    /// The client's address.
    pub peer: Option<IpAddr>,
    /// The server's address.
    pub local: Option<IpAddr>,
    /// The server's port.
    pub port: u16,
    /// The host, in any spelling, if it is known.
    pub host: Option<Arc<str>>,
    /// The agent whose requests the connection carried.
    pub agent: ConnectionAgent,
    /// Whether the test server accepted more than 20 ms after the connection arrived. P17 around it
    /// is not judged.
    pub read_late: bool,
    /// The line of the log, if the reader keeps lines.
    pub source: Option<Arc<LogLine>>,
}

/// What happened to a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConnectionChange {
    /// The server accepted it.
    #[default]
    Accepted,
    /// The server closed it.
    ClosedByServer,
    /// The client closed it.
    ClosedByClient,
}

/// The agent whose requests a connection carried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ConnectionAgent {
    /// No request is known.
    #[default]
    Unknown,
    /// The `User-Agent` header of its requests.
    Known(Option<Arc<str>>),
}

impl LogEntry {
    /// Returns the time by which entries are sorted and judged.
    pub fn start(&self) -> u64 {
        match self {
            LogEntry::Exchange(x) => x.start,
            LogEntry::Connection(event) => event.at,
        }
    }

    /// Returns the time at which a server writes the entry.
    pub fn end(&self) -> u64 {
        match self {
            LogEntry::Exchange(x) => x.end,
            LogEntry::Connection(event) => event.at,
        }
    }

    /// Returns the exchange, if the entry is one.
    pub fn exchange(self) -> Option<Exchange> {
        match self {
            LogEntry::Exchange(x) => Some(x),
            LogEntry::Connection(_) => None,
        }
    }

    /// Writes the entry as one line of the log, as [`read_log`](crate::read_log) reads it.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let line = match self {
            LogEntry::Exchange(x) => line_of(x),
            LogEntry::Connection(event) => event.line(),
        };
        out.write_all(line.as_bytes())?;
        out.write_all(b"\n")
    }

    pub(crate) fn keep_source(&mut self, line: LogLine) {
        let source = match self {
            LogEntry::Exchange(x) => &mut x.source,
            LogEntry::Connection(event) => &mut event.source,
        };
        *source = Some(Arc::new(line));
    }
}

impl From<Exchange> for LogEntry {
    fn from(x: Exchange) -> LogEntry {
        LogEntry::Exchange(x)
    }
}

impl From<ConnectionEvent> for LogEntry {
    fn from(event: ConnectionEvent) -> LogEntry {
        LogEntry::Connection(event)
    }
}

impl ConnectionEvent {
    /// Returns one line of the log, its fields in the order of the format.
    pub(crate) fn line(&self) -> String {
        let (key, by) = match self.change {
            ConnectionChange::Accepted => ("accept", None),
            ConnectionChange::ClosedByServer => ("close", Some("server")),
            ConnectionChange::ClosedByClient => ("close", Some("client")),
        };
        let mut line = format!("{{\"{key}\":{},\"conn\":{}", self.at, self.conn);
        let mut put = |key: &str, value: Value| line.push_str(&format!(",\"{key}\":{value}"));
        by.iter().for_each(|by| put("by", json!(by)));
        for (key, address) in [("peer", self.peer), ("local", self.local)] {
            address.iter().for_each(|address| put(key, json!(address.to_string())));
        }
        put("port", json!(self.port));
        self.host.iter().for_each(|host| put("host", json!(&**host)));
        if self.read_late {
            put("read_late", json!(true));
        }
        line.push('}');
        line
    }

    /// Returns what identifies the connection. Two servers whose logs are read together may use the
    /// same numbers.
    pub(crate) fn key(&self) -> ConnectionKey {
        (self.conn, self.local, self.port)
    }
}

/// The number of a connection, and the server's address and port.
pub(crate) type ConnectionKey = (u64, Option<IpAddr>, u16);

impl Exchange {
    /// Returns what identifies the connection of the exchange.
    pub(crate) fn connection(&self) -> ConnectionKey {
        (self.conn, self.local, self.port)
    }
}
