//! `curtsy forget`: takes rows out of a crawl's file, and the history of a host out of the ledger.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use curtsy_sink::read::PagesFile;
use curtsy_sink::{Forget, Options, SqliteSink};
use curtsy_store::OpenError;
use serde_json::json;

use super::block::host;
use super::crawl::LedgerArg;
use super::progress::counted;
use super::{Console, Outcome, printable};
use curtsy_crawl::seed;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ForgetArgs {
    /// A URL (`https://example.org/page`), or a host (`example.org`)
    what: String,
    /// The crawl's file
    #[arg(long = "in", value_name = "FILE", default_value = "crawl.db")]
    file: PathBuf,
    #[command(flatten)]
    ledger: LedgerArg,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ForgetArgs, console: &mut Console<'_>) -> anyhow::Result<Outcome> {
    let is_url = args.what.contains("://");
    let what = match is_url {
        true => Forget::Url(seed(&args.what)?),
        false => Forget::Host(host(&args.what)?),
    };
    let mut rows = 0;
    if args.file.exists() {
        // To write to a file that holds no crawl would make it one.
        PagesFile::open(&args.file)?;
        let sink = SqliteSink::open(&args.file, Options::default())?;
        rows = sink.forget(what.clone()).map_err(|e| anyhow::anyhow!("{}", e.why))?;
    } else if is_url {
        return Err(OpenError::Missing { path: args.file.clone() }.into());
    }
    let history = match &what {
        Forget::Host(host) => {
            let mut ledger = args.ledger.open(console)?;
            ledger.forget(host).context("could not write the ledger of hosts")?
        }
        _ => false,
    };
    let known = rows > 0 || history;
    let shown = printable(&args.what);
    if args.json {
        let told = json!({"forgot": args.what, "rows": rows, "history": history});
        writeln!(console.out, "{told}")?;
    } else if known {
        let rows = counted(rows as u64, "row");
        let history = if history { " and the host's history" } else { "" };
        writeln!(console.err, "forgot {shown}: {rows}{history}")?;
    } else {
        let file = args.file.display();
        let there = if args.file.exists() {
            format!("`{file}` has no row of it")
        } else {
            format!("there is no file `{file}`")
        };
        let ledger = if is_url { "" } else { ", and the ledger of hosts has no history of it" };
        writeln!(console.err, "nothing to forget of {shown}: {there}{ledger}")?;
    }
    Ok(if known { Outcome::Fine } else { Outcome::Refused })
}

const HELP: &str = "\
Rows leave the crawl's file with their content and history. For a host, its risk and the times \
of its answers leave the ledger of hosts too; waits that it asked for, its robots.txt and blocks \
stay, so nothing is asked earlier than before.

Examples:
  curtsy forget https://example.org/page --in crawl.db
  curtsy forget example.org

Exit codes: 0 forgotten; 1 there was nothing to forget; 2 not a URL or host, or a file that \
can't be used.";
