//! `curtsy fleet`, `curtsy dlq`: how a fleet does, orders to all of it, and its dead letters.

use std::rc::Rc;

use clap::{Args, Subcommand};
use curtsy_core::policy::{Preset, Variables, variable_typos};
use curtsy_core::url::HostKey;
use curtsy_store::redis::{
    ClientKind, Letters, LinkOptions, Options, RedisLink, RedisStore, fleet,
};
use serde_json::{Value, json};

use super::worker::{RedisArgs, names};
use super::{Console, Exit, printable, progress};

/// Letters that are shown at once.
const SHOWN: usize = 100;

#[derive(Clone, Debug, Args)]
#[command(after_help = FLEET_HELP)]
pub(super) struct FleetArgs {
    #[command(subcommand)]
    what: FleetCommand,
}

#[derive(Clone, Debug, Subcommand)]
enum FleetCommand {
    /// How the fleet does: workers, queues, hosts, orders
    Status(StatusArgs),
    /// Begin nothing new, in all workers; what was sent is finished
    Pause(RedisArgs),
    /// Take nothing more from the queue; what was taken is finished
    Drain(RedisArgs),
    /// Go on after a pause or a drain
    Resume(RedisArgs),
}

#[derive(Clone, Debug, Args)]
struct StatusArgs {
    #[command(flatten)]
    redis: RedisArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Debug, Args)]
#[command(after_help = DLQ_HELP)]
pub(super) struct DlqArgs {
    #[command(subcommand)]
    what: DlqCommand,
    #[command(flatten)]
    redis: RedisArgs,
    /// The list of rejected entries instead: what is no URL, and what nobody survives
    #[arg(long, global = true)]
    rejected: bool,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Clone, Debug, Subcommand)]
enum DlqCommand {
    /// List dead letters, the oldest first, with their reasons
    List {
        /// How many to pass over
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// How many to show
        #[arg(long, default_value_t = SHOWN)]
        limit: usize,
    },
    /// Say why a URL is there
    Show {
        /// The URL as it was queued
        url: String,
    },
    /// Put URLs back into the queue; without any, all of them
    Replay {
        /// URLs as they were queued
        urls: Vec<String>,
    },
    /// Take URLs off the list for good; without any, all of them
    Purge {
        /// URLs as they were queued
        urls: Vec<String>,
    },
}

/// A connection, and the loop in which it lives.
struct RedisCaller {
    runtime: tokio::runtime::Runtime,
    link: Rc<RedisLink>,
}

impl RedisCaller {
    /// For whoever gives orders.
    fn new(redis: &RedisArgs, variables: &Variables) -> anyhow::Result<RedisCaller> {
        RedisCaller::open(redis, variables, LinkOptions::default())
    }

    /// For whoever only looks: nothing is written. An empty Redis stays empty, so that a worker
    /// with `--new` still finds a new one.
    fn to_read(redis: &RedisArgs, variables: &Variables) -> anyhow::Result<RedisCaller> {
        let options = LinkOptions { caller: ClientKind::Guest, ..LinkOptions::default() };
        RedisCaller::open(redis, variables, options)
    }

    fn open(
        redis: &RedisArgs,
        variables: &Variables,
        options: LinkOptions,
    ) -> anyhow::Result<RedisCaller> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let link = RedisLink::new(&redis.find(variables), options)?;
        Ok(RedisCaller { runtime, link: Rc::new(link) })
    }

    fn ask<T, E: std::error::Error + Send + Sync + 'static>(
        &self,
        question: impl Future<Output = Result<T, E>>,
    ) -> anyhow::Result<T> {
        self.runtime.block_on(question).map_err(|error| {
            let context = match error.to_string().contains("hint: ") {
                true => "could not ask Redis",
                false => "could not ask Redis\nhint: is it running? `--redis URL` or PAGE_FETCHER_REDIS_URL says where",
            };
            anyhow::Error::new(error).context(context)
        })
    }
}

pub(super) fn run(args: &FleetArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let (redis, flow) = match &args.what {
        FleetCommand::Status(status) => return show(status, console),
        FleetCommand::Pause(redis) => (redis, fleet::Flow::Pause),
        FleetCommand::Drain(redis) => (redis, fleet::Flow::Drain),
        FleetCommand::Resume(redis) => (redis, fleet::Flow::Resume),
    };
    let asking = RedisCaller::new(redis, &console.variables)?;
    asking.ask(fleet::order(&asking.link, flow))?;
    console.warn(&variable_typos(Preset::Fleet, &console.variables))?;
    let said = match flow {
        fleet::Flow::Pause => "paused: nothing new is begun; `curtsy fleet resume` goes on",
        fleet::Flow::Drain => {
            "draining: nothing more is taken from the queue; `curtsy fleet resume` goes on"
        }
        fleet::Flow::Resume => "goes on",
    };
    writeln!(console.err, "{said}")?;
    Ok(Exit::Fine)
}

fn show(args: &StatusArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    console.warn(&variable_typos(Preset::Fleet, &console.variables))?;
    let asking = RedisCaller::to_read(&args.redis, &console.variables)?;
    let names = names(&console.variables);
    let lists = [names.input_queue.as_str(), &names.dlq_queue, &names.rejected_queue];
    let nobody = || fleet::Status { lengths: vec![0; lists.len()], ..fleet::Status::default() };
    let status = asking.ask(fleet::status(&asking.link, &lists))?.unwrap_or_else(nobody);
    let blocked = asking.ask(fleet::stops(&asking.link))?.hosts;
    let ages = status.workers.iter().map(|(name, ago)| (name.clone(), ago.as_secs_f64().into()));
    let workers: serde_json::Map<String, Value> = ages.collect();
    if args.json {
        let told = json!({
            "input_queue": status.lengths[0],
            "claimed": status.claims,
            "queued": status.queued,
            "hosts": status.hosts,
            "hosts_due": status.hosts_due,
            "dlq": status.lengths[1],
            "rejected": status.lengths[2],
            "paused": status.paused,
            "draining": status.draining,
            "quiet_seconds": status.quiet.as_secs_f64(),
            "workers": workers,
            "blocked": blocked.len(),
        });
        writeln!(console.out, "{told}")?;
        return Ok(Exit::Fine);
    }
    let out = &mut *console.out;
    writeln!(out, "workers    {}", status.workers.len())?;
    for (name, ago) in &status.workers {
        writeln!(out, "  {name}  heard from {}", progress::ago(ago.as_micros() as u64))?;
    }
    writeln!(
        out,
        "queue      {} in the list, {} claimed, {} with their hosts",
        status.lengths[0], status.claims, status.queued
    )?;
    writeln!(out, "hosts      {} with work, {} of them due", status.hosts, status.hosts_due)?;
    writeln!(out, "letters    {} dead, {} rejected", status.lengths[1], status.lengths[2])?;
    if !blocked.is_empty() {
        let count = progress::counted(blocked.len() as u64, "host");
        writeln!(out, "blocked    {count}: `curtsy block --list --redis URL` shows which")?;
    }
    if status.paused {
        writeln!(out, "paused     by order: `curtsy fleet resume` goes on")?;
    }
    if status.draining {
        writeln!(out, "draining   by order: `curtsy fleet resume` goes on")?;
    }
    if !status.quiet.is_zero() {
        writeln!(
            out,
            "quiet      for {} more: Redis lost something, and old requests may still run",
            progress::span(status.quiet)
        )?;
    }
    Ok(Exit::Fine)
}

pub(super) fn dlq(args: &DlqArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    console.warn(&variable_typos(Preset::Fleet, &console.variables))?;
    let asking = RedisCaller::to_read(&args.redis, &console.variables)?;
    let names = names(&console.variables);
    let list = if args.rejected { names.rejected_queue } else { names.dlq_queue };
    let letters = Letters::new(Rc::clone(&asking.link), list);
    let entries =
        |urls: &[String]| urls.iter().map(|url| url.as_bytes().to_vec()).collect::<Vec<_>>();
    match &args.what {
        DlqCommand::List { from, limit } => {
            let listed = asking.ask(letters.read(*from, *limit))?;
            for (entry, reason) in &listed.letters {
                tell(console, args.json, entry, reason)?;
            }
            let shown = listed.letters.len() as u64;
            if !args.json && from + shown < listed.total {
                writeln!(
                    console.err,
                    "{} of {} (`--from {}` shows more)",
                    shown,
                    listed.total,
                    from + shown
                )?;
            } else if !args.json && listed.total == 0 {
                let none = if args.rejected { "no rejected entries" } else { "no dead letters" };
                writeln!(console.err, "{none}")?;
            }
        }
        DlqCommand::Show { url } => {
            let mut from = 0;
            loop {
                let listed = asking.ask(letters.read(from, 500))?;
                if let Some((entry, reason)) =
                    listed.letters.iter().find(|(e, _)| e == url.as_bytes())
                {
                    show_letter(console, args.json, entry, reason)?;
                    return Ok(Exit::Fine);
                }
                from += listed.letters.len() as u64;
                if listed.letters.is_empty() {
                    writeln!(console.err, "`{}` is not on the list", printable(url))?;
                    return Ok(Exit::Refused);
                }
            }
        }
        DlqCommand::Replay { urls } => {
            let to = Some(names.input_queue.as_str());
            let count = asking.ask(letters.take_off(&entries(urls), to))?;
            return done(console, args.json, "replayed", urls, count);
        }
        DlqCommand::Purge { urls } => {
            let count = asking.ask(letters.take_off(&entries(urls), None))?;
            return done(console, args.json, "purged", urls, count);
        }
    }
    Ok(Exit::Fine)
}

fn tell(console: &mut Console<'_>, json: bool, entry: &[u8], reason: &str) -> anyhow::Result<()> {
    let entry = String::from_utf8_lossy(entry);
    let reason: Value = serde_json::from_str(reason).unwrap_or_else(|_| reason.into());
    match json {
        true => writeln!(console.out, "{}", json!({"url": entry, "why": reason}))?,
        false => {
            let why = reason.get("reason").and_then(Value::as_str).unwrap_or("no reason is known");
            writeln!(console.out, "{}  {}", printable(&entry), printable(why))?;
        }
    }
    Ok(())
}

/// A letter with all that is known of it.
fn show_letter(
    console: &mut Console<'_>,
    json: bool,
    entry: &[u8],
    reason: &str,
) -> anyhow::Result<()> {
    tell(console, json, entry, reason)?;
    let known: Value = serde_json::from_str(reason).unwrap_or_default();
    if json {
        return Ok(());
    }
    if let Some(at) = known["at"].as_str() {
        writeln!(console.out, "  given up  {}", printable(at))?;
    }
    if let Some(tries) = known["tries"].as_u64() {
        writeln!(console.out, "  asked     {}", progress::counted(tries, "time"))?;
    }
    if let Some(url) = known["final_url"].as_str().filter(|url| url.as_bytes() != entry) {
        writeln!(console.out, "  led to    {}", printable(url))?;
    }
    Ok(())
}

/// Says how many letters were taken off. URLs that are named and not there are a refusal.
fn done(
    console: &mut Console<'_>,
    json: bool,
    what: &str,
    urls: &[String],
    count: u64,
) -> anyhow::Result<Exit> {
    match json {
        true => writeln!(console.out, "{}", json!({what: count}))?,
        false => writeln!(console.err, "{what} {}", progress::counted(count, "letter"))?,
    }
    if count == 0 && !urls.is_empty() {
        if !json {
            writeln!(console.err, "none of these is on the list; `curtsy dlq list` shows it")?;
        }
        return Ok(Exit::Refused);
    }
    Ok(Exit::Fine)
}

/// The stop orders that are in force in a fleet.
pub(super) fn stops(redis: &RedisArgs, variables: &Variables) -> anyhow::Result<fleet::Stops> {
    let asking = RedisCaller::to_read(redis, variables)?;
    asking.ask(fleet::stops(&asking.link))
}

/// A stop order to a whole fleet, or its end.
pub(super) fn stop(
    redis: &RedisArgs,
    host: &HostKey,
    stopped: bool,
    variables: &Variables,
) -> anyhow::Result<()> {
    let asking = RedisCaller::new(redis, variables)?;
    let clock = curtsy_fetch::TokioClock::new();
    let store = RedisStore::new(Rc::clone(&asking.link), clock, Options::default());
    asking.ask(store.stop(host, stopped))
}

const DLQ_HELP: &str = "\
Letters are URLs that failed for good by themselves (404, 410, 403, a bot wall, content that \
can't be read); hosts that are down never make any.

Examples:
  curtsy dlq list
  curtsy dlq replay https://example.org/a
  curtsy dlq purge --rejected";

const FLEET_HELP: &str = "\
Examples:
  curtsy fleet status
  curtsy fleet pause && curtsy fleet resume
  curtsy fleet status --redis redis://db.example:6379 --json";
