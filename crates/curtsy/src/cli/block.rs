//! `curtsy block` (also `curtsy stop`): orders that stop all requests to a host, for every crawl of
//! this user on this machine.

use anyhow::Context;
use clap::Args;
use curtsy_core::evidence::timestamp;
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, HostKey};
use serde_json::json;

use super::flags::{Flags, LEDGER};
use super::progress::{ago, moment};
use super::{Console, Exit, printable};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct BlockArgs {
    /// The host, as `example.org` or a URL of it; without one the orders in force are listed
    host: Option<String>,
    /// Lift the order: the host may be asked again
    #[arg(long, requires = "host")]
    lift: bool,
    /// List the hosts that are blocked, and since when
    #[arg(long, conflicts_with = "host")]
    list: bool,
    #[command(flatten)]
    flags: Flags<LEDGER>,
    /// The order is for the fleet at this Redis, not for the crawls on this machine
    #[cfg(feature = "fleet")]
    #[arg(long, value_name = "URL")]
    redis: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &BlockArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    // Without a host there is nothing to order: `--list` says the same in so many words.
    match args.host.as_deref().filter(|_| !args.list) {
        Some(name) => order(args, &host(name)?, console),
        None => list(args, console),
    }
}

fn order(args: &BlockArgs, host: &HostKey, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let changed = give(args, host, console)?;
    let (name, order) = (host.as_str(), if args.lift { "lifted" } else { "blocked" });
    let place = args.place();
    if args.json {
        writeln!(console.out, "{}", json!({"host": name, "order": order, "changed": changed}))?;
    } else {
        let said = match (args.lift, changed) {
            (true, true) => format!("{name} may be asked again"),
            (true, false) => {
                format!("{name} was not blocked; `curtsy block --list{place}` shows who is")
            }
            (false, true) => format!(
                "{name} is blocked: nothing more is asked of it; `curtsy block {name} --lift{place}` lifts that"
            ),
            (false, false) => format!("{name} is blocked already"),
        };
        writeln!(console.err, "{said}")?;
    }
    Ok(if args.lift && !changed { Exit::Refused } else { Exit::Fine })
}

impl BlockArgs {
    /// The flag that says whose orders these are, as it is typed after the others.
    fn place(&self) -> String {
        #[cfg(feature = "fleet")]
        if let Some(url) = &self.redis {
            return format!(" --redis {}", printable(&curtsy_crawl::without_login(url)));
        }
        String::new()
    }

    /// The fleet's Redis, if these are the orders of a fleet.
    #[cfg(feature = "fleet")]
    fn fleet(&self) -> Option<super::worker::RedisArgs> {
        let redis = self.redis.clone();
        redis.map(|redis| super::worker::RedisArgs { redis: Some(redis) })
    }
}

/// Gives the order. Returns whether it is another than before.
fn give(args: &BlockArgs, host: &HostKey, console: &mut Console<'_>) -> anyhow::Result<bool> {
    let was_blocked = stops(args, console)?.0.iter().any(|(blocked, _)| blocked == host);
    #[cfg(feature = "fleet")]
    if let Some(redis) = args.fleet() {
        if was_blocked == args.lift {
            super::fleet::stop(&redis, host, !args.lift, &console.variables)?;
        }
        return Ok(was_blocked == args.lift);
    }
    let mut ledger = args.flags.0.clone().alone().ledger(console)?;
    if was_blocked == args.lift {
        ledger.stop(host, !args.lift).context("could not write the ledger of hosts")?;
    }
    Ok(was_blocked == args.lift)
}

fn list(args: &BlockArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let (stops, now) = stops(args, console)?;
    if args.json {
        let stops = stops.iter();
        let stops = stops.map(|(host, at)| json!({"host": host.as_str(), "since": timestamp(*at)}));
        writeln!(console.out, "{}", json!(stops.collect::<Vec<_>>()))?;
    } else if stops.is_empty() {
        writeln!(console.err, "no host is blocked")?;
    } else {
        for (host, at) in stops {
            let since = ago(now.micros().saturating_sub(at.micros()));
            writeln!(console.out, "{}\tsince {} ({since})", host.as_str(), moment(at))?;
        }
    }
    Ok(Exit::Fine)
}

/// The hosts that are blocked, each with the time of its order, and the time now.
fn stops(
    args: &BlockArgs,
    console: &mut Console<'_>,
) -> anyhow::Result<(Vec<(HostKey, Time)>, Time)> {
    #[cfg(feature = "fleet")]
    if let Some(redis) = args.fleet() {
        let stops = super::fleet::stops(&redis, &console.variables)?;
        return Ok((stops.hosts, stops.now));
    }
    let mut ledger = args.flags.0.clone().alone().ledger(console)?;
    let stops = ledger.stops().context("could not read the ledger of hosts")?;
    Ok((stops, ledger.now()))
}

/// A host as people write it: a name, a name with a port, or a URL.
pub(super) fn host(text: &str) -> anyhow::Result<HostKey> {
    let scheme = if text.contains("://") { "" } else { "http://" };
    let named = CrawlUrl::parse(&format!("{scheme}{text}")).ok().map(|url| url.host().clone());
    named.with_context(|| format!("`{}` is not a host\nhint: write `example.org`", printable(text)))
}

const HELP: &str = "\
A second after the order nothing starts on that host any more, in every crawl that shares the \
ledger of hosts, running ones included. Its URLs stay queued.

Examples:
  curtsy block example.org           ask nothing more of this host
  curtsy block --list                who is blocked, and since when
  curtsy block example.org --lift    the host may be asked again

With `--redis` the orders are those of a fleet: `curtsy block --list --redis URL`.

Exit codes: 0 done; 1 `--lift` of a host that was not blocked; 2 not a host, or the ledger can't \
be used.";
