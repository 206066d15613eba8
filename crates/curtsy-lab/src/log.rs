//! Where exchanges and connections go: memory, a file, or both.
//!
//! The file is written by a thread of its own, since a disk that is busy would make the server read
//! late. It is whole once the sites have stopped, and never far behind before.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use curtsy_judge::{ConnectionEvent, Exchange, LogEntry};

pub(crate) struct AccessLog {
    exchanges: Vec<Exchange>,
    connections: Vec<ConnectionEvent>,
    in_memory_max: usize,
    /// Exchanges and accepts that memory had no room for.
    forgotten: u64,
    file: Option<LogWriter>,
}

struct LogWriter {
    tell: SyncSender<LogEntry>,
    thread: JoinHandle<io::Result<()>>,
}

impl AccessLog {
    pub(crate) fn new(in_memory_max: usize, file: Option<&Path>) -> io::Result<AccessLog> {
        let file = file.map(LogWriter::open).transpose()?;
        let (exchanges, connections) = (Vec::new(), Vec::new());
        Ok(AccessLog { exchanges, connections, in_memory_max, forgotten: 0, file })
    }

    pub(crate) fn push(&mut self, entry: impl Into<LogEntry>) {
        let entry = entry.into();
        if let Some(file) = &self.file {
            // The writer ends early only if the disk refuses, and says so when it is joined.
            let _ = file.tell.send(entry.clone());
        }
        let max = self.in_memory_max;
        match entry {
            LogEntry::Exchange(exchange) if self.exchanges.len() < max => {
                self.exchanges.push(exchange);
            }
            // Each connection is accepted and closed.
            LogEntry::Connection(event) if self.connections.len() < max.saturating_mul(2) => {
                self.connections.push(event);
            }
            _ => self.forgotten += 1,
        }
    }

    /// The connections so far, in the order in which they were accepted and closed.
    pub(crate) fn connections(&self) -> Vec<ConnectionEvent> {
        self.connections.clone()
    }

    /// The exchanges so far, in the order of their starts.
    pub(crate) fn so_far(&self) -> Vec<Exchange> {
        let mut exchanges = self.exchanges.clone();
        exchanges.sort_by_key(|exchange| exchange.start);
        exchanges
    }

    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Ends the file; everything is in it then.
    pub(crate) fn finish(mut self) -> (Vec<Exchange>, Vec<ConnectionEvent>, io::Result<()>) {
        let written = match self.file.take() {
            None => Ok(()),
            Some(LogWriter { tell, thread }) => {
                drop(tell);
                thread.join().unwrap_or_else(|_| Err(io::Error::other("the log's thread panicked")))
            }
        };
        self.exchanges.sort_by_key(|exchange| exchange.start);
        (self.exchanges, self.connections, written)
    }
}

impl LogWriter {
    fn open(path: &Path) -> io::Result<LogWriter> {
        let mut out = BufWriter::with_capacity(1 << 16, File::create(path)?);
        let (tell, told) = sync_channel::<LogEntry>(WAITING_MAX);
        let write = move || loop {
            match told.recv_timeout(FLUSHED_WITHIN) {
                Ok(entry) => entry.write(&mut out)?,
                Err(RecvTimeoutError::Timeout) => out.flush()?,
                Err(RecvTimeoutError::Disconnected) => return out.flush(),
            }
        };
        let thread = std::thread::Builder::new().name("site log".to_owned()).spawn(write)?;
        Ok(LogWriter { tell, thread })
    }
}

/// Exchanges on their way to the file; beyond that the server waits.
const WAITING_MAX: usize = 1 << 16;
/// A pause of this length, and everything is in the file.
const FLUSHED_WITHIN: Duration = Duration::from_millis(50);
