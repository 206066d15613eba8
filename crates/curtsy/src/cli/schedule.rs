//! `curtsy schedule`: a fleet's seeds, queued when they are due.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use curtsy_core::policy::{Preset, variable_typos};

use super::progress::counted;
use super::worker::{RedisArgs, names};
use super::{Console, Exit, printable};
use crate::fleet::FleetLog;
use crate::schedule::{
    Does, ScheduleError, ScheduleReport, ScheduleSpec, SeedFile, look, run_once,
};

#[derive(Clone, Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ScheduleArgs {
    /// Which seeds, when and how urgent: a YAML file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    redis: RedisArgs,
    /// Queue what is due now, and end
    #[arg(long, group = "ends")]
    once: bool,
    /// Say what would be queued now and when each seed is due next; change nothing
    #[arg(long, group = "ends")]
    dry_run: bool,
    /// Print JSON, with `--once` or `--dry-run`
    #[arg(long, requires = "ends")]
    json: bool,
}

pub(super) fn run(args: &ScheduleArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let file = SeedFile::read(&args.file).with_context(|| format!("`{}`", args.file.display()))?;
    let spec = ScheduleSpec {
        redis_url: args.redis.find(&console.variables),
        queue: file.queue.unwrap_or_else(|| names(&console.variables).input_queue),
        seeds: file.seeds,
    };
    console.warn(&variable_typos(Preset::Fleet, &console.variables))?;
    let log = FleetLog::to_stderr();
    let report = match (args.once, args.dry_run) {
        (true, _) => run_once(&spec, &log),
        (_, true) => look(&spec, &log),
        _ => {
            crate::schedule::run(&spec, &log).map_err(|e| at(&spec, e))?;
            return Ok(Exit::Fine);
        }
    };
    let report = report.map_err(|e| at(&spec, e))?;
    match args.json {
        true => writeln!(console.out, "{}", serde_json::to_string(&report)?)?,
        false => print(&report, args.dry_run, console)?,
    }
    Ok(Exit::Fine)
}

/// An error with the place where Redis was looked for.
fn at(spec: &ScheduleSpec, error: ScheduleError) -> anyhow::Error {
    anyhow::Error::new(error).context(format!("`{}`", curtsy_crawl::without_login(&spec.redis_url)))
}

fn print(report: &ScheduleReport, dry: bool, console: &mut Console<'_>) -> anyhow::Result<()> {
    if report.another_leads {
        writeln!(console.err, "another scheduler leads, and queues what is due")?;
        return Ok(());
    }
    for seed in &report.seeds {
        let mark = if seed.kind == "sitemap" { "sitemap " } else { "" };
        let next = seed.next.as_deref().unwrap_or("never");
        let (does, url) = (seed.does.name(), printable(&seed.url));
        writeln!(console.out, "{does:<8} next {next}  {:<18} {mark}{url}", seed.list)?;
    }
    let queued = report.seeds.iter().filter(|seed| seed.does == Does::Queued).count();
    let would = if dry { "would be " } else { "" };
    let seeds = counted(report.seeds.len() as u64, "seed");
    writeln!(console.err, "{queued} of {seeds} {would}queued")?;
    Ok(())
}

const HELP: &str = "\
Examples:
  curtsy schedule seeds.yaml
  curtsy schedule seeds.yaml --dry-run    what would be queued now

The file:
  queue: crawler_queue        # optional [env: PAGE_FETCHER_INPUT_QUEUE]
  seeds:
    - url: https://example.org/
      every: 6h               # or cron: \"0 */6 * * *\" (UTC, five fields)
      priority: high          # high, normal or low
    - sitemap: https://example.org/sitemap.xml
      cron: \"15 3 * * *\"
      limit: 1000             # URLs of it at most

Run two or more for one Redis: one leads, the others take over within seconds when it is gone. \
No moment is queued twice, and one that was missed is queued once. The scheduler fetches \
nothing: workers do, sitemaps too. More in docs/reference/scheduling.md.";
