//! Manners of several concurrent crawls: each host has one pace.

use std::process::{Command, Stdio};

use curtsy_lab::sites::{Host, Scene, Sitemap};
use serde_json::json;

use crate::harness::{Town, crawl_sql, list, program};

const DELAY: &str = "preset = 'warehouse'\n[pace]\ndelay = '100ms'\nadaptive = false\n";

/// The pages of all hosts whose number has this rest.
fn part(town: &Town, hosts: usize, pages: u32, of: u32, rest: u32) -> Vec<String> {
    let numbers = (1..pages).filter(|n| n % of == rest);
    let pages = (0..hosts).flat_map(|host| numbers.clone().map(move |n| (host, n)));
    pages.map(|(host, n)| town.url(host, &format!("/p/{n}"))).collect()
}

/// Two connections of one process, another process with another database, and a `curtsy crawl`
/// beside them, eight threads each.
#[test]
fn connections_processes_and_the_program_share_one_pace() {
    let mut town = Town::new(Scene::plain(3, 33, 3, 500), DELAY);
    let here = town.duck_on("one.db");
    let beside = here.beside("b", &town);
    let there = town.duck_on("two.db");
    let parts: Vec<Vec<String>> = (0..4).map(|rest| part(&town, 3, 33, 4, rest)).collect();

    std::fs::write(town.path("seeds.txt"), parts[3].join("\n")).unwrap();
    let mut crawl = town.dressed(Command::new(program()));
    crawl.args([
        "crawl",
        "--allow-net",
        "127.0.0.0/8",
        "--from",
        "seeds.txt",
        "--policy",
        "p.toml",
    ]);
    crawl.args(["--no-links", "--no-sitemaps", "--into", "crawl.db"]);
    let mut crawl = crawl.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();

    let options = "threads 8, max_parallel_per_domain 8, sitemaps false";
    let first = here.start(&crawl_sql(&list(&parts[0]), options));
    let second = beside.start(&crawl_sql(&list(&parts[1]), options));
    let third = there.start(&crawl_sql(&list(&parts[2]), options));
    for pending in [first, second, third] {
        pending.wait().unwrap();
    }
    assert!(crawl.wait().unwrap().success());
    let fetched = "SELECT count(*) FROM pages WHERE http_status = 200";
    assert_eq!(here.number(fetched), (parts[0].len() + parts[1].len()) as i64);
    assert_eq!(there.number(fetched), parts[2].len() as i64);
    let log = town.assert_clean();
    let robots = log.iter().filter(|x| &*x.target == "/robots.txt").count();
    assert_eq!((robots, log.len()), (3, 3 + 3 * 32), "each page once, each robots.txt once");
}

/// A database belongs to one process, by DuckDB's own rule.
#[test]
fn a_second_process_gets_duckdbs_own_word_about_the_file() {
    let town = Town::empty(DELAY);
    let _first = town.duck_on("one.db");
    let second = town.duck_of(crate::harness::NEW);
    let error = second.try_open("one.db").unwrap_err();
    assert!(error.contains("lock"), "{error}");
    // No crawl blocks another one.
    second.open(&town, "two.db");
}

/// Hosts with moods: refusals, redirects, walls, traps, outages.
#[test]
fn a_crawl_of_moody_hosts_keeps_its_manners() {
    let scaled = "preset = 'warehouse'\n[pace]\ndelay = '100ms'\n[robots]\ndeny_ttl = '3s'\n[backoff.curve]\nbase = '500ms'\ncap = '8s'\n[retry.curve]\nbase = '300ms'\ncap = '4s'\n[breaker.curve]\nbase = '2s'\ncap = '8s'\n";
    let mut town = Town::new(Scene::mixed(24), scaled);
    let duck = town.duck();
    // A request may take as long as with a policy file of the user.
    duck.run("SET http_timeout = 10");
    let hosts = town.sites.as_ref().unwrap().hosts().iter();
    let seeds = list(hosts.map(|host| host.url_by_address.clone()));
    duck.crawl(&seeds, "threads 8, follow_links true, patience '2s', max_crawl_pages 400");
    let hosts = "SELECT count(DISTINCT url_host(url)) FROM pages WHERE decision = 'fetched'";
    assert!(duck.number(hosts) >= 15, "{}", duck.number(hosts));
    let log = town.assert_clean();
    assert!(log.len() > 150, "{} exchanges", log.len());
}

/// Two crawls of one site at once, by two connections of one database: they write the same table of
/// what sitemaps list.
#[test]
fn crawls_into_one_database_are_not_in_each_others_way() {
    let pages = 40;
    let sitemap =
        Sitemap { path: "/sitemap.xml".to_owned(), pages: Some((0, pages)), ..Sitemap::default() };
    let hosts = (0..3)
        .map(|n| Host::named(&format!("h{n}.test")).pages(pages, 1, 200).sitemap(sitemap.clone()));
    let quick = DELAY.replace("100ms", "5ms");
    let mut town = Town::new(Scene { seed: 1, hosts: hosts.collect(), ..Scene::default() }, &quick);
    let here = town.duck_on("one.db");
    let beside = here.beside("b", &town);
    let homes = list((0..3).map(|host| town.url(host, "/")));
    for _ in 0..3 {
        let crawls = [(&*here, "mine"), (&beside, "theirs")].map(|(seat, table)| {
            seat.start(&format!(
                "CRAWL (SELECT unnest({homes})) INTO {table} WITH (threads 4, update_stale true)"
            ))
        });
        for crawl in crawls {
            crawl.wait().unwrap();
        }
        for table in ["mine", "theirs"] {
            let rows = format!(
                "SELECT count(*), count(DISTINCT url), count(*) FILTER (http_status = 200) FROM {table}"
            );
            assert_eq!(json!(here.rows(&rows)), json!([[3 * pages, 3 * pages, 3 * pages]]));
        }
        let listed = "SELECT count(*), count(DISTINCT url) FROM curtsy_sitemap_urls";
        assert_eq!(json!(here.rows(listed)), json!([[3 * pages, 3 * pages]]));
    }
    town.close();
}

/// A fresh page of another crawl of this user is not requested again, unless the query says so.
#[test]
fn a_row_says_where_its_page_comes_from() {
    let mut town = Town::new(Scene::plain(1, 4, 2, 500), &DELAY.replace("warehouse", "careful"));
    let page = list([town.url(0, "/p/1")]);
    let duck = town.duck();
    let sources = |options: &str| {
        let sql = format!("SELECT source FROM crawl({page}, sitemaps := false{options})");
        json!(duck.rows(&sql))
    };
    assert_eq!(sources(""), json!([["network"]]));
    assert_eq!(sources(""), json!([["shared"]]));
    assert_eq!(sources(", cache := false"), json!([["network"]]));
    let log = town.close();
    let asked = log.iter().filter(|exchange| &*exchange.target == "/p/1").count();
    assert_eq!(asked, 2, "the second query needed no request");
}
