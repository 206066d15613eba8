//! `curtsy zoo`: serves hosts that each misbehave in one way, for tests of any crawler.
//!
//! It listens on 127.66.0.0/16 only and needs no network.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use curtsy_core::policy::read_span;
use curtsy_lab::zoo::{CaseGroup, Zoo, ZooCase, ZooHost, ZooSeen, ZooSettings, cases};
use serde_json::{Value, json};

use super::ends::Ends;
use super::progress::counted;
use super::{Console, Exit};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ZooArgs {
    /// Only this case; repeatable
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,
    /// Only the cases of this group: control, coding, time, head, length, tls, http2, content,
    /// redirect, robots, sitemap, maze or refusal; repeatable
    #[arg(long, value_name = "GROUP", value_parser = group)]
    group: Vec<CaseGroup>,
    /// Prints the cases and serves nothing
    #[arg(long)]
    list: bool,
    /// The port of the plain hosts; 0 is any free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// The port of those that speak TLS; 0 is any free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    tls_port: u16,
    /// Writes the certificate of the zoo's authority to this file, for the crawler's `--ca-file`
    #[arg(long, value_name = "FILE")]
    ca_out: Option<PathBuf>,
    /// Writes the URLs to this file, one a line, for the crawler's `--from`
    #[arg(long, value_name = "FILE")]
    urls_out: Option<PathBuf>,
    /// Writes the access log to this file, as JSON lines that `curtsy judge` reads
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Ends after this time, as `60s`
    #[arg(long = "for", value_name = "SPAN", value_parser = span)]
    lasts: Option<Duration>,
    /// Prints the cases as JSON, one a line, and `{\"ready\":true,…}` at the end
    #[arg(long)]
    json: bool,
    /// Ends when stdin is closed too: for scripts that can't send a signal
    #[arg(long)]
    until_stdin_closes: bool,
}

pub(super) fn run(args: &ZooArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let chosen = chosen(args)?;
    if args.list {
        for case in &chosen {
            line(args, case, None, console)?;
        }
        return Ok(Exit::Fine);
    }
    // Signals are listened for before anybody is told that the zoo is open.
    let ends = Ends::listen()?;
    let settings = ZooSettings { log: args.log.clone(), port: args.port, tls_port: args.tls_port };
    let zoo = Zoo::open(chosen, settings)?;
    if let Some(path) = &args.ca_out {
        std::fs::write(path, zoo.ca_pem())
            .with_context(|| format!("could not write the certificate `{}`", path.display()))?;
    }
    if let Some(path) = &args.urls_out {
        let urls: String = zoo.hosts().iter().map(|host| format!("{}\n", host.url)).collect();
        std::fs::write(path, urls)
            .with_context(|| format!("could not write the URLs `{}`", path.display()))?;
    }
    for host in zoo.hosts() {
        line(args, &host.case, Some(host), console)?;
    }
    match args.json {
        true => writeln!(console.out, "{}", json!({"ready": true, "cases": zoo.hosts().len()}))?,
        false => writeln!(
            console.out,
            "ready: {}, Ctrl-C ends it",
            counted(zoo.hosts().len() as u64, "case")
        )?,
    }
    console.out.flush()?;
    ends.wait(args.until_stdin_closes, args.lasts)?;
    let seen = zoo.close().context("the zoo ended with an error")?;
    told(args, &seen, console)?;
    Ok(Exit::Fine)
}

/// The cases that were asked for.
fn chosen(args: &ZooArgs) -> anyhow::Result<Vec<ZooCase>> {
    let all = cases();
    for name in &args.case {
        if !all.iter().any(|case| case.name == name) {
            bail!("there is no case `{name}`\nhint: `curtsy zoo --list` prints them");
        }
    }
    let wanted = |case: &ZooCase| {
        args.case.is_empty() && args.group.is_empty()
            || args.case.iter().any(|name| name == case.name)
            || args.group.contains(&case.group)
    };
    Ok(all.into_iter().filter(wanted).collect())
}

/// One case, for a person or a program.
fn line(
    args: &ZooArgs,
    case: &ZooCase,
    host: Option<&ZooHost>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    if args.json {
        writeln!(console.out, "{}", in_json(case, host))?;
        return Ok(());
    }
    let place = host.map_or(case.group.name(), |host| host.url.as_str());
    writeln!(console.out, "{:<26} {place:<28} {}", case.name, case.does)?;
    writeln!(console.out, "{:<26} expected: {}", "", case.expect.to_string().replace('`', ""))?;
    Ok(())
}

fn in_json(case: &ZooCase, host: Option<&ZooHost>) -> Value {
    json!({
        "case": case.name,
        "group": case.group.name(),
        "url": host.map(|host| host.url.as_str()),
        "does": case.does,
        "expected": case.expect.to_string().replace('`', ""),
        "ends_by": case.deadline.name(),
        "requests_max": case.requests_max,
    })
}

/// Says what was seen.
fn told(args: &ZooArgs, seen: &ZooSeen, console: &mut Console<'_>) -> anyhow::Result<()> {
    let (exchanges, connections) = (seen.log.len(), seen.connections.len());
    let (exchanges, connections) =
        (counted(exchanges as u64, "exchange"), counted(connections as u64, "connection"));
    writeln!(console.err, "closed after {exchanges} on {connections}")?;
    if seen.stalls.count > 0 {
        writeln!(
            console.err,
            "the zoo itself was late {} times (longest {} ms): what it read then is marked `read_late`, and the judge leaves it out",
            seen.stalls.count,
            seen.stalls.longest.as_millis()
        )?;
    }
    if let Some(log) = &args.log {
        writeln!(console.err, "hint: curtsy judge {}", log.display())?;
    }
    Ok(())
}

fn group(text: &str) -> Result<CaseGroup, String> {
    CaseGroup::parse(text).ok_or_else(|| format!("expected one of {}", CaseGroup::WORDS.join(", ")))
}

fn span(text: &str) -> Result<Duration, String> {
    read_span(text).ok_or_else(|| "expected a span such as `60s` or `5m`".to_owned())
}

const HELP: &str = "\
Tests whether a crawler survives a hostile web, in three steps:
  1. curtsy zoo --ca-out ca.pem --urls-out urls.txt --log access.jsonl
      serves, and prints each case with its URL
  2. let the crawler fetch those URLs, in another terminal
  3. compare what it says of each with what is expected; then Ctrl-C, and:
      curtsy judge access.jsonl

With curtsy itself:
  curtsy crawl --from urls.txt --ca-file ca.pem --allow-net 127.66.0.0/16 \\
      --into zoo.db
  sqlite3 -readonly zoo.db \\
      'SELECT url, decision, error, http_status FROM decisions ORDER BY at'

More examples:
  curtsy zoo --list                          every case, and what is expected
  curtsy zoo --group tls --for 60s           certificates, for a minute
  curtsy zoo --case gzip-bomb --port 8066    one case

Each host has an address of its own and a good robots.txt, unless its case is about that. \
Listens on 127.66.0.0/16 only; no answer is longer than a gibibyte or lasts longer than two \
minutes.

Exit codes: 0 ended by Ctrl-C, SIGTERM, stdin or `--for`; 2 it could not serve.";
