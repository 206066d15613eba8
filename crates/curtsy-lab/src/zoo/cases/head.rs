//! Heads that are no heads, or too much of one.

use std::time::Duration;

use super::super::case::Expectation::{Error, Page};
use super::super::case::ZooCase;
use super::super::http::{answer, html, html_bytes, page};
use super::super::script::{ScriptStep, ZooScript};

pub(super) fn cases() -> Vec<ZooCase> {
    [floods(), lines(), statuses()].concat()
}

/// Too much.
fn floods() -> Vec<ZooCase> {
    let case = |name, does| ZooCase::new(name, does, Error("over_limit"));
    vec![
        case("header-flood", "Ten thousand headers").home(|_| {
            let many: String = (0..10_000).map(|n| format!("X-{n}: y\r\n")).collect();
            answer("200 OK", &many, page("Flood"))
        }),
        case("header-endless", "Headers without end, as fast as they go").home(|_| {
            ZooScript::say("HTTP/1.1 200 OK\r\n").endless("X-More: and more\r\n".repeat(100))
        }),
        case("header-megabyte", "One header of a megabyte").home(|_| {
            answer("200 OK", &format!("X-Long: {}\r\n", "y".repeat(1 << 20)), page("Long"))
        }),
        case("header-name-megabyte", "A header whose name has a megabyte")
            .home(|_| answer("200 OK", &format!("{}: y\r\n", "X".repeat(1 << 20)), page("Long"))),
        case("status-megabyte", "A reason phrase of a megabyte")
            .home(|_| answer(&format!("200 {}", "y".repeat(1 << 20)), "", page("Long"))),
        case("cookie-flood", "A thousand cookies of 1 KiB").home(|_| {
            let cookies: String =
                (0..1_000).map(|n| format!("Set-Cookie: c{n}={}\r\n", "y".repeat(1_024))).collect();
            answer("200 OK", &cookies, page("Cookies"))
        }),
        case("interim-endless", "103 Early Hints without end")
            .home(|_| ZooScript::new().endless(HINTS.repeat(100))),
        case("interim-slowly", "A 103 every 50 ms, without end")
            .home(|_| ZooScript::new().dripping(HINTS, Duration::from_millis(50))),
        case("interim-many", "Twenty times 100 Continue, and then a page").home(|_| {
            let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(20).into_bytes();
            ZooScript::say([&interim, answer("200 OK", "", page("At last")).first()].concat())
        }),
        ZooCase::new("interim-few", "Three 103 Early Hints, and then a page", Page(200)).home(
            |_| ZooScript::say([HINTS.repeat(3).into_bytes(), html_bytes("Hinted")].concat()),
        ),
    ]
}

/// Lines that can't be read.
fn lines() -> Vec<ZooCase> {
    let case = |name, does| ZooCase::new(name, does, Error("malformed"));
    let says = |name, does, text: &'static [u8]| {
        case(name, does).home(move |_| ZooScript::say(text).broken().close())
    };
    vec![
        says("garbage", "Noise instead of an answer", b"\x7f\x00\xfe\xed\xfa\xce\r\n\r\n\x00\x01\x02"),
        says("http-0-9", "A page without a head, as in HTTP/0.9", b"<html><title>Old</title><p>no head</html>\r\n\r\n"),
        says("http-9", "HTTP/9.9", b"HTTP/9.9 200 OK\r\nContent-Length: 4\r\n\r\npage"),
        says("icy", "`ICY 200 OK`, as radio streams say", b"ICY 200 OK\r\nContent-Length: 4\r\n\r\npage"),
        says("status-word", "A status that is a word", b"HTTP/1.1 fine OK\r\nContent-Length: 4\r\n\r\npage"),
        says("status-99", "Status 99", b"HTTP/1.1 99 Low\r\nContent-Length: 4\r\n\r\npage"),
        says("status-2000", "Status 2000", b"HTTP/1.1 2000 OK\r\nContent-Length: 4\r\n\r\npage"),
        says("header-no-colon", "A header without a colon", b"HTTP/1.1 200 OK\r\nno colon here\r\nContent-Length: 4\r\n\r\npage"),
        says("header-space", "A blank before the colon of a header", b"HTTP/1.1 200 OK\r\nContent-Length : 4\r\n\r\npage"),
        says("header-nul", "A NUL in a header", b"HTTP/1.1 200 OK\r\nX-Nul: a\0b\r\nContent-Length: 4\r\n\r\npage"),
        says("header-no-name", "A header without a name", b"HTTP/1.1 200 OK\r\n: empty\r\nContent-Length: 4\r\n\r\npage"),
        says("header-folded", "A header in two lines, as of old", b"HTTP/1.1 200 OK\r\nX-Long: a\r\n b\r\nContent-Length: 4\r\n\r\npage"),
        says("switching", "101 Switching Protocols, although the request had no Upgrade", b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: smtp\r\nConnection: upgrade\r\n\r\n220 hello\r\n"),
        ZooCase::new("empty-lines",
            "Empty lines without end",
            Error("over_limit"),
        ).home(|_| ZooScript::new().endless("\r\n".repeat(1_000))),
        ZooCase::new("bare-lf", "Lines that end in LF alone", Page(200)).home(|_| {
            let page = page("Lean");
            ZooScript::say(format!("HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: {}\n\n{page}", page.len()))
        })
        .because("RFC 9112 §2.2 lets a reader take LF alone for an end"),
        ZooCase::new("header-broken-utf8", "Headers with bytes that are no UTF-8", Page(200)).home(|_| {
            let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Raw: \xff\xfe\xc0\r\nETag: \"\x80\"\r\nServer: \xed\xa0\x80\r\nContent-Length: 27\r\n\r\n";
            ZooScript::say([&head[..], b"<title>odd bytes</title>ok."].concat())
        }),
        ZooCase::new("header-twice", "Content types that contradict each other", Page(200)).home(|_| {
            answer("200 OK", "Content-Type: text/html\r\nContent-Type: video/mp4\r\n", page("Twice"))
        }),
    ]
}

/// Statuses.
fn statuses() -> Vec<ZooCase> {
    let case = |name, does, expect| ZooCase::new(name, does, expect);
    let status = |name, does, code, reason: &'static str| {
        case(name, does, Page(code)).home(move |_| {
            answer(&format!("{code} {reason}"), "Content-Type: text/html\r\n", page(reason))
        })
    };
    vec![
        status("status-999", "Status 999, as some say to bots", 999, "Denied")
            .because("an answer, and friction: `unusual`"),
        status("status-600", "Status 600", 600, "Odd")
            .because("an answer, and friction: `unusual`"),
        case("status-no-reason", "A status line without a reason", Page(200)).home(|_| {
            let page = page("Short");
            ZooScript::say(format!(
                "HTTP/1.1 200\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{page}",
                page.len()
            ))
        }),
        case("no-content-with-body", "204 with a body, and the connection kept", Page(204))
            .home(|_| ZooScript::say("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello")),
        case("not-modified-unasked", "304, though nothing is held", Page(304))
            .home(|_| ZooScript::say("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n"))
            .because("an answer without content; there is nothing that it could confirm"),
        case(
            "partial-unasked",
            "206 with a part, although the request had no Range",
            Error("truncated"),
        )
        .home(|_| {
            answer(
                "206 Partial Content",
                "Content-Type: text/html\r\nContent-Range: bytes 0-9/100\r\n",
                "<p>a part.",
            )
        }),
        status("payment", "402 Payment Required", 402, "Payment Required"),
        status("teapot", "418", 418, "I'm a teapot"),
        case("http-1-0", "HTTP/1.0 without a length", Page(200)).home(|_| {
            ZooScript::say(format!(
                "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n{}",
                page("Old")
            ))
            .close()
        }),
        case("early-answer", "Answers in two pieces, the head byte by byte, at once", Page(200))
            .home(|_| {
                let script = html(page("Pieces"));
                let bytes = script.first().to_vec();
                let mut pieces = ZooScript::new();
                for piece in bytes.chunks(7) {
                    pieces = pieces.then(ScriptStep::Say(piece.into()));
                }
                pieces.status(200)
            }),
    ]
}

const HINTS: &str = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
