//! What pages say stays in the rows' bodies: it is in no log, no evidence, no error, no report. Neither are passwords, cookies and tokens.
//!
//! Fifty secrets are planted, each with a text of its own. Where each may be found afterwards:
//!
//! | planted in | may be in |
//! |---|---|
//! | bodies, whatever their status | `body` of a row with status 2xx; a robots.txt, as a whole, in the ledger |
//! | cookies and headers that let somebody in | nothing |
//! | user and password of any URL, the proxy's password | nothing |
//! | values of a query | columns that hold URLs (`ADDRESSES`), and the queue |

use curtsy_lab::sites::Scene;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::harness::{Ran, Town};

/// What every secret begins with.
const MARK: &str = "tulip-";

/// In the user part of a seed, and of the proxy's address.
const PASSWORD: &str = "tulip-password";

/// Columns that hold URLs as they are known by: the values of queries are in these and in no other.
const ADDRESSES: [&str; 17] = [
    "metadata",
    "evidence",
    "url",
    "final_url",
    "surt_key",
    "links",
    "links_nofollow",
    "frames",
    "canonical",
    "refresh",
    "to_url",
    "from_url",
    "follows",
    "headers",
    "sitemap",
    "origin",
    "record",
];

/// Said by pages: text, scripts, comments, addresses, answers that are no pages.
const SAID: usize = 14;
/// Headers that let somebody in.
const HEADERS: [&str; 14] = [
    "Set-Cookie: id=@; HttpOnly",
    "Set-Cookie: other=@",
    "Set-Cookie2: id=@",
    "Cookie: id=@",
    "Authorization: Bearer @",
    "Proxy-Authorization: Basic @",
    "Authentication-Info: nextnonce=@",
    "X-Auth-Token: @",
    "X-Api-Key: @",
    "X-CSRF-Token: @",
    "X-Session-Id: @",
    "X-Amz-Security-Token: @",
    "X-Access-Token: @",
    "X-Goog-IAP-JWT-Assertion: @",
];
/// URLs with a login: a seed, links, frames, a redirect, a canonical, a refresh, a sitemap, a `Sitemap:` line.
const LOGINS: usize = 10;
/// Values of queries, in the same places.
const QUERIES: usize = 10;

fn said(n: usize) -> String {
    format!("{MARK}said-{n}.")
}
fn login(n: usize) -> String {
    format!("{MARK}login-{n}.")
}
fn query(n: usize) -> String {
    format!("{MARK}query-{n}.")
}

/// All that is planted, but for what queries hold; and those. Fifty, with the proxy's two passwords.
fn planted() -> (Vec<String>, Vec<String>) {
    let header = |n| format!("{MARK}header-{n}.");
    let mut hidden: Vec<String> =
        (0..SAID).map(said).chain((0..HEADERS.len()).map(header)).collect();
    hidden.extend((0..LOGINS).map(login));
    hidden.push(PASSWORD.to_owned());
    hidden.push("dHVsaXAtcGFzc3dvcmQ".to_owned());
    let queries: Vec<String> = (0..QUERIES).map(query).collect();
    assert_eq!(hidden.len() + queries.len(), 50);
    (hidden, queries)
}

/// A URL of the site with a login and a query, both secret.
fn secret_url(path: &str, n: usize) -> String {
    format!("http://me:{}@HOST{path}?token={}&n={n}", login(n), query(n))
}

/// The town: one host, whose address is in its own pages.
fn scene() -> String {
    let headers: Vec<String> = HEADERS
        .iter()
        .enumerate()
        .map(|(n, line)| format!("\"{}\"", line.replace('@', &format!("{MARK}header-{n}."))))
        .collect();
    let said: Vec<String> = (0..SAID).map(said).collect();
    let html = format!(
        "<title>plain</title><link rel=canonical href='{}'><meta http-equiv=refresh content='9;url={}'><p>{}</p><script>'{}'</script><!-- {} --> \
         <a href='mailto:{}@example.org'>x</a> <b>{}@example.org</b><textarea>{}</textarea><meta name=description content='{}'> \
         <a href='{}'>x</a><a rel=nofollow href='{}'>x</a><iframe src='{}'></iframe>",
        secret_url("/canonical", 0),
        secret_url("/refresh", 1),
        said[0],
        said[1],
        said[2],
        said[3],
        said[4],
        said[5],
        said[6],
        secret_url("/linked", 2),
        secret_url("/nofollow", 3),
        secret_url("/frame", 4),
    );
    let town = format!(
        r#"
[[host]]
address = "127.0.0.77"
pages = {{ count = 3, home_links = ["/private", "/broken", "/wall", "/cut", "/moved", "/json", "/no?token={query5}", "/lost?token={query8}&n=8"] }}
robots = "User-agent: *\nDisallow: /secret\nSitemap: {line}\n"
[[host.answer]]
path = "/private*"
headers = [{headers}]
body = {{ html = """{html}""" }}
[[host.answer]]
path = "/broken"
status = 500
headers = [{headers}]
body = {{ text = "trace: {said7}" }}
[[host.answer]]
path = "/no?token={query5}"
status = 403
body = {{ html = "<p>{said8}</p>" }}
[[host.answer]]
path = "/wall"
status = 403
headers = ["cf-mitigated: challenge"]
body = {{ html = "<p>{said9}</p>" }}
[[host.answer]]
path = "/cut"
body = {{ html = "<p>{said10}</p>" }}
ending = "truncated"
[[host.answer]]
path = "/json"
headers = ["Content-Type: application/json"]
body = {{ text = '{{"token": "{said11}"}}' }}
[[host.answer]]
path = "/map.xml*"
body = {{ text = "<urlset><!-- {said12} --><url><loc>{listed}</loc></url></urlset>" }}
[[host.answer]]
path = "/lost?*"
status = 302
location = "{lost}"
headers = ['Link: <{lost}>; rel=next']
[[host.answer]]
path = "/moved"
status = 302
location = "{moved}"
headers = [{headers}]
body = {{ text = "{said13}" }}
"#,
        headers = headers.join(", "),
        query5 = query(5),
        query8 = query(8),
        lost = secret_url("/lost", 8),
        line = secret_url("/map.xml", 6),
        listed = secret_url("/listed", 7).replace('&', "&amp;"),
        moved = secret_url("/private", 8),
        said7 = said[7],
        said8 = said[8],
        said9 = said[9],
        said10 = said[10],
        said11 = said[11],
        said12 = said[12],
        said13 = said[13],
    );
    town.replace("HOST", "127.0.0.77:{port}")
}

/// Where a text stands in a database, but in bodies.
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
                // Bodies are kept here, and robots.txt, which is one.
                let body = [("pages", "body"), ("robots", "text")];
                if holds && !body.contains(&(table.as_str(), column.as_str())) {
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

/// Fails if a secret is in what the program says.
#[track_caller]
fn says_nothing(ran: &Ran, what: &str) {
    for text in [&ran.out, &ran.err] {
        assert!(!text.contains(MARK), "a secret is in {what}:\n{text}");
    }
}

/// Fails if a secret is in a row of a file, but where it may be.
fn check_file(text: &str, what: &str, records: &[serde_json::Value]) {
    let (hidden, queries) = planted();
    assert!(hidden.iter().any(|secret| text.contains(secret)), "bodies are in {what}");
    for record in records {
        for (name, value) in record.as_object().unwrap() {
            let value = value.to_string();
            let hides = |secret: &&String| name != "body" && value.contains(secret.as_str());
            let found = hidden.iter().find(hides);
            assert!(found.is_none(), "{found:?} in {name} of {what}: {value}");
            let named = queries.iter().find(|secret| value.contains(secret.as_str()));
            let fine = name == "body" || ADDRESSES.contains(&name.as_str());
            assert!(named.is_none() || fine, "{named:?} in {name} of {what}: {value}");
        }
    }
}

#[test]
fn fifty_secrets_are_in_no_log_no_evidence_and_no_error() {
    let town = Town::new(Scene::read(&scene()).unwrap());
    let host = town.url(0, "").replace("http://", "");
    std::fs::write(
        town.path("p.toml"),
        "preset = 'warehouse'\n[pace]\ndelay = '0s'\n[retry]\nmax = 1\ncurve.base = '100ms'\ncurve.cap = '200ms'\n",
    )
    .unwrap();
    let with_login = secret_url("/private", 9).replace("HOST", &host);
    let (scheme, rest) = with_login.split_once("://").unwrap();
    let seed = format!("{scheme}://{}", rest.split_once('@').unwrap().1);
    let home = town.url(0, "/");
    let args = [seed.as_str(), &home, "--policy", "p.toml", "--scope", "everywhere"];
    let crawl = |more: &[&str]| town.crawl(&[&args[..], more].concat()).ends(0);
    says_nothing(&crawl(&["--json"]), "the report");
    says_nothing(&crawl(&["--into", "again.db"]), "the report for people");
    says_nothing(&crawl(&["--into", "quiet.db", "--quiet"]), "a quiet crawl");
    says_nothing(&crawl(&["--into", "pages.jsonl", "--json"]), "the report beside a file");
    says_nothing(&crawl(&["--into", "pages.csv"]), "the report beside a file");

    let (hidden, queries) = planted();
    let db = town.db("crawl.db");
    let bodies = format!("SELECT count(*) FROM pages WHERE instr(body, '{MARK}said') > 0");
    let bodies: i64 = db.query_row(&bodies, [], |row| row.get(0)).unwrap();
    assert!(bodies >= 4, "the secrets were there to be found: {bodies}");
    let mut seen = 0;
    for file in ["crawl.db", "again.db", "quiet.db", "state/curtsy/hosts.db"] {
        let db = Connection::open(town.path(file)).unwrap();
        for secret in &hidden {
            assert_eq!(places(&db, secret), [""; 0], "{secret} in {file}");
        }
        for secret in &queries {
            // Addresses are what rows are about; what decided and why holds none of their values.
            let named = places(&db, secret);
            seen += named.len();
            let fine = |place: &&String| {
                let (table, column) = place.split_once('.').unwrap();
                !ADDRESSES.contains(&column) && !table.starts_with("frontier")
            };
            let other: Vec<_> = named.iter().filter(fine).collect();
            assert!(other.is_empty(), "{secret} in {file}: {other:?}");
        }
    }
    assert!(seen > 50, "queries were followed: {seen}");
    let lost =
        "SELECT count(*) FROM pages WHERE headers LIKE '%location%' AND error = 'lost_redirect'";
    let lost: i64 = db.query_row(lost, [], |row| row.get(0)).unwrap();
    assert_eq!(lost, 1, "an address that was not followed is kept, without its login");
    let lines = std::fs::read_to_string(town.path("pages.jsonl")).unwrap();
    let records: Vec<_> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    check_file(&lines, "JSON lines", &records);
    let csv = std::fs::read_to_string(town.path("pages.csv")).unwrap();
    // Pages have the rest in their own text.
    let elsewhere = |secret: &&String| !secret.contains("said") && !secret.contains("login");
    for secret in hidden.iter().filter(elsewhere) {
        assert!(!csv.contains(secret.as_str()), "{secret} in CSV");
    }
    for page in ["/private", "/broken", "/wall", "/cut", "/moved", "/"] {
        for more in [&[][..], &["--json"]] {
            let args = ["why", &town.url(0, page)];
            let why = town.run(&[&args[..], more].concat());
            let said = why.out + &why.err;
            let found = hidden.iter().find(|secret| said.contains(secret.as_str()));
            assert!(found.is_none(), "{found:?} in an explanation:\n{said}");
        }
    }
    // What can't be read is told without its values; nor is a seed read that holds a password.
    for wrong in [
        with_login.as_str(),
        "http://me:tulip-password@no host/?x=tulip-query",
        "ftp://h/?x=tulip-query",
        "http://h:tulip/?tulip-query",
    ] {
        let ran = town.crawl(&[wrong]).ends(2);
        assert!(ran.err.contains("is no URL that can be crawled"), "{}", ran.err);
        assert!(!ran.err.contains("tulip-"), "{}", ran.err);
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
