//! The ready-made scenes, and a description in a file.

use std::collections::HashSet;

use curtsy_lab::sites::{Scene, Sites, SitesSettings};
use curtsy_lab::worlds::worlds;

use super::client::{Client, Reply};

/// Every path that the home page of a host links on itself, with what it says.
fn linked(sites: &Sites, host: usize) -> Vec<(String, Option<Reply>)> {
    let home = Client::of(sites, host).get("/").text();
    let links = home.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let own: HashSet<&str> = links.filter(|link| link.starts_with('/')).collect();
    let mut own: Vec<&str> = own.into_iter().collect();
    own.sort_unstable();
    let ask = |path: &str| {
        let mut client = Client::of(sites, host);
        client.request(path, "");
        (path.to_owned(), client.reply())
    };
    own.into_iter().map(ask).collect()
}

#[test]
fn the_demo_has_everything_that_a_crawler_meets() {
    let sites = Sites::start(Scene::demo(), SitesSettings::default()).unwrap();
    let names: Vec<&str> = sites.hosts().iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["demo.localhost", "shop.demo.localhost", "members.demo.localhost"]);
    assert!(sites.hosts().iter().all(|host| host.address.ip().to_string() == "127.0.0.1"));
    let mut client = Client::of(&sites, 0);
    let robots = client.get("/robots.txt").text();
    assert!(
        robots.contains("Crawl-delay: 0.2") && robots.contains("Sitemap: http://demo.localhost/")
    );
    for (path, statuses) in [
        ("/busy", [429, 200]),
        ("/shaky", [503, 200]),
        ("/old", [301, 301]),
        ("/offers", [302, 302]),
        ("/missing", [404, 404]),
        ("/calendar/", [200, 200]),
        ("/only-in-the-sitemap", [200, 200]),
        ("/sitemap-pages.xml.gz", [200, 200]),
    ] {
        assert_eq!(statuses, [client.get(path).status, client.get(path).status], "{path}");
    }
    assert!(linked(&sites, 0).iter().all(|(_, reply)| reply.is_some()));
    assert_eq!(Client::of(&sites, 2).get("/").status, 403);
}

#[test]
fn mixed_moods_are_as_many_as_hosts_and_each_can_be_asked() {
    let scene = Scene::mixed(36);
    scene.check().unwrap();
    let scripts: HashSet<String> = scene
        .hosts
        .iter()
        .map(|host| {
            let mut bare = host.clone();
            (bare.name, bare.address) = (String::new(), None);
            format!("{bare:?}")
        })
        .collect();
    assert!(scripts.len() >= 34, "the first three are alike, the others differ: {}", scripts.len());
    let sites = Sites::start(scene, SitesSettings::default()).unwrap();
    let mut statuses = HashSet::new();
    let mut broken = 0;
    for host in 0..36 {
        for (_, reply) in linked(&sites, host) {
            match reply {
                Some(reply) => drop(statuses.insert(reply.status)),
                None => broken += 1,
            }
        }
    }
    let wanted = [200, 204, 301, 302, 401, 402, 403, 404, 408, 410, 429, 451, 500, 502, 503];
    for status in wanted {
        assert!(statuses.contains(&status), "{status}: {statuses:?}");
    }
    assert!(broken >= 2, "a reset and an empty answer");
    assert!(Scene::mixed(1_000).check().is_ok());
}

#[test]
fn a_description_in_a_file_says_the_same_as_builders() {
    let text = include_str!("../../../../examples/site.toml");
    let sites = Sites::start(Scene::read(text).unwrap(), SitesSettings::default()).unwrap();
    let mut client = Client::of(&sites, 0);
    assert!(client.get("/robots.txt").text().contains("Disallow: /private/"));
    assert_eq!(client.get("/busy").header("Retry-After"), Some("1"));
    assert_eq!(client.get("/busy").status, 200);
    assert_eq!(client.get("/p/39").status, 200);
    assert!(linked(&sites, 0).iter().all(|(_, reply)| reply.is_some()));
}

#[test]
fn worlds_are_served_by_their_names() {
    let chosen = ["big-wiki", "redirect-maze"];
    let worlds: Vec<_> =
        worlds().into_iter().filter(|world| chosen.contains(&world.name)).collect();
    let sites = Sites::start(Scene::of_worlds(&worlds), SitesSettings::default()).unwrap();
    for (host, world) in worlds.iter().enumerate() {
        assert_eq!(sites.hosts()[host].name, format!("{}.localhost", world.name));
        let mut client = Client::of(&sites, host);
        for target in ["/", "/go/start", "/wiki/Amber_acorn", "/robots.txt", "/missing?a=b"] {
            let (sent, computed) = (client.get(target), world.answer(target));
            assert_eq!((sent.status, sent.text()), (computed.status, computed.body), "{target}");
            assert_eq!(sent.header("location"), computed.location.as_deref(), "{target}");
        }
    }
}
