//! DuckDB 1.5.6 and its shell: everything works except the statement and `crawl_into`, which name
//! an alternative.

use std::process::{Command, Stdio};

use curtsy_lab::sites::{Host, Scene};
use serde_json::json;

use crate::harness::{OLD, QUICK, Town, extension, list, venv};

const HINT: &str = "INSERT INTO pages BY NAME FROM crawl(";

fn town() -> Town {
    let rules = "User-agent: *\nDisallow: /p/3\n";
    let host = Host::named("h.test").pages(200, 1, 500).robots(rules);
    Town::new(Scene { seed: 1, hosts: vec![host], ..Scene::default() }, QUICK)
}

#[test]
fn the_functions_work_in_the_release_before() {
    let mut town = town();
    let duck = town.duck_of(OLD);
    duck.open(&town, "pages.db");
    assert_eq!(duck.one("SELECT version()"), "v1.5.6");
    let urls = town.pages(0, 1, 5);
    duck.run(&format!("CREATE TABLE pages AS FROM crawl({urls}, threads := 4)"));
    duck.run("CREATE TABLE narrow (error VARCHAR, url VARCHAR, seen INT DEFAULT 7)");
    let rows = "SELECT count(*), count(*) FILTER (http_status = 200), max(robots_rule) FROM pages";
    assert_eq!(json!(duck.rows(rows)), json!([[4, 3, "Disallow: /p/3"]]));
    let more = town.pages(0, 5, 8);
    duck.run(&format!("INSERT INTO pages BY NAME FROM crawl({more})"));
    duck.run(&format!("INSERT INTO narrow BY NAME SELECT url, error FROM crawl({more})"));
    assert_eq!(duck.number("SELECT count(*) FROM pages WHERE http_status = 200"), 6);
    assert_eq!(duck.number("SELECT count(*) FROM narrow WHERE seen = 7"), 3);
    assert_eq!(
        duck.texts(&format!("SELECT verdict FROM robots_check('{}')", town.url(0, "/p/3"))),
        ["disallowed"]
    );
    assert_eq!(duck.rows(&format!("FROM sitemap('{}')", town.url(0, "/"))).len(), 0);
    assert_eq!(duck.rows(&format!("FROM crawl_plan('{}')", town.url(0, "/"))).len(), 1);
    assert!(duck.rows(&format!("FROM crawl_why('{}')", town.url(0, "/"))).len() > 5);
    assert_eq!(duck.one("SELECT surt('http://example.org/x')"), "org,example)/x");

    // A function that needs DuckDB 2.0.0 says so, and names an alternative.
    duck.refused_with("FROM crawl_into('pages', 'SELECT 1')", &["v2.0.0", HINT]);
    duck.refused_with(&format!("CRAWL (SELECT unnest({urls})) INTO pages"), &["syntax error"]);

    // Ctrl-C and LIMIT end a crawl here too.
    let before = town.log().len();
    let crawl =
        duck.start(&format!("SELECT count(*) FROM crawl({}, threads := 4)", town.pages(0, 8, 200)));
    town.wait_until(|log| log.len() > before + 5);
    duck.interrupt();
    assert!(crawl.wait().unwrap_err().contains("INTERRUPT"));
    let rows = duck.rows(&format!("SELECT url FROM crawl({}) LIMIT 1", town.pages(0, 8, 200)));
    assert_eq!(rows.len(), 1);
    duck.close();
    assert!(!town.path("pages.db.wal").exists());
    town.close();
}

#[test]
fn the_functions_work_in_the_shell() {
    let mut town = town();
    let shell = |sql: &str| {
        let settings = town.settings();
        let sql = format!("LOAD '{}'; {settings}; {sql}", extension().display());
        let mut command = town.dressed(Command::new(venv(OLD, "duckdb")));
        command
            .args(["-unsigned", "-csv", "-noheader", "pages.db", "-c", &sql])
            .stdin(Stdio::null());
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    let crawl = format!("FROM crawl({})", list([town.url(0, "/p/1"), town.url(0, "/p/3")]));
    let sql = format!(
        "CREATE TABLE pages AS {crawl}; INSERT INTO pages BY NAME FROM crawl('{}'); SELECT http_status, decision, robots_rule FROM pages ORDER BY url;",
        town.url(0, "/p/2")
    );
    let (out, err) = shell(&sql);
    assert_eq!(
        (out.as_str(), err.as_str()),
        ("200,fetched,NULL\n200,fetched,NULL\nNULL,refused,Disallow: /p/3", "")
    );
    let (_, err) = shell("FROM crawl_into('pages', 'SELECT 1')");
    assert!(err.contains(HINT), "{err}");
    let (_, err) = shell("CRAWL (SELECT 1) INTO pages");
    assert!(err.contains("syntax error"), "{err}");
    town.assert_clean();
}
