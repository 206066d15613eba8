//! Connections that are slow, silent, or cut.

use std::time::Duration;

use super::super::case::Expectation::{Error, NoRobots, Page};
use super::super::case::{Deadline, ZooCase};
use super::super::http::{answer, chunk, head, html, page};
use super::super::script::{ScriptStep, ZooScript};

pub(super) fn cases() -> Vec<ZooCase> {
    [connections(), drips(), cuts()].concat()
}

/// Before any request.
fn connections() -> Vec<ZooCase> {
    let case = |name, does, error| ZooCase::new(name, does, NoRobots(error));
    vec![
        case("accept-silence", "Accepts connections and never says a word", "first_byte_timeout")
            .opens(|| ZooScript::new().silence())
            .by(Deadline::FirstByte),
        case("accept-close", "Closes every connection at once", "reset")
            .opens(|| ZooScript::new().close()),
        case("accept-reset", "Resets every connection at once", "reset")
            .or(NoRobots("connect"))
            .opens(|| ZooScript::new().reset()),
        case(
            "accept-half-close",
            "Closes its side of every connection at once, and listens",
            "reset",
        )
        .opens(|| ZooScript::new().then(ScriptStep::HalfClose)),
        case("speaks-first", "Says something before it is asked", "malformed")
            .opens(|| ZooScript::say("220 mail.example.org ESMTP\r\n"))
            .or(NoRobots("reset"))
            .because("a line that speaks unasked is given up, or what it said is no answer"),
        case("answers-unasked", "Sends a whole answer before it is asked", "reset")
            .or(Page(200))
            .because("bytes that arrive just before the request look like its answer; bytes that follow are dropped").opens(|| {
            answer("200 OK", "Content-Type: text/plain\r\n", "User-agent: *\nAllow: /\n")
        }),
    ]
}

/// Slowly.
fn drips() -> Vec<ZooCase> {
    let case = |name, does, error| ZooCase::new(name, does, Error(error)).by(Deadline::Speed);
    let chunked = || ZooScript::say(head("Transfer-Encoding: chunked\r\n"));
    vec![
        case(
            "silence",
            "Answers robots.txt, and says nothing about its page",
            "first_byte_timeout",
        )
        .home(|_| ZooScript::new().silence())
        .by(Deadline::FirstByte),
        case("head-drip", "A status line, byte by byte, every 200 ms", "too_slow").home(|_| {
            let line = format!("HTTP/1.1 200 {}\r\n", "OK ".repeat(500));
            ZooScript::new().then(ScriptStep::Drip(line.into_bytes().into(), SLOWLY)).broken()
        }),
        case("headers-drip", "Headers without end, one every 200 ms", "too_slow")
            .home(|_| ZooScript::say("HTTP/1.1 200 OK\r\n").dripping("X-Slow: yes\r\n", SLOWLY)),
        case("body-drip", "A body of a declared megabyte, a byte every 200 ms", "too_slow")
            .home(|_| ZooScript::say(head("Content-Length: 1000000\r\n")).dripping("y", SLOWLY)),
        case("chunk-drip", "Chunks of one byte, one every 200 ms", "too_slow")
            .home(move |_| chunked().dripping(chunk(b"y"), SLOWLY)),
        case("chunk-size-drip", "The size of a chunk, a zero every 200 ms", "too_slow")
            .home(move |_| chunked().dripping("0", SLOWLY))
            .or(Error("malformed")),
        case("chunk-extension-drip", "An extension of a chunk, byte by byte", "too_slow")
            .home(move |_| chunked().and("5;").dripping("x", SLOWLY)),
        case(
            "trailers-drip",
            "A whole body, and trailers without end, one every 200 ms",
            "too_slow",
        )
        .home(move |_| {
            chunked().and(chunk(page("All").as_bytes())).and("0\r\n").dripping("X-T: 1\r\n", SLOWLY)
        }),
        case("body-stall", "Half of a body, and then nothing", "too_slow")
            .home(|_| ZooScript::say(head("Content-Length: 5000\r\n")).and(page("Half")).silence()),
        case("body-stall-chunked", "One chunk, and then nothing", "too_slow")
            .home(move |_| chunked().and(chunk(page("Half").as_bytes())).silence()),
        case("body-just-fast-enough", "A body without end, at 4 KiB a second", "whole_timeout")
            .home(move |_| chunked().dripping(chunk(&[b'y'; 1024]), Duration::from_millis(250)))
            .by(Deadline::Whole),
        case("endless-close", "A body without end, up to the close", "over_limit")
            .home(|_| ZooScript::say(head("")).endless("and on and on ".repeat(1_000)))
            .by(Deadline::AtOnce),
        case("endless-chunked", "A body without end, in chunks", "over_limit")
            .home(move |_| chunked().endless(chunk("and on and on ".repeat(1_000).as_bytes())))
            .by(Deadline::AtOnce),
        case("endless-tiny-chunks", "A body without end, in chunks of one byte", "over_limit")
            .home(move |_| chunked().endless(chunk(b"y").repeat(1_000)))
            .by(Deadline::Whole)
            .or(Error("whole_timeout"))
            .because("by its bytes, or by its time where they come slowly"),
        ZooCase::new(
            "slow-and-fine",
            "A page in ten pieces, one every 150 ms: slow, and nothing wrong",
            Page(200),
        )
        .home(|_| {
            let body = "a slow page ".repeat(100);
            let mut script = ZooScript::say(head("Content-Length: 12000\r\n"));
            for _ in 0..10 {
                script =
                    script.then(ScriptStep::Wait(Duration::from_millis(150))).and(body.as_bytes());
            }
            script
        })
        .by(Deadline::Speed),
    ]
}

/// In the middle.
fn cuts() -> Vec<ZooCase> {
    let case = |name, does, error| ZooCase::new(name, does, Error(error));
    vec![
        case("close-unanswered", "Reads the request and closes", "reset")
            .home(|_| ZooScript::new().broken().close()),
        case("reset-unanswered", "Reads the request and resets the connection", "reset")
            .home(|_| ZooScript::new().reset()),
        case("half-close-unanswered", "Reads the request, closes its side, and listens", "reset")
            .home(|_| ZooScript::new().broken().then(ScriptStep::HalfClose)),
        case("head-cut", "Closes in the middle of its head", "reset")
            .home(|_| ZooScript::say("HTTP/1.1 200 OK\r\nContent-Ty").broken().close()),
        case("head-reset", "Resets the connection in the middle of its head", "reset")
            .home(|_| ZooScript::say("HTTP/1.1 200 OK\r\nContent-Ty").reset()),
        case("body-reset", "Resets the connection in the middle of a body", "reset").home(|_| {
            ZooScript::say(head("Content-Length: 5000\r\n"))
                .and(page("Half"))
                .then(ScriptStep::Wait(Duration::from_millis(100)))
                .reset()
        }),
        case(
            "body-half-close",
            "Closes its side in the middle of a body, and listens",
            "truncated",
        )
        .home(|_| {
            ZooScript::say(head("Content-Length: 5000\r\n"))
                .and(page("Half"))
                .broken()
                .then(ScriptStep::HalfClose)
        }),
        ZooCase::new(
            "closes-after-each",
            "Closes after every answer without a word about it",
            Page(200),
        )
        .answers(|asked| match asked.path {
            "/robots.txt" => Some(super::super::http::robots("User-agent: *\nAllow: /\n").close()),
            "/" => Some(html(page("Closed")).close()),
            _ => Some(answer("404 Not Found", "", "").close()),
        }),
    ]
}

const SLOWLY: Duration = Duration::from_millis(200);
