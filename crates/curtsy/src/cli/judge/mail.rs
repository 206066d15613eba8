//! A mail to the operator of a crawler: which crawler requested, when, how often, which rules it
//! broke, and the lines of the log that show it.
//!
//! Plain text of at most 72 columns, so that every mail program keeps its lines. Longer lines of
//! the log are broken anywhere, and continue with a deeper indent.

use std::fmt::Write;

use curtsy_judge::{AgentCase, HeldTo, JudgeReport, Rule, Violation};

use super::show::{addresses, moment};
use crate::cli::{count, printable};

/// Writes the mail about one agent.
pub(super) fn mail(agent: &AgentCase, report: &JudgeReport) -> String {
    let mut hosts: Vec<&str> = report.examples.iter().map(|v| v.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let shown = hosts.iter().take(HOSTS_SHOWN).copied().collect::<Vec<_>>().join(", ");
    let name = printable(&agent.name);
    let mut text = MailText::default();
    text.paragraph("Subject: ", &format!("{name} on {shown}: requests that we ask it not to make"));
    text.blank();
    text.paragraph("", "Hello,");
    text.blank();
    text.paragraph("", &format!("your crawler {name} makes requests to our server that go against what we ask of crawlers. Here is what our access log shows."));
    text.blank();
    let user_agent = agent.user_agent.as_deref().map_or("none was sent".into(), printable);
    text.paragraph("Agent:     ", &user_agent);
    text.paragraph("Addresses: ", &addresses(agent, ADDRESSES_SHOWN));
    text.paragraph("Site:      ", &shown);
    text.paragraph("First:     ", &moment(agent.first));
    text.paragraph("Last:      ", &moment(agent.last));
    let robots = agent.robots_requests;
    text.paragraph("Requests:  ", &format!("{}, {robots} of them for robots.txt", agent.requests));
    text.blank();
    text.paragraph("", "What we ask for");
    text.blank();
    for wish in wishes(report) {
        text.paragraph("- ", &printable(&wish));
    }
    for rule in Rule::ALL {
        let examples: Vec<&Violation> = report.examples.iter().filter(|v| v.rule == rule).collect();
        if examples.is_empty() {
            continue;
        }
        let broken = report.rule(rule).violations;
        text.blank();
        let at_least = if rule == Rule::P4 && !report.limits.is_empty() { "at least " } else { "" };
        text.paragraph(
            "",
            &format!("{}: {at_least}{}", what_happened(rule), count(broken, "time")),
        );
        for example in examples {
            text.blank();
            text.paragraph("  ", &printable(&example.what));
            for line in example.lines() {
                text.broken_anywhere(&printable(&line));
            }
        }
    }
    text.blank();
    text.paragraph("", "Please see to it that your crawler keeps to this, or tell us why it does not. The lines above are from our access log; the other times are UTC.");
    text.out
}

/// What the site asks for, as far as it was broken.
fn wishes(report: &JudgeReport) -> Vec<String> {
    let mut wishes: Vec<String> = report
        .disobeyed
        .iter()
        .take(LINES_SHOWN)
        .map(|(line, requests)| {
            format!("robots.txt, {line}: {} against it", count(*requests, "request"))
        })
        .collect();
    if report.disobeyed.len() > LINES_SHOWN {
        let more = count((report.disobeyed.len() - LINES_SHOWN) as u64, "more line");
        wishes.push(format!("{more} of robots.txt"));
    }
    if report.crawl_delay > 0 {
        let seconds = report.crawl_delay as f64 / 1e6;
        wishes.push(format!("robots.txt, Crawl-delay: {seconds} s between two requests"));
    }
    let broken = |rule: Rule| report.rule(rule).violations > 0;
    if broken(Rule::P4) && report.crawl_delay == 0 {
        wishes.push("a pause between two requests, as shown below".to_owned());
    }
    if broken(Rule::P7) {
        wishes.push("to wait as long as Retry-After says".to_owned());
    }
    if report.held_to == HeldTo::Promises {
        wishes.push("what your crawler promises by itself, as shown below".to_owned());
    }
    wishes
}

fn what_happened(rule: Rule) -> String {
    match rule {
        Rule::P2 => "It asked for what robots.txt forbids".to_owned(),
        Rule::P4 => "It left less time between two requests than we ask for".to_owned(),
        Rule::P7 => "It did not wait as long as Retry-After said".to_owned(),
        other => format!("It did not keep this ({other}): {}", other.what()),
    }
}

/// Lines of at most 72 columns.
#[derive(Default)]
struct MailText {
    out: String,
}

impl MailText {
    fn blank(&mut self) {
        self.out.push('\n');
    }

    /// Words, wrapped; lines after the first are indented as far as the mark in front.
    fn paragraph(&mut self, mark: &str, text: &str) {
        let indent = if mark.starts_with("Subject") { 1 } else { mark.chars().count() };
        let mut line = mark.to_owned();
        let mut columns = mark.chars().count();
        let mut fresh = true;
        for word in text.split_whitespace() {
            let mut word = word;
            loop {
                let length = word.chars().count();
                let room = COLUMNS.saturating_sub(columns + usize::from(!fresh));
                if length <= room {
                    if !fresh {
                        line.push(' ');
                        columns += 1;
                    }
                    line.push_str(word);
                    columns += length;
                    fresh = false;
                    break;
                }
                if fresh {
                    // A word longer than a line is broken anywhere.
                    let at = word.char_indices().nth(room).map_or(word.len(), |(at, _)| at);
                    line.push_str(&word[..at]);
                    word = &word[at..];
                }
                _ = writeln!(self.out, "{line}");
                line = " ".repeat(indent);
                columns = indent;
                fresh = true;
            }
        }
        _ = writeln!(self.out, "{}", line.trim_end());
    }

    /// A line of the log.
    fn broken_anywhere(&mut self, text: &str) {
        let mut rest = text;
        let mut indent = "    ";
        while !rest.is_empty() {
            let room = COLUMNS - indent.len();
            let mut at = rest.char_indices().nth(room).map_or(rest.len(), |(at, _)| at);
            // At a space if there is one in the last third.
            if at < rest.len()
                && let Some(space) = rest[..at].rfind(' ').filter(|space| *space > at * 2 / 3)
            {
                at = space + 1;
            }
            _ = writeln!(self.out, "{indent}{}", rest[..at].trim_end());
            rest = &rest[at..];
            indent = "      ";
        }
    }
}

const COLUMNS: usize = 72;
const HOSTS_SHOWN: usize = 5;
const ADDRESSES_SHOWN: usize = 8;
const LINES_SHOWN: usize = 10;
