//! Plain crawls: what is found, what the rows hold, how it ends.

use curtsy_lab::sites::{Answer, Scene};

use crate::harness::{Town, assert_clean, judge, number, policy, texts};

#[test]
fn every_page_of_a_site_becomes_a_row() {
    let mut town = Town::new(Scene::plain(2, 40, 5, 2_000));
    let seeds = town.seeds();
    std::fs::write(town.path("p.toml"), "preset = 'warehouse'\n[pace]\ndelay = '10ms'\n").unwrap();
    let ran =
        town.crawl(&["--from", seeds.to_str().unwrap(), "--policy", "p.toml", "--json"]).ends(0);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&report["fetched"], &report["ended"]), (&80.into(), &"complete".into()));
    let db = town.db("crawl.db");
    let fetched = "SELECT count(*) FROM pages WHERE http_status = 200 AND length(body) > 1900 AND title <> ''";
    assert_eq!(number(&db, fetched), 80);
    assert_eq!(number(&db, "SELECT count(*) FROM decisions WHERE kind = 'robots'"), 2);
    assert!(number(&db, "SELECT count(*) FROM links") >= 80);
    assert_eq!(number(&db, "SELECT count(*) FROM runs WHERE outcome = 'complete'"), 1);
    let policy = policy(&town.path("p.toml"));
    assert_clean(&judge(town.close(), &policy, &[]));
}

#[test]
fn the_same_command_again_has_nothing_left_to_do() {
    let mut town = Town::new(Scene::plain(1, 5, 3, 500));
    let url = town.url(0, "/");
    let args = [url.as_str(), "--delay", "10ms", "--policy", "warehouse"];
    town.crawl(&args).ends(0);
    town.crawl(&args).ends(0);
    let db = town.db("crawl.db");
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE http_status = 200"), 5);
    assert_eq!(number(&db, "SELECT count(*) FROM runs"), 1, "nothing was left to run for");
    let log = town.close();
    let pages = log.iter().filter(|x| &*x.target != "/robots.txt" && x.status == Some(200)).count();
    assert_eq!(pages, 5, "no page was asked for twice");
}

#[test]
fn depth_pages_and_filters_are_kept() {
    let town = Town::new(Scene::plain(1, 60, 6, 500));
    let url = town.url(0, "/");
    let crawl = |into: &str, more: &[&str]| {
        let args =
            [&[url.as_str(), "--delay", "0s", "--policy", "warehouse", "--into", into], more];
        town.crawl(&args.concat());
        town.db(into)
    };
    let fetched = "SELECT count(*) FROM pages WHERE decision = 'fetched'";
    assert_eq!(number(&crawl("pages.db", &["--pages", "7"]), fetched), 7);
    let deep = crawl("depth.db", &["--depth", "1"]);
    assert_eq!(number(&deep, "SELECT max(depth) FROM pages"), 1);
    let none = crawl("seed.db", &["--depth", "0"]);
    assert_eq!(number(&none, fetched), 1);
    let some = crawl("some.db", &["--include", "/p/1*", "--exclude", "/p/11"]);
    let found = texts(&some, "SELECT url FROM pages WHERE depth > 0");
    assert!(!found.is_empty(), "some pages are included");
    assert!(found.iter().all(|u| u.contains("/p/1") && !u.ends_with("/p/11")), "{found:?}");
}

#[test]
fn a_budget_says_so_and_leaves_the_rest_in_the_queue() {
    let mut town = Town::new(Scene::plain(1, 30, 6, 500));
    let url = town.url(0, "/");
    let ran =
        town.crawl(&[&url, "--delay", "0s", "--policy", "warehouse", "--pages", "10"]).ends(0);
    // How many are left depends on which pages came first.
    for said in [
        " of the 10 pages of the budget are used",
        "page limit reached: 10 pages; ",
        " URLs left; the same command goes on where this one ended",
    ] {
        assert!(ran.err.contains(said), "{}", ran.err);
    }
    let db = town.db("crawl.db");
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE decision = 'fetched'"), 10);
    assert_eq!(number(&db, "SELECT count(*) FROM decisions WHERE decision = 'refused'"), 0);
    let asked = town.close();
    let pages = asked.iter().filter(|x| &*x.target == "/" || x.target.starts_with("/p/"));
    assert_eq!(pages.count(), 10, "no page above the budget was asked for");
}

#[test]
fn a_larger_budget_goes_on_with_what_the_smaller_one_left() {
    let town = Town::new(Scene::plain(1, 30, 6, 500));
    let url = town.url(0, "/");
    let args = |pages| [url.as_str(), "--delay", "0s", "--policy", "warehouse", "--pages", pages];
    town.crawl(&args("10")).ends(0);
    town.crawl(&args("500")).ends(0);
    let db = town.db("crawl.db");
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE decision = 'fetched'"), 30);
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE decision = 'refused'"), 0);
}

#[test]
fn a_crawl_again_asks_with_validators_or_not_at_all() {
    let mut scene = Scene::plain(1, 6, 3, 500);
    scene.hosts[0].pages.etag = true;
    scene.hosts[0].pages.max_age = Some(0);
    let mut town = Town::new(scene);
    let url = town.url(0, "/");
    let args = [url.as_str(), "--delay", "0s", "--policy", "careful", "--no-sitemaps"];
    town.crawl(&args).ends(0);
    town.crawl(&[&args[..], &["--again"]].concat()).ends(0);
    let db = town.db("crawl.db");
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE length(body) > 400"), 6);
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE decision = 'confirmed'"), 6);
    let log = town.close();
    let asked: Vec<_> = log.iter().filter(|x| x.if_none_match.is_some()).collect();
    assert_eq!(asked.len(), 6);
    assert!(asked.iter().all(|x| x.status == Some(304)));
}

/// RFC 5861: a page that went stale may be used while it is asked for again. Its links lead on although its answer is bad news by then.
#[test]
fn a_stale_page_leads_on_while_it_is_asked_for_again() {
    let mut scene = Scene::plain(1, 5, 4, 500);
    scene.hosts[0].pages.etag = true;
    let control = Some("max-age=0, stale-while-revalidate=600".to_owned());
    scene.hosts[0].answers = vec![
        Answer { cache_control: control, ..Answer::to("/").first(1) },
        Answer::to("/").status(410),
    ];
    let mut town = Town::new(scene);
    let url = town.url(0, "/");
    let args = [url.as_str(), "--delay", "0s", "--no-sitemaps", "--set", "cache.ttl=0s"];
    town.crawl(&args).ends(0);
    town.crawl(&[&args[..], &["--again"]].concat()).ends(0);
    let db = town.db("crawl.db");
    assert_eq!(texts(&db, "SELECT url FROM pages WHERE http_status = 410"), [url.as_str()]);
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE decision = 'confirmed'"), 4);
    let before = town.sites.as_ref().unwrap().log().len();
    town.crawl(&[&args[..], &["--again", "--set", "cache.stale_while_revalidate=false"]].concat());
    let log = town.close();
    assert_eq!(log[before..].iter().map(|x| &*x.target).collect::<Vec<_>>(), ["/"]);
}

#[test]
fn rows_go_to_json_lines_and_csv_too() {
    let town = Town::new(Scene::plain(1, 4, 3, 500));
    let url = town.url(0, "/");
    let args = |into| [url.as_str(), "--delay", "0s", "--policy", "warehouse", "--into", into];
    town.crawl(&args("pages.jsonl")).ends(0);
    let text = std::fs::read_to_string(town.path("pages.jsonl")).unwrap();
    let rows: Vec<serde_json::Value> =
        text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(rows.iter().filter(|row| row["http_status"] == 200).count(), 4);
    assert!(rows.iter().all(|row| row["url"].is_string() && row["decision"].is_string()));
    town.crawl(&args("pages.csv")).ends(0);
    let text = std::fs::read_to_string(town.path("pages.csv")).unwrap();
    let (names, records) = text.split_once("\r\n").unwrap();
    assert!(names.starts_with("url,"), "{names}");
    // The same rows: each record begins with its URL.
    let begun = |row: &serde_json::Value| {
        let record = format!("{},", row["url"].as_str().unwrap());
        records.lines().filter(|line| line.starts_with(&record)).count()
    };
    assert!(rows.iter().all(|row| begun(row) == 1), "{records}");
    let records = records.lines().filter(|line| line.starts_with("http://")).count();
    assert_eq!(records, rows.len(), "{text}");
    // The standard output has rows and nothing else.
    let ran = town.crawl(&args("-")).ends(0);
    assert!(ran.out.lines().all(|l| serde_json::from_str::<serde_json::Value>(l).is_ok()));
    assert!(ran.out.lines().count() >= 4);
}

#[test]
fn why_links_and_the_rest_answer() {
    let town = Town::new(Scene::demo());
    let port = town.sites.as_ref().unwrap().port();
    let demo = format!("http://demo.localhost:{port}");
    let pins = ["--resolve", "*.test=127.0.0.1"];
    let home = format!("{demo}/");
    let args = [
        &[home.as_str(), "--policy", "warehouse", "--delay", "50ms", "--depth", "4", "--quiet"],
        &pins[..],
    ]
    .concat();
    town.crawl(&args).ends(0);
    let why = |path: &str| town.run(&["why", &format!("{demo}{path}")]).ends(0).out;
    let check = |path: &str, expected: &[&str]| {
        let text = why(path);
        for part in expected {
            assert!(text.contains(part), "no `{part}` in {text}");
        }
    };
    check(
        "/private/diary",
        &["not fetched: refused by robots.txt: line 4", "line 4 forbids it: `Disallow: /private/`"],
    );
    check("/private/open", &["fetched with 200", "allows it: `Allow: /private/open`"]);
    check("/busy", &["fetched with 200", "429, asks to wait 1 s → tried again not before"]);
    check("/shaky", &["fetched with 200", "503", "(Crawl-delay)"]);
    check("/old", &["followed 1 redirect to", "/p/3"]);
    check("/missing", &["404"]);
    town.run(&["why", &format!("{demo}/never-heard-of")]).ends(1);
    let links = town.run(&["links"]).ends(1);
    assert!(links.out.contains("/missing"), "{}", links.out);
    // Every row has its answer, and the findings that are kept give the decision again.
    let db = town.db("crawl.db");
    let mut statement = db.prepare("SELECT url, decision, gate, findings FROM decisions").unwrap();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let (url, decision): (String, String) = (row.get(0).unwrap(), row.get(1).unwrap());
        let gate: Option<String> = row.get(2).unwrap();
        let bytes: Vec<u8> = row.get(3).unwrap();
        let findings = curtsy_core::evidence::decode(&bytes).unwrap();
        let (verdict, worst) = findings.worst();
        let never = verdict == curtsy_core::host::Verdict::Never;
        assert_eq!(never, decision == "refused", "{url}: {decision}, {findings:?}");
        if never {
            assert_eq!(gate.as_deref(), Some(worst.name()), "{url}");
        }
    }
    drop(rows);
    for url in texts(&db, "SELECT url FROM pages WHERE kind = 'page'") {
        let why = town.run(&["why", &url, "--json"]).ends(0);
        let why: serde_json::Value = serde_json::from_str(&why.out).unwrap();
        assert!(why["steps"].as_array().is_some_and(|steps| !steps.is_empty()), "{url}");
    }
    let listed =
        [&["sitemap", "list", home.as_str(), "--allow-net", "127.0.0.0/8"], &pins[..]].concat();
    let listed = town.run(&listed).ends(0);
    assert!(listed.out.contains("/only-in-the-sitemap"), "{}", listed.out);
    let plan = [&["plan", home.as_str(), "--allow-net", "127.0.0.0/8", "--pages", "5"], &pins[..]]
        .concat();
    let plan = town.run(&plan).ends(0);
    assert!(plan.out.contains("the budget takes 5 of them"), "{}", plan.out);
    let diary = format!("{demo}/private/diary");
    for asked in [&["explain", diary.as_str()][..], &["why", "--now", &diary]] {
        let how = ["--policy", "warehouse", "--allow-net", "127.0.0.0/8"];
        let explain = town.run(&[asked, &how, &pins].concat()).ends(4);
        assert!(explain.out.contains("would not be fetched: robots.txt line "), "{}", explain.out);
    }
    town.run(&["stop", "demo.localhost"]).ends(0);
    assert!(town.run(&["stop"]).ends(0).out.starts_with("demo.localhost\t"));
    town.run(&["stop", "demo.localhost", "--lift"]).ends(0);
    town.run(&["forget", &format!("{demo}/busy")]).ends(0);
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE url LIKE '%/busy'"), 0);
}

#[test]
fn the_demonstration_shows_everything_and_is_judged() {
    let town = Town::empty();
    let ran = town.run(&["demo"]).ends(0);
    for part in
        ["done: ", "Disallow: /private/", "looks like a trap", "asks to wait 1 s", "no violation:"]
    {
        assert!(ran.out.contains(part), "no `{part}` in {}", ran.out);
    }
    let json = town.run(&["demo", "--json"]).ends(0);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["why"].as_array().unwrap().len(), 3);
}

#[test]
fn settings_come_from_a_file_that_init_writes() {
    let town = Town::new(Scene::plain(1, 3, 2, 500));
    town.run(&["init"]).ends(0);
    town.run(&["init"]).ends(2);
    // The template asks for a contact before anything is sent.
    let ran = town.run(&["crawl"]).ends(2);
    assert!(ran.err.contains("`identity.contact` is not set"), "{}", ran.err);
    let text = format!(
        "urls = ['{}']\nallow-net = ['127.0.0.0/8']\ndelay = '0s'\ninto = 'mine.db'\n",
        town.url(0, "/")
    );
    std::fs::write(town.path("curtsy.toml"), text).unwrap();
    town.run(&["crawl"]).ends(0);
    assert_eq!(
        number(&town.db("mine.db"), "SELECT count(*) FROM pages WHERE decision = 'fetched'"),
        3
    );
    let man = town.run(&["man"]).ends(0);
    assert!(man.out.contains(".TH curtsy 1"), "{}", &man.out[..200]);
    assert!(town.run(&["completions", "bash"]).ends(0).out.contains("_curtsy"));
}
