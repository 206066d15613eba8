//! Wrong input: a clear error, and the process goes on.

use curtsy_lab::sites::Scene;
use serde_json::json;

use crate::functions::nobody;
use crate::harness::{QUICK, Town, crawl_sql, list};

#[test]
fn options_that_are_wrong_are_named_with_what_is_expected() {
    let town = Town::empty("");
    let duck = town.duck();
    let crawl = |options: &str| crawl_sql("['http://127.0.0.1:9/']", options);
    for (options, words) in [
        ("thread 3", &["no option `thread`", "did you mean `threads`?"][..]),
        ("maxcrawlpages 3", &["did you mean `max_crawl_pages`?"]),
        ("fast true", &["no option `fast`", "options are threads, max_total_connections"]),
        ("threads many", &["option `threads` is `many`, expected a whole number"]),
        ("threads -1", &["option `threads` is `-1`", "not negative"]),
        ("threads 1.5", &["option `threads`", "whole number"]),
        ("threads NULL", &["option `threads`"]),
        ("follow_links maybe", &["option `follow_links` is `maybe`, expected true or false"]),
        ("delay soon", &["`delay`", "`soon`", "expected a span such as `3s`"]),
        ("policy nope", &["`nope` is neither a preset nor a file", "`warehouse`"]),
        ("scope moon", &["`moon`", "`subdomains`"]),
        ("include '/(/'", &["pattern `/(/`"]),
        ("max_response_bytes 0", &["`max_response_bytes`", "expected a size"]),
        ("max_crawl_pages 0", &["`max_crawl_pages`", "from 1"]),
        ("max_parallel_per_domain 0", &["`max_parallel_per_domain`", "from 1 to 64"]),
        ("max_total_connections 0", &["`max_total_connections`", "from 1"]),
        ("accept_content_types 'text'", &["`accept_content_types`", "`text/*`"]),
        ("user_agent 'a b'", &["`user_agent`", "expected `product/version`"]),
    ] {
        duck.refused_with(&crawl(options), words);
        assert_eq!(
            duck.number("SELECT count(*) FROM duckdb_tables()"),
            0,
            "{options}: nothing was begun"
        );
    }
    duck.refused_with("FROM crawl('http://127.0.0.1:9/', thread := 3)", &["thread", "\"threads\""]);
    duck.refused_with(
        "FROM crawl('http://127.0.0.1:9/', threads := 'many')",
        &["`threads` is `many`"],
    );
    duck.refused_with(
        "FROM crawl('http://127.0.0.1:9/', update_stale := true)",
        &["CRAWL (…) INTO t"],
    );
}

#[test]
fn no_contact_no_crawl_of_public_hosts() {
    let town = Town::empty("");
    let duck = town.duck();
    duck.run("RESET curtsy_allow_net");
    for sql in [
        "CRAWL (SELECT 'https://example.org/') INTO pages",
        "FROM crawl('https://example.org/')",
        "FROM robots_check('https://example.org/')",
        "FROM sitemap('https://example.org/')",
    ] {
        duck.refused_with(
            sql,
            &["must be able to reach a person", "SET curtsy_contact = 'me@example.org'"],
        );
    }
    // Nor may it request addresses of this machine and its networks, unless they are named.
    duck.run("SET curtsy_contact = 'me@example.org'");
    let urls = list(["http://127.0.0.1:9/", "http://10.0.0.1/", "http://169.254.169.254/latest"]);
    let told = duck.crawl(&urls, "patience '0s'");
    assert_eq!(told["requests"], 0, "{told:?}");
    duck.refused_with("FROM crawl('https://example.org/', delay := '1ms')", &["at least `200ms`"]);
}

#[test]
fn texts_that_are_no_urls_become_rows_and_null_is_left_out() {
    let mut town = Town::new(Scene::plain(1, 3, 1, 500), QUICK);
    let duck = town.duck();
    let good = town.url(0, "/p/1");
    let texts = ["no url", "ftp://a.org/", "http://", "javascript:alert(1)", "", "it's not"];
    let query = format!("SELECT unnest([NULL, '{good}'] || {})", list(texts));
    duck.run(&format!("CRAWL ({query}) INTO pages"));
    let malformed = "SELECT url, http_status, body, decision FROM pages WHERE error = 'malformed_url' ORDER BY url";
    let mut sorted = texts;
    sorted.sort_unstable();
    assert_eq!(
        json!(duck.rows(malformed)),
        json!(sorted.map(|text| json!([text, null, null, "refused"])))
    );
    assert_eq!(duck.number("SELECT count(*) FROM pages WHERE http_status = 200"), 1);
    // One row each, however often they occur.
    duck.run(&format!("CRAWL ({query}) INTO pages"));
    assert_eq!(duck.number("SELECT count(*) FROM pages"), 7);
    let rows =
        duck.rows(&format!("SELECT error FROM crawl(['no url', NULL, '{good}']) ORDER BY ALL"));
    assert_eq!(json!(rows), json!([["malformed_url"], [null]]));
    assert_eq!(
        town.asked(0),
        ["/robots.txt", "/p/1", "/p/1"],
        "by the table, and by the function that has none"
    );
    town.close();
}

#[test]
fn queries_that_give_nothing_or_fail_are_told_as_such() {
    let town = Town::empty("");
    let duck = town.duck();
    for query in [
        "SELECT 'http://127.0.0.1:9/' WHERE false",
        "SELECT NULL",
        "SELECT NULL::VARCHAR FROM range(5000)",
    ] {
        let told = duck.rows(&format!("CRAWL ({query}) INTO pages"));
        assert_eq!(json!(told[0][1..7]), json!([0, 0, 0, 0, 0, "complete"]), "{query}");
    }
    assert_eq!(duck.number("SELECT count(*) FROM pages"), 0);
    for (query, words) in [
        ("SELECT 1", &["`1`, which is not text", "as VARCHAR"][..]),
        ("SELECT ['a']", &["which is not text"]),
        ("SELECT nothing FROM nowhere", &["in the query for URLs", "nowhere"]),
        ("SELEC 1", &["in the query for URLs", "syntax error"]),
        ("CREATE TABLE x (i INT)", &["expected a query for URLs"]),
        ("SELECT error('boom')", &["boom"]),
        ("SELECT $1", &["parameters"]),
    ] {
        duck.refused_with(&format!("CRAWL ({query}) INTO other"), words);
    }
    assert_eq!(
        duck.number("SELECT count(*) FROM duckdb_tables() WHERE table_name IN ('other', 'x')"),
        0
    );
    for (sql, words) in [
        ("FROM crawl('no url')", "`no url` is no URL"),
        ("FROM crawl(NULL)", "the URL is NULL"),
        ("FROM crawl(7)", "7 is no URL"),
        ("FROM crawl([7])", "no URL"),
        ("FROM crawl({'a': 1})", "no URL"),
        ("FROM crawl_into(NULL, 'http://a.test/')", "NULL"),
        ("FROM sitemap([])", "no URL"),
        ("FROM sitemap('no url')", "no url"),
        ("FROM crawl_plan(NULL)", "NULL"),
        ("FROM crawl_why('')", "no URL"),
        ("FROM robots_check(NULL)", "NULL"),
    ] {
        duck.refused_with(sql, &[words]);
    }
    assert_eq!(duck.rows("FROM crawl([])").len(), 0);
    assert_eq!(duck.rows("FROM robots_check([])").len(), 0);
    assert_eq!(duck.number("SELECT 7"), 7, "the process lives on");
}

/// "Network timeouts/failures": an unreachable host ends the crawl with a row that says so.
#[test]
fn a_host_that_is_not_there_gets_its_row() {
    let mut town = Town::new(Scene::plain(1, 3, 1, 500), QUICK);
    let duck = town.duck();
    let dead = format!("{}/x", nobody());
    let urls = list([dead.clone(), town.url(0, "/p/1")]);
    duck.crawl(&urls, "patience '1s'");
    let rows = duck.rows(
        "SELECT url, http_status, error IS NOT NULL, body FROM pages WHERE http_status IS NULL",
    );
    assert_eq!(json!(rows), json!([[dead, null, true, null]]));
    assert_eq!(duck.number("SELECT count(*) FROM pages WHERE http_status = 200"), 1);
    town.assert_clean();
}
