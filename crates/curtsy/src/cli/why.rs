//! `curtsy why URL`: why a URL was fetched or not, and everything that was asked on the way.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use curtsy_core::evidence::{Names, sentence, timestamp};
use curtsy_core::host::{Finding, Reason, Verdict};
use curtsy_core::time::Time;
use curtsy_sink::read::{DecisionRow, PageRow, PagesFile};
use serde_json::{Value as Json, json};

use super::{Console, Outcome, printable, progress};
use curtsy_crawl::seed;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct WhyArgs {
    /// The URL, as it was found or given
    url: String,
    /// The crawl's file
    #[arg(long = "in", value_name = "FILE", default_value = "crawl.db")]
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &WhyArgs, console: &mut Console<'_>) -> anyhow::Result<Outcome> {
    match find(&args.file, &args.url)? {
        Some(why) if args.json => writeln!(console.out, "{:#}", why.json)?,
        Some(why) => write!(console.out, "{}", why.text)?,
        None => {
            writeln!(
                console.err,
                "{} was not considered in `{}`: nobody linked to it in scope, or it waits for its turn",
                printable(&args.url),
                args.file.display()
            )?;
            return Ok(Outcome::Refused);
        }
    }
    Ok(Outcome::Fine)
}

/// An answer to "why?".
pub(super) struct Why {
    pub(super) text: String,
    pub(super) json: Json,
}

/// What a crawl's file says about a URL.
pub(super) fn find(file: &Path, url: &str) -> anyhow::Result<Option<Why>> {
    let url = seed(url)?;
    let pages = PagesFile::open(file)?;
    let row = pages.row(&url)?;
    let decisions = pages.decisions(&url)?;
    let source = pages.source(&url)?;
    let source = source.as_deref();
    if row.is_none() && decisions.is_empty() {
        return Ok(None);
    }
    Ok(Some(Why {
        text: text(url.as_str(), row.as_ref(), source, &decisions),
        json: in_json(url.as_str(), row.as_ref(), source, &decisions),
    }))
}

fn text(
    url: &str,
    row: Option<&PageRow>,
    source: Option<&str>,
    decisions: &[DecisionRow],
) -> String {
    let mut text = format!("{}\n", printable(url));
    match row {
        Some(row) => {
            let _ = writeln!(text, "  {}", printable(&verdict(row, source)));
            if row.access.as_deref() == Some("own") {
                text.push_str(
                    "  asked for with the credentials that the policy has for this host\n",
                );
            }
            if row.redirect_count > 0 {
                let _ = writeln!(
                    text,
                    "  followed {} to {}",
                    count(row.redirect_count.into(), "redirect"),
                    printable(&row.final_url)
                );
            }
        }
        None => text.push_str("  has not ended yet\n"),
    }
    let last = decisions.last();
    let rule = row.and_then(|row| row.robots_rule.as_deref());
    if let Some(last) = last {
        for line in findings(last, rule) {
            let _ = writeln!(text, "  {}", printable(&line));
        }
    }
    if decisions.len() > 1 || decisions.first().is_some_and(|d| d.http_status.is_some()) {
        text.push_str("  on the way:\n");
        for step in decisions {
            let _ = writeln!(text, "    {}", printable(&told(step)));
        }
    }
    text
}

/// The first line: what became of it.
fn verdict(row: &PageRow, source: Option<&str>) -> String {
    let shared = source == Some("shared");
    let status = row.http_status.map(|s| format!(" with {s}")).unwrap_or_default();
    let error = row.error.as_deref().map(|e| e.replace('_', " "));
    match (row.decision.as_str(), &error) {
        ("fetched", _) => {
            let bytes =
                row.body_bytes.map(|b| format!(", {}", progress::size(b))).unwrap_or_default();
            let login = if row.access.as_deref() == Some("login") { ", a login form" } else { "" };
            format!("fetched{status}{bytes}{login}")
        }
        ("confirmed", _) if shared => {
            "asked again and not changed: the page that another crawl of yours fetched stands"
                .to_owned()
        }
        ("cached", _) if shared => {
            "not asked for: another crawl of yours fetched this page, and it is still fresh"
                .to_owned()
        }
        ("dead", _) if shared => {
            format!("not asked for: another crawl of yours was answered{status} a short while ago")
        }
        ("confirmed", _) => "asked again and not changed: the page that we hold stands".to_owned(),
        ("cached", _) => "not asked for: the page that we hold is fresh".to_owned(),
        ("login_wall", _) => login(row),
        ("refused", _) => {
            format!("not fetched: refused by the {} gate", row.gate.as_deref().unwrap_or("?"))
        }
        (_, Some(error)) if row.tries > 0 => {
            format!(
                "failed for good after {}: {error}{status}",
                count(u64::from(row.tries) + 1, "try").replace("trys", "tries")
            )
        }
        (_, Some(error)) => format!("failed: {error}{status}"),
        (other, None) => format!("{}{status}", other.replace('_', " ")),
    }
}

/// How the site said that it wants a login.
fn login(row: &PageRow) -> String {
    let how = match (row.http_status, &row.location) {
        (Some(401), _) => "the site answered 401".to_owned(),
        (Some(300..=399), Some(to)) => format!("the site redirects to a login, {to}"),
        _ => "the site shows a login form instead of the page".to_owned(),
    };
    let next = match row.access.as_deref() {
        Some("own") => "the credentials that the policy has for this host did not open it",
        _ => "a login is never tried",
    };
    format!("behind a login: {how}; {next}")
}

/// What the gates that had something to say found at the last decision.
fn findings(last: &DecisionRow, rule: Option<&str>) -> Vec<String> {
    let now = last.at.unwrap_or(Time::START);
    let names = Names { robots: None, now };
    let quiet = [Reason::Clear, Reason::RiskScore { score: 0 }];
    let said = last.findings.iter().filter(|(_, f)| !quiet.contains(&f.reason));
    said.map(|(gate, finding)| {
        // A wait that was over when the request was made is a wait that was kept.
        let over = matches!(finding.verdict, Verdict::NotBefore(until) if until <= now);
        let finding =
            &Finding { verdict: if over { Verdict::Go } else { finding.verdict }, ..*finding };
        let mark = match finding.verdict {
            Verdict::Go => "·",
            Verdict::NotBefore(_) => "…",
            Verdict::Never => "✗",
        };
        let rule = match finding.reason {
            Reason::RobotsAllows { line: Some(_), .. } | Reason::RobotsForbids { .. } => {
                rule.map(|rule| format!(": `{rule}`")).unwrap_or_default()
            }
            _ => String::new(),
        };
        format!("{mark} {:<9} {}{rule}", gate.name(), sentence(gate, finding, &names))
    })
    .collect()
}

/// One request or decision, in a line.
fn told(step: &DecisionRow) -> String {
    let at = step.at.map(timestamp).unwrap_or_default();
    let came = match (step.http_status, &step.error) {
        (Some(status), None) => status.to_string(),
        (Some(status), Some(error)) => format!("{status}, {}", error.replace('_', " ")),
        (None, Some(error)) => {
            let names = Names { robots: None, now: step.at.unwrap_or(Time::START) };
            // What was not sent was held up by a gate, if one is named.
            let held_up =
                step.findings.iter().find(|(gate, _)| Some(gate.name()) == step.gate.as_deref());
            let why = held_up.filter(|_| error == "not_sent");
            let why = why.map(|(gate, found)| format!(": {}", sentence(gate, found, &names)));
            format!("{}{}", error.replace('_', " "), why.unwrap_or_default())
        }
        (None, None) => step.gate.as_ref().map(|g| format!("{g} gate")).unwrap_or_default(),
    };
    let friction = step.friction.as_ref().map(|f| format!(" ({f})")).unwrap_or_default();
    let wait = step.retry_after.map(|w| format!(", asks to wait {}", span(w))).unwrap_or_default();
    let then = match (step.decision.as_str(), step.not_before, &step.follows) {
        ("retry", Some(at), _) => format!(" → tried again not before {}", timestamp(at)),
        ("follow", _, Some(to)) => format!(" → {to}"),
        ("decide", ..) => String::new(),
        (other, ..) => format!(" → {}", other.replace('_', " ")),
    };
    let what = match step.kind.as_str() {
        "page" => step.url.clone(),
        kind => format!("{kind} {}", step.url),
    };
    format!("{at} {what} {came}{friction}{wait}{then}")
}

fn in_json(
    url: &str,
    row: Option<&PageRow>,
    source: Option<&str>,
    decisions: &[DecisionRow],
) -> Json {
    let rule = row.and_then(|row| row.robots_rule.as_deref());
    let steps: Vec<Json> = decisions
        .iter()
        .map(|step| {
            let gates: Vec<Json> = step
                .findings
                .iter()
                .filter(|(_, f)| f.reason != Reason::Clear)
                .map(|(gate, f)| {
                    let names = Names { robots: None, now: step.at.unwrap_or(Time::START) };
                    json!({"gate": gate.name(), "why": sentence(gate, f, &names)})
                })
                .collect();
            json!({
                "at": step.at.map(timestamp), "kind": step.kind, "url": step.url, "decision": step.decision,
                "http_status": step.http_status, "error": step.error, "friction": step.friction,
                "retry_after_ms": step.retry_after.map(|w| w.as_millis() as u64), "gate": step.gate,
                "not_before": step.not_before.map(timestamp), "follows": step.follows,
                "delay_ms": step.delay.map(|d| d.as_millis() as u64), "delay_by": step.delay_by,
                "robots_line": step.robots_line, "findings": gates,
            })
        })
        .collect();
    json!({
        "url": url,
        "decision": row.map(|r| r.decision.clone()),
        "gate": row.and_then(|r| r.gate.clone()),
        "http_status": row.and_then(|r| r.http_status),
        "error": row.and_then(|r| r.error.clone()),
        "final_url": row.map(|r| r.final_url.clone()),
        "redirect_count": row.map(|r| r.redirect_count),
        "robots_rule": rule,
        "access": row.and_then(|r| r.access.clone()),
        "source": source,
        "steps": steps,
    })
}

fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn span(span: Duration) -> String {
    progress::span(span)
}

const HELP: &str = "\
The robots line that decided, the delay in force and who set it, budgets, redirects, walls, traps, and every try with its time. Works while a
crawl writes the file.

Exit codes: 0 there is an answer; 1 the URL was never considered.";
