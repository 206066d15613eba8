//! `curtsy judge`: reads a server's access log and says which manners a crawler broke.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use curtsy_core::policy::{Layers, Origin, Reach};
use curtsy_crawl::Choice;
use curtsy_judge::{InStartOrder, Judge, Manners, Report, read_faults, read_log, read_plan};
use curtsy_sim::manners_of;
use flate2::bufread::MultiGzDecoder;

use super::{Console, Outcome, printable};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct JudgeArgs {
    /// The log: JSON lines, or the combined format of nginx and Apache, gzipped or not; `-` is stdin
    log: String,
    /// What the crawler promised: a preset or a policy file
    #[arg(long, default_value = "careful", value_name = "POLICY")]
    policy: String,
    /// The product that the user agent must name; else the first that the log shows
    #[arg(long, value_name = "PRODUCT")]
    agent: Option<String>,
    /// When work was waiting for a host, as JSON lines: without it liveness (P16) is not judged
    #[arg(long, value_name = "FILE")]
    plan: Option<String>,
    /// Crashes, store losses and stop orders, as JSON lines
    #[arg(long, value_name = "FILE")]
    faults: Option<String>,
    /// A host's robots.txt, for a log that doesn't hold it; may be given for several hosts
    #[arg(long, value_name = "HOST=FILE", value_parser = host_and_file)]
    robots: Vec<(String, String)>,
    /// The host of a log in the combined format, which often doesn't name one
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// The log begins in the middle of a crawl: what was asked before it is not missed
    #[arg(long)]
    midway: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &JudgeArgs, console: &mut Console<'_>) -> anyhow::Result<Outcome> {
    let choice = Choice::find(&args.policy)?;
    let layers = Layers { file: choice.file(), preset: choice.preset(), ..Layers::default() };
    // A log may come from inside an allowed net, where any delay goes; and what our own environment says is not what was promised.
    let settled = match layers.settle(Reach::AllowedNet) {
        Ok(settled) => settled,
        Err(error) => return super::policy::refuse(choice.name(), &error, console),
    };
    let mut manners = manners_of(&settled.policy);
    // A preset is judged by anybody's name; a policy file that names its product is held to it.
    if !matches!(settled.origin["identity.product"], Origin::Said(_)) {
        manners.product = None;
    }
    if let Some(agent) = &args.agent {
        manners.product = agent.split('/').next().map(str::to_owned);
    }
    let report = judge(args, manners)?;
    if report.exchanges == 0 {
        let first = report.unreadable_first.first().map(|line| format!(": {line}"));
        bail!("`{}` holds no exchange to judge{}", args.log, first.unwrap_or_default());
    }
    if args.json {
        writeln!(console.out, "{:#}", report.to_json())?;
    } else {
        let mut text = Vec::new();
        report.print(&mut text)?;
        for line in String::from_utf8_lossy(&text).lines() {
            // A log holds what strangers sent.
            writeln!(console.out, "{}", printable(line))?;
        }
    }
    Ok(if report.clean() { Outcome::Fine } else { Outcome::Refused })
}

fn judge(args: &JudgeArgs, manners: Manners) -> anyhow::Result<Report> {
    let mut judge = Judge::new(manners);
    if args.midway {
        judge = judge.with_log_from_midway();
    }
    for (host, file) in &args.robots {
        let text = std::fs::read(file)
            .with_context(|| format!("could not read the robots.txt `{file}`"))?;
        judge = judge.with_robots(host, &text);
    }
    if let Some(file) = &args.plan {
        judge = judge.with_plan(
            read_plan(open(file)?).with_context(|| format!("could not read the plan `{file}`"))?,
        );
    }
    if let Some(file) = &args.faults {
        let notes = read_faults(open(file)?)
            .with_context(|| format!("could not read the faults `{file}`"))?;
        for note in &notes {
            judge.note(note);
        }
    }
    let host: Option<Arc<str>> = args.host.as_deref().map(Arc::from);
    let mut order = InStartOrder::new(EXCHANGE_MAX);
    let mut lines = read_log(open(&args.log)?);
    while let Some(line) = lines.next() {
        judge.detail(lines.detail());
        match line {
            Ok(mut exchange) => {
                if let Some(host) = &host
                    && &*exchange.host == UNNAMED_HOST
                {
                    exchange.host = Arc::clone(host);
                }
                order.push(exchange);
            }
            Err(unreadable) => judge.unreadable(&unreadable),
        }
        while let Some(exchange) = order.pop() {
            judge.see(exchange);
        }
    }
    while let Some(exchange) = order.drain() {
        judge.see(exchange);
    }
    Ok(judge.finish())
}

/// Opens a file or stdin, and unpacks it if it is gzipped, as rotated logs are.
fn open(file: &str) -> anyhow::Result<Box<dyn BufRead>> {
    let mut reader: Box<dyn BufRead> = match file {
        "-" => Box::new(BufReader::new(io::stdin())),
        path => Box::new(BufReader::new(
            File::open(path).with_context(|| format!("could not read `{path}`"))?,
        )),
    };
    let start = reader.fill_buf().with_context(|| format!("could not read `{file}`"))?;
    match start.starts_with(&GZIP) {
        true => Ok(Box::new(BufReader::new(MultiGzDecoder::new(reader)))),
        false => Ok(reader),
    }
}

fn host_and_file(text: &str) -> Result<(String, String), String> {
    let (host, file) =
        text.split_once('=').ok_or("expected HOST=FILE, as in example.org=robots.txt")?;
    Ok((host.to_owned(), file.to_owned()))
}

/// Servers write a line when an answer ends; no exchange is expected to last longer than this.
const EXCHANGE_MAX: Duration = Duration::from_secs(600);

/// What the judge calls a host that a combined log doesn't name.
const UNNAMED_HOST: &str = "localhost";

const GZIP: [u8; 2] = [0x1f, 0x8b];

const HELP: &str = "\
Works on any crawler's log. Prints the first pair of lines that broke each rule, then a table of \
P0 to P17; what a log can't show is counted as not judged.

Examples:
  curtsy judge examples/access.jsonl
  curtsy judge access.log --host example.org --agent SomeBot \\
      --robots example.org=robots.txt
  curtsy judge access.jsonl --policy my.toml --plan plan.jsonl --json

Exit codes: 0 no violation; 1 manners were broken; 2 nothing could be read.";
