//! Every flag that commands share, once.
//!
//! A new flag is one entry. A flag that sets a field of the policy, what a crawl discovers or its
//! way out needs nothing else; a flag that sets something else ([`Sets::ByName`]) is read by its
//! name where a command needs it.

use std::fmt::Display;
use std::str::FromStr;

use curtsy_core::policy::nearest;
use curtsy_crawl::{network, shown_url, without_login};
use curtsy_engine::discover::Scope;
use curtsy_fetch::NamePin;

use super::Sets::{ByName, Discovery, Policy, PolicyFields, Way};
use super::Takes::{Amount, Fields, Path, Positional, Switch, Text, Texts, Words};
use super::{
    ANEW, CACHE, CONFIG, Example, FIND, Flag, FlagSection, INTO, KEEP, LEDGER, MANNERS, POLICY,
    RUN, SEEDS, Sets, Takes, WAY,
};
use crate::cli::policy::{assignment, mode};
use crate::cli::printable;

/// Every flag, in the order of the help and of the template.
pub(crate) static SECTIONS: &[FlagSection] = &[
    FlagSection { title: "Where to begin", flags: BEGIN },
    FlagSection { title: "The manners", flags: THE_MANNERS },
    FlagSection { title: "What to look for", flags: DISCOVERY },
    FlagSection { title: "What to keep, and where", flags: ROWS },
    FlagSection { title: "What all crawls of a user share", flags: SHARED },
    FlagSection { title: "The way out", flags: WAY_OUT },
    // A table of TOML ends with the file, so this is the last section.
    FlagSection { title: "Any field of the policy", flags: ANY_FIELD },
];

const BEGIN: &[Flag] = &[
    Flag::new("urls", Positional("URL"), SEEDS, ByName)
        .help(
            "Where to begin; `example.org` is tried with https and then with http, \
             `localhost:8000` with http and then with https",
        )
        .in_force("[\"https://example.org/\"]")
        .shown(shown_url),
    Flag::new("from", Path("FILE"), SEEDS, ByName)
        .help("Read seeds from a file, one a line; `-` is standard input")
        .example("\"seeds.txt\""),
];

const THE_MANNERS: &[Flag] = &[
    Flag::new("policy", Text("POLICY"), MANNERS, ByName)
        .help("The manners: careful, audit, warehouse, fleet, survey, or a policy file")
        .notes(" [default: careful]")
        .in_force("\"careful\""),
    Flag::new("mode", Text("MODE"), MANNERS | POLICY, ByName)
        .help("The mode of a survey: light, standard or user-assisted")
        .example("\"light\"")
        .checked(|word| mode(word).map(drop)),
    Flag::new("contact", Text("ADDRESS"), MANNERS, Policy("identity.contact", str::to_owned))
        .help(
            "A mail address or page where a site owner reaches you: sent with every request, \
             needed for any crawl beyond this machine",
        )
        .in_force("\"\""),
    Flag::new("user-agent", Text("P/V"), MANNERS, Policy("identity.product", str::to_owned))
        .help("Your crawler's name, as `product/version`")
        .example("\"curtsy/0.1.0\""),
    Flag::new("delay", Amount("SPAN"), MANNERS, Policy("pace.delay", str::to_owned))
        .help(
            "The least span between two requests to a host (Crawl-delay and refusals only ever \
             lengthen it)",
        )
        .example("\"3s\""),
    Flag::new("slots", Amount("N"), MANNERS, Policy("slots.per_host", str::to_owned))
        .help("Requests in flight on one host")
        .example("1"),
    Flag::new("pages", Amount("N"), MANNERS, Policy("budget.pages", str::to_owned))
        .help("Pages at most, in this run: the same command again takes the next ones")
        .example("10000"),
    Flag::new("time", Amount("SPAN"), MANNERS, Policy("budget.time", str::to_owned))
        .help("Time at most, in this run, as `90s` or `2h`")
        .example("\"8h\""),
    Flag::new("depth", Amount("N"), MANNERS, Policy("budget.depth", str::to_owned))
        .help("Links followed from a seed at most")
        .example("10"),
    Flag::new("patience", Amount("SPAN"), MANNERS, Policy("patience", str::to_owned))
        .help(
            "How long to wait, since the last progress, for hosts that must wait before ending \
             with \"resume after\"",
        )
        .example("\"10m\""),
];

const DISCOVERY: &[Flag] = &[
    Flag::new("scope", Text("SCOPE"), FIND, Discovery(|spec, text| set(&mut spec.scope, text)))
        .help("How far to go: host, subdomains, prefix (the folder of the seed) or everywhere")
        .notes(" [default: host]")
        .example("\"host\"")
        .checked(parses::<Scope>),
    Flag::new("include", Texts("P"), FIND, Discovery(|spec, p| spec.include.push(p.into())))
        .help(
            "Only URLs that match: a glob over path (`/blog/*`) or URL, or a regex between \
             slashes (`/\\.html$/`); repeatable",
        )
        .example("[\"/blog/*\"]"),
    Flag::new("exclude", Texts("P"), FIND, Discovery(|spec, p| spec.exclude.push(p.into())))
        .help("No URLs that match; stronger than --include; repeatable")
        .example("[\"*.pdf\"]"),
    Flag::new("no-links", Switch, FIND, Discovery(|spec, _| spec.follow_links = false))
        .help("Don't follow links: seeds and what sitemaps list")
        .example("true"),
    Flag::new("no-sitemaps", Switch, FIND, Discovery(|spec, _| spec.follow_sitemaps = false))
        .help("Don't look for sitemaps")
        .example("true"),
    Flag::new("follow-nofollow", Switch, FIND, Discovery(|spec, _| spec.respect_nofollow = false))
        .help("Follow links that say nofollow too (robots.txt holds all the same)")
        .example("true"),
    Flag::new("no-traps", Switch, FIND, Policy("traps.detect", |_| "off".to_owned()))
        .help("Take every link, also where a site seems to have no end")
        .example("true"),
    Flag::new("assets", Switch, FIND, Discovery(|spec, _| spec.check_assets = true))
        .help(
            "Ask too whether images, scripts and style sheets are there (for `curtsy links`, \
             which does so by itself if it crawls)",
        )
        .example("true"),
    Flag::new("external", Switch, FIND, Discovery(|spec, _| spec.check_external = true))
        .help(
            "Ask too whether what pages link to on other sites is there (for `curtsy links`); \
             nothing is crawled there",
        )
        .example("true"),
];

const ROWS: &[Flag] = &[
    Flag::new("only", Words("KINDS"), KEEP, Policy("body.accept", media_types))
        .help(
            "Read only these kinds of content, as `html,pdf`: html, pdf, text, json, xml, feed, \
             image, or a type as `image/png`. Other answers get a row without a body, and only \
             their heads are read",
        )
        .example("[\"html\", \"pdf\"]")
        .checked(is_kind),
    Flag::new("no-body", Switch, KEEP, Policy("body.keep", |_| "false".to_owned()))
        .help("Keep no bodies: rows with everything else, links included")
        .example("true"),
    Flag::new("into", Path("FILE"), INTO, ByName)
        .help("Where rows go: a `.db` file (SQLite, resumable), `pages.jsonl`, `pages.csv`, or `-`")
        .notes(" [default: the first seed's host, as `example.org.db`]")
        .example("\"example.org.db\""),
    Flag::new("resume", Switch, RUN, ByName).help(
        "Only go on with a crawl that was begun: an error if there is none (the same command \
         goes on by itself)",
    ),
    Flag::new("again", Switch, ANEW, ByName).help(
        "Crawl again what was crawled: pages that are fresh are not asked for, others with the \
         validators that we hold",
    ),
    Flag::new("force", Switch, ANEW, ByName).help("With `--again`: ask for fresh pages too"),
    Flag::new("add", Switch, RUN, ByName).help("Add these seeds to the crawl that the file holds"),
];

const SHARED: &[Flag] = &[
    Flag::new("ledger", Path("FILE"), LEDGER, ByName)
        .help("The ledger of hosts, shared by every crawl of this user")
        .notes(" [env: CURTSY_LEDGER] [default: $XDG_STATE_HOME/curtsy/hosts.db]")
        .variable("CURTSY_LEDGER")
        .example("\"hosts.db\""),
    Flag::new("config", Path("FILE"), CONFIG, ByName)
        .help("Settings from a file")
        .notes(" [default: curtsy.toml, if there is one]"),
    Flag::new("no-cache", Switch, CACHE, ByName)
        .help("Neither use nor fill the page cache that all crawls of this user share")
        .example("true"),
    Flag::new("cache-max", Text("SIZE"), CACHE, ByName)
        .help("The size of the page cache, as `500MiB`: its oldest pages make room")
        .notes(" [env: CURTSY_CACHE_MAX] [default: 1GiB]")
        .variable("CURTSY_CACHE_MAX")
        .example("\"1GiB\""),
];

const WAY_OUT: &[Flag] = &[
    Flag::new("allow-net", Texts("CIDR"), WAY, Way(|way, net| way.allow_net.extend(network(net))))
        .help(
            "A network that may be dialled although it is not public, as `10.0.0.0/8`; repeatable",
        )
        .example("[\"127.0.0.0/8\"]")
        .checked(|text| network(text).map(drop).map_err(|why| why.to_string())),
    Flag::new(
        "resolve",
        Texts("NAME=ADDRESS"),
        WAY,
        Way(|way, pin| way.pins.extend(pin.parse::<NamePin>())),
    )
    .help("An address for a name, as `'*.test=127.0.0.1'`; repeatable")
    .example("[\"*.test=127.0.0.1\"]")
    .checked(parses::<NamePin>),
    // Not checked with the other flags: an error there would repeat the password.
    Flag::new("proxy", Text("URL"), WAY, ByName)
        .help("A proxy for every request, as `http://user:password@proxy.example:3128`")
        .notes(" [env: http_proxy, https_proxy, all_proxy, no_proxy]")
        .example("\"http://proxy.example:3128\"")
        .shown(without_login),
    Flag::new("ca-file", Path("FILE"), WAY, ByName)
        .help("Further certificate authorities, in PEM")
        .notes(" [env: CURTSY_CA_FILE]")
        .variable("CURTSY_CA_FILE")
        .example("\"roots.pem\""),
];

const ANY_FIELD: &[Flag] =
    &[Flag::new("set", Fields("FIELD=VALUE"), MANNERS | POLICY, PolicyFields)
        .help("Set any field of the policy, as in `--set robots.ttl=2h` (see `curtsy policy show`)")
        .example("ttl = \"2h\"")
        .checked(|text| assignment(text).map(drop))];

impl Flag {
    const fn new(name: &'static str, takes: Takes, groups: u16, sets: Sets) -> Flag {
        Flag {
            name,
            groups,
            takes,
            sets,
            help: "",
            notes: "",
            variable: None,
            example: None,
            check: |_| Ok(()),
            shown: shell_word,
        }
    }

    const fn help(self, help: &'static str) -> Flag {
        Flag { help, ..self }
    }

    const fn notes(self, notes: &'static str) -> Flag {
        Flag { notes, ..self }
    }

    const fn variable(self, name: &'static str) -> Flag {
        Flag { variable: Some(name), ..self }
    }

    const fn example(self, value: &'static str) -> Flag {
        Flag { example: Some(Example::Comment(value)), ..self }
    }

    const fn in_force(self, value: &'static str) -> Flag {
        Flag { example: Some(Example::InForce(value)), ..self }
    }

    const fn checked(self, check: fn(&str) -> Result<(), String>) -> Flag {
        Flag { check, ..self }
    }

    const fn shown(self, shown: fn(&str) -> String) -> Flag {
        Flag { shown, ..self }
    }
}

/// Sets a value to what a checked text says.
fn set<T: FromStr>(value: &mut T, text: &str) {
    *value = text.parse().unwrap_or_else(|_| unreachable!("the flag's check refuses such a text"));
}

/// Whether a text can be parsed, and why not.
fn parses<T: FromStr<Err: Display>>(text: &str) -> Result<(), String> {
    text.parse::<T>().map(drop).map_err(|why| why.to_string())
}

/// A value as one word of a shell, without control characters.
fn shell_word(text: &str) -> String {
    let text = printable(text);
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@=,%+~…".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// The media types of a kind of content: a word, or a type itself.
fn media_types(kind: &str) -> String {
    let kind = kind.trim().to_ascii_lowercase();
    let known = KINDS.iter().find(|(word, _)| *word == kind);
    known.map_or(kind, |(_, types)| (*types).to_owned())
}

fn is_kind(kind: &str) -> Result<(), String> {
    if media_types(kind).contains('/') {
        return Ok(());
    }
    let kind = kind.trim().to_ascii_lowercase();
    let hint = nearest(&kind, KINDS.iter().map(|(word, _)| *word))
        .map(|near| format!("did you mean `{near}`?"))
        .unwrap_or_else(|| "a content type such as `image/png` or `text/*` is one too".to_owned());
    let words: Vec<_> = KINDS.iter().map(|(word, _)| format!("`{word}`")).collect();
    Err(format!("`{}` is no kind of content: {}\nhint: {hint}", printable(&kind), words.join(", ")))
}

/// Kinds of content by the words that people have for them.
const KINDS: [(&str, &str); 7] = [
    ("html", "text/html,application/xhtml+xml"),
    ("pdf", "application/pdf"),
    ("text", "text/*"),
    ("json", "application/json,application/ld+json"),
    ("xml", "application/xml,text/xml"),
    ("feed", "application/rss+xml,application/atom+xml,application/feed+json"),
    ("image", "image/*"),
];
