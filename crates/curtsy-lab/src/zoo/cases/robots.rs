//! robots.txt as a weapon.

use std::sync::OnceLock;
use std::time::Duration;

use super::super::bomb::{Bomb, gzip};
use super::super::case::Expectation::{Forbidden, NoRobots, Page, Parked};
use super::super::case::{Deadline, Expectation, ZooCase};
use super::super::http::{answer, html, page, redirect, robots};
use super::super::script::{ScriptStep, ZooScript};

pub(super) fn cases() -> Vec<ZooCase> {
    [texts(), failures(), redirects()].concat()
}

fn case(name: &'static str, does: &'static str, expect: Expectation) -> ZooCase {
    ZooCase::new(name, does, expect)
}

/// Texts.
fn texts() -> Vec<ZooCase> {
    let made = |name, does, expect, text: fn() -> String| {
        let kept = OnceLock::<ZooScript>::new();
        case(name, does, expect).robots(move |_| kept.get_or_init(|| robots(text())).clone())
    };
    let says = |name, does, expect, text: &'static [u8]| {
        case(name, does, expect).robots(move |_| robots(text))
    };
    vec![
        made("robots-5-mb", "5 MB, and only the last line forbids the page", Page(200), || {
            format!("User-agent: *\n{}Disallow: /\n", "Disallow: /private/and/more\n".repeat(180_000))
        })
        .because("the first 500 KiB count, RFC 9309 §2.5"),
        made("robots-5-mb-first", "5 MB, and the first line forbids the page", Forbidden, || {
            format!("User-agent: *\nDisallow: /\n{}", "Disallow: /private/and/more\n".repeat(180_000))
        })
        .requests(1),
        made("robots-patterns", "Patterns that make matchers with backtracking slow", Page(200), || {
            let stars = "/*a".repeat(800);
            format!("User-agent: *\n{}", format!("Disallow: {stars}b$\n").repeat(200))
        })
        .requests(5),
        made("robots-20k-rules", "Twenty thousand rules", Page(200), || {
            (0..20_000).fold("User-agent: *\n".to_owned(), |text, n| text + &format!("Disallow: /{n}/*/x$\n"))
        }),
        made("robots-15k-agents", "Fifteen thousand groups for others, and ours at the end", Forbidden, || {
            let others = (0..15_000).fold(String::new(), |text, n| text + &format!("User-agent: b{n}\nAllow: /\n"));
            format!("{others}User-agent: *\nDisallow: /\n")
        })
        .requests(1),
        made("robots-long-line", "A rule of 400 KB", Page(200), || {
            format!("User-agent: *\nDisallow: /{}\nAllow: /\n", "x".repeat(400_000))
        }),
        says("robots-nul", "NULs between its letters", Forbidden, b"User-agent: *\nDisallow: /\0\0\nAllow: /x\0\n").requests(1),
        says("robots-broken-utf8", "Bytes that are no UTF-8", Forbidden, b"\xff\xfe\nUser-agent: *\nDisallow: /\xff\xfe\nDisallow: /\n").requests(1),
        says("robots-mark", "A byte-order mark before the first line", Forbidden, b"\xef\xbb\xbfUser-agent: *\nDisallow: /\n").requests(1),
        says("robots-cr", "Lines that end in CR alone", Forbidden, b"User-agent: *\rDisallow: /\r").requests(1),
        says("robots-binary", "Noise", Page(200), &[0xa7; 4_000]).because("no rules are in it, so nothing is forbidden"),
        case("robots-html", "A login page in HTML", Page(200))
            .robots(|_| html("<!doctype html><title>Log in</title><form action=/login><input name=user></form>"))
            .because("no rules are in it, so nothing is forbidden; it is flagged"),
        case("robots-html-rule", "HTML with a rule in it", Forbidden)
            .robots(|_| html("<html><pre>\nUser-agent: *\nDisallow: /\n</pre>"))
            .requests(1)
            .because("lines are read under any content type"),
        case("robots-gzip-file", "A gzip file without a coding", Page(200))
            .robots(|_| robots(gzip(b"User-agent: *\nDisallow: /\n")))
            .because("nobody unpacks what is not said to be packed"),
        says("robots-delay-nan", "Crawl-delays that are no numbers", Page(200), b"User-agent: *\nCrawl-delay: NaN\nCrawl-delay: -5\nCrawl-delay: 10s\nCrawl-delay: inf\n"),
        says("robots-delay-huge", "A Crawl-delay of thirty years", Parked, b"User-agent: *\nCrawl-delay: 1e9\n")
            .requests(1)
            .because("never shortened: the host is parked"),
    ]
}

/// No text.
fn failures() -> Vec<ZooCase> {
    let none = |name, does, error| case(name, does, NoRobots(error)).requests(1);
    let status = |name, does, error, status: &'static str| {
        none(name, does, error)
            .robots(move |_| answer(status, "Content-Type: text/plain\r\n", "no"))
    };
    let fine = |name, does, status: &'static str| {
        case(name, does, Page(200))
            .robots(move |_| answer(status, "Content-Type: text/plain\r\n", "no"))
    };
    vec![
        status("robots-500", "500", "500", "500 Oops"),
        status("robots-503", "503", "503", "503 Busy"),
        none("robots-429", "429 with `Retry-After: 3600`", "429")
            .robots(|_| answer("429 Slow Down", "Retry-After: 3600\r\n", "")),
        fine("robots-404", "404", "404 Not Found"),
        fine("robots-403", "403", "403 Forbidden").because("RFC 9309 §2.3.1.3; `robots.forbidden = \"deny\"` makes it a no"),
        fine("robots-451", "451", "451 Unavailable"),
        none("robots-bomb", "A gzip bomb", "over_limit").robots(|_| packed(&Bomb::Gzip.of(4 << 30))).because(
            "not its beginning: what bursts is no text that an owner wrote",
        ),
        none("robots-coding", "Says gzip and sends text", "coding").robots(|_| packed(b"User-agent: *\nAllow: /\n")),
        none("robots-gzip-cut", "gzip that ends in its middle", "truncated").robots(|_| {
            let whole = gzip(b"User-agent: *\nAllow: /\nDisallow: /private/\nDisallow: /more/\n");
            packed(&whole[..whole.len() / 2])
        }),
        none("robots-cut", "Half of the length that was declared", "truncated").robots(|_| {
            ZooScript::say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nUser-agent: *\nAllow: /\n").broken().close()
        }),
        none("robots-chunk-cut", "Ends without its last chunk", "truncated").robots(|_| {
            ZooScript::say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n16\r\nUser-agent: *\nAllow: /\r\n").broken().close()
        }),
        none("robots-reset", "Resets the connection in its middle", "reset").robots(|_| {
            ZooScript::say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nUser-agent: *\nAllow: /\n")
                .then(ScriptStep::Wait(Duration::from_millis(50)))
                .reset()
        }),
        none("robots-silence", "Never answers", "first_byte_timeout")
            .robots(|_| ZooScript::new().silence())
            .by(Deadline::FirstByte),
        none("robots-drip", "A byte every 200 ms", "too_slow")
            .robots(|_| {
                ZooScript::say("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n").dripping("U", Duration::from_millis(200))
            })
            .by(Deadline::Speed),
        none("robots-garbage", "Noise instead of HTTP", "malformed").robots(|_| ZooScript::say(&[0xa7; 100][..]).broken().close()),
        case("robots-endless", "A text without end, as fast as it goes", Forbidden)
            .robots(|_| {
                ZooScript::say("HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /\n").endless("Allow: /x\n".repeat(1_000))
            })
            .requests(1)
            .by(Deadline::Whole)
            .because("its beginning counts, RFC 9309 §2.5"),
    ]
}

/// Elsewhere.
fn redirects() -> Vec<ZooCase> {
    let open = |name, does| case(name, does, Page(200)).because("as 404, RFC 9309 §2.3.1.2");
    vec![
        open("robots-loop", "Redirects to itself")
            .requests(9)
            .robots(|_| redirect("302 Found", "/robots.txt")),
        open("robots-chain", "Redirects without end").requests(9).answers(|asked| {
            let hop = asked.hop("/robots.txt", "/r/")?;
            Some(redirect("302 Found", &format!("/r/{}", hop + 1)))
        }),
        open("robots-nowhere", "A redirect without a Location")
            .robots(|_| answer("302 Found", "", "")),
        open("robots-javascript", "Redirects to javascript:")
            .robots(|_| redirect("302 Found", "javascript:x")),
        case("robots-elsewhere", "Redirects to another host's, which forbids nothing", Page(200))
            .robots(|asked| redirect("301 Moved", &format!("{}/robots.txt", asked.elsewhere))),
        case(
            "robots-inside",
            "Redirects to an address that the crawler may not dial",
            NoRobots("guard"),
        )
        .requests(1)
        .robots(|_| redirect("302 Found", "http://127.99.0.1:8089/robots.txt")),
        case("robots-to-page", "Redirects to a page that says nothing about robots", Page(200))
            .requests(5)
            .robots(|_| redirect("302 Found", "/welcome"))
            .at("/welcome", |_| html(page("Welcome"))),
    ]
}

fn packed(body: &[u8]) -> ZooScript {
    answer("200 OK", "Content-Type: text/plain\r\nContent-Encoding: gzip\r\n", body)
}
