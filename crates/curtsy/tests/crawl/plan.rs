//! `curtsy plan` promises what the crawl keeps: the same robots.txt, scope and budget, and the same exit code. What ends it without a plan
//! is said as a crawl says it.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use curtsy_lab::sites::{Answer, Host, Scene, Sitemap};
use serde_json::Value;

use crate::harness::{Ran, Town};

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

/// The commands that ask for sitemaps alone.
const ASK: [&[&str]; 2] = [&["plan"], &["sitemap", "list"]];

/// Both commands end with this code and these words; with `--json` the words are in an error of this code.
#[track_caller]
fn check_end(town: &Town, flags: &[&str], code: i32, error: &str, parts: &[&str]) {
    let url = town.url(0, "/");
    for command in ASK {
        let args = [command, &[&url, "--allow-net", "127.0.0.0/8", "--delay", "0"], flags].concat();
        let ran = town.run(&args).ends(code);
        let in_json = town.run(&[&args[..], &["--json"]].concat()).ends(code);
        assert_eq!((ran.out.as_str(), in_json.out.as_str()), ("", ""));
        let last = in_json.err.lines().last().unwrap_or_default();
        let said: Value = serde_json::from_str(last).unwrap_or_else(|e| panic!("{e}: {last}"));
        assert_eq!(said["error"]["code"], error, "{last}");
        let said = format!("{} {}", said["error"]["message"], said["error"]["hint"]);
        for part in parts {
            assert!(ran.err.contains(part), "no `{part}` in {}", ran.err);
            assert!(said.contains(part), "no `{part}` in {said}");
        }
    }
}

fn broken(answer: Answer) -> Town {
    let host = Host::named("a.test").pages(4, 3, 400).says(answer);
    Town::new(Scene { hosts: vec![host], ..Scene::default() })
}

#[test]
fn a_plan_of_a_blocked_host_says_so() {
    let town = town("", &["/p/1"]);
    let url = town.url(0, "/");
    let host = url.split([':', '/']).nth(3).unwrap();
    town.run(&["block", host]).ends(0);
    let blocked = format!("{host} is blocked");
    let lift = format!("`curtsy block {host} --lift` lets it be asked again");
    check_end(&town, &[], 3, "waits", &[&blocked, &lift]);
}

#[test]
fn a_plan_of_a_site_that_must_wait_says_until_when() {
    let town = broken(Answer::to("/robots.txt").status(503));
    let parts = ["robots.txt", " may be asked, until ", "`--patience "];
    check_end(&town, &["--patience", "1s"], 3, "waits", &parts);
    let town = broken(Answer::to("/sitemap.xml").status(403));
    let parts = ["careful waits 1", " is asked again (until ", "`--patience "];
    check_end(&town, &["--patience", "1s"], 3, "waits", &parts);
}

#[test]
fn a_plan_of_a_dead_site_is_an_error_for_a_program() {
    let mut town = town("", &[]);
    let url = town.url(0, "/");
    town.close();
    for command in ASK {
        let args = [command, &[&url, "--allow-net", "127.0.0.0/8", "--json"]].concat();
        let ran = town.run(&args).ends(4);
        let last = ran.err.lines().last().unwrap_or_default();
        let said: Value = serde_json::from_str(last).unwrap();
        assert_eq!(said["error"]["code"], "unreached", "{last}");
        assert!(last.contains("could not be reached: the connection was refused"), "{last}");
    }
}

#[test]
fn a_plan_that_waits_says_for_what_and_so_does_its_end() {
    let town = broken(Answer::to("/robots.txt").status(503));
    let url = town.url(0, "/");
    for (command, json) in [(ASK[0], true), (ASK[1], true), (ASK[0], false)] {
        let args = [command, &[&url, "--allow-net", "127.0.0.0/8", "--patience", "1h"]].concat();
        let args = [&args[..], if json { &["--json"] } else { &[] }].concat();
        let mut child = town.program(&args);
        let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let told = lines.find(|line| line.contains("robots.txt could not be had"));
        assert!(told.is_some(), "no line of progress says that the host waits");
        let id = child.id().to_string();
        let stopped = std::process::Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert!(stopped.success());
        let last = lines.last().unwrap_or_default();
        Ran::of(child.wait_with_output().unwrap()).ends(130);
        assert!(last.contains("stopped while the site had to wait: "), "{last}");
        assert!(last.contains("nothing of ") && last.contains("until "), "{last}");
        assert_eq!(last.starts_with(r#"{"error":{"code":"stopped""#), json, "{last}");
    }
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
