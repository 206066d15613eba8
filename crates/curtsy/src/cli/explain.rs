//! `curtsy explain URL`: what would be asked, whether it is allowed, and when. Nothing is sent.

use clap::Args;
use curtsy_core::evidence::timestamp;
use curtsy_core::host::{Action, Kind, Verdict};
use curtsy_core::policy::Reach;
use curtsy_crawl::{Explained, explain, seed};
use serde_json::json;

use super::crawl::{LedgerArg, MannersArgs, manners};
use super::{Console, Outcome, progress};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ExplainArgs {
    /// The URL
    url: String,
    #[command(flatten)]
    manners: MannersArgs,
    #[command(flatten)]
    ledger: LedgerArg,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: ExplainArgs, console: &mut Console<'_>) -> anyhow::Result<Outcome> {
    let url = seed(&args.url)?;
    let policy = manners(&args.manners, Reach::Public, console)?.policy;
    let mut ledger = args.ledger.open(console)?;
    let Explained { decision, gates: findings, now, .. } = explain(&mut ledger, &policy, &url)?;
    let (first, refused) = match &decision.action {
        Action::Refuse(gate) => {
            (format!("would not be fetched: the {} gate refuses it", gate.name()), true)
        }
        Action::UseCached => ("needs no request: the page that we hold is fresh".to_owned(), false),
        Action::Wait(until, gate) => (
            format!(
                "would wait {} (until {}): {}",
                progress::span(*until - now),
                timestamp(*until),
                gate.name()
            ),
            false,
        ),
        Action::Approach(approach) => {
            let what = match approach.kind {
                Kind::Robots => format!("would first ask for {}", approach.url.as_str()),
                Kind::Probe => "would first see whether the host is back (HEAD /)".to_owned(),
                _ => "would be fetched".to_owned(),
            };
            let wait = approach.turn - now;
            let when = if wait.is_zero() {
                "now".to_owned()
            } else {
                format!("in {}", progress::span(wait))
            };
            (format!("{what}, {when}"), false)
        }
    };
    if args.json {
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
        writeln!(console.out, "{}\n  {first}", url.as_str())?;
        for (gate, verdict, text) in &findings {
            let mark = match verdict {
                Verdict::Go => " ",
                Verdict::NotBefore(_) => "…",
                Verdict::Never => "✗",
            };
            writeln!(console.out, "{mark} {:<10} {}", gate.name(), super::printable(text))?;
        }
        writeln!(console.out, "  nothing was sent; this is what the ledger of hosts knows now")?;
    }
    Ok(if refused { Outcome::Refused } else { Outcome::Fine })
}

const HELP: &str = "\
A dry run: the same decision that a crawl would make now, on what is known of the host. A robots.txt that is not known yet would be
asked for first; `curtsy crawl URL --pages 1 --no-sitemaps` does.

Exit codes: 0 it would be fetched, now or later; 1 it would be refused.";
