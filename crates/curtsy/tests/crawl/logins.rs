//! Login walls: told as what they are, never tried, and nothing behind them asked for.

use curtsy_lab::sites::Scene;
use serde_json::Value as Json;

use crate::harness::{Town, number, texts};

const FORM: &str = "<title>Members</title><h1>Members</h1><form action=/session method=post><label>Name <input name=user></label> \
    <label>Password <input type=password name=pw></label><button>Enter</button></form><a href=/lost-password>lost?</a>";

/// A town with every kind of wall, and pages that only look like one.
fn scene() -> Scene {
    let aside = FORM.replace("/lost-password", "/members");
    let text = "<p>A page of the town.</p>".repeat(40);
    let scene = format!(
        r#"
[[host]]
pages = {{ count = 2, home_links = ["/members", "/report", "/sso", "/staff", "/login", "/news", "/moved", "/docs/start"] }}
[[host.answer]]
path = "/members"
body = {{ html = "{FORM}" }}
[[host.answer]]
path = "/report"
status = 302
location = "/accounts/login/?next=/report"
[[host.answer]]
path = "/sso"
status = 307
location = "https://id.example.com/realms/town/protocol/openid-connect/auth?client_id=town"
[[host.answer]]
path = "/staff"
status = 401
headers = ['WWW-Authenticate: Basic realm="staff"']
[[host.answer]]
path = "/login"
body = {{ html = "{FORM}" }}
[[host.answer]]
path = "/news"
body = {{ html = "<title>News</title><aside>{aside}</aside>{text}" }}
[[host.answer]]
path = "/moved"
status = 301
location = "/news"
[[host.answer]]
path = "/docs/start"
status = 302
location = "/docs/login"
[[host.answer]]
path = "/docs/login"
body = {{ html = "<title>How to log in</title>{text}" }}
"#
    );
    Scene::read(&scene).unwrap()
}

#[test]
fn a_login_is_an_outcome_and_nothing_behind_it_is_asked_for() {
    let mut town = Town::new(scene());
    let home = town.url(0, "/");
    let ran = town
        .crawl(&[&home, "--policy", "survey", "--delay", "0s", "--no-sitemaps", "--json"])
        .ends(0);
    let report: Json = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["endings"]["login_wall"], 4, "{report:#}");
    let signals = report["evidence"]["nm_ingest"]["frictionSignals"].as_array().unwrap();
    assert!(signals.is_empty(), "a login is no friction: {signals:?}");

    let db = town.db("crawl.db");
    let walls = "SELECT replace(final_url, rtrim(final_url, replace(final_url, '/', '')), '') || ' ' || http_status
        || ' ' || error || ' ' || coalesce(access, '-') FROM pages WHERE decision = 'login_wall' AND kind = 'page' ORDER BY 1";
    let expected = [
        "members 200 login_wall login",
        "report 302 login_wall -",
        "sso 307 login_wall -",
        "staff 401 login_wall -",
    ];
    assert_eq!(texts(&db, walls), expected);
    let kept = "SELECT count(*) FROM pages WHERE decision = 'login_wall' AND (body IS NOT NULL OR fresh_until IS NOT NULL OR tries > 0)";
    assert_eq!(
        number(&db, kept),
        0,
        "kept neither as a page nor for the next time, and not tried again"
    );
    let failed = "SELECT failed FROM hosts";
    assert_eq!(number(&db, failed), 0, "a login is no failure");
    // Who asks for the login by its address gets it; it leads nowhere.
    let login = "SELECT decision || ' ' || access FROM pages WHERE url LIKE '%/login' AND url NOT LIKE '%docs%'";
    assert_eq!(texts(&db, login), ["fetched login"]);
    for (page, status) in [("/news", 200), ("/moved", 200), ("/docs/start", 200)] {
        let page = town.url(0, page);
        let sql = format!(
            "SELECT count(*) FROM pages WHERE url = '{page}' AND access IS NULL AND decision IN ('fetched', 'cached', 'confirmed') AND http_status = {status}"
        );
        assert_eq!(number(&db, &sql), 1, "{page} is a page");
    }

    let why = |page: &str| town.run(&["why", &town.url(0, page)]).ends(0).out;
    for (page, said) in [
        (
            "/members",
            "behind a login: the site shows a login form instead of the page; a login is never tried",
        ),
        ("/report", "behind a login: the site redirects to a login, "),
        ("/staff", "behind a login: the site answered 401; a login is never tried"),
        ("/login", ", a login form"),
    ] {
        let why = why(page);
        assert!(why.contains(said), "{page}: {why}");
    }
    let links = town.run(&["links"]).ends(0);
    assert!(links.err.contains("not checked: 4 targets, it is behind a login"), "{}", links.err);
    assert!(links.err.contains("0 broken links"), "{}", links.err);
    let people = town.crawl(&[&home, "--policy", "survey", "--delay", "0s", "--into", "again.db"]);
    assert!(people.ends(0).err.contains("4 behind a login"), "the report for people");

    let log = town.close();
    for never in ["/accounts/", "/lost-password", "/session"] {
        assert!(!log.iter().any(|x| x.target.starts_with(never)), "{never} was asked for");
    }
    let asked = |path: &str| log.iter().filter(|x| *x.target == *path).count();
    assert_eq!(asked("/staff"), 2, "once in each crawl");
}

#[test]
fn a_whole_site_behind_a_login_is_one_row() {
    let scene = r#"
[[host]]
pages = { count = 3 }
[[host.answer]]
path = "/*"
status = 302
location = "/login?next=/"
"#;
    let mut town = Town::new(Scene::read(scene).unwrap());
    let ran = town.crawl(&[&town.url(0, "/"), "--delay", "0s", "--json"]).ends(4);
    let report: Json = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (&report["rows"], &report["endings"]["login_wall"]),
        (&1.into(), &1.into()),
        "{report:#}"
    );
    let log = town.close();
    let targets: Vec<&str> = log.iter().map(|x| &*x.target).collect();
    assert!(!targets.iter().any(|target| target.starts_with("/login")), "{targets:?}");
}
