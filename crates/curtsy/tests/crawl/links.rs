//! Links: that none is lost without a word, and which of them are broken.

use curtsy_sim::loopback::{Answer, Body, Host, Scene};
use serde_json::Value as Json;

use crate::harness::{Town, number};

/// One site with these answers.
fn site(answers: Vec<Answer>) -> Town {
    let mut host = Host { robots: Some(String::new()), ..Host::default() };
    host.answers = answers;
    Town::new(Scene { hosts: vec![host], ..Scene::default() })
}

fn html(path: &str, text: &str) -> Answer {
    Answer::to(path).body(Body::Html(text.to_owned()))
}

const FAST: [&str; 5] = ["--delay", "0s", "--no-sitemaps", "--slots", "4"];

#[test]
fn an_index_with_thirty_thousand_references_loses_none_of_its_pages() {
    let reference = |n: usize| format!("<a href='p{}.html#entry-{n}'>{n}</a>", n % 600);
    let index: String = (0..30_000).map(reference).collect();
    let town = site(vec![html("/", &index)]);
    let ran = town.crawl(&[&[town.url(0, "/").as_str()], &FAST[..], &["--depth", "0"]].concat());
    assert!(!ran.ends(0).err.contains("more links"));
    let db = town.db("crawl.db");
    assert_eq!(number(&db, "SELECT links_count FROM pages"), 600);
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE links_cut IS NOT NULL"), 0);
}

#[test]
fn links_that_were_not_read_are_in_the_row_in_why_and_in_the_report() {
    let many: String = (0..100_050).map(|n| format!("<a href=/{n}>")).collect();
    let town = site(vec![html("/", &many)]);
    let home = town.url(0, "/");
    let crawl = |more: &[&str]| {
        town.crawl(&[&[home.as_str(), "--depth", "0", "--quiet"], &FAST[..], more].concat()).ends(0)
    };
    let said = "had more links than are read of one page (100,000): 50 links were not read";
    let ran = crawl(&[]);
    assert!(ran.err.contains(&format!("1 page {said}")), "{}", ran.err);
    let report: Json = serde_json::from_str(&crawl(&["--again", "--json"]).out).unwrap();
    assert_eq!((&report["links_cut_pages"], &report["links_cut"]), (&1.into(), &50.into()));
    let db = town.db("crawl.db");
    assert_eq!(number(&db, "SELECT links_cut FROM pages"), 50);
    assert_eq!(number(&db, "SELECT links_count FROM pages"), 100_000);
    let why = |more: &[&str]| town.run(&[&["why", home.as_str()], more].concat()).ends(0).out;
    assert!(why(&[]).contains("has more links than are read of one page (100,000): 50 links were"));
    let json: Json = serde_json::from_str(&why(&["--json"])).unwrap();
    assert_eq!(json["links_cut"], 50);

    // A file that was written before there was this column is read as it is, and has the column after the next crawl: what a page
    // that is not fetched again has lost stays unknown.
    db.execute_batch(
        "ALTER TABLE pages DROP COLUMN links_cut;
        UPDATE store_version SET version = 1 WHERE what = 'rows';",
    )
    .unwrap();
    assert!(!why(&[]).contains("not read"));
    crawl(&["--again"]);
    assert_eq!(number(&db, "SELECT count(*) FROM pages WHERE links_cut IS NULL"), 1);
    assert_eq!(number(&db, "SELECT version FROM store_version WHERE what = 'rows'"), 2);
}
