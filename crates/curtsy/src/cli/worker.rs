//! `curtsy worker`: a worker of a fleet over Redis and Kafka.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use curtsy_core::policy::{Origin, Variables, WORKER};
use curtsy_engine::Point;

use super::flags::{CONFIG, Flags, MANNERS, WAY};
use super::policy::assignment;
use super::{Console, Exit, printable, refusal};
use crate::fleet::{FleetLog, FleetSpec, QueueNames, ask, run as run_worker};
use curtsy_crawl::state_dir;

#[derive(Clone, Debug, Args)]
#[command(after_help = HELP)]
#[command(mut_arg("policy", |arg| arg.help("The manners: careful, audit, warehouse, fleet, survey, or a policy file [default: fleet]")))]
#[command(mut_arg("config", |arg| arg.help("Settings from a file with the keys of `curtsy.toml`; without this flag none is read")))]
pub(super) struct WorkerArgs {
    #[command(flatten)]
    redis: RedisArgs,
    /// Brokers of Kafka, as `host:port,host:port` [env: PAGE_FETCHER_KAFKA_BOOTSTRAP_SERVERS]
    /// [default: localhost:9092]
    #[arg(long, value_name = "BROKERS")]
    kafka: Option<String>,
    /// Set any setting of librdkafka, as in `--kafka-set security.protocol=ssl`; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    kafka_set: Vec<(String, String)>,
    /// Fetch links that are found, too, on the hosts that were asked for [env: PAGE_FETCHER_FOLLOW]
    #[arg(long)]
    follow: bool,
    /// Where health and metrics are told; `none` tells nobody [env: PAGE_FETCHER_LISTEN] [default:
    /// 127.0.0.1:9100]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// A folder for what the worker remembers [env: PAGE_FETCHER_STATE_DIR] [default:
    /// $XDG_STATE_HOME/curtsy/worker]
    #[arg(long, value_name = "FOLDER")]
    state_dir: Option<PathBuf>,
    /// Visits at once [env: PAGE_FETCHER_VISITS] [default: 1024]
    #[arg(long, value_name = "N")]
    visits: Option<usize>,
    /// End when nothing is left to do
    #[arg(long)]
    until_empty: bool,
    /// An empty Redis is a new one: nothing is waited for (else nothing is sent for one request's
    /// time, since old requests may still run)
    #[arg(long)]
    new: bool,
    #[command(flatten)]
    flags: Flags<{ MANNERS | WAY | CONFIG }>,
    /// Ask a worker that runs how it does, as `http://127.0.0.1:9100/readyz`, and end with 0 or 1
    #[arg(long, value_name = "URL", exclusive = true)]
    check_health: Option<String>,
    /// Print the report at the end as JSON
    #[arg(long)]
    json: bool,
    /// Die at a point of a visit, as `Granted:7`, to see what that leaves behind
    #[arg(long, value_name = "POINT:N", hide = true, value_parser = dies_at)]
    die_at: Option<(Point, u32)>,
}

/// A point of a visit by its name, and how often it is passed before.
fn dies_at(text: &str) -> Result<(Point, u32), String> {
    let (name, times) = text.split_once(':').ok_or("expected POINT:N")?;
    let point = Point::ALL.into_iter().find(|point| format!("{point:?}") == name);
    let times = times.parse().map_err(|_| format!("`{times}` is no number"))?;
    Ok((point.ok_or_else(|| format!("`{name}` is no point of a visit"))?, times))
}

/// The fleet's Redis.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct RedisArgs {
    /// The Redis of host states and queues [env: PAGE_FETCHER_REDIS_URL] [default:
    /// redis://localhost:6379]
    #[arg(long, value_name = "URL")]
    pub(super) redis: Option<String>,
}

impl RedisArgs {
    /// Its address.
    pub(super) fn find(&self, variables: &Variables) -> String {
        let said = || said(variables, "PAGE_FETCHER_REDIS_URL");
        self.redis.clone().or_else(said).unwrap_or_else(|| "redis://localhost:6379".into())
    }
}

/// A variable of the page fetcher, in upper or lower case; an empty one counts as unset.
fn said(variables: &Variables, name: &str) -> Option<String> {
    debug_assert!(WORKER.contains(&name), "a misspelt {name} would not be told");
    let mut found = variables.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
    let value = found.find_map(|(_, value)| Some(value.trim()).filter(|value| !value.is_empty()));
    value.map(ToOwned::to_owned)
}

/// What queues and topics are called, as the environment says.
pub(super) fn names(variables: &Variables) -> QueueNames {
    let usual = QueueNames::default();
    let said = |name: &str, usual: String| said(variables, name).unwrap_or(usual);
    QueueNames {
        input_queue: said("PAGE_FETCHER_INPUT_QUEUE", usual.input_queue),
        dlq_queue: said("PAGE_FETCHER_DLQ_QUEUE", usual.dlq_queue),
        rejected_queue: said("PAGE_FETCHER_REJECTED_QUEUE", usual.rejected_queue),
        topic: said("PAGE_FETCHER_WEBPAGE_LOG_TOPIC", usual.topic),
    }
}

pub(super) fn run(args: &WorkerArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    if let Some(url) = &args.check_health {
        let outcome = match ask(url) {
            Ok((status, said)) => {
                writeln!(console.out, "{said}")?;
                if status == 200 { Exit::Fine } else { Exit::Refused }
            }
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
                return Err(error).with_context(|| format!("could not ask `{url}`"));
            }
            // Docker reserves 2: whoever can't be asked is not healthy.
            Err(error) => {
                writeln!(console.err, "no answer from `{}`: {error}", printable(url))?;
                Exit::Refused
            }
        };
        return Ok(outcome);
    }
    let spec = spec(args, console)?;
    let report = run_worker(&spec, &FleetLog::to_stderr())?;
    if args.json {
        writeln!(console.out, "{}", serde_json::to_string(&report)?)?;
    }
    Ok(Exit::Fine)
}

/// Reads flags and variables into what is to be done.
fn spec(args: &WorkerArgs, console: &mut Console<'_>) -> anyhow::Result<FleetSpec> {
    let mut settings = args.flags.0.clone().settings_if_named()?;
    settings.file.add_default("policy", "fleet");
    let way = settings.way(&console.variables, &[])?;
    let settled = settings.manners(way.reach(&[]), console)?;
    console.warn(&settled.warnings)?;
    let policy = settled.policy;
    if policy.identity.contact.is_none() {
        return Err(refusal(
            "no_contact",
            "no contact: a site owner must be able to reach whoever runs this fleet\nhint: set \
             PAGE_FETCHER_CONTACT (or `--contact`) to a mail address or page",
        ));
    }
    let mut outlet = way.settings(&policy);
    outlet.count_allowed = matches!(settled.origin["slots.per_address"], Origin::Said(_));
    let user_agent = policy.user_agent()?;
    let variables = &console.variables;
    let said = |name: &str| said(variables, name);
    let redis_url = args.redis.find(variables);
    let kafka = args.kafka.clone().or_else(|| said("PAGE_FETCHER_KAFKA_BOOTSTRAP_SERVERS"));
    let poll = match said("PAGE_FETCHER_POLL_TIMEOUT_SECONDS") {
        None => Duration::from_secs(5),
        Some(text) => match text.parse::<f64>() {
            Ok(secs) if secs > 0.0 && secs <= 3600.0 => Duration::from_secs_f64(secs),
            _ => bail!(
                "PAGE_FETCHER_POLL_TIMEOUT_SECONDS is `{text}`\nhint: seconds above 0 and up to 3600, as 5.0"
            ),
        },
    };
    let visits = match (args.visits, said("PAGE_FETCHER_VISITS")) {
        (Some(visits), _) => visits,
        (None, None) => 1024,
        (None, Some(text)) => text
            .parse()
            .with_context(|| format!("PAGE_FETCHER_VISITS is `{text}`\nhint: a number, as 1024"))?,
    };
    if !(1..=65_536).contains(&visits) {
        bail!("{visits} visits at once can't be had\nhint: 1 to 65536");
    }
    let follow = match said("PAGE_FETCHER_FOLLOW").as_deref() {
        None | Some("" | "0" | "false" | "no") => args.follow,
        Some("1" | "true" | "yes") => true,
        Some(text) => bail!("PAGE_FETCHER_FOLLOW is `{text}`\nhint: true or false"),
    };
    let listen = args.listen.clone().or_else(|| said("PAGE_FETCHER_LISTEN"));
    let listen = match listen.as_deref().unwrap_or("127.0.0.1:9100") {
        "none" => None,
        text => Some(text.parse::<SocketAddr>().with_context(|| {
            format!("`{text}` is nothing to listen on\nhint: an address and a port, as 127.0.0.1:9100, or `none`")
        })?),
    };
    let state =
        args.state_dir.clone().or_else(|| said("PAGE_FETCHER_STATE_DIR").map(PathBuf::from));
    let state_dir = state
        .or_else(|| state_dir(variables).map(|state| state.join("worker")))
        .context("no place for what the worker remembers: neither `XDG_STATE_HOME` nor `HOME` is set\nhint: set PAGE_FETCHER_STATE_DIR")?;
    let names = names(variables);
    apart(&names)?;
    Ok(FleetSpec {
        cache_redis_url: said("PAGE_FETCHER_CACHE_REDIS_URL").unwrap_or_else(|| redis_url.clone()),
        redis_url,
        kafka_brokers: kafka.unwrap_or_else(|| "localhost:9092".into()),
        kafka_settings: args.kafka_set.clone(),
        names,
        poll,
        policy: Arc::new(policy),
        user_agent,
        outlet,
        follow,
        listen,
        state_dir,
        visits,
        until_empty: args.until_empty,
        new_store: args.new,
        dies_at: args.die_at,
    })
}

/// Refuses a queue that is also a list of letters: what fails would be queued again for ever.
fn apart(names: &QueueNames) -> anyhow::Result<()> {
    let input = &names.input_queue;
    let letters = [
        ("PAGE_FETCHER_DLQ_QUEUE", &names.dlq_queue),
        ("PAGE_FETCHER_REJECTED_QUEUE", &names.rejected_queue),
    ];
    for (variable, list) in letters {
        if ["", ":high", ":low"].iter().any(|part| *list == format!("{input}{part}")) {
            bail!(
                "{variable} is `{list}`, which is the queue of URLs: what fails would be asked for again for ever\n\
                 hint: give the list a name of its own, or another one to PAGE_FETCHER_INPUT_QUEUE"
            );
        }
    }
    Ok(())
}

const HELP: &str = "\
Takes URLs from the Redis list `crawler_queue` (producers RPUSH plain URLs), keeps pages under \
`webpage:<sha256 of the URL>`, announces each in the Kafka topic `webpage_log`, and puts what \
fails for good on `page_fetcher_dlq`. Any number of workers share one set of manners.

Examples:
  PAGE_FETCHER_CONTACT=me@example.org curtsy worker
  redis-cli RPUSH crawler_queue https://example.org/
  curtsy worker --check-health http://127.0.0.1:9100/readyz

SIGTERM or Ctrl-C: what was sent is waited for, the rest is given back, within 10 s; once more \
ends at once. Nothing is lost either way.

Every PAGE_FETCHER_* variable is in docs/reference/fleet.md. `curtsy.toml` is read only if `--config` \
names it.";
