//! Faults that repeat themselves, answers that are no page, and redirects that lead inward.

use std::net::Ipv4Addr;

use curtsy_judge::Exchange;
use curtsy_lab::sites::{Answer, Body, Ending, Host, Scene, Sitemap, SitemapKind};

use crate::harness::{SCALED, Town, assert_clean, judge, number, policy, texts};

/// A policy with short waits and `max` retries of each URL.
fn short_waits(town: &Town, max: u32, more: &str) {
    let text = SCALED
        .replace("[retry.curve]", &format!("[retry]\nmax = {max}\n[retry.curve]"))
        .replace("first_byte = '4s'", "first_byte = '500ms'");
    let pace = "[pace]\ndelay = '20ms'\nadaptive = false";
    let text = format!("preset = 'warehouse'\n{more}\n{text}{pace}\n");
    std::fs::write(town.path("policy.toml"), text).unwrap();
}

const ARGS: [&str; 4] = ["--policy", "policy.toml", "--no-sitemaps", "--json"];

/// Responses without an end or a beginning, and each with another URL of the host that works.
#[test]
fn a_url_that_never_answers_is_asked_as_often_as_promised() {
    let failures = [
        ("closed at once", Answer::to("/bad").ending(Ending::Empty)),
        ("never a byte", Answer::to("/bad").ending(Ending::Hang)),
        ("cut", Answer::to("/bad").ending(Ending::Truncated)),
        ("cut by a reset", Answer::to("/bad").ending(Ending::TruncatedByReset)),
        ("429 and a wait", Answer::to("/bad").status(429).retry_after_seconds(1)),
        ("a part", Answer::to("/bad").status(206).header("Content-Range: bytes 0-9/100")),
    ];
    for (name, failure) in failures {
        let host = Host::named("a.test").pages(6, 2, 300).says(failure);
        let mut town = Town::new(Scene { hosts: vec![host], ..Scene::default() });
        short_waits(&town, 3, "");
        let url = town.url(0, "/");
        town.crawl(&[&[url.as_str()], &ARGS[..]].concat()).ends(0);
        let bad = "SELECT decision FROM pages WHERE url LIKE '%/bad'";
        assert_eq!(texts(&town.db("crawl.db"), bad), ["dead"], "{name}");
        let log = town.close();
        let asked = log.iter().filter(|x| &*x.target == "/bad" && &*x.method == "GET").count();
        assert_eq!(asked, 4, "{name}: one try and three retries");
        assert_clean(&judge(log, &policy(&town.path("policy.toml")), &[]));
    }
}

/// The breaker opens before most URLs are tried, and the crawl's patience ends the job. The breaker's
/// probes are `HEAD /`: they are no try of a URL.
#[test]
fn a_host_that_fails_everywhere_gets_no_more_tries_a_url_than_promised() {
    for (robots, status) in [(200, 500), (500, 500), (200, 503), (200, 429)] {
        let host = Host::named("a.test")
            .says_unlinked(Answer::to("/robots.txt").status(robots))
            .says_unlinked(Answer::to_all().status(status));
        let mut town = Town::new(Scene { hosts: vec![host], ..Scene::default() });
        short_waits(&town, 2, "patience = '9s'");
        // The rules of robots.txt, where they cannot be had, are those of the user's choice.
        let text = std::fs::read_to_string(town.path("policy.toml")).unwrap();
        let text = text.replace("deny_ttl = '3s'", "deny_ttl = '3s'\nunreachable = 'allow'");
        std::fs::write(town.path("policy.toml"), text).unwrap();
        let urls: Vec<String> = (0..9).map(|n| town.url(0, &format!("/{n}"))).collect();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        town.crawl(&[&urls, &ARGS[..]].concat());
        let log = town.close();
        let first = log.iter().filter(|x| &*x.target == "/0").count();
        assert!(first >= 1, "{robots} {status}: the crawl has tried");
        for n in 0..9 {
            let target = format!("/{n}");
            let asked = log.iter().filter(|x| *x.target == *target && &*x.method == "GET").count();
            assert!(asked <= 3, "{robots} {status}: {target} was asked {asked} times");
        }
        assert_clean(&judge(log, &policy(&town.path("policy.toml")), &[]));
    }
}

/// Its beginning was kept as the page, cached, and taken for a robots.txt or a sitemap.
#[test]
fn a_part_that_nobody_asked_for_is_not_a_page() {
    let part = |path: &str, text: &str| {
        Answer::to(path)
            .status(206)
            .header("Content-Range: bytes 0-9/100")
            .header("Cache-Control: max-age=3600")
            .body(Body::Text(text.into()))
    };
    let whole = Host::named("whole.test")
        .robots("User-agent: *\n")
        .says(part("/part", "<a href=/unheard>x</a>"))
        .says(part("/sitemap.xml", "<urlset><url><loc>/listed</loc></url></urlset>"))
        .says(Answer::page("/", "home", "", &["/part"]));
    let ruled = Host::named("ruled.test")
        .at(Ipv4Addr::new(127, 0, 0, 3))
        .says(part("/robots.txt", "User-agent: *\nDisallow:"))
        .says(Answer::page("/", "home", "", &[]));
    let mut town = Town::new(Scene { hosts: vec![whole, ruled], ..Scene::default() });
    short_waits(&town, 1, "patience = '2s'");
    let seeds = [town.url(0, "/"), town.url(1, "/")];
    // The second crawl has the cache and the ledger of the first.
    for into in ["crawl.db", "second.db"] {
        town.crawl(&[&seeds[0], &seeds[1], "--policy", "policy.toml", "--into", into]);
    }
    let db = town.db("crawl.db");
    let row = "SELECT decision || ' ' || http_status || ' ' || error || ' ' || (body IS NULL) \
               FROM pages WHERE url LIKE '%/part'";
    assert_eq!(texts(&db, row), ["dead 206 truncated 1"]);
    assert_eq!(number(&db, "SELECT count(*) FROM sitemap_urls"), 0);
    let home = format!("SELECT count(*) FROM pages WHERE url = '{}' AND body > ''", seeds[1]);
    assert_eq!(number(&db, &home), 0, "its robots.txt is not known");
    let log = town.close();
    let asked = |host: usize, target: &str| {
        let is_ruled = |x: &Exchange| x.local == Some(Ipv4Addr::new(127, 0, 0, 3).into());
        log.iter().filter(|x| is_ruled(x) == (host == 1) && &*x.target == target).count()
    };
    assert_eq!(asked(0, "/part"), 4, "two tries of each crawl: nothing was cached");
    assert_eq!((asked(0, "/unheard"), asked(0, "/listed"), asked(1, "/")), (0, 0, 0));
    assert!(asked(1, "/robots.txt") > 0 && asked(0, "/sitemap_index.xml") > 0);
}

/// An earlier crawl was allowed to dial the target, and read its robots.txt. The row said `robots`.
#[test]
fn a_redirect_that_leads_inward_ends_at_the_guard_whatever_robots_txt_said() {
    for robots in [Answer::to("/robots.txt").status(503), {
        Answer::to("/robots.txt").body(Body::Text("User-agent: *\nDisallow: /\n".into()))
    }] {
        let inward = Host::named("in.test").at(Ipv4Addr::new(127, 0, 0, 3)).says(robots);
        let mut town = Town::new(Scene { hosts: vec![inward], ..Scene::default() });
        let target = town.url(0, "/secret");
        let outer = Host::named("out.test")
            .at(Ipv4Addr::new(127, 0, 0, 4))
            .says(Answer::moved("/", 302, &target));
        let outer = Town::new(Scene { hosts: vec![outer], ..Scene::default() });
        let seed = outer.url(0, "/");
        short_waits(&town, 0, "patience = '1s'");
        let crawl = |url: &str, allowed: &str, into: &str| {
            let policy = ["--policy", "policy.toml", "--no-sitemaps"];
            let args = ["crawl", url, "--allow-net", allowed, "--into", into];
            town.run(&[&args[..], &policy].concat())
        };
        crawl(&target, "127.0.0.3/32", "inside.db");
        crawl(&seed, "127.0.0.4/32", "outside.db");
        let rows = "SELECT decision || ' ' || coalesce(gate, error) FROM pages";
        assert_eq!(texts(&town.db("outside.db"), rows), ["dead guard"]);
        let log = town.close();
        assert!(!log.is_empty() && log.iter().all(|x| &*x.target == "/robots.txt"));
    }
}

/// All of its sitemaps were requested before the first page: thousands, if it names so many.
#[test]
fn a_long_index_is_read_among_the_pages() {
    const MAPS: usize = 160;
    let map = |path: String, kind, locs| Sitemap { path, kind, locs, pages: None, gz: false };
    let name = |n: usize| format!("/map-{n}.xml");
    let mut host = Host::named("a.test")
        .robots("User-agent: *\nSitemap: /index.xml\n")
        .says_unlinked(Answer::page("/p*", "a page", "", &[]))
        .says(Answer::page("/", "home", "", &[]))
        .sitemap(map("/index.xml".into(), SitemapKind::Index, (0..MAPS).map(name).collect()));
    for n in 0..MAPS {
        let pages = (0..2).map(|page| format!("/p{n}-{page}")).collect();
        host = host.sitemap(map(name(n), SitemapKind::Urls, pages));
    }
    let mut town = Town::new(Scene { hosts: vec![host], ..Scene::default() });
    let seed = town.url(0, "/");
    town.crawl(&[&seed, "--delay", "0s"]).ends(0);
    let pages = "SELECT count(*) FROM pages WHERE kind = 'page' AND decision = 'fetched'";
    assert_eq!(number(&town.db("crawl.db"), pages), 1 + 2 * MAPS as i64, "none is left out");
    let mut log = town.close();
    log.sort_by_key(|x| x.start);
    let (mut maps, mut read) = (0, 0);
    for exchange in &log {
        if exchange.target.starts_with("/map-") {
            maps += 1;
            // A visit to the host has some of its URLs at hand.
            assert!(maps <= 50 || read + 20 >= (maps - 50) * 2, "map {maps} after {read} pages");
        }
        read += usize::from(exchange.target.starts_with("/p"));
    }
    let before = log.iter().take_while(|x| !x.target.starts_with("/p")).count();
    assert!((50..=70).contains(&before), "{before} requests before the first page");
}
