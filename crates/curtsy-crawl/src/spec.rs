//! The order for a crawl: plain data that every face fills in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use curtsy_core::policy::{Origin, Policy, PolicyError, SettledPolicy, Variables, nearest};
use curtsy_core::url::{CrawlUrl, Scheme, parse_whatwg};
use curtsy_engine::Step;
use curtsy_engine::discover::DiscoverySpec;
use curtsy_fetch::FetchSettings as Outlet;
use curtsy_store::LedgerPlace;

use crate::{CrawlError, PageSharing, RouteChoices, SpecError, printable, shown_url};

/// A crawl.
#[derive(Clone, Debug)]
pub struct JobSpec {
    /// The seeds.
    pub seeds: Vec<CrawlUrl>,
    /// What the seeds are.
    pub seeds_are: SeedsAre,
    /// The policy.
    pub policy: Arc<Policy>,
    /// The `User-Agent`.
    pub user_agent: String,
    /// Which found URLs it takes.
    pub discovery: DiscoverySpec,
    /// Settings of the connections.
    pub outlet: Outlet,
    /// The ledger of hosts.
    pub ledger: LedgerPlace,
    /// Whether it uses the shared page cache.
    pub sharing: PageSharing,
    /// Requests that were sent before the crawl began, to choose between http and https.
    pub prelude: Prelude,
}

/// Requests that belong to a crawl and were sent before it began.
#[derive(Clone, Debug, Default)]
pub struct Prelude {
    /// The requests, for the crawl's evidence.
    pub steps: Vec<Step>,
    /// Their number by kind, as a report counts them.
    pub sent: [u64; 5],
}

impl JobSpec {
    /// Whether the job is one page without links or sitemaps.
    pub fn is_single(&self) -> bool {
        let [seed] = &self.seeds[..] else { return false };
        let DiscoverySpec { follow_links, follow_sitemaps, sitemaps_of_sites, .. } = self.discovery;
        let sitemaps = follow_sitemaps && !(sitemaps_of_sites && seed.path_and_query() != "/");
        self.seeds_are == SeedsAre::Pages && !follow_links && !sitemaps
    }

    /// Returns the file of the ledger.
    pub fn ledger_file(&self) -> Result<&Path, CrawlError> {
        self.ledger.file().ok_or_else(|| CrawlError::NoLedgerFile(self.ledger.to_string()))
    }
}

/// A crawl into a file, which can be resumed.
#[derive(Clone, Debug)]
pub struct FileSpec {
    /// The crawl's own file: frontier, known URLs and rows.
    pub file: PathBuf,
    /// Further targets of rows.
    pub targets: Vec<RowsTarget>,
    /// Where the crawl begins.
    pub begin: Begin,
    /// Whether further seeds are added to the crawl; otherwise they are refused.
    pub add: bool,
    /// The command, for the record of runs.
    pub command: String,
}

/// Where a crawl into a file begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begin {
    /// At the point where it was stopped, or at its seeds.
    #[default]
    GoOn,
    /// At its seeds, with the pages that the file holds: fresh pages are not requested, stale ones
    /// are revalidated.
    Again,
    /// As `Again`, but no page counts as fresh.
    Forced,
}

/// The parts of an order before their check.
#[derive(Clone, Debug)]
pub struct JobOrder {
    /// The seeds.
    pub seeds: Vec<CrawlUrl>,
    /// The policy.
    pub settled: SettledPolicy,
    /// Networks, names, proxies and certificates.
    pub way: RouteChoices,
    /// Which found URLs it takes. Seeds and product are filled in.
    pub discovery: DiscoverySpec,
    /// The ledger of hosts.
    pub ledger: LedgerPlace,
    /// Whether the page cache beside the ledger is used.
    pub sharing: PageSharing,
}

impl JobOrder {
    /// Checks the order, and returns the crawl. A crawl of strangers needs a contact.
    pub fn job(self) -> Result<JobSpec, SpecError> {
        let JobOrder { seeds, settled, way, discovery, ledger, sharing } = self;
        let mut policy = settled.policy;
        let mut outlet = way.settings(&policy);
        // Many names of the user's own machine may have many requests at once, unless the user
        // limits them.
        outlet.count_allowed = matches!(settled.origin["slots.per_address"], Origin::Said(_));
        if policy.identity.contact.is_none() && way.is_local(&seeds) && !discovery.check_external {
            // The user's own machine needs no contact. Without a contact, no other machine may be
            // reached.
            policy.identity.contact = Some("this-machine".to_owned());
            outlet.public = false;
        }
        let user_agent = policy
            .user_agent()
            .map_err(|missing| without_contact(missing, &seeds, discovery.check_external))?;
        Ok(JobSpec {
            user_agent,
            discovery: DiscoverySpec { seeds: seeds.clone(), ..discovery.under(&policy) },
            policy: Arc::new(policy),
            seeds,
            seeds_are: SeedsAre::Pages,
            outlet,
            ledger,
            sharing,
            prelude: Prelude::default(),
        })
    }
}

/// Adds to a missing contact the host that needs it, with `localhost` if the name looks like a typo
/// of that; or the flag that leads to other sites.
fn without_contact(
    mut missing: PolicyError,
    seeds: &[CrawlUrl],
    check_external: bool,
) -> PolicyError {
    let stranger = seeds.iter().map(CrawlUrl::host).find(|host| !host.names_this_machine());
    if let (None, true, [fault]) = (stranger, check_external, &mut missing.faults[..]) {
        fault.problem = format!("{}, and `--external` requests other sites", fault.problem);
    }
    let (Some(host), [fault]) = (stranger, &mut missing.faults[..]) else { return missing };
    fault.problem = format!("{}, and `{host}` is not this machine", fault.problem);
    if nearest(host.as_str(), ["localhost"].into_iter()).is_some() {
        let hint = fault.hint.take().unwrap_or_default();
        fault.hint = Some(format!("did you mean `localhost`? Otherwise {hint}"));
    }
    missing
}

/// Reads a seed as people write it: `example.org` is `https://example.org/`, and `localhost:8080`
/// is `http://localhost:8080/`, since few servers on the user's own machine speak TLS. A user name
/// or password is refused: a password is never sent because of a URL.
///
/// ```
/// use curtsy_crawl::seed;
/// assert_eq!(seed("example.org:8080/a").unwrap().as_str(), "https://example.org:8080/a");
/// assert_eq!(seed("localhost:8080").unwrap().as_str(), "http://localhost:8080/");
/// assert_eq!(seed("localhost:8443").unwrap().as_str(), "https://localhost:8443/");
/// assert_eq!(seed("http:/example.org").unwrap().as_str(), "http://example.org/");
/// assert!(seed("http//example.org").unwrap_err().to_string().contains("did you mean `http://"));
/// assert!(seed("file:/etc/passwd").is_err());
/// assert!(seed("/etc/passwd").is_err());
/// assert!(seed("https://me:secret@example.org/").is_err());
/// ```
pub fn seed(text: &str) -> Result<CrawlUrl, SpecError> {
    if text.starts_with(['/', '.', '~']) && !text.starts_with("//") {
        let text = printable(text);
        let why = format!(
            "it looks like the path of a file\nhint: `--from {text}` reads seeds from a file; `python3 -m http.server` serves a folder, which `curtsy crawl localhost:8000` crawls"
        );
        return Err(SpecError::Seed { text, why });
    }
    for scheme in ["http", "https"] {
        if let Some(rest) = text.strip_prefix(scheme).filter(|rest| rest.starts_with("//")) {
            let meant = shown_url(&format!("{scheme}:{rest}"));
            let why = format!("its scheme has no colon\nhint: did you mean `{meant}`?");
            return Err(SpecError::Seed { text: shown_url(text), why });
        }
    }
    if has_scheme(text) {
        return url(text, text);
    }
    let secure = url(&format!("https://{text}"), text)?;
    let plainly = secure.host().names_this_machine() && !secure.port().to_string().ends_with("443");
    if plainly { url(&format!("http://{text}"), text) } else { Ok(secure) }
}

/// Returns a seed with the scheme that [`seed`] did not choose; none if the text has one.
pub fn other_scheme(text: &str) -> Option<CrawlUrl> {
    if has_scheme(text) {
        return None;
    }
    let other = match seed(text).ok()?.scheme() {
        Scheme::Http => "https",
        Scheme::Https => "http",
    };
    url(&format!("{other}://{text}"), text).ok()
}

/// Returns the default file of a crawl that begins at this URL.
///
/// ```
/// use curtsy_crawl::{file_named_after, seed};
/// let name = |text: &str| file_named_after(&seed(text).unwrap()).display().to_string();
/// assert_eq!(name("https://example.org/a?b"), "example.org.db");
/// assert_eq!(name("localhost:8000"), "localhost-8000.db");
/// assert_eq!(name("http://[::1]:8000/"), "__1-8000.db");
/// ```
pub fn file_named_after(url: &CrawlUrl) -> PathBuf {
    let host = url.host().as_str().trim_matches(['[', ']']).replace(':', "_");
    match url.port() == url.scheme().default_port() {
        true => format!("{host}.db").into(),
        false => format!("{host}-{}.db", url.port()).into(),
    }
}

/// Parses a URL that a person wrote as `text`.
fn url(whole: &str, text: &str) -> Result<CrawlUrl, SpecError> {
    let read = parse_whatwg(None, whole);
    if read.is_ok_and(|read| !read.username().is_empty() || read.password().is_some()) {
        return Err(SpecError::Login { text: shown_url(text) });
    }
    let wrong = |why| SpecError::Seed { text: shown_url(text), why };
    CrawlUrl::parse(whole).map_err(|why| wrong(why.to_string()))
}

/// Whether a text begins with a scheme. `file:/x` does; `example.org:80` and `localhost:8080/x`
/// begin with a host and its port.
fn has_scheme(text: &str) -> bool {
    // URL parsers ignore these characters everywhere.
    let text: String = text.chars().filter(|c| !matches!(c, '\t' | '\r' | '\n')).collect();
    let Some((scheme, rest)) = text.trim_start().split_once(':') else { return false };
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-');
    let port = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(letters) && !is_port
}

/// What the seeds of a crawl are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedsAre {
    /// Pages.
    Pages,
    /// Sitemaps.
    Sitemaps,
    /// URLs whose robots.txt rules are requested.
    Rules,
}

/// A target of rows besides the crawl's own file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowsTarget {
    /// None.
    Sqlite,
    /// JSON lines; `-` is the standard output.
    JsonLines(PathBuf),
    /// CSV.
    Csv(PathBuf),
}

impl RowsTarget {
    /// Reads the target of `--into`: the file's extension decides.
    pub fn of(into: &Path) -> Result<RowsTarget, SpecError> {
        const KINDS: &str = "`.db` is a SQLite file, `.jsonl` JSON lines, `.csv` a table, `-` JSON lines on standard output";
        let wrong = |why: &str, hint: &str| {
            let (why, hint) = (why.to_owned(), format!("{hint}{KINDS}"));
            Err(SpecError::Into { path: into.to_owned(), why, hint })
        };
        if into == Path::new("-") {
            return Ok(RowsTarget::JsonLines(into.to_owned()));
        }
        if into.is_dir() {
            let file = into.join("crawl.db");
            return wrong(
                "that is a folder",
                &format!("name a file in it, as `{}`: ", file.display()),
            );
        }
        let ending = into.extension().and_then(|e| e.to_str()).unwrap_or_default();
        match ending.to_ascii_lowercase().as_str() {
            "db" | "sqlite" | "sqlite3" => Ok(RowsTarget::Sqlite),
            "jsonl" | "ndjson" => Ok(RowsTarget::JsonLines(into.to_owned())),
            "csv" => Ok(RowsTarget::Csv(into.to_owned())),
            "parquet" => wrong(
                "Parquet can't be written yet",
                "write `.jsonl` and let DuckDB convert it: `COPY (FROM 'pages.jsonl') TO 'pages.parquet'`; ",
            ),
            "warc" | "gz" | "zst" => wrong("WARC and packed files can't be written yet", ""),
            "duckdb" | "ddb" => wrong(
                "a database of DuckDB can't be written from here",
                "in DuckDB itself, `CRAWL (…) INTO pages` does (docs/reference/sql.md); ",
            ),
            "json" => wrong("one JSON document can't grow with a crawl", "did you mean `.jsonl`? "),
            "tsv" | "xlsx" | "xls" => wrong("that form can't be written", "did you mean `.csv`? "),
            "" => wrong("its name has no ending, so its form is not known", ""),
            _ => wrong("its ending says nothing about its form", ""),
        }
    }

    /// Whether the rows go to the standard output.
    pub fn is_stdout(&self) -> bool {
        matches!(self, RowsTarget::JsonLines(path) if path == Path::new("-"))
    }

    /// Returns the crawl's own file for a target: the target itself, or a file beside it. For the
    /// standard output the file is in `state`, and is removed with the process.
    pub fn crawl_file(&self, into: &Path, state: &Path) -> PathBuf {
        match self {
            RowsTarget::Sqlite => into.to_owned(),
            target if target.is_stdout() => {
                state.join(format!("stdout-{}.crawl.db", std::process::id()))
            }
            RowsTarget::JsonLines(path) | RowsTarget::Csv(path) => {
                let mut name = path.as_os_str().to_owned();
                name.push(".crawl.db");
                PathBuf::from(name)
            }
        }
    }
}

/// Returns the folder for the state of this user: `$XDG_STATE_HOME/curtsy`, or
/// `~/.local/state/curtsy`.
pub fn state_dir(variables: &Variables) -> Option<PathBuf> {
    let given = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    given("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| given("HOME").map(|home| Path::new(home).join(".local/state")))
        .map(|state| state.join("curtsy"))
}

/// Returns the default ledger of hosts, which all crawls of this user share.
pub fn ledger_file(variables: &Variables) -> Result<PathBuf, SpecError> {
    let said = variables.get("CURTSY_LEDGER").filter(|name| !name.is_empty()).map(PathBuf::from);
    let usual = || state_dir(variables).map(|state| state.join("hosts.db"));
    said.or_else(usual).ok_or(SpecError::NoLedger)
}
