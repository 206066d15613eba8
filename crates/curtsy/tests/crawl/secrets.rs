//! What pages say stays in the rows' bodies: it is in no log, no evidence, no error, no report. Neither are passwords.

use curtsy_sim::loopback::Scene;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::harness::Town;

/// Said by pages.
const SAID: &str = "tulip-said-by-a-page";
/// Sent as a cookie.
const COOKIE: &str = "tulip-in-a-cookie";
/// In the user part of a seed, and of the proxy's address.
const PASSWORD: &str = "tulip-password";
/// The value of a query.
const QUERY: &str = "tulip-in-a-query";

const TOWN: &str = r#"
[[host]]
pages = { count = 3, home_links = ["/private", "/broken", "/wall", "/cut", "/moved", "/no?token=tulip-in-a-query"] }
robots = "User-agent: *\nDisallow: /secret\n"
[[host.answer]]
path = "/private*"
headers = ["Set-Cookie: id=tulip-in-a-cookie"]
body = { html = "<title>plain</title><p>tulip-said-by-a-page</p><script>'tulip-said-by-a-page'</script>" }
[[host.answer]]
path = "/broken"
status = 500
body = { text = "trace: tulip-said-by-a-page" }
[[host.answer]]
path = "/no?token=tulip-in-a-query"
status = 403
body = { html = "<p>tulip-said-by-a-page</p>" }
[[host.answer]]
path = "/wall"
status = 403
headers = ["cf-mitigated: challenge"]
body = { html = "<p>tulip-said-by-a-page</p>" }
[[host.answer]]
path = "/cut"
body = { html = "<p>tulip-said-by-a-page</p>" }
ending = "truncated"
[[host.answer]]
path = "/moved"
status = 302
location = "/private?token=tulip-in-a-query"
body = { text = "tulip-said-by-a-page" }
"#;

/// Where a text stands in a database, but in bodies of pages.
fn places(db: &Connection, secret: &str) -> Vec<String> {
    let tables = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')";
    let mut tables = db.prepare(tables).unwrap();
    let tables: Vec<String> =
        tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut found = Vec::new();
    for table in tables {
        let mut rows = db.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let columns: Vec<String> = rows.column_names().map(String::from).collect();
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for (at, column) in columns.iter().enumerate() {
                let bytes = match row.get_ref(at).unwrap() {
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
                    _ => continue,
                };
                let holds = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
                if holds && (table.as_str(), column.as_str()) != ("pages", "body") {
                    found.push(format!("{table}.{column}"));
                }
            }
        }
    }
    found
}

#[track_caller]
fn absent(text: &str, secrets: &[&str], what: &str) {
    for secret in secrets {
        assert!(!text.contains(secret), "{secret} is in {what}:\n{text}");
    }
}

#[test]
fn what_pages_say_is_in_no_log_no_evidence_and_no_error() {
    let town = Town::new(Scene::read(TOWN).unwrap());
    std::fs::write(
        town.path("p.toml"),
        "preset = 'warehouse'\n[pace]\ndelay = '0s'\n[retry]\nmax = 1\ncurve.base = '100ms'\ncurve.cap = '200ms'\n",
    )
    .unwrap();
    let seed = town.url(0, "/").replace("http://", &format!("http://owner:{PASSWORD}@"));
    let ran = town.crawl(&[&seed, "--policy", "p.toml", "--json"]).ends(0);
    let everything = [SAID, COOKIE, PASSWORD, QUERY];
    absent(&ran.out, &everything, "the report");
    absent(&ran.err, &everything, "the log");
    let plain = town.crawl(&[&seed, "--policy", "p.toml", "--into", "again.db"]).ends(0);
    absent(&plain.out, &everything, "the report for people");
    absent(&plain.err, &everything, "the log for people");

    let db = town.db("crawl.db");
    let bodies = "SELECT count(*) FROM pages WHERE instr(body, 'tulip-said-by-a-page') > 0";
    let bodies: i64 = db.query_row(bodies, [], |row| row.get(0)).unwrap();
    assert!(bodies >= 2, "the secrets were there to be found: {bodies}");
    for file in [town.path("crawl.db"), town.path("state/curtsy/hosts.db")] {
        let db = Connection::open(&file).unwrap();
        for secret in [SAID, COOKIE, PASSWORD] {
            assert_eq!(places(&db, secret), [""; 0], "{secret} in {}", file.display());
        }
        // Addresses are what rows are about; what decided and why holds none of their values.
        let named = places(&db, QUERY);
        let fine =
            ["url", "final_url", "surt_key", "links", "to_url", "from_url", "follows", "headers"];
        let other: Vec<_> = named
            .iter()
            .filter(|place| {
                let column = place.split('.').nth(1).unwrap();
                !fine.contains(&column) && !place.starts_with("frontier")
            })
            .collect();
        assert!(other.is_empty(), "{other:?}");
    }
    for page in ["/private", "/broken", "/wall", "/cut", "/moved", "/"] {
        let why = town.run(&["why", &town.url(0, page)]).ends(0);
        absent(&(why.out + &why.err), &[SAID, COOKIE, PASSWORD], "an explanation");
        let why = town.run(&["why", &town.url(0, page), "--json"]).ends(0);
        absent(&(why.out + &why.err), &[SAID, COOKIE, PASSWORD], "an explanation for programs");
    }
}

#[test]
fn a_proxys_password_is_shown_nowhere() {
    let town = Town::new(Scene::plain(1, 2, 1, 200));
    // Nobody listens there: what goes wrong is told, and the password is not.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let proxy = format!("http://me:{PASSWORD}@127.0.0.1:{port}");
    let url = town.url(0, "/");
    let args = [&url, "--proxy", &proxy, "--policy", "audit", "--delay", "0s", "--patience", "0s"];
    for more in [&[][..], &["--json"]] {
        let ran = town.crawl(&[&args[..], more].concat());
        absent(&(ran.out + &ran.err), &[PASSWORD], "what the program says");
    }
    let db = town.db("crawl.db");
    assert_eq!(places(&db, PASSWORD), [""; 0]);
    let ledger = Connection::open(town.path("state/curtsy/hosts.db")).unwrap();
    assert_eq!(places(&ledger, PASSWORD), [""; 0]);
    let wrong = town.crawl(&[&url, "--proxy", &format!("gopher://me:{PASSWORD}@127.0.0.1:1")]);
    assert_ne!(wrong.code, Some(0));
    assert!(wrong.err.contains("gopher"), "{}", wrong.err);
    absent(&(wrong.out + &wrong.err), &[PASSWORD], "the refusal of a proxy");
    let wrong = town.crawl(&[&format!("http://me:{PASSWORD}@no host/")]).ends(2);
    assert!(wrong.err.contains("no host"), "{}", wrong.err);
    absent(&(wrong.out + &wrong.err), &[PASSWORD], "the refusal of a seed");
}
