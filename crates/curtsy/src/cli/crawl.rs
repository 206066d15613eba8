//! `curtsy crawl`: from seeds to rows on one machine.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use curtsy_crawl::{
    Begin, CrawlReport, FileSpec, JobSpec, RowsTarget, RunEnding, file_named_after, run as run_job,
    seed,
};
use curtsy_sink::read::PagesFile;

use super::flags::{ALL, Flags, Values};
use super::progress::Progressing;
use super::report::summary;
use super::settings::choose_schemes;
use super::{Console, Exit, printable};
use crate::signals::Signals;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
#[command(mut_arg("again", |arg| arg.conflicts_with("resume")))]
#[command(mut_arg("force", |arg| arg.requires("again")))]
pub(super) struct CrawlArgs {
    #[command(flatten)]
    flags: Flags<ALL>,
    #[command(flatten)]
    output: OutputArgs,
}

/// What a command that crawls prints.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct OutputArgs {
    /// Print the report as JSON; progress goes to stderr as JSON lines
    #[arg(long)]
    pub(super) json: bool,
    /// No progress
    #[arg(long, short)]
    pub(super) quiet: bool,
}

pub(super) fn run(args: CrawlArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let CrawlArgs { flags: Flags(flags), output: OutputArgs { json, quiet } } = args;
    let (spec, into) = spec(flags, console)?;
    let report = work(&spec, &into, (json, quiet), console)?;
    if report.unread {
        if !quiet {
            let told = "stopped: nobody reads the rows any more; a crawl into standard output can't be resumed, one into a file can (`--into pages.jsonl`)";
            console.note(told)?;
        }
        return Ok(Exit::Unread);
    }
    print(&report, &into, json, console)?;
    Ok(outcome(&report))
}

/// A crawl that was made for a report on its links.
pub(super) struct CrawlForLinks {
    pub(super) file: PathBuf,
    /// The code that the crawl alone would end with.
    pub(super) outcome: Exit,
    /// URLs that were not requested because an earlier response is still fresh.
    pub(super) from_cache: Option<u64>,
    /// Why there is no page at all: a seed and the reason of its row.
    pub(super) nothing: Option<String>,
}

/// Crawls into a file for a report on the present state of a site. A complete crawl starts over.
/// The page cache is not used for a site on this machine: its owner has just changed it, and a
/// request costs no stranger anything.
pub(super) fn run_for_report(
    mut flags: Values,
    (json, quiet): (bool, bool),
    console: &mut Console<'_>,
) -> anyhow::Result<CrawlForLinks> {
    let is_near = |text: &str| seed(text).is_ok_and(|url| url.host().names_this_machine());
    let is_local = flags.texts("urls").all(is_near);
    if is_local {
        flags.switch_on("no-cache");
    }
    let (spec, mut into) = spec(flags, console)?;
    if into.targets != [RowsTarget::Sqlite] {
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
    // The summary says the same. A page to which two URLs of this run lead is held too, and was
    // requested in this run.
    let held = match into.begin {
        Begin::Again => report.cached + report.missing_shared,
        Begin::GoOn | Begin::Forced => report.cached_shared + report.missing_shared,
    };
    let from_cache = (quiet && held > 0).then_some(held);
    let outcome = outcome(&report);
    let nothing = match (outcome, spec.seeds.first()) {
        (Exit::NothingFetched, Some(seed)) => {
            let reason = PagesFile::open(&into.file)?.row(seed)?.and_then(|row| row.reason);
            reason.map(|reason| {
                format!("{}: {}", super::shown_url(seed.as_str()), printable(&reason))
            })
        }
        _ => None,
    };
    Ok(CrawlForLinks { file: into.file, outcome, from_cache, nothing })
}

fn work(
    spec: &JobSpec,
    into: &FileSpec,
    (json, quiet): (bool, bool),
    console: &mut Console<'_>,
) -> anyhow::Result<CrawlReport> {
    // Rows on their way through a pipe may end on the same screen.
    let into_stdout = into.targets.iter().any(RowsTarget::is_stdout);
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
pub(super) fn outcome(report: &CrawlReport) -> Exit {
    match report.how {
        RunEnding::Complete if report.pages_held == Some(0) => Exit::NothingFetched,
        RunEnding::Complete if report.rows > 0 && report.fetched + report.cached == 0 => {
            Exit::NothingFetched
        }
        RunEnding::Complete => Exit::Fine,
        RunEnding::Waits(_) => Exit::Waits,
        RunEnding::Stopped => Exit::Stopped,
        RunEnding::Spent(_) => Exit::Fine,
        RunEnding::Ours(_) => Exit::OurSide,
    }
}

/// The crawl that flags, variables and files describe.
fn spec(flags: Values, console: &mut Console<'_>) -> anyhow::Result<(JobSpec, FileSpec)> {
    let command = flags.command();
    let settings = flags.settings()?;
    let mut job = settings.order(settings.discovery(), console)?.job()?;
    let into = settings.rows_file().unwrap_or_else(|| file_named_after(&job.seeds[0]));
    let target = RowsTarget::of(&into)?;
    let file = target.crawl_file(&into, job.ledger_file()?.parent().unwrap_or(Path::new(".")));
    let flags = &settings.flags;
    if flags.has("resume") && !file.exists() {
        bail!(
            "there is no crawl in `{}` to go on with\nhint: leave `--resume` out to begin one",
            file.display()
        );
    }
    choose_schemes(&mut job, &settings.urls(), Some(&file), console)?;
    let begin = match (flags.has("again"), flags.has("force")) {
        (true, true) => Begin::Forced,
        (true, false) => Begin::Again,
        (false, _) => Begin::GoOn,
    };
    let add = flags.has("add");
    Ok((job, FileSpec { file, targets: vec![target], begin, add, command }))
}

fn print(
    report: &CrawlReport,
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
    match json && !into.targets.iter().any(RowsTarget::is_stdout) {
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
