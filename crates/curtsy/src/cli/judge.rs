//! `curtsy judge`: reads a server's access log and says which manners a crawler broke.
//!
//! A log with one agent gives a report; a log with several gives a table in which each agent is
//! judged by itself. An agent must keep to what the site asks for, or to its policy if that is
//! known: curtsy's own is `careful`, and `--policy` names any other.

mod logs;
mod mail;
mod show;

use std::cell::Cell;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use curtsy_core::policy::{FlagValue, Layers, Origin, Reach, SettledPolicy};
use curtsy_crawl::{PolicyChoice, SpecError};
use curtsy_fetch::IpNet;
use curtsy_judge::{
    Docket, Exchange, FaultNote, HostManners, InStartOrder, Judge, LogEntry, LogFormat, Manners,
    Verdicts, WorkPlan, read_faults, read_plan,
};
use curtsy_sim::manners_of;

use self::logs::{Logs, open};
use super::policy::assignment;
use super::{Console, Exit, columns, count, printable};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct JudgeArgs {
    /// The logs, gzipped or not, in any order; `-` is stdin
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<String>,
    /// Only requests whose User-Agent contains this text, in any case
    #[arg(long, value_name = "TEXT")]
    agent: Option<String>,
    /// Only requests from this address or network; repeatable
    #[arg(long, value_name = "ADDRESS|CIDR", value_parser = network)]
    from: Vec<IpNet>,
    /// What crawlers promised: a preset, a policy file, or `neutral` for what the site asks for and
    /// nothing else [default: careful for curtsy, neutral for all others]
    #[arg(long, value_name = "POLICY")]
    policy: Option<String>,
    /// The least span between two requests to a host that you ask for
    #[arg(long, value_name = "SPAN")]
    delay: Option<String>,
    /// Set any field of the policy, as in `--set robots.ttl=2h` (see `curtsy policy show`)
    #[arg(long, value_name = "FIELD=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// The format of every line: json, caddy, combined, w3c or cloudfront; else each line shows it
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    format: Option<LogFormat>,
    /// The site's robots.txt, for logs that don't hold it; with `HOST=` for one host of several
    #[arg(long, value_name = "[HOST=]FILE", value_parser = host_and_file)]
    robots: Vec<(String, String)>,
    /// The host of lines that don't name one
    #[arg(long, value_name = "HOST", value_parser = host_name)]
    host: Option<String>,
    /// The log begins in the middle of a crawl: what was asked before it is not missed
    #[arg(long)]
    midway: bool,
    /// When work was waiting for a host, as JSON lines: without it liveness (P16) is not judged
    #[arg(long, value_name = "FILE")]
    plan: Option<String>,
    /// Crashes, store losses and stop orders, as JSON lines
    #[arg(long, value_name = "FILE")]
    faults: Option<String>,
    /// Print a mail to the crawler's operator instead: plain text of 72 columns
    #[arg(long, conflicts_with = "json")]
    mail: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &JudgeArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let policies = match Policies::choose(args)? {
        Ok(policies) => policies,
        Err((name, error)) => {
            // Not 1: that says that a crawler broke something.
            super::policy::say_faults(&name, &error, console)?;
            return Ok(Exit::Usage);
        }
    };
    let (verdicts, reading) = judge(args, policies)?;
    let outcome = if verdicts.clean() { Exit::Fine } else { Exit::Refused };
    match &verdicts.agents[..] {
        [] => bail!(nothing_selected(&reading)),
        [agent] if verdicts.others.agents == 0 => {
            let mut agent = agent.clone();
            let mut report = agent.report.take().context(
                "browsers alone are not judged\nhint: choose some with --agent or --from",
            )?;
            report.unreadable = reading.unreadable;
            report.unreadable_first = reading.unreadable_first.clone();
            if args.mail {
                if args.host.is_none() && report.examples.iter().any(|it| it.host == UNNAMED_HOST) {
                    bail!(
                        "the log does not name the site, and a mail must\nhint: name it with `--host example.org`"
                    );
                }
                if report.clean() {
                    writeln!(
                        console.err,
                        "{} broke nothing: there is no mail to write",
                        agent.name
                    )?;
                } else {
                    write!(console.out, "{}", mail::mail(&agent, &report))?;
                }
            } else if args.json {
                writeln!(console.out, "{:#}", show::one_json(&agent, &report, &reading))?;
            } else {
                let mut text = Vec::new();
                show::one(&agent, &report, &reading, &mut text)?;
                print(&text, console)?;
            }
        }
        agents if args.mail => {
            let names: Vec<String> = agents.iter().take(10).map(show::label).collect();
            bail!(
                "a mail is about one agent, and here are {}: {}\nhint: choose one with --agent or --from",
                agents.len(),
                names.join(", ")
            );
        }
        _ if args.json => writeln!(console.out, "{:#}", show::table_json(&verdicts, &reading))?,
        _ => {
            let mut text = Vec::new();
            show::table(&verdicts, &reading, columns::of_stdout(), &mut text)?;
            print(&text, console)?;
        }
    }
    Ok(outcome)
}

/// Prints a report so that it fits the terminal.
fn print(text: &[u8], console: &mut Console<'_>) -> std::io::Result<()> {
    columns::print(&String::from_utf8_lossy(text), columns::of_stdout(), console.out)
}

/// What was read beside the exchanges, and by which policies.
struct LogReading {
    /// Lines that `--agent` left out.
    other_agents: u64,
    /// Lines that `--from` left out.
    other_addresses: u64,
    /// A few names of agents that were left out.
    names: Vec<String>,
    unreadable: u64,
    unreadable_first: Vec<String>,
    formats: Vec<LogFormat>,
    policies: Policies,
    /// Whether the delay that crawlers are held to was given.
    delay_given: bool,
    /// Whether the log was said to begin in the middle of a crawl.
    midway: bool,
}

impl LogReading {
    /// The policy that an agent is held to, by its name.
    fn policy_of(&self, agent: &str) -> String {
        self.policies.of(agent).0.to_owned()
    }
}

fn nothing_selected(reading: &LogReading) -> String {
    let agents = match reading.names.is_empty() {
        true => String::new(),
        false => format!("\nhint: agents in the log: {}", reading.names.join(", ")),
    };
    format!(
        "no line was selected: {} of other agents, {} of other addresses{agents}",
        count(reading.other_agents, "line"),
        reading.other_addresses
    )
}

/// Reads the logs and judges what is selected.
fn judge(args: &JudgeArgs, policies: Policies) -> anyhow::Result<(Verdicts, LogReading)> {
    let beside = Beside::read(args)?;
    let mut logs = Logs::open(&args.logs, args.format)?;
    let selected = Selection::of(args, policies.product.as_deref());
    let made = Cell::new(0);
    let mut docket = Docket::new(|product: &str| {
        made.set(made.get() + 1);
        beside.judge(policies.of(product).1, product, args.midway, made.get())
    });
    if selected.any() {
        docket = docket.with_browsers();
    }
    if args.policy.as_deref().is_none_or(|name| name == NEUTRAL) {
        // Whoever knows a crawler's policy knows that its addresses are one crawler.
        docket = docket.with_tools_apart();
    }
    let host: Option<Arc<str>> = args.host.as_deref().map(Arc::from);
    let mut order = InStartOrder::new(EXCHANGE_MAX).with_most(WAITING_MAX);
    let (mut other_agents, mut other_addresses, mut names) = (0, 0, Vec::new());
    while let Some(entry) = logs.next() {
        let mut exchange = match entry {
            LogEntry::Exchange(exchange) => exchange,
            // Whose it is shows in the requests on it.
            LogEntry::Connection(event) => {
                order.push(event);
                continue;
            }
        };
        if !selected.agent(&exchange) {
            other_agents += 1;
            note_name(&exchange, &mut names);
            order.leave_out(&exchange);
            continue;
        }
        if !selected.address(exchange.peer) {
            other_addresses += 1;
            order.leave_out(&exchange);
            continue;
        }
        if let Some(host) = &host
            && &*exchange.host == UNNAMED_HOST
        {
            exchange.host = Arc::clone(host);
        }
        docket.detail(logs.detail);
        if logs.formats.contains(&LogFormat::CloudFront) {
            order.widen(CLOUDFRONT);
        }
        order.push(exchange);
        while let Some(entry) = order.pop() {
            docket.see(entry);
        }
    }
    while let Some(entry) = order.drain() {
        docket.see(entry);
    }
    let verdicts = docket.finish();
    let reading = LogReading {
        other_agents,
        other_addresses,
        names,
        unreadable: logs.unreadable,
        unreadable_first: logs.unreadable_first,
        formats: logs.formats,
        policies,
        delay_given: args.delay.is_some() || args.set.iter().any(|(key, _)| key == DELAY),
        midway: args.midway,
    };
    Ok((verdicts, reading))
}

/// Keeps a few names of agents, for the message that none was selected.
fn note_name(exchange: &Exchange, names: &mut Vec<String>) {
    if names.len() >= NAMES_SHOWN {
        return;
    }
    let (name, _) = curtsy_judge::agent_of(exchange.user_agent.as_deref());
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// Which lines are judged.
struct Selection {
    /// In lower case.
    agent: Option<String>,
    product: Option<String>,
    from: Vec<IpNet>,
}

impl Selection {
    fn of(args: &JudgeArgs, product: Option<&str>) -> Selection {
        Selection {
            agent: args.agent.as_deref().map(str::to_lowercase),
            product: product.map(str::to_owned),
            from: args.from.clone(),
        }
    }

    fn any(&self) -> bool {
        self.agent.is_some() || self.product.is_some() || !self.from.is_empty()
    }

    fn agent(&self, exchange: &Exchange) -> bool {
        let sent = exchange.user_agent.as_deref().unwrap_or("");
        let text = self.agent.as_ref().is_none_or(|text| sent.to_lowercase().contains(text));
        let named =
            |product: &String| curtsy_judge::agent_of(Some(sent)).0.eq_ignore_ascii_case(product);
        text && self.product.as_ref().is_none_or(named)
    }

    fn address(&self, peer: Option<IpAddr>) -> bool {
        self.from.is_empty()
            || peer.is_some_and(|peer| {
                let peer = peer.to_canonical();
                self.from.iter().any(|net| net.contains(&peer))
            })
    }
}

/// What agents are held to.
struct Policies {
    /// For curtsy.
    own: (String, Manners),
    /// For all others.
    others: (String, Manners),
    /// The product that a policy file names: only its lines are judged.
    product: Option<String>,
}

type Refused = (String, curtsy_core::policy::PolicyError);

impl Policies {
    fn choose(args: &JudgeArgs) -> anyhow::Result<Result<Policies, Refused>> {
        let asked = args.policy.as_deref();
        if asked.is_none_or(|name| name == NEUTRAL)
            && let Some((key, _)) = args.set.iter().find(|(key, _)| key != DELAY)
        {
            bail!(
                "`--set {key}` needs a policy: `neutral` holds a crawler to `{DELAY}` and what the site asks for, and nothing else\nhint: add --policy careful"
            );
        }
        let found = PolicyChoice::find(asked.filter(|name| *name != NEUTRAL).unwrap_or("careful"));
        let choice = found.map_err(|error| match error {
            SpecError::NoPolicy(name) => anyhow!(
                "there is no policy `{}`\nhint: `neutral`, a preset (careful, audit, warehouse, fleet, survey), or a policy file",
                printable(&name)
            ),
            error => error.into(),
        })?;
        let mut flags: Vec<FlagValue<'_>> =
            args.set.iter().map(|(key, value)| FlagValue { flag: "--set", key, value }).collect();
        let delay = args.delay.as_deref();
        flags.extend(delay.map(|value| FlagValue { flag: "--delay", key: DELAY, value }));
        let layers = Layers {
            file: choice.file(),
            preset: choice.preset(),
            flags: &flags,
            ..Layers::default()
        };
        // A log may come from inside an allowed network, where any delay is permitted. The
        // environment of this process has nothing to do with what the crawler promised.
        let settled = match layers.settle(Reach::AllowedNet) {
            Ok(settled) => settled,
            Err(error) => return Ok(Err((choice.name().to_owned(), error))),
        };
        let manners = manners_of(&settled.policy);
        let neutral = (NEUTRAL.to_owned(), neutral(&settled, !flags.is_empty()));
        let said = matches!(settled.origin["identity.product"], Origin::Said(_));
        let promised = (choice.name().to_owned(), manners);
        Ok(Ok(match asked {
            None => Policies { own: promised, others: neutral, product: None },
            Some(NEUTRAL) => Policies { own: neutral.clone(), others: neutral, product: None },
            Some(_) => {
                let product = promised.1.product.clone().filter(|_| said);
                Policies { own: promised.clone(), others: promised, product }
            }
        }))
    }

    /// The name and the manners that hold for an agent.
    fn of(&self, agent: &str) -> (&str, &Manners) {
        let (name, manners) = match agent.eq_ignore_ascii_case("curtsy") {
            true => &self.own,
            false => &self.others,
        };
        (name, manners)
    }
}

/// What the site asks for, and the delay that its owner asks for.
fn neutral(settled: &SettledPolicy, delay_said: bool) -> Manners {
    let neutral = Manners::neutral();
    if !delay_said {
        return neutral;
    }
    let asked = manners_of(&settled.policy);
    let hosts = asked
        .hosts
        .into_iter()
        .map(|(host, own)| (host, HostManners { delay: own.delay, ..HostManners::default() }));
    Manners {
        delay_min: asked.delay_min,
        delay_max: asked.delay_min,
        hosts: hosts.collect(),
        ..neutral
    }
}

/// The files beside the logs.
struct Beside {
    robots: Vec<(String, Vec<u8>)>,
    plan: Vec<WorkPlan>,
    notes: Vec<FaultNote>,
}

impl Beside {
    fn read(args: &JudgeArgs) -> anyhow::Result<Beside> {
        let mut robots = Vec::new();
        for (host, file) in &args.robots {
            let text = std::fs::read(file)
                .with_context(|| format!("could not read the robots.txt `{file}`"))?;
            robots.push((host.clone(), text));
        }
        let plan = match &args.plan {
            Some(file) => read_plan(open(file)?)
                .with_context(|| format!("could not read the plan `{file}`"))?,
            None => Vec::new(),
        };
        let notes = match &args.faults {
            Some(file) => read_faults(open(file)?)
                .with_context(|| format!("could not read the faults `{file}`"))?,
            None => Vec::new(),
        };
        Ok(Beside { robots, plan, notes })
    }

    /// The judge of one agent. The first few agents have more memory, because most logs have few
    /// agents that matter.
    fn judge(&self, manners: &Manners, product: &str, midway: bool, nth: u32) -> Judge {
        let product = Some(product).filter(|product| *product != "*").map(str::to_owned);
        let mut judge = Judge::new(Manners { product, ..manners.clone() });
        if nth > LARGE {
            judge = judge.with_urls_max(SMALL_URLS).with_verdicts_max(SMALL_URLS);
        }
        if midway {
            judge = judge.with_log_from_midway();
        }
        for (host, text) in &self.robots {
            judge = judge.with_robots(host, text);
        }
        judge = judge.with_plan(self.plan.iter().cloned());
        for note in &self.notes {
            judge.note(note);
        }
        judge
    }
}

fn network(text: &str) -> Result<IpNet, String> {
    let address = text.parse::<IpAddr>().map(|address| IpNet::from(address.to_canonical()));
    address
        .or_else(|_| text.parse::<IpNet>())
        .map_err(|_| "expected an address or a network, as in 192.0.2.7 or 192.0.2.0/24".to_owned())
}

fn format(name: &str) -> Result<LogFormat, String> {
    let names = || LogFormat::ALL.map(LogFormat::name).join(", ");
    LogFormat::named(name).ok_or_else(|| format!("expected one of {}", names()))
}

fn host_name(text: &str) -> Result<String, String> {
    match text.is_empty() || text.contains(['/', '@', '?', '#', ' ']) {
        true => Err("expected the name of a host, as in example.org".to_owned()),
        false => Ok(text.to_owned()),
    }
}

fn host_and_file(text: &str) -> Result<(String, String), String> {
    let (host, file) = text.split_once('=').unwrap_or(("*", text));
    Ok((host.to_owned(), file.to_owned()))
}

/// The policy of crawlers that promised nothing.
const NEUTRAL: &str = "neutral";
const DELAY: &str = "pace.delay";

/// Servers write a line when an answer ends; no exchange is expected to last longer than this.
const EXCHANGE_MAX: Duration = Duration::from_secs(600);
/// The lines of a CloudFront log are in no order.
const CLOUDFRONT: Duration = Duration::from_secs(86_400);
/// Exchanges that wait for their turn, at about 1 KB each.
const WAITING_MAX: usize = 1 << 17;

/// What the judge calls a host that a line doesn't name.
const UNNAMED_HOST: &str = "localhost";
/// Agents whose judges have their full memory, and the URLs that the others remember.
const LARGE: u32 = 4;
const SMALL_URLS: usize = 1 << 13;
const NAMES_SHOWN: usize = 10;

const HELP: &str = "\
Works on any crawler's log. Prints the first pair of lines that broke each rule, then a table of \
P0 to P17; what a log can't show is counted as not judged.

Examples:
  curtsy judge access.log --host example.org --robots robots.txt
      every agent of a combined log, each judged by itself
  curtsy judge access.log access.log.1 access.log.*.gz --agent GPTBot \\
      --robots robots.txt
      one agent, over rotated logs
  curtsy judge access.log --agent GPTBot --robots robots.txt --mail
      a mail to its operator, with the lines that show what happened
  curtsy judge access.log --from 192.0.2.0/24 --delay 1s
      one network, and at least a second between two requests
  curtsy judge examples/access.jsonl
  curtsy judge access.jsonl --policy my.toml --plan plan.jsonl \\
      --faults faults.jsonl --json

Reads JSON lines (curtsy's and nginx's), Caddy's JSON, the combined format with or without \
virtual host, IIS (W3C extended) and CloudFront. Agents are told apart by the name in their \
User-Agent, and by address if it has no contact. curtsy is held to `careful`, all others to what \
the site asks for: robots.txt, Crawl-delay, Retry-After, and --delay.

Exit codes: 0 no agent broke anything; 1 an agent did; 2 a wrong argument, nothing could be read, or no line was selected.";
