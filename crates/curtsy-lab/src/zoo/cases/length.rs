//! Lies about where an answer ends.

use std::time::Duration;

use super::super::case::Expectation::{Error, Page};
use super::super::case::ZooCase;
use super::super::http::{answer, chunk, head, html, html_bytes, page};
use super::super::script::{ScriptStep, ZooScript};

pub(super) fn cases() -> Vec<ZooCase> {
    [lengths(), chunks(), surplus()].concat()
}

/// Content-Length.
fn lengths() -> Vec<ZooCase> {
    let says = |name, does, error, length: &'static str| {
        let headers = format!("Content-Length: {length}\r\n");
        ZooCase::new(name, does, Error(error))
            .home(move |_| ZooScript::say(format!("{}<p>five.", head(&headers))).broken().close())
    };
    vec![
        says("length-short", "Half of the body that was declared", "truncated", "16"),
        says("length-negative", "A length of -8", "malformed", "-8"),
        says("length-2-64", "A length of 2^64", "malformed", "18446744073709551616"),
        says("length-plus", "A length of +8", "malformed", "+8"),
        says("length-hex", "A length of 0x8", "malformed", "0x8"),
        says("length-word", "A length that is a word", "malformed", "eight"),
        says("length-two", "Two lengths that differ", "malformed", "8\r\nContent-Length: 9"),
        says("length-list", "Two lengths in one line that differ", "malformed", "8, 9"),
        says("length-10-gb", "A declared length of 10 GB", "over_limit", "10000000000"),
        says("length-2-63", "A declared length of 2^63 - 1", "over_limit", "9223372036854775807"),
        ZooCase::new("length-and-chunked",
            "A length and chunks at once",
            Error("malformed"),
        )
        .home(|_| {
            let head = head("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n");
            ZooScript::say(head).and(chunk(b"page")).and("0\r\n\r\n")
        }),
        ZooCase::new("video-10-gb",
            "A video of 10 GB, which is sent in full",
            Error("over_limit"),
        )
        .home(|_| {
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 10000000000\r\n\r\n";
            ZooScript::say(head).endless(vec![0; 64 << 10])
        }),
    ]
}

/// Transfer-Encoding.
fn chunks() -> Vec<ZooCase> {
    let says = |name, does, error, body: &'static str| {
        ZooCase::new(name, does, Error(error)).home(move |_| {
            ZooScript::say(format!("{}{body}", head("Transfer-Encoding: chunked\r\n")))
                .broken()
                .close()
        })
    };
    let with = |name, does, coding: &'static str| {
        let head = head(&format!("Transfer-Encoding: {coding}\r\n"));
        ZooCase::new(name, does, Error("malformed")).home(move |_| {
            ZooScript::say(&*head).and(chunk(b"page")).and("0\r\n\r\n").broken().close()
        })
    };
    vec![
        says("chunk-cut", "Ends in the middle of a chunk", "truncated", "a\r\nhalf"),
        says("chunk-no-last", "Ends without the last chunk", "truncated", "4\r\npage\r\n"),
        says(
            "chunk-trailer-cut",
            "Ends in the middle of its trailers",
            "truncated",
            "4\r\npage\r\n0\r\nX-Sum: 1",
        ),
        says(
            "chunk-size-word",
            "A chunk whose size is a word",
            "malformed",
            "four\r\npage\r\n0\r\n\r\n",
        ),
        says("chunk-size-negative", "A chunk of -4", "malformed", "-4\r\npage\r\n0\r\n\r\n"),
        says("chunk-size-empty", "A chunk without a size", "malformed", "\r\npage\r\n0\r\n\r\n"),
        says(
            "chunk-size-2-64",
            "A chunk of 2^64 bytes",
            "malformed",
            "10000000000000000\r\npage\r\n0\r\n\r\n",
        ),
        says(
            "chunk-size-2-63",
            "A chunk of 2^63 bytes, of which four come",
            "truncated",
            "8000000000000000\r\npage",
        ),
        says(
            "chunk-too-long",
            "A chunk that is longer than its size",
            "malformed",
            "4\r\npages and pages\r\n0\r\n\r\n",
        ),
        says("chunk-size-0x", "A chunk of 0x4", "malformed", "0x4\r\npage\r\n0\r\n\r\n"),
        ZooCase::new("chunk-extensions", "An extension of a chunk without end", Error("malformed"))
            .home(|_| {
                ZooScript::say(head("Transfer-Encoding: chunked\r\n"))
                    .and("4;")
                    .endless("x=y;".repeat(1_000))
            }),
        ZooCase::new(
            "chunk-extension-flood",
            "Chunks of one byte, each with an extension of 10 KB",
            Error("malformed"),
        )
        .home(|_| {
            let one = format!("1;{}\r\ny\r\n", "x".repeat(10_000));
            ZooScript::say(head("Transfer-Encoding: chunked\r\n")).endless(one)
        }),
        ZooCase::new("trailers-endless", "Trailers without end", Error("malformed")).home(|_| {
            let script = ZooScript::say(head("Transfer-Encoding: chunked\r\n"))
                .and(chunk(b"page"))
                .and("0\r\n");
            script.endless("X-Trailer: and more\r\n".repeat(100))
        }),
        with("transfer-gzip", "`Transfer-Encoding: gzip, chunked`", "gzip, chunked"),
        with("transfer-twice", "`Transfer-Encoding: chunked, chunked`", "chunked, chunked"),
        with("transfer-unknown", "`Transfer-Encoding: rot13`", "rot13"),
        ZooCase {
            expect: Page(200),
            because: "it is no coding (RFC 2616 §3.6): the body goes up to the close",
            ..with("transfer-identity", "`Transfer-Encoding: identity` before chunks", "identity")
        },
        ZooCase::new("transfer-http-1-0", "Chunks in HTTP/1.0", Error("malformed")).home(|_| {
            let head =
                "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n";
            ZooScript::say(head).and(chunk(b"page")).and("0\r\n\r\n").broken().close()
        }),
    ]
}

/// What comes behind an answer.
fn surplus() -> Vec<ZooCase> {
    let first = || page("First</title><link rel=x><body><a href='/next'>next</a><title>");
    let with = |case: ZooCase, home: ZooScript| {
        let case = case.requests(5).home(move |_| home.clone());
        case.at("/next", |_| html(page("Second")))
    };
    let case = |name, does, home| with(ZooCase::new(name, does, Page(200)), home);
    let poison = || html_bytes("POISON");
    let wait = ScriptStep::Wait(Duration::from_millis(50));
    let not_here = answer("404 Not Found", "Content-Type: text/html\r\n", page("Not here"));
    let poisoned_404 = not_here.and(poison());
    vec![
        case(
            "surplus",
            "More bytes than declared, and the connection kept",
            html(first()).and("and some more that nobody declared"),
        ),
        case(
            "smuggled",
            "A second answer behind the first, for the next request",
            html(first()).and(poison()),
        ),
        case(
            "smuggled-late",
            "A second answer 50 ms behind the first",
            html(first()).then(wait).and(poison()),
        ),
        with(
            ZooCase::new("smuggled-in-404", "A second answer behind every 404", Page(200))
                .answers(move |asked| (asked.path != "/robots.txt").then(|| poisoned_404.clone())),
            html(first()),
        ),
        case(
            "smuggled-in-chunks",
            "A second answer behind the last chunk",
            ZooScript::say(head("Transfer-Encoding: chunked\r\n"))
                .and(chunk(first().as_bytes()))
                .and("0\r\n\r\n")
                .and(poison()),
        ),
    ]
}
