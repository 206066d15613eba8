//! The target table and its rows.

use std::collections::BTreeMap;

use curtsy_lab::sites::{Answer, Body, Host, Scene};
use serde_json::{Value as Json, json};

use crate::harness::{QUICK, Town, crawl_sql, list, micros};
use crate::raw::Raw;

fn town(host: Host) -> Town {
    Town::new(Scene { seed: 1, hosts: vec![host], ..Scene::default() }, QUICK)
}

/// The columns of the requirements in their order, then further ones.
const COLUMNS: [(&str, &str); 20] = [
    ("url", "VARCHAR"),
    ("surt_key", "VARCHAR"),
    ("http_status", "INTEGER"),
    ("body", "VARCHAR"),
    ("content_type", "VARCHAR"),
    ("crawl_time", "TIMESTAMP"),
    ("error", "VARCHAR"),
    ("etag", "VARCHAR"),
    ("last_modified", "VARCHAR"),
    ("content_hash", "VARCHAR"),
    ("final_url", "VARCHAR"),
    ("redirect_count", "INTEGER"),
    ("fetched_at", "TIMESTAMP"),
    ("title", "VARCHAR"),
    ("links", "VARCHAR[]"),
    ("robots_rule", "VARCHAR"),
    ("delay_by", "VARCHAR"),
    ("decision", "VARCHAR"),
    ("reason", "VARCHAR"),
    ("source", "VARCHAR"),
];

/// "Auto-created if not exists", "Schema includes: url, surt_key, http_status, body, content_type,
/// crawl_time, error, etag, last_modified, content_hash, final_url, redirect_count".
#[test]
fn the_table_is_made_with_exactly_its_columns() {
    let town = town(Host::named("h.test").pages(2, 1, 500));
    let duck = town.duck();
    duck.crawl(&list([town.url(0, "/p/1")]), "");
    let found = "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'pages' ORDER BY column_index";
    assert_eq!(json!(duck.rows(found)), json!(COLUMNS));
    // The function has the same columns.
    let one = town.url(0, "/p/1");
    let rows = duck.run(&format!("FROM crawl('{one}')"));
    assert_eq!(rows.columns, COLUMNS.map(|(name, _)| name));
    assert_eq!(rows.types, COLUMNS.map(|(_, kind)| kind));
}

/// "Redirect tracking (`final_url`, `redirect_count`)", "ETag and Last-Modified header capture".
#[test]
fn a_row_has_what_the_answer_said() {
    const MODIFIED: &str = "Tue, 06 Oct 2026 07:08:09 GMT";
    let mut answer = Answer::page("/new", "Hello", "", &["/a", "/b"]);
    answer.etag = Some("\"v1\"".to_owned());
    answer.last_modified = Some(MODIFIED.to_owned());
    let host = Host::named("h.test")
        .pages(1, 1, 500)
        .says_unlinked(Answer::moved("/old", 301, "/older"))
        .says_unlinked(Answer::moved("/older", 302, "/new"))
        .says_unlinked(answer);
    let mut town = town(host);
    let duck = town.duck();
    duck.crawl(&list([town.url(0, "/old")]), "");
    let row = duck.rows("SELECT url, surt_key, http_status, content_type, error, etag, last_modified, final_url, redirect_count, title, links, decision FROM pages");
    let url = |path: &str| town.url(0, path);
    let surt = duck.one(&format!("SELECT surt('{}')", url("/old")));
    assert_eq!(
        json!(row),
        json!([[
            url("/old"),
            surt,
            200,
            "text/html; charset=utf-8",
            null,
            "\"v1\"",
            MODIFIED,
            url("/new"),
            2,
            "Hello",
            [url("/a"), url("/b")],
            "fetched"
        ]])
    );
    assert_eq!(duck.one("SELECT content_hash = sha256(body) FROM pages"), Json::Bool(true));
    town.assert_clean();
}

/// "Server Date header parsing for accurate timestamps": within five minutes the server's clock
/// counts, else our own.
#[test]
fn crawl_time_is_the_servers_if_its_clock_is_sane() {
    let town = Town::empty(QUICK);
    let duck = town.duck();
    let date = |ahead: i64| {
        let at = micros() as i64 + ahead * 1_000_000;
        duck.texts(&format!("SELECT strftime(make_timestamp({at}), '%a, %d %b %Y %H:%M:%S GMT')"))
            .remove(0)
    };
    let (near, far) = (date(120), date(-3600 * 24));
    let lines = move |path: &str| match path {
        "/near" => format!("Date: {near}\r\n"),
        _ => format!("Date: {far}\r\n"),
    };
    let site = Raw::answering(lines, "<p>hello</p>");
    duck.crawl(&list([site.url("/near"), site.url("/far")]), "");
    let off = "SELECT round(epoch(crawl_time) - epoch(fetched_at))::INT FROM pages ORDER BY url";
    let off: Vec<i64> = duck.rows(off).iter().map(|row| row[0].as_i64().unwrap()).collect();
    assert_eq!(off[0], 0, "a clock that is a day behind says nothing");
    assert!((115..=121).contains(&off[1]), "two minutes ahead: {off:?}");
}

/// "Updates via `update_stale = true` based on sitemap lastmod/changefreq": pages that may have
/// changed are asked for, with what we know of them.
#[test]
fn update_stale_asks_for_what_may_have_changed_and_changes_rows_in_place() {
    let entry = |(path, more): &(&str, &str)| {
        format!("<url><loc>http://h.test:{{port}}{path}</loc>{more}</url>")
    };
    let old = "<lastmod>2020-01-01</lastmod>";
    let listed = [
        ("/new", "<lastmod>2099-01-01</lastmod>"),
        ("/often", "<changefreq>always</changefreq>"),
        ("/rare/0", "<changefreq>yearly</changefreq>"),
        ("/rare/1", old),
        ("/rare/2", old),
        ("/rare/3", old),
        ("/rare/4", old),
        ("/rare/5", old),
    ];
    let listed: String = listed.iter().map(entry).collect();
    let sitemap =
        format!("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{listed}</urlset>");
    let page = |path: &str| {
        let mut answer = Answer::page(path, "Same", "", &[]);
        answer.etag = Some(format!("\"{path}\""));
        answer
    };
    let host = Host::named("h.test")
        .says_unlinked(Answer::to("/sitemap.xml").body(Body::Text(sitemap)))
        .says_unlinked(page("/"))
        .says_unlinked(Answer::page("/new", "Before", "", &[]).first(1))
        .says_unlinked(Answer::page("/new", "After", "", &[]))
        .says_unlinked(page("/often"))
        .says_unlinked(page("/rare/*"))
        .says_unlinked(page("/unlisted"));
    let mut town = town(host);
    let duck = town.duck();
    let served = town.sites.as_ref().unwrap().hosts()[0].clone();
    duck.run(&format!("SET curtsy_resolve = 'h.test={}'", served.address.ip()));
    let home = served.url.trim_end_matches('/').to_owned();
    duck.crawl(&list([format!("{home}/"), format!("{home}/unlisted")]), "");
    assert_eq!(duck.number("SELECT count(*) FROM pages WHERE http_status = 200"), 10);
    duck.run("ALTER TABLE pages ADD COLUMN note VARCHAR; UPDATE pages SET note = 'mine'");
    let before = duck.rows("SELECT url, fetched_at FROM pages ORDER BY url");
    let asked_before = town.log().len();

    let told = duck.crawl(&list([format!("{home}/")]), "update_stale true, delay '200ms'");
    assert_eq!(told["rows_inserted"], 0);
    let log = town.log();
    let pages = log[asked_before..].iter().filter(|x| !x.target.starts_with("/sitemap"));
    let (rare, asked): (Vec<_>, Vec<_>) = pages.partition(|x| x.target.starts_with("/rare/"));
    let asked: BTreeMap<&str, Option<u16>> = asked.iter().map(|x| (&*x.target, x.status)).collect();
    // A page in no sitemap is revalidated, and so is a page that may have changed.
    let expected = [("/", 304), ("/new", 200), ("/often", 304), ("/unlisted", 304)];
    assert_eq!(asked, expected.map(|(path, status)| (path, Some(status))).into());
    // By its lastmod or changefreq the rest is as it was; one may be on its way before the sitemap
    // has been read.
    assert!(rare.len() <= 2 && rare.iter().all(|x| x.status == Some(304)), "{rare:?}");

    assert_eq!(duck.number("SELECT count(*) FROM pages"), 10, "in place");
    assert_eq!(duck.texts("SELECT title FROM pages WHERE url LIKE '%/new'"), ["After"]);
    assert_eq!(duck.texts("SELECT DISTINCT note FROM pages"), ["mine"], "not our column");
    assert_eq!(
        duck.number("SELECT count(*) FROM pages WHERE body IS NULL OR http_status <> 200"),
        0
    );
    let after = duck.rows("SELECT url, fetched_at FROM pages ORDER BY url");
    let changed = before.iter().zip(&after).filter(|(a, b)| a != b).map(|(a, _)| &a[0]);
    let changed = changed.map(|url| url.as_str().unwrap().replace(&home, ""));
    let changed: Vec<_> = changed.filter(|path| !path.starts_with("/rare/")).collect();
    assert_eq!(changed, ["/", "/new", "/often", "/unlisted"]);
    town.assert_clean();
}

/// Without `update_stale`, pages of the table are not requested again.
#[test]
fn the_same_crawl_again_asks_for_nothing() {
    let town = town(Host::named("h.test").pages(6, 1, 500));
    let duck = town.duck();
    duck.crawl(&town.pages(0, 1, 4), "");
    let asked = town.asked(0).len();
    let told = duck.crawl(&town.pages(0, 1, 4), "");
    assert_eq!((&told["rows_inserted"], &told["requests"]), (&json!(0), &json!(0)));
    assert_eq!(town.asked(0).len(), asked);
    let told = duck.crawl(&town.pages(0, 1, 6), "");
    assert_eq!((&told["rows_inserted"], &told["fetched"]), (&json!(2), &json!(2)));
    assert_eq!(duck.number("SELECT count(*) FROM pages"), 5);
}

/// "Results batched (default 100 rows) before INSERT", "Per-thread local batching (20 rows) with
/// periodic flush": what has come is there for others while the crawl goes on, and all of it at the
/// end.
#[test]
fn rows_come_in_batches_while_the_crawl_goes_on() {
    let quick = QUICK.replace("20ms", "2ms");
    let mut town = Town::new(Scene::plain(4, 120, 3, 500), &quick);
    let duck = town.duck();
    let beside = duck.beside("b", &town);
    let urls = list(
        (0..4)
            .flat_map(|host| (1..120).map(move |n| (host, n)))
            .map(|(host, n)| town.url(host, &format!("/p/{n}"))),
    );
    let crawl = duck.start(&crawl_sql(&urls, "threads 4"));
    let (mut seen, mut last) = (Vec::new(), 0);
    while last < 4 * 119 {
        if let Ok(rows) = beside.start("SELECT count(*) FROM pages").wait() {
            let now = rows.rows[0][0].as_i64().unwrap();
            assert!(now >= last, "rows don't go away");
            if now > last {
                seen.push(now - last);
            }
            last = now;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    crawl.wait().unwrap();
    assert!(seen.len() >= 4, "not all at once: {seen:?}");
    assert_eq!(duck.number("SELECT count(DISTINCT url) FROM pages"), 4 * 119);
    town.assert_clean();
}
