//! What a query asks for, as a crawl: options of the call, settings of the session, policy.

use std::collections::BTreeMap;
use std::path::PathBuf;

use curtsy_core::policy::{FlagValue, Layers, Preset, Reach, Variables, nearest};
use curtsy_core::url::CrawlUrl;
use curtsy_crawl::{Choice, JobSpec, Order, PageSharing, Way, ledger_file, seed};
use curtsy_engine::discover::{Discovery, DiscoverySpec, Scope};
use curtsy_fetch::{IpNet, NamePin};
use url::Url;

use crate::duck::{Argument, Bind, Fault};

/// Threads that a crawl may have.
const THREADS_MAX: i64 = 32;
/// Connections that a crawl may have, unless somebody says otherwise.
const CONNECTIONS: &str = "32";
/// How long a query waits for hosts that must wait, unless the query says otherwise, whatever a policy says: somebody sits before it.
const PATIENCE: &str = "1m";

/// An option of a crawl: its name, and what it is for.
pub(crate) struct Named(pub(crate) &'static str, pub(crate) &'static str);

/// The options of every crawl, as named parameters and after `WITH`.
pub(crate) const OPTIONS: &[Named] = &[
    Named("threads", "worker threads, 1 to 32; DuckDB's setting threads"),
    Named("max_total_connections", "open connections at once; 32"),
    Named("max_parallel_per_domain", "requests in flight on one host; 2"),
    Named("follow_links", "follow the links of pages; false"),
    Named("max_crawl_depth", "links followed from a seed; 10"),
    Named("max_crawl_pages", "pages fetched at most; 10000"),
    Named("respect_nofollow", "do not follow links marked nofollow; true"),
    Named("follow_canonical", "follow the canonical URL that a page names; true"),
    Named("accept_content_types", "content types to keep, as 'text/*, application/json'; all"),
    Named("reject_content_types", "content types to discard; none"),
    Named("max_response_bytes", "a larger response is an error; 10485760"),
    Named("compress", "accept compressed answers; true"),
    Named("cache", "use the page cache that all crawls of this user share; true"),
    Named(
        "update_stale",
        "fetch pages again that the table already holds and that may have changed; false",
    ),
    Named("max_retry_backoff_seconds", "the longest wait that the crawler chooses itself; 600"),
    Named("user_agent", "your crawler's name, as product/version"),
    Named("policy", "a preset or a policy file; warehouse"),
    Named("contact", "where a site owner reaches you; the setting curtsy_contact"),
    Named("delay", "the least time between two requests to a host, as '500ms'; the policy's"),
    Named(
        "sitemaps",
        "read sitemaps: of whole sites (by default), of every host (true), of none (false)",
    ),
    Named("scope", "how far links lead: host, subdomains, prefix, everywhere; host"),
    Named("include", "only found URLs that match, as '/blog/*'; all"),
    Named("exclude", "skip found URLs that match; none"),
    Named("patience", "how long to wait for hosts that must wait, as '10m'; 1m"),
];

/// What was asked for by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options(BTreeMap<String, Argument>);

impl Options {
    /// The named parameters of a call.
    pub(crate) fn of_call(bind: &Bind<'_>) -> Options {
        let given = OPTIONS.iter().filter_map(|Named(name, _)| {
            Some(((*name).to_owned(), bind.named(name).filter(|value| *value != Argument::Null)?))
        });
        Options(given.collect())
    }

    /// What stands after `WITH`.
    pub(crate) fn of_statement(given: Vec<(String, Argument)>) -> Result<Options, Fault> {
        let mut options = BTreeMap::new();
        for (name, value) in given {
            let name = name.to_ascii_lowercase();
            if !OPTIONS.iter().any(|Named(known, _)| *known == name) {
                return Err(Fault::from(unknown(&name)));
            }
            options.insert(name, value);
        }
        Ok(Options(options))
    }

    /// A choice between yes and no.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Fault> {
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

    /// A whole number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Fault> {
        self.read(name, "a whole number that is not negative", |value| {
            let number = match value {
                Argument::Integer(number) => Some(*number),
                Argument::Text(text) => text.trim().parse().ok(),
                _ => None,
            };
            number.filter(|number| *number >= 0)
        })
    }

    /// A text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, Fault> {
        self.read(name, "a text", |value| match value {
            Argument::Text(text) => Some(text.clone()),
            Argument::Integer(number) => Some(number.to_string()),
            _ => None,
        })
    }

    /// Several texts: a list, or one text with commas.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<String>, Fault> {
        let given =
            self.read(name, "a text with commas, or a list of texts", |value| match value {
                Argument::Text(text) => Some(split(text)),
                Argument::List(list) => list
                    .iter()
                    .map(|value| match value {
                        Argument::Text(text) => Some(text.clone()),
                        _ => None,
                    })
                    .collect(),
                _ => None,
            })?;
        Ok(given.unwrap_or_default())
    }

    fn read<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl Fn(&Argument) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        let Some(value) = self.0.get(name) else {
            return Ok(None);
        };
        match read(value) {
            Some(read) => Ok(Some(read)),
            None => Err(Fault::from(format!(
                "option `{name}` is {}, expected {expected}",
                value.describe()
            ))),
        }
    }
}

/// Parts between commas; `['a','b']` as the statement has it is read too.
fn split(text: &str) -> Vec<String> {
    let text = text.trim();
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let parts = inner.split(',').map(|part| part.trim().trim_matches('\'').trim().to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

fn unknown(name: &str) -> String {
    let names = || OPTIONS.iter().map(|Named(name, _)| *name);
    let hint = match nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("options are {}", names().collect::<Vec<_>>().join(", ")),
    };
    format!("CRAWL has no option `{name}`\nhint: {hint}")
}

/// What the session has set, read when a crawl is bound.
#[derive(Clone, Debug, Default)]
pub(crate) struct Session {
    threads: Option<i64>,
    timeout: Option<i64>,
    keep_alive: Option<bool>,
    proxy: Option<String>,
    proxy_username: Option<String>,
    proxy_password: Option<String>,
    contact: Option<String>,
    policy: Option<String>,
    allow_net: Option<String>,
    resolve: Option<String>,
    ca_file: Option<String>,
    ledger: Option<String>,
}

impl Session {
    /// The settings of the caller.
    pub(crate) fn of(bind: &Bind<'_>) -> Session {
        let text = |name: &str| match bind.setting(name) {
            Some(Argument::Text(text)) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            _ => None,
        };
        let number = |name: &str| match bind.setting(name)? {
            Argument::Integer(number) => Some(number),
            Argument::Text(text) => text.trim().parse().ok(),
            _ => None,
        };
        Session {
            threads: number("threads"),
            timeout: number("http_timeout"),
            keep_alive: match bind.setting("http_keep_alive") {
                Some(Argument::Boolean(keep)) => Some(keep),
                _ => None,
            },
            proxy: text("http_proxy"),
            proxy_username: text("http_proxy_username"),
            proxy_password: text("http_proxy_password"),
            contact: text("curtsy_contact"),
            policy: text("curtsy_policy"),
            allow_net: text("curtsy_allow_net"),
            resolve: text("curtsy_resolve"),
            ca_file: text("curtsy_ca_file"),
            ledger: text("curtsy_ledger"),
        }
    }

    /// The way out.
    fn way(&self) -> Result<Way, Fault> {
        let mut way = Way::default();
        for net in self.allow_net.iter().flat_map(|nets| nets.split([',', ' ', ';'])) {
            if !net.trim().is_empty() {
                way.allow_net.push(net.trim().parse::<IpNet>().map_err(|_| {
                    Fault::from(format!(
                        "`{net}` in the setting curtsy_allow_net is no network\nhint: write `127.0.0.0/8`"
                    ))
                })?);
            }
        }
        for pin in self.resolve.iter().flat_map(|pins| pins_in(pins)) {
            way.pins.push(pin.parse::<NamePin>().map_err(fault)?);
        }
        if let Some(proxy) = &self.proxy {
            way.through(&self.with_login(proxy)).map_err(fault)?;
        }
        if let Some(file) = &self.ca_file {
            way.trust(file.as_ref()).map_err(fault)?;
        }
        Ok(way)
    }

    /// The proxy with its user and password.
    fn with_login(&self, proxy: &str) -> String {
        let whole = match proxy.contains("://") {
            true => proxy.to_owned(),
            false => format!("http://{proxy}"),
        };
        let (Some(user), Ok(mut url)) = (&self.proxy_username, Url::parse(&whole)) else {
            return whole;
        };
        // Only an address without a host takes no login, and that is refused where it is read.
        let _ = url.set_username(user);
        let _ = url.set_password(self.proxy_password.as_deref());
        url.to_string()
    }

    /// The ledger of hosts.
    fn ledger(&self, variables: &Variables) -> Result<PathBuf, Fault> {
        match &self.ledger {
            Some(path) => Ok(PathBuf::from(path)),
            None => ledger_file(variables).map_err(|e| {
                Fault::from(format!("{e}\nhint: SET curtsy_ledger = '/path/hosts.db'"))
            }),
        }
    }
}

/// Pins of names: `a.test=127.0.0.1, *.b.test=127.0.0.2,127.0.0.3`.
fn pins_in(text: &str) -> Vec<String> {
    let mut pins: Vec<String> = Vec::new();
    for part in text.split([',', ';', ' ']).map(str::trim).filter(|part| !part.is_empty()) {
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

/// A crawl that was asked for in SQL.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The crawl.
    pub(crate) job: JobSpec,
    /// Threads that work on it.
    pub(crate) threads: usize,
    /// Whether pages that the table holds are asked for again.
    pub(crate) update_stale: bool,
}

impl Asked {
    /// Opens a host of this machine that the call names as its one URL (`crawl('http://localhost:8000/')`). A list or a query has
    /// whatever a table holds, and opens nothing.
    pub(crate) fn naming(mut self, argument: &Argument) -> Asked {
        if let Argument::Text(_) = argument {
            let mut way = Way::default();
            self.job.seeds.iter().for_each(|url| way.name(url));
            self.job.outlet.named = way.named;
        }
        self
    }
}

/// Reads options and settings into a crawl of these seeds.
pub(crate) fn asked(
    options: &Options,
    session: &Session,
    seeds: Vec<CrawlUrl>,
) -> Result<Asked, Fault> {
    let variables: Variables = std::env::vars().collect();
    let name = options.text("policy")?.or(session.policy.clone());
    let choice = match &name {
        Some(name) => Choice::find(name).map_err(fault)?,
        None => Choice::Preset(Preset::Warehouse),
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
    let reach = match way.allow_net.is_empty() {
        true => Reach::Public,
        false => Reach::AllowedNet,
    };
    let update_stale = options.flag("update_stale")?.unwrap_or(false);
    let sitemaps = options.flag("sitemaps")?;
    let discovery = DiscoverySpec {
        scope: match options.text("scope")? {
            Some(scope) => scope.parse::<Scope>().map_err(fault)?,
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
    // Patterns are looked at now, and not when the crawl has begun.
    Discovery::new(discovery.clone()).map_err(fault)?;
    let settled = layers.settle(reach).map_err(fault)?;
    let ledger = session.ledger(&variables)?.into();
    let sharing = match options.flag("cache")?.unwrap_or(true) {
        true => PageSharing::default(),
        false => PageSharing::Off,
    };
    let mut job = Order { seeds, settled, way, discovery, ledger, sharing }.job().map_err(fault)?;
    job.outlet.compress = options.flag("compress")?.unwrap_or(true);
    if session.keep_alive == Some(false) {
        job.outlet.idle_per_authority = 0;
    }
    let threads = options.number("threads")?.or(session.threads).unwrap_or(1);
    Ok(Asked { job, threads: threads.clamp(1, THREADS_MAX) as usize, update_stale })
}

/// Options and settings as fields of the policy: which name the user knows it by, the field, its value.
fn flags(
    options: &Options,
    session: &Session,
    choice: &Choice,
) -> Result<Vec<(&'static str, &'static str, String)>, Fault> {
    let mut flags: Vec<(&'static str, &'static str, String)> = Vec::new();
    for (option, key) in [
        ("max_parallel_per_domain", "slots.per_host"),
        ("max_crawl_depth", "budget.depth"),
        ("max_crawl_pages", "budget.pages"),
    ] {
        flags.extend(options.number(option)?.map(|n| (option, key, n.to_string())));
    }
    // A file of the user's own says how many it wants.
    let connections = options.number("max_total_connections")?.map(|n| n.to_string());
    let usual = || choice.file().is_none().then(|| CONNECTIONS.to_owned());
    let connections = connections.or_else(usual);
    flags.extend(connections.map(|n| ("max_total_connections", "slots.total_connections", n)));
    for (option, key) in [("user_agent", "identity.product"), ("delay", "pace.delay")] {
        flags.extend(options.text(option)?.map(|text| (option, key, text)));
    }
    let patience = options.text("patience")?.unwrap_or_else(|| PATIENCE.to_owned());
    flags.push(("patience", "patience", patience));
    let contact = options.text("contact")?.or(session.contact.clone());
    flags.extend(contact.map(|text| ("curtsy_contact", "identity.contact", text)));
    let bytes = options.number("max_response_bytes")?;
    flags.extend(bytes.map(|n| ("max_response_bytes", "body.decoded_max", format!("{n}B"))));
    for (option, key) in
        [("accept_content_types", "body.accept"), ("reject_content_types", "body.reject")]
    {
        let types = options.texts(option)?;
        if !types.is_empty() {
            flags.push((option, key, types.join(",")));
        }
    }
    if let Some(seconds) = options.number("max_retry_backoff_seconds")? {
        for key in ["retry.curve.cap", "backoff.curve.cap"] {
            flags.push(("max_retry_backoff_seconds", key, format!("{seconds}s")));
        }
    }
    if let Some(seconds) = session.timeout {
        let seconds = seconds.max(1);
        for key in ["timeout.first_byte", "timeout.whole"] {
            flags.push(("http_timeout", key, format!("{seconds}s")));
        }
        if seconds < 5 {
            for key in ["timeout.connect", "timeout.tls"] {
                flags.push(("http_timeout", key, format!("{seconds}s")));
            }
        }
    }
    Ok(flags)
}

/// Where a crawl begins, and what was given that is no URL.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seeds {
    /// URLs.
    pub(crate) urls: Vec<CrawlUrl>,
    /// Other texts: each gets a row that says so.
    pub(crate) malformed: Vec<String>,
}

impl Seeds {
    /// The seeds in an argument: one text, or a list of texts. NULL in a list is nobody's page.
    pub(crate) fn of(argument: &Argument) -> Result<Seeds, Fault> {
        let mut seeds = Seeds::default();
        match argument {
            Argument::Text(text) => seeds.urls.push(seed(text.trim()).map_err(fault)?),
            Argument::List(list) => {
                for value in list {
                    seeds.add(value)?;
                }
            }
            Argument::Null => return Err(Fault::from("nothing to crawl: the URL is NULL")),
            other => {
                return Err(Fault::from(format!(
                    "{} is no URL\nhint: give a text, or a list of texts: ['https://example.org/']",
                    other.describe()
                )));
            }
        }
        Ok(seeds)
    }

    /// The seeds in an argument, if all of them are URLs.
    pub(crate) fn all(argument: &Argument) -> Result<Vec<CrawlUrl>, Fault> {
        let seeds = Seeds::of(argument)?;
        match seeds.malformed.first() {
            Some(text) => Err(seed(text).map_err(fault).err().unwrap_or(Fault::from("no URL"))),
            None if seeds.urls.is_empty() => Err(Fault::from("there is no URL")),
            None => Ok(seeds.urls),
        }
    }

    /// One more value.
    pub(crate) fn add(&mut self, value: &Argument) -> Result<(), Fault> {
        match value {
            Argument::Text(text) => match seed(text.trim()) {
                Ok(url) => self.urls.push(url),
                Err(_) => self.malformed.push(text.clone()),
            },
            Argument::Null => {}
            other => {
                return Err(Fault::from(format!(
                    "{} is no URL: expected a text",
                    other.describe()
                )));
            }
        }
        Ok(())
    }
}

/// An error of ours as DuckDB tells it: what is a flag on the command line is an option or a setting here.
pub(crate) fn fault(error: impl std::fmt::Display) -> Fault {
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
    Fault(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(given: &[(&str, &str)]) -> Result<Asked, Fault> {
        let given =
            given.iter().map(|(name, value)| ((*name).into(), Argument::Text((*value).into())));
        let options = Options::of_statement(given.collect())?;
        let session = Session { ledger: Some("hosts.db".into()), ..Session::default() };
        asked(&options, &session, vec![seed("http://127.0.0.1/").unwrap()])
    }

    #[test]
    fn options_are_fields_of_the_policy() {
        let Asked { job, threads, update_stale } = of(&[
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
        let Asked { job, threads, update_stale } = of(&[]).unwrap();
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
        let session = Session {
            proxy_username: Some("ann".into()),
            proxy_password: Some("s3cr:t?@".into()),
            ..Session::default()
        };
        let whole = session.with_login("proxy.test:3128");
        assert_eq!(whole, "http://ann:s3cr%3At%3F%40@proxy.test:3128/");
    }
}
