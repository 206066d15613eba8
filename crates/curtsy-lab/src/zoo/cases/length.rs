//! Lies about where an answer ends.

use super::super::case::Expectation::{Error, Page};
use super::super::case::ZooCase;
use super::super::http::{answer, chunk, head, html, page};
use super::super::script::ZooScript;

pub(super) fn cases() -> Vec<ZooCase> {
    [lengths(), chunks(), surplus()].concat()
}

/// Content-Length.
fn lengths() -> Vec<ZooCase> {
    let says = |name, does, error, headers: &'static str| {
        ZooCase::new(name, does, Error(error))
            .home(move |_| ZooScript::say(format!("{}<p>five.", head(headers))).broken().close())
    };
    vec![
        says(
            "length-short",
            "Half of the body that was declared",
            "truncated",
            "Content-Length: 16\r\n",
        ),
        says("length-negative", "A length of -8", "malformed", "Content-Length: -8\r\n"),
        says(
            "length-2-64",
            "A length of 2^64",
            "malformed",
            "Content-Length: 18446744073709551616\r\n",
        ),
        says("length-plus", "A length of +8", "malformed", "Content-Length: +8\r\n"),
        says("length-hex", "A length of 0x8", "malformed", "Content-Length: 0x8\r\n"),
        says("length-word", "A length that is a word", "malformed", "Content-Length: eight\r\n"),
        says(
            "length-two",
            "Two lengths that differ",
            "malformed",
            "Content-Length: 8\r\nContent-Length: 9\r\n",
        ),
        says(
            "length-list",
            "Two lengths in one line that differ",
            "malformed",
            "Content-Length: 8, 9\r\n",
        ),
        says(
            "length-10-gb",
            "A declared length of 10 GB",
            "over_limit",
            "Content-Length: 10000000000\r\n",
        ),
        says(
            "length-2-63",
            "A declared length of 2^63 - 1",
            "over_limit",
            "Content-Length: 9223372036854775807\r\n",
        ),
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
    let with = |name, does, error, headers: &'static str| {
        ZooCase::new(name, does, Error(error)).home(move |_| {
            ZooScript::say(head(headers)).and(chunk(b"page")).and("0\r\n\r\n").broken().close()
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
        with(
            "transfer-gzip",
            "`Transfer-Encoding: gzip, chunked`",
            "malformed",
            "Transfer-Encoding: gzip, chunked\r\n",
        ),
        with(
            "transfer-twice",
            "`Transfer-Encoding: chunked, chunked`",
            "malformed",
            "Transfer-Encoding: chunked, chunked\r\n",
        ),
        with(
            "transfer-unknown",
            "`Transfer-Encoding: rot13`",
            "malformed",
            "Transfer-Encoding: rot13\r\n",
        ),
        ZooCase {
            expect: Page(200),
            because: "it is no coding (RFC 2616 §3.6): the body goes up to the close",
            ..with(
                "transfer-identity",
                "`Transfer-Encoding: identity` before chunks",
                "malformed",
                "Transfer-Encoding: identity\r\n",
            )
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
    let case = |name, does| ZooCase::new(name, does, Page(200)).requests(5);
    let next = |title: &str| {
        page(&format!("{title}</title><link rel=x><body><a href='/next'>next</a><title>"))
    };
    let poison = || {
        let body = page("POISON");
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    vec![
        case("surplus", "More bytes than declared, and the connection kept").answers(
            move |asked| match asked.path {
                "/" => Some(html(next("First")).and("and some more that nobody declared")),
                "/next" => Some(html(page("Second"))),
                _ => None,
            },
        ),
        case("smuggled", "A second answer behind the first, for the next request").answers(
            move |asked| match asked.path {
                "/" => Some(html(next("First")).and(poison())),
                "/next" => Some(html(page("Second"))),
                _ => None,
            },
        ),
        case("smuggled-late", "A second answer 50 ms behind the first").answers(move |asked| {
            match asked.path {
                "/" => {
                    let wait = super::super::script::ScriptStep::Wait(
                        std::time::Duration::from_millis(50),
                    );
                    Some(html(next("First")).then(wait).and(poison()))
                }
                "/next" => Some(html(page("Second"))),
                _ => None,
            }
        }),
        case("smuggled-in-404", "A second answer behind every 404").answers(
            move |asked| match asked.path {
                "/" => Some(html(next("First"))),
                "/next" => Some(html(page("Second"))),
                "/robots.txt" => None,
                _ => Some(
                    answer("404 Not Found", "Content-Type: text/html\r\n", page("Not here"))
                        .and(poison()),
                ),
            },
        ),
        case("smuggled-in-chunks", "A second answer behind the last chunk").answers(move |asked| {
            match asked.path {
                "/" => {
                    let head = head("Transfer-Encoding: chunked\r\n");
                    Some(
                        ZooScript::say(head)
                            .and(chunk(next("First").as_bytes()))
                            .and("0\r\n\r\n")
                            .and(poison()),
                    )
                }
                "/next" => Some(html(page("Second"))),
                _ => None,
            }
        }),
    ]
}
