//! `curtsy.toml`: the flags of a crawl in a file. A flag beats it, and so does a variable of the environment.

use std::path::{Path, PathBuf};

use anyhow::Context;
use curtsy_core::policy::{Field, Variables};
use curtsy_engine::discover::Scope;
use serde::Deserialize;

use super::crawl::CrawlArgs;

/// The file's name, if none is given.
pub(super) const NAME: &str = "curtsy.toml";

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
    delay: Option<String>,
    slots: Option<toml::Value>,
    pages: Option<toml::Value>,
    time: Option<String>,
    depth: Option<toml::Value>,
    patience: Option<String>,
    scope: Option<String>,
    #[serde(default)]
    include: Vec<String>,
    #[serde(default)]
    exclude: Vec<String>,
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

/// A configuration that was read, with the place it came from.
#[derive(Default)]
pub(super) struct Found {
    args: CrawlArgs,
}

impl Config {
    /// The file that is named, or `curtsy.toml` if there is one.
    pub(super) fn find(named: Option<&Path>) -> anyhow::Result<Found> {
        let path = match named {
            Some(path) => path,
            None if Path::new(NAME).exists() => Path::new(NAME),
            None => return Ok(Found::default()),
        };
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("could not read the settings in `{}`", path.display()))?;
        Config::read(&text).with_context(|| format!("in `{}`", path.display()))
    }

    fn read(text: &str) -> anyhow::Result<Found> {
        let config: Config =
            toml::from_str(text).map_err(|e| anyhow::anyhow!("{}", e.to_string().trim_end()))?;
        let number = |value: Option<toml::Value>| value.map(|v| plain(&v));
        let mut args = CrawlArgs { urls: config.urls, from: config.from, ..CrawlArgs::default() };
        let manners = &mut args.manners;
        manners.policy = config.policy;
        manners.mode = config
            .mode
            .as_deref()
            .map(super::policy::mode)
            .transpose()
            .map_err(anyhow::Error::msg)?;
        manners.contact = config.contact;
        manners.user_agent = config.user_agent;
        manners.delay = config.delay;
        manners.slots = number(config.slots);
        manners.pages = number(config.pages);
        manners.time = config.time;
        manners.depth = number(config.depth);
        manners.patience = config.patience;
        flatten("", &config.set, &mut manners.set);
        args.find.scope = config.scope.as_deref().map(str::parse::<Scope>).transpose()?;
        args.find.include = config.include;
        args.find.exclude = config.exclude;
        args.into = config.into;
        args.ledger.path = config.ledger;
        args.cache.no_cache = config.no_cache;
        args.cache.cache_max = config.cache_max;
        for net in &config.allow_net {
            args.way
                .allow_net
                .push(net.parse().with_context(|| format!("`allow-net`: `{net}` is no network"))?);
        }
        for pin in &config.resolve {
            args.way.resolve.push(pin.parse()?);
        }
        args.way.proxy = config.proxy;
        args.way.ca_file = config.ca_file;
        Ok(Found { args })
    }
}

impl Found {
    /// The file's settings under what flags and the environment say.
    pub(super) fn under(self, flags: CrawlArgs, variables: &Variables) -> CrawlArgs {
        let file = self.args;
        let field = |flag: Option<String>, file: Option<String>, key: &str| {
            let said = Field::find(key).is_some_and(|f| variables.contains_key(&f.variable()));
            flag.or(file.filter(|value| !said && !value.is_empty()))
        };
        let list = |flags: Vec<_>, file: Vec<_>| if flags.is_empty() { file } else { flags };
        let (m, f, w) = (flags.manners, flags.find, flags.way);
        let mut set = file.manners.set;
        set.retain(|(key, _)| {
            Field::find(key).is_none_or(|f| !variables.contains_key(&f.variable()))
        });
        set.extend(m.set);
        CrawlArgs {
            urls: if flags.urls.is_empty() && flags.from.is_none() {
                file.urls
            } else {
                flags.urls
            },
            from: flags.from.or(file.from),
            manners: super::crawl::MannersArgs {
                policy: m.policy.or(file.manners.policy),
                mode: m.mode.or(file.manners.mode),
                contact: field(m.contact, file.manners.contact, "identity.contact"),
                user_agent: field(m.user_agent, file.manners.user_agent, "identity.product"),
                delay: field(m.delay, file.manners.delay, "pace.delay"),
                slots: field(m.slots, file.manners.slots, "slots.per_host"),
                pages: field(m.pages, file.manners.pages, "budget.pages"),
                time: field(m.time, file.manners.time, "budget.time"),
                depth: field(m.depth, file.manners.depth, "budget.depth"),
                patience: field(m.patience, file.manners.patience, "patience"),
                set,
            },
            find: super::crawl::FindArgs {
                scope: f.scope.or(file.find.scope),
                include: list(f.include, file.find.include),
                exclude: list(f.exclude, file.find.exclude),
                ..f
            },
            way: super::crawl::WayArgs {
                allow_net: if w.allow_net.is_empty() { file.way.allow_net } else { w.allow_net },
                resolve: if w.resolve.is_empty() { file.way.resolve } else { w.resolve },
                proxy: w.proxy.or(file.way.proxy),
                ca_file: w.ca_file.or(file.way.ca_file),
            },
            into: flags.into.or(file.into),
            ledger: super::crawl::LedgerArg { path: flags.ledger.path.or(file.ledger.path) },
            cache: super::crawl::CacheArgs {
                no_cache: flags.cache.no_cache || file.cache.no_cache,
                cache_max: flags.cache.cache_max.or(file
                    .cache
                    .cache_max
                    .filter(|_| !variables.contains_key("CURTSY_CACHE_MAX"))),
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

# Where rows go: crawl.db (SQLite), pages.jsonl, pages.csv.
into = \"crawl.db\"

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

    fn check(text: &str, expected: &str) {
        let got = match Config::read(text) {
            Ok(found) => {
                let m = &found.args.manners;
                format!("{:?} {:?} {:?} {:?}", found.args.urls, m.delay, m.pages, m.set)
            }
            Err(error) => format!("{error:#}"),
        };
        assert!(got.contains(expected), "{text}: {got}");
    }

    #[test]
    fn settings_are_flags_in_a_file() {
        check("urls = ['https://a.test/']\ndelay = '2s'", "[\"https://a.test/\"] Some(\"2s\")");
        check("pages = 12", "Some(\"12\")");
        check("pages = '12'", "Some(\"12\")");
        check("[set.robots]\nttl = '2h'", "(\"robots.ttl\", \"2h\")");
        check("set = { 'robots.ttl' = '2h' }", "(\"robots.ttl\", \"2h\")");
    }

    #[test]
    fn what_is_wrong_is_named() {
        check("dealy = '2s'", "unknown field `dealy`");
        check("allow-net = ['here']", "`here` is no network");
        check("scope = 'far'", "far");
        check("resolve = ['x']", "`x` pins no name");
    }

    #[test]
    fn the_template_can_be_read_and_a_flag_beats_it() {
        let found = Config::read(TEMPLATE).unwrap();
        let flags = CrawlArgs { urls: vec!["https://b.test/".into()], ..CrawlArgs::default() };
        let args = found.under(flags, &Variables::new());
        assert_eq!(args.manners.contact, None, "an empty contact is none");
        assert_eq!(args.urls, ["https://b.test/"]);
        assert_eq!(args.manners.policy.as_deref(), Some("careful"));
        let variables = Variables::from([("CURTSY_PACE_DELAY".to_owned(), "9s".to_owned())]);
        let found = Config::read("delay = '2s'\npages = 3").unwrap();
        let args = found.under(CrawlArgs::default(), &variables);
        assert_eq!((args.manners.delay, args.manners.pages), (None, Some("3".to_owned())));
        // Every example in it can be read too.
        let all: String = TEMPLATE
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest) if rest.contains(" = ") || rest.starts_with('[') => format!("{rest}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let found = Config::read(&all).unwrap();
        assert_eq!(found.args.manners.set, [("robots.ttl".to_owned(), "2h".to_owned())]);
    }
}
