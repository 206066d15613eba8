//! The command line: what each command takes, what it prints, and the code that it ends with.
//!
//! Data goes to stdout, everything else to stderr. A command returns an [`Exit`]. An `Err` means
//! that the command could not do its part (a file does not exist), and ends like a wrong argument.

mod block;
mod cache;
mod columns;
mod config;
mod conformance;
mod crawl;
mod demo;
mod ends;
mod explain;
mod failure;
mod file;
mod flags;
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
mod report;
mod robots;
#[cfg(feature = "fleet")]
mod schedule;
#[cfg(feature = "serve")]
mod serve;
mod settings;
mod sim;
mod site;
mod sitemap;
mod why;
#[cfg(feature = "fleet")]
mod worker;
mod zoo;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use curtsy_core::policy::Variables;

use curtsy_crawl::{printable, shown_url};
pub use failure::CommandFailure;
#[cfg(not(all(feature = "fleet", feature = "serve")))]
use failure::NOT_BUILT;
use failure::{SETTINGS, refusal};
pub(crate) use progress::NOTE_MAX;
use progress::counted as count;

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "curtsy", version, about = ABOUT, after_help = AFTER_HELP, max_term_width = 110)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

// The line of each command fits into 80 columns beside its name: nothing is wrapped, and a test
// checks that.
#[derive(Debug, Subcommand)]
enum Command {
    /// Crawl sites into rows with evidence; the same command resumes
    Crawl(Box<crawl::CrawlArgs>),
    /// Watch a small site on this machine be crawled; needs no internet
    Demo(demo::DemoArgs),
    /// Write a commented `curtsy.toml`
    Init(init::InitArgs),
    /// Say how many pages a site lists, and how long they take
    #[command(after_help = sitemap::PLAN_HELP)]
    Plan(sitemap::PlanArgs),
    /// Say what a crawl would do with a URL now; the same as `why --now`
    Explain(Box<explain::ExplainArgs>),
    /// Ask a robots.txt whether a URL may be fetched
    Robots(robots::RobotsArgs),
    /// List the URLs of a site's sitemaps
    Sitemap(sitemap::SitemapArgs),
    /// Show, compare and check the manners of a crawl
    Policy(policy::PolicyArgs),
    /// Say why a URL was fetched or not, and all that was asked for it
    Why(Box<why::WhyArgs>),
    /// List the broken links of a site or a crawl, for you or for CI
    Links(Box<links::LinksArgs>),
    /// Ask nothing more of a host, in every crawl; list or lift that
    #[command(visible_alias = "stop")]
    Block(block::BlockArgs),
    /// Take rows out of a crawl's file, and a host out of the ledger
    Forget(forget::ForgetArgs),
    /// Print one page: from the page cache, or from the site
    Get(Box<get::GetArgs>),
    /// Show or empty the page cache that all crawls of a user share
    Cache(cache::CacheCommand),
    /// Work for a fleet: URLs and pages in Redis, events to Kafka
    #[cfg(feature = "fleet")]
    Worker(Box<worker::WorkerArgs>),
    /// Fill a fleet's queue: seeds from a file, whenever they are due
    #[cfg(feature = "fleet")]
    Schedule(schedule::ScheduleArgs),
    /// See how a fleet does; have it pause, drain or go on
    #[cfg(feature = "fleet")]
    Fleet(fleet::FleetArgs),
    /// Look through a fleet's dead letters; replay or purge them
    #[cfg(feature = "fleet")]
    Dlq(fleet::DlqArgs),
    /// Work for a fleet, over Redis and Kafka (not in this build)
    #[cfg(not(feature = "fleet"))]
    #[command(after_help = FLEET.help())]
    Worker(NotBuilt),
    /// Fill a fleet's queue from a file of seeds (not in this build)
    #[cfg(not(feature = "fleet"))]
    #[command(after_help = FLEET.help())]
    Schedule(NotBuilt),
    /// See how a fleet does, pause and drain it (not in this build)
    #[cfg(not(feature = "fleet"))]
    #[command(after_help = FLEET.help())]
    Fleet(NotBuilt),
    /// Look through a fleet's dead letters (not in this build)
    #[cfg(not(feature = "fleet"))]
    #[command(after_help = FLEET.help())]
    Dlq(NotBuilt),
    /// Serve an HTTP API and web pages that ingest business sites
    #[cfg(feature = "serve")]
    Serve(Box<serve::ServeArgs>),
    /// Serve an HTTP API and web pages (not in this build)
    #[cfg(not(feature = "serve"))]
    #[command(after_help = SERVICE.help())]
    Serve(NotBuilt),
    /// Read a server's access log and say which manners were broken
    Judge(judge::JudgeArgs),
    /// Serve scripted test sites on this machine, for any crawler
    Site(site::SiteArgs),
    /// Serve hosts that misbehave in every way, for any crawler
    Zoo(zoo::ZooArgs),
    /// Live days of a whole fleet in a simulated web, and judge them
    Sim(sim::SimArgs),
    /// Run files of independent facts against the core
    Conformance(conformance::ConformanceArgs),
    /// Print completions for a shell
    Completions(manual::CompletionsArgs),
    /// Print the manual page, or write all of them into a folder
    Man(manual::ManArgs),
}

/// The commands as `--help` shows them: what a newcomer needs first, the rest by what it is for.
const GROUPS: &[(&str, &[&str])] = &[
    ("Start here", &["crawl", "demo", "init"]),
    ("Before a crawl", &["plan", "explain", "robots", "sitemap", "policy"]),
    ("After a crawl", &["why", "links", "block", "forget", "get", "cache"]),
    ("Fleets and services", &["worker", "schedule", "fleet", "dlq", "serve"]),
    ("Testing crawlers", &["judge", "site", "zoo", "sim", "conformance"]),
    ("Shell", &["completions", "man", "help"]),
];

/// Whatever was asked of a part that was left out.
#[cfg(not(all(feature = "fleet", feature = "serve")))]
#[derive(Debug, clap::Args)]
struct NotBuilt {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _asked: Vec<String>,
}

/// A part that was left out of this build: what it is, and the feature that has it.
#[cfg(not(all(feature = "fleet", feature = "serve")))]
struct OptionalPart {
    what: &'static str,
    feature: &'static str,
}

#[cfg(not(feature = "fleet"))]
const FLEET: OptionalPart =
    OptionalPart { what: "the fleet, which needs librdkafka", feature: "fleet" };

#[cfg(not(feature = "serve"))]
const SERVICE: OptionalPart = OptionalPart { what: "the service", feature: "serve" };

#[cfg(not(all(feature = "fleet", feature = "serve")))]
impl OptionalPart {
    fn build(&self) -> String {
        format!("cargo build --release -p curtsy --features {}", self.feature)
    }

    fn help(&self) -> String {
        format!("This program was built without {}. To have it:\n  {}", self.what, self.build())
    }

    fn missing(&self) -> anyhow::Error {
        let text = format!("this program was built without {}\nhint: {}", self.what, self.build());
        refusal(NOT_BUILT, text)
    }
}

impl Cli {
    /// The command line, with help that shows the commands in groups.
    pub fn grouped() -> clap::Command {
        let command = Cli::command();
        let mut list = String::new();
        for (heading, names) in GROUPS {
            list.push_str(&format!("{heading}:\n"));
            for name in *names {
                let found = command.get_subcommands().find(|command| command.get_name() == *name);
                let about = found.and_then(|found| found.get_about().map(ToString::to_string));
                let about = about.unwrap_or_else(|| "Print the help of a command".to_owned());
                list.push_str(&format!("  {name:<12} {about}\n"));
            }
            list.push('\n');
        }
        let template =
            "{about}\n\n{usage-heading} {usage}\n\n{list}Options:\n{options}{after-help}";
        command.help_template(template.replace("{list}", &list))
    }

    /// Runs the command.
    pub fn run(self, console: &mut Console<'_>) -> anyhow::Result<Exit> {
        match self.command {
            Command::Crawl(args) => crawl::run(*args, console),
            Command::Demo(args) => demo::run(&args, console),
            Command::Why(args) => why::run(*args, console),
            Command::Plan(args) => sitemap::plan(args, console),
            Command::Sitemap(args) => sitemap::run(args, console),
            Command::Links(args) => links::run(*args, console),
            Command::Explain(args) => explain::run(*args, console),
            Command::Block(args) => block::run(&args, console),
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
            Command::Serve(_) => Err(SERVICE.missing()),
            #[cfg(not(feature = "fleet"))]
            Command::Worker(_) | Command::Schedule(_) | Command::Fleet(_) | Command::Dlq(_) => {
                Err(FLEET.missing())
            }
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
    /// Whether a program reads along (`--json`): then stderr has JSON lines too.
    pub json: bool,
}

impl Console<'_> {
    /// Says something beside the data.
    pub(crate) fn note(&mut self, text: &str) -> std::io::Result<()> {
        match self.json {
            true => writeln!(self.err, "{}", serde_json::json!({ "note": text })),
            false => writeln!(self.err, "{text}"),
        }
    }

    /// Says that the answer is no, and why: as an error for a program, as a sentence for a person.
    pub(crate) fn refuse(&mut self, failure: CommandFailure) -> std::io::Result<()> {
        match self.json {
            true => failure.tell_json(self.err),
            false => failure.tell(self.err, ""),
        }
    }

    /// Warns of something that does not keep the command from its work.
    pub(crate) fn warn(&mut self, warnings: &[String]) -> std::io::Result<()> {
        for warning in warnings {
            match self.json {
                true => writeln!(self.err, "{}", serde_json::json!({ "warning": warning }))?,
                false => writeln!(self.err, "warning: {warning}")?,
            }
        }
        Ok(())
    }
}

/// How a command ended, as its exit code tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
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
    /// The reader of the output closed it (`curtsy … | head`): 141, the shell's code for a closed
    /// pipe.
    Unread,
}

impl Exit {
    /// The same for whoever wanted one page: a crawl that is done without it could fetch nothing.
    fn or_nothing(self) -> Exit {
        if self == Exit::Fine { Exit::NothingFetched } else { self }
    }

    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Exit::Fine => 0,
            Exit::Refused => 1,
            Exit::Usage => 2,
            Exit::Waits => 3,
            Exit::NothingFetched => 4,
            Exit::OurSide => 5,
            Exit::Stopped => 130,
            Exit::Unread => 141,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(outcome: Exit) -> ExitCode {
        ExitCode::from(outcome.code())
    }
}

/// How many links are read of a page, as people write it.
fn links_max() -> String {
    let digits = curtsy_parse::html::PageLimits::default().links_max.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

const ABOUT: &str =
    "A crawl engine with manners: it asks sites the way their owners want, and can prove it";

const AFTER_HELP: &str = "\
Examples:
  curtsy demo
  curtsy crawl https://example.org/ --contact me@example.org
  curtsy why https://example.org/page
  curtsy robots test robots.txt /private/    which line decides
  curtsy judge access.log                    did a crawler behave?

Exit codes:
  0    done, and nothing is wrong
  1    done, and the answer is no: a refusal, a broken link, a violation
  2    not done: a wrong argument, or a file that can't be used
  3    a crawl has done what it could; what is left must wait
  4    a crawl ended and could fetch nothing
  5    our own side failed, such as a proxy that wants a password
  130  stopped by Ctrl-C or SIGTERM
  141  the reader of the output went away (`| head`)

Data goes to stdout, everything else to stderr. Most commands take `--json`: then stderr has \
JSON lines too, errors as `{\"error\":{\"code\",\"message\",\"hint\"}}`.";

#[cfg(test)]
mod tests {
    use super::*;

    /// Each command with its whole name, those below others too.
    fn commands(command: &clap::Command, name: &str, found: &mut Vec<(String, clap::Command)>) {
        for below in command.get_subcommands().filter(|c| c.get_name() != "help") {
            let name = format!("{name} {}", below.get_name());
            commands(below, &name, found);
            found.push((name, below.clone()));
        }
    }

    #[test]
    fn every_command_is_in_one_group_and_on_one_line() {
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let command = Cli::command();
        for name in command.get_subcommands().map(|command| command.get_name()) {
            assert_eq!(listed.iter().filter(|listed| **listed == name).count(), 1, "{name}");
        }
        listed.retain(|name| *name != "help" && command.find_subcommand(name).is_none());
        assert_eq!(listed, [""; 0], "listed and not there");
        let help = Cli::grouped().term_width(80).render_help().to_string();
        let long = help.lines().find(|line| line.chars().count() > 80);
        assert_eq!(long, None, "too long for 80 columns");
    }

    #[test]
    fn every_command_says_what_it_is_for_and_has_examples() {
        let mut found = Vec::new();
        commands(&Cli::command(), "curtsy", &mut found);
        assert!(found.len() > 25);
        for (name, command) in found {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.is_empty() && !about.contains('\n'), "{name}: {about}");
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let shows = help.contains("curtsy ") || help.contains("cargo build");
            let below = command.get_subcommands().next().is_some();
            let of_a_group = ["curtsy fleet", "curtsy dlq"].iter().any(|g| name.starts_with(g));
            assert!(shows || below || of_a_group, "{name} has no example");
        }
    }

    /// Text that is wrapped here and again by the terminal is hard to read. So prose is one line
    /// here, and lines that keep their form (examples, tables) are short.
    #[test]
    fn help_is_wrapped_once() {
        let mut found = vec![("curtsy".to_owned(), Cli::grouped())];
        commands(&Cli::command(), "curtsy", &mut found);
        for (name, command) in found {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<&str> = help.lines().collect();
            for pair in lines.windows(2) {
                let prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
                let torn = prose(pair[0]) && prose(pair[1]);
                assert!(!torn, "{name}: `{}` goes on in the next line", pair[0]);
            }
            for line in lines.iter().filter(|line| line.starts_with(' ')) {
                assert!(line.chars().count() < 80, "{name}: `{line}` is too long for 80 columns");
            }
        }
    }
}
