//! What stands on the loopback web: plain data, written in Rust or read from a TOML file.
//!
//! A host is its generated pages, its robots.txt and sitemaps, and a list of scripted [`Answer`]s
//! that come before all of them. Times in a script count from the host's first request: nobody can
//! have seen anything before it, and a crawler may take its time to start. Texts may say `{port}`
//! and `{tls_port}`, and robots.txt and redirects `{base}`: `http://shop.test:8080`, as the client
//! names the host.
//!
//! This is not the model of the simulated web ([`HostModel`](curtsy_sim::web::HostModel)). That one
//! draws an answer's times and says whether a page is good; this one has to say every byte of it
//! and takes its times from real sockets. They share what they have in common: seeds, addresses,
//! and the ways to say Retry-After.

use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::time::Duration;

use curtsy_core::policy::read_span;
use serde::{Deserialize, Deserializer};

use super::answer::{Answer, Body};
use crate::worlds::WebWorld;
use curtsy_sim::web;

/// Hosts and where they listen.
///
/// ```
/// use curtsy_lab::sites::{Host, Scene};
/// let scene = Scene::read("[[host]]\nname = 'shop.test'\npages = { count = 20 }\n").unwrap();
/// assert_eq!(scene.hosts[0].name, Host::named("shop.test").pages(20, 8, 4096).name);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scene {
    /// The port of all plain hosts; 0 is any free one.
    pub port: u16,
    /// The port of all hosts that speak TLS; 0 is any free one.
    pub tls_port: u16,
    /// Chance comes from here: pages, waits, moods.
    pub seed: u64,
    /// The hosts.
    #[serde(rename = "host")]
    pub hosts: Vec<Host>,
}

/// One host.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Host {
    /// Its name in the `Host` header; without one it goes by its address.
    pub name: String,
    /// Its address, in 127.0.0.0/8; without one the next free. Hosts with names may share an
    /// address.
    pub address: Option<Ipv4Addr>,
    /// Where it listens.
    pub listen: Listen,
    /// Its generated pages.
    pub pages: Pages,
    /// Its robots.txt; none is a 404. Scripted answers for `/robots.txt` come first.
    pub robots: Option<String>,
    /// Its sitemaps.
    #[serde(rename = "sitemap")]
    pub sitemaps: Vec<Sitemap>,
    /// Its traps.
    #[serde(rename = "trap")]
    pub traps: Vec<Trap>,
    /// Scripted answers; the first that fits is given.
    #[serde(rename = "answer")]
    pub answers: Vec<Answer>,
    /// When its listeners are closed, so that connections are refused.
    pub refuse: Vec<Window>,
    /// How long a TLS handshake is kept waiting, least and most. Over plain TCP the kernel shakes
    /// hands by itself.
    pub handshake: Range,
    /// How long it thinks before each first byte, least and most.
    pub think: Range,
    /// A share of requests is read late, and marked so in the log.
    pub deaf: Option<Deaf>,
    /// Closes each connection after so many answers.
    pub close_after: Option<u32>,
    /// Closes a connection on which nothing has happened for this time, within half a second.
    #[serde(deserialize_with = "maybe_span")]
    pub idle_max: Option<Duration>,
    /// How many connections of a hundred are closed as soon as they are accepted, unread.
    pub shut_percent: u8,
    /// A world whose pages are served instead of generated ones.
    #[serde(skip)]
    pub world: Option<&'static WebWorld>,
}

/// Where a host listens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Listen {
    /// On the plain port.
    #[default]
    Http,
    /// On the TLS port.
    Https,
    /// On both.
    Both,
}

impl Listen {
    /// Whether the plain port is one of them.
    pub fn plain(self) -> bool {
        self != Listen::Https
    }

    /// Whether the TLS port is one of them.
    pub fn tls(self) -> bool {
        self != Listen::Http
    }
}

/// Generated pages: `/` and `/p/1` to `/p/{count-1}`, a tree in which every page can be reached.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pages {
    /// How many, with the home page.
    pub count: u32,
    /// Links on each: its children in the tree first, then others.
    pub links: u32,
    /// How long a body is at least.
    pub bytes: u32,
    /// Whether they have an ETag, and answer 304 to who knows it.
    pub etag: bool,
    /// Their `Cache-Control: max-age`, in seconds.
    pub max_age: Option<u32>,
    /// More links on the home page: what is scripted is found through them.
    pub home_links: Vec<String>,
}

/// A sitemap, an index of sitemaps, or a feed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sitemap {
    /// Where it is.
    pub path: String,
    /// What it is.
    pub kind: SitemapKind,
    /// What it names: paths of this host, or whole URLs.
    pub locs: Vec<String>,
    /// It names the generated pages of these numbers too, from and up to (the last not included).
    pub pages: Option<(u32, u32)>,
    /// Whether the file itself is packed, as `sitemap.xml.gz` is.
    pub gz: bool,
}

/// What a sitemap is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SitemapKind {
    /// `urlset`.
    #[default]
    Urls,
    /// `sitemapindex`.
    Index,
    /// One URL a line.
    Text,
    /// A feed.
    Rss,
    /// A feed.
    Atom,
}

/// Pages without an end, below a path.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trap {
    /// Everything below it belongs to the trap; it ends in `/`.
    pub path: String,
    /// How it goes on.
    pub kind: TrapKind,
}

/// How a trap goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrapKind {
    /// Each month links the next and the one before.
    Calendar,
    /// Each page links itself and two more under a new session id.
    Session,
    /// A relative link that lacks its slash: the path repeats itself.
    Repeat,
}

/// A span of time, from and to, counted from the host's first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// From.
    #[serde(deserialize_with = "span")]
    pub from: Duration,
    /// Up to.
    #[serde(deserialize_with = "span")]
    pub to: Duration,
}

/// The least and the most of a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Range {
    /// The least.
    #[serde(deserialize_with = "span")]
    pub min: Duration,
    /// The most.
    #[serde(deserialize_with = "span")]
    pub max: Duration,
}

/// A server that reads late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deaf {
    /// How many requests of a hundred.
    pub percent: u8,
    /// How late.
    #[serde(deserialize_with = "span", rename = "for")]
    pub lasts: Duration,
}

impl Scene {
    /// Reads and checks a TOML file.
    pub fn read(text: &str) -> Result<Scene, SceneError> {
        let scene: Scene =
            toml::from_str(text).map_err(|error| SceneError::Unreadable(error.to_string()))?;
        scene.check()?;
        Ok(scene)
    }

    /// So many plain hosts, `h0.test` and on, each at an address of its own.
    pub fn plain(hosts: u32, pages: u32, links: u32, bytes: u32) -> Scene {
        let hosts =
            (0..hosts).map(|n| Host::named(&format!("h{n}.test")).pages(pages, links, bytes));
        Scene { seed: 1, hosts: hosts.collect(), ..Scene::default() }
    }

    /// These worlds, each as `NAME.localhost`, all at 127.0.0.1.
    pub fn of_worlds(worlds: &[&'static WebWorld]) -> Scene {
        let host = |world: &&'static WebWorld| Host {
            world: Some(world),
            ..Host::named(&format!("{}.localhost", world.name)).at(Ipv4Addr::LOCALHOST)
        };
        Scene { hosts: worlds.iter().map(host).collect(), ..Scene::default() }
    }

    /// Gives every host its address: those that ask for one get it, the others the next that nobody
    /// asked for.
    pub(super) fn addresses(&self) -> Vec<Ipv4Addr> {
        let asked: HashSet<Ipv4Addr> = self.hosts.iter().filter_map(|host| host.address).collect();
        let mut free = (1..).map(|n| web::address(n as u64)).filter_map(|ip| match ip {
            std::net::IpAddr::V4(ip) => Some(ip).filter(|ip| !asked.contains(ip)),
            std::net::IpAddr::V6(_) => None,
        });
        let given = self.hosts.iter().map(|host| host.address.or_else(|| free.next()));
        given.map(|ip| ip.unwrap_or(Ipv4Addr::LOCALHOST)).collect()
    }

    /// Puts the ports, now that they are known, where texts say `{port}` and `{tls_port}`.
    pub(super) fn name_ports(&mut self, port: u16, tls_port: u16) {
        let fill = |text: &mut String| {
            if text.contains("port}") {
                *text = text
                    .replace("{port}", &port.to_string())
                    .replace("{tls_port}", &tls_port.to_string());
            }
        };
        for host in &mut self.hosts {
            host.robots.iter_mut().for_each(fill);
            host.pages.home_links.iter_mut().for_each(fill);
            host.sitemaps.iter_mut().flat_map(|sitemap| &mut sitemap.locs).for_each(fill);
            for answer in &mut host.answers {
                answer.location.iter_mut().for_each(fill);
                answer.headers.iter_mut().for_each(fill);
                match &mut answer.body {
                    Body::Text(text) | Body::Html(text) => fill(text),
                    Body::Page(parts) => {
                        fill(&mut parts.head);
                        parts.links.iter_mut().for_each(fill);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Refuses what can't be played.
    pub fn check(&self) -> Result<(), SceneError> {
        if self.hosts.is_empty() || self.hosts.len() > HOSTS_MAX {
            return Err(SceneError::Hosts(self.hosts.len()));
        }
        if self.port != 0 && self.port == self.tls_port {
            return Err(SceneError::OnePort(self.port));
        }
        let addresses = self.addresses();
        let mut names = HashSet::new();
        for (host, address) in self.hosts.iter().zip(&addresses) {
            if !address.is_loopback() {
                return Err(SceneError::NotLoopback { host: host.name.clone(), address: *address });
            }
            if !names.insert((*address, host.name.to_ascii_lowercase())) {
                return Err(SceneError::Twice { host: host.name.clone(), address: *address });
            }
            let shared = || addresses.iter().filter(|other| *other == address).nth(1).is_some();
            if !host.refuse.is_empty() && shared() {
                return Err(host.wrong("refuse", "its address is another host's too"));
            }
            host.check()?;
        }
        Ok(())
    }
}

impl Host {
    /// A host with a name, and nothing else but a home page.
    pub fn named(name: &str) -> Host {
        Host { name: name.to_owned(), ..Host::default() }
    }

    /// With so many pages, links on each, and bytes in each.
    pub fn pages(mut self, count: u32, links: u32, bytes: u32) -> Host {
        self.pages = Pages { count, links, bytes, ..self.pages };
        self
    }

    /// With a robots.txt.
    pub fn robots(mut self, text: &str) -> Host {
        self.robots = Some(text.to_owned());
        self
    }

    /// With a scripted answer, which the home page links if its path is one.
    pub fn says(mut self, answer: Answer) -> Host {
        let special = answer.path.contains('*') || answer.path == "/robots.txt";
        if !special && !self.pages.home_links.contains(&answer.path) {
            self.pages.home_links.push(answer.path.clone());
        }
        self.answers.push(answer);
        self
    }

    /// With a scripted answer that nothing links.
    pub fn says_unlinked(mut self, answer: Answer) -> Host {
        self.answers.push(answer);
        self
    }

    /// With one more link on the home page.
    pub fn links_to(mut self, url: &str) -> Host {
        self.pages.home_links.push(url.to_owned());
        self
    }

    /// With a trap, linked from the home page.
    pub fn trap(mut self, path: &str, kind: TrapKind) -> Host {
        self.pages.home_links.push(path.to_owned());
        self.traps.push(Trap { path: path.to_owned(), kind });
        self
    }

    /// With a sitemap.
    pub fn sitemap(mut self, sitemap: Sitemap) -> Host {
        self.sitemaps.push(sitemap);
        self
    }

    /// At this address.
    pub fn at(mut self, address: Ipv4Addr) -> Host {
        self.address = Some(address);
        self
    }

    fn check(&self) -> Result<(), SceneError> {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if self.name.len() > 253 || !self.name.chars().all(legal) {
            return Err(self.wrong("name", "a name is of letters, digits, `.` and `-`"));
        }
        if self.pages.count > PAGES_MAX || self.pages.links > LINKS_MAX {
            return Err(self.wrong("pages", "at most 10,000,000 pages with 1,000 links each"));
        }
        if self.pages.bytes > BYTES_MAX {
            return Err(self.wrong("pages.bytes", "at most 64 MiB"));
        }
        for (key, range) in [("handshake", self.handshake), ("think", self.think)] {
            if range.min > range.max {
                return Err(self.wrong(key, "`min` is more than `max`"));
            }
        }
        if self.traps.iter().any(|trap| !trap.path.starts_with('/') || !trap.path.ends_with('/')) {
            return Err(self.wrong("trap.path", "a trap's path begins and ends with `/`"));
        }
        if self.sitemaps.iter().any(|sitemap| !sitemap.path.starts_with('/')) {
            return Err(self.wrong("sitemap.path", "a path begins with `/`"));
        }
        if self.refuse.iter().any(|window| window.from >= window.to) {
            return Err(self.wrong("refuse", "`from` is not before `to`"));
        }
        for answer in &self.answers {
            answer.check().map_err(|why| self.wrong("answer", why))?;
        }
        Ok(())
    }

    fn wrong(&self, key: &'static str, why: &'static str) -> SceneError {
        SceneError::Host { host: self.name.clone(), key, why }
    }
}

impl Default for Host {
    fn default() -> Host {
        Host {
            name: String::new(),
            address: None,
            listen: Listen::Http,
            pages: Pages::default(),
            robots: None,
            sitemaps: Vec::new(),
            traps: Vec::new(),
            answers: Vec::new(),
            refuse: Vec::new(),
            handshake: Range::default(),
            think: Range::default(),
            deaf: None,
            close_after: None,
            idle_max: None,
            shut_percent: 0,
            world: None,
        }
    }
}

impl Default for Pages {
    fn default() -> Pages {
        let home_links = Vec::new();
        Pages { count: 1, links: 8, bytes: 4096, etag: false, max_age: None, home_links }
    }
}

impl Range {
    /// From `min` to `max` milliseconds.
    pub fn ms(min: u64, max: u64) -> Range {
        Range { min: Duration::from_millis(min), max: Duration::from_millis(max) }
    }
}

impl Window {
    /// From `from` to `to` milliseconds after the host's first request.
    pub fn ms(from: u64, to: u64) -> Window {
        Window { from: Duration::from_millis(from), to: Duration::from_millis(to) }
    }
}

/// What is wrong with a description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SceneError {
    /// Not TOML, or not of this shape.
    #[error("the description can't be read: {0}")]
    Unreadable(String),
    /// None or too many.
    #[error("a description has 1 to {HOSTS_MAX} hosts, this one has {0}")]
    Hosts(usize),
    /// Plain and TLS on the same port.
    #[error(
        "`port` and `tls_port` are both {0}\nhint: leave one of them out, and any free port is taken"
    )]
    OnePort(u16),
    /// An address that others can reach.
    #[error(
        "`{host}` is at {address}, which is not loopback\nhint: use an address in 127.0.0.0/8; this server is for tests on one machine"
    )]
    NotLoopback {
        /// Whose.
        host: String,
        /// The address.
        address: Ipv4Addr,
    },
    /// Two hosts that can't be told apart.
    #[error("`{host}` is twice at {address}")]
    Twice {
        /// Whose.
        host: String,
        /// The address.
        address: Ipv4Addr,
    },
    /// Something else of one host.
    #[error("`{key}` of host `{host}`: {why}")]
    Host {
        /// Whose.
        host: String,
        /// Where.
        key: &'static str,
        /// What would do.
        why: &'static str,
    },
}

/// A span in a file: `200ms`, `3s`, `1m30s`.
pub(super) fn span<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    read_span(&text).ok_or_else(|| {
        serde::de::Error::custom(format!("`{text}` is not a span, as `200ms` or `3s` is"))
    })
}

/// The same where it may be left out.
pub(super) fn maybe_span<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    span(from).map(Some)
}

const HOSTS_MAX: usize = 10_000;
const PAGES_MAX: u32 = 10_000_000;
const LINKS_MAX: u32 = 1_000;
pub(super) const BYTES_MAX: u32 = 64 << 20;
