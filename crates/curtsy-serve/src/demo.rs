//! `curtsy serve --demo`: business sites on this machine, to see everything in a minute.
//!
//! Four sites for newcomers: a normal one, one with links only, one behind a bot wall, and one that
//! sometimes asks to wait. Their pages are in `assets/demo/`. The businesses are invented; their
//! telephone numbers are reserved for fiction.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use curtsy_core::url::HostKey;
use curtsy_crawl::RouteChoices;
use curtsy_fetch::NamedHost;
use curtsy_lab::sites::{Answer, Body, Host, Scene, Sitemap, Sites, SitesSettings};

use crate::ServeError;
use crate::secret::new_name;

/// The sites of the demonstration, and a folder for its store. Both go when it is dropped.
pub struct Demo {
    sites: Sites,
    folder: PathBuf,
}

/// The sites and what is seen there; the first is the example.
const SITES: [(&str, &str); 4] = [
    (
        "lucia.test",
        "A restaurant: sitemap, menu, prices, hours, questions. robots.txt forbids one page.",
    ),
    ("plumb.test", "A plumber: no sitemap, so pages are found through links."),
    ("walled.test", "A site behind a bot wall: the run is blocked, and says what to do."),
    ("busy.test", "A site that says “too fast” and “no” now and then: its risk grows."),
];

impl Demo {
    /// Starts the sites on 127.0.0.1, on any free port.
    pub fn start() -> Result<Demo, ServeError> {
        let settings = SitesSettings::default();
        let sites = Sites::start(scene(), settings)
            .map_err(|error| ServeError::Demo(std::io::Error::other(error)))?;
        let folder = std::env::temp_dir().join(format!("curtsy-demo-{}", new_name()));
        std::fs::create_dir_all(&folder).map_err(ServeError::Demo)?;
        Ok(Demo { sites, folder })
    }

    /// The site to begin with.
    pub fn example(&self) -> String {
        address(SITES[0].0, self.sites.port())
    }

    /// All sites, each with what is seen there.
    pub fn urls(&self) -> Vec<(String, &'static str)> {
        beside(&self.example())
    }

    /// The way to them: these names at their port, and nothing else of this machine.
    pub fn way(&self) -> RouteChoices {
        let port = self.sites.port();
        let named = |(host, _): (&str, &str)| {
            let host = HostKey::parse(host).expect("a name of ours");
            NamedHost { host, port }
        };
        RouteChoices {
            named: SITES.map(named).to_vec(),
            pins: vec!["*.test=127.0.0.1".parse().expect("a pin")],
            ..RouteChoices::default()
        }
    }

    /// A file for the store of the demonstration.
    pub fn store(&self) -> PathBuf {
        self.folder.join("demo.db")
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // A folder of ours; if it can't be removed, the system does it some day.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn address(host: &str, port: u16) -> String {
    format!("http://{host}:{port}/")
}

/// The sites beside an example of the demonstration, and the example itself. Other examples are
/// alone.
pub(crate) fn beside(example: &str) -> Vec<(String, &'static str)> {
    let port = example
        .strip_prefix("http://")
        .and_then(|rest| rest.strip_prefix(SITES[0].0)?.strip_prefix(':'))
        .and_then(|port| port.trim_end_matches('/').parse().ok());
    match port {
        Some(port) => SITES.map(|(host, what)| (address(host, port), what)).to_vec(),
        None => vec![(example.to_owned(), "An example.")],
    }
}

fn scene() -> Scene {
    let hosts = [lucia(), plumb(), walled(), busy()].map(|host| host.at(Ipv4Addr::LOCALHOST));
    Scene { seed: 4, hosts: hosts.to_vec(), ..Scene::default() }
}

fn page(path: &str, html: &str) -> Answer {
    Answer::to(path).body(Body::Html(html.to_owned()))
}

/// A page of the demonstration, in its file.
macro_rules! file {
    ($name:literal) => {
        include_str!(concat!("../assets/demo/", $name))
    };
}

/// A restaurant, with a sitemap, a page that robots.txt forbids, and every kind of tile.
fn lucia() -> Host {
    let pages = [
        ("/", file!("lucia/home.html")),
        ("/about", file!("lucia/about.html")),
        ("/team", file!("lucia/team.html")),
        ("/services", file!("lucia/services.html")),
        ("/pricing", file!("lucia/pricing.html")),
        ("/menu", file!("lucia/menu.html")),
        ("/menu/lunch", file!("lucia/lunch.html")),
        ("/menu/drinks", file!("lucia/drinks.html")),
        ("/shop", file!("lucia/shop.html")),
        ("/contact", file!("lucia/contact.html")),
        ("/faq", file!("lucia/faq.html")),
        ("/news", file!("lucia/news.html")),
        ("/reservations", file!("lucia/about.html")),
    ];
    let locs = pages.iter().map(|(path, _)| (*path).to_owned()).collect();
    let sitemap = Sitemap { path: "/sitemap.xml".to_owned(), locs, ..Sitemap::default() };
    let host = Host::named(SITES[0].0).robots(file!("lucia/robots.txt")).sitemap(sitemap);
    pages.iter().fold(host, |host, (path, html)| host.says_unlinked(page(path, html)))
}

/// A plumber, with links only and markup as it grew.
fn plumb() -> Host {
    let pages = [
        ("/", file!("plumb/home.html")),
        ("/services.html", file!("plumb/services.html")),
        ("/pricing.html", file!("plumb/pricing.html")),
        ("/about.html", file!("plumb/about.html")),
        ("/contact.html", file!("plumb/contact.html")),
        ("/reviews.html", file!("plumb/reviews.html")),
    ];
    let host = Host::named(SITES[1].0).robots("User-agent: *\nAllow: /\n");
    pages.iter().fold(host, |host, (path, html)| host.says_unlinked(page(path, html)))
}

/// A bot wall before everything but robots.txt.
fn walled() -> Host {
    let robots = Body::Text("User-agent: *\nAllow: /\n".to_owned());
    Host::named(SITES[2].0)
        .says_unlinked(Answer::to("/robots.txt").body(robots))
        .says_unlinked(Answer::wall("*"))
}

/// A small server: one page asks to wait first, two are refused. Never three in a row, so that the
/// run continues.
fn busy() -> Host {
    let host = Host::named(SITES[3].0)
        .robots("User-agent: *\nAllow: /\n")
        .says_unlinked(Answer::to("/services").first(1).status(429).retry_after_seconds(2))
        .says_unlinked(Answer::to("/pricing").status(403))
        .says_unlinked(Answer::to("/shop").status(403));
    let paths = ["/", "/about", "/services", "/contact", "/menu", "/faq"];
    paths.iter().fold(host, |host, path| host.says_unlinked(page(path, file!("busy/page.html"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sites_can_be_started_and_are_told_by_their_addresses() {
        let demo = Demo::start().unwrap();
        let example = demo.example();
        assert!(example.starts_with("http://lucia.test:"), "{example}");
        let urls = demo.urls();
        assert_eq!(urls.len(), 4);
        assert_eq!(urls[0].0, example);
        assert!(urls[2].0.starts_with("http://walled.test:"), "{}", urls[2].0);
        let folder = demo.store().parent().map(PathBuf::from).unwrap();
        assert!(folder.is_dir());
        drop(demo);
        assert!(!folder.exists());
    }

    #[test]
    fn another_example_stands_alone() {
        assert_eq!(
            beside("https://a.example/"),
            [("https://a.example/".to_owned(), "An example.")]
        );
    }
}
