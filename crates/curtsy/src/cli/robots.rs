//! `curtsy robots`: asks a robots.txt without asking a site.

use std::io::Read;
use std::time::Duration;

use anyhow::bail;
use clap::{Args, Subcommand};
use curtsy_core::policy::AgentMatch;
use curtsy_core::robots::{AgentGroup, AgentRules, ROBOTS_BYTES_MAX, Robots, UsageKind};
use curtsy_core::url::CrawlUrl;
use serde_json::{Value as Json, json};

use super::flags::{CONFIG, Flags};
use super::progress::{counted, size, span};
use super::{Console, Exit, printable, refusal};

#[derive(Debug, Args)]
pub(super) struct RobotsArgs {
    #[command(subcommand)]
    command: RobotsCommand,
}

#[derive(Debug, Subcommand)]
enum RobotsCommand {
    /// Say whether a URL may be fetched, and which line says so
    #[command(after_help = TEST_HELP)]
    Test(TestArgs),
    /// Print what a robots.txt says to an agent
    #[command(after_help = SHOW_HELP)]
    Show(ShowRobotsArgs),
}

#[derive(Debug, Args)]
struct AgentArgs {
    /// The product that asks, with or without a version [default: that of your crawls, by
    /// `curtsy.toml` and the environment: curtsy]
    #[arg(long, value_parser = product)]
    agent: Option<String>,
    /// Compare agents loosely: exact, then partial either way, then `*`
    #[arg(long)]
    loose: bool,
    #[command(flatten)]
    flags: Flags<CONFIG>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct TestArgs {
    /// The robots.txt; `-` is stdin
    file: String,
    /// URLs, or paths that begin with `/`
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,
    #[command(flatten)]
    agent: AgentArgs,
}

#[derive(Debug, Args)]
struct ShowRobotsArgs {
    /// The robots.txt; `-` is stdin
    file: String,
    #[command(flatten)]
    agent: AgentArgs,
}

pub(super) fn run(args: RobotsArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    match args.command {
        RobotsCommand::Test(args) => test(&args, console),
        RobotsCommand::Show(args) => show(&args, console),
    }
}

fn test(args: &TestArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let robots = read(&args.file)?;
    let asking = args.agent.asking(console)?;
    let rules = asking.rules(&robots);
    let mut outcome = Exit::Fine;
    let mut list = Vec::new();
    for url in &args.urls {
        let path = path_of(url)?;
        let answer = rules.decide(&path);
        if !answer.allowed {
            outcome = Exit::Refused;
        }
        let rule = answer.rule.and_then(|rule| Some((rule.line, robots.line_text(rule.line)?)));
        if args.agent.json {
            list.push(json!({
                "url": url,
                "allowed": answer.allowed,
                "rule": rule.as_ref().map(|(_, text)| text),
                "line": rule.as_ref().map(|(line, _)| line),
                "group": group_word(answer.group),
                "crawl_delay_seconds": rules.crawl_delay().map(|delay| delay.as_secs_f64()),
            }));
            continue;
        }
        let verdict = if answer.allowed { "allowed" } else { "disallowed" };
        let why = match (rule, answer.group) {
            (Some((line, text)), _) => format!("line {line}: {}", printable(&text)),
            (None, _) if path == "/robots.txt" => "robots.txt itself always is".to_owned(),
            (None, AgentGroup::None) => "no group speaks to this agent".to_owned(),
            (None, _) => "no rule matches".to_owned(),
        };
        writeln!(console.out, "{verdict:10}  {url}  ({why})")?;
    }
    if args.agent.json {
        writeln!(console.out, "{:#}", Json::from(list))?;
    } else if let Some(delay) = rules.crawl_delay() {
        writeln!(console.err, "note: the site asks for {} between requests", spoken(delay))?;
    }
    Ok(outcome)
}

fn show(args: &ShowRobotsArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let robots = read(&args.file)?;
    let asking = args.agent.asking(console)?;
    let rules = asking.rules(&robots);
    let sitemaps: Vec<_> = robots.sitemaps().collect();
    if args.agent.json {
        let usage = rules.usage().iter().map(|usage| {
            json!({ "line": usage.line, "kind": usage_word(usage.kind), "path": usage.path, "value": usage.value })
        });
        let json = json!({
            "agent": asking.product,
            "group": group_word(rules.group()),
            "crawl_delay_seconds": rules.crawl_delay().map(|delay| delay.as_secs_f64()),
            "sitemaps": sitemaps.iter().map(|(line, url)| json!({ "line": line, "url": url })).collect::<Vec<_>>(),
            "usage": usage.collect::<Vec<_>>(),
            "bytes": robots.text().len(),
            "truncated": robots.truncated(),
            "unknown_lines": robots.unknown_lines(),
            "looks_like_html": robots.looks_like_html(),
        });
        writeln!(console.out, "{json:#}")?;
        return Ok(Exit::Fine);
    }
    let out = &mut console.out;
    let group = match rules.group() {
        AgentGroup::Named => format!("groups that name `{}`", asking.product),
        AgentGroup::Star => "groups of `*`".to_owned(),
        AgentGroup::None => "no group: everything is allowed".to_owned(),
    };
    writeln!(out, "speaks to us   {group}")?;
    let delay = rules.crawl_delay().map_or_else(|| "none".to_owned(), spoken);
    writeln!(out, "crawl delay    {delay}")?;
    for (line, url) in sitemaps {
        writeln!(out, "sitemap        {} (line {line})", printable(&url))?;
    }
    for usage in rules.usage() {
        let path =
            usage.path.as_ref().map(|path| format!(" for {}", printable(path))).unwrap_or_default();
        let kind = usage_word(usage.kind);
        writeln!(out, "{kind:14} {}{path} (line {})", printable(&usage.value), usage.line)?;
    }
    writeln!(
        out,
        "size           {}, {}",
        counted(robots.text().len() as u64, "byte"),
        counted(robots.unknown_lines() as u64, "unknown line")
    )?;
    if robots.truncated() {
        writeln!(
            console.err,
            "note: only the first {} count (RFC 9309 §2.5)",
            size(ROBOTS_BYTES_MAX as u64)
        )?;
    }
    if robots.looks_like_html() {
        writeln!(console.err, "note: this looks like a page of HTML")?;
    }
    Ok(Exit::Fine)
}

/// Who asks, and how groups are compared with that name.
struct Asker {
    product: String,
    how: AgentMatch,
}

impl AgentArgs {
    /// Who asks: whom the flag names, else the product of the user's own crawls.
    fn asking(&self, console: &mut Console<'_>) -> anyhow::Result<Asker> {
        let settings = self.flags.0.clone().settings()?;
        let settled = settings.manners(settings.reach()?, console)?;
        console.warn(&settled.warnings)?;
        let policy = settled.policy;
        let product = self.agent.clone().unwrap_or_else(|| policy.product_token().to_owned());
        if let Some((token, rest)) = product.split_once('/')
            && rest.contains(['(', ' '])
        {
            // The way to write a whole header that names a crawler in its comment.
            console.note(&format!(
                "note: `{}` is compared, the product of this user agent; a crawler's own name stands alone, as in `--agent OttoBot`",
                printable(token)
            ))?;
        }
        let how = if self.loose { AgentMatch::Loose } else { policy.robots.agent_match };
        Ok(Asker { product, how })
    }
}

impl Asker {
    fn rules(&self, robots: &Robots) -> AgentRules {
        robots.for_agent(&self.product, self.how)
    }
}

/// Reads a robots.txt, a little more than counts so that the cut is seen.
fn read(file: &str) -> anyhow::Result<Robots> {
    let mut text = Vec::new();
    let limit = 2 * ROBOTS_BYTES_MAX as u64;
    let read = match file {
        "-" => std::io::stdin().lock().take(limit).read_to_end(&mut text),
        path => std::fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut text)),
    };
    read.map_err(|error| match file.contains("://") {
        true => refusal(
            "url",
            format!(
                "`{}` is a URL, and a file is read here: nothing is asked of a site\nhint: `curtsy get {0} | curtsy robots show -` fetches it; `curtsy explain URL` says what a crawl would do",
                printable(file)
            ),
        ),
        false => anyhow::Error::new(error)
            .context(format!("could not read the robots.txt `{file}`")),
    })?;
    Ok(Robots::parse(&text))
}

/// The part of a URL that robots.txt is asked about.
fn path_of(url: &str) -> anyhow::Result<String> {
    if url.starts_with('/') {
        let base = CrawlUrl::parse("http://site.invalid/")?;
        return Ok(base.join(url)?.path_and_query().to_owned());
    }
    match CrawlUrl::parse(url) {
        Ok(parsed) => Ok(parsed.path_and_query().to_owned()),
        // Some reasons bring a hint of their own.
        Err(error) if error.to_string().contains("\nhint:") => bail!("`{url}`: {error}"),
        Err(error) => {
            bail!("`{url}`: {error}\nhint: give a whole URL or a path that begins with `/`")
        }
    }
}

fn product(text: &str) -> Result<String, String> {
    let token = text.split('/').next().unwrap_or_default();
    let named = |b: u8| b.is_ascii_alphabetic() || b == b'-' || b == b'_';
    match !token.is_empty() && token.bytes().all(named) {
        true => Ok(text.to_owned()),
        false => {
            Err("expected a product token in letters, `-` and `_` (RFC 9309 §2.2.1)".to_owned())
        }
    }
}

fn spoken(delay: Duration) -> String {
    span(Duration::from_micros(curtsy_core::time::micros(delay)))
}

fn group_word(group: AgentGroup) -> &'static str {
    match group {
        AgentGroup::Named => "named",
        AgentGroup::Star => "star",
        AgentGroup::None => "none",
    }
}

fn usage_word(kind: UsageKind) -> &'static str {
    match kind {
        UsageKind::ContentUsage => "content-usage",
        UsageKind::ContentSignal => "content-signal",
    }
}

const TEST_HELP: &str = "\
Examples:
  curtsy robots test robots.txt https://example.org/private/diary
  curtsy robots test robots.txt /a /b --agent OttoBot --json
  curl -s https://example.org/robots.txt | curtsy robots test - /search?q=x

Exit codes: 0 all allowed; 1 at least one is disallowed; 2 not a URL, or no such file.";

const SHOW_HELP: &str = "\
Example:
  curtsy robots show examples/robots.txt --agent OttoBot

Exit codes: 0 shown; 2 no such file.";
