//! The page cache that all crawls of a user share: several crawls, each into its own file, and what the site sees of them.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use curtsy_judge::Exchange;
use curtsy_lab::sites::{Answer, Host, Scene, Sitemap};

use crate::harness::{Town, assert_clean, judge, number, policy, texts};

const CAREFUL: &str = "preset = 'careful'\n[pace]\ndelay = '10ms'\n";

/// How often each path was asked for.
fn asked(log: &[Exchange]) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for exchange in log {
        *asked.entry(exchange.target.to_string()).or_default() += 1;
    }
    asked
}

fn town(scene: Scene) -> Town {
    let town = Town::new(scene);
    std::fs::write(town.path("p.toml"), CAREFUL).unwrap();
    town
}

/// P10 over three processes: what one of them fetched is fresh for all, and who waits for the very page does not ask again.
#[test]
fn three_crawls_started_together_ask_for_each_page_once() {
    let mut scene = Scene::plain(1, 40, 5, 2_000);
    scene.hosts[0].answers = vec![Answer::to("/p/7").status(404)];
    let mut town = town(scene);
    let url = town.url(0, "/");
    let args = |into| [url.clone(), "--policy".into(), "p.toml".into(), "--into".into(), into];
    let crawls: Vec<_> = (0..3)
        .map(|n| {
            let args = args(format!("{n}.db"));
            town.start_crawl(&args.each_ref().map(String::as_str))
        })
        .collect();
    for mut crawl in crawls {
        assert!(crawl.wait().unwrap().success());
    }
    let mut fetched = 0;
    for n in 0..3 {
        let db = town.db(&format!("{n}.db"));
        let whole = "SELECT count(*) FROM pages WHERE http_status = 200 AND length(body) > 1900 AND kind = 'page'";
        assert_eq!(number(&db, whole), 39);
        assert_eq!(
            number(&db, "SELECT count(*) FROM pages WHERE http_status = 404 AND url LIKE '%/p/7'"),
            1
        );
        fetched +=
            number(&db, "SELECT count(*) FROM pages WHERE source = 'network' AND kind = 'page'");
        let odd = "SELECT count(*) FROM pages WHERE kind = 'page' AND source NOT IN ('network', 'shared')";
        assert_eq!(number(&db, odd), 0);
    }
    assert_eq!(fetched, 40, "each page came from the network once");
    let policy = policy(&town.path("p.toml"));
    let log = town.close();
    let twice: Vec<_> = asked(&log).into_iter().filter(|(_, times)| *times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert_clean(&judge(log, &policy, &[]));
}

#[test]
fn a_stale_page_of_another_crawl_is_confirmed_and_every_row_has_its_body() {
    let mut scene = Scene::plain(1, 6, 3, 500);
    scene.hosts[0].pages.etag = true;
    scene.hosts[0].pages.max_age = Some(0);
    let mut town = town(scene);
    let url = town.url(0, "/");
    let args = [url.as_str(), "--policy", "p.toml", "--no-sitemaps", "--into"];
    town.crawl(&[&args[..], &["a.db"]].concat()).ends(0);
    town.crawl(&[&args[..], &["b.db"]].concat()).ends(0);
    let db = town.db("b.db");
    let confirmed = "SELECT count(*) FROM pages
        WHERE decision = 'confirmed' AND source = 'shared' AND length(body) > 400 AND http_status = 200";
    assert_eq!(number(&db, confirmed), 6);
    let why = town.run(&["why", &url, "--in", "b.db"]).ends(0);
    assert!(why.out.contains("the page that another crawl of yours fetched stands"), "{}", why.out);
    // SQL's preset goes by validators alone, and has the bodies all the same.
    town.crawl(&[url.as_str(), "--delay", "0s", "--policy", "warehouse", "--into", "c.jsonl"])
        .ends(0);
    let rows = std::fs::read_to_string(town.path("c.jsonl")).unwrap();
    let rows: Vec<serde_json::Value> =
        rows.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let whole = |row: &&serde_json::Value| {
        row["source"] == "shared" && row["body_bytes"].as_u64() > Some(400)
    };
    assert_eq!(rows.iter().filter(whole).count(), 6);
    let log = town.close();
    assert_eq!(log.iter().filter(|x| x.status == Some(304)).count(), 12);
    assert_eq!(
        log.iter().filter(|x| x.status == Some(200) && x.target.starts_with("/p/")).count(),
        5
    );
}

#[test]
fn a_crawl_without_the_cache_neither_reads_nor_writes_it() {
    let mut town = town(Scene::plain(1, 4, 3, 500));
    let url = town.url(0, "/");
    let args = |into| [url.as_str(), "--policy", "p.toml", "--no-sitemaps", "--into", into];
    let without = |into| [&args(into)[..], &["--no-cache"]].concat();
    town.crawl(&without("a.db")).ends(0);
    assert!(!town.path("state/curtsy/hosts.db-pages").exists());
    town.crawl(&args("b.db")).ends(0);
    std::fs::write(town.path("curtsy.toml"), "no-cache = true\n").unwrap();
    town.crawl(&args("c.db")).ends(0);
    std::fs::remove_file(town.path("curtsy.toml")).unwrap();
    // The audit looks at a site as it is now.
    town.crawl(&[
        url.as_str(),
        "--policy",
        "audit",
        "--delay",
        "0s",
        "--no-sitemaps",
        "--into",
        "d.db",
    ]);
    for into in ["a.db", "b.db", "c.db", "d.db"] {
        assert_eq!(
            number(&town.db(into), "SELECT count(*) FROM pages WHERE source = 'network'"),
            4,
            "{into}"
        );
    }
    let ran = town.crawl(&args("e.db")).ends(0);
    assert!(
        ran.err.contains("4 pages not asked for: held and fresh, 4 of them in the page cache"),
        "{}",
        ran.err
    );
    assert_eq!(asked(&town.close())["/p/1"], 4);
}

/// RFC 9111 §3 and §4.1.
#[test]
fn what_may_not_be_kept_is_not_shared() {
    let mut scene = Scene::plain(1, 5, 4, 500);
    scene.hosts[0].answers = vec![
        Answer { cache_control: Some("no-store".into()), ..Answer::to("/p/1") },
        Answer::to("/p/2").header("Vary: Accept-Encoding, User-Agent"),
        Answer::to("/p/3").header("Vary: *"),
        Answer::to("/p/4").header("Vary: Accept-Encoding, Cookie"),
    ];
    let mut town = town(scene);
    let url = town.url(0, "/");
    let args = |into| [url.as_str(), "--policy", "p.toml", "--no-sitemaps", "--into", into];
    town.crawl(&args("a.db")).ends(0);
    town.crawl(&args("b.db")).ends(0);
    let other = [&args("c.db")[..], &["--user-agent", "other/1.0"]].concat();
    town.crawl(&other).ends(0);
    let asked = asked(&town.close());
    let times: Vec<_> = (1..5).map(|n| asked[&format!("/p/{n}")]).collect();
    assert_eq!(times, [3, 2, 3, 1]);
}

#[test]
fn a_cache_that_is_broken_is_not_served_and_ends_no_crawl() {
    let mut town = town(Scene::plain(1, 5, 4, 3_000));
    let url = town.url(0, "/");
    let args = |into| [url.as_str(), "--policy", "p.toml", "--no-sitemaps", "--into", into];
    let folder = town.path("state/curtsy/hosts.db-pages");
    town.crawl(&args("a.db")).ends(0);
    // Cut in the middle of a page, and one byte of another one changed.
    let segment = folder.join("1.pages");
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[1000] ^= 1;
    bytes.truncate(bytes.len() - 100);
    std::fs::write(&segment, bytes).unwrap();
    town.crawl(&args("b.db")).ends(0);
    let network = "SELECT count(*) FROM pages WHERE source = 'network' AND length(body) > 2900";
    assert_eq!(number(&town.db("b.db"), network), 2);
    assert_eq!(number(&town.db("b.db"), "SELECT count(*) FROM pages WHERE length(body) > 2900"), 5);
    // Nothing of it can be read any more.
    for file in ["index.db", "index.db-wal"] {
        if folder.join(file).exists() {
            std::fs::write(folder.join(file), vec![b'x'; 20_000]).unwrap();
        }
    }
    let ran = town.crawl(&[&args("c.db")[..], &["--json"]].concat()).ends(0);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert!(
        report["warnings"][0].as_str().unwrap().contains("was damaged and is begun anew"),
        "{report}"
    );
    assert_eq!(number(&town.db("c.db"), network), 5);
    town.crawl(&args("d.db")).ends(0);
    assert_eq!(number(&town.db("d.db"), network), 0);
    // A folder that can't be used.
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "").unwrap();
    let ran = town.crawl(&args("e.db")).ends(0);
    assert!(ran.err.contains("goes without the page cache"), "{}", ran.err);
    assert_eq!(number(&town.db("e.db"), network), 5);
    town.close();
}

/// What a crawl had answered before it was killed is there for the next one, and nothing that was cut.
#[test]
fn a_kill_leaves_whole_pages_behind() {
    let mut scene = Scene::plain(1, 12, 11, 2_000);
    scene.hosts[0].answers = vec![Answer::to("/p/9").first(1).behind("never")];
    let town = town(scene);
    let url = town.url(0, "/");
    let args = |into| [url.as_str(), "--policy", "p.toml", "--no-sitemaps", "--into", into];
    let mut killed = town.start_crawl(&args("a.db"));
    let sites = town.sites.as_ref().unwrap();
    // The gate is reached when everything before it was answered.
    while asked(&sites.log()).len() < 9 {
        std::thread::yield_now();
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let before = asked(&sites.log());
    let held = [&args("b.db")[..], &["--patience", "2m"]].concat();
    town.crawl(&held).ends(0);
    let db = town.db("b.db");
    assert_eq!(
        number(&db, "SELECT count(*) FROM pages WHERE http_status = 200 AND length(body) > 1900"),
        12
    );
    let shared = texts(&db, "SELECT url FROM pages WHERE source = 'shared'");
    assert!(shared.len() + 2 >= before.len() - 1, "{shared:?} of {before:?}");
}

#[test]
fn pages_can_be_seen_forgotten_and_cleared() {
    let mut town = town(Scene::plain(1, 4, 3, 500));
    let url = town.url(0, "/");
    let args = |into| [url.as_str(), "--policy", "p.toml", "--no-sitemaps", "--into", into];
    let pages = |town: &Town| {
        let shown = town.run(&["cache", "show", "--json"]).ends(0);
        serde_json::from_str::<serde_json::Value>(&shown.out).unwrap()["pages"].clone()
    };
    assert_eq!(pages(&town), 0);
    town.crawl(&args("a.db")).ends(0);
    assert_eq!(pages(&town), 4);
    let folder = town.path("state/curtsy/hosts.db-pages");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for file in std::fs::read_dir(&folder).unwrap().flatten() {
        assert_eq!(mode(&file.path()), 0o600, "{file:?}");
    }
    let page = town.url(0, "/p/1");
    let ran = town.run(&["forget", &page, "--in", "none.db"]).ends(0);
    assert!(ran.err.contains("1 page of the page cache"), "{}", ran.err);
    let held = std::fs::read(folder.join("1.pages")).unwrap();
    assert!(held.windows(64).any(|bytes| bytes == [0; 64]), "its bytes are overwritten");
    town.crawl(&args("b.db")).ends(0);
    assert_eq!(texts(&town.db("b.db"), "SELECT url FROM pages WHERE source = 'network'"), [page]);
    let host = url.strip_prefix("http://").unwrap().split(':').next().unwrap();
    town.run(&["forget", host, "--in", "a.db"]).ends(0);
    assert_eq!(pages(&town), 0);
    town.crawl(&args("c.db")).ends(0);
    assert_eq!(pages(&town), 4);
    let ran = town.run(&["cache", "clear"]).ends(0);
    assert_eq!(ran.err, "cleared 4 pages\n");
    assert_eq!(pages(&town), 0);
    assert_eq!(asked(&town.close())["/p/1"], 3);
}

/// A crawl with `--only html` kept the PDF that another crawl had fetched.
#[test]
fn a_page_from_the_cache_has_the_content_type_that_is_wanted() {
    let pdf = Answer { content_type: Some("application/pdf".to_owned()), ..Answer::to("/p/1") };
    let mut scene = Scene::plain(1, 4, 3, 500);
    scene.hosts[0].answers = vec![pdf];
    let mut town = town(scene);
    let url = town.url(0, "/");
    let args = |into| [url.as_str(), "--policy", "p.toml", "--no-sitemaps", "--into", into];
    town.crawl(&args("a.db")).ends(0);
    town.crawl(&[&args("b.db")[..], &["--only", "html"]].concat()).ends(0);
    let db = town.db("b.db");
    let unwanted = "SELECT error || ' ' || (body IS NULL) FROM pages WHERE url LIKE '%/p/1'";
    assert_eq!(texts(&db, unwanted), ["content_type 1"]);
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE decision = 'cached'"), 3);
    assert_eq!(asked(&town.close())["/p/1"], 1);
}

#[test]
fn a_full_cache_says_so_and_keeps_the_newest() {
    let mut town = town(Scene::plain(1, 120, 30, 20_000));
    let url = town.url(0, "/");
    let args = |into| {
        [url.as_str(), "--policy", "p.toml", "--delay", "0s", "--no-sitemaps", "--into", into]
    };
    let ran = town.crawl(&[&args("a.db")[..], &["--cache-max", "1MiB", "--json"]].concat()).ends(0);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert!(report["warnings"][0].as_str().unwrap().contains("the page cache is full"), "{report}");
    let shown = town.run(&["cache", "show", "--json"]).ends(0);
    let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
    let (bytes, evicted) = (shown["bytes"].as_u64().unwrap(), shown["evicted"].as_u64().unwrap());
    assert!(bytes < 2 << 20 && evicted > 0 && shown["pages"].as_u64().unwrap() > 10, "{shown}");
    let refused = town.crawl(&[&args("b.db")[..], &["--cache-max", "1KiB"]].concat()).ends(2);
    assert!(refused.err.contains("at least 1MiB"), "{}", refused.err);
    town.close();
}

/// RFC 5861 for somebody who waits: the stale page is there although the site has not answered, and says that it is stale.
#[test]
fn whoever_waits_for_one_page_gets_a_stale_one_at_once() {
    let mut scene = Scene::plain(1, 3, 2, 500);
    let control = Some("max-age=0, stale-while-revalidate=600".to_owned());
    let stale = Answer { cache_control: control, ..Answer::to("/p/1") };
    let fresh = Answer { cache_control: Some("max-age=600".into()), ..Answer::to("/p/1") };
    scene.hosts[0].answers = vec![stale.first(1), fresh.behind("again")];
    let mut town = town(scene);
    let url = town.url(0, "/p/1");
    let get = |more: &[&str]| {
        let args = ["get", &url, "--allow-net", "127.0.0.0/8", "--policy", "p.toml"];
        [&args[..], more].concat().iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>()
    };
    let run = |more: &[&str]| town.run(&get(more).iter().map(String::as_str).collect::<Vec<_>>());
    let first = run(&[]).ends(0);
    assert!(first.out.contains("<html") && first.err.contains(": fetched"), "{}", first.err);
    let args = get(&["--json"]);
    let mut waits = town.program(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let mut waits = waits.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut shown = [0; 4096];
    let mut out = waits.stdout.take().unwrap();
    let some = out.read(&mut shown).unwrap();
    // The site has not answered yet: its gate is shut.
    assert!(String::from_utf8_lossy(&shown[..some]).contains("\"source\": \"stale\""));
    town.sites.as_ref().unwrap().open("again");
    let ended = waits.wait_with_output().unwrap();
    assert!(ended.status.success());
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(said.contains("stale; asked for again meanwhile"), "{said}");
    let third = run(&["--json"]).ends(0);
    assert!(third.out.contains("\"source\": \"shared\""), "{}", third.out);
    assert_eq!(asked(&town.close())["/p/1"], 2);
}

/// Where every page was in the cache, nothing of the site's sitemaps was looked at: the second crawl had two rows of five.
#[test]
fn a_crawl_from_the_cache_reads_sitemaps_too() {
    let listed = |n: u8| format!("/listed/{n}");
    let map = Sitemap {
        path: "/sitemap.xml".into(),
        locs: (0..3).map(listed).collect(),
        ..Sitemap::default()
    };
    let mut host = Host::named("a.test").pages(1, 0, 300).sitemap(map);
    for n in 0..3 {
        host = host.says(Answer::to(&listed(n)));
    }
    let mut town = town(Scene { hosts: vec![host], ..Scene::default() });
    let url = town.url(0, "/");
    for into in ["first.db", "second.db"] {
        town.crawl(&[&url, "--policy", "p.toml", "--into", into]).ends(0);
        let rows = "SELECT count(*) FROM pages WHERE kind = 'page'";
        assert_eq!(number(&town.db(into), rows), 4, "{into}: the home page and what is listed");
    }
    let asked = asked(&town.close());
    assert!(asked.values().all(|times| *times == 1), "{asked:?}");
}
