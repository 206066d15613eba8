//! Reads a call's options, the session's settings and the policy into a crawl.

use std::collections::BTreeMap;
use std::path::PathBuf;

use curtsy_core::policy::{FlagValue, Layers, Preset, Reach, Variables, nearest};
use curtsy_core::url::CrawlUrl;
use curtsy_crawl::{JobOrder, JobSpec, PageSharing, PolicyChoice, RouteChoices, ledger_file, seed};
use curtsy_engine::discover::{Discovery, DiscoverySpec, Scope};
use curtsy_fetch::{IpNet, NamePin};
use curtsy_store::{Ledger, Options as StoreOptions, SystemClock};
use url::Url;

use crate::duck::{Argument, Bind, NamedParameter, SqlError};

/// The largest number of worker threads.
const THREADS_MAX: i64 = 32;
/// The default number of connections.
const CONNECTIONS: &str = "32";
/// How long a query waits for hosts that must wait, unless its option says otherwise. A policy does
/// not count, because a person waits for the query.
const PATIENCE: &str = "1m";

/// The options of every crawl, as named parameters and after `WITH`.
pub(crate) const OPTIONS: &[NamedParameter] = &[
    NamedParameter("threads", "worker threads, 1 to 32; DuckDB's setting threads"),
    NamedParameter("max_total_connections", "open connections at once; 32"),
    NamedParameter("max_parallel_per_domain", "requests in flight on one host; 2"),
    NamedParameter("follow_links", "follow the links of pages; false"),
    NamedParameter("max_crawl_depth", "links followed from a seed; 10"),
    NamedParameter("max_crawl_pages", "pages fetched at most; 10000"),
    NamedParameter("respect_nofollow", "do not follow links marked nofollow; true"),
    NamedParameter("follow_canonical", "follow the canonical URL that a page names; true"),
    NamedParameter(
        "accept_content_types",
        "content types to keep, as 'text/*, application/json'; all",
    ),
    NamedParameter("reject_content_types", "content types to discard; none"),
    NamedParameter("max_response_bytes", "a larger response is an error; 10485760"),
    NamedParameter("compress", "accept compressed answers; true"),
    NamedParameter("cache", "use the page cache that all crawls of this user share; true"),
    NamedParameter(
        "update_stale",
        "fetch pages again that the table already holds and that may have changed; false",
    ),
    NamedParameter(
        "max_retry_backoff_seconds",
        "the longest wait that the crawler chooses itself; 600",
    ),
    NamedParameter("user_agent", "your crawler's name, as product/version"),
    NamedParameter("policy", "a preset or a policy file; warehouse"),
    NamedParameter("contact", "where a site owner reaches you; the setting curtsy_contact"),
    NamedParameter(
        "delay",
        "the least time between two requests to a host, as '500ms'; the policy's",
    ),
    NamedParameter(
        "sitemaps",
        "read sitemaps: of whole sites (by default), of every host (true), of none (false)",
    ),
    NamedParameter("scope", "how far links lead: host, subdomains, prefix, everywhere; host"),
    NamedParameter("include", "only found URLs that match, as '/blog/*'; all"),
    NamedParameter("exclude", "skip found URLs that match; none"),
    NamedParameter("patience", "how long to wait for hosts that must wait, as '10m'; 1m"),
];

/// The options of a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct GivenOptions(BTreeMap<String, Argument>);

impl GivenOptions {
    /// Returns the named parameters of a call.
    pub(crate) fn of_call(bind: &Bind<'_>) -> GivenOptions {
        let given = OPTIONS.iter().filter_map(|NamedParameter(name, _)| {
            Some(((*name).to_owned(), bind.named(name).filter(|value| *value != Argument::Null)?))
        });
        GivenOptions(given.collect())
    }

    /// Returns the options after `WITH`.
    pub(crate) fn of_statement(given: Vec<(String, Argument)>) -> Result<GivenOptions, SqlError> {
        let mut options = BTreeMap::new();
        for (name, value) in given {
            let name = name.to_ascii_lowercase();
            if !OPTIONS.iter().any(|NamedParameter(known, _)| *known == name) {
                return Err(SqlError::from(unknown(&name)));
            }
            options.insert(name, value);
        }
        Ok(GivenOptions(options))
    }

    /// Returns a boolean option.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, SqlError> {
        self.read(name, "true or false", |value| match value {
            Argument::Boolean(flag) => Some(*flag),
            Argument::Integer(0) => Some(false),
            Argument::Integer(1) => Some(true),
            Argument::Text(text) => match text.to_ascii_lowercase().as_str() {
                "true" | "on" | "yes" | "1" => Some(true),
                "false" | "off" | "no" | "0" => Some(false),
                _ => None,
            },
            _ => None,
        })
    }

    /// Returns an option that is a natural number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, SqlError> {
        self.read(name, "a whole number that is not negative", |value| {
            let number = match value {
                Argument::Integer(number) => Some(*number),
                Argument::Text(text) => text.trim().parse().ok(),
                _ => None,
            };
            number.filter(|number| *number >= 0)
        })
    }

    /// Returns an option that is a text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, SqlError> {
        self.read(name, "a text", |value| match value {
            Argument::Text(text) => Some(text.clone()),
            Argument::Integer(number) => Some(number.to_string()),
            _ => None,
        })
    }

    /// Returns an option with several texts: a list, or one text with commas.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<String>, SqlError> {
        let given =
            self.read(name, "a text with commas, or a list of texts", |value| match value {
                Argument::Text(text) => Some(split(text)),
                Argument::List(list) => {
                    list.iter().map(|value| value.as_text().map(str::to_owned)).collect()
                }
                _ => None,
            })?;
        Ok(given.unwrap_or_default())
    }

    fn read<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl Fn(&Argument) -> Option<T>,
    ) -> Result<Option<T>, SqlError> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        let wrong = || format!("option `{name}` is {}, expected {expected}", value.describe());
        read(value).map(Some).ok_or_else(|| SqlError(wrong()))
    }
}

/// Splits a text at commas. Also reads `['a','b']`, which is how the statement passes a list.
fn split(text: &str) -> Vec<String> {
    let text = text.trim();
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let parts = inner.split(',').map(|part| part.trim().trim_matches('\'').trim().to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

fn unknown(name: &str) -> String {
    let names = || OPTIONS.iter().map(|NamedParameter(name, _)| *name);
    let hint = match nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("options are {}", names().collect::<Vec<_>>().join(", ")),
    };
    format!("CRAWL has no option `{name}`\nhint: {hint}")
}

/// The session's settings that a crawl reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionSettings(BTreeMap<&'static str, Argument>);

impl SessionSettings {
    const NAMES: [&str; 12] = [
        "threads",
        "http_timeout",
        "http_keep_alive",
        "http_proxy",
        "http_proxy_username",
        "http_proxy_password",
        "curtsy_contact",
        "curtsy_policy",
        "curtsy_allow_net",
        "curtsy_resolve",
        "curtsy_ca_file",
        "curtsy_ledger",
    ];

    /// Returns the settings of the caller.
    pub(crate) fn of(bind: &Bind<'_>) -> SessionSettings {
        let read = |name: &&'static str| Some((*name, bind.setting(name)?));
        SessionSettings(Self::NAMES.iter().filter_map(read).collect())
    }

    /// Returns a text that is not empty.
    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_text().map(str::trim).filter(|text| !text.is_empty())
    }

    fn number(&self, name: &str) -> Option<i64> {
        match self.0.get(name)? {
            Argument::Integer(number) => Some(*number),
            Argument::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// Returns the networks, names, proxy and certificates of the session.
    fn way(&self) -> Result<RouteChoices, SqlError> {
        let mut way = RouteChoices::default();
        for net in parts(self.text("curtsy_allow_net").unwrap_or_default()) {
            way.allow_net.push(net.parse::<IpNet>().map_err(|_| {
                SqlError::from(format!(
                    "`{net}` in the setting curtsy_allow_net is no network\nhint: write `127.0.0.0/8`"
                ))
            })?);
        }
        for pin in pins_in(self.text("curtsy_resolve").unwrap_or_default()) {
            way.pins.push(pin.parse::<NamePin>().map_err(sql_error)?);
        }
        if let Some(proxy) = self.text("http_proxy") {
            way.through(&self.with_login(proxy)).map_err(sql_error)?;
        }
        if let Some(file) = self.text("curtsy_ca_file") {
            way.trust(file.as_ref()).map_err(sql_error)?;
        }
        Ok(way)
    }

    /// Returns the address of the proxy with its user and password.
    fn with_login(&self, proxy: &str) -> String {
        let whole = match proxy.contains("://") {
            true => proxy.to_owned(),
            false => format!("http://{proxy}"),
        };
        let (Some(user), Ok(mut url)) = (self.text("http_proxy_username"), Url::parse(&whole))
        else {
            return whole;
        };
        // Fails for an address without a host, which is refused where the address is read.
        let _ = url.set_username(user);
        let _ = url.set_password(self.text("http_proxy_password"));
        url.to_string()
    }

    /// Returns the file of the ledger of hosts.
    fn ledger(&self, variables: &Variables) -> Result<PathBuf, SqlError> {
        match self.text("curtsy_ledger") {
            Some(path) => Ok(PathBuf::from(path)),
            None => ledger_file(variables).map_err(|e| {
                SqlError::from(format!("{e}\nhint: SET curtsy_ledger = '/path/hosts.db'"))
            }),
        }
    }
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ';', ' ']).map(str::trim).filter(|part| !part.is_empty())
}

/// Splits pins of names: `a.test=127.0.0.1, *.b.test=127.0.0.2,127.0.0.3`.
fn pins_in(text: &str) -> Vec<String> {
    let mut pins: Vec<String> = Vec::new();
    for part in parts(text) {
        match pins.last_mut() {
            // A further address of the same name.
            Some(pin) if !part.contains('=') => {
                pin.push(',');
                pin.push_str(part);
            }
            _ => pins.push(part.to_owned()),
        }
    }
    pins
}

/// A crawl that a query ordered.
#[derive(Clone, Debug)]
pub(crate) struct CrawlOrder {
    pub(crate) job: JobSpec,
    /// Worker threads.
    pub(crate) threads: usize,
    /// Whether pages that the table holds are refetched.
    pub(crate) update_stale: bool,
}

impl CrawlOrder {
    /// Permits requests to a host of this machine if the call names it as its one URL
    /// (`crawl('http://localhost:8000/')`). A list or a query may contain data of others, and
    /// permits nothing.
    pub(crate) fn naming(mut self, argument: &Argument) -> CrawlOrder {
        if let Argument::Text(_) = argument {
            let mut way = RouteChoices::default();
            self.job.seeds.iter().for_each(|url| way.name(url));
            self.job.outlet.named = way.named;
        }
        self
    }

    /// Opens the ledger of hosts.
    pub(crate) fn open_ledger(&self) -> Result<Ledger<SystemClock>, SqlError> {
        let file = self.job.ledger_file().map_err(sql_error)?;
        Ledger::open(file, SystemClock, StoreOptions::default().quiet).map_err(sql_error)
    }
}

/// Reads options and settings into a crawl of these seeds.
pub(crate) fn order(
    options: &GivenOptions,
    session: &SessionSettings,
    seeds: Vec<CrawlUrl>,
) -> Result<CrawlOrder, SqlError> {
    let variables: Variables = std::env::vars().collect();
    let name = options.text("policy")?;
    let choice = match name.as_deref().or(session.text("curtsy_policy")) {
        Some(name) => PolicyChoice::find(name).map_err(sql_error)?,
        None => PolicyChoice::Preset(Preset::Warehouse),
    };
    let flags = flags(options, session, &choice)?;
    let flags: Vec<FlagValue<'_>> =
        flags.iter().map(|(flag, key, value)| FlagValue { flag, key, value }).collect();
    let layers = Layers {
        file: choice.file(),
        environment: Some(&variables),
        preset: choice.preset(),
        flags: &flags,
        ..Layers::default()
    };
    let way = session.way()?;
    let reach = if way.allow_net.is_empty() { Reach::Public } else { Reach::AllowedNet };
    let update_stale = options.flag("update_stale")?.unwrap_or(false);
    let sitemaps = options.flag("sitemaps")?;
    let discovery = DiscoverySpec {
        scope: match options.text("scope")? {
            Some(scope) => scope.parse::<Scope>().map_err(sql_error)?,
            None => Scope::default(),
        },
        include: options.texts("include")?,
        exclude: options.texts("exclude")?,
        follow_links: options.flag("follow_links")?.unwrap_or(false),
        respect_nofollow: options.flag("respect_nofollow")?.unwrap_or(true),
        follow_canonical: options.flag("follow_canonical")?.unwrap_or(true),
        follow_sitemaps: sitemaps.unwrap_or(true),
        sitemaps_of_sites: sitemaps.is_none() && !update_stale,
        ..DiscoverySpec::default()
    };
    // Reports a wrong pattern before the crawl begins.
    Discovery::new(discovery.clone()).map_err(sql_error)?;
    let settled = layers.settle(reach).map_err(sql_error)?;
    let ledger = session.ledger(&variables)?.into();
    let sharing = match options.flag("cache")?.unwrap_or(true) {
        true => PageSharing::default(),
        false => PageSharing::Off,
    };
    let mut job =
        JobOrder { seeds, settled, way, discovery, ledger, sharing }.job().map_err(sql_error)?;
    job.outlet.compress = options.flag("compress")?.unwrap_or(true);
    if session.0.get("http_keep_alive") == Some(&Argument::Boolean(false)) {
        job.outlet.idle_per_authority = 0;
    }
    let threads = options.number("threads")?.or(session.number("threads")).unwrap_or(1);
    Ok(CrawlOrder { job, threads: threads.clamp(1, THREADS_MAX) as usize, update_stale })
}

/// Returns options and settings as fields of the policy: the name that the user knows, the field,
/// and its value.
fn flags(
    options: &GivenOptions,
    session: &SessionSettings,
    choice: &PolicyChoice,
) -> Result<Vec<(&'static str, &'static str, String)>, SqlError> {
    let mut flags: Vec<(&'static str, &'static str, String)> = Vec::new();
    // Each option, the fields that it sets, and the unit of its number.
    for (option, keys, unit) in [
        ("max_parallel_per_domain", &["slots.per_host"][..], ""),
        ("max_total_connections", &["slots.total_connections"], ""),
        ("max_crawl_depth", &["budget.depth"], ""),
        ("max_crawl_pages", &["budget.pages"], ""),
        ("max_response_bytes", &["body.decoded_max"], "B"),
        ("max_retry_backoff_seconds", &["retry.curve.cap", "backoff.curve.cap"], "s"),
    ] {
        if let Some(number) = options.number(option)? {
            flags.extend(keys.iter().map(|key| (option, *key, format!("{number}{unit}"))));
        } else if option == "max_total_connections" && choice.file().is_none() {
            // A policy file of the user sets its own number.
            flags.push((option, keys[0], CONNECTIONS.to_owned()));
        }
    }
    let types = |option| {
        let types = options.texts(option)?;
        Ok::<_, SqlError>((!types.is_empty()).then(|| types.join(",")))
    };
    let contact = options.text("contact")?;
    let contact = contact.or(session.text("curtsy_contact").map(str::to_owned));
    for (name, key, value) in [
        ("user_agent", "identity.product", options.text("user_agent")?),
        ("delay", "pace.delay", options.text("delay")?),
        ("patience", "patience", options.text("patience")?.or(Some(PATIENCE.to_owned()))),
        ("curtsy_contact", "identity.contact", contact),
        ("accept_content_types", "body.accept", types("accept_content_types")?),
        ("reject_content_types", "body.reject", types("reject_content_types")?),
    ] {
        flags.extend(value.map(|value| (name, key, value)));
    }
    if let Some(seconds) = session.number("http_timeout") {
        let seconds = seconds.max(1);
        let keys = ["timeout.first_byte", "timeout.whole", "timeout.connect", "timeout.tls"];
        // Presets allow at most 5 s to connect.
        for key in keys.into_iter().take(if seconds < 5 { 4 } else { 2 }) {
            flags.push(("http_timeout", key, format!("{seconds}s")));
        }
    }
    Ok(flags)
}

/// The seeds of a crawl, and the texts that are not URLs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seeds {
    pub(crate) urls: Vec<CrawlUrl>,
    /// Each gets a row that says so.
    pub(crate) malformed: Vec<String>,
}

impl Seeds {
    /// Reads the seeds in an argument: one text, or a list of texts. NULL in a list is skipped.
    pub(crate) fn of(argument: &Argument) -> Result<Seeds, SqlError> {
        let mut seeds = Seeds::default();
        match argument {
            Argument::Text(text) => seeds.urls.push(seed(text.trim()).map_err(sql_error)?),
            Argument::List(list) => list.iter().try_for_each(|value| seeds.add(value))?,
            Argument::Null => return Err(SqlError::from("nothing to crawl: the URL is NULL")),
            other => {
                return Err(SqlError::from(format!(
                    "{} is no URL\nhint: give a text, or a list of texts: ['https://example.org/']",
                    other.describe()
                )));
            }
        }
        Ok(seeds)
    }

    /// Reads the seeds in an argument, and refuses a text that is not a URL.
    pub(crate) fn all(argument: &Argument) -> Result<Seeds, SqlError> {
        let seeds = Seeds::of(argument)?;
        if let Some(text) = seeds.malformed.first() {
            seed(text.trim()).map_err(sql_error)?;
        }
        if seeds.urls.is_empty() { Err(SqlError::from("there is no URL")) } else { Ok(seeds) }
    }

    /// Adds a value.
    pub(crate) fn add(&mut self, value: &Argument) -> Result<(), SqlError> {
        match value {
            Argument::Text(text) => match seed(text.trim()) {
                Ok(url) => self.urls.push(url),
                Err(_) => self.malformed.push(text.clone()),
            },
            Argument::Null => {}
            other => {
                return Err(SqlError(format!("{} is no URL: expected a text", other.describe())));
            }
        }
        Ok(())
    }
}

/// Returns an error in the words of SQL: a flag of the command line is an option or a setting here.
pub(crate) fn sql_error(error: impl std::fmt::Display) -> SqlError {
    let mut text = error.to_string();
    for (there, here) in [
        ("flag `", "option `"),
        ("`--contact me@example.org`", "`SET curtsy_contact = 'me@example.org'`"),
        ("`--allow-net", "`curtsy_allow_net"),
        ("`--ca-file`", "`curtsy_ca_file`"),
        ("`--ledger", "`curtsy_ledger"),
    ] {
        text = text.replace(there, here);
    }
    SqlError(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(texts: &[(&'static str, &str)]) -> SessionSettings {
        SessionSettings(texts.iter().map(|(k, v)| (*k, Argument::Text((*v).into()))).collect())
    }

    fn of(given: &[(&str, &str)]) -> Result<CrawlOrder, SqlError> {
        let given =
            given.iter().map(|(name, value)| ((*name).into(), Argument::Text((*value).into())));
        let options = GivenOptions::of_statement(given.collect())?;
        order(
            &options,
            &session(&[("curtsy_ledger", "hosts.db")]),
            vec![seed("http://127.0.0.1/").unwrap()],
        )
    }

    #[test]
    fn options_are_fields_of_the_policy() {
        let CrawlOrder { job, threads, update_stale } = of(&[
            ("threads", "99"),
            ("max_total_connections", "7"),
            ("max_parallel_per_domain", "3"),
            ("max_crawl_depth", "4"),
            ("MAX_CRAWL_PAGES", "50"),
            ("max_response_bytes", "2097152"),
            ("max_retry_backoff_seconds", "90"),
            ("accept_content_types", "text/*, application/json"),
            ("reject_content_types", "['text/css', 'text/csv']"),
            ("update_stale", "true"),
            ("compress", "off"),
        ])
        .unwrap();
        let policy = &job.policy;
        assert_eq!((threads, update_stale, job.outlet.compress), (32, true, false));
        assert_eq!((policy.slots.total_connections, policy.slots.per_host), (7, 3));
        assert_eq!((policy.budget.depth, policy.budget.pages), (Some(4), Some(50)));
        assert_eq!(policy.body.decoded_max, 2 * 1024 * 1024);
        let cap = std::time::Duration::from_secs(90);
        assert_eq!((policy.retry.curve.cap, policy.backoff.curve.cap), (cap, cap));
        assert_eq!(policy.body.accept.len() + policy.body.reject.len(), 4);
    }

    #[test]
    fn defaults_are_those_of_the_requirements() {
        let CrawlOrder { job, threads, update_stale } = of(&[]).unwrap();
        let policy = &job.policy;
        assert_eq!((threads, update_stale, job.outlet.compress), (1, false, true));
        assert_eq!((policy.slots.total_connections, policy.slots.per_host), (32, 2));
        assert_eq!((policy.budget.depth, policy.budget.pages), (Some(10), Some(10_000)));
        assert_eq!(policy.body.decoded_max, 10_485_760);
        assert_eq!(policy.retry.curve.cap, std::time::Duration::from_secs(600));
        assert_eq!(
            (policy.retry.max, policy.patience),
            (5, Some(std::time::Duration::from_secs(60)))
        );
        let discovery = &job.discovery;
        assert!(
            !discovery.follow_links && discovery.respect_nofollow && discovery.follow_canonical
        );
    }

    #[test]
    fn what_can_not_be_meant_is_refused_with_a_hint() {
        let refused = |given: &[(&str, &str)]| of(given).unwrap_err().0;
        assert!(refused(&[("folow_links", "true")]).contains("did you mean `follow_links`?"));
        assert!(refused(&[("threads", "many")]).contains("expected a whole number"));
        assert!(refused(&[("follow_links", "perhaps")]).contains("expected true or false"));
        assert!(refused(&[("policy", "rude")]).contains("neither a preset nor a file"));
    }

    #[test]
    fn names_are_pinned_with_commas_and_with_several_addresses() {
        let pins = pins_in("a.test=127.0.0.1, *.b.test=127.0.0.2,127.0.0.3; c.test=::1");
        assert_eq!(pins, ["a.test=127.0.0.1", "*.b.test=127.0.0.2,127.0.0.3", "c.test=::1"]);
    }

    #[test]
    fn a_proxy_takes_a_login_that_needs_encoding() {
        let login = [("http_proxy_username", "ann"), ("http_proxy_password", "s3cr:t?@")];
        let session = session(&login);
        let whole = session.with_login("proxy.test:3128");
        assert_eq!(whole, "http://ann:s3cr%3At%3F%40@proxy.test:3128/");
    }
}
