//! The first five minutes: settings, messages with a next step, and what a terminal or a pipe sees.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use curtsy_lab::sites::{Answer, Body, Host, Scene};
use serde_json::Value;

use crate::harness::{Ran, Served, Town, number, texts};

/// What the program says on stderr when it ends with a code.
#[track_caller]
fn says(ran: Ran, code: i32, expected: &[&str]) {
    let ran = ran.ends(code);
    for text in expected {
        assert!(ran.err.contains(text), "no `{text}` in: {}", ran.err);
    }
}

/// The error that a program reads with `--json`.
#[track_caller]
fn error_in_json(town: &Town, args: &[&str]) -> Value {
    let ran = town.run(args).ends(2);
    assert_eq!(ran.out, "", "stdout has data or nothing");
    let line = ran.err.lines().last().unwrap_or_default();
    let said: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {}", ran.err));
    said["error"].clone()
}

fn site() -> Scene {
    let mut image = Answer::to("/logo.png").body(Body::Bytes(200_000));
    image.content_type = Some("image/png".to_owned());
    let host = Host::named("a.test").pages(4, 3, 800).says(image);
    Scene { hosts: vec![host], ..Scene::default() }
}

#[test]
fn every_command_that_decides_reads_the_settings_file() {
    let town = Town::new(Scene::plain(1, 3, 2, 500));
    let url = town.url(0, "/");
    let settings = format!(
        "urls = ['{url}']\npolicy = 'warehouse'\ndelay = 0\ncontact = 'a@b.test'\n\
         user-agent = 'OurBot/2.0'\nallow-net = ['127.0.0.0/8']\ninto = 'ours.db'\n"
    );
    std::fs::write(town.path("curtsy.toml"), settings).unwrap();
    town.run(&["crawl"]).ends(0);
    assert_eq!(
        number(&town.db("ours.db"), "SELECT count(*) FROM pages WHERE http_status = 200"),
        3
    );
    let plan = town.run(&["plan", &url, "--json"]).ends(0);
    assert!(plan.out.contains("\"delay_ms\": 0"), "{}", plan.out);
    town.run(&["sitemap", "list", &url]).ends(1);
    let policy = town.run(&["policy", "show", "--origin"]).ends(0);
    assert!(policy.out.contains("# delay in curtsy.toml"), "{}", policy.out);
    // The file is weaker than the environment, and a flag is stronger than both.
    let explain = |args: &[&str], delay: Option<&str>| {
        let mut command = town.program(&[&["explain", &url, "--json"], args].concat());
        if let Some(delay) = delay {
            command.env("CURTSY_PACE_DELAY", delay);
        }
        let ran = Ran::of(command.output().unwrap()).ends(0);
        let said: Value = serde_json::from_str(&ran.out).unwrap();
        said["policy"].as_str().unwrap().to_owned()
    };
    let by_file = explain(&[], None);
    assert_ne!(by_file, explain(&[], Some("9s")));
    assert_eq!(explain(&[], Some("9s")), explain(&["--delay", "9s"], Some("5s")));
    // The product that robots.txt is asked about is the crawl's own.
    std::fs::write(town.path("robots.txt"), "User-agent: OurBot\nDisallow: /\n").unwrap();
    town.run(&["robots", "test", "robots.txt", "/"]).ends(1);
    town.run(&["robots", "test", "robots.txt", "/", "--agent", "other"]).ends(0);
}

#[test]
fn a_slip_of_the_finger_is_answered_with_what_was_meant() {
    let town = Town::empty();
    let url = "http://127.0.0.1:1/";
    let crawl = |more: &[&str]| town.run(&[&["crawl", url], more].concat());
    says(crawl(&["--policy", "carefull"]), 2, &["did you mean `careful`?"]);
    says(crawl(&["--scope", "hsot"]), 2, &["did you mean `host`?"]);
    says(crawl(&["--mode", "ligth"]), 2, &["did you mean `light`?"]);
    says(crawl(&["--only", "htlm"]), 2, &["did you mean `html`?"]);
    says(crawl(&["--delay", "3"]), 2, &["`pace.delay` is `3`", "did you mean `3s`?"]);
    says(crawl(&["--set", "robots.unreachable=dney"]), 2, &["did you mean `deny`?"]);
    std::fs::write(town.path("curtsy.toml"), "dealy = '3s'\n").unwrap();
    says(crawl(&[]), 2, &["in `curtsy.toml`: line 1: `dealy`", "did you mean `delay`?"]);
    std::fs::write(town.path("curtsy.toml"), "delay = '3x'\n[set.robots]\ntll = '2h'\n").unwrap();
    says(crawl(&[]), 2, &["`delay` in `curtsy.toml`: `pace.delay` is `3x`", "`set.robots.tll` in"]);
    std::fs::remove_file(town.path("curtsy.toml")).unwrap();
    let with = |name: &str, more: &[&str]| {
        let mut command = town.program(&[&["policy", "show"], more].concat());
        Ran::of(command.env(name, "1").output().unwrap())
    };
    says(with("CURTSY_CONTAKT", &[]), 0, &["did you mean `CURTSY_CONTACT`?"]);
    says(with("curtsy_contact", &[]), 0, &["did you mean `CURTSY_CONTACT`?"]);
    says(with("ROBOTS_TLL_SECONDS", &[]), 0, &["did you mean `ROBOTS_TTL_SECONDS`?"]);
    let fleet = ["fleet"];
    says(with("PAGE_FETCHER_CONTCT", &fleet), 0, &["did you mean `PAGE_FETCHER_CONTACT`?"]);
    says(with("PAGE_FETCHER_REDIS_ULR", &fleet), 0, &["did you mean `PAGE_FETCHER_REDIS_URL`?"]);
    let fine = with("PAGE_FETCHER_REDIS_URL", &fleet).ends(0);
    assert_eq!(fine.err, "", "a variable that is right is not worth a word");
}

#[test]
fn zero_is_a_delay_where_any_delay_goes() {
    let town = Town::new(Scene::plain(1, 3, 2, 500));
    let url = town.url(0, "/");
    town.crawl(&[&url, "--delay", "0", "--policy", "warehouse"]).ends(0);
    let public = ["crawl", "https://example.org/", "--contact", "a@b.test", "--delay", "0"];
    says(town.run(&public), 2, &["`pace.delay` is `0s`", "at least `200ms`", "hint: "]);
    std::fs::write(town.path("zero.toml"), "[pace]\ndelay = 0\n").unwrap();
    town.run(&["policy", "check", "zero.toml", "--allow-net"]).ends(0);
}

#[test]
fn what_can_not_be_used_is_said_with_what_would_do() {
    let town = Town::empty();
    let url = "http://127.0.0.1:1/";
    let crawl = |more: &[&str]| town.run(&[&["crawl", url], more].concat());
    says(
        crawl(&["--into", "out.parquet"]),
        2,
        &["Parquet can't be written yet", "hint: ", ".jsonl"],
    );
    says(crawl(&["--into", "out.json"]), 2, &["did you mean `.jsonl`?"]);
    says(crawl(&["--into", "out"]), 2, &["no ending", "`.db` is a SQLite file"]);
    let proxy = ["--proxy", "socks5://user:s3cret@127.0.0.1:1080"];
    says(crawl(&proxy), 2, &["SOCKS proxies are not supported", "http://proxy.example:3128"]);
    assert!(!crawl(&proxy).err.contains("s3cret"));
    says(crawl(&["--allow-net", "10.0.0.0/33"]), 2, &["from `/0` to `/32`"]);
    says(crawl(&["--allow-net", "10.0.0.1/8"]), 2, &["did you mean `10.0.0.0/8`"]);
    says(crawl(&["--allow-net", "localhost"]), 2, &["is a name", "`127.0.0.0/8`"]);
    says(crawl(&["--allow-net", "::1/129"]), 2, &["from `/0` to `/128`"]);
    std::fs::write(town.path("seeds.txt"), "http://127.0.0.1:1/\n\nhttp://\n").unwrap();
    says(town.run(&["crawl", "--from", "seeds.txt"]), 2, &["line 3 of `seeds.txt`"]);
    let missing = town.run(&["crawl", "--from", "none.txt"]);
    assert!(!missing.err.contains("os error"), "{}", missing.err);
    says(missing, 2, &["could not read the seeds in `none.txt`: there is no such file"]);
    says(town.run(&["crawl", "--from", "."]), 2, &["it is a folder, not a file"]);
    says(crawl(&["--config", "none.toml"]), 2, &["settings in `none.toml`: there is no such file"]);
    says(crawl(&["--ca-file", "none.pem"]), 2, &["`none.pem`: there is no such file"]);
}

#[test]
fn a_file_that_is_no_crawl_is_named_and_left_alone() {
    let town = Town::empty();
    let url = "http://127.0.0.1:1/";
    std::fs::write(town.path("text.db"), "to whom it may concern\n").unwrap();
    std::fs::create_dir(town.path("folder.db")).unwrap();
    let other = town.db("other.db");
    other.execute_batch("CREATE TABLE notes (text); INSERT INTO notes VALUES ('kept')").unwrap();
    drop(other);
    let before = std::fs::read(town.path("other.db")).unwrap();
    for (file, said) in [
        ("text.db", "`text.db` is not a SQLite database"),
        ("folder.db", "folder"),
        ("other.db", "another program"),
    ] {
        says(town.run(&["crawl", url, "--into", file]), 2, &[file, said, "hint: "]);
    }
    for (file, said) in [
        ("text.db", "`text.db` is not a SQLite database"),
        ("folder.db", "`folder.db` is a folder, not a file"),
        ("other.db", "`other.db` holds no rows of a crawl"),
        ("none.db", "there is no file `none.db`"),
    ] {
        says(town.run(&["why", url, "--in", file]), 2, &[said, "hint: "]);
        says(town.run(&["links", file]), 2, &[said, "hint: "]);
        says(town.run(&["forget", url, "--in", file]), 2, &[said, "hint: "]);
    }
    assert_eq!(std::fs::read(town.path("other.db")).unwrap(), before, "not a byte is changed");
    assert!(!town.path("other.db-running").exists(), "nothing is laid beside it");
    std::fs::write(town.path("pages.jsonl"), "{\"url\": 1}\n").unwrap();
    std::fs::write(town.path("pages.jsonl.crawl.db"), "").unwrap();
    says(town.run(&["links", "pages.jsonl"]), 2, &["beside it: `pages.jsonl.crawl.db`"]);
}

#[test]
fn a_program_reads_errors_as_json_with_a_code() {
    let town = Town::empty();
    let url = "http://127.0.0.1:1/";
    std::fs::write(town.path("text.db"), "to whom it may concern\n").unwrap();
    for (code, args) in [
        ("usage", &["crawl", url, "--json", "--dealy", "3s"][..]),
        ("usage", &["crawl", url, "--json", "--scope", "far"]),
        ("settings", &["crawl", url, "--json", "--delay", "soon"]),
        ("settings", &["crawl", url, "--json", "--policy", "carefull"]),
        ("settings", &["crawl", url, "--json", "--proxy", "socks5://127.0.0.1"]),
        ("settings", &["crawl", url, "--json", "--into", "out.parquet"]),
        ("no_contact", &["crawl", "https://example.org/", "--json"]),
        ("url", &["crawl", "ftp://a.test/", "--json"]),
        ("missing_file", &["crawl", "--from", "none.txt", "--json"]),
        ("missing_file", &["links", "none.db", "--json"]),
        ("wrong_file", &["links", "text.db", "--json"]),
        ("wrong_file", &["crawl", url, "--into", "text.db", "--json"]),
    ] {
        let error = error_in_json(&town, args);
        assert_eq!(error["code"], code, "{args:?}: {error}");
        assert!(error["message"].as_str().is_some_and(|m| !m.is_empty()), "{error}");
        assert!(!error["message"].as_str().unwrap().contains("hint: "), "{error}");
    }
    let error = error_in_json(&town, &["crawl", url, "--json", "--dealy", "3s"]);
    assert!(error["hint"].as_str().unwrap().contains("--delay"), "{error}");
}

#[test]
fn to_forget_nothing_is_said_and_is_no_success() {
    let mut scene = Scene::plain(1, 3, 2, 500);
    // Pages without validators are of no use to the page cache under this policy.
    scene.hosts[0].pages.etag = true;
    let town = Town::new(scene);
    let url = town.url(0, "/");
    let args = [&url, "--delay", "0", "--policy", "warehouse", "--no-sitemaps"];
    town.crawl(&[&args[..], &["--into", "crawl.db"]].concat()).ends(0);
    let forget = |what: &str| town.run(&["forget", what, "--in", "crawl.db"]);
    says(forget("nobody.test"), 1, &["nothing to forget of nobody.test"]);
    says(forget(&url), 0, &["forgot", ": 1 row"]);
    says(forget(&url), 1, &["nothing to forget of"]);
    let host = url.trim_start_matches("http://").split(':').next().unwrap();
    says(forget(host), 0, &["2 rows, 2 pages of the page cache and the host's history"]);
    says(forget(host), 1, &["nothing to forget of"]);
    let ran = town.run(&["forget", host, "--in", "crawl.db", "--json"]).ends(1);
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&said["rows"], &said["history"]), (&0.into(), &false.into()));
}

#[test]
fn blocks_can_be_listed_and_lifted_and_stop_is_the_same_command() {
    let town = Town::empty();
    says(town.run(&["block", "--list"]), 0, &["no host is blocked"]);
    says(town.run(&["block", "a.test"]), 0, &["a.test is blocked", "--lift"]);
    says(town.run(&["stop", "https://b.test/x"]), 0, &["b.test is blocked"]);
    says(town.run(&["block", "a.test"]), 0, &["a.test is blocked already"]);
    for list in [&["block", "--list"][..], &["block"], &["stop"]] {
        let listed = town.run(list).ends(0).out;
        let lines: Vec<_> = listed.lines().collect();
        assert_eq!(lines.len(), 2, "{listed}");
        assert!(lines[0].starts_with("a.test\tsince 2") && lines[0].contains(" UTC ("), "{listed}");
    }
    let listed: Value =
        serde_json::from_str(&town.run(&["block", "--list", "--json"]).ends(0).out).unwrap();
    assert_eq!(listed[1]["host"], "b.test");
    assert!(listed[1]["since"].as_str().unwrap().ends_with('Z'), "{listed}");
    says(town.run(&["block", "a.test", "--lift"]), 0, &["a.test may be asked again"]);
    says(town.run(&["block", "a.test", "--lift"]), 1, &["a.test was not blocked"]);
    assert_eq!(town.run(&["stop"]).ends(0).out.lines().count(), 1);
}

#[test]
fn only_the_kinds_that_are_wanted_are_read() {
    let mut town = Town::new(site());
    let url = town.url(0, "/");
    let args = [url.as_str(), "--delay", "0", "--policy", "warehouse", "--only", "html"];
    town.crawl(&[&args[..], &["--into", "html.db"]].concat()).ends(0);
    let db = town.db("html.db");
    let refused = "SELECT count(*) FROM pages WHERE url LIKE '%logo.png' AND error = 'content_type' \
        AND body IS NULL";
    assert_eq!(number(&db, refused), 1);
    assert!(number(&db, "SELECT count(*) FROM pages WHERE body IS NOT NULL") >= 4);
    let settings = "only = ['image/*']\nallow-net = ['127.0.0.0/8']\ndelay = 0\n";
    std::fs::write(town.path("curtsy.toml"), settings).unwrap();
    let logo = town.url(0, "/logo.png");
    town.run(&["crawl", &logo, "--policy", "warehouse", "--into", "image.db"]).ends(0);
    assert_eq!(number(&town.db("image.db"), "SELECT sum(length(body)) FROM pages"), 200_000);
    let log = town.close();
    let asked = log.iter().filter(|x| x.target.ends_with("logo.png"));
    let complete: Vec<_> = asked.map(|x| x.complete).collect();
    assert_eq!(complete.len(), 2, "the head was asked for, and the whole");
}

#[test]
fn rows_without_bodies_have_everything_else() {
    let town = Town::new(Scene::plain(1, 5, 3, 500));
    let url = town.url(0, "/");
    town.crawl(&[&url, "--delay", "0", "--policy", "warehouse", "--no-body", "--into", "crawl.db"])
        .ends(0);
    let db = town.db("crawl.db");
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE http_status = 200"), 5);
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE body IS NOT NULL"), 0);
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE title <> ''"), 5);
    assert!(number(&db, "SELECT count(*) FROM links") > 0);
    let policies = texts(&db, "SELECT policy FROM runs");
    assert!(policies[0].contains("keep = false"), "the record of runs says so");
}

#[test]
fn a_reader_that_has_enough_ends_the_crawl_quietly() {
    let town = Town::new(Scene::plain(1, 2_000, 5, 500));
    let url = town.url(0, "/");
    let args = ["crawl", &url, "--allow-net", "127.0.0.0/8", "--delay", "10ms"];
    let args = [&args[..], &["--policy", "warehouse", "--into", "-"]].concat();
    let mut child =
        town.program(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..3 {
        serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    }
    drop(lines);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(141), "{said}");
    assert!(said.contains("nobody reads the rows any more"), "{said}");
    assert!(said.contains("--into pages.jsonl"), "{said}");
    assert!(!said.contains("error"), "{said}");
    let left: Vec<_> = std::fs::read_dir(town.path("state/curtsy")).unwrap().collect();
    let names: Vec<_> = left.iter().map(|f| f.as_ref().unwrap().file_name()).collect();
    assert!(!names.iter().any(|n| n.to_string_lossy().contains("stdout")), "{names:?}");
}

/// The first line of progress, as JSON, that a crawl writes and that is looked for.
#[track_caller]
fn progress(town: &Town, args: &[&str], is_it: impl Fn(&Value) -> bool) -> Value {
    let args = [&["crawl", "--allow-net", "127.0.0.0/8", "--json"], args].concat();
    let mut child =
        town.program(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut read =
        lines.by_ref().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let found = read.find(is_it);
    child.kill().unwrap();
    child.wait().unwrap();
    found.expect("such a line comes")
}

#[test]
fn what_is_left_is_the_queue_at_the_hosts_pace() {
    let town = Town::new(Scene::plain(1, 200, 40, 500));
    let url = town.url(0, "/");
    let args = [url.as_str(), "--delay", "500ms", "--policy", "warehouse", "--no-sitemaps"];
    let line = progress(&town, &args, |line| line["queued"].as_u64() > Some(20));
    let (queued, left) = (line["queued"].as_u64().unwrap(), line["left_ms"].as_u64().unwrap());
    let turns = (queued - 1) * 500;
    assert!((turns..=turns + 500).contains(&left), "{line}");
}

#[test]
fn the_wait_of_a_host_counts_for_what_is_left() {
    let host = Host::named("a.test").pages(3, 2, 500).robots("User-agent: *\nCrawl-delay: 60\n");
    let town = Town::new(Scene { hosts: vec![host], ..Scene::default() });
    let url = town.url(0, "/");
    // The robots.txt is a request too: the home page has its turn a minute later.
    let args = [url.as_str(), "--delay", "0", "--policy", "warehouse", "--no-sitemaps"];
    // The first line after the request may come before the host's wait is known.
    let line = progress(&town, &args, |line| {
        line["requests"] == 1 && line["queued"] == 1 && line["left_ms"].is_u64()
    });
    let left = line["left_ms"].as_u64().unwrap();
    assert!((1_000..=60_100).contains(&left), "{line}");
}

#[test]
fn a_crawl_into_standard_output_does_not_say_that_it_goes_on() {
    let town = Town::new(Scene::plain(1, 30, 6, 500));
    let url = town.url(0, "/");
    let args = [&url, "--delay", "0", "--policy", "warehouse", "--pages", "5", "--into", "-"];
    let ran = town.crawl(&args).ends(0);
    assert!(ran.err.contains("page limit reached: 5 pages"), "{}", ran.err);
    assert!(ran.err.contains("a crawl into standard output can't be resumed"), "{}", ran.err);
    assert!(!ran.err.contains("the same command"), "{}", ran.err);
}

#[test]
fn get_says_why_there_is_no_page() {
    let shut = Host::named("b.test").pages(2, 1, 300).robots("User-agent: *\nDisallow: /\n");
    let town = Town::new(Scene { hosts: vec![site().hosts.remove(0), shut], ..Scene::default() });
    let way = ["--allow-net", "127.0.0.0/8", "--delay", "0s"];
    let get = |url: &str, more: &[&str]| town.run(&[&["get", url], &way[..], more].concat());
    says(get(&town.url(0, "/none"), &[]), 4, &["no page: not found (404)"]);
    says(get(&town.url(1, "/"), &[]), 4, &["no page: refused by robots.txt"]);
    let ran = get(&town.url(1, "/"), &["--json"]).ends(4);
    let error: Value = serde_json::from_str(ran.err.lines().last().unwrap()).unwrap();
    assert_eq!((ran.out.as_str(), &error["error"]["code"]), ("", &"no_page".into()));
    let ran = get(&town.url(0, "/"), &["--json"]).ends(0);
    for line in ran.err.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    }
}

#[test]
fn a_complete_crawl_without_a_page_is_no_success_the_second_time_either() {
    let shut = Host::named("a.test").pages(2, 1, 300).robots("User-agent: *\nDisallow: /\n");
    let town = Town::new(Scene { hosts: vec![shut], ..Scene::default() });
    let url = town.url(0, "/");
    town.crawl(&[&url, "--delay", "0"]).ends(4);
    let report: Value =
        serde_json::from_str(&town.crawl(&[&url, "--delay", "0", "--json"]).ends(4).out).unwrap();
    assert!(report["complete_since"].is_string(), "{report}");
    assert_eq!((&report["exit_code"], &report["pages_held"]), (&4.into(), &0.into()));
    assert_eq!(report["reasons"][0]["reason"], "refused by robots.txt", "{report}");
    assert_eq!(report["evidence"]["nm_ingest"]["outcome"], "error", "{report}");
}

#[test]
fn what_is_left_is_what_the_budget_leaves() {
    let town = Town::new(Scene::plain(1, 300, 6, 300));
    let url = town.url(0, "/");
    let args = [&url, "--delay", "1s", "--no-sitemaps", "--pages", "4", "--json"];
    let ran = town.crawl(&args).ends(0);
    let lines = ran.err.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let left: Vec<u64> = lines.filter_map(|line| line["left_ms"].as_u64()).collect();
    // A host is held for ten seconds while it is visited: that is no wait.
    assert!(!left.is_empty() && left.iter().all(|ms| *ms < 9_000), "{left:?}");
}

#[test]
fn the_note_about_a_budget_comes_wherever_progress_goes() {
    let town = Town::new(Scene::plain(1, 30, 6, 500));
    let url = town.url(0, "/");
    let crawl = |into: &str, pages: &str| {
        let args = [&url, "--delay", "0", "--policy", "warehouse", "--no-sitemaps"];
        town.crawl(&[&args[..], &["--no-cache", "--pages", pages, "--into", into]].concat()).err
    };
    for (pages, note) in [
        ("1", "1 of the 1 pages of the budget is used"),
        ("2", "1 of the 2 pages of the budget is used"),
        ("3", "2 of the 3 pages of the budget are used"),
        ("5", "4 of the 5 pages of the budget are used"),
        ("10", "8 of the 10 pages of the budget are used"),
    ] {
        let said = crawl(&format!("{pages}.db"), pages);
        let notes: Vec<&str> =
            said.lines().filter(|line| line.contains("pages of the budget")).collect();
        assert_eq!(notes, [format!("note: {note}")], "{said}");
    }
}

#[test]
fn hints_name_a_step_that_can_be_taken() {
    let town = Town::empty();
    let none = "there is no crawl in this folder";
    says(town.run(&["links"]), 2, &[none, "`--in FILE`"]);
    says(town.run(&["links", "--in", "x.db"]), 2, &["there is no file `x.db`"]);
    says(
        town.run(&["robots", "show", "http://127.0.0.1:1/robots.txt"]),
        2,
        &["is a URL", "hint: `curtsy get http://127.0.0.1:1/robots.txt | curtsy robots show -`"],
    );
    says(
        town.run(&["crawl", "/etc/passwd", "--contact", "a@b.test"]),
        2,
        &["looks like the path of a file", "hint: `--from /etc/passwd`"],
    );
    assert!(!town.path("etc.db").exists());
}

#[test]
fn a_file_of_somebody_else_is_refused_before_anything_is_begun() {
    let town = Town::new(Scene::plain(1, 2, 1, 300));
    for name in ["alien.csv", "alien.jsonl"] {
        std::fs::write(town.path(name), "name;street\nMiller;Main\n").unwrap();
        town.crawl(&[&town.url(0, "/"), "--delay", "0", "--into", name]).ends(2);
        assert_eq!(std::fs::read_to_string(town.path(name)).unwrap().lines().count(), 2);
    }
    let mut left: Vec<_> = std::fs::read_dir(&town.folder).unwrap().collect();
    left.retain(|entry| {
        entry.as_ref().unwrap().file_name().to_string_lossy().contains(".crawl.db")
    });
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn to_forget_a_host_is_to_forget_it_in_every_crawl_of_the_folder() {
    let town = Town::new(Scene::plain(1, 3, 2, 500));
    let url = town.url(0, "/");
    for into in ["a.db", "b.db"] {
        let args = [&url, "--delay", "0", "--policy", "warehouse", "--no-sitemaps"];
        town.crawl(&[&args[..], &["--into", into]].concat()).ends(0);
    }
    let host = url.trim_start_matches("http://").split(':').next().unwrap();
    says(town.run(&["forget", host]), 0, &["in a.db", "in b.db", ": 6 rows"]);
    for into in ["a.db", "b.db"] {
        assert_eq!(number(&town.db(into), "SELECT count(*) FROM pages"), 0, "{into}");
    }
    says(town.run(&["forget", host]), 1, &["nothing to forget of"]);
}

/// All ports of a machine are one host, and `forget localhost:8001` emptied the crawls of every port.
#[test]
fn to_forget_one_port_leaves_the_other_ports_of_the_host() {
    let town = Town::empty();
    std::fs::write(town.path("index.html"), "<title>x</title>").unwrap();
    let (one, other) = (Served::folder(&town.folder), Served::folder(&town.folder));
    let at = |served: &Served| format!("localhost:{}", served.port);
    for (served, into) in [(&one, "one.db"), (&other, "other.db")] {
        town.run(&["crawl", &at(served), "--delay", "0", "--quiet", "--into", into]).ends(0);
    }
    let said = ["3 rows, 1 page of the page cache", "does not request them again"];
    says(town.run(&["forget", &at(&one)]), 0, &said);
    assert_eq!(number(&town.db("one.db"), "SELECT count(*) FROM pages WHERE kind = 'page'"), 0);
    assert_eq!(number(&town.db("other.db"), "SELECT count(*) FROM pages WHERE kind = 'page'"), 1);
    says(town.run(&["forget", &at(&one)]), 1, &["nothing to forget of"]);
    let again = ["crawl", &at(&other), "--delay", "0", "--quiet", "--into", "again.db"];
    says(town.run(&again), 0, &["1 of them in the page cache"]);
}

/// Five crawls before a server was started had the whole machine count as down, for 30 s, 60 s and more.
#[test]
fn a_server_of_ones_own_that_was_started_late_is_asked_at_once() {
    let town = Town::empty();
    std::fs::write(town.path("index.html"), "<title>x</title>").unwrap();
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("localhost:{unused}");
    let args = |command| [command, url.as_str(), "--delay", "0", "--patience", "1s"];
    for command in ["crawl", "plan", "crawl", "crawl", "crawl", "crawl", "crawl"] {
        let ran = town.run(&args(command));
        assert!(matches!(ran.code, Some(3 | 4)), "{command}: {:?} {}", ran.code, ran.err);
        assert!(!ran.err.contains("in a row"), "{}", ran.err);
    }
    let _server = Served::folder_at(&town.folder, unused);
    town.run(&args("crawl")).ends(0);
}

#[test]
fn to_add_a_url_that_is_there_is_said() {
    let town = Town::new(Scene::plain(1, 3, 2, 500));
    let args = ["--delay", "0", "--policy", "warehouse", "--no-sitemaps"];
    town.crawl(&[&[town.url(0, "/").as_str()], &args[..]].concat()).ends(0);
    let known = town.url(0, "/p/1");
    let ran = town.crawl(&[&[known.as_str(), "--add"], &args[..]].concat());
    assert!(ran.err.contains(&format!("{known} is in this crawl already")), "{}", ran.err);
}

#[test]
fn policy_show_shows_what_a_crawl_of_this_machine_takes() {
    let town = Town::new(Scene::plain(1, 2, 1, 300));
    std::fs::write(town.path("curtsy.toml"), "delay = '0s'\n").unwrap();
    town.run(&["crawl", &town.url(0, "/"), "--into", "a.db"]).ends(0);
    let ran = town.run(&["policy", "show", "--origin"]).ends(0);
    assert!(ran.out.contains("# delay in curtsy.toml"), "{}", ran.out);
    assert!(ran.err.contains("your own machine and inside `--allow-net` only"), "{}", ran.err);
    // What holds nowhere is refused.
    std::fs::write(town.path("curtsy.toml"), "delay = '3x'\n").unwrap();
    town.run(&["policy", "show"]).ends(2);
}
