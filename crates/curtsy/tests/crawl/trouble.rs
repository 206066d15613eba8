//! Bad input and bad luck: a clear message, and nothing is lost.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use curtsy_lab::sites::Scene;
use curtsy_testkit::services::could_not_run;

use crate::harness::{Town, number, program, texts};

#[track_caller]
fn refused(town: &Town, args: &[&str], code: i32, expected: &[&str]) {
    let ran = town.run(args).ends(code);
    for text in expected {
        assert!(ran.err.contains(text), "no `{text}` in: {}", ran.err);
    }
}

#[test]
fn what_can_not_be_crawled_is_named() {
    let town = Town::empty();
    refused(&town, &["crawl"], 2, &["nothing to crawl", "hint:"]);
    refused(
        &town,
        &["crawl", "ftp://a.test/"],
        2,
        &["`ftp://a.test/` is no URL that can be crawled"],
    );
    refused(&town, &["crawl", "http://"], 2, &["is no URL that can be crawled"]);
    refused(
        &town,
        &["crawl", "--from", "none.txt"],
        2,
        &["could not read the seeds in `none.txt`"],
    );
    std::fs::write(town.path("seeds.txt"), "https://a.test/\n\n# fine\nnot a url\n").unwrap();
    refused(&town, &["crawl", "--from", "seeds.txt"], 2, &["line 4 of `seeds.txt`"]);
    refused(
        &town,
        &["crawl", "https://a.test/", "--contact", "a@b.test", "--into", "x.what"],
        2,
        &["says nothing about its form"],
    );
    refused(&town, &["crawl", "https://a.test/", "--delay", "soon"], 2, &["pace.delay", "soon"]);
    let args = ["crawl", "https://a.test/", "--contact", "a@b.test", "--include", "/(/"];
    refused(&town, &args, 2, &["/(/"]);
    refused(
        &town,
        &["crawl", "https://a.test/", "--resume", "--contact", "a@b.test"],
        2,
        &["no crawl in `a.test.db`"],
    );
    assert!(!town.path("a.test.db").exists(), "nothing was begun");
}

#[test]
fn no_contact_no_crawl() {
    let town = Town::empty();
    refused(
        &town,
        &["crawl", "https://a.test/"],
        2,
        &[
            "`identity.contact` is not set",
            "must be able to reach a person",
            "--contact me@example.org",
        ],
    );
    // Below 200 ms only inside networks that were named.
    let args = ["crawl", "https://a.test/", "--contact", "a@b.test", "--delay", "10ms"];
    refused(&town, &args, 2, &["pace.delay", "200ms"]);
}

#[test]
fn without_a_contact_nobody_but_this_machine_is_dialled() {
    // The page redirects to a public address, which must not be dialled.
    let scene = Scene::read(
        "[[host]]\nname = 'a.test'\n[[host.answer]]\npath = '/'\nstatus = 302\nlocation = 'http://192.0.2.1:81/'\n",
    )
    .unwrap();
    let town = Town::new(scene);
    let url = town.url(0, "/");
    town.crawl(&[&url, "--delay", "0s", "--patience", "0s", "--no-sitemaps"]);
    let db = town.db("crawl.db");
    let ended = "SELECT final_url || ' ' || error FROM pages WHERE error IS NOT NULL";
    assert_eq!(texts(&db, ended), ["http://192.0.2.1:81/ guard"]);
}

/// It waited five minutes for a robots.txt that could never be had, and then again.
#[test]
fn a_seed_that_may_not_be_dialled_gets_its_row_at_once() {
    let town = Town::empty();
    let seeds = ["http://10.0.0.1/", "http://10.0.0.1/2", "http://192.168.0.1:6379/"];
    town.crawl(&[&seeds[..], &["--contact", "a@b.test"]].concat()).ends(4);
    let db = town.db("crawl.db");
    let rows = texts(&db, "SELECT url || ' ' || decision || ' ' || error FROM pages ORDER BY url");
    let expected = [
        "http://10.0.0.1/ dead guard",
        "http://10.0.0.1/2 dead guard",
        "http://192.168.0.1:6379/ dead port",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn a_file_that_is_in_use_damaged_or_newer_is_left_alone() {
    let town = Town::new(Scene::plain(1, 200, 5, 500));
    let url = town.url(0, "/");
    let mut first = town.start_crawl(&[&url, "--delay", "100ms", "--policy", "warehouse"]);
    while !town.path("crawl.db").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    let ran = town.crawl(&[&url, "--delay", "100ms"]).ends(2);
    assert!(ran.err.contains("in use by another crawl"), "{}", ran.err);
    first.kill().unwrap();
    first.wait().unwrap();

    std::fs::write(
        town.path("text.db"),
        "this is no database, and it is long enough to be sure of that",
    )
    .unwrap();
    let ran = town.crawl(&[&url, "--into", "text.db"]).ends(2);
    assert!(ran.err.contains("`text.db` is not a SQLite database"), "{}", ran.err);

    let db = town.db("crawl.db");
    db.execute("UPDATE store_version SET version = 99", []).unwrap();
    let rows = number(&db, "SELECT count(*) FROM pages");
    drop(db);
    let ran = town.crawl(&[&url]).ends(2);
    assert!(ran.err.contains("written by a newer curtsy"), "{}", ran.err);
    assert_eq!(number(&town.db("crawl.db"), "SELECT count(*) FROM pages"), rows);
}

#[test]
fn a_host_that_is_not_there_gets_its_row_and_its_reason() {
    let town = Town::empty();
    // A port on this machine where nobody listens.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/");
    let ran = town.crawl(&[&url, "--delay", "0s", "--policy", "audit", "--patience", "0s"]);
    // Nothing else is left, so nobody waits for it.
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    let db = town.db("crawl.db");
    let dead = "SELECT count(*) FROM pages WHERE decision = 'dead' AND error = 'connect'";
    assert_eq!(number(&db, dead), 1);
}

/// In a file system of its own, which is full at first, and then not any more.
#[test]
fn a_full_disk_is_said_and_nothing_is_lost_when_there_is_room_again() {
    let town = Town::new(Scene::plain(1, 120, 5, 6000));
    std::fs::create_dir(town.path("small")).unwrap();
    let script = "mount -t tmpfs -o size=4m tmpfs small || exit 77
        head -c 3400000 /dev/zero > small/ballast
        (while [ ! -e room ]; do sleep 0.05; done; rm small/ballast) &
        \"$@\"; code=$?; cp small/crawl.db* .; exit $code";
    let url = town.url(0, "/");
    let crawl = ["crawl", &url, "--allow-net", "127.0.0.0/8", "--delay", "0s"];
    let crawl = [&crawl[..], &["--into", "small/crawl.db", "--json"]].concat();
    let mut child = Command::new("unshare")
        .args(["-r", "-m", "sh", "-c", script, "sh"])
        .arg(program())
        .args(&crawl)
        .current_dir(&town.folder)
        .env("XDG_STATE_HOME", town.path("state"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut said, mut full) = (String::new(), false);
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        if line.contains("can't be written: ") && line.contains("no room left") {
            full = true;
            std::fs::write(town.path("room"), "").unwrap();
        }
        said.push_str(&line);
        said.push('\n');
    }
    let code = child.wait().unwrap().code();
    if code == Some(77) || said.starts_with("unshare") {
        return could_not_run("`unshare -r -m` can't mount a small file system");
    }
    assert_eq!(code, Some(0), "{said}");
    assert!(full, "{said}");
    let db = town.db("crawl.db");
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE http_status = 200"), 120);
}
