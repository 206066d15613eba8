//! The messages for a store that can't be opened or written, and that nothing is lost then.
#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

mod place;

use std::path::Path;

use curtsy_core::url::CrawlUrl;
use curtsy_engine::{Store, UrlRecord};
use curtsy_store::{Ledger, MachineStore, OpenError, Options, SystemClock};
use curtsy_testkit::services::could_not_run;
use rusqlite::Connection;

use place::{Folder, now};

fn open(folder: &Folder) -> Result<MachineStore, OpenError> {
    MachineStore::open(&folder.ledger(), &folder.crawl(), Options::default())
}

fn told(opened: Result<MachineStore, OpenError>) -> String {
    opened.err().expect("it is refused").to_string()
}

fn check(told: &str, what: &str, hint: &str) {
    let (first, second) = told.split_once('\n').unwrap_or_else(|| panic!("no hint: {told}"));
    assert!(first.contains(what), "{told}");
    assert!(second.starts_with("hint: ") && second.contains(hint), "{told}");
    assert!(!told.ends_with('.') && told.starts_with(|c: char| !c.is_uppercase()), "{told}");
}

fn page(n: usize) -> UrlRecord {
    let url = CrawlUrl::parse(&format!("http://a.test/{n}")).unwrap();
    UrlRecord::page(url, 0)
}

#[test]
fn another_crawl_has_the_file() {
    let folder = Folder::new("running");
    let first = open(&folder).unwrap();
    let pid = format!("(process {})", std::process::id());
    check(&told(open(&folder)), "is in use by another crawl", "wait for it or stop it");
    assert!(told(open(&folder)).contains(&pid));
    // Another file with the same ledger is no problem.
    let other = folder.path().join("other.db");
    MachineStore::open(&folder.ledger(), &other, Options::default()).unwrap();
    drop(first);
    open(&folder).unwrap();
}

#[test]
fn a_newer_program_wrote_it() {
    let folder = Folder::new("newer");
    drop(open(&folder).unwrap());
    for (path, what) in [(folder.crawl(), "frontier"), (folder.ledger(), "ledger")] {
        let db = Connection::open(&path).unwrap();
        let ours: i64 = db
            .query_row("SELECT version FROM store_version WHERE what = ?1", [what], |r| r.get(0))
            .unwrap();
        db.execute("UPDATE store_version SET version = 99", []).unwrap();
        let told = told(open(&folder));
        check(&told, &format!("its {what} has version 99"), "upgrade this program");
        db.execute("UPDATE store_version SET version = ?1", [ours]).unwrap();
        drop(db);
        open(&folder).unwrap();
    }
}

#[test]
fn a_stop_order_of_the_first_version_stays_in_force() {
    let folder = Folder::new("older");
    drop(open(&folder).unwrap());
    let db = Connection::open(folder.ledger()).unwrap();
    db.execute_batch(
        "ALTER TABLE stops DROP COLUMN lifted;
        INSERT INTO stops VALUES ('a.test', 7);
        UPDATE store_version SET version = 1 WHERE what = 'ledger';",
    )
    .unwrap();
    drop(db);
    let crawl = open(&folder).unwrap();
    let host = curtsy_core::url::HostKey::parse("a.test").unwrap();
    assert!(now(crawl.handle().load(&host)).unwrap().stopped);
    crawl.stop(&host, false).unwrap();
    assert!(!now(crawl.handle().load(&host)).unwrap().stopped);
}

/// Readers leave a queue of version 2, which has no worth, as it is. A crawl goes on with it.
#[test]
fn a_queue_from_before_there_was_a_worth_is_kept() {
    let folder = Folder::new("no-worth");
    let db = Connection::open(folder.crawl()).unwrap();
    db.execute_batch(include_str!("sample/frontier-v2.sql")).unwrap();
    let version = || -> i64 {
        let sql = "SELECT version FROM store_version WHERE what = 'frontier'";
        db.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    let url = |path: &str| CrawlUrl::parse(&format!("http://127.0.0.1:18801{path}")).unwrap();
    // One URL is in the table, the other in the journal.
    for path in ["/a/b", "/b/c"] {
        let record = curtsy_store::queued_in(&folder.crawl(), &url(path)).unwrap();
        assert_eq!(record, Some(UrlRecord::page(url(path), 2)));
    }
    assert_eq!(version(), 2);
    let mut expected: Vec<(String, u8, u16)> = vec![("/b".into(), 0, 1), ("/c".into(), 0, 1)];
    for (of, name) in ["a", "b", "c"].iter().flat_map(|of| ["a", "b", "c"].map(|n| (of, n))) {
        expected.push((format!("/{of}/{name}"), 0, 2));
    }
    let left = |store: &MachineStore| -> Vec<(String, u8, u16)> {
        let left = store.left(100).unwrap().into_iter();
        left.map(|url| (url.url.path_and_query().to_owned(), url.worth, url.depth)).collect()
    };
    let store = open(&folder).unwrap();
    assert_eq!(left(&store), expected);
    assert_eq!(version(), 3);
    let later = UrlRecord { worth: 1, ..UrlRecord::page(url("/later"), 0) };
    now(store.handle().offer(&[later, UrlRecord::page(url("/deep"), 3)])).unwrap();
    expected.extend([("/deep".into(), 0, 3), ("/later".into(), 1, 0)]);
    assert_eq!(left(&store), expected);
    drop(store);
    assert_eq!(left(&open(&folder).unwrap()), expected);
}

#[test]
fn it_is_not_a_database() {
    let folder = Folder::new("junk");
    for path in [folder.crawl(), folder.ledger()] {
        std::fs::write(&path, "to whom it may concern\n".repeat(200)).unwrap();
        check(&told(open(&folder)), "is not a SQLite database", "move this one away");
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("to whom"), "it is left alone");
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_database_of_another_program_is_left_as_it_is() {
    let folder = Folder::new("tables");
    let db = Connection::open(folder.crawl()).unwrap();
    db.execute_batch("CREATE TABLE pages (url); INSERT INTO pages VALUES ('kept')").unwrap();
    let before = std::fs::read(folder.crawl()).unwrap();
    check(&told(open(&folder)), "is a SQLite database of another program", "name another file");
    assert_eq!(std::fs::read(folder.crawl()).unwrap(), before, "not a byte is changed");
}

#[test]
fn the_folder_cannot_be_written_to() {
    let folder = Folder::new("read-only");
    let nowhere = Path::new("/proc/self/nowhere.db");
    let (ledger, crawl) = (folder.ledger(), folder.crawl());
    let refused = MachineStore::open(&ledger, nowhere, Options::default());
    check(&told(refused), "can't write to `/proc/self/nowhere.db`", "must be writable");
    let refused = MachineStore::open(nowhere, &crawl, Options::default());
    check(&told(refused), "can't write to `/proc/self/nowhere.db`", "must be writable");
    let missing = folder.path().join("missing/crawl.db");
    let refused = MachineStore::open(&ledger, &missing, Options::default());
    check(&told(refused), "missing/crawl.db", "its folder");
}

#[test]
fn any_tool_reads_the_files_while_they_are_used() {
    let folder = Folder::new("readers");
    let crawl = open(&folder).unwrap();
    let handle = crawl.handle();
    now(handle.offer(&(0..100).map(page).collect::<Vec<_>>())).unwrap();
    let reader = Connection::open(folder.crawl()).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM journal").unwrap();
    now(handle.offer(&(100..200).map(page).collect::<Vec<_>>())).unwrap();
    reader.execute_batch("COMMIT").unwrap();
    drop((handle, crawl));
    let count =
        "SELECT count(*) FROM frontier JOIN frontier_hosts ON frontier.host = id WHERE id = 1";
    let urls: i64 = reader.query_row(count, [], |row| row.get(0)).unwrap();
    assert_eq!(urls, 200);
}

/// Runs this very test again in a file system of 600 KB.
#[test]
fn the_disk_is_full() {
    if let Some(small) = std::env::var_os("CURTSY_STORE_SMALL") {
        return on_a_full_disk(Path::new(&small));
    }
    let folder = Folder::new("full");
    let script = "mount -t tmpfs -o size=600k tmpfs \"$0\" || exit 77; exec \"$1\" --exact the_disk_is_full --nocapture";
    let ran = std::process::Command::new("unshare")
        .args(["-r", "-m", "sh", "-c", script])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .env("CURTSY_STORE_SMALL", folder.path())
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
    std::fs::write(&ballast, vec![1; 150_000]).unwrap();
    let (ledger, crawl) = (small.join("hosts.db"), small.join("crawl.db"));
    let store = MachineStore::open(&ledger, &crawl, Options::default()).unwrap();
    let handle = store.handle();
    let mut kept = 0;
    let refused = (0..10_000).find_map(|n| match now(handle.offer(&[page(n)])) {
        Ok(_) => {
            kept = n + 1;
            None
        }
        Err(error) => Some(error),
    });
    assert!(refused.is_some(), "600 KB are not enough");
    check(&store.trouble().expect("it says why"), "no room left for", "free some space");
    std::fs::remove_file(&ballast).unwrap();
    now(handle.offer(&[page(0)])).expect("there is room again");
    assert_eq!(store.trouble(), None);
    drop((handle, store));
    let store = MachineStore::open(&ledger, &crawl, Options::default()).unwrap();
    let again = now(store.handle().offer(&(0..kept).map(page).collect::<Vec<_>>())).unwrap();
    assert_eq!((again.new, again.known), (0, kept), "what was told is kept");
    drop(store);
    // Too full to be opened at all.
    std::fs::write(&ballast, vec![1; 1_000_000]).unwrap_err();
    let other = small.join("other.db");
    let told =
        MachineStore::open(&ledger, &other, Options::default()).err().expect("no room").to_string();
    check(&told, "no room left for", "free some space");
}

#[test]
fn a_ledger_is_opened_by_itself_for_orders() {
    let folder = Folder::new("orders");
    let mut ledger = Ledger::open(&folder.ledger(), SystemClock, Options::default().quiet).unwrap();
    let host = curtsy_core::url::HostKey::parse("a.test").unwrap();
    ledger.stop(&host, true).unwrap();
    let crawl = open(&folder).unwrap();
    assert!(now(crawl.handle().load(&host)).unwrap().stopped);
    ledger.stop(&host, false).unwrap();
    assert!(!now(crawl.handle().load(&host)).unwrap().stopped);
    assert!(ledger.stops().unwrap().is_empty());
}
