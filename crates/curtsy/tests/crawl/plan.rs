//! `curtsy plan` promises what the crawl keeps: the same robots.txt, scope and budget, and the same exit code.

use curtsy_sim::loopback::{Host, Scene, Sitemap};
use serde_json::Value;

use crate::harness::Town;

/// A host with four pages, this robots.txt, and a sitemap that lists these.
fn town(robots: &str, locs: &[&str]) -> Town {
    let locs = locs.iter().map(|loc| (*loc).to_owned()).collect();
    let sitemap = Sitemap { path: "/sitemap.xml".to_owned(), locs, ..Sitemap::default() };
    let host = Host::named("a.test").pages(4, 3, 400).robots(robots).sitemap(sitemap);
    Town::new(Scene { hosts: vec![host], ..Scene::default() })
}

/// The plan as JSON, with the code that the crawl with the same flags ends with.
#[track_caller]
fn check(town: &Town, flags: &[&str], code: i32) -> Value {
    let url = town.url(0, "/");
    let common = [&[url.as_str(), "--allow-net", "127.0.0.0/8", "--delay", "0"], flags].concat();
    let plan = town.run(&[&["plan", "--json"], &common[..]].concat()).ends(code);
    town.run(&[&["crawl", "--into", "crawl.db"], &common[..]].concat()).ends(code);
    serde_json::from_str(&plan.out).unwrap()
}

#[test]
fn a_plan_leaves_out_what_robots_txt_refuses() {
    let town = town("User-agent: *\nDisallow: /private/\n", &["/", "/p/1", "/private/y.html"]);
    let plan = check(&town, &[], 0);
    assert_eq!((&plan["urls_listed"], &plan["pages_listed"]), (&3.into(), &2.into()), "{plan}");
    assert_eq!(plan["left_out"]["refused by robots.txt"], 1, "{plan}");
    let pages = plan["pages"].as_array().unwrap();
    assert!(pages.iter().all(|url| !url.as_str().unwrap().contains("private")), "{plan}");
}

#[test]
fn a_plan_of_a_site_that_refuses_everything_ends_as_the_crawl_does() {
    let town = town("User-agent: *\nDisallow: /\n", &["/", "/p/1"]);
    let plan = check(&town, &[], 4);
    assert_eq!((&plan["pages_taken"], &plan["exit_code"]), (&0.into(), &4.into()), "{plan}");
    let url = town.url(0, "/");
    let said = town.run(&["plan", &url, "--allow-net", "127.0.0.0/8", "--delay", "0"]).ends(4).out;
    assert!(said.contains("robots.txt line 2"), "{said}");
    assert_eq!(said.matches("`Disallow: /`").count(), 1, "the rule is quoted once: {said}");
    assert!(said.contains("a crawl would fetch nothing"), "{said}");
}

#[test]
fn a_plan_keeps_to_the_scope_and_the_patterns_of_the_crawl() {
    let town = town("", &["http://other.test/a", "http://other.test/b", "/p/1", "/p/2"]);
    let plan = check(&town, &["--exclude", "*/p/2"], 0);
    assert_eq!(plan["pages_taken"], 1, "{plan}");
    assert_eq!(plan["left_out"]["out of scope"], 2, "{plan}");
    assert_eq!(plan["left_out"]["left out by `--include` or `--exclude`"], 1, "{plan}");
    let plan = check(&town, &["--exclude", "*/p/*"], 0);
    assert_eq!(plan["pages_taken"], 0, "{plan}");
    let url = town.url(0, "/");
    let args = ["plan", &url, "--allow-net", "127.0.0.0/8", "--delay", "0", "--exclude", "*/p/*"];
    let said = town.run(&args).ends(0).out;
    assert!(said.contains("the sitemaps list 4 URLs, none for this crawl"), "{said}");
    assert!(!said.contains("budget"), "there is none: {said}");
}

#[test]
fn a_plan_names_the_budget_only_if_there_is_one() {
    let town = town("User-agent: *\nDisallow: /p/3\n", &["/", "/p/1", "/p/2", "/p/3"]);
    let url = town.url(0, "/");
    let plan = |more: &[&str]| {
        let args = ["plan", &url, "--allow-net", "127.0.0.0/8", "--delay", "0"];
        town.run(&[&args, more].concat()).ends(0).out
    };
    let said = plan(&[]);
    assert!(said.starts_with("3 pages, ") && !said.contains("budget"), "{said}");
    assert!(said.contains("not counted: 1 refused by robots.txt"), "{said}");
    assert!(plan(&["--pages", "2"]).contains("the budget takes 2 of them"), "{said}");
}

/// One pace for a host: the longest Crawl-delay of all its ports counts, and is named with its port.
#[test]
fn a_crawl_delay_of_another_port_is_named() {
    let slow = "User-agent: *\nCrawl-delay: 0.5\n";
    let town = Town::new(Scene {
        hosts: vec![Host::named("a.test").pages(2, 1, 300).robots(slow)],
        ..Scene::default()
    });
    let other = town.url(0, "/");
    let host = other.split([':', '/']).nth(3).unwrap();
    let listener = std::net::TcpListener::bind((host, 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || serve_nothing(listener));
    let near = ["--allow-net", "127.0.0.0/8", "--delay", "0"];
    let run = |args: &[&str]| town.run(&[args, &near[..]].concat()).ends(0).out;
    assert!(run(&["plan", &other]).contains("500 ms apart (its robots.txt)"));
    let said = run(&["plan", &url]);
    assert!(
        said.contains(&format!("500 ms apart ({other}robots.txt: a host has one pace)")),
        "{said}"
    );
    let said = run(&["why", "--now", &url]);
    assert!(said.contains("(Crawl-delay)"), "{said}");
    assert!(said.contains(&format!("; {other}robots.txt asks for it")), "{said}");
    let said = run(&["why", "--now", &other]);
    assert!(!said.contains("asks for it"), "its own needs no name: {said}");
}

/// A site without robots.txt, sitemaps and pages.
fn serve_nothing(listener: std::net::TcpListener) {
    use std::io::{Read, Write};
    for mut stream in listener.incoming().flatten() {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream
            .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
}
