//! `curtsy forget`: takes rows out of a crawl's file, pages out of the page cache, and the history of a host out of the ledger.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use curtsy_sink::{Forget, Options, SqliteSink};
use serde_json::json;

use super::crawl::LedgerArg;
use super::stop::host;
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
    let mut rows = 0;
    if args.file.exists() {
        let what = match is_url {
            true => Forget::Url(seed(&args.what)?),
            false => Forget::Host(host(&args.what)?),
        };
        let sink = SqliteSink::open(&args.file, Options::default())?;
        rows = sink.forget(what).map_err(|e| anyhow::anyhow!("{}", e.why))?;
    }
    let cached = forget_shared(args, is_url, console)?;
    if !args.file.exists() && is_url && cached == 0 {
        anyhow::bail!(
            "there is no crawl in `{}`\nhint: name its file with `--in FILE`",
            args.file.display()
        );
    }
    if !is_url {
        let host = host(&args.what)?;
        let mut ledger = args.ledger.open(console)?;
        ledger.forget(&host).context("could not write the ledger of hosts")?;
    }
    match args.json {
        true => {
            let forgot = json!({"forgot": args.what, "rows": rows, "cached": cached});
            writeln!(console.out, "{forgot}")?;
        }
        false => writeln!(
            console.err,
            "forgot {}: {rows} row{}, {cached} page{} of the page cache",
            printable(&args.what),
            if rows == 1 { "" } else { "s" },
            if cached == 1 { "" } else { "s" },
        )?,
    }
    Ok(Outcome::Fine)
}

/// Takes pages out of the page cache that all crawls share; tells how many.
fn forget_shared(args: &ForgetArgs, is_url: bool, console: &Console<'_>) -> anyhow::Result<usize> {
    let Some(pages) = super::cache::open_existing(&args.ledger, console)? else {
        return Ok(0);
    };
    let forgotten = match is_url {
        true => pages.forget(seed(&args.what)?.key()),
        false => pages.forget_host(&host(&args.what)?),
    };
    match pages.trouble() {
        Some(why) => Err(anyhow::anyhow!("{why}")),
        None => Ok(forgotten),
    }
}

const HELP: &str = "\
Rows with their content and history leave the crawl's file, and the pages leave the page cache that all crawls share. Of a host, risk and times of answers leave the ledger too; waits that it asked for, its
robots.txt and stop orders stay, so nothing is asked earlier than before.";
