//! The counts of each rule: violations, excused cases and undecided cases.
//!
//! Every rule reports its charge here, with the earlier exchange that set the condition. If the
//! fault list says that the crawler may not have received that exchange, the charge is excused. If
//! the list has too few such requests, the excuse itself breaks P13.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use crate::connection::ConnectionEvent;
use crate::exchange::{Exchange, LogLine, line_of};
use crate::faults::{Faults, KillDoubt};
use crate::manners::HeldTo;
use crate::report::{RuleTally, Violation};
use crate::rule::{RULES, Rule};

/// An exchange and its place in the log.
#[derive(Debug)]
pub(crate) struct SeenExchange {
    /// The number in the log, which identifies the exchange.
    pub(crate) number: u64,
    pub(crate) x: Exchange,
}

/// The parts of an exchange that the record of its URL keeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Brief {
    pub(crate) number: u64,
    /// The number of its line, if the reader keeps lines; zero if not.
    line: u64,
    file: Option<Arc<str>>,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) status: Option<u16>,
}

impl Brief {
    pub(crate) fn of(seen: &SeenExchange) -> Brief {
        let x = &seen.x;
        let source = x.source.as_deref();
        Brief {
            number: seen.number,
            line: source.map_or(0, |source| source.line),
            file: source.and_then(|source| source.file.clone()),
            start: x.start,
            end: x.end,
            status: x.status,
        }
    }

    fn source(&self) -> Option<Arc<LogLine>> {
        let (file, line) = (self.file.clone(), self.line);
        (line > 0).then(|| Arc::new(LogLine { file, line, text: "".into() }))
    }

    /// Returns the exchange as a line of the log. Its URL is that of the later exchange.
    fn as_json(&self, later: &Exchange) -> String {
        json!({
            "start": self.start,
            "end": self.end,
            "scheme": later.scheme.as_str(),
            "host": &*later.host,
            "port": later.port,
            "method": "GET",
            "target": &*later.target,
            "status": self.status,
        })
        .to_string()
    }
}

/// The earlier exchange of a violating pair.
#[derive(Clone, Copy)]
pub(crate) enum Earlier<'a> {
    Nothing,
    Seen(&'a Arc<SeenExchange>),
    /// Has the same URL as the later one.
    Brief(&'a Brief),
}

#[derive(Default)]
pub(crate) struct Bench {
    pub(crate) tallies: [RuleTally; RULES],
    pub(crate) first: [Option<Box<Violation>>; RULES],
    /// The clearest violations of each rule, with their weights, including the first violation.
    examples: [Vec<(u64, Violation)>; RULES],
    /// Which rules are judged.
    pub(crate) held_to: HeldTo,
    /// The disobeyed lines of robots.txt, with the number of requests.
    pub(crate) disobeyed: BTreeMap<String, u64>,
    /// The longest Crawl-delay that applied to a start.
    pub(crate) crawl_delay: u64,
    pub(crate) violations: usize,
    pub(crate) faults: Faults,
    /// The resolution of the log's times in microseconds. What may lie within it is not charged.
    pub(crate) coarse: u64,
}

impl Bench {
    pub(crate) fn new(held_to: HeldTo) -> Bench {
        Bench { held_to, ..Bench::default() }
    }

    pub(crate) fn judged(&mut self, rule: Rule) {
        self.tallies[rule.index()].judged += u64::from(self.held_to.includes(rule));
    }

    pub(crate) fn not_judged(&mut self, rule: Rule) {
        self.tallies[rule.index()].not_judged += u64::from(self.held_to.includes(rule));
    }

    pub(crate) fn excused(&mut self, rule: Rule) {
        if !self.held_to.includes(rule) {
            return;
        }
        self.tallies[rule.index()].excused += 1;
        self.tallies[Rule::P13.index()].excused += 1;
    }

    /// Returns whether `start` certainly came before `not_before`, at the log's resolution.
    pub(crate) fn early(&self, start: u64, not_before: u64) -> bool {
        start.saturating_add(self.coarse) < not_before
    }

    /// Returns whether `start` certainly came after `limit`.
    pub(crate) fn late(&self, start: u64, limit: u64) -> bool {
        start > limit.saturating_add(self.coarse)
    }

    /// Charges a rule, unless a kill kept the crawler from receiving the earlier exchange. Returns
    /// whether the charge stands.
    pub(crate) fn charge(
        &mut self,
        rule: Rule,
        host: &str,
        earlier: Earlier<'_>,
        later: &Exchange,
        what: impl FnOnce() -> String,
    ) -> bool {
        let source = match earlier {
            Earlier::Nothing => None,
            Earlier::Seen(seen) => Some((seen.number, seen.x.start, seen.x.end)),
            Earlier::Brief(brief) => Some((brief.number, brief.start, brief.end)),
        };
        let heard = source.map_or(KillDoubt::Surely, |(number, start, end)| {
            self.faults.excuse_unheard(number, start, end)
        });
        match heard {
            KillDoubt::Perhaps => {
                self.excused(rule);
                return false;
            }
            KillDoubt::Surely => {}
            KillDoubt::TooMany => self.broken(Rule::P13, host, earlier, later, || {
                "more was repeated after a kill than the fault list has requests in flight".into()
            }),
        }
        // The less time after the earlier exchange, the clearer the violation.
        let after = source.map_or(u64::MAX, |(_, _, end)| later.start.saturating_sub(end));
        self.broken_by(rule, u64::MAX - after, host, earlier, later, what);
        true
    }

    /// Records a violation that is complete.
    pub(crate) fn record(&mut self, violation: Violation) {
        if !self.held_to.includes(violation.rule) {
            return;
        }
        self.violations += 1;
        let place = violation.rule.index();
        self.tallies[place].violations += 1;
        self.first[place].get_or_insert_with(|| Box::new(violation));
    }

    /// Records a violation that no fault excuses.
    pub(crate) fn broken(
        &mut self,
        rule: Rule,
        host: &str,
        earlier: Earlier<'_>,
        later: &Exchange,
        what: impl FnOnce() -> String,
    ) {
        self.broken_by(rule, 0, host, earlier, later, what);
    }

    /// Records a violation. Of several, those with the largest weights are kept as examples.
    pub(crate) fn broken_by(
        &mut self,
        rule: Rule,
        weight: u64,
        host: &str,
        earlier: Earlier<'_>,
        later: &Exchange,
        what: impl FnOnce() -> String,
    ) {
        self.keep(rule, weight, || {
            let (line, source) = match earlier {
                Earlier::Nothing => (None, None),
                Earlier::Seen(seen) => (Some(line_of(&seen.x)), seen.x.source.clone()),
                Earlier::Brief(brief) => (Some(brief.as_json(later)), brief.source()),
            };
            Violation {
                rule,
                host: host.to_owned(),
                at: later.start,
                what: what(),
                earlier: line,
                later: Some(line_of(later)),
                earlier_source: source,
                later_source: later.source.clone(),
            }
        });
    }

    /// Records a connection that came too soon after the one before.
    pub(crate) fn broken_connection(
        &mut self,
        host: &str,
        weight: u64,
        earlier: &ConnectionEvent,
        later: &ConnectionEvent,
        what: impl FnOnce() -> String,
    ) {
        self.keep(Rule::P17, weight, || Violation {
            rule: Rule::P17,
            host: host.to_owned(),
            at: later.at,
            what: what(),
            earlier: Some(earlier.line()),
            later: Some(later.line()),
            earlier_source: earlier.source.clone(),
            later_source: later.source.clone(),
        });
    }

    /// Counts a violation, and keeps it if it is the first or among the clearest.
    fn keep(&mut self, rule: Rule, weight: u64, violation: impl FnOnce() -> Violation) {
        if !self.held_to.includes(rule) {
            return;
        }
        self.violations += 1;
        self.tallies[rule.index()].violations += 1;
        let examples = &mut self.examples[rule.index()];
        let full = examples.len() >= EXAMPLES_MAX;
        let least = (0..examples.len()).min_by_key(|&at| (examples[at].0, Reverse(at)));
        if full && least.is_none_or(|at| examples[at].0 >= weight) {
            return;
        }
        let violation = violation();
        let first = &mut self.first[rule.index()];
        if first.is_none() {
            *first = Some(Box::new(violation.clone()));
        }
        if let Some(at) = least.filter(|_| full) {
            examples.remove(at);
        }
        examples.push((weight, violation));
    }

    /// Counts a request that a line of robots.txt forbids.
    pub(crate) fn disobeyed(&mut self, line: impl FnOnce() -> String) {
        if !self.held_to.includes(Rule::P2) {
            return;
        }
        let line = line();
        if self.disobeyed.len() < LINES_MAX || self.disobeyed.contains_key(&line) {
            *self.disobeyed.entry(line).or_default() += 1;
        }
    }

    /// Returns the clearest violations of each rule, in the order of the rules and of the log.
    pub(crate) fn take_examples(&mut self) -> Vec<Violation> {
        let of_rules = std::mem::take(&mut self.examples).into_iter();
        of_rules
            .flat_map(|mut examples| {
                examples.sort_by_key(|(_, violation)| violation.at);
                examples.into_iter().map(|(_, violation)| violation)
            })
            .collect()
    }
}

/// Returns a span as people write it: `2.9 s`, `15 min`, `1 h 5 min`.
pub(crate) fn span(micros: u64) -> String {
    let seconds = micros as f64 / 1e6;
    if seconds < 120.0 {
        let text = format!("{seconds:.6}");
        return format!("{} s", text.trim_end_matches('0').trim_end_matches('.'));
    }
    let minutes = micros / 60_000_000;
    let rest = seconds - minutes as f64 * 60.0;
    match (minutes / 60, minutes % 60) {
        (0, minutes) if rest < 0.001 => format!("{minutes} min"),
        (0, minutes) => format!("{minutes} min {rest:.3} s"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

/// Limit of the examples of each rule.
const EXAMPLES_MAX: usize = 3;
/// Limit of the lines of robots.txt whose violations are counted.
const LINES_MAX: usize = 64;
/// The time in which a signal reaches every worker.
pub(crate) const DELTA: u64 = 250_000;
