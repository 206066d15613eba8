//! Server responses, through the real client over loopback: bodies stay within the limit, every
//! exchange ends, and after any first response the second request gets its own.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{Approach, Problem, Reserved};
use curtsy_engine::{Head, Line, Mono, Reading, Request, Sent};
use curtsy_fetch::{HttpFetch, Outlet, TokioClock};
use futures_util::future::{Either, select};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

use crate::{FuzzTarget, choice};

#[allow(dead_code, reason = "shared")]
#[path = "../../../curtsy-fetch/tests/exchange/client.rs"]
mod client;
#[allow(dead_code, reason = "shared")]
#[path = "../../../curtsy-fetch/tests/exchange/site.rs"]
mod site;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "exchange",
    run,
    seeds: SEEDS,
    dictionary: include_str!("../../dictionaries/exchange.dict"),
};

thread_local! {
    static STAGE: Rc<Loopback> = Rc::new(Loopback::new());
}

/// The first byte says how the response is sent and what for, the rest is the response.
fn run(data: &[u8]) {
    let stage = STAGE.with(Rc::clone);
    let (manner, answer) = choice(data);
    stage.runtime.block_on(async {
        let talk = pin!(stage.serve(manner, answer));
        let ask = pin!(stage.ask(manner));
        match select(ask, talk).await {
            Either::Left(((), _)) => {}
            Either::Right((error, _)) => panic!("the server of the test: {error}"),
        }
    });
}

/// Client and server, both on this thread.
struct Loopback {
    runtime: Runtime,
    listener: TcpListener,
    outlet: Outlet,
    clock: TokioClock,
    url: String,
}

impl Loopback {
    fn new() -> Loopback {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.unwrap_or_else(|error| panic!("a runtime: {error}"));
        let listening = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
        let listener = listening.unwrap_or_else(|error| panic!("a socket: {error}"));
        let address = listener.local_addr().unwrap_or_else(|error| panic!("its address: {error}"));
        let mut settings = client::settings();
        settings.body.decoded_max = BODY_BYTES_MAX as u64;
        // A busy machine is no finding.
        settings.timeouts.connect = Duration::from_secs(60);
        settings.timeouts.first_byte = Duration::from_secs(60);
        settings.timeouts.whole = Duration::from_secs(120);
        settings.floor.window = Duration::from_secs(60);
        let outlet = runtime.block_on(async { Outlet::new(&settings) });
        let outlet = outlet.unwrap_or_else(|error| panic!("settings: {error}"));
        let url = format!("http://{address}/");
        Loopback { clock: TokioClock::new(), runtime, listener, outlet, url }
    }

    /// Answers the first request with the bytes, whole or in pieces, and every other with
    /// [`SECOND`].
    async fn serve(&self, manner: usize, answer: &[u8]) -> std::io::Error {
        let mut first = Some(answer);
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => return error,
            };
            let answer = first.take().unwrap_or(SECOND);
            // The client may close the connection.
            let _ = talk(stream, answer, manner >> 2).await;
        }
    }

    async fn ask(&self, manner: usize) {
        let fetch = HttpFetch::new(&self.outlet, self.clock);
        let client = client::Client { fetch, clock: self.clock };
        let method = if manner & 1 == 0 { "GET" } else { "HEAD" };
        let request = Request { method, ..client::request() };
        let of = if manner & 2 == 0 { client::approach } else { client::robots };
        match exchange(&client, of(&self.url), &request).await {
            Received::Nothing(problem) => {
                let waited = [Problem::FirstByteTimeout, Problem::WholeTimeout, Problem::TooSlow];
                let waited = problem.is_some_and(|problem| waited.contains(&problem));
                assert!(!waited, "the end of an answer is seen, not waited for: {problem:?}");
            }
            Received::Answer(head, body) => {
                assert!((100..=999).contains(&head.status));
                assert!(body.unwrap_or(0) <= BODY_BYTES_MAX, "{body:?}");
                assert!(method != "HEAD" || body.unwrap_or(0) == 0);
                assert!(bytes_of(&head) <= 64 * 1024 + 1024, "{}", bytes_of(&head));
            }
        }
        let page = client::approach(&self.url);
        let second = exchange(&client, page, &client::request()).await;
        // Bytes that still arrive while the second request is sent cannot be told from its
        // response.
        if manner >> 2 == 0 {
            let Received::Answer(head, body) = second else {
                panic!("the second request got {second:?}");
            };
            let got = (head.status, head.etag.as_deref(), body);
            assert_eq!(got, (200, Some("\"second\""), Some(6)));
        }
    }
}

async fn exchange(
    client: &client::Client,
    (approach, booked): (Approach, Reserved),
    request: &Request,
) -> Received {
    let mut line = match client.line(&approach, Mono(0)).await {
        Ok(connected) => connected.line,
        Err(problem) => return Received::Nothing(Some(problem)),
    };
    let (written, permit) = (Cell::new(None), client.permit(booked, Duration::from_secs(60)));
    match line.send(permit, request, &written).await {
        Sent::NotSent | Sent::Gone => Received::Nothing(None),
        Sent::Failed { problem, .. } => Received::Nothing(Some(problem)),
        Sent::Answered { sent, first_byte, head } => {
            assert!(Some(sent) == written.get() && sent <= first_byte);
            match line.body().await {
                Reading::Whole(fetched) => Received::Answer(head, Some(fetched.body.len())),
                Reading::Failed(_) => Received::Answer(head, None),
            }
        }
    }
}

#[derive(Debug)]
enum Received {
    Nothing(Option<Problem>),
    Answer(Arc<Head>, Option<usize>),
}

/// Reads one request, sends the response and closes the connection.
async fn talk(mut stream: TcpStream, answer: &[u8], piece: usize) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut heard = Vec::with_capacity(1024);
    while !heard.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut heard).await? == 0 {
            return Ok(());
        }
    }
    match piece {
        0 => stream.write_all(answer).await?,
        // Sixteen pieces are enough to split at any place that matters.
        _ => {
            for part in answer.chunks(piece.max(answer.len() / 16 + 1)) {
                stream.write_all(part).await?;
                tokio::task::yield_now().await;
            }
        }
    }
    stream.shutdown().await
}

fn bytes_of(head: &Head) -> usize {
    let lines = [&head.retry_after, &head.cache_control, &head.x_robots_tag, &head.link];
    let lines = lines.into_iter().flatten().map(String::len).sum::<usize>();
    let single = [&head.location, &head.date, &head.expires, &head.etag, &head.content_type];
    let single = single.into_iter().flatten().map(String::len).sum::<usize>();
    lines + single + head.others.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
}

const BODY_BYTES_MAX: usize = 2_048;
const SECOND: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: \"second\"\r\nContent-Length: 6\r\n\r\nsecond";

const SEEDS: &[&[u8]] = &[
    b"\x00HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nfirst",
    b"\x00HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison",
    b"\x08HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nfirst\r\n0\r\nTrailer: x\r\n\r\n",
    b"\x10HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\nuntil the end",
    b"\x00HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    b"\x00HTTP/1.1 302 Found\r\nLocation: /x\r\nSet-Cookie: a=b\r\nContent-Length: 3\r\n\r\nabc",
    b"\x00HTTP/1.1 429 Too Many\r\nRetry-After: 10\r\nRetry-After: 20\r\nDate: Mon, 06 May 2024 12:54:20 GMT\r\n\r\n",
    b"\x20HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 22\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xb3\x29\x2d\xca\x29\x4e\x2d\xb1\xb3\x01\xd1\x00",
    b"\x00HTTP/1.1 200 OK\r\nContent-Encoding: br, gzip\r\n\r\nx",
    b"\x00HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\nfirst",
    b"\x01HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n",
    b"\x02HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 26\r\n\r\nUser-agent: *\nDisallow: /\n",
    b"\x00HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
    b"\x00<html>0.9</html>",
    b"\x00HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 9\r\n\r\n",
];
