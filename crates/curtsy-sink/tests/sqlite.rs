//! Rows in a crawl's file: what a second look, a refusal or a confirmation changes, and who can read it meanwhile.

mod sample;

use curtsy_core::host::{Gate, Outcome, Problem};
use curtsy_engine::{Batch, Cache, Ending, Row, Sink};
use curtsy_sink::{Options, SqliteSink};
use rusqlite::Connection;

use sample::{Folder, block, page_of, row};

fn open(folder: &Folder) -> SqliteSink {
    SqliteSink::open(&folder.file("crawl.db"), Options::default()).unwrap()
}

fn keep(sink: &SqliteSink, rows: Vec<Row>) {
    block(sink.write(&Batch { rows, steps: Vec::new() })).unwrap();
}

/// One line of a query, its columns parted by bars.
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
    block(sink.put(row.final_url.key(), kept.clone(), Some((&page.head, &fetched))));
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
