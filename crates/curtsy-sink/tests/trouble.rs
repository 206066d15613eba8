//! Messages when rows cannot be written, and that no row is lost.
#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

mod sample;

use std::path::Path;
use std::sync::Arc;

use curtsy_core::host::{
    Confidence, Finding, Findings, Gate, Reason, RobotsId, RobotsReason, Verdict,
};
use curtsy_engine::{Batch, Row, Sink};
use curtsy_sink::read::PagesFile;
use curtsy_sink::{CsvSink, FileOptions, JsonlSink, OpenError, SqliteOptions, SqliteSink};
use curtsy_testkit::services::could_not_run;
use rusqlite::Connection;

use sample::{Folder, block, page_of, row};

fn open(path: &Path) -> Result<SqliteSink, OpenError> {
    SqliteSink::open(path, SqliteOptions::default())
}

fn jsonl(path: &Path) -> Result<JsonlSink, OpenError> {
    JsonlSink::open(path, FileOptions::default())
}

fn csv(path: &Path) -> Result<CsvSink, OpenError> {
    CsvSink::open(path, FileOptions::default())
}

fn told<T>(opened: Result<T, OpenError>) -> String {
    opened.err().expect("it is refused").to_string()
}

fn check(told: &str, what: &str, hint: &str) {
    let (first, second) = told.split_once('\n').unwrap_or_else(|| panic!("no hint: {told}"));
    assert!(first.contains(what), "{told}");
    assert!(second.starts_with("hint: ") && second.contains(hint), "{told}");
    assert!(!told.ends_with('.') && told.starts_with(|c: char| !c.is_uppercase()), "{told}");
}

fn batch(n: usize) -> Batch {
    let row = row(&format!("http://a.test/{n}"), 0, Some(page_of(&"x".repeat(3_000))));
    Batch::of_rows(vec![row])
}

#[test]
fn a_newer_program_wrote_it_and_the_same_may_go_on() {
    let folder = Folder::new("newer");
    let path = folder.file("crawl.db");
    block(open(&path).unwrap().write(&batch(1))).unwrap();
    let db = Connection::open(&path).unwrap();
    db.execute("UPDATE store_version SET version = 99 WHERE what = 'rows'", []).unwrap();
    check(&told(open(&path)), "its rows has version 99", "upgrade this program");
    check(&told(PagesFile::open(&path)), "its rows has version 99", "upgrade this program");
    db.execute("UPDATE store_version SET version = 3 WHERE what = 'rows'", []).unwrap();
    block(open(&path).unwrap().write(&batch(2))).unwrap();
    assert_eq!(PagesFile::open(&path).unwrap().summary().unwrap()[0].urls, 2, "it kept its data");
}

#[test]
fn it_is_something_else() {
    let folder = Folder::new("else");
    let letter = "to whom it may concern\n".repeat(200);
    for name in ["crawl.db", "pages.jsonl", "pages.csv"] {
        std::fs::write(folder.file(name), &letter).unwrap();
    }
    check(&told(open(&folder.file("crawl.db"))), "is not a SQLite database", "move this one away");
    check(&told(jsonl(&folder.file("pages.jsonl"))), "is not a file of JSON lines", "another file");
    check(&told(csv(&folder.file("pages.csv"))), "is not CSV with the columns", "another file");
    std::fs::write(folder.file("other.json"), "{\"port\": 80}").unwrap();
    check(&told(jsonl(&folder.file("other.json"))), "is not a file of JSON lines", "another file");
    std::fs::write(folder.file("other.csv"), "url,title\r\nhttp://a.test/,A\r\n").unwrap();
    check(&told(csv(&folder.file("other.csv"))), "is not CSV with the columns", "another file");
    for (name, kept) in [
        ("crawl.db", letter.as_str()),
        ("pages.jsonl", &letter),
        ("pages.csv", &letter),
        ("other.json", "{\"port\": 80}"),
        ("other.csv", "url,title\r\nhttp://a.test/,A\r\n"),
    ] {
        assert_eq!(std::fs::read_to_string(folder.file(name)).unwrap(), kept, "it is left alone");
    }
}

#[test]
fn a_table_of_others_has_our_name() {
    let folder = Folder::new("foreign");
    let path = folder.file("crawl.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch("CREATE TABLE pages (url); INSERT INTO pages VALUES ('kept')").unwrap();
    check(&told(open(&path)), "is a SQLite database of another program", "another file");
    let mode: String = db.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "delete", "not even its journal is changed");
    check(&told(PagesFile::open(&path)), "holds no rows of a crawl", "curtsy crawl");
    let kept: String = db.query_row("SELECT url FROM pages", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, "kept");
}

#[test]
fn the_folder_cannot_be_written_to() {
    let nowhere = Path::new("/proc/self/nowhere.db");
    check(&told(open(nowhere)), "can't write to `/proc/self/nowhere.db`", "must be writable");
    check(&told(jsonl(nowhere)), "can't write to `/proc/self/nowhere.db`", "must be writable");
    check(&told(csv(nowhere)), "can't write to `/proc/self/nowhere.db`", "must be writable");
    let folder = Folder::new("missing");
    let missing = folder.file("missing/crawl.db");
    check(&told(open(&missing)), "missing/crawl.db", "its folder");
    check(&told(jsonl(&missing)), "missing/crawl.db", "its folder");
    check(&told(PagesFile::open(&missing)), "there is no file", "--into");
}

#[test]
fn another_program_holds_the_lock() {
    let folder = Folder::new("locked");
    let sink = open(&folder.file("crawl.db")).unwrap();
    let other = Connection::open(folder.file("crawl.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = block(sink.write(&batch(1))).unwrap_err();
    assert_eq!(refused.rows, 1);
    check(&refused.why, "is locked by another program", "close what has it open");
    other.execute_batch("COMMIT").unwrap();
    block(sink.write(&batch(1))).expect("told again, it is kept");
}

/// A waiting caller gets an error even if the writing thread panics.
#[test]
fn a_writer_that_dies_leaves_nobody_waiting() {
    let folder = Folder::new("dies");
    let robots: curtsy_sink::RobotsTexts = Arc::new(|_| panic!("as planned"));
    let options = SqliteOptions { robots: Some(robots), ..SqliteOptions::default() };
    let sink = SqliteSink::open(&folder.file("crawl.db"), options).unwrap();
    let mut findings = Findings::CLEAR;
    let standing = Confidence::Current;
    let reason =
        Reason::Robots(RobotsReason::Allows { file: RobotsId([1; 16]), line: Some(1), standing });
    findings.set(Gate::Robots, Finding::new(Verdict::Go, reason));
    let rows = vec![Row { findings, ..row("http://a.test/1", 0, None) }];
    for batch in [Batch::of_rows(rows), batch(2)] {
        let refused = block(sink.write(&batch)).unwrap_err();
        assert!(refused.why.contains("has ended"), "{refused}");
    }
}

/// Runs this test again in a file system of 600 KB.
#[test]
fn the_disk_is_full() {
    if let Some(small) = std::env::var_os("CURTSY_SINK_SMALL") {
        return on_a_full_disk(Path::new(&small));
    }
    let folder = Folder::new("full");
    let script = "mount -t tmpfs -o size=600k tmpfs \"$0\" || exit 77; exec \"$1\" --exact the_disk_is_full --nocapture";
    let ran = std::process::Command::new("unshare")
        .args(["-r", "-m", "sh", "-c", script])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .env("CURTSY_SINK_SMALL", folder.path())
        .output();
    match ran {
        Ok(ran) if ran.status.success() => {}
        Ok(ran)
            if ran.status.code() == Some(77)
                || String::from_utf8_lossy(&ran.stderr).contains("unshare") =>
        {
            could_not_run("`unshare -r -m` can't mount a small file system");
        }
        Ok(ran) => panic!(
            "{}{}",
            String::from_utf8_lossy(&ran.stdout),
            String::from_utf8_lossy(&ran.stderr)
        ),
        Err(error) => could_not_run(&format!("`unshare`: {error}")),
    }
}

fn on_a_full_disk(small: &Path) {
    let ballast = small.join("ballast");
    type Make<'m> = Box<dyn Fn() -> Box<dyn Sink> + 'm>;
    let sinks: [(&str, Make<'_>); 3] = [
        ("crawl.db", Box::new(|| Box::new(open(&small.join("crawl.db")).unwrap()))),
        ("pages.jsonl", Box::new(|| Box::new(jsonl(&small.join("pages.jsonl")).unwrap()))),
        ("pages.csv", Box::new(|| Box::new(csv(&small.join("pages.csv")).unwrap()))),
    ];
    for (name, make) in sinks {
        let sink = make();
        std::fs::write(&ballast, vec![1; 300_000]).unwrap();
        let mut kept = 0;
        let refused = (0..1_000).find_map(|n| match block(sink.write(&batch(n))) {
            Ok(()) => {
                kept = n + 1;
                None
            }
            Err(error) => Some(error),
        });
        let refused = refused.expect("600 KB are not enough");
        check(&refused.why, "no room left for", "free some space");
        std::fs::remove_file(&ballast).unwrap();
        block(sink.write(&batch(kept))).expect("there is room again");
        drop(sink);
        let rows = match name {
            "crawl.db" => {
                let count = PagesFile::open(&small.join(name)).unwrap().summary().unwrap();
                usize::try_from(count[0].urls).unwrap()
            }
            "pages.jsonl" => std::fs::read_to_string(small.join(name)).unwrap().lines().count(),
            _ => std::fs::read_to_string(small.join(name)).unwrap().matches("\r\n").count() - 1,
        };
        assert_eq!(rows, kept + 1, "{name}: what was accepted is kept, and nothing else");
        for entry in std::fs::read_dir(small).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }
}
