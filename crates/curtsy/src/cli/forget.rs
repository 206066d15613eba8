//! `curtsy forget`: removes rows from a crawl's file, pages from the page cache, and a host's
//! history from the ledger.

use std::collections::HashSet;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_sink::read::PagesFile;
use curtsy_sink::{Forget, SqliteOptions, SqliteSink};
use curtsy_store::OpenError;
use serde_json::json;

use super::block::host;
use super::flags::{CONFIG, Flags, LEDGER};
use super::progress::counted;
use super::{Console, Exit, file, printable};
use curtsy_crawl::seed;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ForgetArgs {
    /// A URL (`https://example.org/page`), a host (`example.org`), or one port of a host
    /// (`localhost:8000`)
    what: String,
    /// The crawl's file [default: the crawl in this folder that knows the URL, or the newest; for a
    /// host, every crawl in this folder that has rows of it]
    #[arg(long = "in", value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    flags: Flags<{ LEDGER | CONFIG }>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ForgetArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let is_url = args.what.contains("://");
    let what = match (is_url, port(&args.what)) {
        (true, _) => Forget::Url(seed(&args.what)?),
        (false, Some(port)) => Forget::Port(host(&args.what)?, port),
        (false, None) => Forget::Host(host(&args.what)?),
    };
    let mut rows = 0;
    let files = match (&args.file, &what) {
        (Some(file), _) => vec![file.clone()],
        (None, Forget::Host(host) | Forget::Port(host, _)) => {
            let files = file::of_host(host, &args.flags.0)?;
            for file in &files {
                console.note(&format!("in {}", file.display()))?;
            }
            files
        }
        (None, Forget::Url(url)) => {
            vec![file::find(None, std::slice::from_ref(url), &args.flags.0, console)?]
        }
        (None, Forget::Before(_)) => Vec::new(),
    };
    let mut keys = HashSet::new();
    for file in files.iter().filter(|file| file.exists()) {
        // To write to a file that holds no crawl would make it one.
        let kept = PagesFile::open(file)?;
        if let Forget::Port(host, port) = &what {
            kept.known(|url, last, _| {
                let of_port = |url: &CrawlUrl| url.host() == host && url.port() == *port;
                keys.extend([url, last].iter().filter(|url| of_port(url)).map(CrawlUrl::key));
            })?;
        }
        drop(kept);
        let sink = SqliteSink::open(file, SqliteOptions::default())?;
        rows += sink.forget(what.clone()).map_err(|e| anyhow::anyhow!("{}", e.why))?;
    }
    let cached = forget_shared(args, &what, &keys, console)?;
    if !files.iter().any(|file| file.exists()) && is_url && cached == 0 {
        let path = files.into_iter().next().unwrap_or_default();
        return Err(OpenError::Missing { path }.into());
    }
    let history = match &what {
        Forget::Host(host) => {
            let mut ledger = args.flags.0.clone().alone().ledger(console)?;
            ledger.forget(host).context("could not write the ledger of hosts")?
        }
        _ => false,
    };
    let history_stays = !matches!(what, Forget::Host(_));
    let known = rows > 0 || cached > 0 || history;
    let shown = printable(&args.what);
    if args.json {
        let told = json!({"forgot": args.what, "rows": rows, "cached": cached, "history": history});
        writeln!(console.out, "{told}")?;
    } else if known {
        let rows_gone = rows > 0;
        let rows = counted(rows as u64, "row");
        let cached = match cached {
            0 => String::new(),
            n => format!(", {} of the page cache", counted(n as u64, "page")),
        };
        let history = if history { " and the host's history" } else { "" };
        writeln!(console.err, "forgot {shown}: {rows}{cached}{history}")?;
        if rows_gone {
            writeln!(
                console.err,
                "a crawl that goes on in the same file does not request them again: `--again` does"
            )?;
        }
    } else {
        let there = match files.first() {
            Some(file) if file.exists() => format!("`{}` has no row of it", file.display()),
            Some(file) => format!("there is no file `{}`", file.display()),
            None => "no crawl in this folder has a row of it".to_owned(),
        };
        let ledger =
            if history_stays { "" } else { ", and the ledger of hosts has no history of it" };
        writeln!(console.err, "nothing to forget of {shown}: {there}{ledger}")?;
    }
    Ok(if known { Exit::Fine } else { Exit::Refused })
}

/// The port in `localhost:8000`.
fn port(text: &str) -> Option<u16> {
    let (_, port) = text.rsplit_once(':')?;
    port.parse().ok()
}

/// Removes pages from the page cache that all crawls share, and returns their number. The cache
/// knows pages by their keys only: the pages of one port are those that the crawls' files name.
fn forget_shared(
    args: &ForgetArgs,
    what: &Forget,
    of_port: &HashSet<UrlKey>,
    console: &Console<'_>,
) -> anyhow::Result<usize> {
    let Some(pages) = super::cache::open_existing(&args.flags.0.clone().alone(), console)? else {
        return Ok(0);
    };
    let forgotten = match what {
        Forget::Url(url) => pages.forget(|key| key == url.key()),
        Forget::Host(host) => pages.forget_host(host),
        Forget::Port(..) => pages.forget(|key| of_port.contains(&key)),
        Forget::Before(_) => 0,
    };
    match pages.trouble() {
        Some(why) => Err(anyhow::anyhow!("{why}")),
        None => Ok(forgotten),
    }
}

const HELP: &str = "\
Rows leave the crawl's file with their content and history; those of a host leave every crawl's file in this folder. The pages leave the page cache that \
all crawls share. For a host, its risk and the times \
of its answers leave the ledger of hosts too; waits that it asked for, its robots.txt and blocks \
stay, so nothing is asked earlier than before. That history is one for all ports of a host: with a port \
it stays.

Examples:
  curtsy forget https://example.org/page --in example.org.db
  curtsy forget example.org
  curtsy forget localhost:8000    the other ports of localhost stay

Exit codes: 0 forgotten; 1 there was nothing to forget; 2 not a URL or host, or a file that \
can't be used.";
