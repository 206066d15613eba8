//! `curtsy stop`, `curtsy forget`: orders about hosts, for every crawl of this user on this machine.

use anyhow::Context;
use clap::Args;
use curtsy_core::url::HostKey;
use serde_json::json;

use super::crawl::LedgerArg;
use super::{Console, Outcome, printable};

#[derive(Debug, Args)]
#[command(after_help = STOP_HELP)]
pub(super) struct StopArgs {
    /// The host, as `example.org` or a URL of it; none lists the orders in force
    host: Option<String>,
    /// Lift the order
    #[arg(long, requires = "host")]
    lift: bool,
    #[command(flatten)]
    ledger: LedgerArg,
    /// The order is for the fleet at this Redis, not for the crawls on this machine
    #[cfg(feature = "fleet")]
    #[arg(long, value_name = "URL", requires = "host")]
    redis: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &StopArgs, console: &mut Console<'_>) -> anyhow::Result<Outcome> {
    if let Some(name) = &args.host {
        let host = host(name)?;
        order(args, &host, console)?;
        let done = if args.lift { "lifted" } else { "stopped" };
        match args.json {
            true => writeln!(console.out, "{}", json!({"host": host.as_str(), "order": done}))?,
            false if args.lift => writeln!(console.err, "{} may be asked again", host.as_str())?,
            false => writeln!(
                console.err,
                "nothing more is asked of {}; `curtsy stop {} --lift` ends that",
                host.as_str(),
                host.as_str()
            )?,
        }
        return Ok(Outcome::Fine);
    }
    let mut ledger = args.ledger.open(console)?;
    let hosts = ledger.stops().context("could not read the ledger of hosts")?;
    match args.json {
        true => writeln!(
            console.out,
            "{}",
            json!(hosts.iter().map(|host| host.as_str()).collect::<Vec<_>>())
        )?,
        false if hosts.is_empty() => writeln!(console.err, "no host is stopped")?,
        false => {
            for host in hosts {
                writeln!(console.out, "{}", host.as_str())?;
            }
        }
    }
    Ok(Outcome::Fine)
}

fn order(args: &StopArgs, host: &HostKey, console: &Console<'_>) -> anyhow::Result<()> {
    #[cfg(feature = "fleet")]
    if args.redis.is_some() {
        let redis = super::worker::RedisArgs { redis: args.redis.clone() };
        return super::fleet::stop(&redis, host, !args.lift, &console.variables);
    }
    let mut ledger = args.ledger.open(console)?;
    ledger.stop(host, !args.lift).context("could not write the ledger of hosts")
}

/// A host as people write it: a name, a name with a port, or a URL.
pub(super) fn host(text: &str) -> anyhow::Result<HostKey> {
    let named = match text.contains("://") {
        true => curtsy_core::url::CrawlUrl::parse(text).ok().map(|url| url.host().clone()),
        false => curtsy_core::url::CrawlUrl::parse(&format!("http://{text}/"))
            .ok()
            .map(|url| url.host().clone()),
    };
    named.with_context(|| format!("`{}` is no host\nhint: write `example.org`", printable(text)))
}

const STOP_HELP: &str = "\
Nothing starts on that host later than a second after, in every crawl that shares the ledger; its URLs stay queued.";
