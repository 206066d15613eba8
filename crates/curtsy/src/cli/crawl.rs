//! `curtsy crawl`: from seeds to rows on one machine.

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use curtsy_core::host::{Problem, Reason};
use curtsy_core::policy::{Field, FlagValue, Layers, Mode, Reach, Settled, read_size, write_size};
use curtsy_core::url::CrawlUrl;
use curtsy_crawl::{
    Choice, Ended, FileSpec, JobSpec, Order, PageSharing, Report, SpecError, Target, Way,
    ledger_file, run as run_job, seed,
};
use curtsy_engine::discover::{DiscoverySpec, Scope};
use curtsy_fetch::{IpNet, NamePin};
use curtsy_store::{Ledger, Machine, SHARED_BYTES_MIN};

use super::config::Config;
use super::policy::{assignment, mode};
use super::progress::Progressing;
use super::{Console, Outcome};
use crate::signals::Signals;

/// What a crawl is, from flags. The names are also the keys of `curtsy.toml`.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = HELP)]
pub(super) struct CrawlArgs {
    /// Where to begin; `example.org` is read as `https://example.org/`
    #[arg(value_name = "URL")]
    pub(super) urls: Vec<String>,
    /// Read seeds from a file, one a line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(super) from: Option<PathBuf>,
    #[command(flatten)]
    pub(super) manners: MannersArgs,
    #[command(flatten)]
    pub(super) find: FindArgs,
    #[command(flatten)]
    pub(super) way: WayArgs,
    /// Where rows go: `crawl.db` (SQLite, resumable), `pages.jsonl`, `pages.csv`, or `-` [default: crawl.db]
    #[arg(long, value_name = "FILE")]
    pub(super) into: Option<PathBuf>,
    /// Only go on with a crawl that was begun: an error if there is none (the same command goes on by itself)
    #[arg(long)]
    pub(super) resume: bool,
    /// Crawl again what was crawled: pages that are fresh are not asked for, others with the validators that we hold
    #[arg(long, conflicts_with = "resume")]
    pub(super) again: bool,
    #[command(flatten)]
    pub(super) ledger: LedgerArg,
    #[command(flatten)]
    pub(super) cache: CacheArgs,
    /// Settings from a file [default: curtsy.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Print the report as JSON; progress goes to stderr as JSON lines
    #[arg(long)]
    pub(super) json: bool,
    /// No progress
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// The ledger of hosts.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct LedgerArg {
    /// The ledger of hosts, shared by every crawl of this user [env: CURTSY_LEDGER] [default: $XDG_STATE_HOME/curtsy/hosts.db]
    #[arg(long = "ledger", value_name = "FILE")]
    pub(super) path: Option<PathBuf>,
}

impl LedgerArg {
    /// Where it is.
    pub(super) fn find(&self, console: &Console<'_>) -> anyhow::Result<PathBuf> {
        match &self.path {
            Some(path) => Ok(path.clone()),
            None => ledger_file(&console.variables)
                .context("hint: name a file with `--ledger hosts.db`"),
        }
    }

    /// Opens it.
    pub(super) fn open(&self, console: &Console<'_>) -> anyhow::Result<Ledger<Machine>> {
        let quiet = curtsy_store::Options::default().quiet;
        Ok(Ledger::open(&self.find(console)?, Machine, quiet)?)
    }
}

/// The page cache that crawls share.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct CacheArgs {
    /// Neither use nor fill the page cache that all crawls of this user share
    #[arg(long)]
    pub(super) no_cache: bool,
    /// The size of the page cache, as `500MiB`: its oldest pages make room [env: CURTSY_CACHE_MAX] [default: 1GiB]
    #[arg(long, value_name = "SIZE")]
    pub(super) cache_max: Option<String>,
}

impl CacheArgs {
    /// What a crawl does with the page cache.
    pub(super) fn read(&self, console: &Console<'_>) -> anyhow::Result<PageSharing> {
        if self.no_cache {
            return Ok(PageSharing::Off);
        }
        let variable = console.variables.get("CURTSY_CACHE_MAX").filter(|said| !said.is_empty());
        let (name, said) = match (&self.cache_max, variable) {
            (Some(said), _) => ("cache-max", said),
            (None, Some(said)) => ("CURTSY_CACHE_MAX", said),
            (None, None) => return Ok(PageSharing::default()),
        };
        match read_size(said).filter(|bytes| *bytes >= SHARED_BYTES_MIN) {
            Some(bytes_max) => Ok(PageSharing::On { bytes_max }),
            None => bail!(
                "`{name}` is `{}`: it takes a size of at least {} such as `500MiB`\nhint: `--no-cache` does without the page cache",
                super::printable(said),
                write_size(SHARED_BYTES_MIN),
            ),
        }
    }
}

/// The manners of a crawl.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct MannersArgs {
    /// The manners: careful, audit, warehouse, fleet, survey, or a policy file [default: careful]
    #[arg(long, value_name = "POLICY")]
    pub(super) policy: Option<String>,
    /// The mode of a survey: light, standard or user-assisted
    #[arg(long, value_parser = mode)]
    pub(super) mode: Option<Mode>,
    /// A mail address or page where a site owner reaches you: sent with every request, needed for any crawl beyond this machine
    #[arg(long, value_name = "ADDRESS")]
    pub(super) contact: Option<String>,
    /// Your crawler's name, as `product/version`
    #[arg(long, value_name = "P/V")]
    pub(super) user_agent: Option<String>,
    /// The least span between two requests to a host (Crawl-delay and refusals only ever lengthen it)
    #[arg(long, value_name = "SPAN")]
    pub(super) delay: Option<String>,
    /// Requests in flight on one host
    #[arg(long, value_name = "N")]
    pub(super) slots: Option<String>,
    /// Pages at most
    #[arg(long, value_name = "N")]
    pub(super) pages: Option<String>,
    /// Time at most, as `90s` or `2h`
    #[arg(long, value_name = "SPAN")]
    pub(super) time: Option<String>,
    /// Links followed from a seed at most
    #[arg(long, value_name = "N")]
    pub(super) depth: Option<String>,
    /// How long to wait for hosts that must wait before ending with "resume after"
    #[arg(long, value_name = "SPAN")]
    pub(super) patience: Option<String>,
    /// Set any field of the policy, as in `--set robots.ttl=2h` (see `curtsy policy show`)
    #[arg(long, value_name = "FIELD=VALUE", value_parser = assignment)]
    pub(super) set: Vec<(String, String)>,
}

/// What a crawl looks for.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct FindArgs {
    /// How far to go: host, subdomains, prefix (the folder of the seed) or everywhere [default: host]
    #[arg(long, value_name = "SCOPE")]
    pub(super) scope: Option<Scope>,
    /// Only URLs that match: a glob over path (`/blog/*`) or URL, or a regex between slashes (`/\.html$/`); repeatable
    #[arg(long, value_name = "P")]
    pub(super) include: Vec<String>,
    /// No URLs that match; stronger than --include; repeatable
    #[arg(long, value_name = "P")]
    pub(super) exclude: Vec<String>,
    /// Don't follow links: seeds and what sitemaps list
    #[arg(long)]
    pub(super) no_links: bool,
    /// Don't look for sitemaps
    #[arg(long)]
    pub(super) no_sitemaps: bool,
    /// Follow links that say nofollow too (robots.txt holds all the same)
    #[arg(long)]
    pub(super) follow_nofollow: bool,
}

/// The way out.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct WayArgs {
    /// A network that may be dialled although it is not public, as `127.0.0.0/8`; repeatable
    #[arg(long, value_name = "CIDR")]
    pub(super) allow_net: Vec<IpNet>,
    /// An address for a name, as `'*.test=127.0.0.1'`; repeatable
    #[arg(long, value_name = "NAME=ADDRESS")]
    pub(super) resolve: Vec<NamePin>,
    /// A proxy, as `http://user:password@proxy.example:3128`
    #[arg(long, value_name = "URL")]
    pub(super) proxy: Option<String>,
    /// Further certificate authorities, in PEM
    #[arg(long, value_name = "FILE")]
    pub(super) ca_file: Option<PathBuf>,
}

pub(super) fn run(args: CrawlArgs, console: &mut Console<'_>) -> anyhow::Result<Outcome> {
    let (json, quiet) = (args.json, args.quiet);
    let (spec, into) = spec(args, console)?;
    let terminal = std::io::stderr().is_terminal();
    let report = {
        let mut watch = Progressing::new(console.err, json, quiet, terminal);
        let mut signals = None;
        let report = run_job(&spec, &into, &mut watch, async || Signals::heard(&mut signals).await);
        watch.end();
        report
    };
    if into.targets.iter().any(Target::is_stdout) {
        // Nobody could go on with it.
        for ending in ["", "-wal", "-shm", "-running"] {
            let mut name = into.file.clone().into_os_string();
            name.push(ending);
            let _ = std::fs::remove_file(name);
        }
    }
    let report = report?;
    print(&report, &into, json, console)?;
    Ok(outcome(&report))
}

/// The code that a crawl ends with.
pub(super) fn outcome(report: &Report) -> Outcome {
    match report.how {
        Ended::Complete if report.rows > 0 && report.fetched + report.cached == 0 => {
            Outcome::NothingFetched
        }
        Ended::Complete => Outcome::Fine,
        Ended::Waits(_) => Outcome::Waits,
        Ended::Stopped => Outcome::Stopped,
        Ended::Spent(_) => Outcome::Fine,
        Ended::Ours(_) => Outcome::OurSide,
    }
}

/// Reads flags, variables and files into what is to be done.
pub(super) fn spec(
    args: CrawlArgs,
    console: &mut Console<'_>,
) -> anyhow::Result<(JobSpec, FileSpec)> {
    let command = shown_command(&args);
    let config = Config::find(args.config.as_deref())?;
    let args = config.under(args, &console.variables);
    let discovery = DiscoverySpec {
        scope: args.find.scope.unwrap_or_default(),
        include: args.find.include.clone(),
        exclude: args.find.exclude.clone(),
        follow_sitemaps: !args.find.no_sitemaps,
        follow_links: !args.find.no_links,
        respect_nofollow: !args.find.follow_nofollow,
        ..DiscoverySpec::default()
    };
    let job = order(&args, discovery, console)?.job()?;
    let into = args.into.clone().unwrap_or_else(|| "crawl.db".into());
    let target = Target::of(&into).map_err(anyhow::Error::msg)?;
    let file = target.crawl_file(&into, job.ledger_file()?.parent().unwrap_or(Path::new(".")));
    if args.resume && !file.exists() {
        bail!(
            "there is no crawl in `{}` to go on with\nhint: leave `--resume` out to begin one",
            file.display()
        );
    }
    Ok((job, FileSpec { file, targets: vec![target], again: args.again, command }))
}

/// What was ordered, without what becomes of the rows.
pub(super) fn order(
    args: &CrawlArgs,
    discovery: DiscoverySpec,
    console: &mut Console<'_>,
) -> anyhow::Result<Order> {
    let seeds = seeds(args)?;
    let settled = manners(args, console)?;
    for warning in &settled.warnings {
        writeln!(console.err, "warning: {warning}")?;
    }
    let (way, ledger) = (args.way.read()?, args.ledger.find(console)?.into());
    let sharing = args.cache.read(console)?;
    Ok(Order { seeds, settled, way, discovery, ledger, sharing })
}

/// The seeds, each read once.
fn seeds(args: &CrawlArgs) -> anyhow::Result<Vec<CrawlUrl>> {
    let mut seeds = Vec::new();
    for text in &args.urls {
        seeds.push(seed(text)?);
    }
    if let Some(from) = &args.from {
        let stdin = from == Path::new("-");
        let lines: Box<dyn BufRead> = match stdin {
            true => Box::new(std::io::stdin().lock()),
            false => {
                let file = std::fs::File::open(from)
                    .with_context(|| format!("could not read the seeds in `{}`", from.display()))?;
                Box::new(std::io::BufReader::new(file))
            }
        };
        for (n, line) in lines.lines().enumerate() {
            let line =
                line.with_context(|| format!("could not read the seeds in `{}`", from.display()))?;
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let url =
                seed(line).with_context(|| format!("line {} of `{}`", n + 1, from.display()))?;
            seeds.push(url);
        }
    }
    if seeds.is_empty() {
        bail!(
            "nothing to crawl\nhint: give a URL (`curtsy crawl https://example.org/`) or `--from FILE`"
        );
    }
    Ok(seeds)
}

/// The policy: flag beats environment beats file beats preset.
pub(super) fn manners(args: &CrawlArgs, console: &Console<'_>) -> anyhow::Result<Settled> {
    let manners = &args.manners;
    let choice = manners.policy.as_deref().map(Choice::find).transpose()?;
    let short = [
        ("--contact", "identity.contact", &manners.contact),
        ("--user-agent", "identity.product", &manners.user_agent),
        ("--delay", "pace.delay", &manners.delay),
        ("--slots", "slots.per_host", &manners.slots),
        ("--pages", "budget.pages", &manners.pages),
        ("--time", "budget.time", &manners.time),
        ("--depth", "budget.depth", &manners.depth),
        ("--patience", "patience", &manners.patience),
    ];
    debug_assert!(short.iter().all(|(_, key, _)| Field::find(key).is_some()));
    let mut flags: Vec<FlagValue<'_>> = short
        .iter()
        .filter_map(|(flag, key, value)| Some(FlagValue { flag, key, value: value.as_deref()? }))
        .collect();
    flags.extend(manners.set.iter().map(|(key, value)| FlagValue { flag: "--set", key, value }));
    let layers = Layers {
        file: choice.as_ref().and_then(Choice::file),
        environment: Some(&console.variables),
        preset: choice.as_ref().and_then(Choice::preset),
        mode: manners.mode,
        flags: &flags,
    };
    let reach = match args.way.allow_net.is_empty() {
        true => Reach::Public,
        false => Reach::AllowedNet,
    };
    Ok(layers.settle(reach)?)
}

impl WayArgs {
    /// The way out.
    pub(super) fn read(&self) -> Result<Way, SpecError> {
        let mut way =
            Way { allow_net: self.allow_net.clone(), pins: self.resolve.clone(), ..Way::default() };
        // Read here and not with the other flags: an error there would repeat the password.
        self.proxy.as_deref().map_or(Ok(()), |text| way.through(text))?;
        self.ca_file.as_deref().map_or(Ok(()), |file| way.trust(file))?;
        Ok(way)
    }
}

/// The command for the record of runs: what was asked for, without a proxy's password.
fn shown_command(args: &CrawlArgs) -> String {
    let mut words = vec!["curtsy crawl".to_owned()];
    words.extend(args.urls.iter().map(|url| super::shown_url(url)));
    let mut flag = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.push(format!("--{name} {}", super::printable(&value)));
        }
    };
    let path = |path: &Option<PathBuf>| path.as_ref().map(|p| p.display().to_string());
    flag("from", path(&args.from));
    flag("policy", args.manners.policy.clone());
    flag("delay", args.manners.delay.clone());
    flag("pages", args.manners.pages.clone());
    flag("time", args.manners.time.clone());
    flag("depth", args.manners.depth.clone());
    flag("scope", args.find.scope.map(|s| s.to_string()));
    for (key, value) in &args.manners.set {
        flag("set", Some(format!("{key}={value}")));
    }
    flag("into", path(&args.into));
    words.join(" ")
}

fn print(
    report: &Report,
    into: &FileSpec,
    json: bool,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let text = match json {
        true => format!("{:#}\n", serde_json::to_value(report)?),
        false => summary(report, into),
    };
    // Rows have the standard output for themselves.
    match json && !into.targets.iter().any(Target::is_stdout) {
        true => write!(console.out, "{text}")?,
        false => write!(console.err, "{text}")?,
    }
    Ok(())
}

/// The report for a person.
pub(super) fn summary(report: &Report, into: &FileSpec) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    let plural = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let ended = match report.how {
        Ended::Complete => "done",
        Ended::Stopped => "stopped",
        Ended::Waits(_) => "waiting",
        Ended::Spent(_) => "budget used up",
        Ended::Ours(_) => "ended by trouble on our own side",
    };
    let requests: u64 = report.requests.values().sum();
    let _ = writeln!(
        text,
        "{ended}: {} ({} fetched) on {} with {} in {}",
        plural(report.rows, "row"),
        report.fetched,
        plural(report.hosts as u64, "host"),
        plural(requests, "request"),
        super::progress::span(report.took),
    );
    let part = |name: &str, n: u64| format!("{n} {}", name.replace('_', " "));
    let refused: Vec<_> = report.refused.iter().map(|(gate, n)| format!("{n} by {gate}")).collect();
    let endings: Vec<_> = report
        .endings
        .iter()
        .filter(|(name, _)| **name != "fetched")
        .map(|(name, n)| match *name == "refused" {
            true => format!("{n} refused ({})", refused.join(", ")),
            false if *name == "login_wall" => format!("{n} behind a login"),
            false => part(name, *n),
        })
        .collect();
    if !endings.is_empty() {
        let _ = writeln!(text, "  not fetched: {}", endings.join(", "));
    }
    if let Some(shared) = report.sources.get("shared") {
        let _ = writeln!(text, "  {} from the page cache", plural(*shared, "page"));
    }
    if report.statuses.len() > 1 || report.statuses.keys().any(|s| *s != 200) {
        let statuses: Vec<_> =
            report.statuses.iter().map(|(status, n)| format!("{status} × {n}")).collect();
        let _ = writeln!(text, "  answers: {}", statuses.join(", "));
    }
    if report.retries > 0 {
        let _ =
            writeln!(text, "  {}", plural(report.retries, "retry").replace("retrys", "retries"));
    }
    let file = into.file.display();
    if report.rows > 0 && !into.targets.iter().any(Target::is_stdout) {
        match &into.targets[..] {
            [Target::JsonLines(path) | Target::Csv(path)] => {
                let _ =
                    writeln!(text, "  rows: {} (and, with the evidence, {file})", path.display());
            }
            _ => {
                let _ = writeln!(text, "  rows: {file} (tables pages, decisions, links, runs)");
            }
        }
        let _ = writeln!(text, "  why a URL was fetched or not: curtsy why URL --in {file}");
    }
    match report.how {
        Ended::Complete => {}
        Ended::Stopped => {
            let _ = writeln!(
                text,
                "  {} left; the same command goes on where this one ended",
                plural(report.queued, "URL")
            );
        }
        Ended::Spent(limit) => {
            let limit = match limit {
                Reason::TimeLimit => "the time limit".to_owned(),
                Reason::PageLimit { pages } => {
                    format!("the limit of {}", plural(pages, "page"))
                }
                _ => "the budget".to_owned(),
            };
            let _ = writeln!(
                text,
                "  {limit} is reached; {} left in the queue, which the same command takes up",
                plural(report.queued, "URL")
            );
        }
        Ended::Ours(problem) => {
            let _ = writeln!(text, "  {}", our_side(problem));
        }
        Ended::Waits(_) => {
            let after = report.resume_after.as_deref().unwrap_or_default();
            let _ = writeln!(
                text,
                "  {} must wait longer than the patience of this crawl; resume after {after} with the same command",
                plural(report.queued, "URL")
            );
        }
    }
    text
}

/// What failed on our own side, and what mends it.
fn our_side(problem: Problem) -> &'static str {
    match problem {
        Problem::ProxyLogin => {
            "the proxy (or the network) wants a user and a password: nothing was held against any site\n  \
             hint: --proxy http://USER:PASSWORD@HOST:PORT, or the variable http_proxy"
        }
        _ => {
            "the proxy can't be reached or does not let requests through: nothing was held against any site\n  \
             hint: check --proxy or the variables http_proxy and https_proxy"
        }
    }
}

const HELP: &str = "\
Examples:
  curtsy crawl https://example.org/ --contact me@example.org
      the whole site at 3 s a page into crawl.db; Ctrl-C and the same command go on where it was
  curtsy crawl example.org --pages 100 --depth 2 --into pages.jsonl --contact me@example.org
  curtsy crawl --from seeds.txt --policy audit --include '/blog/*' --contact https://me.example/bot
  curtsy crawl http://127.0.0.1:8000/ --allow-net 127.0.0.0/8 --delay 0s
      your own machine needs no contact, and inside --allow-net any delay goes

Exit codes: 0 nothing is left; 2 a wrong argument or a file that can't be used; 3 what is left must wait (resume after T);
4 nothing could be fetched; 130 stopped by Ctrl-C or SIGTERM. In all of them nothing is lost.";
