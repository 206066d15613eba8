//! What a crawl says about pages that it did not get, about waits, and about robots.txt: in its report, in its file, and in `why`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use curtsy_lab::sites::{Answer, Body, Ending, Host, Range, Scene, Sitemap};
use serde_json::{Value, json};

use crate::harness::{Town, number, texts};

fn town(hosts: Vec<Host>) -> Town {
    Town::new(Scene { seed: 1, hosts, ..Scene::default() })
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

const ROBOTS: &str =
    "User-agent: *\nDisallow: /p/2 # not this one\nAllow: /p/1\nCrawl-delay: 0.25\n";

/// Seed 001: `robots_allowed` and `blocked_by_robots`, with content, metadata and confidence, wherever a crawl writes.
#[test]
fn what_robots_txt_said_is_a_record_in_the_file_in_lines_and_in_why() {
    let town = town(vec![Host::named("h0.test").pages(3, 2, 300).robots(ROBOTS)]);
    let home = town.url(0, "/");
    let args = [&home, "--policy", "audit", "--no-sitemaps", "--into", "pages.jsonl"];
    town.crawl(&args).ends(0);
    let check = |path: &str, kind: &str, rule: Value| {
        let url = town.url(0, path);
        let allowed = kind == "robots_allowed";
        let said = |record: &Value| {
            assert_eq!((&record["type"], &record["confidence"]), (&json!(kind), &json!("high")));
            let timestamp = record["content"]["timestamp"].as_str().unwrap();
            assert_eq!(timestamp.len(), "2024-01-01T00:00:00.000Z".len(), "{timestamp}");
            let content = json!({"allowed": allowed, "matchedRule": rule, "crawlDelay": 0.25,
                "timestamp": timestamp});
            let metadata =
                json!({"url": url, "allowed": allowed, "matchedRule": rule, "crawlDelay": 0.25});
            assert_eq!((&record["content"], &record["metadata"]), (&content, &metadata));
        };
        let lines = std::fs::read_to_string(town.path("pages.jsonl")).unwrap();
        let line = lines.lines().map(json).find(|line| line["url"] == url.as_str()).unwrap();
        said(&line["evidence"]);
        let db = town.db("pages.jsonl.crawl.db");
        let sql = format!(
            "SELECT json_object('type', type, 'confidence', confidence, 'content', json(content),
                'metadata', json(metadata)) FROM evidence WHERE url = '{url}'"
        );
        texts(&db, &sql).iter().for_each(|record| said(&json(record)));
        assert_eq!(texts(&db, &sql).len(), 1, "{url}");
        let why = town.run(&["why", &url, "--in", "pages.jsonl.crawl.db", "--json"]).ends(0);
        said(&json(&why.out)["steps"].as_array().unwrap().last().unwrap()["evidence"]);
    };
    check("/p/1", "robots_allowed", json!("Allow: /p/1"));
    check("/p/2", "blocked_by_robots", json!("Disallow: /p/2"));
    check("/", "robots_allowed", Value::Null);
}

/// "Robots check failure: defaults to allowed, stores evidence with low confidence."
#[test]
fn a_robots_txt_that_can_not_be_fetched_is_warned_of() {
    let broken = Answer::to("/robots.txt").status(503);
    let town = town(vec![Host::named("h0.test").pages(2, 1, 300).says(broken)]);
    let home = town.url(0, "/");
    let args = [&home, "--policy", "audit", "--delay", "0s", "--no-sitemaps"];
    let ran = town.crawl(&[&args[..], &["--json"]].concat()).ends(0);
    let host = home.split([':', '/']).nth(3).unwrap();
    let said = format!("robots.txt of {host} could not be fetched: allowed, low confidence");
    assert_eq!(json(&ran.out)["warnings"], json!([said]));
    let ran = town.crawl(&[&args[..], &["--into", "text.db"]].concat()).ends(0);
    has(&ran.err, &[&format!("note: {said}")]);
    let db = town.db("crawl.db");
    let sure = "SELECT DISTINCT type || ' ' || confidence FROM evidence";
    assert_eq!(texts(&db, sure), ["robots_allowed low"]);
    let why = town.run(&["why", &home]).ends(0);
    has(&why.out, &["! robots    robots.txt could not be fetched: allowed, low confidence"]);
    let why = json(&town.run(&["why", &home, "--json"]).ends(0).out);
    assert_eq!(why["warnings"], json!(["robots.txt could not be fetched: low confidence"]));
}

/// "After 10 s without a slot the finding `slot_timeout` is recorded and the URL goes back to the queue": here after 300 ms, in one
/// process.
#[test]
fn a_crawl_by_itself_says_that_a_url_waited_too_long_for_a_slot() {
    let slow = Duration::from_secs(3);
    let mut host = Host::named("h0.test").pages(6, 3, 300);
    host.think = Range { min: slow, max: slow };
    let town = town(vec![host]);
    std::fs::write(
        town.path("p.toml"),
        "preset = 'audit'\n[pace]\ndelay = '0s'\n[slots]\nwait = '300ms'\n",
    )
    .unwrap();
    let seeds: Vec<_> = (1..6).map(|n| town.url(0, &format!("/p/{n}"))).collect();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let args = ["--policy", "p.toml", "--no-links", "--no-sitemaps"];
    town.crawl(&[&seeds[..], &args].concat()).ends(0);
    let db = town.db("crawl.db");
    let waited = texts(
        &db,
        "SELECT url FROM history WHERE error = 'slot_timeout' AND reason = 'Timeout waiting for host concurrency slot'",
    );
    assert!(!waited.is_empty(), "a URL waited for seconds");
    let record = texts(&db, "SELECT content FROM evidence WHERE type = 'slot_timeout'");
    assert_eq!(json(&record[0])["error"], "Timeout waiting for host concurrency slot");
    let why = town.run(&["why", &waited[0]]).ends(0);
    has(&why.out, &["Timeout waiting for host concurrency slot", "fetched with 200"]);
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE decision = 'fetched'"), 5);
}

#[test]
fn the_report_says_why_pages_are_missing() {
    let home = |host: Host| {
        ["/gone1", "/gone2", "/no", "/big", "/p/2", "http://10.1.2.3/"]
            .into_iter()
            .fold(host, |host, url| host.links_to(url))
    };
    let host = home(Host::named("h0.test").pages(3, 2, 300).robots(ROBOTS))
        .says(Answer::to("/no").status(403))
        .says(Answer::to("/big").body(Body::Bytes(3000)));
    let town = town(vec![host]);
    let url = town.url(0, "/");
    let args = [&url, "--policy", "audit", "--no-sitemaps", "--scope", "everywhere"];
    let args = [&args[..], &["--set", "body.decoded_max=2KiB"]].concat();
    let ran = town.crawl(&args);
    has(
        &ran.err,
        &[
            "2 not found (404)\n",
            "1 forbidden (403)\n",
            "1 larger than 2 KiB\n",
            "1 refused by robots.txt\n",
            "1 private address (10.1.2.3)\n",
            "10.1.2.3 is not dialled (private use): `--allow-net 10.0.0.0/8` allows it\n",
        ],
    );
    assert!(!ran.err.contains("dead"), "{}", ran.err);
    let reasons = "SELECT reason FROM pages WHERE reason IS NOT NULL ORDER BY reason";
    let reasons = texts(&town.db("crawl.db"), reasons);
    has(
        &reasons.join("\n"),
        &[
            "forbidden (403)",
            "larger than 2 KiB",
            "not found (404)",
            "refused by robots.txt: line 2",
        ],
    );
    let again = [&args[..], &["--into", "again.jsonl", "--json"]].concat();
    let report = json(&town.crawl(&again).out);
    let count = |reason: &str| {
        let reasons = report["reasons"].as_array().unwrap();
        reasons.iter().find(|r| r["reason"] == reason).map(|r| r["urls"].clone())
    };
    assert_eq!(count("not found (404)"), Some(json!(2)), "{report}");
    let lines = std::fs::read_to_string(town.path("again.jsonl")).unwrap();
    assert!(lines.lines().map(json).any(|line| line["reason"] == "not found (404)"));
    // A host that nobody answers for is named.
    let report =
        town.crawl(&["http://exmaple.invalid/", "--contact", "a@b.test", "--patience", "0s"]);
    has(&report.err, &["exmaple.invalid"]);
}

#[test]
fn the_budget_that_ended_a_crawl_is_named() {
    let town = town(vec![Host::named("h0.test").pages(30, 6, 300)]);
    let url = town.url(0, "/");
    let args = [&url, "--policy", "warehouse", "--delay", "0s", "--no-sitemaps", "--pages", "4"];
    let ran = town.crawl(&[&args[..], &["--json"]].concat()).ends(0);
    let report = json(&ran.out);
    assert_eq!(
        (&report["budget"]["limit"], &report["budget"]["max"]),
        (&json!("pages"), &json!(4))
    );
    assert!(report["budget"]["left"].as_u64().unwrap() > 0, "{report}");
    assert_eq!(report["exit_code"], 0);
    let left = "SELECT url FROM pages WHERE reason LIKE 'over the page limit%' LIMIT 1";
    if let Some(url) = texts(&town.db("crawl.db"), left).first() {
        has(&town.run(&["why", url]).ends(0).out, &["over the page limit (4)"]);
    }
}

/// One 403 makes `careful` leave the whole host alone: the report says which URL, what it answered, for how long, and what can be done.
#[test]
fn a_wait_that_ends_a_crawl_names_the_answer_that_caused_it() {
    let town = town(vec![
        Host::named("h0.test").pages(3, 2, 300).says(Answer::to("/no?token=1").status(403)),
    ]);
    let (no, next) = (town.url(0, "/no?token=1"), town.url(0, "/p/1"));
    let args = [no.as_str(), "--delay", "0s", "--no-sitemaps", "--no-links"];
    let ran = town.crawl(&[&args[..1], &[&next], &args[1..]].concat()).ends(3);
    let (host, page) = (no.split([':', '/']).nth(3).unwrap(), no.replace("token=1", "…"));
    has(
        &ran.err,
        &[
            &format!("{page} answered 403 at "),
            "; careful waits 1",
            &format!(" before {host} is asked again (until "),
            "`--patience ",
            "`--set backoff.forbidden=permanent`",
            "resume after ",
        ],
    );
    // The next run asks for nothing, and knows the cause from the file.
    let ran = town.crawl(&[&args[..1], &[&next], &args[1..], &["--json"]].concat()).ends(3);
    let report = json(&ran.out);
    let wait = &report["waits"][0];
    assert_eq!((&wait["url"], &wait["answer"]), (&json!(page), &json!("answered 403")), "{report}");
    assert_eq!((&wait["gate"], &report["exit_code"]), (&json!("backoff"), &json!(3)));
    let why = town.run(&["why", &next]).ends(0);
    has(&why.out, &["queued: ", "answered 403 at ", "resume after "]);
    // Another crawl of that host only knows the wait.
    let ran = town.crawl(&[&next, "--delay", "0s", "--no-sitemaps", "--into", "other.db"]).ends(3);
    has(&ran.err, &[&format!("{host} told an earlier or another crawl to wait; careful waits ")]);
}

#[test]
fn a_try_that_failed_is_shown_while_the_next_one_waits_and_after_it() {
    let reset = Answer::to("/p/1").first(1).ending(Ending::Reset);
    let town = town(vec![Host::named("h0.test").pages(3, 2, 300).says(reset)]);
    let url = town.url(0, "/p/1");
    let args =
        [url.as_str(), "--policy", "warehouse", "--delay", "0s", "--no-sitemaps", "--no-links"];
    let wait = ["--patience", "1s", "--set", "retry.curve.base=1h", "--set", "retry.curve.cap=1h"];
    town.crawl(&[&args[..], &wait].concat()).ends(3);
    let why = town.run(&["why", &url]).ends(0);
    has(
        &why.out,
        &[
            "queued: ",
            "its next try is not before",
            "connection reset → tried again not before",
            "1 h later",
        ],
    );
    let why = json(&town.run(&["why", &url, "--json"]).ends(0).out);
    let steps = why["steps"].as_array().unwrap();
    let retry = steps.iter().find(|step| step["decision"] == "retry").unwrap();
    assert_eq!(retry["reason"], "connection reset");
    assert!(retry["wait_ms"].as_u64().unwrap() >= 3_600_000, "{retry}");
    let short = ["--into", "short.db", "--set", "retry.curve.base=100ms"];
    let again = Answer::to("/p/2").first(1).ending(Ending::Reset);
    let town = self::town(vec![Host::named("h0.test").pages(3, 2, 300).says(again)]);
    let url = town.url(0, "/p/2");
    town.crawl(&[&[url.as_str()], &args[1..], &short].concat()).ends(0);
    let why = town.run(&["why", &url, "--in", "short.db"]).ends(0);
    has(&why.out, &["fetched with 200", "connection reset → tried again not before"]);
}

/// A URL that is given up because its host can't be reached was listed as if it had been asked for once more.
#[test]
fn giving_up_is_not_shown_as_a_further_try() {
    let town = Town::empty();
    let url = "http://nowhere.invalid/";
    let contact = ["--contact", "a@b.test", "--into", "typo.db"];
    town.run(&[&["crawl", url], &contact[..]].concat()).ends(4);
    let why = town.run(&["why", url, "--in", "typo.db"]).ends(0);
    has(&why.out, &["robots.txt name not resolved", "given up without a further try: name not"]);
    let why = json(&town.run(&["why", url, "--in", "typo.db", "--json"]).ends(0).out);
    let steps = why["steps"].as_array().unwrap();
    let is_requested =
        |kind: &str| &steps.iter().find(|step| step["kind"] == kind).unwrap()["requested"];
    assert_eq!((is_requested("robots"), is_requested("page")), (&true.into(), &false.into()));
}

#[test]
fn why_says_what_kept_a_url_out_and_where_it_is_linked_from() {
    let page = |path: &str, links: &[&str]| Answer::page(path, "t", "", links);
    let town = town(vec![
        Host::named("h0.test")
            .says_unlinked(page("/", &["/x", "/secret", "/blog/1", "http://other.test/a"]))
            .says_unlinked(page("/x", &["/y"]))
            .says_unlinked(page("/y", &[])),
    ]);
    let home = town.url(0, "/");
    let fast = ["--policy", "warehouse", "--delay", "0s", "--no-sitemaps"];
    let args = [home.as_str(), "--depth", "1", "--exclude", "*secret*", "--exclude", "*none*"];
    town.crawl(&[&args[..], &fast].concat()).ends(0);
    let why = |url: &str, parts: &[&str]| has(&town.run(&["why", url]).ends(1).err, parts);
    let from = |path: &str| format!("linked from {}", town.url(0, path));
    why(&town.url(0, "/y"), &[&from("/x"), ", but deeper than `--depth 1`", "`--depth 2`"]);
    why(&town.url(0, "/secret"), &[&from("/"), ", but excluded by `--exclude '*secret*'`"]);
    why("http://other.test/a", &[&from("/"), ", but on another host (`--scope host`)"]);
    why(&town.url(0, "/never"), &["no page of this crawl links to it"]);
    // A program gets the same as an error.
    let ran = town.run(&["why", &town.url(0, "/y"), "--json"]).ends(1);
    let error = json(ran.err.lines().last().unwrap());
    assert_eq!((ran.out.as_str(), &error["error"]["code"]), ("", &json!("not_taken")));
    has(error["error"]["message"].as_str().unwrap(), &["deeper than `--depth 1`"]);
    let args = [home.as_str(), "--include", "/blog/*", "--into", "blog.db"];
    town.crawl(&[&args[..], &fast].concat());
    let ran = town.run(&["why", &town.url(0, "/x"), "--in", "blog.db"]).ends(1);
    has(&ran.err, &[", but not matched by `--include '/blog/*'`"]);
    // A complete crawl says which flags have no effect any more, and with `--again` they have.
    let deeper = [&[home.as_str(), "--depth", "2", "--exclude", "*secret*"][..], &fast].concat();
    let ran = town.crawl(&deeper).ends(0);
    has(&ran.err, &["complete since", "`--exclude` and `--depth` changed since then", "`--again`"]);
    town.crawl(&[&deeper[..], &["--again"]].concat()).ends(0);
    town.run(&["why", &town.url(0, "/y")]).ends(0);
}

/// robots.txt that can't be fetched, asked for again every three seconds.
fn shut() -> Town {
    town(vec![Host::named("h0.test").pages(3, 2, 300).says(Answer::to("/robots.txt").status(503))])
}

#[test]
fn the_advice_for_patience_is_more_than_the_patience_that_was_used_up() {
    let town = shut();
    let args = [&town.url(0, "/"), "--set", "robots.deny_ttl=3s", "--patience", "5s", "--json"];
    let report = json(&town.crawl(&args).ends(3).out);
    assert_eq!(report["patience_ms"], 5_000, "{report}");
    let hints = report["waits"][0]["hints"].as_array().unwrap();
    let advice = hints.iter().find_map(|hint| hint.as_str()?.strip_prefix("`--patience "));
    let secs = advice.and_then(|text| text.split('s').next()?.parse::<u64>().ok());
    assert!(secs.is_some_and(|secs| secs > 5), "{hints:?}");
}

#[test]
fn a_crawl_that_is_stopped_while_a_host_waits_says_for_what() {
    let town = shut();
    let url = town.url(0, "/");
    let args = ["crawl", &url, "--allow-net", "127.0.0.0/8", "--into", "crawl.db", "--json"];
    let mut child = town.program(&args);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The first line of progress in which the host waits for its robots.txt.
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let told =
        lines.map_while(Result::ok).find(|line| line.contains("robots.txt could not be had"));
    assert!(told.is_some(), "no line of progress says that the host waits");
    let id = child.id().to_string();
    let stopped = std::process::Command::new("kill").args(["-INT", &id]).status().unwrap();
    assert!(stopped.success());
    let ran = crate::harness::Ran::of(child.wait_with_output().unwrap()).ends(130);
    let report = json(&ran.out);
    has(report["waits"][0]["why"].as_str().unwrap(), &["robots.txt answered 503 at"]);
    assert_eq!(report["waits"][0]["hints"], json!([]), "its patience was not at an end");
    let why = town.run(&["why", &url]).ends(0);
    has(&why.out, &["queued: ", "robots.txt answered 503 at ", "the last run was stopped"]);
}

#[test]
fn a_blocked_host_waits_for_a_person_and_not_for_a_date() {
    let town = town(vec![Host::named("h0.test").pages(3, 2, 300)]);
    let url = town.url(0, "/");
    let host = url.split([':', '/']).nth(3).unwrap();
    town.run(&["block", host]).ends(0);
    let ran = town.crawl(&[&url, "--delay", "0s"]).ends(3);
    has(&ran.err, &["is blocked", "--lift`", "must wait until somebody lifts the block"]);
    assert!(!ran.err.contains("9999"), "{}", ran.err);
    let why = town.run(&["why", &url]).ends(0);
    assert!(!why.out.contains("9999"), "{}", why.out);
    let now = town.run(&["why", "--now", &url, "--allow-net", "127.0.0.0/8"]).ends(3);
    has(&now.out, &["would wait until somebody lifts it"]);
}

#[test]
fn why_knows_that_a_block_was_lifted_since_the_last_run() {
    let town = town(vec![Host::named("h0.test").pages(3, 2, 300)]);
    let url = town.url(0, "/");
    let host = url.split([':', '/']).nth(3).unwrap();
    town.run(&["block", host]).ends(0);
    town.crawl(&[&url, "--delay", "0s"]).ends(3);
    let why = town.run(&["why", &url]).ends(0).out;
    has(&why, &[&format!("{host} is blocked; `curtsy block {host} --lift`")]);
    town.run(&["block", host, "--lift"]).ends(0);
    let why = town.run(&["why", &url]).ends(0).out;
    let lifted = format!("{host} was blocked when the last run ended; the block was lifted since");
    has(&why, &["queued: ", &lifted, "the same command goes on"]);
    assert!(!why.contains("is blocked"), "{why}");
}

#[test]
fn why_says_what_a_crawl_asked_for_besides_pages() {
    let sitemap = Sitemap {
        path: "/sitemap.xml".to_owned(),
        locs: vec!["/p/1".to_owned(), "/p/2".to_owned()],
        ..Sitemap::default()
    };
    let host = Host::named("h0.test").pages(3, 2, 300).robots(ROBOTS).sitemap(sitemap);
    let town = town(vec![host]);
    let args = [&town.url(0, "/"), "--policy", "warehouse", "--delay", "0s"];
    town.crawl(&args).ends(0);
    let (robots, sitemap) = (town.url(0, "/robots.txt"), town.url(0, "/sitemap.xml"));
    let why = town.run(&["why", &robots]).ends(0).out;
    has(&why, &["asked for once", "it refused 1 of the 3 pages", &format!("robots {robots} 200")]);
    let why = json(&town.run(&["why", &robots, "--json"]).ends(0).out);
    let role = json!({"is": "robots", "pages_refused": 1, "pages_not_refused": 2});
    assert_eq!(why["role"], role, "{why}");
    let why = town.run(&["why", &sitemap]).ends(0).out;
    has(&why, &["fetched with 200", "a sitemap; it lists 2 URLs"]);
    let why = json(&town.run(&["why", &sitemap, "--json"]).ends(0).out);
    assert_eq!(why["role"], json!({"is": "sitemap", "urls_listed": 2}), "{why}");
    // Another crawl does with what the ledger knows of robots.txt.
    town.crawl(&[&args[..], &["--into", "other.db"]].concat()).ends(0);
    let why = town.run(&["why", &robots, "--in", "other.db"]).ends(0).out;
    has(&why, &["not asked for by this crawl: the ledger of hosts had it", "it refused 1 of"]);
    town.run(&["why", &town.url(0, "/sitemap2.xml")]).ends(1);
}

#[test]
fn why_shows_get_after_head_and_no_redirect_to_itself() {
    let page = Answer::page("/", "t", "<img src=\"/gone.png\">", &[]);
    let town = town(vec![Host::named("h0.test").says_unlinked(page)]);
    let args = [&town.url(0, "/"), "--policy", "warehouse", "--delay", "0s", "--no-sitemaps"];
    town.crawl(&[&args[..], &["--assets"]].concat()).ends(0);
    let image = town.url(0, "/gone.png");
    let why = town.run(&["why", &image]).ends(0).out;
    has(&why, &[&format!("HEAD {image} 404 → asked again with GET"), "→ given up"]);
    assert!(!why.contains(&format!("→ {image}")), "{why}");
    let why = json(&town.run(&["why", &image, "--json"]).ends(0).out);
    assert_eq!(why["steps"][0]["get_after_head"], true, "{why}");
}

/// A crawl does not ask for what another one fetched and what is still fresh: `why --now` says the same.
#[test]
fn why_now_looks_into_the_page_cache_as_a_crawl_does() {
    let fresh = Answer::page("/", "t", "", &[]).header("Cache-Control: max-age=3600");
    let town = town(vec![Host::named("h0.test").says_unlinked(fresh)]);
    let url = town.url(0, "/");
    let near = ["--allow-net", "127.0.0.0/8", "--delay", "0s"];
    town.crawl(&[&url, "--delay", "0s", "--no-sitemaps"]).ends(0);
    let now =
        |more: &[&str]| town.run(&[&["why", "--now", &url], &near[..], more].concat()).ends(0).out;
    has(&now(&[]), &["needs no request: the page that the page cache holds is fresh until 20"]);
    has(&now(&["--no-cache"]), &["would be fetched", "no fresh copy of the page is held"]);
    let ran = town.crawl(&[&url, "--delay", "0s", "--no-sitemaps", "--into", "b.db"]).ends(0);
    has(&ran.err, &["1 page not asked for: held and fresh"]);
    town.run(&["cache", "clear"]).ends(0);
    has(&now(&[]), &["would be fetched"]);
}

#[test]
fn a_wait_that_is_longer_than_a_site_asked_for_says_so() {
    let busy = Answer::to("/").status(429).retry_after_seconds(15);
    let town = town(vec![Host::named("h0.test").pages(3, 2, 300).says(busy)]);
    let ran = town.crawl(&[&town.url(0, "/"), "--delay", "0s", "--no-sitemaps"]).ends(3);
    has(
        &ran.err,
        &[
            " and asked for 15 s; careful waits at least 15 min, this time ",
            "`--set backoff.curve.base=15s` waits as long as the site asks",
        ],
    );
}
