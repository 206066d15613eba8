//! `curtsy sitemap list`, `curtsy plan`: the URLs in a site's sitemaps, and what a crawl of them
//! takes. Only robots.txt and sitemaps are requested.

use std::io::IsTerminal;

use clap::{Args, Subcommand};
use curtsy_core::evidence::timestamp;
use curtsy_core::url::CrawlUrl;
use curtsy_crawl::{CrawlReport, JobSpec, RunEnding, SitePlan, list_sitemaps};
use curtsy_engine::discover::DiscoverySpec;
use curtsy_fetch::GuardRefusal;
use curtsy_sink::read::SitemapUrl;
use serde_json::json;

use super::failure::{self, CommandFailure};
use super::flags::{CONFIG, FIND, Flags, LEDGER, MANNERS, Values, WAY};
use super::progress::{Progressing, counted};
use super::report::unreached;
use super::settings::choose_schemes;
use super::{Console, Exit, printable, progress};
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
    List(ListArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// The site, or one sitemap
    url: String,
    #[command(flatten)]
    flags: Flags<{ MANNERS | WAY | LEDGER | CONFIG }>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    /// The site, or one sitemap
    url: String,
    #[command(flatten)]
    flags: Flags<{ MANNERS | FIND | WAY | LEDGER | CONFIG }>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: SitemapArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let SitemapCommand::List(args) = args.command;
    let ListArgs { url, flags: Flags(flags), json } = args;
    let (spec, listed, report) = list(url, flags, json, console)?;
    if let Some(outcome) = kept_off(&spec, &listed, &report, console)? {
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
    Ok(if listed.is_empty() { Exit::Refused } else { Exit::Fine })
}

/// `curtsy plan`.
pub(super) fn plan(args: PlanArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let PlanArgs { url, flags: Flags(flags), json } = args;
    let (spec, mut listed, report) = list(url, flags, json, console)?;
    if let Some(outcome) = kept_off(&spec, &listed, &report, console)? {
        return Ok(outcome);
    }
    if !spec.discovery.follow_sitemaps {
        listed.clear();
    }
    let url = &spec.seeds[0];
    let plan = SitePlan::new(&spec, &listed)?;
    // As the crawl would end: nothing is fetched if neither the seed nor a listed page may be.
    let outcome = match plan.pages == 0 && plan.seed_refused.is_some() {
        true => Exit::NothingFetched,
        false => Exit::Fine,
    };
    let by = setter(&plan, url);
    if json {
        let plan = json!({
            "url": url.as_str(), "urls_listed": plan.listed, "pages_listed": plan.pages,
            "left_out": plan.left_out, "seed_refused": plan.seed_refused,
            "delay_ms": plan.delay.as_millis() as u64,
            "delay_by": by, "all_take_s": plan.all_take.as_secs(), "pages_taken": plan.chosen.len(),
            "taken_take_s": plan.chosen_take.as_secs(), "kinds": plan.kinds(),
            "pages": plan.chosen.iter().map(|(_, url)| url).collect::<Vec<_>>(),
            "exit_code": outcome.code(),
        });
        writeln!(console.out, "{plan:#}")?;
        return Ok(outcome);
    }
    let delay = progress::span(plan.delay);
    let left_out: Vec<_> = plan.left_out.iter().map(|(why, n)| format!("{n} {why}")).collect();
    if let Some(why) = &plan.seed_refused {
        let (url, why) = (printable(url.as_str()), printable(why));
        writeln!(console.out, "{url} would not be fetched: {why}")?;
    }
    if plan.pages == 0 {
        let host = url.host().as_str();
        let lists = match plan.listed {
            0 => format!("no sitemap lists pages of {host}"),
            n => {
                let urls = counted(n, "URL");
                format!("the sitemaps list {urls}, none for this crawl ({})", left_out.join(", "))
            }
        };
        let then = match (&plan.seed_refused, spec.discovery.follow_links) {
            (Some(_), _) => "a crawl would fetch nothing".to_owned(),
            (None, true) => format!("a crawl would follow its links, {delay} apart ({by})"),
            (None, false) => format!("a crawl would fetch {} alone", printable(url.as_str())),
        };
        writeln!(console.out, "{lists}: {then}")?;
        return Ok(outcome);
    }
    let all = progress::span(plan.all_take);
    let pages = counted(plan.pages, "page");
    writeln!(console.out, "{pages}, {delay} apart ({by}): {all} in all")?;
    if !left_out.is_empty() {
        writeln!(console.out, "not counted: {}", left_out.join(", "))?;
    }
    let chosen = plan.chosen.len();
    if (chosen as u64) < plan.pages {
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
    Ok(outcome)
}

/// Returns how a crawl would end that cannot reach the site, with the reason; none if there is a
/// list. An incomplete list causes a warning.
fn kept_off(
    spec: &JobSpec,
    listed: &[SitemapUrl],
    report: &CrawlReport,
    console: &mut Console<'_>,
) -> anyhow::Result<Option<Exit>> {
    let is_unreached = report.unreached.contains_key(&GuardRefusal::host(&spec.seeds[0]));
    let (outcome, failure) = match report.how {
        RunEnding::Waits(_) => (Exit::Waits, waits(report)),
        RunEnding::Stopped => (Exit::Stopped, stopped(report)),
        RunEnding::Ours(problem) => {
            let said = super::report::our_side(problem);
            let (message, hint) = said.split_once("\n  hint: ").unwrap_or((said, ""));
            let hint = (!hint.is_empty()).then(|| hint.to_owned());
            let failure =
                CommandFailure { code: failure::OUR_SIDE, message: message.to_owned(), hint };
            (Exit::OurSide, failure)
        }
        RunEnding::Complete if is_unreached => (Exit::NothingFetched, not_reached(report)),
        RunEnding::Complete | RunEnding::Spent(_) => return Ok(None),
    };
    if !listed.is_empty() && outcome != Exit::Stopped {
        let hint = failure.hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
        console.warn(&[format!("not every sitemap could be read: {}{hint}", failure.message)])?;
        return Ok(None);
    }
    console.refuse(failure)?;
    Ok(Some(outcome))
}

/// Whom the site waits for, until when, and what can be done.
fn waits(report: &CrawlReport) -> CommandFailure {
    let whys: Vec<String> = report.waits.iter().map(|wait| printable(&wait.why)).collect();
    let mut hints: Vec<&str> = report.waits.iter().flat_map(|w| &w.hints).map(|h| &**h).collect();
    hints.dedup();
    let message = match (whys.is_empty(), &report.resume_after) {
        (false, _) => whys.join("; "),
        (true, Some(after)) => {
            format!("the site must wait longer than the patience, until {after}")
        }
        (true, None) => "the site must wait until somebody lifts the block".to_owned(),
    };
    let hint = (!hints.is_empty()).then(|| printable(&hints.join("; ")));
    CommandFailure { code: failure::WAITS, message, hint }
}

/// What was waited for when somebody stopped it.
fn stopped(report: &CrawlReport) -> CommandFailure {
    let whys: Vec<String> = report.waits.iter().map(|wait| printable(&wait.why)).collect();
    let message = match whys.is_empty() {
        true => "stopped before all sitemaps were read".to_owned(),
        false => format!("stopped while the site had to wait: {}", whys.join("; ")),
    };
    CommandFailure { code: failure::STOPPED, message, hint: None }
}

/// Why nobody could be reached.
fn not_reached(report: &CrawlReport) -> CommandFailure {
    let unreached = unreached(report, |_| false);
    let mut said: Vec<String> = unreached.lines().map(|line| line.trim().to_owned()).collect();
    said.extend(report.not_dialled.iter().map(|refused| printable(&refused.to_string())));
    CommandFailure { code: failure::UNREACHED, message: said.join("; "), hint: None }
}

/// Who asks for the span between two requests, in words.
fn setter(plan: &SitePlan, url: &CrawlUrl) -> String {
    match &plan.delay_by {
        None => "the policy".to_owned(),
        Some(by) if *by == url.authority() => "its robots.txt".to_owned(),
        Some(by) => format!("{}: a host has one pace", by.robots_url().as_str()),
    }
}

/// Asks for robots.txt and sitemaps, and for nothing else.
fn list(
    url: String,
    mut flags: Values,
    json: bool,
    console: &mut Console<'_>,
) -> anyhow::Result<(JobSpec, Vec<SitemapUrl>, CrawlReport)> {
    flags.add("urls", url.clone());
    let settings = flags.settings()?;
    let mut spec = settings.order(DiscoverySpec::default(), console)?.job()?;
    choose_schemes(&mut spec, &[&url], None, console)?;
    let terminal = std::io::stderr().is_terminal();
    let mut watch = Progressing::of_requests(console.err, json, terminal);
    let mut signals = None;
    let done = list_sitemaps(&spec, &mut watch, async || Signals::heard(&mut signals).await);
    watch.end();
    let (listed, report) = done?;
    // Every sitemap is read; what a crawl would take of the list is another question.
    let (seeds, product) = (spec.seeds.clone(), spec.discovery.product);
    spec.discovery = DiscoverySpec { seeds, product, ..settings.discovery() };
    Ok((spec, listed, report))
}

pub(super) const PLAN_HELP: &str = "\
Asks for robots.txt and sitemaps, and for nothing else.

Examples:
  curtsy plan https://example.org/ --contact me@example.org
  curtsy plan https://example.org/ --pages 100 --json

What robots.txt refuses and what is out of scope is not counted as a page. Links are not followed, \
so a crawl may find more.

Exit codes are those that the crawl would end with: 0 there is something to fetch; 2 a wrong \
argument or a file that can't be used; 3 the site must wait longer than the patience; 4 nothing \
could be fetched: the site can't be reached, or robots.txt refuses everything.";

const LIST_HELP: &str = "\
Asks for robots.txt and sitemaps, and for nothing else.

Examples:
  curtsy sitemap list https://example.org/ --contact me@example.org
  curtsy sitemap list https://example.org/news.xml --json

Exit codes: 0 URLs are listed; 1 there are none; 2 a wrong argument or a file that can't be used; 3 \
the site must wait longer than the patience; 4 it could not be reached.";
