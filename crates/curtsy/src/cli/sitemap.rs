//! `curtsy sitemap list`, `curtsy plan`: what a site lists, and what crawling it would take. Only robots.txt and sitemaps are asked for.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};
use curtsy_core::evidence::timestamp;
use curtsy_core::policy::write_span;
use curtsy_core::url::CrawlUrl;
use curtsy_sink::read::{PagesFile, SitemapUrl};
use serde_json::json;

use super::crawl::{CrawlArgs, FindArgs, LedgerArg, MannersArgs, WayArgs, seed, spec};
use super::progress::Progressing;
use super::{Console, Outcome, printable, progress};
use crate::crawl::{JobSpec, SeedsAre, run as run_job};

/// Listed URLs that are read.
const LISTED_MAX: usize = 1_000_000;

#[derive(Debug, Args)]
pub(super) struct SitemapArgs {
    #[command(subcommand)]
    command: SitemapCommand,
}

#[derive(Debug, Subcommand)]
enum SitemapCommand {
    /// Print the URLs that a site's sitemaps list, with their dates
    List(SiteArgs),
}

/// A site, and how it is asked.
#[derive(Debug, Args)]
pub(super) struct SiteArgs {
    /// The site, or one sitemap
    url: String,
    #[command(flatten)]
    manners: MannersArgs,
    #[command(flatten)]
    way: WayArgs,
    #[command(flatten)]
    ledger: LedgerArg,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: SitemapArgs, console: &mut Console<'_>) -> anyhow::Result<Outcome> {
    let SitemapCommand::List(args) = args.command;
    let json = args.json;
    let (_, listed) = list(args, console)?;
    for entry in &listed {
        if json {
            let line = json!({
                "url": entry.url, "sitemap": entry.sitemap, "lastmod": entry.lastmod.map(timestamp),
                "changefreq": entry.changefreq, "priority": entry.priority,
            });
            writeln!(console.out, "{line}")?;
        } else {
            let date = entry.lastmod.map(timestamp).unwrap_or_default();
            writeln!(console.out, "{}\t{date}", printable(&entry.url))?;
        }
    }
    writeln!(console.err, "{} URL{}", listed.len(), if listed.len() == 1 { "" } else { "s" })?;
    Ok(if listed.is_empty() { Outcome::Refused } else { Outcome::Fine })
}

/// `curtsy plan`.
pub(super) fn plan(args: SiteArgs, console: &mut Console<'_>) -> anyhow::Result<Outcome> {
    let (url, json) = (seed(&args.url)?, args.json);
    let ledger = args.ledger.clone();
    let (spec, listed) = list(args, console)?;
    let policy = spec.policy.for_host(url.host().as_str());
    let view =
        ledger.open(console)?.view(url.host()).context("could not read the ledger of hosts")?;
    let asked = view.state.all_robots().map(|r| r.crawl_delay_micros).max().unwrap_or(0);
    let asked = Duration::from_micros(asked);
    let (delay, by) = match asked > policy.pace.delay_max {
        true => (asked, "its robots.txt"),
        false => (policy.pace.delay_max, "the policy"),
    };
    let pages = listed.len() as u64;
    let taken = spec.policy.budget.pages.unwrap_or(u64::MAX).min(pages);
    let time = spec.policy.budget.time;
    let taken = match time {
        Some(time) if !delay.is_zero() => taken.min((time.as_micros() / delay.as_micros()) as u64),
        _ => taken,
    };
    let span = |n: u64| delay.saturating_mul(u32::try_from(n).unwrap_or(u32::MAX));
    let chosen = choose(&listed, url.host().as_str(), taken as usize);
    let kinds: BTreeMap<&str, usize> =
        chosen.iter().fold(BTreeMap::new(), |mut kinds, (kind, _)| {
            *kinds.entry(*kind).or_default() += 1;
            kinds
        });
    if json {
        let plan = json!({
            "url": url.as_str(), "pages_listed": pages, "delay_ms": delay.as_millis() as u64, "delay_by": by,
            "all_take_s": span(pages).as_secs(), "pages_taken": chosen.len(), "taken_take_s": span(taken).as_secs(),
            "kinds": kinds, "pages": chosen.iter().map(|(_, url)| *url).collect::<Vec<_>>(),
        });
        writeln!(console.out, "{plan:#}")?;
        return Ok(Outcome::Fine);
    }
    if pages == 0 {
        writeln!(
            console.out,
            "no sitemap lists pages of {}: a crawl would follow its links, {} a page ({by})",
            url.host().as_str(),
            write_span(delay)
        )?;
        return Ok(Outcome::Fine);
    }
    writeln!(
        console.out,
        "{pages} pages at {} ({by}) = {}",
        write_span(delay),
        progress::span(span(pages))
    )?;
    if (chosen.len() as u64) < pages {
        writeln!(
            console.out,
            "the budget takes {} of them in {}: these",
            chosen.len(),
            progress::span(span(taken))
        )?;
    }
    let told: Vec<_> = kinds.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    writeln!(console.out, "  {}", told.join(", "))?;
    for (kind, url) in chosen.iter().take(20) {
        writeln!(console.out, "  {kind:<9} {}", printable(url))?;
    }
    if chosen.len() > 20 {
        writeln!(console.out, "  … and {} more (`--json` has all)", chosen.len() - 20)?;
    }
    Ok(Outcome::Fine)
}

/// Asks for robots.txt and sitemaps, and for nothing else.
fn list(args: SiteArgs, console: &mut Console<'_>) -> anyhow::Result<(JobSpec, Vec<SitemapUrl>)> {
    let url = seed(&args.url)?;
    let is_sitemap =
        url.path_and_query().contains("sitemap") || url.path_and_query().ends_with(".xml");
    let first = match is_sitemap {
        true => url,
        false => url.authority().root().join("/sitemap.xml")?,
    };
    let folder = std::env::temp_dir().join(format!("curtsy-sitemaps-{}", std::process::id()));
    let crawl = CrawlArgs {
        urls: vec![first.as_str().to_owned()],
        manners: args.manners,
        find: FindArgs { no_links: true, ..FindArgs::default() },
        way: args.way,
        ledger: args.ledger,
        into: Some(folder.join("sitemaps.db")),
        ..CrawlArgs::default()
    };
    let asked = spec(crawl, console)?;
    let mut spec = JobSpec { seeds_are: SeedsAre::Sitemaps, ..asked };
    let budget = spec.policy.budget.clone();
    // Pages are listed, not asked for.
    let mut policy = (*spec.policy).clone();
    policy.budget.depth = Some(0);
    spec.policy = policy.into();
    let listed = {
        let mut watch = Progressing::new(console.err, false, true, false);
        let report = run_job(&spec, &mut watch);
        let listed = report
            .map_err(anyhow::Error::from)
            .and_then(|_| Ok(PagesFile::open(&spec.file)?.sitemap_urls(LISTED_MAX)?));
        // A folder of ours; if it can't be removed, the system does it some day.
        let _ = std::fs::remove_dir_all(&folder);
        listed?
    };
    let mut policy = (*spec.policy).clone();
    policy.budget = budget;
    spec.policy = policy.into();
    Ok((spec, listed))
}

/// The pages that a budget takes first: the home page, then one of each kind in turn, in the order of the sitemap.
fn choose<'a>(listed: &'a [SitemapUrl], host: &str, taken: usize) -> Vec<(&'static str, &'a str)> {
    let mut queues: BTreeMap<usize, Vec<&'a str>> = BTreeMap::new();
    for entry in listed {
        let Ok(url) = CrawlUrl::parse(&entry.url) else { continue };
        if url.host().as_str().trim_start_matches("www.") == host.trim_start_matches("www.") {
            queues.entry(kind(&url)).or_default().push(&entry.url);
        }
    }
    queues.values_mut().for_each(|queue| queue.reverse());
    let mut chosen = Vec::new();
    while chosen.len() < taken && queues.values().any(|queue| !queue.is_empty()) {
        for (kind, queue) in &mut queues {
            if chosen.len() < taken
                && let Some(url) = queue.pop()
            {
                chosen.push((KINDS[*kind].0, url));
            }
        }
    }
    chosen
}

/// What a page is about, by its address.
fn kind(url: &CrawlUrl) -> usize {
    let path = url.path_and_query().to_ascii_lowercase();
    if path == "/" {
        return 0;
    }
    let words = |words: &[&str]| words.iter().any(|word| path.contains(word));
    KINDS.iter().position(|(_, signs)| words(signs)).unwrap_or(KINDS.len() - 1)
}

/// Kinds of pages in the order in which they are wanted, and what their addresses say.
const KINDS: [(&str, &[&str]); 9] = [
    ("homepage", &[]),
    ("about", &["about", "company", "team", "who-we-are"]),
    ("services", &["service", "what-we-do", "solutions"]),
    ("contact", &["contact", "location", "find-us"]),
    ("pricing", &["pric", "rates", "plans"]),
    ("menu", &["menu"]),
    ("products", &["product", "shop", "store", "item"]),
    ("faq", &["faq", "help", "questions"]),
    ("other", &[]),
];
