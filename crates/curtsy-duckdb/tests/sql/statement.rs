//! The statement itself: its syntax, the tables that it resolves, and its errors.

use curtsy_lab::sites::Scene;
use serde_json::json;

use crate::harness::{QUICK, Town, list};

const FORM: &str = "the whole form: CRAWL (SELECT url FROM …) INTO pages [WITH (option value, …)]";

/// A query of every kind gives its first column, and nothing of it is lost on the way: texts that
/// are no URLs come back as rows.
#[test]
fn queries_of_every_kind_are_read_as_they_are() {
    let town = Town::empty("");
    let duck = town.duck();
    for (query, texts) in [
        ("SELECT 'https://'", &["https://"][..]),
        ("WITH s(u) AS (SELECT 'a x' UNION ALL SELECT 'a y') SELECT u FROM s", &["a x", "a y"]),
        ("SELECT u FROM (VALUES ('( (')), (VALUES (') )')) t(u)", &[") )"]),
        ("SELECT '; ;' -- ) INTO nowhere ; \n", &["; ;"]),
        ("SELECT 'a ' /* ) */ || \"x\"\".\"  FROM (SELECT 'b' AS \"x\"\".\")", &["a b"]),
        ("FROM (SELECT 'no url' AS url, 7 AS more)", &["no url"]),
        ("SELECT 'two '\n'lines'", &["two lines"]),
        ("SELECT $$dollar 'quoted' )$$", &["dollar 'quoted' )"]),
        ("SELECT e'a\\nb c'", &["a\nb c"]),
        ("SELECT {'a': ['a x']}['a'][1]", &["a x"]),
        ("SELECT 'a ' || x FROM range(-1, 2, 1) t(x) WHERE x >= -1 AND x != 0", &["a -1", "a 1"]),
        ("SELECT list_transform(['u'], lambda x: x || ' -')[1]", &["u -"]),
        ("SELECT unnest(['a p', 'a q'])", &["a p", "a q"]),
        ("VALUES ('a v')", &["a v"]),
    ] {
        duck.run("DROP TABLE IF EXISTS pages");
        let told = duck.run(&format!("CRAWL ({query}) INTO pages"));
        assert_eq!(told.rows[0][1], texts.len(), "{query}");
        assert_eq!(duck.texts("SELECT url FROM pages ORDER BY url"), texts, "{query}");
    }
    // Several statements in one string, in any case.
    duck.run("CREATE TABLE a (u VARCHAR); crawl (SELECT 'a m') into many; INSERT INTO a FROM (SELECT url FROM many);;");
    assert_eq!(duck.number("CRAWL (SELECT 'a n') INTO many; SELECT count(*) FROM many;"), 2);
    assert_eq!(duck.number("SELECT count(*) FROM a"), 1);
    // The crawl sees temporary tables and variables of the caller.
    duck.run("CREATE TEMP TABLE seeds AS SELECT 't ' || range AS url FROM range(5)");
    duck.run("CRAWL (SELECT url FROM seeds) INTO many");
    duck.run(
        "SET VARIABLE urls = ['a v', 'a w']; CRAWL (SELECT unnest(getvariable('urls'))) INTO many",
    );
    assert_eq!(duck.number("SELECT count(*) FROM many"), 9);
}

#[test]
fn what_is_written_wrongly_is_said_with_the_whole_form() {
    let town = Town::empty("");
    let duck = town.duck();
    for (sql, words) in [
        ("CRAWL", "expected a query in parentheses after CRAWL, found the end"),
        ("CRAWL pages", "expected a query in parentheses after CRAWL, found `pages`"),
        ("CRAWL; SELECT 1", "expected a query in parentheses after CRAWL, found the end"),
        ("CRAWL ()", "expected a query between the parentheses"),
        ("CRAWL (SELECT (1) INTO t", "expected `)` that closes the query, found the end"),
        ("CRAWL (SELECT 1; SELECT 2) INTO t", "expected `)` that closes the query, found the end"),
        ("CRAWL (SELECT 1)", "expected INTO after the query, found the end"),
        ("CRAWL (SELECT 1) TO t", "expected INTO after the query, found `TO`"),
        ("CRAWL (SELECT 1) INTO", "expected the name of a table after INTO, found the end"),
        (
            "CRAWL (SELECT 1) INTO WITH (a 1)",
            "expected the name of a table after INTO, found `WITH`",
        ),
        ("CRAWL (SELECT 1) INTO 't'", "expected the name of a table after INTO, found `'t'`"),
        ("CRAWL (SELECT 1) INTO s.", "expected a name after `.`, found the end"),
        (
            "CRAWL (SELECT 1) INTO t LIMIT 1",
            "expected WITH or the end of the statement after the table's name, found `LIMIT`",
        ),
        ("CRAWL (SELECT 1) INTO t WITH a 1", "expected `(` after WITH, found `a`"),
        ("CRAWL (SELECT 1) INTO t WITH ()", "expected the name of an option, found `)`"),
        ("CRAWL (SELECT 1) INTO t WITH (a 1,)", "expected the name of an option, found `)`"),
        (
            "CRAWL (SELECT 1) INTO t WITH (a)",
            "a string, a number, true, false, a word or a list for `a`, found `)`",
        ),
        ("CRAWL (SELECT 1) INTO t WITH (a -'x')", "for `a`, found `'x'`"),
        ("CRAWL (SELECT 1) INTO t WITH (a 1 b 2)", "expected `,` or `)` after the value of `a`"),
        ("CRAWL (SELECT 1) INTO t WITH (a example.org)", "goes in quotes), found `.`"),
        ("CRAWL (SELECT 1) INTO t WITH (a [1)", "expected `]` that closes the list for `a`"),
        ("CRAWL (SELECT 1) INTO t WITH (a 1, A 2)", "the option `a` is given twice"),
        (
            "CRAWL (SELECT 1) INTO t WITH (a 1) LIMIT 1",
            "expected the end of the statement after WITH (…), found `LIMIT`",
        ),
    ] {
        duck.refused_with(sql, &[words, FORM]);
    }
    // Other statements remain DuckDB's.
    for sql in [
        "CRAWLING x",
        "SELECT 1 crawl (",
        "SELEC 1",
        "\"crawl\" (SELECT 1) INTO t",
        "SELECT * FROM crawl crawl crawl",
    ] {
        let said = duck.refused(sql);
        assert!(said.contains("syntax error") && !said.contains("CRAWL ("), "{said}");
    }
    assert_eq!(duck.number("SELECT count(*) FROM duckdb_tables()"), 0, "nothing was begun");
}

/// Options have the same syntax as DuckDB's own.
#[test]
fn options_are_read_in_every_spelling() {
    let town = Town::empty("");
    let duck = town.duck();
    duck.run(
        "CRAWL (SELECT NULL) INTO pages WITH (
            Threads 2, MAX_CRAWL_PAGES = 8, max_crawl_depth := 3, max_response_bytes => 4096, \"compress\" true,
            accept_content_types ['text/*', 'application/json'], follow_links off, -- a comment, with 'quotes'
            user_agent 'shopbot/1.0' /* another ) */ )",
    );
    duck.run(
        "FROM crawl_into('pages', ['no url'], threads := 2, accept_content_types := ['text/*'])",
    );
    assert_eq!(duck.number("SELECT count(*) FROM pages"), 1);
}

#[test]
fn a_name_means_what_it_means_to_duckdb() {
    let town = Town::empty("");
    let duck = town.duck_on("one.db");
    duck.run("CREATE SCHEMA archive; CREATE SCHEMA \"my.own\"; ATTACH 'two.db' AS two; CREATE SCHEMA two.s");
    duck.run("ATTACH 'three.db' AS three; CREATE TABLE three.t (url VARCHAR); DETACH three; ATTACH 'three.db' AS three (READ_ONLY)");
    let target = |name: &str| duck.one(&format!("CRAWL (SELECT 'no url') INTO {name}"));
    let check = |name: &str, expected: &str| assert_eq!(target(name), expected, "{name}");
    check("pages", r#""one"."main"."pages""#);
    check("PAGES", r#""one"."main"."pages""#);
    check("archive.pages", r#""one"."archive"."pages""#);
    check(r#""my.own"."a ""b"" c.d""#, r#""one"."my.own"."a ""b"" c.d""#);
    check("two.pages", r#""two"."main"."pages""#);
    check("two.s.pages", r#""two"."s"."pages""#);
    assert_eq!(duck.number("SELECT count(*) FROM \"my.own\".\"a \"\"b\"\" c.d\""), 1);
    duck.run("USE archive");
    check("pages", r#""one"."archive"."pages""#);
    check("main.pages", r#""one"."main"."pages""#);
    check("fresh", r#""one"."archive"."fresh""#);
    duck.run("USE two.s");
    check("pages", r#""two"."s"."pages""#);
    duck.run("SET search_path = 'one.archive,two.s'");
    check("fresh", r#""one"."archive"."fresh""#);
    duck.run("USE one");
    // A temporary table is a valid target, and takes precedence.
    duck.run("CREATE TEMP TABLE mine (url VARCHAR, note VARCHAR DEFAULT 'none')");
    check("mine", r#""temp"."main"."mine""#);
    assert_eq!(json!(duck.rows("FROM mine")), json!([["no url", "none"]]));

    duck.run("CREATE VIEW v AS SELECT 'x' AS url");
    duck.refused_with("CRAWL (SELECT 'no url') INTO v", &["is a view", "crawl into a table"]);
    duck.refused_with("CRAWL (SELECT 'no url') INTO nowhere.t", &["nowhere"]);
    duck.refused_with(
        "CRAWL (SELECT 'no url') INTO a.b.c.d",
        &["expected table, schema.table or database.schema.table"],
    );
    duck.refused_with("CRAWL (SELECT 'no url') INTO three.t", &["read-only"]);
    duck.refused_with("CRAWL (SELECT 'no url') INTO \"\"", &["identifier"]);
}

/// A table of the user gets the values for which it has columns.
#[test]
fn a_table_with_other_columns_takes_what_fits() {
    let town = Town::new(Scene::plain(1, 3, 1, 500), QUICK);
    let duck = town.duck();
    duck.run("CREATE TABLE few (note VARCHAR DEFAULT 'mine', title VARCHAR, url VARCHAR PRIMARY KEY, http_status INTEGER)");
    let urls = list([town.url(0, "/p/1"), town.url(0, "/p/1"), town.url(0, "/p/2")]);
    for _ in 0..2 {
        duck.run(&format!("CRAWL (SELECT unnest({urls})) INTO few"));
    }
    let rows = "SELECT count(*), count(title), any_value(note), sum(http_status)::INT FROM few";
    assert_eq!(json!(duck.rows(rows)), json!([[2, 2, "mine", 400]]));
    duck.run("CREATE TABLE wrong (url VARCHAR, http_status VARCHAR, links VARCHAR)");
    duck.refused_with(
        &format!("CRAWL (SELECT unnest({urls})) INTO wrong"),
        &[
            "`http_status` is VARCHAR, expected INTEGER",
            "`links` is VARCHAR, expected VARCHAR[]",
            "ALTER TABLE",
        ],
    );
    duck.run("CREATE TABLE none (address VARCHAR)");
    duck.refused_with(
        &format!("CRAWL (SELECT unnest({urls})) INTO none"),
        &["no column `url VARCHAR`"],
    );
    duck.run("CREATE TABLE strict (url VARCHAR, must INT NOT NULL)");
    duck.refused_with(&format!("CRAWL (SELECT unnest({urls})) INTO strict"), &["NOT NULL"]);
    assert_eq!(duck.number("SELECT count(*) FROM strict"), 0);
}

#[test]
fn a_crawl_into_a_table_is_no_part_of_a_transaction() {
    let town = Town::new(Scene::plain(1, 3, 1, 500), QUICK);
    let duck = town.duck();
    let url = town.url(0, "/p/1");
    duck.run("BEGIN");
    duck.refused_with(
        &format!("CRAWL (SELECT '{url}') INTO pages"),
        &["COMMIT first", "BY NAME FROM crawl(…)"],
    );
    duck.run("ROLLBACK");
    duck.run("BEGIN");
    duck.refused_with(&format!("FROM crawl_into('pages', '{url}')"), &["COMMIT first"]);
    duck.run("ROLLBACK");
    duck.run(&format!("CRAWL (SELECT '{url}') INTO pages"));
    // The function may be part of a transaction.
    let other = town.url(0, "/p/2");
    duck.run(&format!("BEGIN; INSERT INTO pages BY NAME FROM crawl('{other}')"));
    assert_eq!(duck.number("SELECT count(*) FROM pages"), 2);
    duck.run("ROLLBACK");
    assert_eq!(duck.number("SELECT count(*) FROM pages"), 1);
}

/// The whole statement as a function: with a query or URLs.
#[test]
fn crawl_into_does_what_the_statement_does() {
    let town = Town::new(Scene::plain(1, 6, 1, 500), QUICK);
    let duck = town.duck();
    let told = duck.run(&format!(
        "FROM crawl_into('pages', 'SELECT ''{}''', threads := 2)",
        town.url(0, "/p/1")
    ));
    let names = [
        "target",
        "rows_inserted",
        "rows_updated",
        "fetched",
        "requests",
        "waiting",
        "ended",
        "resume_after",
        "seconds",
    ];
    assert_eq!(told.columns, names);
    let first: Vec<_> = told.rows[0][..8].to_vec();
    assert_eq!(
        json!(first),
        json!([r#""memory"."main"."pages""#, 1, 0, 1, 2, 0, "complete", null])
    );
    duck.run(&format!("FROM crawl_into('pages', {})", town.pages(0, 2, 5)));
    duck.run(&format!("FROM crawl_into('pages', '{}')", town.url(0, "/p/5")));
    assert_eq!(duck.number("SELECT count(*) FROM pages WHERE http_status = 200"), 5);
    // Its result is a table like any other.
    duck.run(&format!("CREATE TABLE told AS SELECT a.rows_inserted + b.rows_inserted AS n FROM crawl_into('x', '{0}') a, crawl_into('y', '{0}') b", town.url(0, "/p/1")));
    assert_eq!(duck.number("SELECT n FROM told"), 2);
}
