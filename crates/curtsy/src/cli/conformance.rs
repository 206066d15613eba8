//! `curtsy conformance`: runs files of independent facts against the core.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::{Console, Exit};
use crate::conformance::{
    FactsReport, challenges, headers, links, robots, robots_fetch, sitemaps, surt, urls,
};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ConformanceArgs {
    /// Which facts
    kind: FactsKind,
    /// The file, or the folder that it is in under its usual name
    path: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FactsKind {
    /// What a robots.txt allows (robots.jsonl)
    Robots,
    /// What an answer to the request for robots.txt means (robots_fetch_policy.jsonl)
    RobotsFetch,
    /// The keys of URLs in archives (surt.jsonl)
    Surt,
    /// How URLs are read (urls.jsonl)
    Urls,
    /// The header values that decide, and what encoding a document is in (headers.jsonl)
    Headers,
    /// What a page links to and says about itself (links.jsonl)
    Links,
    /// What sitemaps and feeds name (a folder `sitemaps` with its manifest.jsonl)
    Sitemaps,
    /// Bot walls and answers that only look like them (challenges.jsonl)
    Challenges,
}

impl FactsKind {
    /// Returns the usual name of the file, and the function that judges its rows.
    fn judged(self) -> (&'static str, fn(&Path) -> anyhow::Result<FactsReport>) {
        match self {
            FactsKind::Robots => ("robots.jsonl", robots::robots),
            FactsKind::RobotsFetch => ("robots_fetch_policy.jsonl", robots_fetch::robots_fetch),
            FactsKind::Surt => ("surt.jsonl", surt::surt),
            FactsKind::Urls => ("urls.jsonl", urls::urls),
            FactsKind::Headers => ("headers.jsonl", headers::headers),
            FactsKind::Links => ("links.jsonl", links::links),
            FactsKind::Challenges => ("challenges.jsonl", challenges::challenges),
            FactsKind::Sitemaps => ("sitemaps/manifest.jsonl", sitemaps::sitemaps),
        }
    }
}

pub(super) fn run(args: &ConformanceArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let (file, judge) = args.kind.judged();
    let path = if args.path.is_dir() { args.path.join(file) } else { args.path.clone() };
    let report = judge(&path)?;
    report.print(&mut console.out)?;
    Ok(if report.failed.is_empty() { Exit::Fine } else { Exit::Refused })
}

const HELP: &str = "\
Examples:
  curtsy conformance robots facts/robots.jsonl
  curtsy conformance surt facts/

Prints each failing row with what was expected and what came, the skipped rows by reason, and \
ends with `N passed, M failed, K skipped`.

Exit codes: 0 none failed; 1 some failed; 2 no such file.";
