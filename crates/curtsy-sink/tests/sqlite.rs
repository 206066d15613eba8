//! Rows in a crawl's file: the changes by a refetch, a refusal or a 304, and concurrent readers.
#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

mod sample;

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{
    AskKind, Confidence, DelayBy, Finding, Findings, Gate, Outcome, PaceReason, Problem, Reason,
    RobotsId, RobotsReason, Verdict,
};
use curtsy_core::url::{CrawlUrl, HostKey};
use curtsy_engine::{
    Batch, Cache, CachedPage, Document, Ending, Fetched, Head, Page, RobotsFile, Row, Sink, Store,
    UrlRecord,
};
use curtsy_parse::sitemap::{self, Sitemap};
use curtsy_sink::{Forget, SqliteOptions, SqliteSink};
use curtsy_store::MachineStore;
use curtsy_testkit::services::could_not_run;
use rusqlite::Connection;

use sample::{Folder, START, block, page_of, row};

fn open(folder: &Folder) -> SqliteSink {
    SqliteSink::open(&folder.file("crawl.db"), SqliteOptions::default()).unwrap()
}

fn keep(sink: &SqliteSink, rows: Vec<Row>) {
    block(sink.write(&Batch::of_rows(rows))).unwrap();
}

/// Returns one row of a query, with bars between its columns.
fn ask(folder: &Folder, sql: &str) -> String {
    let db = Connection::open(folder.file("crawl.db")).unwrap();
    let mut statement = db.prepare(sql).unwrap();
    let count = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let cells = (0..count).map(|at| match row.get_ref(at).unwrap() {
            rusqlite::types::ValueRef::Null => "-".to_owned(),
            rusqlite::types::ValueRef::Integer(n) => n.to_string(),
            rusqlite::types::ValueRef::Real(n) => n.to_string(),
            rusqlite::types::ValueRef::Text(t) | rusqlite::types::ValueRef::Blob(t) => {
                String::from_utf8_lossy(t).into_owned()
            }
        });
        lines.push(cells.collect::<Vec<_>>().join("|"));
    }
    lines.join("\n")
}

const SHOWN: &str = "SELECT http_status, error, decision, gate, body, etag, tries FROM pages";

#[test]
fn what_brings_no_answer_takes_none_away() {
    let folder = Folder::new("no-answer");
    let sink = open(&folder);
    let url = "http://a.test/1";
    let first = row(url, 10, Some(page_of("<a href=/2>two</a>")));
    keep(&sink, vec![first.clone()]);
    let good = "200|-|fetched|-|<a href=/2>two</a>|\"e\"|0";
    assert_eq!(ask(&folder, SHOWN), good);
    let refused = Row { ending: Ending::Refused(Gate::Budget), ..row(url, 20, None) };
    keep(&sink, vec![refused]);
    assert_eq!(ask(&folder, SHOWN), "200|-|refused|budget|<a href=/2>two</a>|\"e\"|0");
    let failed = Ending::Dead(Outcome::Failed(Problem::WholeTimeout));
    keep(&sink, vec![Row { ending: failed, tries: 3, ..row(url, 30, None) }]);
    assert_eq!(ask(&folder, SHOWN), "-|whole_timeout|dead|-|<a href=/2>two</a>|\"e\"|3");
    keep(
        &sink,
        vec![Row { ending: Ending::Cached, ..row(url, 40, Some(page_of("<a href=/2>two</a>"))) }],
    );
    assert_eq!(ask(&folder, SHOWN), "200|-|cached|-|<a href=/2>two</a>|\"e\"|0");
    assert_eq!(
        ask(&folder, "SELECT group_concat(decision) FROM decisions"),
        "fetched,refused,dead,cached"
    );
}

#[test]
fn a_held_page_is_found_before_and_after_its_row() {
    let folder = Folder::new("held");
    let sink = open(&folder);
    let row = row("http://a.test/1", 10, Some(page_of("hello")));
    let page = row.page.clone().unwrap();
    let kept = page.kept.clone().unwrap();
    let fetched = curtsy_engine::Fetched { body: page.body.clone().unwrap() };
    let asked = UrlRecord::page(row.final_url.clone(), 0);
    block(sink.put(&asked, kept.clone(), Some((&page.head, &fetched))));
    for _ in 0..3 {
        assert_eq!(block(sink.get(row.final_url.key())), Some(kept.clone()));
        let (head, body) = block(sink.page(row.final_url.key())).unwrap();
        assert_eq!((head, body), (page.head.clone(), fetched.clone()));
        keep(&sink, vec![row.clone()]);
    }
    drop(sink);
    let sink = open(&folder);
    assert_eq!(block(sink.get(row.final_url.key())), Some(kept.clone()));
    assert_eq!(block(sink.page(row.final_url.key())).unwrap().1, fetched);
}

#[test]
fn a_confirmation_keeps_the_content_and_moves_the_freshness() {
    let folder = Folder::new("confirmed");
    let sink = open(&folder);
    let url = "http://a.test/1";
    keep(&sink, vec![row(url, 10, Some(page_of("first")))]);
    let confirmed = Outcome::Answered { status: 304, retry_after: None, friction: None };
    let later = START + Duration::from_secs(9_000);
    let kept = CachedPage { fresh_until: later, etag: Some("\"f\"".into()), last_modified: None };
    // With a 304 the engine gives the held page, with its first head.
    let page = Page { kept: Some(kept.clone()), peer: None, ..page_of("first") };
    let again = Row { ending: Ending::Fetched(confirmed), ..row(url, 20, Some(page)) };
    let key = again.url.key();
    keep(&sink, vec![again]);
    assert_eq!(ask(&folder, SHOWN), "200|-|confirmed|-|first|\"f\"|0");
    assert_eq!(block(sink.get(key)), Some(kept));
    let moments = "SELECT fetched_at, decided_at, peer FROM pages";
    let expected = "2027-01-01T00:00:10.000000Z|2027-01-01T00:00:20.000000Z|127.0.0.1";
    assert_eq!(ask(&folder, moments), expected);
    let told = "SELECT decision, http_status FROM decisions ORDER BY at";
    assert_eq!(ask(&folder, told), "fetched|200\nconfirmed|304");
    // A 304 for a page that is not held says nothing about its content.
    let head = Arc::new(Head { status: 304, ..Head::default() });
    let empty = Page { head, body: None, kept: None, ..page_of("") };
    keep(&sink, vec![Row { ending: Ending::Fetched(confirmed), ..row(url, 30, Some(empty)) }]);
    assert_eq!(ask(&folder, "SELECT body, fresh_until FROM pages"), "first|-");
}

#[test]
fn a_page_is_found_under_the_url_at_which_it_was_found() {
    let folder = Folder::new("moved");
    let sink = open(&folder);
    let target = CrawlUrl::parse("http://a.test/new").unwrap();
    let moved = |from: &str, secs, body| Row {
        final_url: target.clone(),
        redirects: 1,
        ..row(from, secs, Some(page_of(body)))
    };
    let first = moved("http://a.test/old", 10, "moved");
    let origin = first.url.key();
    keep(&sink, vec![first]);
    for sink in [sink, open(&folder)] {
        assert!(block(sink.get(target.key())).is_some());
        assert_eq!(block(sink.page(target.key())).unwrap().1.body, "moved");
        assert_eq!(block(sink.get(origin)), None, "that URL has no page of its own");
    }
    let sink = open(&folder);
    // Used for another URL that redirects there: that row has the content too.
    keep(&sink, vec![Row { ending: Ending::Cached, ..moved("http://a.test/older", 20, "moved") }]);
    let told = "SELECT url, redirect_count, body, decision FROM pages ORDER BY number";
    let expected = "http://a.test/old|1|moved|fetched\nhttp://a.test/older|1|moved|cached";
    assert_eq!(ask(&folder, told), expected);
}

#[test]
fn what_waits_for_its_row_has_a_bound() {
    let folder = Folder::new("bound");
    let options =
        SqliteOptions { pages_held: 3, bytes_held: 1 << 20, robots: None, body_max: None };
    let sink = SqliteSink::open(&folder.file("crawl.db"), options).unwrap();
    let page = page_of("hello");
    let fetched = Fetched { body: page.body.clone().unwrap() };
    let url = |n: u32| CrawlUrl::parse(&format!("http://a.test/{n}")).unwrap();
    let key = |n| url(n).key();
    let asked = |n| UrlRecord::page(url(n), 0);
    for n in 0..5 {
        block(sink.put(&asked(n), page.kept.clone().unwrap(), Some((&page.head, &fetched))));
    }
    let held: Vec<bool> = (0..5).map(|n| block(sink.get(key(n))).is_some()).collect();
    assert_eq!(held, [false, false, true, true, true], "the oldest went");
    let huge = Fetched { body: vec![0; 2 << 20].into() };
    block(sink.put(&asked(9), page.kept.clone().unwrap(), Some((&page.head, &huge))));
    assert!(block(sink.get(key(9))).is_none() && block(sink.get(key(4))).is_none());
    // Confirmed without a response: the content stays.
    block(sink.put(&asked(1), page.kept.clone().unwrap(), Some((&page.head, &fetched))));
    block(sink.put(&asked(1), page.kept.clone().unwrap(), None));
    assert_eq!(block(sink.page(key(1))), Some((page.head.clone(), fetched)));
}

#[test]
fn a_sitemap_leaves_what_it_lists() {
    let folder = Folder::new("sitemap");
    let sink = open(&folder);
    let url = CrawlUrl::parse("http://a.test/sitemap.xml").unwrap();
    let entries: String = (0..2_500)
        .map(|n| format!("<url><loc>http://a.test/{n}</loc><lastmod>2024-05-06</lastmod><changefreq>weekly</changefreq><priority>0.8</priority></url>"))
        .collect();
    let xml = format!("<urlset>{entries}</urlset>");
    let sitemap =
        Sitemap::read(&url, None, xml.as_bytes(), &sitemap::SitemapLimits::default(), START);
    let document = Document { sitemap: Some(sitemap), ..Document::default() };
    let page = Page { document, body: None, ..page_of("") };
    let row = Row { kind: AskKind::Sitemap, ..row(url.as_str(), 10, Some(page)) };
    keep(&sink, vec![row.clone()]);
    keep(&sink, vec![row]);
    let told =
        "SELECT url, sitemap, lastmod, changefreq, round(priority, 1) FROM sitemap_urls LIMIT 1";
    let expected =
        "http://a.test/0|http://a.test/sitemap.xml|2024-05-06T00:00:00.000000Z|weekly|0.8";
    assert_eq!(ask(&folder, told), expected);
    assert_eq!(ask(&folder, "SELECT count(*) FROM sitemap_urls"), "2500");
    assert_eq!(ask(&folder, "SELECT kind, sitemap_count FROM pages"), "sitemap|2500");
}

#[test]
fn crawl_time_is_the_servers_if_it_is_close() {
    let folder = Folder::new("crawl-time");
    let sink = open(&folder);
    let dated = |date: &str| {
        let page = page_of("x");
        let head = Head { date: Some(date.into()), ..Head::clone(&page.head) };
        Page { head: Arc::new(head), ..page }
    };
    let dates = [
        ("Fri, 01 Jan 2027 00:04:59 GMT", "2027-01-01T00:04:59.000000Z"),
        ("Thu, 31 Dec 2026 23:55:00 GMT", "2026-12-31T23:55:00.000000Z"),
        ("Fri, 01 Jan 2027 00:05:01 GMT", "2027-01-01T00:00:00.000000Z"),
        ("Thu, 31 Dec 2026 23:54:59 GMT", "2027-01-01T00:00:00.000000Z"),
        ("soon", "2027-01-01T00:00:00.000000Z"),
    ];
    for (n, (date, expected)) in dates.iter().enumerate() {
        keep(&sink, vec![row(&format!("http://a.test/{n}"), 0, Some(dated(date)))]);
        let told = format!("SELECT crawl_time FROM pages WHERE url = 'http://a.test/{n}'");
        assert_eq!(ask(&folder, &told), *expected, "{date}");
    }
}

#[test]
fn the_rule_that_decided_is_in_the_row() {
    let folder = Folder::new("rule");
    let text = RobotsFile {
        text: b"User-agent: *\nCrawl-delay: 2\nDisallow: /private # ours\n".to_vec(),
        etag: None,
        last_modified: None,
    };
    let text = Arc::new(text);
    let file = text.id();
    let texts = move |id: RobotsId| (id == file).then(|| Arc::clone(&text));
    let options = SqliteOptions { robots: Some(Arc::new(texts)), ..SqliteOptions::default() };
    let sink = SqliteSink::open(&folder.file("crawl.db"), options).unwrap();
    let mut findings = Findings::CLEAR;
    let forbids = Reason::Robots(RobotsReason::Forbids {
        file,
        line: Some(3),
        standing: Confidence::Current,
    });
    findings.set(Gate::Robots, Finding::new(Verdict::Never, forbids));
    let delay = Reason::Pace(PaceReason::Delay { micros: 2_000_000, by: DelayBy::CrawlDelay });
    findings.set(Gate::Pace, Finding::new(Verdict::Go, delay));
    let ending = Ending::Refused(Gate::Robots);
    keep(&sink, vec![Row { ending, findings, ..row("http://a.test/private/1", 0, None) }]);
    let told = "SELECT robots_rule, robots_line, delay_by, delay_ms, decision, gate FROM pages";
    assert_eq!(ask(&folder, told), "Disallow: /private|3|robots|2000|refused|robots");
    let told = "SELECT host, pages, refused, delay_ms, delay_by FROM hosts";
    assert_eq!(ask(&folder, told), "a.test|1|1|2000|robots");
}

#[test]
fn any_tool_reads_the_file_while_it_is_written() {
    let folder = Folder::new("readers");
    let sink = open(&folder);
    keep(&sink, vec![row("http://a.test/1", 10, Some(page_of("<a href=/2>two</a>")))]);
    let reader = Connection::open(folder.file("crawl.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM pages").unwrap();
    keep(&sink, vec![row("http://a.test/2", 20, Some(page_of("two")))]);
    let count = |db: &Connection| {
        db.query_row("SELECT count(*) FROM pages", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(count(&reader), 1, "as it was when it began to read");
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(count(&reader), 2);
    let script = "import sqlite3, sys
db = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True)
print(db.execute('select url, http_status, length(body) from pages').fetchall(), db.execute('select * from links').fetchall())";
    let path = folder.file("crawl.db");
    match Command::new("python3").arg("-c").arg(script).arg(&path).output() {
        Ok(ran) => assert_eq!(
            String::from_utf8_lossy(&ran.stdout).trim(),
            "[('http://a.test/1', 200, 18), ('http://a.test/2', 200, 3)] [('http://a.test/1', 'http://a.test/2', 'link', 0)]",
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        ),
        Err(error) => could_not_run(&format!("`python3`: {error}")),
    }
}

#[test]
fn what_is_forgotten_is_gone() {
    let folder = Folder::new("forget");
    let sink = open(&folder);
    let urls = ["http://a.test/1", "http://a.test/2", "https://b.test/1", "http://c.test/1"];
    for url in ["http://a.test:81/1", "https://a.test:81/2", "http://a.test:811/1"] {
        keep(&sink, vec![row(url, 0, Some(page_of("x")))]);
    }
    let port = |port| Forget::Port(HostKey::parse("a.test").unwrap(), port);
    assert_eq!(sink.forget(port(81)).unwrap(), 2);
    assert_eq!((sink.forget(port(81)).unwrap(), sink.forget(port(811)).unwrap()), (0, 1));
    for (n, url) in urls.iter().enumerate() {
        let secs = 10 * n as u64;
        keep(&sink, vec![row(url, secs, Some(page_of("x")))]);
        keep(&sink, vec![row(url, secs + 1, Some(page_of("y")))]);
    }
    let left = || ask(&folder, "SELECT url FROM pages ORDER BY number").replace('\n', " ");
    let one = CrawlUrl::parse(urls[0]).unwrap();
    assert_eq!(sink.forget(Forget::Url(one.clone())).unwrap(), 1);
    assert_eq!(left(), "http://a.test/2 https://b.test/1 http://c.test/1");
    assert_eq!(block(sink.get(one.key())), None);
    assert_eq!(sink.forget(Forget::Host(HostKey::parse("b.test").unwrap())).unwrap(), 1);
    assert_eq!(left(), "http://a.test/2 http://c.test/1");
    assert_eq!(sink.forget(Forget::Before(START + Duration::from_secs(20))).unwrap(), 1);
    assert_eq!(left(), "http://c.test/1");
    assert_eq!(
        ask(&folder, "SELECT url FROM decisions ORDER BY at"),
        "http://c.test/1\nhttp://c.test/1"
    );
    keep(&sink, vec![row(urls[0], 99, Some(page_of("z")))]);
    assert!(block(sink.get(one.key())).is_some(), "it may come back");
}

/// The frontier has its tables in the same file, and its own connection. Both write concurrently.
#[test]
fn the_file_is_shared_with_the_frontier() {
    let folder = Folder::new("shared");
    let (ledger, path) = (folder.file("hosts.db"), folder.file("crawl.db"));
    let sink = open(&folder);
    let store = MachineStore::open(&ledger, &path, curtsy_store::Options::default()).unwrap();
    std::thread::scope(|scope| {
        let sink = sink.clone();
        scope.spawn(move || {
            for n in 0..200 {
                keep(&sink, vec![row(&format!("http://a.test/{n}"), n, Some(page_of("x")))]);
            }
        });
        let handle = store.handle();
        for n in 0..200 {
            let url = CrawlUrl::parse(&format!("http://b.test/{n}")).unwrap();
            block(handle.offer(&[UrlRecord::page(url, 0)])).unwrap();
        }
    });
    assert_eq!((store.queued(), store.trouble()), (200, None));
    assert_eq!(ask(&folder, "SELECT count(*) FROM pages"), "200");
    drop((sink, store));
    open(&folder);
    assert_eq!(
        MachineStore::open(&ledger, &path, curtsy_store::Options::default()).unwrap().queued(),
        200
    );
    assert_eq!(ask(&folder, "PRAGMA integrity_check"), "ok");
}
