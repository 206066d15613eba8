//! What the judge found: a tally for each rule, and the first pair of lines that broke it.

use std::io::{self, Write};

use serde_json::{Value, json};

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
            for line in [&violation.earlier, &violation.later].into_iter().flatten() {
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
        for rule in Rule::ALL {
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
        json!({
            "clean": self.clean(),
            "exchanges": self.exchanges,
            "hosts": self.hosts,
            "product": self.product,
            "violations": self.violations(),
            "rules": rules,
            "first": first,
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
    /// The violation as JSON, its two lines as objects.
    pub fn to_json(&self) -> Value {
        let line = |text: &Option<String>| {
            text.as_ref().and_then(|text| serde_json::from_str::<Value>(text).ok())
        };
        json!({
            "rule": self.rule.to_string(),
            "host": self.host,
            "at": self.at,
            "what": self.what,
            "earlier": line(&self.earlier),
            "later": line(&self.later),
        })
    }
}
