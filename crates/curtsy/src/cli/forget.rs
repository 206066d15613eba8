//! `curtsy forget`: takes rows out of a crawl's file, and the history of a host out of the ledger.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use curtsy_sink::{Forget, Options, SqliteSink};
use serde_json::json;

use super::crawl::LedgerArg;
use super::stop::host;
use super::{Console, Outcome, file, printable};
use curtsy_core::url::CrawlUrl;
use curtsy_crawl::seed;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ForgetArgs {
    /// A URL (`https://example.org/page`), or a host (`example.org`)
    what: String,
    /// The crawl's file [default: the crawl in this folder that knows the URL, or the newest]
    #[arg(long = "in", value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    ledger: LedgerArg,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ForgetArgs, console: &mut Console<'_>) -> anyhow::Result<Outcome> {
    let is_url = args.what.contains("://");
    let mut rows = 0;
    let urls = match is_url {
        true => vec![seed(&args.what)?],
        false => vec![CrawlUrl::parse(&format!("https://{}/", host(&args.what)?))?],
    };
    // A host may be forgotten of which there is no crawl.
    let file = match file::find(args.file.as_deref(), &urls, console) {
        Err(_) if !is_url => None,
        found => Some(found?).filter(|file| file.exists()),
    };
    if let Some(file) = &file {
        let what = match is_url {
            true => Forget::Url(seed(&args.what)?),
            false => Forget::Host(host(&args.what)?),
        };
        let sink = SqliteSink::open(file, Options::default())?;
        rows = sink.forget(what).map_err(|e| anyhow::anyhow!("{}", e.why))?;
    } else if is_url {
        anyhow::bail!(
            "there is no crawl in `{}`\nhint: name its file with `--in FILE`",
            args.file.clone().unwrap_or_default().display()
        );
    }
    if !is_url {
        let host = host(&args.what)?;
        let mut ledger = args.ledger.open(console)?;
        ledger.forget(&host).context("could not write the ledger of hosts")?;
    }
    match args.json {
        true => writeln!(console.out, "{}", json!({"forgot": args.what, "rows": rows}))?,
        false => writeln!(
            console.err,
            "forgot {}: {rows} row{}",
            printable(&args.what),
            if rows == 1 { "" } else { "s" }
        )?,
    }
    Ok(Outcome::Fine)
}

const HELP: &str = "\
Rows with their content and history leave the crawl's file. Of a host, risk and times of answers leave the ledger too; waits that it asked for, its
robots.txt and stop orders stay, so nothing is asked earlier than before.";
