//! What a crawl is asked to do: plain data that every face fills in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use curtsy_core::policy::{Policy, Variables};
use curtsy_core::url::CrawlUrl;
use curtsy_engine::discover::DiscoverySpec;
use curtsy_fetch::Settings as Outlet;

/// A crawl.
#[derive(Clone, Debug)]
pub struct JobSpec {
    /// Where it begins.
    pub seeds: Vec<CrawlUrl>,
    /// Its manners.
    pub policy: Arc<Policy>,
    /// Who it says it is.
    pub user_agent: String,
    /// What it looks for besides the seeds.
    pub discovery: DiscoverySpec,
    /// Its way out.
    pub outlet: Outlet,
    /// The crawl's own file: what is queued, what is known.
    pub file: PathBuf,
    /// Where rows go besides the crawl's file.
    pub targets: Vec<Target>,
    /// The ledger of hosts.
    pub ledger: PathBuf,
    /// What the seeds are.
    pub seeds_are: SeedsAre,
    /// Whether the crawl begins anew, with the pages that it holds.
    pub again: bool,
    /// The command, for the record of runs.
    pub command: String,
}

/// What the seeds of a crawl are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedsAre {
    /// Pages.
    Pages,
    /// Sitemaps.
    Sitemaps,
}

/// Where rows go besides the crawl's own file, which always has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Nowhere else.
    Sqlite,
    /// JSON lines; `-` is the standard output.
    JsonLines(PathBuf),
    /// CSV.
    Csv(PathBuf),
}

impl Target {
    /// What a name given to `--into` means: its ending says it.
    pub fn of(into: &Path) -> Result<Target, String> {
        let ending = into.extension().and_then(|e| e.to_str()).unwrap_or_default();
        match ending {
            "db" | "sqlite" | "sqlite3" => Ok(Target::Sqlite),
            "jsonl" | "ndjson" => Ok(Target::JsonLines(into.to_owned())),
            "csv" => Ok(Target::Csv(into.to_owned())),
            _ if into == Path::new("-") => Ok(Target::JsonLines(into.to_owned())),
            _ => Err(format!(
                "`--into {}` has an ending that says nothing about its form\nhint: `.db` is a SQLite file, `.jsonl` JSON lines, `.csv` a table, `-` JSON lines on standard output",
                into.display()
            )),
        }
    }

    /// Whether the rows go to the standard output.
    pub fn is_stdout(&self) -> bool {
        matches!(self, Target::JsonLines(path) if path == Path::new("-"))
    }

    /// The crawl's own file for a target: itself, or beside it; for the standard output it is in `state`, and goes with the process.
    pub fn crawl_file(&self, into: &Path, state: &Path) -> PathBuf {
        match self {
            Target::Sqlite => into.to_owned(),
            target if target.is_stdout() => {
                state.join(format!("stdout-{}.crawl.db", std::process::id()))
            }
            Target::JsonLines(path) | Target::Csv(path) => {
                let mut name = path.as_os_str().to_owned();
                name.push(".crawl.db");
                PathBuf::from(name)
            }
        }
    }
}

/// Where what belongs to this user and machine is kept: `$XDG_STATE_HOME/curtsy`, or `~/.local/state/curtsy`.
pub fn state_dir(variables: &Variables) -> Option<PathBuf> {
    let given = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    given("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| given("HOME").map(|home| Path::new(home).join(".local/state")))
        .map(|state| state.join("curtsy"))
}
