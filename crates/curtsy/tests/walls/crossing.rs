//! Nothing crosses from one origin to another: no cookie, no credential, no validator, no header of the user's own.
//!
//! Every site hands out whatever a client could carry on, and sends it to another origin in every way there is. All requests are looked at.

use crate::entrances::{endings, names};
use crate::namespace::{PROXY, World, inside};
use crate::sites::{Answer, Request};

/// What a request may have.
const PLAIN: [&str; 7] = [
    "host",
    "user-agent",
    "accept",
    "accept-encoding",
    "from",
    "if-none-match",
    "if-modified-since",
];
const CODES: [u16; 7] = [300, 301, 302, 303, 305, 307, 308];
/// In whatever is handed out.
const SECRET: &str = "tulip";

fn site(request: &Request) -> Answer {
    let host = request.host.as_str();
    let mut answer = match (host, request.target.trim_start_matches(&format!("http://{host}"))) {
        ("a.pub.test", "/robots.txt") => {
            Answer::moved(302, "http://tulip:tulip@b.pub.test/rules?of=a")
        }
        (_, "/robots.txt" | "/rules?of=a") => {
            Answer::text("User-agent: *\nSitemap: http://tulip:tulip@b.pub.test/map.xml\n")
        }
        (_, "/map.xml") => Answer::text(
            "<urlset><url><loc>http://tulip:tulip@a.pub.test/listed</loc></url></urlset>",
        ),
        ("a.pub.test", "/moves") if is_asked_again(request) => {
            Answer::moved(302, "http://b.pub.test/moved")
        }
        ("a.pub.test", path) if path.starts_with("/to/") => {
            let code = path.trim_start_matches("/to/").parse().unwrap();
            Answer::moved(code, &format!("//tulip:tulip@b.pub.test/from/{code}"))
        }
        ("a.pub.test", "/port") => Answer::moved(302, "http://a.pub.test:8080/port"),
        ("a.pub.test", "/login") => Answer::status(401),
        _ => Answer::page("<a href='http://tulip:tulip@b.pub.test/linked'>x</a>"),
    };
    let port = request.at.port();
    answer.headers.extend([
        format!("ETag: \"of-{host}-{port}\""),
        "Last-Modified: Tue, 01 Sep 2026 00:00:00 GMT".to_owned(),
        "Cache-Control: max-age=0".to_owned(),
        format!("Set-Cookie: {SECRET}=1; Domain=pub.test; Path=/"),
        format!("Set-Cookie2: {SECRET}=1"),
        format!("WWW-Authenticate: Basic realm=\"{SECRET}\""),
        format!("Authorization: Bearer {SECRET}"),
        format!("X-Auth-Token: {SECRET}"),
        format!("Accept-CH: Sec-CH-UA, {SECRET}"),
        format!("Authentication-Info: nextnonce={SECRET}"),
    ]);
    answer
}

/// A page that we hold, asked for with what its site gave us.
fn is_asked_again(request: &Request) -> bool {
    request.head.to_lowercase().contains("if-none-match")
}

fn seeds(world: &World) {
    let hosts =
        ["a.pub.test", "b.pub.test"].map(|host| format!("[host.\"{host}\"]\ndelay = '0s'\n"));
    let policy = "preset = 'careful'\npatience = '20s'\n[cache]\nmode = 'validators'\n";
    world.write("policy.toml", &format!("{policy}{}", hosts.concat()));
    let mut seeds: Vec<String> =
        CODES.iter().map(|code| format!("http://a.pub.test/to/{code}")).collect();
    for path in ["/", "/moves", "/port", "/login"] {
        seeds.push(format!("http://a.pub.test{path}"));
    }
    seeds.push("http://b.pub.test/own".into());
    world.write("seeds.txt", &seeds.join("\n"));
}

/// Looks at every request; gives how many there were.
#[track_caller]
fn look(asked: &[Request]) -> usize {
    for request in asked {
        let mut lines = request.head.lines();
        let first = lines.next().unwrap();
        assert!(!first.contains(SECRET) && !first.contains('@'), "{first}");
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").unwrap();
            let by_proxy = request.at.ip() == PROXY && name == "proxy-authorization";
            assert!(PLAIN.contains(&name) || by_proxy, "{line} in {}", request.head);
            assert!(!value.contains(SECRET), "{line} in {}", request.head);
            if name == "if-none-match" {
                let own = format!("\"of-{}-", request.host);
                assert!(value.starts_with(&own), "{line} went to {}", request.host);
            }
        }
    }
    asked.len()
}

const ARGS: [&str; 6] = ["--from", "seeds.txt", "--policy", "policy.toml", "--scope", "everywhere"];

#[test]
fn nothing_crosses_from_origin_to_origin() {
    inside("crossing::nothing_crosses_from_origin_to_origin", names, site, |world| {
        seeds(world);
        world.crawl(&ARGS).ends(0);
        let first = look(&world.sites.heard());
        // Once more with what is held: the page that moved leads to another origin, which must not get the validators of the first.
        world.crawl(&[&ARGS[..], &["--again"]].concat()).ends(0);
        let asked = world.sites.heard();
        let second = look(&asked) - first;
        let seen = |host: &str, target: &str| {
            asked.iter().any(|request| request.host == host && request.target == target)
        };
        let again = |request: &Request| is_asked_again(request);
        assert!(asked.iter().any(again), "validators go to whom they are from");
        for target in ["/rules?of=a", "/map.xml", "/from/302", "/linked", "/moved", "/own"] {
            assert!(seen("b.pub.test", target), "{target} was asked for on the other origin");
        }
        assert!(seen("a.pub.test", "/listed"));
        assert!(asked.iter().any(|request| request.at.port() == 8080));
        eprintln!("crossing: {first} requests and {second} with validators");
        world.assert_walls_held();
    });
}

#[test]
fn a_proxys_login_goes_to_the_proxy_and_nothing_crosses_behind_it() {
    let name = "crossing::a_proxys_login_goes_to_the_proxy_and_nothing_crosses_behind_it";
    inside(name, names, site, |world| {
        seeds(world);
        let proxy = format!("http://me:pass@{PROXY}:3128");
        world.crawl(&[&ARGS[..], &["--proxy", &proxy]].concat()).ends(0);
        let asked = world.sites.heard();
        look(&asked);
        let login =
            |request: &Request| request.head.contains("proxy-authorization: Basic bWU6cGFzcw==");
        assert!(asked.iter().all(|request| request.at.ip() == PROXY && login(request)));
        assert!(endings(&world.db("crawl.db"), "true")["fetched 200 -"] > 5);
        eprintln!("crossing behind a proxy: {} requests", asked.len());
    });
}
