//! `curtsy sitemap list`, `curtsy plan`: what a site lists, and what crawling it would take. Only robots.txt and sitemaps are asked for.

use clap::{Args, Subcommand};
use curtsy_core::evidence::timestamp;
use curtsy_crawl::{Ended, JobSpec, Plan, Report, explain, list_sitemaps};
use curtsy_engine::discover::DiscoverySpec;
use curtsy_fetch::GuardRefusal;
use curtsy_sink::read::SitemapUrl;
use curtsy_store::{Ledger, Machine};
use serde_json::json;

use super::config::ConfigArg;
use super::crawl::{CrawlArgs, LedgerArg, MannersArgs, WayArgs, choose_schemes, order, unreached};
use super::progress::{Progressing, counted};
use super::{Console, Outcome, printable, progress};
use crate::signals::Signals;

#[derive(Debug, Args)]
pub(super) struct SitemapArgs {
    #[command(subcommand)]
    command: SitemapCommand,
}

#[derive(Debug, Subcommand)]
enum SitemapCommand {
    /// Print the URLs that a site's sitemaps list, with their dates
    #[command(after_help = LIST_HELP)]
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
    #[command(flatten)]
    config: ConfigArg,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: SitemapArgs, console: &mut Console<'_>) -> anyhow::Result<Outcome> {
    let SitemapCommand::List(args) = args.command;
    let json = args.json;
    let (spec, listed, report) = list(args, console)?;
    if listed.is_empty()
        && let Some(outcome) = kept_off(&spec, &report, console)?
    {
        return Ok(outcome);
    }
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
    let said = match listed.len() {
        0 => "no sitemap lists a URL".to_owned(),
        n => counted(n as u64, "URL"),
    };
    console.note(&said)?;
    Ok(if listed.is_empty() { Outcome::Refused } else { Outcome::Fine })
}

/// `curtsy plan`.
pub(super) fn plan(args: SiteArgs, console: &mut Console<'_>) -> anyhow::Result<Outcome> {
    let json = args.json;
    let (spec, listed, report) = list(args, console)?;
    if listed.is_empty()
        && let Some(outcome) = kept_off(&spec, &report, console)?
    {
        return Ok(outcome);
    }
    let url = &spec.seeds[0];
    let plan = Plan::new(&spec, url.host(), &listed)?;
    let by = plan.delay_by;
    if json {
        let plan = json!({
            "url": url.as_str(), "pages_listed": plan.listed, "delay_ms": plan.delay.as_millis() as u64,
            "delay_by": by, "all_take_s": plan.all_take.as_secs(), "pages_taken": plan.chosen.len(),
            "taken_take_s": plan.chosen_take.as_secs(), "kinds": plan.kinds(),
            "pages": plan.chosen.iter().map(|(_, url)| url).collect::<Vec<_>>(),
        });
        writeln!(console.out, "{plan:#}")?;
        return Ok(Outcome::Fine);
    }
    let delay = progress::span(plan.delay);
    if plan.listed == 0 {
        writeln!(
            console.out,
            "no sitemap lists pages of {}: a crawl would follow its links, {delay} apart ({by})",
            url.host().as_str(),
        )?;
        return Ok(Outcome::Fine);
    }
    let all = progress::span(plan.all_take);
    let pages = counted(plan.listed, "page");
    writeln!(console.out, "{pages}, {delay} apart ({by}): {all} in all")?;
    let chosen = plan.chosen.len();
    if (chosen as u64) < plan.listed {
        let take = progress::span(plan.chosen_take);
        writeln!(console.out, "the budget takes {chosen} of them in {take}:")?;
    }
    let told: Vec<_> = plan.kinds().iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    writeln!(console.out, "  {}", told.join(", "))?;
    for (kind, url) in plan.chosen.iter().take(20) {
        writeln!(console.out, "  {kind:<9} {}", printable(url))?;
    }
    if chosen > 20 {
        writeln!(console.out, "  … and {} more (`--json` has all)", chosen - 20)?;
    }
    Ok(Outcome::Fine)
}

/// How a crawl would end that can't ask the site, with its reason; none if the site was asked.
fn kept_off(
    spec: &JobSpec,
    report: &Report,
    console: &mut Console<'_>,
) -> anyhow::Result<Option<Outcome>> {
    let outcome = match report.how {
        Ended::Waits(_) => Outcome::Waits,
        Ended::Stopped => Outcome::Stopped,
        Ended::Ours(_) => Outcome::OurSide,
        Ended::Complete if report.unreached.contains_key(&GuardRefusal::host(&spec.seeds[0])) => {
            Outcome::NothingFetched
        }
        Ended::Complete | Ended::Spent(_) => return Ok(None),
    };
    let unreached = unreached(report, |_| false);
    let mut said: Vec<String> = unreached.lines().map(|line| line.trim().to_owned()).collect();
    said.extend(report.not_dialled.iter().map(|refused| printable(&refused.to_string())));
    if let Some(after) = &report.resume_after {
        let quiet = curtsy_store::Options::default().quiet;
        let mut ledger = Ledger::open(spec.ledger_file()?, Machine, quiet)?;
        let explained = explain(&mut ledger, &spec.policy, &spec.seeds[0])?;
        let (_, gate) = explained.decision.findings.worst();
        let held_up = explained.gates.iter().filter(|(of, ..)| *of == gate);
        said.extend(held_up.map(|(_, _, why)| printable(why)));
        said.push(format!("the site must wait longer than the patience; try again after {after}"));
    }
    for line in &said {
        console.note(line)?;
    }
    Ok(Some(outcome))
}

/// Asks for robots.txt and sitemaps, and for nothing else.
fn list(
    args: SiteArgs,
    console: &mut Console<'_>,
) -> anyhow::Result<(JobSpec, Vec<SitemapUrl>, Report)> {
    let flags = CrawlArgs {
        urls: vec![args.url],
        manners: args.manners,
        way: args.way,
        ledger: args.ledger,
        ..CrawlArgs::default()
    };
    let crawl = args.config.find()?.under(flags);
    let mut spec = order(&crawl, DiscoverySpec::default(), console)?.job()?;
    choose_schemes(&mut spec, &crawl.urls, None, console)?;
    let mut watch = Progressing::new(console.err, false, true, false);
    let mut signals = None;
    let (listed, report) =
        list_sitemaps(&spec, &mut watch, async || Signals::heard(&mut signals).await)?;
    Ok((spec, listed, report))
}

pub(super) const PLAN_HELP: &str = "\
Asks for robots.txt and sitemaps, and for nothing else.

Examples:
  curtsy plan https://example.org/ --contact me@example.org
  curtsy plan https://example.org/ --pages 100 --json

Exit codes: 0 there is a plan; 2 a wrong argument or a file that can't be used; 3 the site must wait \
longer than the patience; 4 it could not be reached.";

const LIST_HELP: &str = "\
Asks for robots.txt and sitemaps, and for nothing else.

Examples:
  curtsy sitemap list https://example.org/ --contact me@example.org
  curtsy sitemap list https://example.org/news.xml --json

Exit codes: 0 URLs are listed; 1 there are none; 2 a wrong argument or a file that can't be used; 3 \
the site must wait longer than the patience; 4 it could not be reached.";
