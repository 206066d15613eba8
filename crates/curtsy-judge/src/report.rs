//! The results of the judge: a tally for each rule, and the first violation with its lines.

use std::io::{self, Write};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::exchange::LogLine;
use crate::manners::HeldTo;
use crate::rule::{RULES, Rule};

/// The results of the judge for a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JudgeReport {
    /// The tally of each rule, by its number.
    pub per_rule: [RuleTally; RULES],
    /// The first violation of each rule that was broken, in the order of the rules.
    pub first: Vec<Violation>,
    /// The number of exchanges.
    pub exchanges: u64,
    /// The number of requested hosts, by their canonical names.
    pub hosts: u64,
    /// The product token for robots.txt.
    pub product: Option<String>,
    /// The number of unreadable lines.
    pub unreadable: u64,
    /// The first few of them, with the reason.
    pub unreadable_first: Vec<String>,
    /// The number of exchanges out of the order of their starts, which were not judged.
    pub out_of_order: u64,
    /// The number of URLs whose history was dropped while still in use. P9 and P10 were not judged
    /// on them.
    pub forgotten: u64,
    /// The number of robots verdicts by the first matcher only, all of them to allow.
    pub verdicts_by_one: u64,
    /// The number of robots verdicts on which the matchers differed: a fault of the judge, which
    /// makes it fail.
    pub matchers_differ: u64,
    /// The first verdict on which they differed.
    pub matchers_first: Option<String>,
    /// What this log does not show, and why.
    pub limits: Vec<String>,
    /// What the crawler was held to.
    pub held_to: HeldTo,
    /// The three clearest violations of each rule that was broken, in the order of the rules and of
    /// the log.
    pub examples: Vec<Violation>,
    /// The lines of robots.txt that were disobeyed, with the number of requests; the first 64.
    pub disobeyed: Vec<(String, u64)>,
    /// The longest Crawl-delay that applied, in microseconds; zero if there was none.
    pub crawl_delay: u64,
    /// The number of exchanges of hosts beyond the limit.
    pub left_out: u64,
    /// The number of accepted connections.
    pub connections: u64,
    /// The number of accepted connections whose host is not known. P17 was not judged on them.
    pub connections_unknown: u64,
}

/// The tally of one rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleTally {
    /// How often the rule was judged.
    pub judged: u64,
    /// How often it was broken.
    pub violations: u64,
    /// How often it was broken with an excuse in the fault list.
    pub excused: u64,
    /// The number of cases that the log does not decide.
    pub not_judged: u64,
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The host, by its canonical name.
    pub host: String,
    /// When, in microseconds of the server's clock.
    pub at: u64,
    /// What happened, in a sentence.
    pub what: String,
    /// The exchange that set the rule's condition, as a line of the log.
    pub earlier: Option<String>,
    /// The exchange that broke it, as a line of the log.
    pub later: Option<String>,
    /// The line of the earlier exchange as it stands in the log, if the reader kept it.
    pub earlier_source: Option<Arc<LogLine>>,
    /// The line of the exchange that broke the rule, if the reader kept it.
    pub later_source: Option<Arc<LogLine>>,
}

impl JudgeReport {
    /// Returns whether no rule was broken and the two robots matchers agreed.
    pub fn clean(&self) -> bool {
        self.violations() == 0 && self.matchers_differ == 0
    }

    /// Returns the number of violations of all rules.
    pub fn violations(&self) -> u64 {
        self.per_rule.iter().map(|tally| tally.violations).sum()
    }

    /// Returns the tally of one rule.
    pub fn rule(&self, rule: Rule) -> RuleTally {
        self.per_rule[rule.index()]
    }

    /// Prints the first violation of each broken rule with its lines, then the table.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        for violation in &self.first {
            writeln!(out, "{} on {}: {}", violation.rule, violation.host, violation.what)?;
            for line in violation.lines() {
                writeln!(out, "  {line}")?;
            }
        }
        if let Some(differs) = &self.matchers_first {
            writeln!(out, "fault of the judge: its two robots matchers differ: {differs}")?;
        }
        for line in &self.unreadable_first {
            writeln!(out, "unreadable: {line}")?;
        }
        if !self.first.is_empty() || self.matchers_first.is_some() || self.unreadable > 0 {
            writeln!(out)?;
        }
        self.print_table(out)?;
        for limit in &self.limits {
            writeln!(out, "note: {limit}")?;
        }
        if self.forgotten > 0 {
            let urls = count(self.forgotten, "URL");
            writeln!(out, "note: the history of {urls} was given up for memory")?;
        }
        if self.verdicts_by_one > 0 {
            let verdicts = count(self.verdicts_by_one, "robots verdict");
            writeln!(out, "note: given by one matcher only: {verdicts} to allow")?;
        }
        if self.left_out > 0 {
            let exchanges = count(self.left_out, "exchange");
            let hosts = self.hosts;
            writeln!(out, "note: {exchanges} of hosts beyond the first {hosts}, not judged")?;
        }
        if self.connections == 0 && self.exchanges > 0 && self.held_to.includes(Rule::P17) {
            writeln!(out, "note: the log holds no accepted connections: P17 is not judged")?;
        }
        if self.connections_unknown > 0 {
            let connections = count(self.connections_unknown, "connection");
            writeln!(out, "note: {connections} without a request, of an unknown host: not judged")?;
        }
        if self.out_of_order > 0 {
            let exchanges = count(self.out_of_order, "exchange");
            writeln!(out, "note: {exchanges} out of order, not judged")?;
        }
        let verdict = if self.clean() { "no violation" } else { "manners broken" };
        writeln!(
            out,
            "{verdict}: {}, {}, {}, {} unreadable",
            count(self.exchanges, "exchange"),
            count(self.hosts, "host"),
            count(self.violations(), "violation"),
            count(self.unreadable, "line")
        )
    }

    /// Prints the table of the rules, in 80 columns. Where long numbers leave too little room, the
    /// text goes on in the next line: the numbers never do.
    fn print_table(&self, out: &mut dyn Write) -> io::Result<()> {
        let heads = ["judged", "broken", "excused", "not judged"].map(str::to_owned);
        let mut rows = vec![("rule".to_owned(), "what it asks", heads)];
        for rule in Rule::ALL.into_iter().filter(|&rule| self.held_to.includes(rule)) {
            let tally = self.rule(rule);
            let numbers = [tally.judged, tally.violations, tally.excused, tally.not_judged];
            rows.push((rule.to_string(), rule.what(), numbers.map(|number| number.to_string())));
        }
        let none = String::new;
        let differ = [none(), self.matchers_differ.to_string(), none(), none()];
        rows.push(("–".to_owned(), "the judge: its two robots matchers agree", differ));
        let width = |column: usize| rows.iter().map(|(_, _, cells)| cells[column].len()).max();
        let [judged, broken, excused, not_judged] =
            [0, 1, 2, 3].map(|column| width(column).unwrap_or(0));
        // One space between columns, and two before the last, whose head is two words.
        let numbers = judged + broken + excused + not_judged + 5;
        let room = COLUMNS.saturating_sub(RULE + 1 + numbers).clamp(WHAT / 2, WHAT);
        for (rule, what, cells) in &rows {
            let (what, rest) = broken_at_a_space(what, room);
            let [a, b, c, d] = cells;
            let row = format!(
                "{rule:<RULE$} {what:<room$} {a:>judged$} {b:>broken$} {c:>excused$}  {d:>not_judged$}"
            );
            writeln!(out, "{}", row.trim_end())?;
            if !rest.is_empty() {
                writeln!(out, "{:<RULE$} {rest}", "")?;
            }
        }
        Ok(())
    }

    /// Returns the report as JSON.
    pub fn to_json(&self) -> Value {
        let rules: Vec<Value> = Rule::ALL
            .iter()
            .map(|&rule| {
                let tally = self.rule(rule);
                json!({
                    "rule": rule.to_string(),
                    "what": rule.what(),
                    "judged": tally.judged,
                    "violations": tally.violations,
                    "excused": tally.excused,
                    "not_judged": tally.not_judged,
                })
            })
            .collect();
        let first: Vec<Value> = self.first.iter().map(Violation::to_json).collect();
        let examples: Vec<Value> = self.examples.iter().map(Violation::to_json).collect();
        let disobeyed = self
            .disobeyed
            .iter()
            .map(|(line, requests)| json!({ "line": line, "requests": requests }));
        json!({
            "clean": self.clean(),
            "exchanges": self.exchanges,
            "hosts": self.hosts,
            "product": self.product,
            "violations": self.violations(),
            "rules": rules,
            "first": first,
            "examples": examples,
            "held_to": match self.held_to {
                HeldTo::Promises => "promises",
                HeldTo::Wishes => "wishes",
            },
            "disobeyed": disobeyed.collect::<Vec<_>>(),
            "crawl_delay": self.crawl_delay,
            "left_out": self.left_out,
            "connections": self.connections,
            "connections_unknown": self.connections_unknown,
            "unreadable": self.unreadable,
            "unreadable_first": self.unreadable_first,
            "out_of_order": self.out_of_order,
            "forgotten": self.forgotten,
            "verdicts_by_one": self.verdicts_by_one,
            "matchers_differ": self.matchers_differ,
            "matchers_first": self.matchers_first,
            "limits": self.limits,
        })
    }
}

impl Violation {
    /// Returns the lines of the log that prove the violation: as they are in the log with their
    /// numbers, or as JSON if the reader kept none.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let pairs = [(&self.earlier, &self.earlier_source), (&self.later, &self.later_source)];
        pairs.into_iter().filter_map(|(json, source)| match source {
            Some(source) if source.text.is_empty() => Some(format!("{source}: the same URL")),
            Some(source) => Some(format!("{source}: {}", source.text)),
            None => json.clone(),
        })
    }

    /// Returns the violation as JSON, with its two lines as objects and as they are in the log.
    pub fn to_json(&self) -> Value {
        let line = |text: &Option<String>| {
            text.as_ref().and_then(|text| serde_json::from_str::<Value>(text).ok())
        };
        let source = |source: &Option<Arc<LogLine>>| {
            source.as_ref().map(|source| {
                let text = Some(&*source.text).filter(|text| !text.is_empty());
                json!({ "file": source.file.as_deref(), "line": source.line, "text": text })
            })
        };
        json!({
            "rule": self.rule.to_string(),
            "host": self.host,
            "at": self.at,
            "what": self.what,
            "earlier": line(&self.earlier),
            "later": line(&self.later),
            "earlier_line": source(&self.earlier_source),
            "later_line": source(&self.later_source),
        })
    }
}

/// Splits a text at a space, so that the first part has at most this many characters.
fn broken_at_a_space(text: &str, room: usize) -> (&str, &str) {
    if text.len() <= room {
        return (text, "");
    }
    let fits = text.char_indices().nth(room + 1).map_or(text, |(at, _)| &text[..at]);
    fits.rfind(' ').map_or((text, ""), |space| (&text[..space], &text[space + 1..]))
}

/// Returns `1 host`, `2 hosts`.
fn count(number: u64, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {what}{s}")
}

/// The width of the table: that of the smallest usual terminal.
const COLUMNS: usize = 80;
/// The width of a rule's number, and of its text.
const RULE: usize = 4;
const WHAT: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(report: &JudgeReport) -> Vec<String> {
        let mut out = Vec::new();
        report.print(&mut out).unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_row_holds_its_numbers_in_80_columns_however_long_they_are() {
        let mut report = JudgeReport::default();
        for number in [0, 9_999_999, 12_345_678_901] {
            for tally in &mut report.per_rule {
                *tally = RuleTally {
                    judged: number,
                    violations: number / 17,
                    excused: 0,
                    not_judged: 0,
                };
            }
            let lines = printed(&report);
            for line in &lines[..lines.len() - 1] {
                assert!(line.chars().count() <= COLUMNS, "{line}");
            }
            for rule in Rule::ALL {
                let row = lines.iter().find(|line| line.starts_with(&format!("{rule} "))).unwrap();
                let numbers: Vec<&str> = row.split_whitespace().rev().take(4).collect();
                assert_eq!(numbers[3], number.to_string(), "{row}");
            }
        }
    }

    #[test]
    fn one_is_singular() {
        let mut report =
            JudgeReport { exchanges: 1, hosts: 1, unreadable: 1, ..JudgeReport::default() };
        report.per_rule[2].violations = 1;
        (report.forgotten, report.out_of_order, report.left_out) = (1, 1, 1);
        let lines = printed(&report);
        let last = "manners broken: 1 exchange, 1 host, 1 violation, 1 line unreadable";
        assert_eq!(lines.last().unwrap(), last);
        assert!(lines.contains(&"note: 1 exchange out of order, not judged".to_owned()));
        assert!(lines.contains(&"note: the history of 1 URL was given up for memory".to_owned()));
        let lines = printed(&JudgeReport::default());
        let last = "no violation: 0 exchanges, 0 hosts, 0 violations, 0 lines unreadable";
        assert_eq!(lines.last().unwrap(), last);
    }
}
