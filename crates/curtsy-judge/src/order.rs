//! Sorts exchanges by their starts, with bounded memory.
//!
//! Servers write a line when a response ends, so a log is ordered by ends. An exchange waits here
//! until no later line can have started before it, if none takes longer than the window.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::Duration;

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
        let mut heads: Vec<Option<Exchange>> =
            logs.iter_mut().map(|log| self.next_of(log)).collect();
        loop {
            let end_of = |i: &usize| heads[*i].as_ref().map(|x| x.end);
            let open = (0..heads.len()).filter(|i| heads[*i].is_some());
            let Some(earliest) = open.min_by_key(end_of) else { break };
            let next = self.next_of(&mut logs[earliest]);
            if let Some(exchange) = std::mem::replace(&mut heads[earliest], next) {
                order.push(exchange);
            }
            while let Some(exchange) = order.pop() {
                self.see(exchange);
            }
        }
        while let Some(exchange) = order.drain() {
            self.see(exchange);
        }
    }

    /// Returns the next exchange of a log. Unreadable lines before it are counted.
    fn next_of<R: BufRead>(&mut self, log: &mut LogReader<R>) -> Option<Exchange> {
        while let Some(line) = log.next() {
            self.detail(log.detail());
            match line {
                Ok(exchange) => return Some(exchange),
                Err(unreadable) => self.unreadable(&unreadable),
            }
        }
        None
    }
}

/// Holds exchanges back until no earlier one can come.
pub struct InStartOrder {
    window: u64,
    most: usize,
    latest_end: u64,
    number: u64,
    /// The exchanges that wait, by their start and the number of their line.
    waiting: BTreeMap<(u64, u64), Exchange>,
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
        }
    }

    /// Sets the limit of waiting exchanges (1,048,576 by default).
    pub fn with_most(mut self, exchanges: usize) -> InStartOrder {
        self.most = exchanges;
        self
    }

    /// Expects lines that are out of order by up to `window`, from now on.
    pub fn widen(&mut self, window: Duration) {
        self.window = self.window.max(micros(window));
    }

    /// Adds the exchange of the next line.
    pub fn push(&mut self, exchange: Exchange) {
        self.latest_end = self.latest_end.max(exchange.end);
        self.number += 1;
        self.waiting.insert((exchange.start, self.number), exchange);
    }

    /// Returns the next exchange by its start, if no earlier one can come.
    pub fn pop(&mut self) -> Option<Exchange> {
        let due = self
            .waiting
            .first_key_value()
            .is_some_and(|((start, _), _)| start.saturating_add(self.window) < self.latest_end);
        if due || self.waiting.len() > self.most { self.drain() } else { None }
    }

    /// Returns the next exchange by its start, when the log has ended.
    pub fn drain(&mut self) -> Option<Exchange> {
        self.waiting.pop_first().map(|(_, exchange)| exchange)
    }
}

const LASTS_AT_MOST: Duration = Duration::from_secs(600);
/// Limit of the waiting exchanges. Beyond it the earliest is judged, and the judge counts those
/// that come too late.
const WAITING_MAX: usize = 1 << 20;
