//! What the judge found: a tally for each rule, and the first pair of lines that broke it.

use std::io::{self, Write};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::exchange::Source;
use crate::manners::HeldTo;
use crate::rule::Rule;

/// What the judge found in a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// What became of each rule, by its number.
    pub per_rule: [RuleTally; 17],
    /// The first violation of each rule that was broken, in the order of the rules.
    pub first: Vec<Violation>,
    /// Exchanges read.
    pub exchanges: u64,
    /// Hosts asked, by their canonical names.
    pub hosts: u64,
    /// The product token that robots.txt was matched with.
    pub product: Option<String>,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// The first few of them, with the reason.
    pub unreadable_first: Vec<String>,
    /// Exchanges that came out of the order of their starts; no rule was judged on them.
    pub out_of_order: u64,
    /// URLs whose history was given up, still in use, because too many were in memory: P9 and P10 were not judged on them.
    pub forgotten: u64,
    /// Robots verdicts that only the first of the two matchers gave, all of them to allow.
    pub verdicts_by_one: u64,
    /// Robots verdicts on which the two matchers differed: a fault of the judge, which makes it fail.
    pub matchers_differ: u64,
    /// The first verdict on which they differed.
    pub matchers_first: Option<String>,
    /// Which rules this log can't show, and why.
    pub limits: Vec<String>,
    /// What the crawler was held to.
    pub held_to: HeldTo,
    /// The three clearest violations of each rule that was broken, in the order of the rules and of the log.
    pub examples: Vec<Violation>,
    /// The lines of robots.txt that were disobeyed, and how often; the first 64.
    pub disobeyed: Vec<(String, u64)>,
    /// The longest Crawl-delay that was in force, in microseconds; zero if there was none.
    pub crawl_delay: u64,
    /// Exchanges of hosts beyond the number that is judged.
    pub left_out: u64,
}

/// What became of one rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleTally {
    /// How often it was looked at.
    pub judged: u64,
    /// How often it was broken.
    pub violations: u64,
    /// How often it was broken, and the fault list excuses it.
    pub excused: u64,
    /// How often the log can't tell.
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
    pub earlier_source: Option<Arc<Source>>,
    /// The line of the exchange that broke the rule, if the reader kept it.
    pub later_source: Option<Arc<Source>>,
}

impl Report {
    /// Whether no rule was broken and the two robots matchers agreed.
    pub fn clean(&self) -> bool {
        self.violations() == 0 && self.matchers_differ == 0
    }

    /// How often any rule was broken.
    pub fn violations(&self) -> u64 {
        self.per_rule.iter().map(|tally| tally.violations).sum()
    }

    /// What became of one rule.
    pub fn rule(&self, rule: Rule) -> RuleTally {
        self.per_rule[rule.index()]
    }

    /// Prints the first violating pair of each broken rule, then the table.
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
        writeln!(
            out,
            "{:<5} {:<58} {:>10} {:>8} {:>8} {:>10}",
            "rule", "what it asks", "judged", "broken", "excused", "not judged"
        )?;
        for rule in Rule::ALL.into_iter().filter(|&rule| self.held_to.includes(rule)) {
            let tally = self.rule(rule);
            writeln!(
                out,
                "{:<5} {:<58} {:>10} {:>8} {:>8} {:>10}",
                rule.to_string(),
                rule.what(),
                tally.judged,
                tally.violations,
                tally.excused,
                tally.not_judged
            )?;
        }
        let judge = "the judge: its two robots matchers agree";
        writeln!(out, "{:<5} {:<58} {:>10} {:>8}", "–", judge, "", self.matchers_differ)?;
        for limit in &self.limits {
            writeln!(out, "note: {limit}")?;
        }
        if self.forgotten > 0 {
            writeln!(out, "note: the history of {} URLs was given up for memory", self.forgotten)?;
        }
        if self.verdicts_by_one > 0 {
            let verdicts = self.verdicts_by_one;
            writeln!(
                out,
                "note: {verdicts} robots verdicts to allow were given by one matcher only"
            )?;
        }
        if self.left_out > 0 {
            writeln!(
                out,
                "note: {} exchanges of hosts beyond the first {}, not judged",
                self.left_out, self.hosts
            )?;
        }
        if self.out_of_order > 0 {
            writeln!(out, "note: {} exchanges out of order, not judged", self.out_of_order)?;
        }
        let verdict = if self.clean() { "no violation" } else { "manners broken" };
        writeln!(
            out,
            "{verdict}: {} exchanges, {} hosts, {} violations, {} lines unreadable",
            self.exchanges,
            self.hosts,
            self.violations(),
            self.unreadable
        )
    }

    /// The same as JSON.
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
    /// The lines of the log that prove it: as they stand there with their numbers, or as JSON if the reader kept none.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let pairs = [(&self.earlier, &self.earlier_source), (&self.later, &self.later_source)];
        pairs.into_iter().filter_map(|(json, source)| match source {
            Some(source) if source.text.is_empty() => Some(format!("{source}: the same URL")),
            Some(source) => Some(format!("{source}: {}", source.text)),
            None => json.clone(),
        })
    }

    /// The violation as JSON, its two lines as objects, and as they stand in the log.
    pub fn to_json(&self) -> Value {
        let line = |text: &Option<String>| {
            text.as_ref().and_then(|text| serde_json::from_str::<Value>(text).ok())
        };
        let source = |source: &Option<Arc<Source>>| {
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
