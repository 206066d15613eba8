//! Credentials for a host of one's own: they reach exactly that origin, and are found nowhere else.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::harness::{Ran, Town, texts};

/// A site that keeps every request to the letter.
struct Recorder {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl Recorder {
    /// A site that wants `want` in a request, if anything; `answer` gives the rest of the answer by path.
    fn start(want: Option<&'static str>, answer: fn(&str) -> Option<String>) -> Recorder {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&seen);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let request = head(&mut stream);
                let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                if path == "/end" {
                    return;
                }
                let welcome = want.is_none_or(|want| request.contains(want));
                notes.lock().unwrap().push(request);
                let rest = match (welcome, answer(&path)) {
                    (false, _) => "401 Unauthorized\r\nContent-Length: 0\r\n\r\n".to_owned(),
                    (_, Some(rest)) => rest,
                    _ => "404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
                };
                let _ = stream.write_all(
                    format!("HTTP/1.1 {}", rest.replacen("\r\n", "\r\nConnection: close\r\n", 1))
                        .as_bytes(),
                );
            }
        });
        Recorder { port, seen, thread: Some(thread) }
    }

    fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Recorder {
    #[expect(clippy::disallowed_methods, reason = "the test itself, to end its own server")]
    fn drop(&mut self) {
        if let Ok(mut end) = TcpStream::connect(("127.0.0.1", self.port)) {
            let _ = end.write_all(b"GET /end HTTP/1.1\r\n\r\n");
        }
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut piece = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(n) => head.extend_from_slice(&piece[..n]),
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

fn page(html: &str) -> String {
    format!("200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{html}", html.len())
}

const TOKEN: &str = "crocus-token-1";
const PREVIEW: &str = "crocus-preview-2";
const COOKIE: &str = "sid=crocus-cookie-3";
const PASSWORD: &str = "crocus-password-4";
/// `me:crocus-password-4`.
const BASIC: &str = "bWU6Y3JvY3VzLXBhc3N3b3JkLTQ=";
/// What every secret has in it.
const MARK: &str = "crocus-";

/// Fails if a secret is in a file of the folder, but in those where it was put.
fn search(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            search(&path);
        } else if path.file_name().is_none_or(|name| name != "preview") {
            let bytes = std::fs::read(&path).unwrap();
            for secret in [MARK, BASIC, "Y3JvY3Vz"] {
                let found = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
                assert!(!found, "{secret} is in {}", path.display());
            }
        }
    }
}

#[track_caller]
fn says_nothing(ran: &Ran) {
    for secret in [MARK, BASIC] {
        assert!(!ran.out.contains(secret) && !ran.err.contains(secret), "{}\n{}", ran.out, ran.err);
    }
}

struct Staging {
    town: Town,
    own: Recorder,
    other: Recorder,
}

impl Staging {
    fn new() -> Staging {
        let other =
            Recorder::start(None, |path| (path == "/elsewhere").then(|| page("<p>elsewhere")));
        let own = Recorder::start(Some(TOKEN), |path| {
            Some(match path {
                "/" => page(
                    "<title>Staging</title><p>Welcome. <a href=/a>a</a> <a href=/b>b</a> <a href=/out>out</a>",
                ),
                "/a" => page("<title>A</title><p>one"),
                "/b" => "302 Found\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n".to_owned(),
                _ => return None,
            })
        });
        Staging { town: Town::empty(), own, other }
    }

    /// The crawl with this policy section, these variables and these flags.
    fn crawl(&self, section: &str, variables: &[(&str, &str)], more: &[&str]) -> Ran {
        let (own, other) = (self.own.port, self.other.port);
        let policy = format!(
            "preset = 'warehouse'\n[pace]\ndelay = '0s'\n[host.\"127.0.0.1\"]\n{section}\n"
        );
        std::fs::write(self.town.path("p.toml"), policy.replace("PORT", &own.to_string())).unwrap();
        let home = format!("http://127.0.0.1:{own}/");
        let elsewhere = format!("http://127.0.0.1:{other}/elsewhere");
        let args = ["crawl", &home, &elsewhere, "--allow-net", "127.0.0.0/8", "--policy", "p.toml"];
        let mut program = self.town.program(&[&args[..], more].concat());
        Ran::of(program.envs(variables.iter().copied()).output().unwrap())
    }
}

#[test]
fn credentials_reach_their_one_origin_and_are_found_nowhere_else() {
    let staging = Staging::new();
    let town = &staging.town;
    std::fs::write(town.path("preview"), format!("{PREVIEW}\n")).unwrap();
    let preview = town.path("preview").display().to_string();
    let section = format!(
        "origin = 'http://127.0.0.1:PORT'\ncookie = {{ env = 'OWN_COOKIE' }}\n\
         header = {{ Authorization = {{ env = 'OWN_TOKEN' }}, X-Preview = {{ file = '{preview}' }} }}"
    );
    let bearer = format!("Bearer {TOKEN}");
    let variables = [("OWN_TOKEN", bearer.as_str()), ("OWN_COOKIE", COOKIE)];
    for more in [
        &["--json"][..],
        &["--into", "again.db"],
        &["--into", "rows.jsonl"],
        &["--into", "rows.csv", "--quiet"],
    ] {
        let ran = staging.crawl(&section, &variables, more).ends(0);
        says_nothing(&ran);
    }
    let own = staging.own.requests();
    assert!(own.iter().any(|request| request.starts_with("GET /robots.txt")), "{own:?}");
    assert!(own.iter().any(|request| request.starts_with("GET /b")), "{own:?}");
    for request in &own {
        let lower = request.to_ascii_lowercase();
        for line in [
            format!("authorization: bearer {TOKEN}"),
            format!("x-preview: {PREVIEW}"),
            format!("cookie: {COOKIE}"),
        ] {
            assert_eq!(lower.matches(&line).count(), 1, "{request}");
        }
        assert!(lower.contains("user-agent: curtsy/"), "who asks can't be changed: {request}");
    }
    let other = staging.other.requests();
    assert!(other.iter().any(|request| request.starts_with("GET /elsewhere")), "{other:?}");
    for request in &other {
        let lower = request.to_ascii_lowercase();
        let clean = !["crocus", "authorization", "cookie", "x-preview"]
            .iter()
            .any(|word| lower.contains(word));
        assert!(clean, "the same host on another port is another origin: {request}");
    }
    search(&town.folder);
    let rows = "SELECT count(*) FROM pages WHERE access = 'own' AND url LIKE '%/a'";
    let rows: i64 = town.db("again.db").query_row(rows, [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
    let url = format!("http://127.0.0.1:{}/a", staging.own.port);
    let why = town.run(&["why", &url, "--in", "again.db"]).ends(0);
    assert!(
        why.out.contains("asked for with the credentials that the policy has for this host"),
        "{}",
        why.out
    );
    says_nothing(&why);
    for args in [&["policy", "show", "p.toml"][..], &["policy", "check", "p.toml"]] {
        says_nothing(&town.run(args));
    }
}

/// What was asked for with credentials is this crawl's alone, and what others were shown is not what they show: neither goes through the page
/// cache that all crawls of a user share.
#[test]
fn credentials_and_the_shared_page_cache_keep_apart() {
    fn lasting(path: &str) -> Option<String> {
        let lasting = "\r\nCache-Control: max-age=3600\r\nETag: \"1\"\r\n";
        let page = page("<title>Page</title><p>daffodil");
        matches!(path, "/" | "/elsewhere").then(|| page.replacen("\r\n", lasting, 1))
    }
    let (own, other) = (Recorder::start(Some(TOKEN), lasting), Recorder::start(None, lasting));
    let staging = Staging { town: Town::empty(), own, other };
    let town = &staging.town;
    let section = format!(
        "[host.\"127.0.0.1\"]\norigin = 'http://127.0.0.1:{}'\nheader = {{ X-Token = {{ env = 'OWN_TOKEN' }} }}\n",
        staging.own.port
    );
    let crawl = |section: &str, into: &str| {
        let policy = format!("preset = 'careful'\n[pace]\ndelay = '10ms'\n{section}");
        std::fs::write(town.path("p.toml"), policy).unwrap();
        let home = format!("http://127.0.0.1:{}/", staging.own.port);
        let elsewhere = format!("http://127.0.0.1:{}/elsewhere", staging.other.port);
        let args = ["crawl", &home, &elsewhere, "--allow-net", "127.0.0.0/8", "--no-sitemaps"];
        let args = [&args[..], &["--policy", "p.toml", "--into", into]].concat();
        Ran::of(town.program(&args).env("OWN_TOKEN", TOKEN).output().unwrap()).ends(0);
        let rows = "SELECT group_concat(decision || ' ' || coalesce(source, '-'), ', ')
            FROM (SELECT * FROM pages WHERE kind = 'page' ORDER BY url NOT LIKE '%/')";
        let rows: String = town.db(into).query_row(rows, [], |row| row.get(0)).unwrap();
        let times = |site: &Recorder, line| {
            site.requests().iter().filter(|request| request.starts_with(line)).count()
        };
        (rows, times(&staging.own, "GET / "), times(&staging.other, "GET /elsewhere "))
    };
    let fetched = || "fetched network, fetched network".to_owned();
    assert_eq!(crawl(&section, "a.db"), (fetched(), 1, 1));
    assert_eq!(crawl(&section, "b.db"), (fetched(), 2, 2), "nothing was put there");
    let refused = "login_wall network, fetched network".to_owned();
    assert_eq!(crawl("", "c.db"), (refused, 3, 3), "nor for whoever has no credentials");
    assert_eq!(
        crawl(&section, "d.db"),
        (fetched(), 4, 4),
        "what others put there is not looked up"
    );
    let others = "login_wall network, cached shared".to_owned();
    assert_eq!(crawl("", "e.db"), (others, 5, 4), "they share theirs");
    assert_eq!(crawl(&section, "a.db").1, 4 + 1, "a crawl's own file is its own");
    let held = "SELECT count(*) FROM pages WHERE fresh_until IS NOT NULL AND access = 'own'";
    let held: i64 = town.db("a.db").query_row(held, [], |row| row.get(0)).unwrap();
    assert_eq!(held, 1);
    search(&town.folder);
}

#[test]
fn without_their_secret_nothing_is_sent() {
    let staging = Staging::new();
    let origin = "origin = 'http://127.0.0.1:PORT'\n";
    let login = "basic_auth = { user = 'me', password = { env = 'OWN_PW' } }";
    let proxy = ["--proxy", "http://127.0.0.1:9"];
    let long = "x".repeat(9000);
    // A setting, the variables, further arguments, and what the message has to say.
    type Case<'c> = (&'c str, &'c [(&'c str, &'c str)], &'c [&'c str], &'c str);
    let cases: [Case<'_>; 9] = [
        (
            login,
            &[],
            &[],
            "`host.\"127.0.0.1\".basic_auth.password` needs the variable `OWN_PW`, which is not set",
        ),
        (login, &[("OWN_PW", "")], &[], "basic_auth.password` is empty"),
        (
            "cookie = { env = 'OWN_PW' }",
            &[("OWN_PW", "crocus-a\r\nX: y")],
            &[],
            "cookie` has a character that no header may have",
        ),
        (
            "cookie = { env = 'OWN_PW' }",
            &[("OWN_PW", &long)],
            &[],
            "cookie` has more than 8192 bytes",
        ),
        (
            "header = { X-P = { file = '/nowhere/at/all' } }",
            &[],
            &[],
            "header.X-P` needs the file `/nowhere/at/all`, which can't be read",
        ),
        (login, &[("OWN_PW", PASSWORD)], &proxy, "the proxy would read what is sent there"),
        ("header = { X-P = 'crocus-inline' }", &[], &[], "never the value itself"),
        (
            "header = { Host = { env = 'OWN_PW' } }",
            &[("OWN_PW", PASSWORD)],
            &[],
            "not those of framing",
        ),
        (
            "header = { User-Agent = { env = 'OWN_PW' } }",
            &[("OWN_PW", PASSWORD)],
            &[],
            "not those of framing",
        ),
    ];
    for (section, variables, more, said) in cases {
        let ran = staging.crawl(&format!("{origin}{section}"), variables, more).ends(2);
        assert!(ran.err.contains(said), "{section}: {}", ran.err);
        says_nothing(&ran);
    }
    let far = staging.crawl("origin = 'http://127.0.0.1:PORT'\ncookie = { env = 'A' }\n[host.\"staging.test\"]\norigin = 'http://staging.test'\ncookie = { env = 'A' }", &[], &[]).ends(2);
    assert!(far.err.contains("sends credentials without encryption"), "{}", far.err);
    assert!(staging.own.requests().is_empty() && staging.other.requests().is_empty());
}

#[test]
fn a_wrong_password_is_told_as_such() {
    let staging = Staging::new();
    let login = "origin = 'http://127.0.0.1:PORT'\nbasic_auth = { user = 'me', password = { env = 'OWN_PW' } }";
    let ran = staging.crawl(login, &[("OWN_PW", PASSWORD)], &[]).ends(5);
    says_nothing(&ran);
    assert!(
        ran.err.contains("the site refused the credentials that the policy has"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("could not be reached"), "{}", ran.err);
    let own = staging.own.requests();
    assert!(!own.is_empty(), "the site was asked");
    assert!(
        own.iter().all(|request| request.contains(&format!("authorization: Basic {BASIC}"))),
        "{own:?}"
    );
    search(&staging.town.folder);
}

#[test]
fn a_service_takes_no_credentials() {
    let town = Town::empty();
    std::fs::write(
        town.path("p.toml"),
        "preset = 'survey'\n[host.\"staging.test\"]\ncookie = { env = 'A' }\n",
    )
    .unwrap();
    let ran = town.run(&["serve", "--policy", "p.toml"]);
    if ran.err.contains("unrecognized subcommand") {
        return;
    }
    let ran = ran.ends(2);
    assert!(
        ran.err.contains("the policy has credentials for `https://staging.test`"),
        "{}",
        ran.err
    );
}

/// A 401 to a wrong password was taken for "the site has no robots.txt", and the right password then fetched what it forbids.
#[test]
fn a_refused_password_is_not_an_absent_robots_txt() {
    let town = Town::empty();
    let site = Recorder::start(Some(TOKEN), |path| {
        Some(match path {
            "/robots.txt" => page("User-agent: *\nDisallow: /a\n"),
            "/" => page("<a href=/a>a</a><a href=/b>b</a>"),
            "/a" | "/b" => page("<p>one"),
            _ => return None,
        })
    });
    let origin = format!("http://127.0.0.1:{}", site.port);
    let policy = format!(
        "preset = 'careful'\n[host.\"127.0.0.1\"]\ndelay = '0s'\norigin = '{origin}'\nheader = {{ X-Staging = {{ env = 'STAGING' }} }}\n"
    );
    std::fs::write(town.path("p.toml"), policy).unwrap();
    let url = format!("{origin}/");
    let crawl = |token: &str| {
        let args = ["crawl", &url, "--policy", "p.toml", "--no-sitemaps", "--into", "s.db"];
        let mut program = town.program(&args);
        Ran::of(program.env("STAGING", token).output().unwrap())
    };
    let refused = crawl("wrong").ends(5);
    assert!(refused.err.contains("refused the credentials"), "{}", refused.err);
    crawl(TOKEN).ends(0);
    let db = town.db("s.db");
    let decisions = texts(&db, "SELECT url || ' ' || decision FROM pages ORDER BY url");
    let expected = [("", "fetched"), ("a", "refused"), ("b", "fetched")];
    assert_eq!(decisions, expected.map(|(path, word)| format!("{url}{path} {word}")));
}
