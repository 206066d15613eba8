//! `curtsy links`: which links of a site are broken, for a person or for CI.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use curtsy_sink::read::PagesFile;
use serde_json::{Value as Json, json};

use super::crawl::CrawlForLinks;
use super::flags::{ANEW, CACHE, CONFIG, FIND, Flags, INTO, LEDGER, MANNERS, WAY};
use super::{Console, Exit, count, crawl, file, printable};
use crate::linkcheck::{self, LinkChecks, LinkProblem, LinkReport, ProblemKind};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
#[command(mut_arg("into", |arg| arg.help(INTO_HELP)))]
#[command(mut_arg("again", |arg| arg.help(AGAIN_HELP)))]
#[command(mut_arg("force", |arg| arg.help(FORCE_HELP).requires("again")))]
pub(super) struct LinksArgs {
    /// A crawl's file; or a URL, whose site is crawled first, into `--into` [default: the newest
    /// crawl in this folder]
    #[arg(value_name = "FILE|URL")]
    target: Option<String>,
    /// A crawl's file; the same as to give it without a flag
    #[arg(long = "in", value_name = "FILE", conflicts_with = "target")]
    file: Option<PathBuf>,
    /// Check too whether pages have the places that fragments (`page.html#place`) name
    #[arg(long)]
    fragments: bool,
    /// Name every page that links to a target, not the first three only
    #[arg(long)]
    all: bool,
    /// Let warnings (moved for good, http on https pages) end with 1 too
    #[arg(long)]
    strict: bool,
    /// Only what is not in this file counts: it has the lines of an earlier `--json`
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Print JSON lines: one for each problem, then one with the summary
    #[arg(long)]
    json: bool,
    /// No progress
    #[arg(long, short, help_heading = CRAWLING)]
    quiet: bool,
    #[command(flatten, next_help_heading = CRAWLING)]
    flags: Flags<{ CONFIG | MANNERS | FIND | WAY | LEDGER | CACHE | INTO | ANEW }>,
}

pub(super) fn run(args: LinksArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let known = args.baseline.as_deref().map(|path| baseline(path, console)).transpose()?;
    let from_max = if args.all { usize::MAX } else { FROM_MAX };
    let look = LinkChecks { fragments: args.fragments, from_max };
    let (json, strict) = (args.json, args.strict);
    let (file, crawled) = match args.target.clone() {
        Some(target) if !is_file(&target) => {
            let checked = args.crawl(target, console)?;
            if let Some(held) = checked.from_cache {
                console.note(&format!(
                    "{} not requested, because an earlier response is still fresh: `--no-cache --again --force` requests everything",
                    count(held, "URL")
                ))?;
            }
            // A check in CI runs with `--quiet`, and its log must not read as if all were well.
            if let Some(why) = &checked.nothing {
                console.note(&format!("nothing could be checked: {why}"))?;
            }
            (checked.file, checked.outcome)
        }
        named => {
            let named = named.map(PathBuf::from).or_else(|| args.file.clone());
            args.refuse_crawl_flags(named.as_deref())?;
            (file::find(named.as_deref(), &[], &args.flags.0, console)?, Exit::Fine)
        }
    };
    let report = linkcheck::report(&PagesFile::open(&file)?, look)?;
    let sifted = Sifted::new(&report, known.as_ref(), look, crawled == Exit::Fine);
    match json {
        true => print_json(&report, &sifted, console)?,
        false => print(&report, &sifted, console)?,
    }
    let fails = |problem: &&LinkProblem| strict || problem.kind.is_broken();
    Ok(match sifted.new.iter().any(fails) {
        true => Exit::Refused,
        // A crawl that did not come to its end has not checked everything.
        false => crawled,
    })
}

impl LinksArgs {
    /// Crawls the site, with everything that the report looks at.
    fn crawl(self, url: String, console: &mut Console<'_>) -> anyhow::Result<CrawlForLinks> {
        let mut flags = self.flags.0;
        flags.add("urls", url);
        flags.switch_on("assets");
        crawl::run_for_report(flags, (self.json, self.quiet), console)
    }

    /// Refuses the flags of a crawl beside a file, which is only read.
    fn refuse_crawl_flags(&self, named: Option<&Path>) -> anyhow::Result<()> {
        // Without a name, the settings file says which crawl is meant.
        let of_files: &[&str] = if named.is_none() { &["config"] } else { &[] };
        if !self.flags.0.is_empty_except(of_files) {
            let what = match named {
                Some(file) => {
                    format!("`{}` is a crawl's file", printable(&file.display().to_string()))
                }
                None => "without a URL a crawl's file is meant".to_owned(),
            };
            bail!(
                "{what}, which is only read: the flags of a crawl don't go with it\nhint: give the site's URL to crawl it, or leave out what is under \"{CRAWLING}\" in `curtsy links --help`"
            );
        }
        Ok(())
    }
}

/// Whether a file is meant, and no site.
fn is_file(target: &str) -> bool {
    let path = Path::new(target);
    let is_database = || {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        matches!(ending, "db" | "sqlite" | "sqlite3") && !target.contains("://")
    };
    path.is_file() || is_database()
}

/// The problems of an earlier report: what they are, and of which target.
type Baseline = HashSet<(String, String)>;

fn baseline(path: &Path, console: &mut Console<'_>) -> anyhow::Result<Baseline> {
    let named = || format!("could not read the baseline `{}`", path.display());
    let lines = BufReader::new(std::fs::File::open(path).with_context(named)?).lines();
    let (mut known, mut is_empty) = (Baseline::new(), true);
    for (n, line) in lines.enumerate() {
        let line = line.with_context(named)?;
        if line.trim().is_empty() {
            continue;
        }
        is_empty = false;
        let told: Json = serde_json::from_str(&line)
            .with_context(|| format!("line {} of the baseline `{}` is no JSON\nhint: write one with `curtsy links --json > baseline.jsonl`", n + 1, path.display()))?;
        if let (Some(kind), Some(target)) = (told["problem"].as_str(), told["target"].as_str()) {
            known.insert((kind.to_owned(), target.to_owned()));
        }
    }
    if is_empty {
        let path = path.display();
        console.note(&format!(
            "the baseline `{path}` is empty: write one with `curtsy links … --json > {path}`"
        ))?;
    }
    Ok(known)
}

/// Problems apart from those that are known.
struct Sifted<'r> {
    new: Vec<&'r LinkProblem>,
    /// How many are in the baseline and still there.
    known: usize,
    /// How many are in the baseline and were not found; none without a baseline.
    gone: Option<usize>,
    /// Whether the whole site was checked: what was not found is gone only then.
    is_whole: bool,
    /// How many are in the baseline and were not looked for: fragments.
    not_looked_for: usize,
}

impl<'r> Sifted<'r> {
    fn new(
        report: &'r LinkReport,
        baseline: Option<&Baseline>,
        look: LinkChecks,
        is_whole: bool,
    ) -> Sifted<'r> {
        let key = |problem: &LinkProblem| (problem.kind.name().to_owned(), problem.target.clone());
        let is_known =
            |problem: &&LinkProblem| baseline.is_some_and(|known| known.contains(&key(problem)));
        let (known, new): (Vec<&LinkProblem>, Vec<&LinkProblem>) =
            report.problems.iter().partition(|problem| is_known(problem));
        let of_fragments = |(kind, _): &&(String, String)| kind == ProblemKind::Fragment.name();
        let not_looked_for = match baseline {
            Some(all) if !look.fragments => all.iter().filter(of_fragments).count(),
            _ => 0,
        };
        let gone = baseline.map(|all| all.len() - known.len() - not_looked_for);
        Sifted { new, known: known.len(), gone, is_whole, not_looked_for }
    }

    fn count(&self, broken: bool) -> usize {
        self.new.iter().filter(|problem| problem.kind.is_broken() == broken).count()
    }
}

fn print(
    report: &LinkReport,
    sifted: &Sifted<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let out = &mut console.out;
    for problem in &sifted.new {
        let word = match problem.kind.is_broken() {
            true => "broken ",
            false => "warning",
        };
        writeln!(out, "{word} {}: {}", printable(&problem.target), printable(&problem.why))?;
        for from in &problem.from {
            let text = match from.text.is_empty() {
                true => String::new(),
                false => format!(", “{}”", printable(&from.text)),
            };
            writeln!(out, "    {} on {}{text}", from.used, printable(&from.page))?;
        }
        match problem.pages - problem.from.len() as u64 {
            0 if problem.pages == 0 => {
                writeln!(
                    out,
                    "    no page links to it: you named this URL, or a sitemap lists it"
                )?;
            }
            0 => {}
            more => writeln!(out, "    and {} (`--all` names them)", count(more, "more page"))?,
        }
    }
    let err = &mut console.err;
    for (reason, targets) in &report.not_checked {
        writeln!(err, "not checked: {}, {reason}", count(*targets, "target"))?;
    }
    if report.links_cut > 0 {
        let were = if report.links_cut == 1 { "was" } else { "were" };
        let links = count(report.links_cut, "link");
        writeln!(
            err,
            "not checked: {links} that {were} not read, since their pages have too many"
        )?;
    }
    if let Some(gone) = sifted.gone {
        let known = count(sifted.known as u64, "known problem");
        match sifted.is_whole {
            true => writeln!(err, "baseline: {known} still there, {gone} gone")?,
            false => writeln!(
                err,
                "baseline: {known} still there, {gone} not found, and the check is not complete: keep this baseline"
            )?,
        }
        if sifted.not_looked_for > 0 {
            let fragments = count(sifted.not_looked_for as u64, "fragment");
            writeln!(err, "baseline: {fragments} not looked for: `--fragments` does")?;
        }
    }
    let new = if sifted.gone.is_some() { "new " } else { "" };
    writeln!(
        err,
        "{} on {}: {}, {}",
        count(report.targets, "target"),
        count(report.pages, "page"),
        count(sifted.count(true) as u64, &format!("{new}broken link")),
        count(sifted.count(false) as u64, &format!("{new}warning")),
    )?;
    Ok(())
}

fn print_json(
    report: &LinkReport,
    sifted: &Sifted<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let new: HashSet<*const LinkProblem> =
        sifted.new.iter().map(|p| std::ptr::from_ref(*p)).collect();
    for problem in &report.problems {
        let from: Vec<Json> = problem
            .from
            .iter()
            .map(|from| json!({"page": from.page, "as": from.used, "text": from.text}))
            .collect();
        let line = json!({
            "problem": problem.kind.name(),
            "broken": problem.kind.is_broken(),
            "target": problem.target,
            "why": problem.why,
            "pages": problem.pages,
            "from": from,
            "new": new.contains(&std::ptr::from_ref(problem)),
        });
        writeln!(console.out, "{line}")?;
    }
    let summary = json!({"summary": {
        "pages": report.pages,
        "targets": report.targets,
        "broken": sifted.count(true),
        "warnings": sifted.count(false),
        "known": sifted.known,
        "gone": sifted.gone.filter(|_| sifted.is_whole),
        "not_found": sifted.gone.filter(|_| !sifted.is_whole),
        "not_looked_for": sifted.not_looked_for,
        "not_checked": report.not_checked,
        "links_cut": report.links_cut,
    }});
    writeln!(console.out, "{summary}")?;
    Ok(())
}

/// Pages that are named for each target unless all are.
const FROM_MAX: usize = 3;

const CRAWLING: &str = "With a URL, for the crawl";

const INTO_HELP: &str = "Where the site is crawled into, if a URL is given \
    [default: the site's host, as `example.org.db`]";
const AGAIN_HELP: &str = "Start the check over, even if an earlier one was interrupted (a finished one is always \
     started over)";
const FORCE_HELP: &str = "With `--again`: request pages that are still fresh, too (on your own \
    machine every page is requested)";

const HELP: &str = "\
Examples:
  curtsy links https://example.org/ --contact me@example.org
      crawls the site, images, scripts and style sheets included, and reports;
      the same command again starts a new check
  curtsy links https://example.org/ --external --fragments \\
      --contact me@example.org
      asks other sites too (HEAD, then GET), under the same manners, and looks
      for the places of fragments
  curtsy links example.org.db
      the same report on a crawl that is there; asks nobody
  curtsy links example.org.db --json > known.jsonl
  curtsy links example.org.db --baseline known.jsonl
      from now on only new problems count

Broken: the target answers 404, 500 and the like or not at all, the page has no such place, or the \
reference is no URL. Warnings: moved for good (with the new address), http on pages that are read \
over https. What robots.txt, a budget, a bot wall or a login kept from being looked at is not \
broken: it is counted as not checked, with the reason.

Exit codes: 0 nothing is broken; 1 something is (with --strict a warning too); 2 the file can't be \
read; with a URL also those of `curtsy crawl` if nothing is broken and the crawl did not come to \
its end.";
