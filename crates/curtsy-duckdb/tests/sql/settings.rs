//! DuckDB's settings: "Crawler reads these settings from DuckDB configuration at crawl start".

use std::net::SocketAddr;
use std::time::Duration;

use curtsy_lab::sites::{Answer, Host, Listen, Scene};
use serde_json::json;

use crate::harness::{QUICK, Town, list};
use crate::raw::proxy;

fn scene(host: Host) -> Scene {
    Scene { seed: 1, hosts: vec![host], ..Scene::default() }
}

/// "`http_timeout`: Request timeout in seconds, default 30".
#[test]
fn http_timeout_ends_a_request_that_takes_too_long() {
    let mut slow = Answer::to("/slow");
    slow.first_byte = Duration::from_millis(2500);
    let host = Host::named("h.test")
        .pages(30, 1, 500)
        .robots("User-agent: *\nCrawl-delay: 0.1\n")
        .says_unlinked(slow);
    let no_retries = format!("{QUICK}[retry]\nmax = 0\n");
    let town = Town::new(scene(host), &no_retries);
    let duck = town.duck();
    assert_eq!(duck.number("SELECT current_setting('http_timeout')"), 30);
    // Other pages show that the cause is the page and not the host.
    let others = (1..30).map(|n| town.url(0, &format!("/p/{n}")));
    let url = list(std::iter::once(town.url(0, "/slow")).chain(others));
    duck.run("SET http_timeout = 1");
    duck.crawl(&url, "");
    let told = "SELECT http_status, error LIKE '%timeout%', body IS NULL FROM pages WHERE url LIKE '%/slow'";
    assert_eq!(json!(duck.rows(told)), json!([[null, true, true]]));
    // Read anew by the next crawl.
    duck.run("RESET http_timeout");
    duck.crawl(&url, "");
    assert_eq!(json!(duck.rows(told)), json!([[200, null, false]]));
}

/// "`http_keep_alive`: Enable connection keep-alive, default true".
#[test]
fn http_keep_alive_decides_whether_connections_are_used_again() {
    let town = Town::new(Scene::plain(1, 11, 1, 500), QUICK);
    let duck = town.duck();
    let connections = |from, to| {
        let before = town.log().len();
        duck.crawl(&town.pages(0, from, to), "threads 1, max_parallel_per_domain 1");
        let log = town.log();
        let mut used: Vec<u64> = log[before..].iter().map(|x| x.conn).collect();
        used.dedup();
        (log.len() - before, used.len())
    };
    assert_eq!(connections(1, 6), (6, 1));
    duck.run("SET http_keep_alive = false");
    assert_eq!(connections(6, 11), (5, 5));
}

/// "`http_proxy`, `http_proxy_username`, `http_proxy_password`": plain requests go to the proxy as
/// whole URLs, with the login.
#[test]
fn http_proxy_is_used_with_its_login() {
    let robots = "User-agent: *\nDisallow: /p/1\n";
    let host = Host::named("shop.test").robots(robots).pages(4, 1, 500);
    let mut town = Town::new(scene(host), QUICK);
    let served = town.sites.as_ref().unwrap().hosts()[0].clone();
    // `ann:s3cr:t?`
    let login = Some("Basic YW5uOnMzY3I6dD8=");
    let proxy = proxy("127.0.0.1:0", login, SocketAddr::V4(served.address));
    let duck = town.duck();
    duck.run(&format!("SET curtsy_resolve = 'shop.test={}'", served.address.ip()));
    duck.run(&format!("SET http_proxy = '{}'", proxy.address));
    let url = |n: u32| list([format!("{}p/{n}", served.url)]);
    // Without the login the proxy refuses every request. Its response is not the site's robots.txt.
    duck.crawl(&url(1), "patience '0s'");
    let settled = "SELECT count(*) FROM pages WHERE http_status IS NOT NULL OR decision = 'dead'";
    assert_eq!((town.log().len(), duck.number(settled)), (0, 0));
    duck.run("SET http_proxy_username = 'ann'; SET http_proxy_password = 's3cr:t?'");
    duck.crawl(&url(2), "");
    duck.crawl(&url(1), "");
    assert!(!town.asked(0).contains(&"/p/1".to_owned()), "robots.txt forbids it");
    assert_eq!(duck.number("SELECT http_status FROM pages WHERE url LIKE '%/2'"), 200);
    let heard = proxy.heard();
    let whole = format!("GET {}p/2 HTTP/1.1\r\n", served.url);
    assert!(heard.iter().any(|head| head.starts_with(&whole)), "{heard:?}");
    let through = heard.len();
    // Without a proxy again: read at the start of each crawl.
    duck.run("RESET http_proxy");
    duck.crawl(&url(3), "");
    assert_eq!((proxy.heard().len(), town.asked(0).contains(&"/p/3".to_owned())), (through, true));
    // The judge would attribute the proxy's delays to the crawler.
    assert!(town.close().iter().all(|x| !x.authorization), "the login is the proxy's alone");
}

/// The example of the seed, as it is written there. Its names are pinned to this machine, where a
/// real proxy listens on port 8080.
#[test]
fn the_example_of_the_seed_runs_as_it_is_written() {
    let mut host = Host::named("example.com").pages(1, 1, 500);
    host.listen = Listen::Https;
    let mut town = Town::new(scene(host), "");
    let served = town.sites.as_ref().unwrap().hosts()[0].clone();
    // An address of the test, whatever else listens on port 8080 of this machine.
    let own = std::process::id();
    let ip = format!("127.80.{}.{}", own / 250 % 250 + 1, own % 250 + 1);
    let proxy = proxy(&format!("{ip}:8080"), None, SocketAddr::V4(served.address));
    std::fs::write(town.path("ca.pem"), town.sites.as_ref().unwrap().ca_pem().unwrap()).unwrap();
    let duck = town.duck();
    duck.run(&format!(
        "SET curtsy_contact = 'me@example.org'; SET curtsy_resolve = 'example.com={}, proxy.example.com={ip}'; SET curtsy_ca_file = '{}'",
        served.address.ip(),
        town.path("ca.pem").display(),
    ));
    let told = duck.run(
        "SET http_timeout = 60;
        SET http_proxy = 'http://proxy.example.com:8080';
        CRAWL (SELECT 'https://example.com/') INTO pages;",
    );
    assert_eq!(told.columns[1], "rows_inserted");
    assert_eq!(told.rows[0][1], 1, "{told:?}");
    let row = "SELECT url, http_status, error, length(body) > 400 FROM pages";
    assert_eq!(json!(duck.rows(row)), json!([["https://example.com/", 200, null, true]]));
    assert!(proxy.heard().iter().all(|head| head.starts_with("CONNECT example.com:443 ")));
    assert!(!proxy.heard().is_empty());
    // The judge would attribute the proxy's delays to the crawler.
    let log = town.close();
    assert!(
        log.iter().all(|x| x.user_agent.as_deref().is_some_and(|ua| ua.contains("me@example.org")))
    );
}

/// TLS without the proxy, with an authority of the test; without it the site is not trusted.
#[test]
fn curtsy_ca_file_and_curtsy_resolve_lead_to_a_site_of_ones_own() {
    let mut host = Host::named("shop.test").pages(3, 1, 500);
    host.listen = Listen::Https;
    let mut town = Town::new(scene(host), QUICK);
    let served = town.sites.as_ref().unwrap().hosts()[0].clone();
    std::fs::write(town.path("ca.pem"), town.sites.as_ref().unwrap().ca_pem().unwrap()).unwrap();
    let duck = town.duck();
    duck.run(&format!("SET curtsy_resolve = '*.test={}'", served.address.ip()));
    let urls = list([format!("{}p/1", served.url)]);
    let told = duck.crawl(&urls, "patience '0s'");
    assert_eq!(told["fetched"], 0, "{told:?}");
    duck.run(&format!("SET curtsy_ca_file = '{}'", town.path("ca.pem").display()));
    // A ledger of its own does not know the first attempt.
    duck.run(&format!("SET curtsy_ledger = '{}'", town.path("other.db").display()));
    duck.crawl(&urls, "");
    assert_eq!(duck.number("SELECT count(*) FROM pages WHERE http_status = 200"), 1);
    assert!(town.path("other.db").exists());
    town.close();
    for (setting, value, word) in [
        ("curtsy_ca_file", "/nowhere.pem", "nowhere.pem"),
        ("curtsy_allow_net", "everything", "curtsy_allow_net"),
        ("curtsy_resolve", "shop.test=here", "shop.test=here"),
        ("curtsy_policy", "/nowhere.toml", "nowhere.toml"),
        ("http_proxy", "ftp://proxy:1", "proxy"),
    ] {
        duck.run(&format!("SET {setting} = '{value}'"));
        duck.refused_with(&format!("FROM crawl({urls})"), &[word]);
        duck.run(&format!("RESET {setting}"));
    }
}
