//! What the judge found, as text and as JSON.

use std::io::{self, Write};

use curtsy_core::evidence::timestamp;
use curtsy_core::time::Time;
use curtsy_judge::{AgentCase, AgentKind, HeldTo, JudgeReport, Rule, Verdicts, Violation};
use serde_json::{Value, json};

use super::{LogReading, NEUTRAL};
use crate::cli::{count, printable};

/// Prints the report of one agent.
pub(super) fn one(
    agent: &AgentCase,
    report: &JudgeReport,
    reading: &LogReading,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let policy = reading.policy_of(&agent.name);
    writeln!(
        out,
        "{}: {} from {}, {} to {}; held to {policy}",
        label(agent),
        count(agent.requests, "request"),
        addresses(agent, ADDRESSES_SHOWN),
        moment(agent.first),
        moment(agent.last)
    )?;
    notes(agent, report, out)?;
    left_out(reading, out)?;
    writeln!(out)?;
    let mut text = Vec::new();
    report.print(&mut text)?;
    for line in String::from_utf8_lossy(&text).lines() {
        // A log holds what strangers sent.
        writeln!(out, "{}", shortened(&printable(line)))?;
    }
    if !reading.delay_given && policy != NEUTRAL && breaks_pace(report) {
        writeln!(
            out,
            "hint: the delay is that of `{policy}`; a crawl with another `--delay` is judged by it with `--set pace.delay=200ms`"
        )?;
    }
    if !reading.midway && misses_robots(report) {
        writeln!(out, "{MIDWAY}")?;
    }
    Ok(())
}

/// Whether requests came before any robots.txt in the log: perhaps it was fetched before the log
/// begins.
fn misses_robots(report: &JudgeReport) -> bool {
    let first = report.first.iter().find(|violation| violation.rule == Rule::P1);
    first.is_some_and(|violation| violation.earlier.is_none())
}

/// Whether requests came too close to each other.
fn breaks_pace(report: &JudgeReport) -> bool {
    report.rule(Rule::P4).violations > 0
}

/// Prints a table of the agents, and the worst violation of each.
pub(super) fn table(
    verdicts: &Verdicts,
    reading: &LogReading,
    columns: usize,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut shown = 0;
    for agent in verdicts.agents.iter().filter(|agent| agent.violations() > 0).take(WORST_SHOWN) {
        if let Some(worst) = agent.report.as_ref().and_then(worst) {
            example(&label(agent), worst, out)?;
            shown += 1;
        }
    }
    if let Some(first) = &verdicts.others.first {
        example("another agent", first, out)?;
        shown += 1;
    }
    for line in &reading.unreadable_first {
        writeln!(out, "unreadable: {}", shortened(&printable(line)))?;
    }
    if shown > 0 || reading.unreadable > 0 {
        writeln!(out)?;
    }
    let agents = verdicts.agents.iter().take(ROWS_SHOWN);
    let mut rows = vec![AgentRow::head()];
    rows.extend(agents.map(|agent| AgentRow::of(agent, reading)));
    print_rows(&rows, columns, out)?;
    if verdicts.agents.len() > ROWS_SHOWN {
        let rest = &verdicts.agents[ROWS_SHOWN..];
        let requests: u64 = rest.iter().map(|agent| agent.requests).sum();
        let broken: u64 = rest.iter().map(AgentCase::violations).sum();
        writeln!(
            out,
            "{} with {} and {}; --json lists them",
            count(rest.len() as u64, "more agent"),
            count(requests, "request"),
            count(broken, "violation")
        )?;
    }
    let others = &verdicts.others;
    if others.agents > 0 {
        writeln!(
            out,
            "note: more than 256 agents: {} with few requests were judged for a while and then given up for memory, with {} and {} together",
            others.agents,
            count(others.requests, "request"),
            count(others.violations, "violation")
        )?;
    }
    if verdicts.connections_unknown > 0 {
        writeln!(
            out,
            "note: {} without a request, of an unknown agent: not judged",
            count(verdicts.connections_unknown, "connection")
        )?;
    }
    let left: u64 = verdicts.agents.iter().flat_map(|a| &a.report).map(|r| r.left_out).sum();
    if left > 0 {
        writeln!(
            out,
            "note: {} to hosts beyond the first 131,072, not judged",
            count(left, "request")
        )?;
    }
    let rules = Rule::ALL.into_iter().filter(|&rule| {
        let mut reports = verdicts.agents.iter().filter_map(|agent| agent.report.as_ref());
        reports.any(|report| report.rule(rule).violations > 0)
    });
    for rule in rules {
        writeln!(out, "{rule}: {}", rule.what())?;
    }
    // An agent that is held to promises has the notes of all others among its own.
    let reports = verdicts.agents.iter().filter_map(|agent| agent.report.as_ref());
    let all =
        reports.max_by_key(|report| (report.held_to == HeldTo::Promises, report.limits.len()));
    for limit in all.iter().flat_map(|report| &report.limits) {
        writeln!(out, "note: {limit}")?;
    }
    if unknown_robots(verdicts) {
        writeln!(out, "{NO_ROBOTS}")?;
    }
    let mut reports = verdicts.agents.iter().filter_map(|agent| agent.report.as_ref());
    if !reading.midway && reports.any(misses_robots) {
        writeln!(out, "{MIDWAY}")?;
    }
    left_out(reading, out)?;
    let requests =
        verdicts.agents.iter().map(|agent| agent.requests).sum::<u64>() + others.requests;
    let broken = verdicts.agents.iter().map(AgentCase::violations).sum::<u64>() + others.violations;
    writeln!(
        out,
        "{}: {}, {}, {}, {} unreadable; see one agent with --agent NAME",
        if verdicts.clean() { "no violation" } else { "manners broken" },
        count(requests, "request"),
        count(verdicts.agents.len() as u64 + others.agents, "agent"),
        count(broken, "violation"),
        count(reading.unreadable, "line")
    )?;
    Ok(())
}

/// A row of the table of agents.
struct AgentRow {
    name: String,
    cells: [String; 6],
    /// How often each rule was broken.
    by_manner: String,
}

impl AgentRow {
    fn head() -> AgentRow {
        let cells = ["requests", "hosts", "robots.txt", "addresses", "policy", "broken"];
        let cells = cells.map(str::to_owned);
        AgentRow { name: "agent".to_owned(), cells, by_manner: "by manner".to_owned() }
    }

    fn of(agent: &AgentCase, reading: &LogReading) -> AgentRow {
        let more = if agent.more_addresses { "+" } else { "" };
        let (hosts, policy, broken, by_manner) = match &agent.report {
            Some(report) => (
                report.hosts.to_string(),
                policy_name(&reading.policy_of(&agent.name)),
                report.violations().to_string(),
                by_manner(report),
            ),
            None => ("–".into(), "–".into(), "–".into(), "browsers are not judged".into()),
        };
        let cells = [
            agent.requests.to_string(),
            hosts,
            agent.robots_requests.to_string(),
            format!("{}{more}", agent.addresses.len()),
            policy,
            broken,
        ];
        AgentRow { name: label(agent), cells, by_manner }
    }
}

/// A policy as the table names it: a file without its folder, and no longer than a column may be.
fn policy_name(policy: &str) -> String {
    let file = policy.rsplit(['/', '\\']).next().unwrap_or(policy);
    match file.chars().count() > POLICY_MOST {
        true => printable(file).chars().take(POLICY_MOST - 1).chain(['…']).collect(),
        false => printable(file),
    }
}

/// Prints rows in columns as wide as their cells. If a row does not fit, the rules that an agent
/// broke are on a line of their own below its numbers, and a long name is above them.
fn print_rows(rows: &[AgentRow], columns: usize, out: &mut dyn Write) -> io::Result<()> {
    let length = |text: &str| text.chars().count();
    let widest = |of: &dyn Fn(&AgentRow) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let widths = [0, 1, 2, 3, 4, 5].map(|cell| widest(&|row| length(&row.cells[cell])));
    let numbers: usize = widths.iter().map(|width| width + 1).sum();
    let room = columns.saturating_sub(numbers).max(NAME_LEAST);
    let name = widest(&|row| Some(length(&row.name)).filter(|&name| name <= room).unwrap_or(0));
    let beside = name + numbers + 2 + widest(&|row| length(&row.by_manner)) <= columns;
    for (nth, row) in rows.iter().enumerate() {
        let mut line = match length(&row.name) <= name {
            true => format!("{:<name$}", row.name),
            false => {
                writeln!(out, "{}", row.name)?;
                " ".repeat(name)
            }
        };
        for (cell, width) in row.cells.iter().zip(widths) {
            line.push_str(&format!(" {cell:>width$}"));
        }
        match beside {
            true => writeln!(out, "{}", format!("{line}  {}", row.by_manner).trim_end())?,
            false => writeln!(out, "{line}")?,
        }
        if !beside && nth > 0 && !row.by_manner.is_empty() {
            writeln!(out, "  {}", row.by_manner)?;
        }
    }
    Ok(())
}

/// The report of one agent as JSON.
pub(super) fn one_json(agent: &AgentCase, report: &JudgeReport, reading: &LogReading) -> Value {
    let mut json = report.to_json();
    if let Value::Object(fields) = &mut json {
        fields.insert("agent".into(), agent_json(agent, Some(reading.policy_of(&agent.name))));
        fields.extend(reading_json(reading));
    }
    json
}

/// The reports of all agents as JSON.
pub(super) fn table_json(verdicts: &Verdicts, reading: &LogReading) -> Value {
    let agents = verdicts.agents.iter().map(|agent| {
        let policy = agent.report.as_ref().map(|_| reading.policy_of(&agent.name));
        let mut json = agent_json(agent, policy);
        json["report"] = agent.report.as_ref().map_or(Value::Null, JudgeReport::to_json);
        json
    });
    let others = &verdicts.others;
    let mut json = json!({
        "clean": verdicts.clean(),
        "agents": agents.collect::<Vec<_>>(),
        "others": {
            "agents": others.agents,
            "requests": others.requests,
            "violations": others.violations,
            "first": others.first.as_ref().map(Violation::to_json),
        },
        "unreadable": reading.unreadable,
        "unreadable_first": reading.unreadable_first,
    });
    if let Value::Object(fields) = &mut json {
        fields.extend(reading_json(reading));
    }
    json
}

fn agent_json(agent: &AgentCase, policy: Option<String>) -> Value {
    json!({
        "name": agent.name,
        "kind": match agent.kind {
            AgentKind::Robot => "robot",
            AgentKind::Browser => "browser",
            AgentKind::Nameless => "nameless",
        },
        "user_agent": agent.user_agent.as_deref(),
        "policy": policy,
        "requests": agent.requests,
        "robots_requests": agent.robots_requests,
        "addresses": agent.addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "more_addresses": agent.more_addresses,
        "one_address": agent.one_address,
        "first": agent.first,
        "last": agent.last,
    })
}

fn reading_json(reading: &LogReading) -> serde_json::Map<String, Value> {
    let formats: Vec<&str> = reading.formats.iter().map(|format| format.name()).collect();
    let mut fields = serde_json::Map::new();
    fields.insert("formats".into(), json!(formats));
    fields.insert(
        "lines_left_out".into(),
        json!({ "other_agents": reading.other_agents, "other_addresses": reading.other_addresses }),
    );
    fields
}

/// The rule that was broken most often, by its clearest violation.
fn worst(report: &JudgeReport) -> Option<&Violation> {
    let most = |violation: &&Violation| report.rule(violation.rule).violations;
    let rule = report.examples.iter().max_by_key(most)?.rule;
    report.examples.iter().find(|violation| violation.rule == rule)
}

fn example(name: &str, violation: &Violation, out: &mut dyn Write) -> anyhow::Result<()> {
    let (rule, host) = (violation.rule, &violation.host);
    let what = format!("{name}: {rule} on {host}: {}", violation.what);
    writeln!(out, "{}", printable(&what))?;
    for line in violation.lines() {
        writeln!(out, "  {}", shortened(&printable(&line)))?;
    }
    Ok(())
}

fn by_manner(report: &JudgeReport) -> String {
    let broken = Rule::ALL.into_iter().filter_map(|rule| {
        let times = report.rule(rule).violations;
        (times > 0).then(|| format!("{rule} {times}"))
    });
    broken.collect::<Vec<_>>().join(", ")
}

fn notes(agent: &AgentCase, report: &JudgeReport, out: &mut dyn Write) -> anyhow::Result<()> {
    if agent.addresses.len() > 1 {
        writeln!(
            out,
            "note: all addresses count as one crawler; if they are different people, choose one with --from"
        )?;
    }
    if agent.robots_requests == 0 {
        writeln!(out, "note: this agent never asked for robots.txt")?;
    }
    if lacks_robots(report) {
        writeln!(out, "{NO_ROBOTS}")?;
    }
    Ok(())
}

fn left_out(reading: &LogReading, out: &mut dyn Write) -> anyhow::Result<()> {
    if reading.other_agents > 0 {
        writeln!(out, "left out: {} of other agents", count(reading.other_agents, "line"))?;
    }
    if reading.other_addresses > 0 {
        writeln!(out, "left out: {} of other addresses", count(reading.other_addresses, "line"))?;
    }
    Ok(())
}

fn unknown_robots(verdicts: &Verdicts) -> bool {
    verdicts.agents.iter().filter_map(|agent| agent.report.as_ref()).any(lacks_robots)
}

fn lacks_robots(report: &JudgeReport) -> bool {
    report.rule(Rule::P2).not_judged > 0
}

/// What an agent is called: its name, and its address if that is all that tells it from others.
pub(super) fn label(agent: &AgentCase) -> String {
    match agent.addresses.first().filter(|_| agent.one_address) {
        Some(address) => format!("{} {address}", printable(&agent.name)),
        None => printable(&agent.name),
    }
}

/// The addresses of an agent, a few of them by name.
pub(super) fn addresses(agent: &AgentCase, most: usize) -> String {
    let known = agent.addresses.len();
    if known == 0 {
        return "an unknown address".to_owned();
    }
    let shown = agent.addresses.iter().take(most).map(ToString::to_string);
    let shown = shown.collect::<Vec<_>>().join(", ");
    match (agent.more_addresses, known.saturating_sub(most)) {
        (true, _) => format!("{shown} and more than {} others", known.saturating_sub(most)),
        (false, 0) => shown,
        (false, more) => format!("{shown} and {more} more"),
    }
}

/// A moment of the log, as people write it.
pub(super) fn moment(micros: u64) -> String {
    let seconds = micros.saturating_add(500_000) / 1_000_000;
    if seconds < SINCE_1970 {
        return format!("second {seconds} of the log");
    }
    let text = timestamp(Time::from_secs(seconds));
    let (day, time) = text.split_once('T').unwrap_or((&text, ""));
    format!("{day} {} UTC", &time[..time.len().min(8)])
}

/// A line of a log, cut where nobody reads on.
fn shortened(line: &str) -> String {
    match line.char_indices().nth(LINE_SHOWN) {
        Some((at, _)) => format!("{}… (the rest is in --json)", &line[..at]),
        None => line.to_owned(),
    }
}

const NO_ROBOTS: &str = "note: the log does not hold the robots.txt, so P2 and the Crawl-delay were not judged everywhere; give it with --robots FILE";
const MIDWAY: &str = "hint: requests came before any robots.txt in the log (P1); if the crawl began before the log, add --midway: P1 is then not judged until the first robots.txt in the log, for one TTL at most";
/// The columns that a name has in the table at least.
const NAME_LEAST: usize = 16;
/// The columns that a policy has in the table at most.
const POLICY_MOST: usize = 16;
/// Agents in the table.
const ROWS_SHOWN: usize = 40;
/// Agents whose worst violation is shown.
const WORST_SHOWN: usize = 20;
const ADDRESSES_SHOWN: usize = 3;
const LINE_SHOWN: usize = 1000;
/// A log with smaller times counts from a moment of its own.
const SINCE_1970: u64 = 1_000_000_000;
