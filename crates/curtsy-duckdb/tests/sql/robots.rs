//! robots.txt compliance.

use curtsy_lab::sites::{Answer, Host, Scene};
use serde_json::json;

use crate::harness::{QUICK, Town, judge, list, policy};

fn scene(host: Host) -> Scene {
    Scene { seed: 1, hosts: vec![host], ..Scene::default() }
}

/// "MUST fetch and parse robots.txt before crawling any domain", "MUST respect `Disallow`
/// directives for configured user-agent".
#[test]
fn robots_txt_comes_first_and_is_obeyed() {
    let rules = "User-agent: *\nDisallow: /p/2\n\nUser-agent: shopbot\nDisallow: /p/3\n";
    let mut town = Town::new(scene(Host::named("h.test").pages(5, 3, 500).robots(rules)), QUICK);
    let duck = town.duck();
    duck.crawl(&town.pages(0, 1, 5), "threads 4");
    let refused = "SELECT url, http_status, body, error, robots_rule, decision FROM pages WHERE decision = 'refused'";
    let two = town.url(0, "/p/2");
    let row = json!([two, null, null, null, "Disallow: /p/2", "refused"]);
    assert_eq!(json!(duck.rows(refused)), json!([row]));
    assert_eq!(duck.number("SELECT count(*) FROM pages WHERE http_status = 200"), 3);
    let asked = town.asked(0);
    assert_eq!(asked[0], "/robots.txt");
    assert!(asked.len() == 4 && !asked.contains(&"/p/2".to_owned()), "{asked:?}");

    let log = town.log();
    judge(&log, &policy(&town.path("p.toml")), &[]);

    // The group of another agent: it may have /p/2, and not /p/3.
    duck.run("DROP TABLE pages");
    duck.crawl(&town.pages(0, 1, 5), "user_agent 'shopbot/1.0'");
    assert_eq!(
        duck.texts("SELECT url FROM pages WHERE decision = 'refused'"),
        [town.url(0, "/p/3")]
    );
    let log = town.close();
    assert!(
        log.iter().any(|x| x.user_agent.as_deref().is_some_and(|ua| ua.starts_with("shopbot/1.0")))
    );
}

/// "SHOULD cache robots.txt to avoid re-fetching": the next crawl of this process, and one of
/// another process, don't ask again.
#[test]
fn robots_txt_is_asked_for_once() {
    let host = Host::named("h.test").pages(7, 3, 500).robots("User-agent: *\nDisallow: /p/1\n");
    let mut town = Town::new(scene(host), QUICK);
    let duck = town.duck();
    duck.crawl(&town.pages(0, 1, 3), "");
    duck.crawl(&town.pages(0, 3, 5), "");
    drop(duck);
    let other = town.duck();
    other.crawl(&town.pages(0, 5, 7), "");
    other.rows(&format!("FROM robots_check({})", town.pages(0, 1, 7)));
    let asked = town.asked(0);
    assert_eq!(asked.iter().filter(|path| *path == "/robots.txt").count(), 1, "{asked:?}");
    assert_eq!(asked.len(), 6, "{asked:?}");
    town.assert_clean();
}

/// "MUST check `noindex` meta tag in HTML responses": such a page has a row, and its body is not
/// kept.
#[test]
fn the_body_of_a_noindex_page_is_not_kept() {
    let meta = r#"<meta name="robots" content="noindex">"#;
    let others = r#"<meta name="otherbot" content="noindex">"#;
    let host = Host::named("h.test")
        .pages(2, 1, 500)
        .says_unlinked(Answer::page("/meta", "Secret", meta, &[]))
        .says_unlinked(Answer::page("/others", "Open", others, &[]))
        .says_unlinked(Answer::page("/header", "Secret", "", &[]).header("X-Robots-Tag: noindex"));
    let mut town = Town::new(scene(host), QUICK);
    let duck = town.duck();
    let urls = ["/meta", "/others", "/header"].map(|path| town.url(0, path));
    duck.crawl(&list(&urls), "");
    let rows = duck.rows("SELECT http_status, body IS NULL, error FROM pages ORDER BY url");
    let rows: Vec<_> = rows.into_iter().map(|row| json!(row[..2])).collect();
    // /header, /meta, /others
    assert_eq!(rows, [json!([200, true]), json!([200, true]), json!([200, false])]);
    let kept = duck.number("SELECT count(*) FROM pages WHERE body LIKE '%Secret%'");
    assert_eq!(kept, 0);
    // A policy may store it.
    duck.run("DROP TABLE pages");
    duck.crawl(&list(&urls), "policy careful, delay '20ms'");
    assert_eq!(duck.number("SELECT count(body) FROM pages"), 3);
    town.close();
}

/// A robots.txt that cannot be fetched closes the site, with the preset `warehouse`.
#[test]
fn without_robots_txt_nothing_is_asked_for() {
    let host =
        Host::named("h.test").pages(3, 1, 500).says_unlinked(Answer::to("/robots.txt").status(500));
    let mut town = Town::new(scene(host), QUICK);
    let duck = town.duck();
    let told = duck.crawl(&town.pages(0, 1, 3), "patience '0s'");
    assert_eq!((&told["ended"], &told["fetched"]), (&"waits".into(), &0.into()), "{told:?}");
    assert!(told["resume_after"].is_string(), "{told:?}");
    assert!(town.asked(0).iter().all(|path| path == "/robots.txt"));
    town.assert_clean();
}
