//! `curtsy get URL`: one page, from the page cache if it may be used, else from the site.

use clap::Args;
use curtsy_core::evidence::timestamp;
use curtsy_crawl::{CrawlReport, OnePage, get};
use curtsy_engine::PageSource;
use curtsy_engine::discover::DiscoverySpec;
use serde_json::json;

use super::explain::HowFlags;
use super::failure::{self, CommandFailure};
use super::progress::Progressing;
use super::{Console, Exit, printable};
use crate::signals::Signals;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct GetArgs {
    /// The page
    url: String,
    #[command(flatten)]
    how: HowFlags,
    /// Print a JSON object with status, source and headers instead of the page itself
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: GetArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let GetArgs { url, how: HowFlags { 0: mut flags }, json } = args;
    flags.add("urls", url.clone());
    let discovery =
        DiscoverySpec { follow_sitemaps: false, follow_links: false, ..DiscoverySpec::default() };
    let spec = flags.settings()?.order(discovery, console)?.job()?;
    let mut shown: Option<PageSource> = None;
    let mut trouble = Ok(());
    let report = {
        let (out, mut notes) = (&mut *console.out, Vec::new());
        let mut show = |page: &OnePage| {
            if shown.is_none() {
                trouble = print(page, json, out);
                shown = Some(page.source);
            }
        };
        let mut signals = None;
        let mut watch = Progressing::new(&mut notes, false, true, false);
        let done = get(&spec, &mut show, &mut watch, async || Signals::heard(&mut signals).await);
        watch.end();
        console.err.write_all(&notes)?;
        done
    };
    trouble?;
    let report = report?;
    match shown {
        Some(source) => {
            let said = match source {
                PageSource::Network => "fetched",
                PageSource::Crawl | PageSource::Shared => {
                    "from the page cache, which is fresh or confirmed"
                }
                PageSource::Stale => "from the page cache, stale; asked for again meanwhile",
            };
            console.note(&format!("{}: {said}", printable(&url)))?;
            Ok(Exit::Fine)
        }
        None => {
            let (why, hint) = no_page(&report);
            let message = format!("{}: no page: {}", printable(&url), printable(&why));
            console.refuse(CommandFailure { code: failure::NO_PAGE, message, hint })?;
            Ok(super::crawl::outcome(&report).or_nothing())
        }
    }
}

/// Why there is no page, and what can be done.
fn no_page(report: &CrawlReport) -> (String, Option<String>) {
    if let Some(wait) = report.waits.first() {
        return (wait.why.clone(), wait.hints.first().cloned());
    }
    if let Some(reason) = report.reasons.first() {
        return (reason.reason.clone(), reason.hint.clone());
    }
    // A page that is there and has no body: what is not kept, or not of a kind that is wanted.
    let ends = report.endings.keys().chain(report.refused.keys());
    (ends.map(|end| end.replace('_', " ")).collect::<Vec<_>>().join(", "), None)
}

fn print(page: &OnePage, json: bool, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    if json {
        let shown = json!({
            "url": page.url.as_str(), "final_url": page.final_url.as_str(), "http_status": page.head.status,
            "content_type": page.head.content_type, "source": page.source.name(),
            "fetched_at": timestamp(page.at), "body_bytes": page.body.len(),
        });
        writeln!(out, "{shown:#}")?;
    } else {
        out.write_all(&page.body)?;
    }
    out.flush()
}

const HELP: &str = "\
A page that is in the page cache and fresh is not asked for. One that went stale, and whose \
server lets it be used while it is asked for again (`Cache-Control: stale-while-revalidate`), is \
printed at once; then it is asked for again, and the answer is in the cache for the next time. \
robots.txt, delays and everything else hold as in a crawl.

Examples:
  curtsy get https://example.org/ --contact me@example.org
  curtsy get https://example.org/ --json

Exit codes: 0 the page was printed; 2 a wrong argument; 3 it must wait longer than `--patience`; \
4 there is no page; 5 our own side failed.";
