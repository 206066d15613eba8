//! Ends and beginnings with a long queue: they cost what was done, not what is left.
//!
//! `./bench ends` is the long version, with three million URLs.

use std::fmt::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use curtsy_lab::sites::{Answer, Body, Host, Scene};

use crate::harness::{Ran, Town, number};

/// Links of one page.
const LINKS: usize = 5_000;
/// Bytes that a run of two pages may read or write, besides what all runs do. The queue alone has
/// ten times as many.
const BYTES_MAX: u64 = 4 << 20;
/// What the row of one page may cost in the files: its transaction, and its share of checkpoints.
const PAGE_BYTES_MAX: u64 = 32 * 1024;

/// A word for a number, so that URLs and texts are as different as they are on a real site.
fn word(number: usize) -> String {
    let mut mixed = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut word = String::new();
    for _ in 0..6 {
        word.push(char::from(b"bdfglmnprstvz"[(mixed % 13) as usize]));
        mixed /= 13;
        word.push(char::from(b"aeiou"[(mixed % 5) as usize]));
        mixed /= 5;
    }
    word
}

/// A home page that links to pages, each of which links to pages that no other page links to.
fn site(urls: usize) -> Scene {
    let hubs = urls / LINKS;
    let mut home = String::from("<title>Home</title>");
    let mut host = Host::named("a.test").robots("");
    for hub in 0..hubs {
        let (name, text) = (word(hub), word(hub + 1_000_000));
        let _ = write!(home, "<a href='/{name}'>{text}</a> ");
        let mut page = format!("<title>{text}</title><p>");
        for n in 0..60 {
            let _ = write!(page, "{} ", word(hub * 60 + n + 2_000_000));
        }
        for n in 0..LINKS {
            let number = hub * LINKS + n;
            let _ = writeln!(page, "<a href='/{name}/{}-{number}'>x</a>", word(number));
        }
        host = host.says_unlinked(Answer::to(&format!("/{name}")).body(Body::Html(page)));
    }
    host = host.says_unlinked(Answer::to("/").body(Body::Html(home)));
    Scene { hosts: vec![host], ..Scene::default() }
}

/// What a run of the program cost, as the kernel counts it.
#[derive(Debug)]
struct Cost {
    read_bytes: u64,
    written_bytes: u64,
    /// For the eyes of who measures: no test asserts it.
    #[allow(dead_code, reason = "printed by `Debug`")]
    took: Duration,
}

/// Waits for the end of a program.
fn finish(child: Child) -> (Ran, Cost) {
    let began = Instant::now();
    let of = |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", child.id())).unwrap();
    // A process that has ended keeps its counters until its parent reads its exit code.
    while !of("stat").rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('Z')) {
        std::thread::sleep(Duration::from_millis(2));
    }
    let took = began.elapsed();
    let io = of("io");
    let count = |name: &str| -> u64 {
        let line = io.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().trim().parse().unwrap()
    };
    let cost = Cost { read_bytes: count("rchar:"), written_bytes: count("wchar:"), took };
    (Ran::of(child.wait_with_output().unwrap()), cost)
}

/// A budget or a signal ends a crawl with 200,000 URLs in its queue, `why` answers for each of
/// them, and the same command goes on: no run reads or writes the queue as a whole.
#[test]
#[allow(clippy::print_stdout, reason = "the figures are what the long version is run for")]
fn a_run_costs_what_it_does_and_not_what_is_left() {
    let urls: usize = std::env::var("CURTSY_ENDS").map_or(200_000, |n| n.parse().unwrap());
    let hubs = urls / LINKS;
    let town = Town::new(site(urls));
    let url = town.url(0, "/");
    let run = |args: &[&str]| {
        let all = ["crawl", "--allow-net", "127.0.0.0/8", "--into", "crawl.db", "--delay", "0s"];
        let more = [&url, "--no-sitemaps", "--no-cache", "--no-body"];
        let mut command = town.program(&[&all[..], &more, args].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let rows = |table: &str| number(&town.db("crawl.db"), &format!("SELECT count(*) FROM {table}"));
    let report = |ran: &Ran| -> serde_json::Value {
        serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e} in {} {}", ran.out, ran.err))
    };

    let pages = (hubs + 1).to_string();
    let (ran, first) = finish(run(&["--pages", &pages, "--json"]));
    let told = report(&ran.ends(0));
    let mut left = urls as i64;
    assert_eq!(told["budget"]["limit"], "pages");
    assert_eq!(told["budget"]["left"], left);
    assert_eq!(told["queued"], left);
    let mut done = hubs as i64 + 1;
    let tables = ["pages", "frontier", "journal", "known"];
    assert_eq!(tables.map(rows), [done, left, 0, left + done], "no row for what is left");
    assert!(rows("decisions") <= done + 1, "and no decision");
    let in_queue = number(&town.db("crawl.db"), "SELECT sum(length(url)) + 16 FROM frontier");
    println!("{first:?} with {urls} URLs queued, {in_queue} bytes of URLs");

    let last = hubs - 1;
    let queued = format!("{}/{}-{}", word(last), word(urls - 1), urls - 1);
    let (why, cost) = finish({
        let mut why =
            town.program(&["why", &town.url(0, &format!("/{queued}")), "--in", "crawl.db"]);
        why.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    });
    let why = why.ends(0);
    assert!(
        why.out.contains(&format!("queued: the page limit ({pages}) is reached")),
        "{}",
        why.out
    );
    println!("why: {cost:?}");

    // Each of these opens the file, takes up the queue where it was, and ends.
    for (limit, name) in [(["--pages", "2"], "pages"), (["--time", "1s"], "time")] {
        let (ran, cost) = finish(run(&[&limit[..], &["--json"]].concat()));
        let told = report(&ran.ends(0));
        assert_eq!(told["budget"]["limit"], name, "{told}");
        let read = told["rows"].as_i64().unwrap();
        (left, done) = (left - read, done + read);
        assert_eq!(told["queued"], left);
        if name == "pages" {
            assert_eq!(read, 2);
            assert_eq!(
                told["warnings"],
                serde_json::json!(["1 of the 2 pages of the budget is used"])
            );
        }
        assert_eq!(tables.map(rows), [done, left, 0, left + done]);
        println!("{}: {cost:?}", limit.join(" "));
        let known = urls.min(200_000) as u64 * 20;
        // A fast machine reads thousands of pages in a second, and each has its own cost.
        let own = read as u64 * PAGE_BYTES_MAX;
        assert!(cost.read_bytes < BYTES_MAX + known + own, "{cost:?}");
        assert!(cost.written_bytes < BYTES_MAX + own, "{cost:?}");
    }

    let crawl = run(&["--json"]);
    let before = town.sites.as_ref().unwrap().log().len();
    while town.sites.as_ref().unwrap().log().len() < before + 3 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let signal = ["-INT", &crawl.id().to_string()];
    assert!(std::process::Command::new("kill").args(signal).status().unwrap().success());
    let (ran, cost) = finish(crawl);
    let told = report(&ran.ends(130));
    let read = told["rows"].as_i64().unwrap();
    assert!(read >= 3, "{told}");
    (left, done) = (left - read, done + read);
    assert_eq!(told["queued"], left);
    assert_eq!(tables.map(rows), [done, left, 0, left + done]);
    println!("Ctrl-C: {cost:?}");
    assert!(cost.written_bytes < BYTES_MAX + 100_000 * read as u64, "{cost:?}");
}
