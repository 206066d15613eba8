//! The functions besides the statement.

use curtsy_lab::sites::{Host, Scene, Sitemap, SitemapKind};
use serde_json::{Value as Json, json};

use crate::harness::{QUICK, Town, list};

fn town(host: Host) -> Town {
    Town::new(Scene { seed: 1, hosts: vec![host], ..Scene::default() }, QUICK)
}

/// An address of this machine without a server.
pub(crate) fn nobody() -> String {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("http://127.0.0.1:{port}")
}

#[test]
fn robots_check_says_what_decides() {
    let rules =
        "# ours\nUser-agent: *\nDisallow: /private/\nAllow: /private/open\nCrawl-delay: 0.25\n";
    let mut town = Town::new(
        Scene {
            seed: 1,
            hosts: vec![
                Host::named("a.test").pages(3, 1, 500).robots(rules),
                Host::named("b.test"),
            ],
            ..Scene::default()
        },
        QUICK,
    );
    let duck = town.duck();
    let dead = nobody();
    let urls = [
        town.url(0, "/private/x"),
        town.url(0, "/private/open"),
        town.url(0, "/p/1"),
        town.url(1, "/"),
        format!("{dead}/x"),
        "no URL".to_owned(),
    ];
    let told = "url, allowed, verdict, rule, line, delay_seconds, delay_by, robots_url";
    let rows = duck.rows(&format!("SELECT {told} FROM robots_check({})", list(&urls)));
    let row = |url: &str| json!(rows.iter().find(|row| row[0] == url).unwrap()[1..]);
    let robots = |host| town.url(host, "/robots.txt");
    assert_eq!(rows.len(), 6);
    assert_eq!(
        row(&urls[0]),
        json!([false, "disallowed", "Disallow: /private/", 3, 0.25, "robots", robots(0)])
    );
    assert_eq!(
        row(&urls[1]),
        json!([true, "allowed", "Allow: /private/open", 4, 0.25, "robots", robots(0)])
    );
    assert_eq!(row(&urls[2]), json!([true, "allowed", null, null, 0.25, "robots", robots(0)]));
    assert_eq!(row(&urls[3]), json!([true, "allowed", null, null, 0.02, "floor", robots(1)]));
    let unknown = format!("{dead}/robots.txt");
    assert_eq!(row(&urls[4]), json!([null, "unreachable", null, null, null, null, unknown]));
    assert_eq!(row(&urls[5]), json!([null, "malformed_url", null, null, null, null, null]));
    let why = duck.texts(&format!("SELECT why FROM robots_check('{}')", urls[0]));
    assert!(why[0].contains("line 3 forbids it"), "{why:?}");
    // Only robots.txt was requested, once for each host.
    assert_eq!(
        (town.asked(0), town.asked(1)),
        (vec!["/robots.txt".to_owned()], vec!["/robots.txt".to_owned()])
    );
    town.assert_clean();
}

#[test]
fn sitemap_lists_what_a_site_lists() {
    let mut town = town(
        Host::named("h.test")
            .pages(2000, 1, 100)
            .robots("Sitemap: {base}/index.xml\n")
            .sitemap(Sitemap {
                path: "/index.xml".to_owned(),
                kind: SitemapKind::Index,
                locs: vec!["/one.xml".to_owned()],
                ..Sitemap::default()
            })
            .sitemap(Sitemap {
                path: "/one.xml".to_owned(),
                pages: Some((0, 5000)),
                gz: true,
                ..Sitemap::default()
            }),
    );
    let duck = town.duck();
    let home = town.url(0, "/");
    let asked = "count(*), count(DISTINCT url), min(lastmod)::VARCHAR, any_value(changefreq), any_value(sitemap)";
    // More than one chunk of rows.
    let rows = duck.rows(&format!("SELECT {asked} FROM sitemap('{home}')"));
    let from = town.url(0, "/one.xml");
    assert_eq!(json!(rows), json!([[5000, 5000, "2026-01-01 00:00:00", "weekly", from]]));
    let page = |path: &String| path.starts_with("/p/") || path == "/";
    assert!(!town.asked(0).iter().any(page), "no page is asked for: {:?}", town.asked(0));
    // A site without one lists nothing.
    let none = Town::new(Scene::plain(1, 1, 1, 100), QUICK);
    let home = none.url(0, "/");
    assert_eq!(none.duck().rows(&format!("FROM sitemap('{home}')")).len(), 0);
    town.assert_clean();
}

#[test]
fn crawl_plan_says_what_a_crawl_would_take() {
    let rules = "User-agent: *\nCrawl-delay: 2\nSitemap: {base}/all.xml\n";
    let host = Host::named("h.test").pages(9, 1, 100).robots(rules);
    let listed = ["/", "/about", "/contact", "/p/1", "/p/2"].map(str::to_owned).to_vec();
    let sitemap = Sitemap { path: "/all.xml".to_owned(), locs: listed, ..Sitemap::default() };
    let mut town = town(host.sitemap(sitemap));
    let duck = town.duck();
    let home = town.url(0, "/");
    let rows = duck.rows(&format!("FROM crawl_plan('{home}', max_crawl_pages := 2)"));
    assert_eq!(
        json!(rows),
        json!([
            [1, "homepage", home, 5, 2, 2.0, "robots", 4.0, 10.0],
            [2, "about", town.url(0, "/about"), 5, 2, 2.0, "robots", 4.0, 10.0]
        ])
    );
    let page = |path: &String| path == "/" || path == "/about";
    assert!(!town.asked(0).iter().any(page), "no page is asked for: {:?}", town.asked(0));
    town.assert_clean();
}

#[test]
fn crawl_why_asks_nobody() {
    let host = Host::named("h.test").pages(3, 1, 100).robots("User-agent: *\nDisallow: /p/2\n");
    let mut town = town(host);
    let duck = town.duck();
    let why = |path: &str| {
        duck.rows(&format!("SELECT gate, verdict, why FROM crawl_why('{}')", town.url(0, path)))
    };
    let first = why("/p/1");
    assert_eq!(first[0][0], "action");
    assert!(first[0][2].as_str().unwrap().contains("/robots.txt"), "{first:?}");
    assert_eq!(town.log().len(), 0);
    duck.crawl(&list([town.url(0, "/p/1")]), "");
    let asked = town.log().len();
    let refused = why("/p/2");
    assert_eq!(json!(refused[0]), json!(["action", "never", "the robots gate refuses it"]));
    let gates: Vec<&Json> = refused.iter().map(|row| &row[0]).collect();
    for gate in ["robots", "pace", "slots", "backoff", "breaker", "budget", "stop"] {
        assert!(gates.iter().any(|name| *name == gate), "{gates:?}");
    }
    assert_eq!(town.log().len(), asked);
    town.assert_clean();
}

#[test]
fn crawl_options_names_every_option_of_the_statement() {
    let town = Town::empty("");
    let duck = town.duck();
    let names = duck.texts("SELECT name FROM crawl_options() WHERE description <> ''");
    for name in "threads max_total_connections max_parallel_per_domain follow_links max_crawl_depth max_crawl_pages respect_nofollow follow_canonical accept_content_types reject_content_types max_response_bytes compress update_stale max_retry_backoff_seconds user_agent policy".split(' ') {
        assert!(names.iter().any(|known| known == name), "{name}");
    }
    // All options can be given, each with its default.
    for name in &names {
        let value = match name.as_str() {
            "follow_links" | "update_stale" | "respect_nofollow" | "follow_canonical"
            | "compress" | "cache" | "sitemaps" => "true",
            "accept_content_types" | "reject_content_types" => "'text/*'",
            "user_agent" => "'shopbot/1.0'",
            "policy" => "warehouse",
            "contact" => "'me@example.org'",
            "delay" | "patience" => "'1s'",
            "scope" => "subdomains",
            "include" | "exclude" => "'/a*'",
            _ => "2048",
        };
        let value = if name == "max_parallel_per_domain" { "3" } else { value };
        duck.run(&format!("CRAWL (SELECT NULL) INTO pages WITH ({name} {value})"));
    }
}

#[test]
fn scalars_answer_for_every_row() {
    let town = Town::empty("");
    let duck = town.duck();
    assert_eq!(
        duck.one("SELECT surt('http://www.example.org:80/b/../A?z&y')"),
        "org,example)/a?y&z"
    );
    assert_eq!(json!(duck.rows("SELECT surt('  '), surt(NULL), url_host('no URL'), url_host('HTTPS://Example.ORG:8443/x')")), json!([[null, null, null, "example.org"]]));
    let robots = "'User-agent: *' || chr(10) || 'Disallow: /private'";
    let asked = format!(
        "SELECT list(robots_allowed({robots}, 'curtsy', url) ORDER BY url) FROM (VALUES ('https://a.org/'), ('https://b.org/private/x'), ('no URL'), (NULL)) t(url)"
    );
    assert_eq!(duck.one(&asked), json!([true, false, null, null]));
    let many = "SELECT count(*), count(DISTINCT k), min(length(k)) FROM (SELECT surt('https://example.org/a/long/path/that/is/kept/' || range) AS k FROM range(100000))";
    assert_eq!(json!(duck.rows(many)), json!([[100_000, 100_000, 39]]));
}

/// The extension's settings are among DuckDB's, and each session has its own values.
#[test]
fn settings_are_duckdbs() {
    let town = Town::empty("");
    let duck = town.duck();
    assert_eq!(
        json!(
            duck.rows("SELECT current_setting('http_timeout'), current_setting('http_keep_alive')")
        ),
        json!([[30, true]])
    );
    duck.run("SET curtsy_contact = 'ops@example.org'");
    let other = duck.beside("b", &town);
    assert_eq!(other.one("SELECT current_setting('curtsy_contact')"), "");
    let told = "SELECT list(name ORDER BY name) FROM duckdb_settings() WHERE name LIKE 'curtsy%' AND description <> ''";
    assert_eq!(
        duck.one(told),
        json!(
            ["allow_net", "ca_file", "contact", "ledger", "policy", "resolve"]
                .map(|name| format!("curtsy_{name}"))
        )
    );
    duck.refused("SET http_timeout = 'soon'");
}
