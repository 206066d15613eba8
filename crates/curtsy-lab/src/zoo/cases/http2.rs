//! HTTP/2 by raw frames (RFC 9113).

use std::time::Duration;

use super::super::case::Expectation::Error;
use super::super::case::{Deadline, ZooCase, ZooProtocol, ZooRequest};
use super::super::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, PUSH_PROMISE, RST_STREAM,
    SETTINGS, WINDOW_UPDATE, block, field, frame,
};
use super::super::http::page;
use super::super::script::{ScriptStep, ZooScript};

pub(super) fn cases() -> Vec<ZooCase> {
    [floods(), faults(), bodies()].concat()
}

fn case(name: &'static str, does: &'static str, error: &'static str) -> ZooCase {
    ZooCase::new(name, does, Error(error)).speaks(ZooProtocol::Http2)
}

/// Frames without end.
fn floods() -> Vec<ZooCase> {
    let flood = |name, does, bytes: fn(&ZooRequest<'_>) -> Vec<u8>| {
        case(name, does, "over_limit")
            .home(move |asked| ZooScript::new().endless(bytes(asked).repeat(100)))
            .by(Deadline::FirstByte)
    };
    vec![
        case(
            "h2-continuation-flood",
            "A header block in CONTINUATION frames without end",
            "over_limit",
        )
        .home(|asked| {
            let more = field("x-more", &"y".repeat(1_000));
            ZooScript::say(frame(HEADERS, 0, asked.stream, &block(200))).endless(frame(
                CONTINUATION,
                0,
                asked.stream,
                &more,
            ))
        }),
        case("h2-continuation-empty", "Empty CONTINUATION frames without end", "over_limit").home(
            |asked| {
                ZooScript::say(frame(HEADERS, 0, asked.stream, &block(200)))
                    .endless(frame(CONTINUATION, 0, asked.stream, &[]).repeat(100))
            },
        ),
        flood("h2-ping-flood", "Pings without end", |_| frame(PING, 0, 0, &[7; 8])),
        flood("h2-settings-flood", "Settings without end", |_| {
            frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100])
        }),
        flood("h2-window-flood", "Window updates without end", |_| {
            frame(WINDOW_UPDATE, 0, 0, &1u32.to_be_bytes())
        }),
        flood("h2-unknown-flood", "Frames of an unknown kind without end", |_| {
            frame(0xee, 0, 0, &[0; 100])
        }),
        flood("h2-interim-flood", "103 Early Hints without end", |asked| {
            frame(HEADERS, END_HEADERS, asked.stream, &field(":status", "103"))
        }),
        case("h2-empty-data-flood", "Empty DATA frames without end", "over_limit").home(|asked| {
            ZooScript::say(head(asked)).endless(frame(DATA, 0, asked.stream, &[]).repeat(100))
        }),
        case("h2-headers-too-large", "A header list of 200 KB", "over_limit").home(|asked| {
            let mut script = ZooScript::say(frame(HEADERS, 0, asked.stream, &block(200)));
            for n in 0..20 {
                let last = if n == 19 { END_HEADERS } else { 0 };
                script = script.and(frame(
                    CONTINUATION,
                    last,
                    asked.stream,
                    &field("x-more", &"y".repeat(10_000)),
                ));
            }
            script
        }),
    ]
}

/// Frames that are wrong, or the last.
fn faults() -> Vec<ZooCase> {
    let once = |name, does, error, bytes: fn(&ZooRequest<'_>) -> Vec<u8>| {
        case(name, does, error).home(move |asked| ZooScript::say(bytes(asked)).silence())
    };
    vec![
        once("h2-reset", "Resets the stream instead of an answer", "reset", |asked| {
            frame(RST_STREAM, 0, asked.stream, &2u32.to_be_bytes())
        }),
        once("h2-refused", "Refuses the stream", "reset", |asked| {
            frame(RST_STREAM, 0, asked.stream, &7u32.to_be_bytes())
        }),
        once("h2-goaway", "Says GOAWAY instead of an answer", "reset", |_| {
            frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 0])
        }),
        once("h2-goaway-calm", "Says GOAWAY: enhance your calm", "reset", |_| {
            frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 11])
        }),
        once("h2-push", "Pushes a page, though push is switched off", "malformed", |asked| {
            let promise = [&2u32.to_be_bytes()[..], &field(":path", "/pushed")].concat();
            frame(PUSH_PROMISE, END_HEADERS, asked.stream, &promise)
        }),
        once("h2-frame-too-large", "A frame of 1 MiB", "malformed", |asked| {
            frame(DATA, 0, asked.stream, &[0; 1 << 20])
        }),
        once("h2-bad-ping", "A ping of three bytes", "malformed", |_| {
            frame(PING, 0, 0, &[1, 2, 3])
        }),
        once("h2-bad-settings", "Settings of five bytes", "malformed", |_| {
            frame(SETTINGS, 0, 0, &[0; 5])
        }),
        once("h2-bad-window", "A window update of nothing", "malformed", |_| {
            frame(WINDOW_UPDATE, 0, 0, &[0; 4])
        }),
        once("h2-window-overflow", "Window updates beyond 2^31", "malformed", |_| {
            frame(WINDOW_UPDATE, 0, 0, &(u32::MAX >> 1).to_be_bytes()).repeat(2)
        }),
        once(
            "h2-stray-continuation",
            "A CONTINUATION that continues nothing",
            "malformed",
            |asked| frame(CONTINUATION, END_HEADERS, asked.stream, &block(200)),
        ),
        once("h2-idle-stream", "An answer on a stream that nobody opened", "malformed", |_| {
            frame(HEADERS, END_HEADERS | END_STREAM, 99, &block(200))
        }),
        once("h2-bad-hpack", "A header block that can't be read", "malformed", |asked| {
            frame(HEADERS, END_HEADERS | END_STREAM, asked.stream, &[0xff; 20])
        }),
        once("h2-no-status", "A head without a status", "malformed", |asked| {
            frame(
                HEADERS,
                END_HEADERS | END_STREAM,
                asked.stream,
                &field("content-type", "text/html"),
            )
        }),
        once("h2-http1", "Answers in HTTP/1.1", "malformed", |_| {
            b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage".to_vec()
        }),
        case("h2-close", "Closes instead of an answer", "reset")
            .home(|_| ZooScript::new().broken().close()),
        case("h2-silence", "Says nothing", "first_byte_timeout")
            .home(|_| ZooScript::new().silence())
            .by(Deadline::FirstByte),
        case("h2-pings-only", "Nothing but a ping a second", "first_byte_timeout")
            .home(|_| {
                ZooScript::new().dripping(frame(PING, 0, 0, &[7; 8]), Duration::from_millis(200))
            })
            .by(Deadline::FirstByte),
    ]
}

/// Bodies.
fn bodies() -> Vec<ZooCase> {
    vec![
        case("h2-head-only", "Sends a head and never a body", "too_slow")
            .home(|asked| ZooScript::say(head(asked)).silence())
            .by(Deadline::Speed),
        case("h2-drip", "A body, a byte every 200 ms", "too_slow")
            .home(|asked| {
                ZooScript::say(head(asked))
                    .dripping(frame(DATA, 0, asked.stream, b"y"), Duration::from_millis(200))
            })
            .by(Deadline::Speed),
        case("h2-body-reset", "Resets the stream in the middle of a body", "reset").home(|asked| {
            ZooScript::say(head(asked))
                .and(frame(DATA, 0, asked.stream, page("Half").as_bytes()))
                .then(ScriptStep::Wait(Duration::from_millis(50)))
                .and(frame(RST_STREAM, 0, asked.stream, &2u32.to_be_bytes()))
                .broken()
        }),
        case("h2-body-close", "Closes in the middle of a body", "truncated").home(|asked| {
            ZooScript::say(head(asked))
                .and(frame(DATA, 0, asked.stream, page("Half").as_bytes()))
                .broken()
                .close()
        }),
        case("h2-length-short", "Half of the body that was declared", "malformed").home(|asked| {
            let headers = [block(200), field("content-length", "5000")].concat();
            ZooScript::say(frame(HEADERS, END_HEADERS, asked.stream, &headers))
                .and(frame(DATA, END_STREAM, asked.stream, page("Half").as_bytes()))
                .broken()
        }),
        case("h2-beyond-window", "A body that ignores the window", "malformed")
            .home(|asked| {
                ZooScript::say(head(asked)).endless(frame(DATA, 0, asked.stream, &[b'y'; 16_000]))
            })
            .or(Error("over_limit")),
        case("h2-bomb", "gzip that becomes 60 MiB, in frames", "over_limit").home(|asked| {
            let headers = [block(200), field("content-encoding", "gzip")].concat();
            let mut script = ZooScript::say(frame(HEADERS, END_HEADERS, asked.stream, &headers));
            for piece in super::super::bomb::Bomb::Gzip.of(60 << 20).chunks(16_000) {
                script = script.and(frame(DATA, 0, asked.stream, piece));
            }
            script.silence()
        }),
    ]
}

fn head(asked: &ZooRequest<'_>) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, asked.stream, &block(200))
}
