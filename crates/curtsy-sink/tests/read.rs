//! What a crawl's file says afterwards: outcomes, broken links and runs; and what it never
//! contains.

mod sample;

use std::time::Duration;

use curtsy_core::evidence::{DiscoverySource, RunEvidence, RunFigures};
use curtsy_core::host::{
    AskKind, BackoffReason, Finding, Findings, Friction, Gate, Outcome, Problem, Reason,
    RequestKind, RobotsReason, Verdict,
};
use curtsy_core::policy::Mode;
use curtsy_core::url::CrawlUrl;
use curtsy_engine::{Batch, Cache, Ending, Fetched, Page, Row, Sink, Step, Then};
use curtsy_sink::read::PagesFile;
use curtsy_sink::standing::LinkStanding;
use curtsy_sink::{CsvSink, FileOptions, JsonlSink, RunEnd, RunStart, SqliteOptions, SqliteSink};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use sample::{Folder, START, block, page_of, row};

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

fn answered(status: u16) -> Outcome {
    Outcome::Answered { status, retry_after: None, friction: None }
}

fn step(of: &str, asked: &str, kind: RequestKind, secs: u64, outcome: Outcome, then: Then) -> Step {
    let (id, url) = (url(of).key(), url(asked));
    Step {
        id,
        url,
        kind,
        findings: Findings::CLEAR,
        crawl_delay: None,
        outcome,
        then,
        at: START + Duration::from_secs(secs),
    }
}

fn begin(sink: &SqliteSink, trace: &str) {
    let run = RunStart {
        anew: false,
        trace_id: trace.into(),
        at: START,
        command: "curtsy crawl http://a.test/".into(),
        policy: "preset = \"careful\"".into(),
        policy_hash: "00ff".into(),
    };
    sink.begin_run(run).unwrap();
}

#[test]
fn why_a_url_ended_as_it_did() {
    let folder = Folder::new("why");
    let path = folder.file("crawl.db");
    let sink = SqliteSink::open(&path, SqliteOptions::default()).unwrap();
    begin(&sink, "run-1");
    let page = "http://a.test/old";
    let wait = Outcome::Answered {
        status: 503,
        retry_after: Some(Duration::from_secs(30)),
        friction: Some(Friction::Unusual),
    };
    let retry = Then::Retry(START + Duration::from_secs(32));
    let steps = vec![
        step(page, "http://a.test/robots.txt", RequestKind::Robots, 1, answered(404), Then::Decide),
        step(page, page, RequestKind::Page, 2, wait, retry),
        step(
            page,
            page,
            RequestKind::Page,
            33,
            answered(301),
            Then::Follow(url("http://b.test/new")),
        ),
    ];
    block(sink.write(&Batch { rows: Vec::new(), steps })).unwrap();
    let mut findings = Findings::CLEAR;
    findings.set(Gate::Robots, Finding::new(Verdict::Go, Reason::Robots(RobotsReason::Absent)));
    findings.set(
        Gate::Backoff,
        Finding::new(Verdict::Go, Reason::Backoff(BackoffReason::Retry { tries: 1 })),
    );
    let ended = Row {
        final_url: url("http://b.test/new"),
        redirects: 1,
        tries: 1,
        findings,
        ..row(page, 35, Some(page_of("<title>New</title>")))
    };
    block(sink.write(&Batch::of_rows(vec![ended]))).unwrap();

    let file = PagesFile::open(&path).unwrap();
    let told: Vec<_> = file
        .decisions(&url(page))
        .unwrap()
        .into_iter()
        .map(|d| (d.kind, d.decision, d.url, d.http_status))
        .collect();
    let expected = [
        ("robots", "decide", "http://a.test/robots.txt", 404),
        ("page", "retry", page, 503),
        ("page", "follow", page, 301),
        ("page", "fetched", "http://b.test/new", 200),
    ];
    let expected = expected.map(|(k, d, u, s)| (k.into(), d.into(), u.into(), Some(s)));
    assert_eq!(told, expected);
    let decisions = file.decisions(&url(page)).unwrap();
    assert_eq!(decisions[1].not_before, Some(START + Duration::from_secs(32)));
    assert_eq!(decisions[1].retry_after, Some(Duration::from_secs(30)));
    assert_eq!(decisions[1].friction.as_deref(), Some("unusual"));
    assert_eq!(decisions[2].follows.as_deref(), Some("http://b.test/new"));
    assert_eq!(decisions[3].findings, findings, "the evidence comes back whole");
    let row = file.row(&url(page)).unwrap().unwrap();
    assert_eq!(
        (row.final_url.as_str(), row.redirect_count, row.tries),
        ("http://b.test/new", 1, 1)
    );
    assert_eq!(row.title.as_deref(), Some("New"));
    assert_eq!(file.body(&url(page)).unwrap().as_deref(), Some(&b"<title>New</title>"[..]));
    assert!(file.row(&url("http://a.test/nowhere")).unwrap().is_none());
    assert_eq!(file.decisions(&url("http://a.test/nowhere")).unwrap().len(), 0);
}

#[test]
fn targets_of_links_and_the_pages_that_have_them() {
    let folder = Folder::new("broken");
    let path = folder.file("crawl.db");
    let sink = SqliteSink::open(&path, SqliteOptions::default()).unwrap();
    let home = "<a href=/gone>1</a><a href=/fine>2</a><a href=/down>3</a><a href=/no>4</a><iframe src=/gone></iframe>";
    let rows = vec![
        row("http://a.test/", 1, Some(page_of(home))),
        row("http://a.test/fine", 2, Some(page_of("<a href=/gone>1</a>"))),
        Row { ending: Ending::Dead(answered(404)), ..row("http://a.test/gone", 3, None) },
        Row {
            ending: Ending::Dead(Outcome::Failed(Problem::Connect)),
            ..row("http://a.test/down", 4, None)
        },
        Row { ending: Ending::Refused(Gate::Robots), ..row("http://a.test/no", 5, None) },
    ];
    block(sink.write(&Batch::of_rows(rows))).unwrap();
    let file = PagesFile::open(&path).unwrap();
    let mut ends = Vec::new();
    file.targets(|row| ends.push((row.url.path_and_query().to_owned(), row.standing(false))))
        .unwrap();
    let broken = |why: &str| LinkStanding::Broken(why.to_owned());
    let expected = [
        ("/", LinkStanding::Fine),
        ("/fine", LinkStanding::Fine),
        ("/gone", broken("404")),
        ("/down", broken("its server does not answer (connect)")),
        ("/no", LinkStanding::NotChecked("robots.txt forbids it")),
    ];
    assert_eq!(ends, expected.map(|(path, standing)| (path.to_owned(), standing)));
    let mut pages = Vec::new();
    file.linking(|page| {
        pages.push((page.url.to_owned(), page.links().len(), page.frames().len()));
        assert!(page.body.is_some() && page.nofollow().is_empty());
    })
    .unwrap();
    let linking = [("http://a.test/", 4, 1), ("http://a.test/fine", 1, 0)];
    assert_eq!(pages, linking.map(|(url, links, frames)| (url.to_owned(), links, frames)));
    let counts = file.summary().unwrap();
    let counts: Vec<_> = counts.iter().map(|c| (c.decision.as_str(), c.urls)).collect();
    assert_eq!(counts, [("fetched", 2), ("dead", 1), ("dead", 1), ("refused", 1)]);
    let hosts = file.hosts().unwrap();
    assert_eq!((hosts[0].pages, hosts[0].fetched, hosts[0].refused, hosts[0].failed), (5, 2, 1, 2));
}

#[test]
fn runs_with_their_report() {
    let folder = Folder::new("runs");
    let path = folder.file("crawl.db");
    let sink = SqliteSink::open(&path, SqliteOptions::default()).unwrap();
    begin(&sink, "run-1");
    block(sink.write(&Batch::of_rows(vec![row("http://a.test/1", 1, None)]))).unwrap();
    // Killed, and begun again with the same trace id.
    begin(&sink, "run-1");
    let figures = RunFigures {
        sources: vec![DiscoverySource::Sitemap],
        planned: 1,
        fetched: 1,
        ..RunFigures::default()
    };
    let evidence = RunEvidence::new("run-1".into(), Mode::Light, figures);
    let end = RunEnd {
        at: START + Duration::from_secs(9),
        outcome: "success".into(),
        figures: serde_json::json!({ "rows": 1 }),
        evidence: Some(evidence),
    };
    sink.end_run(end).unwrap();
    begin(&sink, "run-2");
    block(sink.write(&Batch::of_rows(vec![row("http://a.test/2", 1, None)]))).unwrap();
    let file = PagesFile::open(&path).unwrap();
    let runs = file.runs().unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0].ended_at, Some(START + Duration::from_secs(9)));
    assert_eq!(runs[0].figures.as_deref(), Some("{\"rows\":1}"));
    let report = runs[0].evidence.as_deref().unwrap();
    assert!(report.starts_with(
        "{\"traceId\":\"run-1\",\"nm_policyVersion\":\"orbitBehaviourContract.v1.1.0\""
    ));
    assert_eq!((runs[1].ended_at, runs[1].policy_hash.as_str()), (None, "00ff"));
    assert_eq!(file.row(&url("http://a.test/2")).unwrap().unwrap().run, Some(runs[1].number));
}

/// A word that is in bodies only is in no decision, run, error or other column.
#[test]
fn bodies_are_in_bodies_only() {
    const SECRET: &str = "s3cr3t-of-the-page";
    let folder = Folder::new("secret");
    let path = folder.file("crawl.db");
    let sink = SqliteSink::open(&path, SqliteOptions::default()).unwrap();
    begin(&sink, "run-1");
    let page = page_of(&format!("<title>T</title><p>{SECRET}</p><a href=/x>{SECRET}</a>"));
    let fetched = Fetched { body: page.body.clone().unwrap() };
    let challenged =
        Outcome::Answered { status: 200, retry_after: None, friction: Some(Friction::Challenge) };
    let rows = vec![
        row("http://a.test/1", 1, Some(page.clone())),
        Row { ending: Ending::Dead(challenged), ..row("http://a.test/2", 2, Some(page.clone())) },
        Row { ending: Ending::LostRedirect, ..row("http://a.test/3", 3, Some(page.clone())) },
        Row { ending: Ending::Cached, ..row("http://a.test/4", 4, Some(page.clone())) },
        // If the policy does not store bodies, the word is nowhere.
        row("http://b.test/5", 5, Some(Page { body: None, ..page.clone() })),
        Row { kind: AskKind::Sitemap, ..row("http://b.test/6", 6, Some(page.clone())) },
    ];
    for row in &rows {
        let asked = curtsy_engine::UrlRecord::page(row.url.clone(), 0);
        block(sink.put(&asked, page.kept.clone().unwrap(), Some((&page.head, &fetched))));
    }
    let steps = vec![step(
        "http://a.test/1",
        "http://a.test/1",
        RequestKind::Page,
        0,
        challenged,
        Then::Decide,
    )];
    let batch = Batch { steps, ..Batch::of_rows(rows) };
    block(sink.write(&batch)).unwrap();
    // A second time, later: the first outcome goes to the history.
    let again =
        batch.rows.iter().map(|row| Row { at: START + Duration::from_secs(99), ..Row::clone(row) });
    block(sink.write(&Batch::of_rows(again))).unwrap();
    // An error during the write of these rows.
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = block(sink.write(&batch)).unwrap_err();
    assert!(!format!("{refused} {refused:?}").contains(SECRET));
    other.execute_batch("COMMIT").unwrap();

    let (mut looked_at, mut bodies) = (0, 0);
    let tables = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')";
    let names: Vec<String> = {
        let mut statement = other.prepare(tables).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    for table in names {
        let mut statement = other.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for (at, column) in columns.iter().enumerate() {
                let text = match row.get_ref(at).unwrap() {
                    ValueRef::Text(text) | ValueRef::Blob(text) => {
                        String::from_utf8_lossy(text).into_owned()
                    }
                    _ => String::new(),
                };
                looked_at += 1;
                let found = text.contains(SECRET);
                let is_body = (table.as_str(), column.as_str()) == ("pages", "body");
                assert!(!found || is_body, "{table}.{column}");
                bodies += u32::from(found);
            }
        }
    }
    assert!(looked_at > 300 && bodies == 5, "{looked_at} cells, {bodies} bodies");

    for (name, sink) in [
        (
            "pages.jsonl",
            Box::new(JsonlSink::open(&folder.file("pages.jsonl"), FileOptions::default()).unwrap())
                as Box<dyn Sink>,
        ),
        (
            "pages.csv",
            Box::new(CsvSink::open(&folder.file("pages.csv"), FileOptions::default()).unwrap()),
        ),
    ] {
        block(sink.write(&batch)).unwrap();
        let text = std::fs::read_to_string(folder.file(name)).unwrap();
        assert_eq!(
            text.matches(SECRET).count(),
            2 * 5,
            "{name}: twice in each body, and nowhere else"
        );
    }
}

/// In version 2 only the command says which runs began the crawl anew.
#[test]
fn a_file_of_version_2_says_which_runs_began_the_crawl_anew() {
    let folder = Folder::new("version-2");
    let path = folder.file("crawl.db");
    let sink = SqliteSink::open(&path, SqliteOptions::default()).unwrap();
    for (trace_id, command) in [
        ("first", "curtsy crawl example.org"),
        ("second", "curtsy crawl example.org --again"),
        ("third", "curtsy crawl example.org --exclude '*--again*'"),
    ] {
        let (policy, policy_hash) = (String::new(), String::new());
        let (trace_id, command) = (trace_id.to_owned(), command.to_owned());
        let run = RunStart { trace_id, at: START, command, policy, policy_hash, anew: false };
        sink.begin_run(run).unwrap();
    }
    drop(sink);
    let db = rusqlite::Connection::open(&path).unwrap();
    let older = "ALTER TABLE runs DROP COLUMN anew;
        UPDATE store_version SET version = 2 WHERE what = 'rows'";
    db.execute_batch(older).unwrap();
    drop(db);
    let anew = || -> Vec<bool> {
        let runs = PagesFile::open(&path).unwrap().runs().unwrap();
        runs.into_iter().map(|run| run.anew).collect()
    };
    assert_eq!(anew(), [false, true, false], "read as it is");
    drop(SqliteSink::open(&path, SqliteOptions::default()).unwrap());
    assert_eq!(anew(), [false, true, false], "upgraded by a writer");
}

/// Readers leave a file of version 1 as it is; a writer upgrades it.
#[test]
fn a_file_of_version_1_is_read_as_it_is_and_upgraded_by_a_writer() {
    let folder = Folder::new("version-1");
    let path = folder.file("crawl.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(include_str!("sample/rows-v1.sql")).unwrap();
    drop(db);
    let gone = url("http://127.0.0.1:18765/v1/none.html");
    let check = || {
        let file = PagesFile::open(&path).unwrap();
        let row = file.row(&gone).unwrap().unwrap();
        assert_eq!((row.http_status, row.reason, row.links_cut), (Some(404), None, None));
        assert_eq!(file.links_cut().unwrap(), 0);
        assert_eq!(file.decisions(&gone).unwrap().last().unwrap().http_status, Some(404));
        assert_eq!(file.hosts().unwrap().len(), 1);
        assert_eq!(file.runs().unwrap().len(), 1);
    };
    let count = |sql: &str| {
        let db = rusqlite::Connection::open(&path).unwrap();
        db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    check();
    assert_eq!(count("SELECT version FROM store_version WHERE what = 'rows'"), 1);
    let sink = SqliteSink::open(&path, SqliteOptions::default()).unwrap();
    check();
    assert_eq!(count("SELECT version FROM store_version WHERE what = 'rows'"), 3);
    let again = Row { ending: Ending::Dead(answered(410)), ..row(gone.as_str(), 9, None) };
    block(sink.write(&Batch::of_rows([again]))).unwrap();
    drop(sink);
    let file = PagesFile::open(&path).unwrap();
    assert_eq!(file.row(&gone).unwrap().unwrap().reason.as_deref(), Some("gone (410)"));
    assert_eq!(count("SELECT count(*) FROM evidence"), 0);
    assert_eq!(count("SELECT count(*) FROM links"), 2);
}
