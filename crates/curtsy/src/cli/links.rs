//! `curtsy links`: links to pages that answered with an error or not at all.

use std::path::PathBuf;

use clap::Args;
use curtsy_sink::read::PagesFile;
use serde_json::json;

use super::{Console, Outcome, printable};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct LinksArgs {
    /// The crawl's file
    #[arg(default_value = "crawl.db")]
    file: PathBuf,
    /// Show so many at most
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max: usize,
    /// Print JSON lines
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &LinksArgs, console: &mut Console<'_>) -> anyhow::Result<Outcome> {
    let pages = PagesFile::open(&args.file)?;
    let (broken, count) = pages.broken_links(args.max)?;
    let (walled, behind) = pages.links_behind_login(args.max.saturating_sub(broken.len()))?;
    let mut page = None;
    for link in broken.iter().chain(&walled) {
        let why = match (&link.error, link.http_status) {
            (Some(error), _) if error == "login_wall" => "behind a login".to_owned(),
            (_, Some(status)) => status.to_string(),
            (Some(error), None) => error.replace('_', " "),
            (None, None) => "no answer".to_owned(),
        };
        if args.json {
            let line = json!({
                "from": link.from_url, "to": link.to_url, "kind": link.kind,
                "http_status": link.http_status, "error": link.error,
            });
            writeln!(console.out, "{line}")?;
            continue;
        }
        if page != Some(&link.from_url) {
            writeln!(console.out, "{}", printable(&link.from_url))?;
            page = Some(&link.from_url);
        }
        writeln!(console.out, "  {why:<18} {}", printable(&link.to_url))?;
    }
    if count > broken.len() as u64 {
        writeln!(console.err, "{} more: `--max` shows them", count - broken.len() as u64)?;
    }
    if behind > 0 {
        let links = if behind == 1 { "link leads" } else { "links lead" };
        writeln!(console.err, "{behind} {links} behind a login: not broken, and not checked")?;
    }
    match count {
        0 => writeln!(console.err, "no broken link")?,
        n => writeln!(console.err, "{n} broken link{}", if n == 1 { "" } else { "s" })?,
    }
    Ok(if count == 0 { Outcome::Fine } else { Outcome::Refused })
}

const HELP: &str = "\
Of links to pages that the crawl asked for; what robots.txt, scope or budget kept it from asking is not called broken. Neither
is a page for which the site wants a login: such links are listed as `behind a login` and don't count.

Exit codes: 0 no broken link; 1 there are some; 2 the file can't be read.";
