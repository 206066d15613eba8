//! `curtsy cache`: how large the page cache is that all crawls of a user share, and emptying it.

use clap::{Args, Subcommand};
use curtsy_crawl::PageSharing;
use curtsy_store::{SharedPages, SharedSize};
use serde_json::json;

use super::flags::{Flags, LEDGER};
use super::settings::CommandSettings;
use super::{Console, Exit, count, progress};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct CacheCommand {
    #[command(subcommand)]
    what: CacheAction,
}

#[derive(Debug, Subcommand)]
enum CacheAction {
    /// Show where the page cache is, and how large
    Show(CacheArgs),
    /// Empty the page cache
    Clear(CacheArgs),
}

#[derive(Debug, Args)]
#[command(after_help = HELP)]
struct CacheArgs {
    #[command(flatten)]
    flags: Flags<LEDGER>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &CacheCommand, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    match &args.what {
        CacheAction::Show(args) => show(args, console),
        CacheAction::Clear(args) => clear(args, console),
    }
}

/// The page cache that goes with a ledger, if there is one.
pub(super) fn open_existing(
    settings: &CommandSettings,
    console: &Console<'_>,
) -> anyhow::Result<Option<SharedPages>> {
    let folder = SharedPages::beside(&settings.ledger_file(console)?);
    if !folder.exists() {
        return Ok(None);
    }
    let (pages, _) = SharedPages::open(&folder, bytes_max(settings, console)?)?;
    Ok(Some(pages))
}

fn bytes_max(settings: &CommandSettings, console: &Console<'_>) -> anyhow::Result<u64> {
    Ok(match settings.sharing(console)? {
        PageSharing::On { bytes_max } => bytes_max,
        PageSharing::Off => 0,
    })
}

fn show(args: &CacheArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let settings = args.flags.0.clone().alone();
    let folder = SharedPages::beside(&settings.ledger_file(console)?);
    let max = bytes_max(&settings, console)?;
    let SharedSize { pages, bytes, evicted } = match open_existing(&settings, console)? {
        Some(pages) => pages.size()?,
        None => SharedSize::default(),
    };
    if args.json {
        let shown = json!({"folder": folder, "pages": pages, "bytes": bytes, "bytes_max": max, "evicted": evicted});
        writeln!(console.out, "{shown:#}")?;
        return Ok(Exit::Fine);
    }
    writeln!(console.out, "{}", folder.display())?;
    writeln!(
        console.out,
        "  {}, {} of {}",
        count(pages, "page"),
        progress::size(bytes),
        progress::size(max),
    )?;
    if evicted > 0 {
        writeln!(console.out, "  full: {evicted} older pages made room for newer ones")?;
    }
    Ok(Exit::Fine)
}

fn clear(args: &CacheArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let pages = match open_existing(&args.flags.0.clone().alone(), console)? {
        Some(pages) => pages.clear()?,
        None => 0,
    };
    match args.json {
        true => writeln!(console.out, "{}", json!({ "cleared": pages }))?,
        false => writeln!(console.err, "cleared {}", count(pages, "page"))?,
    }
    Ok(Exit::Fine)
}

const HELP: &str = "\
Pages that any crawl of this user fetched and that are still fresh are not asked for again by \
another one; stale ones are asked for with their validators. `crawl --no-cache` goes without it, \
`crawl --cache-max SIZE` sets its size, `forget URL|HOST` takes pages out.

Examples:
  curtsy cache show
  curtsy cache clear

Exit codes: 0 done; 2 the cache can't be read.";
