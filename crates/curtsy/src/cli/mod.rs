//! The command line: what each command takes, what it prints, and the code that it ends with.
//!
//! Data goes to stdout, everything else to stderr. A command answers with an [`Outcome`]; an `Err` means that it could not do
//! its part (a file that isn't there), and ends like a wrong argument.

mod cache;
mod config;
mod conformance;
mod crawl;
mod demo;
mod ends;
mod explain;
#[cfg(feature = "fleet")]
mod fleet;
mod forget;
mod get;
mod init;
mod judge;
mod links;
mod manual;
mod policy;
mod progress;
mod robots;
#[cfg(feature = "fleet")]
mod schedule;
#[cfg(feature = "serve")]
mod serve;
mod sim;
mod site;
mod sitemap;
mod stop;
mod why;
#[cfg(feature = "fleet")]
mod worker;
mod zoo;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use curtsy_core::policy::Variables;

use curtsy_crawl::{printable, shown_url};
pub(crate) use progress::NOTE_MAX;

/// A crawl engine with manners.
#[derive(Debug, Parser)]
#[command(name = "curtsy", version, about, after_help = AFTER_HELP, max_term_width = 110)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Crawl: seeds in, rows with evidence out; stopped or killed, the same command goes on
    Crawl(Box<crawl::CrawlArgs>),
    /// See what curtsy does: a small site on this machine, crawled, explained and judged; needs no internet
    Demo(demo::DemoArgs),
    /// Say why a URL was fetched or not, and everything that was asked on the way
    Why(why::WhyArgs),
    /// Say what crawling a site would take: how many pages, how long, which first; asks for robots.txt and sitemaps only
    Plan(sitemap::SiteArgs),
    /// Read a site's sitemaps
    Sitemap(sitemap::SitemapArgs),
    /// List broken links of a crawl, for a person or for CI
    Links(links::LinksArgs),
    /// Say what would be asked for a URL now, whether it is allowed, and when; sends nothing
    Explain(explain::ExplainArgs),
    /// Stop asking a host, in every crawl of this user; or lift that
    Stop(stop::StopArgs),
    /// Take rows out of a crawl's file, pages out of the page cache, and a host's history out of the ledger
    Forget(forget::ForgetArgs),
    /// Print one page: from the page cache if it may be used, else from the site
    Get(Box<get::GetArgs>),
    /// See or empty the page cache that all crawls of this user share
    Cache(cache::CacheCommand),
    /// Print completions for a shell
    Completions(manual::CompletionsArgs),
    /// Print the manual page, or write all of them into a folder
    Man(manual::ManArgs),
    /// Write a commented `curtsy.toml`
    Init(init::InitArgs),
    /// Show, compare and check the manners of a crawl
    Policy(policy::PolicyArgs),
    /// Ask a robots.txt whether a URL may be fetched
    Robots(robots::RobotsArgs),
    /// Read a server's access log and say which manners a crawler broke
    Judge(judge::JudgeArgs),
    /// Live days of a whole fleet in a simulated web, and judge them
    Sim(sim::SimArgs),
    /// Serve scripted test sites on loopback, and log what a crawler does with them
    Site(site::SiteArgs),
    /// Serve hosts that misbehave in every way there is, for any crawler to survive
    Zoo(zoo::ZooArgs),
    /// Run files of independent facts against the core
    Conformance(conformance::ConformanceArgs),
    /// Work for a fleet: URLs from Redis, pages to Redis, events to Kafka
    #[cfg(feature = "fleet")]
    Worker(Box<worker::WorkerArgs>),
    /// See how a fleet does; have it pause, drain or go on
    #[cfg(feature = "fleet")]
    Fleet(fleet::FleetArgs),
    /// Look through a fleet's dead letters; replay or purge them
    #[cfg(feature = "fleet")]
    Dlq(fleet::DlqArgs),
    /// Fill a fleet's queue: seeds from a file, whenever they are due
    #[cfg(feature = "fleet")]
    Schedule(schedule::ScheduleArgs),
    /// Serve an HTTP API and web pages: ingest small business sites into tiles, with evidence
    #[cfg(feature = "serve")]
    Serve(Box<serve::ServeArgs>),
    /// (This program was built without the service)
    #[cfg(not(feature = "serve"))]
    #[command(disable_help_flag = true)]
    Serve(LeftOut),
    /// (This program was built without the fleet)
    #[cfg(not(feature = "fleet"))]
    #[command(alias = "dlq", alias = "fleet", alias = "schedule", disable_help_flag = true)]
    Worker(LeftOut),
}

/// Whatever was asked of a part that was left out.
#[cfg(not(all(feature = "fleet", feature = "serve")))]
#[derive(Debug, clap::Args)]
struct LeftOut {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _asked: Vec<String>,
}

impl Cli {
    /// Runs the command.
    pub fn run(self, console: &mut Console<'_>) -> anyhow::Result<Outcome> {
        match self.command {
            Command::Crawl(args) => crawl::run(*args, console),
            Command::Demo(args) => demo::run(&args, console),
            Command::Why(args) => why::run(&args, console),
            Command::Plan(args) => sitemap::plan(args, console),
            Command::Sitemap(args) => sitemap::run(args, console),
            Command::Links(args) => links::run(&args, console),
            Command::Explain(args) => explain::run(args, console),
            Command::Stop(args) => stop::run(&args, console),
            Command::Forget(args) => forget::run(&args, console),
            Command::Get(args) => get::run(*args, console),
            Command::Cache(args) => cache::run(&args, console),
            Command::Completions(args) => manual::completions(&args, console),
            Command::Man(args) => manual::man(&args, console),
            Command::Init(args) => init::run(&args, console),
            Command::Policy(args) => policy::run(args, console),
            Command::Robots(args) => robots::run(args, console),
            Command::Judge(args) => judge::run(&args, console),
            Command::Sim(args) => sim::run(&args, console),
            Command::Site(args) => site::run(&args, console),
            Command::Zoo(args) => zoo::run(&args, console),
            Command::Conformance(args) => conformance::run(&args, console),
            #[cfg(feature = "fleet")]
            Command::Worker(args) => worker::run(&args, console),
            #[cfg(feature = "fleet")]
            Command::Fleet(args) => fleet::run(&args, console),
            #[cfg(feature = "fleet")]
            Command::Dlq(args) => fleet::dlq(&args, console),
            #[cfg(feature = "fleet")]
            Command::Schedule(args) => schedule::run(&args, console),
            #[cfg(feature = "serve")]
            Command::Serve(args) => serve::run(&args, console),
            #[cfg(not(feature = "serve"))]
            Command::Serve(_) => anyhow::bail!(
                "this program was built without the service\nhint: cargo run --release -p curtsy --features serve -- serve --demo"
            ),
            #[cfg(not(feature = "fleet"))]
            Command::Worker(_) => anyhow::bail!(
                "this program was built without the fleet, which needs librdkafka\nhint: cargo build --release -p curtsy --features fleet"
            ),
        }
    }
}

/// Where a command prints, and the variables that it may read.
pub struct Console<'a> {
    /// Data.
    pub out: &'a mut dyn Write,
    /// Everything else.
    pub err: &'a mut dyn Write,
    /// The process's variables.
    pub variables: Variables,
}

/// How a command ended, as its exit code tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done, and nothing is wrong: 0.
    Fine,
    /// Done, and the answer is no: a violation, a refusal, a check that failed: 1.
    Refused,
    /// Not done: a wrong argument or a file that can't be read: 2.
    Usage,
    /// A crawl has done what it could; what is left must wait: 3.
    Waits,
    /// A crawl ended and could fetch nothing: 4.
    NothingFetched,
    /// Our own side failed, such as a proxy that wants a password: 5.
    OurSide,
    /// A crawl was told to stop: 130, as shells say for Ctrl-C.
    Stopped,
}

impl Outcome {
    /// The same for whoever wanted one page: a crawl that is done without it could fetch nothing.
    fn or_nothing(self) -> Outcome {
        if self == Outcome::Fine { Outcome::NothingFetched } else { self }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        ExitCode::from(match outcome {
            Outcome::Fine => 0,
            Outcome::Refused => 1,
            Outcome::Usage => 2,
            Outcome::Waits => 3,
            Outcome::NothingFetched => 4,
            Outcome::OurSide => 5,
            Outcome::Stopped => 130,
        })
    }
}

const AFTER_HELP: &str = "\
Examples:
  curtsy policy show careful                  every field of the default policy, with its meaning
  curtsy policy diff audit fleet              what two presets don't share
  curtsy robots test robots.txt /private/     may this be fetched, and which line says so
  curtsy judge access.jsonl                   which manners a crawler broke, by the server's own log
  curtsy site --moods mixed --log log.jsonl   thirty moody test sites on loopback, for any crawler
  curtsy zoo --list                           every way in which a server can misbehave, and what a crawler should make of it
  curtsy sim --days 10                        ten days of a fleet in a simulated web, faults and all

Exit codes: 0 fine; 1 a violation, a refusal or a failed check; 2 a wrong argument or an unreadable file.
Data goes to stdout, everything else to stderr. Most commands take --json.";
