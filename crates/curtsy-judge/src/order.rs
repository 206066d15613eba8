//! Sorts the entries of a log by their starts, with bounded memory.
//!
//! Servers write a line when a response ends, so a log is ordered by ends. An entry waits here
//! until no later line can have started before it, if none takes longer than the window. Meanwhile
//! an accepted connection gets the host and the agent of its requests.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::Duration;

use crate::attribution::{AcceptIs, Attribution};
use crate::connection::{ConnectionAgent, LogEntry};
use crate::exchange::Exchange;
use crate::judge::Judge;
use crate::log::{LogReader, read_log};
use crate::manners::micros;

impl Judge {
    /// Reads whole logs, of one server or of several, and judges them as one. Each may be in the
    /// order of its ends. No exchange is expected to last longer than 10 min.
    pub fn read<R: BufRead>(&mut self, logs: impl IntoIterator<Item = R>) {
        let mut order = InStartOrder::new(LASTS_AT_MOST);
        let mut logs: Vec<LogReader<R>> = logs.into_iter().map(read_log).collect();
        let mut heads: Vec<Option<LogEntry>> =
            logs.iter_mut().map(|log| self.next_of(log)).collect();
        loop {
            let end_of = |i: &usize| heads[*i].as_ref().map(LogEntry::end);
            let open = (0..heads.len()).filter(|i| heads[*i].is_some());
            let Some(earliest) = open.min_by_key(end_of) else { break };
            let next = self.next_of(&mut logs[earliest]);
            if let Some(entry) = std::mem::replace(&mut heads[earliest], next) {
                order.push(entry);
            }
            while let Some(entry) = order.pop() {
                self.see(entry);
            }
        }
        while let Some(entry) = order.drain() {
            self.see(entry);
        }
    }

    /// Returns the next entry of a log. Unreadable lines before it are counted.
    fn next_of<R: BufRead>(&mut self, log: &mut LogReader<R>) -> Option<LogEntry> {
        while let Some(line) = log.next() {
            self.detail(log.detail());
            match line {
                Ok(entry) => return Some(entry),
                Err(unreadable) => self.unreadable(&unreadable),
            }
        }
        None
    }
}

/// Holds entries back until no earlier one can come.
pub struct InStartOrder {
    window: u64,
    most: usize,
    latest_end: u64,
    number: u64,
    /// The entries that wait, by their start and the number of their line.
    waiting: BTreeMap<(u64, u64), LogEntry>,
    attribution: Attribution,
}

impl InStartOrder {
    /// Returns an empty queue. No exchange is expected to last longer than `window`.
    pub fn new(window: Duration) -> InStartOrder {
        InStartOrder {
            window: micros(window),
            most: WAITING_MAX,
            latest_end: 0,
            number: 0,
            waiting: BTreeMap::new(),
            attribution: Attribution::default(),
        }
    }

    /// Sets the limit of waiting entries (1,048,576 by default).
    pub fn with_most(mut self, exchanges: usize) -> InStartOrder {
        self.most = exchanges;
        self
    }

    /// Expects lines that are out of order by up to `window`, from now on.
    pub fn widen(&mut self, window: Duration) {
        self.window = self.window.max(micros(window));
    }

    /// Adds the entry of the next line. The accept of a connection comes before its exchanges, and
    /// its close after them, as servers write them.
    pub fn push(&mut self, entry: impl Into<LogEntry>) {
        let mut entry = entry.into();
        self.latest_end = self.latest_end.max(entry.end());
        self.number += 1;
        let place = (entry.start(), self.number);
        match &mut entry {
            LogEntry::Exchange(x) => self.requested(x, true),
            LogEntry::Connection(event) => {
                if !self.attribution.changes(event, place) {
                    return;
                }
            }
        }
        self.waiting.insert(place, entry);
    }

    /// Takes in an exchange that is not to be judged: its connection is not judged either.
    pub fn leave_out(&mut self, exchange: &Exchange) {
        self.requested(exchange, false);
    }

    fn requested(&mut self, x: &Exchange, judged: bool) {
        let Some((place, accept)) = self.attribution.requested(x, judged) else { return };
        match (self.waiting.get_mut(&place), accept) {
            (Some(LogEntry::Connection(event)), AcceptIs::Of(host, agent)) => {
                event.host = Some(host);
                event.agent = ConnectionAgent::Known(agent);
            }
            (Some(LogEntry::Connection(_)), AcceptIs::Others) => {
                self.waiting.remove(&place);
            }
            // The accept was judged long ago.
            _ => {}
        }
    }

    /// Returns the next entry by its start, if no earlier one can come.
    pub fn pop(&mut self) -> Option<LogEntry> {
        let due = self
            .waiting
            .first_key_value()
            .is_some_and(|((start, _), _)| start.saturating_add(self.window) < self.latest_end);
        if due || self.waiting.len() > self.most { self.drain() } else { None }
    }

    /// Returns the next entry by its start, when the log has ended.
    pub fn drain(&mut self) -> Option<LogEntry> {
        let (_, mut entry) = self.waiting.pop_first()?;
        if let LogEntry::Connection(event) = &mut entry {
            self.attribution.guess(event);
        }
        Some(entry)
    }
}

const LASTS_AT_MOST: Duration = Duration::from_secs(600);
/// Limit of the waiting entries. Beyond it the earliest is judged, and the judge counts those
/// that come too late.
const WAITING_MAX: usize = 1 << 20;
