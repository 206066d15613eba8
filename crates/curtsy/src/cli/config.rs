//! `curtsy.toml`: the flags of a crawl in a file. A flag beats it, and so does a variable of the environment.
//!
//! Every command that crawls or decides reads it, so that `explain`, `plan` and `crawl` say the same. `worker` and `serve` read it only
//! if `--config` names it: a file that lies in the folder describes a crawl.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use curtsy_core::policy::{FIELDS, Mode, nearest};
use curtsy_crawl::Target;
use curtsy_engine::discover::Scope;
use serde::Deserialize;

use super::crawl::{CacheArgs, CrawlArgs, FindArgs, LedgerArg, MannersArgs, WayArgs};
use super::{SETTINGS, refusal};

/// The file's name, if none is given.
pub(super) const NAME: &str = "curtsy.toml";

/// The largest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Which settings file is read.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct ConfigArg {
    /// Settings from a file [default: curtsy.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl ConfigArg {
    /// Reads the file that is named, or `curtsy.toml` if there is one.
    pub(super) fn find(&self) -> anyhow::Result<Found> {
        Config::find(self.config.as_deref())
    }

    /// Whether a file is named.
    pub(super) fn is_given(&self) -> bool {
        self.config.is_some()
    }

    /// Reads the file that is named, and no other.
    #[cfg(any(feature = "fleet", feature = "serve"))]
    pub(super) fn named(&self) -> anyhow::Result<Found> {
        self.config.as_deref().map_or(Ok(Found::default()), Config::open)
    }
}

/// What the file says: the names are those of the flags.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Config {
    #[serde(default)]
    urls: Vec<String>,
    from: Option<PathBuf>,
    policy: Option<String>,
    mode: Option<String>,
    contact: Option<String>,
    user_agent: Option<String>,
    delay: Option<toml::Value>,
    slots: Option<toml::Value>,
    pages: Option<toml::Value>,
    time: Option<toml::Value>,
    depth: Option<toml::Value>,
    patience: Option<toml::Value>,
    #[serde(default)]
    only: Vec<String>,
    #[serde(default)]
    no_body: bool,
    scope: Option<String>,
    #[serde(default)]
    include: Vec<String>,
    #[serde(default)]
    exclude: Vec<String>,
    #[serde(default)]
    no_links: bool,
    #[serde(default)]
    no_sitemaps: bool,
    #[serde(default)]
    follow_nofollow: bool,
    #[serde(default)]
    assets: bool,
    #[serde(default)]
    external: bool,
    into: Option<PathBuf>,
    ledger: Option<PathBuf>,
    #[serde(default)]
    no_cache: bool,
    cache_max: Option<String>,
    #[serde(default)]
    allow_net: Vec<String>,
    #[serde(default)]
    resolve: Vec<String>,
    proxy: Option<String>,
    ca_file: Option<PathBuf>,
    /// Fields of the policy, by their keys.
    #[serde(default)]
    set: toml::Table,
}

/// The keys of the file.
const KEYS: &[&str] = &[
    "urls",
    "from",
    "policy",
    "mode",
    "contact",
    "user-agent",
    "delay",
    "slots",
    "pages",
    "time",
    "depth",
    "patience",
    "only",
    "no-body",
    "scope",
    "include",
    "exclude",
    "no-links",
    "no-sitemaps",
    "follow-nofollow",
    "assets",
    "external",
    "into",
    "ledger",
    "allow-net",
    "resolve",
    "proxy",
    "ca-file",
    "set",
];

/// A configuration that was read.
#[derive(Default)]
pub(super) struct Found {
    args: CrawlArgs,
}

/// What a settings file says about the manners: weaker than the environment, stronger than a policy file.
#[derive(Clone, Debug, Default)]
pub(super) struct FileManners {
    /// The file's name, for messages.
    pub(super) file: String,
    pub(super) policy: Option<String>,
    pub(super) mode: Option<Mode>,
    /// The key in the file, the field of the policy, and the value.
    pub(super) values: Vec<(String, String, String)>,
}

impl Config {
    /// The file that is named, or `curtsy.toml` if there is one.
    fn find(named: Option<&Path>) -> anyhow::Result<Found> {
        match named {
            Some(path) => Config::open(path),
            None if Path::new(NAME).exists() => Config::open(Path::new(NAME)),
            None => Ok(Found::default()),
        }
    }

    fn open(path: &Path) -> anyhow::Result<Found> {
        let shown = path.display();
        let unread = || format!("could not read the settings in `{shown}`");
        let length = std::fs::metadata(path).with_context(unread)?.len();
        if length > FILE_BYTES_MAX {
            let most = FILE_BYTES_MAX >> 20;
            return Err(refusal(SETTINGS, format!("`{shown}` is larger than {most} MiB")));
        }
        let text = std::fs::read_to_string(path).with_context(unread)?;
        Config::read(&text, &shown.to_string()).with_context(|| format!("in `{shown}`"))
    }

    fn read(text: &str, file: &str) -> anyhow::Result<Found> {
        let config: Config = toml::from_str(text).map_err(|e| fault(text, &e))?;
        let wrong = |text: String| refusal(SETTINGS, text);
        let mut args = CrawlArgs { urls: config.urls, from: config.from, ..CrawlArgs::default() };
        let mode = config.mode.as_deref().map(super::policy::mode).transpose();
        let mode = mode.map_err(|why| wrong(format!("`mode`: {why}")))?;
        let text = |value: Option<String>| value.filter(|value| !value.is_empty());
        let plain = |value: Option<toml::Value>| value.map(|value| plain(&value));
        let mut values = Vec::new();
        for (name, key, value) in [
            ("contact", "identity.contact", text(config.contact)),
            ("user-agent", "identity.product", text(config.user_agent)),
            ("delay", "pace.delay", plain(config.delay)),
            ("slots", "slots.per_host", plain(config.slots)),
            ("pages", "budget.pages", plain(config.pages)),
            ("time", "budget.time", plain(config.time)),
            ("depth", "budget.depth", plain(config.depth)),
            ("patience", "patience", plain(config.patience)),
        ] {
            values.extend(value.map(|value| (name.to_owned(), key.to_owned(), value)));
        }
        let mut only = Vec::new();
        for kind in &config.only {
            only.push(super::crawl::only(kind).map_err(|why| wrong(format!("`only`: {why}")))?);
        }
        if !only.is_empty() {
            values.push(("only".to_owned(), "body.accept".to_owned(), only.join(",")));
        }
        if config.no_body {
            values.push(("no-body".to_owned(), "body.keep".to_owned(), "false".to_owned()));
        }
        let mut set = Vec::new();
        flatten("", &config.set, &mut set);
        values.extend(set.into_iter().map(|(key, value)| (format!("set.{key}"), key, value)));
        args.manners.settings =
            FileManners { file: file.to_owned(), policy: config.policy, mode, values };
        args.find = FindArgs {
            scope: config.scope.as_deref().map(str::parse::<Scope>).transpose()?,
            include: config.include,
            exclude: config.exclude,
            no_links: config.no_links,
            no_sitemaps: config.no_sitemaps,
            follow_nofollow: config.follow_nofollow,
            assets: config.assets,
            external: config.external,
        };
        args.into = config.into;
        args.ledger.path = config.ledger;
        args.cache.no_cache = config.no_cache;
        args.cache.cache_max_in_file = config.cache_max;
        for net in &config.allow_net {
            let net = curtsy_crawl::network(net);
            args.way.allow_net.push(net.map_err(|why| wrong(format!("`allow-net`: {why}")))?);
        }
        for pin in &config.resolve {
            args.way.resolve.push(pin.parse().context("`resolve`")?);
        }
        args.way.proxy_in_file = config.proxy;
        args.way.ca_file_in_file = config.ca_file;
        Ok(Found { args })
    }
}

/// What is wrong with the file as a whole: its line, and what was probably meant.
fn fault(text: &str, error: &toml::de::Error) -> anyhow::Error {
    let at = error.span().map_or(0, |span| span.start);
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let message = error.message().trim_end();
    let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
    let said = match unknown {
        None => format!("line {line}: {message}"),
        Some(key) => {
            let section = |field: &str| field.split('.').next() == Some(key);
            let hint = match nearest(key, KEYS.iter().copied()) {
                _ if FIELDS.iter().any(|field| section(field.key)) => {
                    format!("fields of the policy stand under `set`: write `[set.{key}]`")
                }
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the settings are `{}`", KEYS.join("`, `")),
            };
            format!("line {line}: `{key}` is not a setting\nhint: {hint}")
        }
    };
    refusal(SETTINGS, said)
}

impl Found {
    /// The crawl's own file that goes with the setting `into`.
    pub(super) fn crawl_file(&self) -> Option<PathBuf> {
        let into = self.args.into.as_deref()?;
        let target = Target::of(into).ok().filter(|target| !target.is_stdout())?;
        Some(target.crawl_file(into, Path::new(".")))
    }

    /// The file's settings under what flags say. What concerns the policy stays apart: the environment comes in between.
    pub(super) fn under(self, flags: CrawlArgs) -> CrawlArgs {
        fn list<T>(flags: Vec<T>, file: Vec<T>) -> Vec<T> {
            if flags.is_empty() { file } else { flags }
        }
        let file = self.args;
        let (f, w) = (flags.find, flags.way);
        let begins = !flags.urls.is_empty() || flags.from.is_some();
        CrawlArgs {
            urls: if begins { flags.urls } else { file.urls },
            from: if begins { flags.from } else { file.from },
            manners: MannersArgs { settings: file.manners.settings, ..flags.manners },
            find: FindArgs {
                scope: f.scope.or(file.find.scope),
                include: list(f.include, file.find.include),
                exclude: list(f.exclude, file.find.exclude),
                no_links: f.no_links || file.find.no_links,
                no_sitemaps: f.no_sitemaps || file.find.no_sitemaps,
                follow_nofollow: f.follow_nofollow || file.find.follow_nofollow,
                assets: f.assets || file.find.assets,
                external: f.external || file.find.external,
            },
            way: WayArgs {
                allow_net: list(w.allow_net, file.way.allow_net),
                resolve: list(w.resolve, file.way.resolve),
                proxy_in_file: file.way.proxy_in_file,
                ca_file_in_file: file.way.ca_file_in_file,
                ..w
            },
            into: flags.into.or(file.into),
            ledger: LedgerArg { path: flags.ledger.path.or(file.ledger.path) },
            cache: CacheArgs {
                no_cache: flags.cache.no_cache || file.cache.no_cache,
                cache_max: flags.cache.cache_max,
                cache_max_in_file: file.cache.cache_max_in_file,
            },
            ..flags
        }
    }
}

/// `[set.robots] ttl = "2h"` is `robots.ttl=2h`.
fn flatten(before: &str, table: &toml::Table, into: &mut Vec<(String, String)>) {
    for (key, value) in table {
        let key = if before.is_empty() { key.clone() } else { format!("{before}.{key}") };
        match value {
            toml::Value::Table(table) => flatten(&key, table, into),
            value => into.push((key, plain(value))),
        }
    }
}

fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What `curtsy init` writes.
pub(super) const TEMPLATE: &str = "\
# Settings of a crawl. Each key is a flag of `curtsy crawl`: a flag beats this file, and so does a variable of the
# environment. Lines that begin with # are the defaults or examples.

# Where to begin.
urls = [\"https://example.org/\"]
# from = \"seeds.txt\"              # more of them, one a line

# Where a site owner reaches you. Sent with every request; there is no crawl without it.
contact = \"\"
# user-agent = \"curtsy/0.1.0\"     # product/version; robots.txt is matched with the product

# The manners: careful, audit, warehouse, fleet, survey, or a policy file (`curtsy policy show careful` explains each).
policy = \"careful\"
# delay = \"3s\"                    # the least span between two requests to a host
# slots = 1                       # requests in flight on one host
# pages = 10000                   # pages at most
# time = \"8h\"                     # time at most
# depth = 10                      # links followed from a seed
# patience = \"10m\"                # how long to wait for hosts that must wait

# What to look for.
# scope = \"host\"                  # host, subdomains, prefix or everywhere
# include = [\"/blog/*\"]           # globs over the path or the URL, or a /regex/
# exclude = [\"*.pdf\"]
# no-links = true                 # seeds and sitemaps only
# no-sitemaps = true
# assets = true                   # ask too whether images, scripts and style sheets are there
# external = true                 # ask too whether what is linked to on other sites is there

# What to keep.
# only = [\"html\", \"pdf\"]          # other kinds are not read: html, pdf, text, json, xml, feed, image, or `type/subtype`
# no-body = true                  # rows without bodies

# Where rows go: a .db file (SQLite, named after the first seed's host if none is given), pages.jsonl, pages.csv.
# into = \"example.org.db\"

# The page cache that all crawls of a user share.
# no-cache = true                 # neither use nor fill it
# cache-max = \"1GiB\"             # its size

# The way out.
# allow-net = [\"127.0.0.0/8\"]     # networks that are not public
# resolve = [\"*.test=127.0.0.1\"]
# proxy = \"http://proxy.example:3128\"
# ca-file = \"roots.pem\"

# Any field of the policy.
# [set.robots]
# ttl = \"2h\"
";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> anyhow::Result<Found> {
        Config::read(text, NAME)
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let got = match read(text) {
            Ok(found) => {
                let values = found.args.manners.settings.values.iter();
                let values: Vec<_> =
                    values.map(|(_, key, value)| format!("{key}={value}")).collect();
                format!("{:?} {}", found.args.urls, values.join(" "))
            }
            Err(error) => format!("{error:#}"),
        };
        assert!(got.contains(expected), "{text}: {got}");
    }

    #[test]
    fn settings_are_flags_in_a_file() {
        check("urls = ['https://a.test/']\ndelay = '2s'", "[\"https://a.test/\"] pace.delay=2s");
        check("pages = 12", "budget.pages=12");
        check("pages = '12'", "budget.pages=12");
        check("delay = 0", "pace.delay=0");
        check("[set.robots]\nttl = '2h'", "robots.ttl=2h");
        check("set = { 'robots.ttl' = '2h' }", "robots.ttl=2h");
        check(
            "only = ['html', 'image/png']",
            "body.accept=text/html,application/xhtml+xml,image/png",
        );
        check("no-body = true", "body.keep=false");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_what_was_meant() {
        check(
            "pages = 1\ndealy = '2s'",
            "line 2: `dealy` is not a setting\nhint: did you mean `delay`?",
        );
        check("user_agent = 'a/1'", "did you mean `user-agent`?");
        check("[robots]\nttl = '2h'", "write `[set.robots]`");
        check("pages = 1\npages = 2", "line 2: ");
        check("allow-net = ['here']", "`allow-net`: `here` is a name");
        check("scope = 'hots'", "did you mean `host`?");
        check("mode = 'ligth'", "did you mean `light`?");
        check("resolve = ['x']", "`x` pins no name");
        check("only = ['htlm']", "did you mean `html`?");
    }

    #[test]
    fn every_key_of_the_file_is_known() {
        for key in KEYS {
            let error = toml::from_str::<Config>(&format!("{key} = 1979-05-27")).err();
            let error = error.map(|e| e.to_string()).unwrap_or_default();
            assert!(!error.contains("unknown field"), "{error}");
        }
    }

    #[test]
    fn the_template_can_be_read_and_a_flag_beats_it() {
        let found = read(TEMPLATE).unwrap();
        let flags = CrawlArgs { urls: vec!["https://b.test/".into()], ..CrawlArgs::default() };
        let args = found.under(flags);
        let settings = &args.manners.settings;
        assert!(settings.values.is_empty(), "an empty contact is none");
        assert_eq!(settings.policy.as_deref(), Some("careful"));
        assert_eq!(args.urls, ["https://b.test/"]);
        let file = read("from = 'seeds.txt'").unwrap();
        let flags = CrawlArgs { urls: vec!["https://b.test/".into()], ..CrawlArgs::default() };
        assert_eq!(file.under(flags).from, None, "seeds of the file go with its other seeds");
        // Every example in it can be read too.
        let all: String = TEMPLATE
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest) if rest.contains(" = ") || rest.starts_with('[') => format!("{rest}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let found = read(&all).unwrap();
        let set = ("set.robots.ttl".to_owned(), "robots.ttl".to_owned(), "2h".to_owned());
        assert!(found.args.manners.settings.values.contains(&set));
    }
}
