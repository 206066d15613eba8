//! Reads the files that may accompany a log: a plan, stop orders, and the crawler's own account of
//! its faults.
//!
//! The files are JSON lines. An unreadable line is an error here, not a count: a fault list that is
//! half understood would accuse or excuse wrongly.

use std::io::BufRead;

use serde::Deserialize;

use crate::faults::CrawlerFault;
use crate::judge::Judge;
use crate::live::WorkPlan;
use crate::log::Unreadable;

/// One line of a plan: `{"host": "a.test", "from": 0, "to": 5000000}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanLine {
    host: String,
    from: u64,
    to: u64,
}

/// One line of a fault list: a fault on the crawler's side, or an order that the crawler got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultNote {
    /// A fault on the crawler's side.
    Fault(CrawlerFault),
    /// An order to send no more requests to a host.
    Stop {
        /// The host.
        host: String,
        /// When the order was given.
        at: u64,
    },
    /// The order was lifted.
    StopLifted {
        /// The host.
        host: String,
        /// When.
        at: u64,
    },
}

#[derive(Deserialize)]
#[serde(tag = "fault", rename_all = "kebab-case", deny_unknown_fields)]
enum NoteLine {
    Kill { at: u64, in_flight: u32 },
    WorkerLost { at: u64, in_flight: u32 },
    StoreLoss { at: u64 },
    Pause { from: u64, to: u64 },
    StoreSlow { from: u64, to: u64, by: u64 },
    NetworkDown { from: u64, to: u64 },
    Stop { host: String, at: u64 },
    StopLifted { host: String, at: u64 },
}

/// Reads a plan: the spans in which work was waiting, for each host.
pub fn read_plan(reader: impl BufRead) -> Result<Vec<WorkPlan>, Unreadable> {
    lines(reader, |line: PlanLine| WorkPlan { host: line.host, from: line.from, to: line.to })
}

/// Reads a fault list, with stop orders among the faults.
pub fn read_faults(reader: impl BufRead) -> Result<Vec<FaultNote>, Unreadable> {
    lines(reader, |line| match line {
        NoteLine::Kill { at, in_flight } => FaultNote::Fault(CrawlerFault::Kill { at, in_flight }),
        NoteLine::WorkerLost { at, in_flight } => {
            FaultNote::Fault(CrawlerFault::WorkerLost { at, in_flight })
        }
        NoteLine::StoreLoss { at } => FaultNote::Fault(CrawlerFault::StoreLoss { at }),
        NoteLine::Pause { from, to } => FaultNote::Fault(CrawlerFault::Pause { from, to }),
        NoteLine::StoreSlow { from, to, by } => {
            FaultNote::Fault(CrawlerFault::StoreSlow { from, to, by })
        }
        NoteLine::NetworkDown { from, to } => {
            FaultNote::Fault(CrawlerFault::NetworkDown { from, to })
        }
        NoteLine::Stop { host, at } => FaultNote::Stop { host, at },
        NoteLine::StopLifted { host, at } => FaultNote::StopLifted { host, at },
    })
}

impl Judge {
    /// Applies a line of the fault list.
    pub fn note(&mut self, note: &FaultNote) {
        match note {
            FaultNote::Fault(fault) => self.fault(fault.clone()),
            FaultNote::Stop { host, at } => self.stop_order(host, *at),
            FaultNote::StopLifted { host, at } => self.stop_lifted(host, *at),
        }
    }
}

fn lines<L: for<'a> Deserialize<'a>, T>(
    reader: impl BufRead,
    made: impl Fn(L) -> T,
) -> Result<Vec<T>, Unreadable> {
    let mut all = Vec::new();
    for (index, line) in reader.lines().enumerate() {
        let unreadable = |text: &str, why: String| Unreadable {
            line: index as u64 + 1,
            text: text.chars().take(200).collect(),
            why,
        };
        let text = line.map_err(|error| unreadable("", error.to_string()))?;
        if text.trim().is_empty() {
            continue;
        }
        match serde_json::from_str(&text) {
            Ok(line) => all.push(made(line)),
            Err(error) => return Err(unreadable(&text, error.to_string())),
        }
    }
    Ok(all)
}
