//! Redirects that lead in circles, away, or nowhere.

use super::super::bomb::Bomb;
use super::super::case::Expectation::{Error, LostRedirect, Page};
use super::super::case::ZooCase;
use super::super::http::{answer, html, page, redirect};
use super::super::script::ZooScript;

pub(super) fn cases() -> Vec<ZooCase> {
    [circles(), places(), bodies()].concat()
}

fn lost(name: &'static str, does: &'static str) -> ZooCase {
    ZooCase::new(name, does, LostRedirect)
}

/// Without end.
fn circles() -> Vec<ZooCase> {
    // The home page and five hops, beside robots.txt and two places for a sitemap.
    let most = 9;
    let chain = |case: ZooCase, hops, status: &'static str| {
        case.requests(most).answers(move |asked| {
            let hop = asked.hop("/", "/hop/")?;
            let next = || redirect(status, &format!("/hop/{}", hop + 1));
            Some(if hop < hops { next() } else { html(page("At last")) })
        })
    };
    vec![
        lost("redirect-self", "Redirects its page to itself")
            .requests(most)
            .home(|asked| redirect("302 Found", &format!("{}/", asked.base))),
        lost("redirect-loop", "Two pages that redirect to each other")
            .requests(most)
            .home(|_| redirect("301 Moved", "/other"))
            .at("/other", |_| redirect("301 Moved", "/")),
        chain(lost("redirect-chain", "Twenty redirects, and then a page"), 20, "307 On"),
        lost("redirect-growing", "Redirects to an address that is twice as long each time")
            .requests(most)
            .answers(|asked| match asked.path {
                "/robots.txt" | "/sitemap.xml" | "/sitemap_index.xml" => None,
                path => {
                    Some(redirect("302 Found", &format!("{0}/x{0}", path.trim_end_matches('/'))))
                }
            }),
        lost("redirect-counter", "Redirects to a new query each time").requests(most).answers(
            |asked| match asked.path {
                "/robots.txt" | "/sitemap.xml" | "/sitemap_index.xml" => None,
                path => Some(redirect(
                    "302 Found",
                    &format!("/?n={}", path.len() + asked.before as usize),
                )),
            },
        ),
        chain(
            ZooCase::new("redirect-five", "Five redirects, and then a page", Page(200)),
            5,
            "308 On",
        ),
    ]
}

/// Where to.
fn places() -> Vec<ZooCase> {
    let to =
        |name, does, to: &'static str| lost(name, does).home(move |_| redirect("302 Found", to));
    vec![
        to("redirect-file", "Redirects to file:", "file:///etc/passwd"),
        to("redirect-ftp", "Redirects to ftp:", "ftp://ftp.example.org/"),
        to("redirect-javascript", "Redirects to javascript:", "javascript:alert(1)"),
        to("redirect-data", "Redirects to data:", "data:text/html,hello"),
        to(
            "redirect-gopher",
            "Redirects to gopher:, at a database's port",
            "gopher://127.66.0.1:6379/_FLUSHALL",
        ),
        to("redirect-no-host", "Redirects to http: without a host", "http://"),
        to("redirect-bad-host", "Redirects to a host that is none", "http://[::1"),
        to("redirect-bad-port", "Redirects to port 99999", "http://127.66.0.1:99999/"),
        lost("redirect-nowhere", "A redirect without a Location")
            .home(|_| answer("302 Found", "", page("Where?")))
            .because("or the answer as it is; never a page with status 200"),
        lost("redirect-empty", "A redirect with an empty Location")
            .requests(9)
            .home(|_| redirect("302 Found", ""))
            .because("an empty reference is the page itself: a loop"),
        ZooCase::new("redirect-megabyte", "A Location of a megabyte", Error("over_limit"))
            .home(|_| redirect("302 Found", &format!("/{}", "y".repeat(1 << 20)))),
        lost("redirect-60-kb", "A Location of 60 KB")
            .home(|_| redirect("302 Found", &format!("/{}", "y".repeat(60_000)))),
        ZooCase::new(
            "redirect-cr",
            "A Location with a bare CR, and a header behind it",
            Error("malformed"),
        )
        .home(|_| redirect("302 Found", "/a\rX-Evil: yes")),
        ZooCase::new("redirect-crlf", "A Location with %0d%0a and a header behind it", Page(404))
            .requests(5)
            .home(|_| redirect("302 Found", "/a%0d%0aX-Evil:%20yes"))
            .because("escaped, it is an ordinary path, and it is requested escaped"),
        ZooCase::new("redirect-broken-utf8", "A Location that is no UTF-8", Page(404))
            .requests(5)
            .home(|_| {
                ZooScript::say(
                    &b"HTTP/1.1 302 Found\r\nLocation: /\xff\xfe\r\nContent-Length: 0\r\n\r\n"[..],
                )
            }),
        ZooCase::new("redirect-two", "Two Locations that differ", Page(200))
            .requests(5)
            .home(|_| answer("302 Found", "Location: /one\r\nLocation: /two\r\n", ""))
            .at("/one", |_| html(page("One of two")))
            .at("/two", |_| html(page("One of two")))
            .because("the first counts"),
        ZooCase::new("redirect-elsewhere", "Redirects to another host, which behaves", Page(200))
            .home(|asked| redirect("301 Moved", &format!("{}/", asked.elsewhere)))
            .because("one row, with `final_url`; the other host is asked at its own pace"),
        ZooCase::new(
            "redirect-login",
            "Redirects to another host, with a user and a password in the address",
            Page(200),
        )
        .home(|asked| {
            let to = asked.elsewhere.replacen("http://", "http://admin:secret@", 1);
            redirect("302 Found", &format!("{to}/"))
        })
        .because("the login is dropped and never sent"),
        ZooCase::new(
            "redirect-inside",
            "Redirects to an address that the crawler may not dial",
            Error("guard"),
        )
        .home(|_| redirect("302 Found", "http://127.99.0.1:8089/secret"))
        .because("if it may dial 127.66.0.0/16 and nothing else of this machine"),
        ZooCase::new("redirect-inside-octal", "The same in octal digits", Error("guard"))
            .home(|_| redirect("302 Found", "http://0177.0143.0.1:8089/secret")),
    ]
}

/// What comes with it.
fn bodies() -> Vec<ZooCase> {
    let case = |name, does| ZooCase::new(name, does, Page(200)).requests(5);
    let with = |name, does, home: fn() -> ZooScript| {
        case(name, does).home(move |_| home()).at("/there", |_| html(page("There")))
    };
    vec![
        with("redirect-bomb", "A redirect with a gzip bomb for a body", || {
            let head = "HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Encoding: gzip\r\n\r\n";
            ZooScript::say(head).and(Bomb::Gzip.of(4 << 30)).broken().close()
        }),
        with("redirect-endless", "A redirect with a body without end", || {
            ZooScript::say("HTTP/1.1 302 Found\r\nLocation: /there\r\n\r\n")
                .endless("on and on ".repeat(1_000))
        }),
        with("redirect-truncated", "A redirect with a body that is cut", || {
            ZooScript::say(
                "HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 500\r\n\r\ncut",
            )
            .broken()
            .close()
        }),
        with("redirect-ok", "Status 200 with a Location", || {
            answer("200 OK", "Content-Type: text/html\r\nLocation: /never\r\n", page("Here"))
        }),
    ]
}
