//! `curtsy why --now URL`, also called `curtsy explain URL`: what a crawl would do with a URL now.
//! Nothing is sent to the site.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use curtsy_core::evidence::timestamp;
use curtsy_core::host::{Action, Gate, Verdict};
use curtsy_core::time::Time;
use curtsy_crawl::{
    Dialable, Explained, dialable, explain_job, known_scheme, other_scheme, would_do,
};
use curtsy_engine::discover::DiscoverySpec;
use serde_json::json;

use super::flags::{CACHE, CONFIG, Flags, LEDGER, MANNERS, Values, WAY};
use super::progress::moment;
use super::report::failure;
use super::{Console, Exit, progress};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ExplainArgs {
    /// The URL
    url: String,
    #[command(flatten)]
    how: HowFlags,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How a crawl would ask.
pub(super) type HowFlags = Flags<{ MANNERS | WAY | LEDGER | CACHE | CONFIG }>;

pub(super) fn run(args: ExplainArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    now(args.url, args.how.0, args.json, console)
}

/// The decision that a crawl would make now, and the code that it would end with.
pub(super) fn now(
    text: String,
    mut flags: Values,
    json: bool,
    console: &mut Console<'_>,
) -> anyhow::Result<Exit> {
    flags.add("urls", text.clone());
    let settings = flags.settings()?;
    let job = settings.order(DiscoverySpec::default(), console)?.job()?;
    let url = match other_scheme(&text) {
        Some(other) if known_scheme(&job, [&job.seeds[0], &other])? == Some(other.scheme()) => {
            other
        }
        _ => job.seeds[0].clone(),
    };
    let policy = &job.policy;
    let file = job.ledger_file()?;
    std::fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
    let mut ledger = settings.ledger(console)?;
    let explained = explain_job(&mut ledger, &job, &url)?;
    let (first, outcome) = in_words(&explained, &dialable(&job, &url)?, policy.patience);
    let findings = &explained.gates;
    if json {
        let gates: Vec<_> = findings
            .iter()
            .map(|(gate, verdict, text)| {
                let verdict = match verdict {
                    Verdict::Go => json!("go"),
                    Verdict::NotBefore(at) => json!({ "not_before": timestamp(*at) }),
                    Verdict::Never => json!("never"),
                };
                json!({"gate": gate.name(), "verdict": verdict, "why": text})
            })
            .collect();
        let all = json!({"url": url.as_str(), "action": first, "gates": gates, "policy": policy.hash_hex()});
        writeln!(console.out, "{all:#}")?;
    } else {
        writeln!(console.out, "{}\n  {}", url.as_str(), super::printable(&first))?;
        for (gate, verdict, text) in findings {
            let mark = match verdict {
                Verdict::Go => " ",
                Verdict::NotBefore(_) => "…",
                Verdict::Never => "✗",
            };
            writeln!(console.out, "{mark} {:<10} {}", gate.name(), super::printable(text))?;
        }
        writeln!(
            console.out,
            "  nothing was sent to the site; this is by what the ledger of hosts and the page cache know now"
        )?;
    }
    Ok(outcome)
}

/// The decision as a sentence, and the code that the crawl would end with.
fn in_words(
    explained: &Explained,
    Dialable { problem, refused }: &Dialable,
    patience: Option<Duration>,
) -> (String, Exit) {
    let Explained { decision, gates: findings, now, held_status, .. } = explained;
    let why = |gate: &Gate| {
        let found = findings.iter().find(|(of, ..)| of == gate);
        found.map_or(gate.name(), |(_, _, text)| text)
    };
    match &decision.action {
        Action::Refuse(gate) => {
            (format!("would not be fetched: {}", why(gate)), Exit::NothingFetched)
        }
        Action::UseCached => {
            let until = match decision.findings.of(Gate::Freshness).verdict {
                Verdict::NotBefore(until) => format!(" until {}", moment(until)),
                _ => String::new(),
            };
            match held_status.filter(|status| *status >= 400) {
                Some(status) => (
                    format!(
                        "needs no request: another crawl of yours was answered with {status}, which counts{until}"
                    ),
                    Exit::NothingFetched,
                ),
                None => (
                    format!("needs no request: the page that the page cache holds is fresh{until}"),
                    Exit::Fine,
                ),
            }
        }
        _ if problem.is_some_and(|problem| problem.is_refusal()) => {
            let why = match &refused {
                Some(refused) => refused.to_string(),
                None => failure("port"),
            };
            (format!("would not be fetched: {why}"), Exit::NothingFetched)
        }
        _ if problem.is_some() => {
            (format!("could not be fetched now: {}", failure("dns")), Exit::NothingFetched)
        }
        Action::Wait(until, gate) if *until == Time::NEVER => {
            (format!("would wait until somebody lifts it: {}", why(gate)), Exit::Waits)
        }
        Action::Wait(until, gate) => (
            format!(
                "would wait {}, until {}: {}",
                progress::span(*until - *now),
                moment(*until),
                why(gate)
            ),
            match patience.is_some_and(|patience| *until > *now + patience) {
                true => Exit::Waits,
                false => Exit::Fine,
            },
        ),
        Action::Approach(approach) => {
            let what = would_do(approach);
            let wait = approach.turn - *now;
            let when = if wait.is_zero() {
                "now".to_owned()
            } else {
                format!("in {}", progress::span(wait))
            };
            (format!("{what}, {when}"), Exit::Fine)
        }
    }
}

const HELP: &str = "\
The same as `curtsy why --now URL`: the decision that a new crawl would make now, by what is known \
of the host and what the page cache holds. The name is looked up; nothing is sent to the site. A robots.txt that is not known yet \
would be asked for first; `curtsy crawl URL --pages 1 --no-sitemaps` does that. What became of a \
URL in a crawl is `curtsy why URL`.

Examples:
  curtsy explain https://example.org/private/ --contact me@example.org
  curtsy explain https://example.org/ --policy audit --json

Exit codes are those that the crawl would end with: 0 it would be fetched; 2 a wrong argument, or \
no contact; 3 it would have to wait longer than the patience; 4 it would be refused.";
