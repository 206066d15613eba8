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
    fn file(self) -> &'static str {
        match self {
            FactsKind::Robots => "robots.jsonl",
            FactsKind::RobotsFetch => "robots_fetch_policy.jsonl",
            FactsKind::Surt => "surt.jsonl",
            FactsKind::Urls => "urls.jsonl",
            FactsKind::Headers => "headers.jsonl",
            FactsKind::Links => "links.jsonl",
            FactsKind::Challenges => "challenges.jsonl",
            FactsKind::Sitemaps => "sitemaps/manifest.jsonl",
        }
    }

    fn run(self, path: &Path) -> anyhow::Result<FactsReport> {
        match self {
            FactsKind::Robots => robots::robots(path),
            FactsKind::RobotsFetch => robots_fetch::robots_fetch(path),
            FactsKind::Surt => surt::surt(path),
            FactsKind::Urls => urls::urls(path),
            FactsKind::Headers => headers::headers(path),
            FactsKind::Links => links::links(path),
            FactsKind::Challenges => challenges::challenges(path),
            FactsKind::Sitemaps => sitemaps::sitemaps(path),
        }
    }
}

pub(super) fn run(args: &ConformanceArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let path = match args.path.is_dir() {
        true => args.path.join(args.kind.file()),
        false => args.path.clone(),
    };
    let report = args.kind.run(&path)?;
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
