//! `curtsy crawl`: from seeds to rows on one machine.

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use curtsy_core::policy::{
    Field, FlagValue, Layers, Mode, Reach, SettingsFile, Settled, Variables, nearest, read_size,
    write_size,
};
use curtsy_core::url::CrawlUrl;
use curtsy_crawl::{
    Begin, Choice, Ended, FileSpec, JobSpec, Order, PageSharing, Report, SpecError, Target, Way,
    file_named_after, ledger_file, other_scheme, run as run_job, seed, spoken,
};
use curtsy_engine::discover::{DiscoverySpec, Scope};
use curtsy_fetch::{GuardRefusal, IpNet, NamePin};
use curtsy_sink::read::PagesFile;
use curtsy_store::{Ledger, Machine, SHARED_BYTES_MIN, has_seed};

use super::config::{ConfigArg, FileManners};
use super::policy::{assignment, mode};
use super::progress::Progressing;
use super::report::summary;
use super::{Console, Outcome, printable};
use crate::signals::Signals;

/// What a crawl is, from flags. The names are also the keys of `curtsy.toml`.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = HELP)]
pub(super) struct CrawlArgs {
    /// Where to begin; `example.org` is tried with https and then with http, `localhost:8000` with http and then with https
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
    /// Read only these kinds of content, as `html,pdf`: html, pdf, text, json, xml, feed, image, or a type as `image/png`. Other
    /// answers get a row without a body, and only their heads are read
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = only)]
    pub(super) only: Vec<String>,
    /// Keep no bodies: rows with everything else, links included
    #[arg(long)]
    pub(super) no_body: bool,
    /// Where rows go: a `.db` file (SQLite, resumable), `pages.jsonl`, `pages.csv`, or `-` [default: the first seed's host, as `example.org.db`]
    #[arg(long, value_name = "FILE")]
    pub(super) into: Option<PathBuf>,
    /// Only go on with a crawl that was begun: an error if there is none (the same command goes on by itself)
    #[arg(long)]
    pub(super) resume: bool,
    /// Crawl again what was crawled: pages that are fresh are not asked for, others with the validators that we hold
    #[arg(long, conflicts_with = "resume")]
    pub(super) again: bool,
    /// With `--again`: ask for fresh pages too
    #[arg(long, requires = "again")]
    pub(super) force: bool,
    /// Add these seeds to the crawl that the file holds
    #[arg(long)]
    pub(super) add: bool,
    #[command(flatten)]
    pub(super) ledger: LedgerArg,
    #[command(flatten)]
    pub(super) config: ConfigArg,
    #[command(flatten)]
    pub(super) cache: CacheArgs,
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
    /// The same from the settings file, which comes behind the environment
    #[arg(skip)]
    pub(super) cache_max_in_file: Option<String>,
}

impl CacheArgs {
    /// What a crawl does with the page cache.
    pub(super) fn read(&self, console: &Console<'_>) -> anyhow::Result<PageSharing> {
        if self.no_cache {
            return Ok(PageSharing::Off);
        }
        let variable = console.variables.get("CURTSY_CACHE_MAX").filter(|said| !said.is_empty());
        let (name, said) = match (&self.cache_max, variable, &self.cache_max_in_file) {
            (Some(said), ..) | (None, None, Some(said)) => ("cache-max", said),
            (None, Some(said), _) => ("CURTSY_CACHE_MAX", said),
            (None, None, None) => return Ok(PageSharing::default()),
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
    /// Pages at most, in this run: the same command again takes the next ones
    #[arg(long, value_name = "N")]
    pub(super) pages: Option<String>,
    /// Time at most, in this run, as `90s` or `2h`
    #[arg(long, value_name = "SPAN")]
    pub(super) time: Option<String>,
    /// Links followed from a seed at most
    #[arg(long, value_name = "N")]
    pub(super) depth: Option<String>,
    /// How long to wait, since the last progress, for hosts that must wait before ending with "resume after"
    #[arg(long, value_name = "SPAN")]
    pub(super) patience: Option<String>,
    /// Set any field of the policy, as in `--set robots.ttl=2h` (see `curtsy policy show`)
    #[arg(long, value_name = "FIELD=VALUE", value_parser = assignment)]
    pub(super) set: Vec<(String, String)>,
    /// What the settings file says.
    #[arg(skip)]
    pub(super) settings: FileManners,
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
    /// Ask too whether images, scripts and style sheets are there (for `curtsy links`, which does so by itself if it crawls)
    #[arg(long)]
    pub(super) assets: bool,
    /// Ask too whether what pages link to on other sites is there (for `curtsy links`); nothing is crawled there
    #[arg(long)]
    pub(super) external: bool,
}

impl FindArgs {
    /// What a crawl looks for; seeds and product are not known here.
    pub(super) fn read(&self) -> DiscoverySpec {
        DiscoverySpec {
            scope: self.scope.unwrap_or_default(),
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            follow_sitemaps: !self.no_sitemaps,
            follow_links: !self.no_links,
            respect_nofollow: !self.follow_nofollow,
            check_assets: self.assets,
            check_external: self.external,
            ..DiscoverySpec::default()
        }
    }
}

/// The way out.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct WayArgs {
    /// A network that may be dialled although it is not public, as `10.0.0.0/8`; repeatable
    #[arg(long, value_name = "CIDR", value_parser = curtsy_crawl::network)]
    pub(super) allow_net: Vec<IpNet>,
    /// An address for a name, as `'*.test=127.0.0.1'`; repeatable
    #[arg(long, value_name = "NAME=ADDRESS")]
    pub(super) resolve: Vec<NamePin>,
    /// A proxy for every request, as `http://user:password@proxy.example:3128` [env: http_proxy, https_proxy, all_proxy, no_proxy]
    #[arg(long, value_name = "URL")]
    pub(super) proxy: Option<String>,
    /// Further certificate authorities, in PEM [env: CURTSY_CA_FILE]
    #[arg(long, value_name = "FILE")]
    pub(super) ca_file: Option<PathBuf>,
    /// The same two from the settings file, which comes behind the environment
    #[arg(skip)]
    pub(super) proxy_in_file: Option<String>,
    #[arg(skip)]
    pub(super) ca_file_in_file: Option<PathBuf>,
}

pub(super) fn run(args: CrawlArgs, console: &mut Console<'_>) -> anyhow::Result<Outcome> {
    let (json, quiet) = (args.json, args.quiet);
    let (spec, into) = spec(args, console)?;
    let report = work(&spec, &into, (json, quiet), console)?;
    if report.unread {
        if !quiet {
            let told = "stopped: nobody reads the rows any more; a crawl into standard output can't be resumed, one into a file can (`--into pages.jsonl`)";
            console.note(told)?;
        }
        return Ok(Outcome::Unread);
    }
    print(&report, &into, json, console)?;
    Ok(outcome(&report))
}

/// A crawl that was made for a report on its links.
pub(super) struct Checked {
    pub(super) file: PathBuf,
    /// The code that the crawl alone would end with.
    pub(super) outcome: Outcome,
    /// URLs that were not requested because an earlier response is still fresh.
    pub(super) from_cache: Option<u64>,
    /// Why there is no page at all: a seed and the reason of its row.
    pub(super) nothing: Option<String>,
}

/// Crawls into a file for a report on the present state of a site. A crawl that is complete starts over. The page cache is not used for a site on
/// this machine: its owner has just changed it, and no stranger is spared a request.
pub(super) fn run_for_report(
    mut args: CrawlArgs,
    console: &mut Console<'_>,
) -> anyhow::Result<Checked> {
    let (json, quiet) = (args.json, args.quiet);
    let is_near = |text: &String| seed(text).is_ok_and(|url| url.host().names_this_machine());
    let is_local = args.urls.iter().all(is_near);
    args.cache.no_cache |= is_local;
    let (spec, mut into) = spec(args, console)?;
    if into.targets != [Target::Sqlite] {
        bail!(
            "`--into {}` is no crawl's file\nhint: a name that ends with `.db`",
            into.file.display()
        );
    }
    if into.begin == Begin::GoOn && PagesFile::is_complete(&into.file) {
        into.begin = Begin::Again;
        into.command.push_str(" --again");
    }
    if into.begin == Begin::Again && is_local {
        into.begin = Begin::Forced;
        into.command.push_str(" --force");
    }
    let report = work(&spec, &into, (json, quiet), console)?;
    if json {
        writeln!(console.err, "{}", serde_json::json!({ "crawl": &report }))?;
    } else if !quiet {
        write!(console.err, "{}", summary(&report, &into))?;
    }
    // The summary says the same. A page that two URLs of this run lead to is held too, and was requested in this run.
    let held = match into.begin {
        Begin::Again => report.cached + report.missing_shared,
        Begin::GoOn | Begin::Forced => report.cached_shared + report.missing_shared,
    };
    let from_cache = (quiet && held > 0).then_some(held);
    let outcome = outcome(&report);
    let nothing = match (outcome, spec.seeds.first()) {
        (Outcome::NothingFetched, Some(seed)) => {
            let reason = PagesFile::open(&into.file)?.row(seed)?.and_then(|row| row.reason);
            reason.map(|reason| {
                format!("{}: {}", super::shown_url(seed.as_str()), printable(&reason))
            })
        }
        _ => None,
    };
    Ok(Checked { file: into.file, outcome, from_cache, nothing })
}

fn work(
    spec: &JobSpec,
    into: &FileSpec,
    (json, quiet): (bool, bool),
    console: &mut Console<'_>,
) -> anyhow::Result<Report> {
    // Rows on their way through a pipe may end on the same screen.
    let into_stdout = into.targets.iter().any(Target::is_stdout);
    let terminal = std::io::stderr().is_terminal() && !into_stdout;
    let report = {
        let mut watch = Progressing::new(console.err, json, quiet, terminal);
        let mut signals = None;
        let report = run_job(spec, into, &mut watch, async || Signals::heard(&mut signals).await);
        watch.end();
        report
    };
    if into_stdout {
        // Nobody could go on with it.
        for ending in ["", "-wal", "-shm", "-running"] {
            let mut name = into.file.clone().into_os_string();
            name.push(ending);
            let _ = std::fs::remove_file(name);
        }
    }
    Ok(report?)
}

/// The code that a crawl ends with.
pub(super) fn outcome(report: &Report) -> Outcome {
    match report.how {
        Ended::Complete if report.pages_held == Some(0) => Outcome::NothingFetched,
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
    let args = args.config.find()?.under(args);
    let mut job = order(&args, args.find.read(), console)?.job()?;
    let into = args.into.clone().unwrap_or_else(|| file_named_after(&job.seeds[0]));
    let target = Target::of(&into)?;
    let file = target.crawl_file(&into, job.ledger_file()?.parent().unwrap_or(Path::new(".")));
    if args.resume && !file.exists() {
        bail!(
            "there is no crawl in `{}` to go on with\nhint: leave `--resume` out to begin one",
            file.display()
        );
    }
    choose_schemes(&mut job, &args.urls, Some(&file), console)?;
    let begin = match (args.again, args.force) {
        (true, true) => Begin::Forced,
        (true, false) => Begin::Again,
        (false, _) => Begin::GoOn,
    };
    Ok((job, FileSpec { file, targets: vec![target], begin, add: args.add, command }))
}

/// What was ordered, without what becomes of the rows.
pub(super) fn order(
    args: &CrawlArgs,
    discovery: DiscoverySpec,
    console: &mut Console<'_>,
) -> anyhow::Result<Order> {
    let seeds = seeds(args)?;
    let mut way = args.way.read(&console.variables, &seeds)?;
    // What stands in a list (`--from`) comes from anywhere: a host of this machine is open only if the user wrote it out.
    seeds.iter().take(args.urls.len()).for_each(|url| way.name(url));
    args.urls.iter().filter_map(|text| other_scheme(text)).for_each(|url| way.name(&url));
    let settled = manners(args, way.reach(&seeds), console)?;
    console.warn(&settled.warnings)?;
    let ledger = args.ledger.find(console)?.into();
    let sharing = args.cache.read(console)?;
    Ok(Order { seeds, settled, way, discovery, ledger, sharing })
}

/// Where a crawl with these settings leads, for commands that begin none.
pub(super) fn reach(args: &CrawlArgs) -> anyhow::Result<Reach> {
    // Proxies don't matter here.
    let mut way = args.way.read(&Variables::default(), &[])?;
    let seeds: Vec<CrawlUrl> = args.urls.iter().filter_map(|text| seed(text).ok()).collect();
    seeds.iter().for_each(|url| way.name(url));
    // A list may name anybody.
    Ok(way.reach(if args.from.is_none() { &seeds } else { &[] }))
}

/// Gives each seed that was written without a scheme the one that its site speaks: as the crawl in this file has it, as the ledger knows
/// it, or as the site answers. Says so where it is not the usual one.
pub(super) fn choose_schemes(
    job: &mut JobSpec,
    texts: &[String],
    file: Option<&Path>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    for (at, text) in texts.iter().enumerate() {
        let Some(other) = other_scheme(text) else { continue };
        let likely = job.seeds[at].clone();
        // A crawl to which no site ever answered says nothing about the scheme.
        let answered = file.filter(|file| PagesFile::was_answered(file));
        let begun = |url: &CrawlUrl| answered.is_some_and(|file| has_seed(file, url));
        let chosen = match (begun(&likely), begun(&other)) {
            (true, _) => likely.scheme(),
            (false, true) => other.scheme(),
            (false, false) => {
                let mut signals = None;
                spoken(job, [&likely, &other], async || Signals::heard(&mut signals).await)?
            }
        };
        if chosen == other.scheme() {
            let host = printable(&GuardRefusal::host(&likely));
            let (not, instead) = (likely.scheme().as_str(), other.scheme().as_str());
            console.note(&format!("{host} does not speak {not}: {instead} is used"))?;
            job.seeds[at] = other;
        }
    }
    job.discovery.seeds = job.seeds.clone();
    Ok(())
}

/// The seeds, each read once: those of the command line first.
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

/// The policy: flag beats environment beats settings file beats policy file beats preset.
pub(super) fn manners(
    args: &CrawlArgs,
    reach: Reach,
    console: &Console<'_>,
) -> anyhow::Result<Settled> {
    let manners = &args.manners;
    let settings = &manners.settings;
    let flag = manners.policy.as_deref().map(Choice::find).transpose()?;
    let in_file = match flag.is_none() {
        true => settings.policy.as_deref().map(Choice::find).transpose()?,
        false => None,
    };
    let only = (!args.only.is_empty()).then(|| args.only.join(","));
    let keep = args.no_body.then(|| "false".to_owned());
    let short = [
        ("--contact", "identity.contact", &manners.contact),
        ("--user-agent", "identity.product", &manners.user_agent),
        ("--delay", "pace.delay", &manners.delay),
        ("--slots", "slots.per_host", &manners.slots),
        ("--pages", "budget.pages", &manners.pages),
        ("--time", "budget.time", &manners.time),
        ("--depth", "budget.depth", &manners.depth),
        ("--patience", "patience", &manners.patience),
        ("--only", "body.accept", &only),
        ("--no-body", "body.keep", &keep),
    ];
    debug_assert!(short.iter().all(|(_, key, _)| Field::find(key).is_some()));
    let mut flags: Vec<FlagValue<'_>> = short
        .iter()
        .filter_map(|(flag, key, value)| Some(FlagValue { flag, key, value: value.as_deref()? }))
        .collect();
    flags.extend(manners.set.iter().map(|(key, value)| FlagValue { flag: "--set", key, value }));
    let values = settings.values.iter();
    let values: Vec<_> = values.map(|(flag, key, value)| FlagValue { flag, key, value }).collect();
    let layers = Layers {
        file: flag.as_ref().or(in_file.as_ref()).and_then(Choice::file),
        settings: SettingsFile {
            file: &settings.file,
            preset: in_file.as_ref().and_then(Choice::preset),
            mode: settings.mode,
            values: &values,
        },
        environment: Some(&console.variables),
        preset: flag.as_ref().and_then(Choice::preset),
        mode: manners.mode,
        flags: &flags,
    };
    Ok(layers.settle(reach)?)
}

/// The media types of a kind of content: a word, or a type itself.
pub(super) fn only(kind: &str) -> Result<String, String> {
    let kind = kind.trim().to_ascii_lowercase();
    if let Some((_, types)) = KINDS.iter().find(|(word, _)| *word == kind) {
        return Ok((*types).to_owned());
    }
    if kind.contains('/') {
        return Ok(kind);
    }
    let hint = nearest(&kind, KINDS.iter().map(|(word, _)| *word))
        .map(|near| format!("did you mean `{near}`?"))
        .unwrap_or_else(|| "a content type such as `image/png` or `text/*` is one too".to_owned());
    let words: Vec<_> = KINDS.iter().map(|(word, _)| format!("`{word}`")).collect();
    let words = words.join(", ");
    Err(format!("`{}` is no kind of content: {words}\nhint: {hint}", super::printable(&kind)))
}

/// Kinds of content by the words that people have for them.
const KINDS: [(&str, &str); 7] = [
    ("html", "text/html,application/xhtml+xml"),
    ("pdf", "application/pdf"),
    ("text", "text/*"),
    ("json", "application/json,application/ld+json"),
    ("xml", "application/xml,text/xml"),
    ("feed", "application/rss+xml,application/atom+xml,application/feed+json"),
    ("image", "image/*"),
];

impl WayArgs {
    /// The way to these seeds (none: to anywhere); flag beats environment beats settings file.
    pub(super) fn read(&self, variables: &Variables, seeds: &[CrawlUrl]) -> Result<Way, SpecError> {
        let mut way =
            Way { allow_net: self.allow_net.clone(), pins: self.resolve.clone(), ..Way::default() };
        // Read here and not with the other flags: an error there would repeat the password.
        match &self.proxy {
            Some(text) => way.through(text)?,
            None => {
                let read = way.through_environment(variables);
                // A proxy that can't be used is no matter on the way to this machine.
                let is_near = |seed: &CrawlUrl| seed.host().names_this_machine();
                if seeds.is_empty() || !seeds.iter().all(is_near) {
                    read?;
                }
            }
        }
        if let Some(text) = self.proxy_in_file.as_deref().filter(|_| way.proxies.any().is_none()) {
            way.through(text)?;
        }
        let said = variables.get("CURTSY_CA_FILE").filter(|name| !name.is_empty());
        let ca_file = self.ca_file.clone().or_else(|| said.map(PathBuf::from));
        if let Some(file) = ca_file.as_ref().or(self.ca_file_in_file.as_ref()) {
            way.trust(file)?;
        }
        Ok(way)
    }
}

/// The command for the record of runs: what was asked for, without a proxy's password.
fn shown_command(args: &CrawlArgs) -> String {
    let mut words = vec!["curtsy crawl".to_owned()];
    words.extend(args.urls.iter().map(|url| super::shown_url(url)));
    let mut flag = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.push(format!("--{name} {}", printable(&value)));
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
    for pattern in &args.find.include {
        flag("include", Some(format!("'{pattern}'")));
    }
    for pattern in &args.find.exclude {
        flag("exclude", Some(format!("'{pattern}'")));
    }
    flag("only", (!args.only.is_empty()).then(|| args.only.join(",")));
    for (key, value) in &args.manners.set {
        flag("set", Some(format!("{key}={value}")));
    }
    flag("into", path(&args.into));
    let switches = [
        ("--no-links", args.find.no_links),
        ("--no-sitemaps", args.find.no_sitemaps),
        ("--follow-nofollow", args.find.follow_nofollow),
        ("--assets", args.find.assets),
        ("--external", args.find.external),
        ("--no-body", args.no_body),
        ("--again", args.again),
        ("--force", args.force),
        ("--add", args.add),
        ("--no-cache", args.cache.no_cache),
    ];
    words.extend(switches.iter().filter(|(_, given)| *given).map(|(name, _)| (*name).to_owned()));
    words.join(" ")
}

fn print(
    report: &Report,
    into: &FileSpec,
    json: bool,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let text = match json {
        true => {
            let mut value = serde_json::to_value(report)?;
            value["exit_code"] = outcome(report).code().into();
            format!("{value:#}\n")
        }
        false => summary(report, into),
    };
    // Rows have the standard output for themselves.
    match json && !into.targets.iter().any(Target::is_stdout) {
        true => write!(console.out, "{text}")?,
        false => write!(console.err, "{text}")?,
    }
    Ok(())
}

const HELP: &str = "\
Examples:
  curtsy crawl https://example.org/ --contact me@example.org
      the whole site at 3 s a page into example.org.db; Ctrl-C, and the same
      command goes on
  curtsy crawl example.org --pages 100 --depth 2 --into pages.jsonl \\
      --contact me@example.org
  curtsy crawl --from seeds.txt --policy audit --include '/blog/*'
  curtsy crawl example.org --only html,pdf    other kinds are not read
  curtsy crawl localhost:8000 --delay 0
      your own machine: needs no contact, and any delay goes; only that port
      is open, and only under that name
  curtsy crawl http://intranet.example/ --allow-net 10.0.0.0/8 \\
      --contact me@example.org
      a private network is dialled if you allow it

Flags can stand in `curtsy.toml` (`curtsy init` writes one). A flag beats a variable of the \
environment, which beats the file.

Exit codes:
  0    nothing is left, or a limit of pages or time is reached
  2    a wrong argument, or a file that can't be used
  3    what is left must wait; the report says until when
  4    nothing could be fetched
  5    our own side failed, such as a proxy that wants a password
  130  stopped by Ctrl-C or SIGTERM
  141  nobody reads the rows any more (`--into - | head`)

Nothing is lost in any of them: the same command goes on (a crawl into standard output excepted).";
