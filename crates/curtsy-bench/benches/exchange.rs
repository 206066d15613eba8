//! What one HTTP exchange costs the worker's thread, beside hyper's bare client; and how late the
//! clock wakes.
//!
//! Loopback, HTTP/1.1, one connection kept, a body of 8 KiB. The server is a thread of its own, so
//! only the client's CPU time counts.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use bytes::Bytes;
use cpu_time::ThreadTime;
use curtsy_core::policy::{Policy, Preset};
use curtsy_engine::{Clock, Connected, Line, Mono, Permit, Reading, Request, Sent};
use curtsy_fetch::{FetchSettings, HttpFetch, Outlet, TokioClock};
use http_body_util::{BodyExt, Empty};

use client::Client;

#[allow(dead_code, reason = "shared")]
#[path = "../../curtsy-fetch/tests/exchange/client.rs"]
mod client;
#[allow(dead_code, reason = "shared")]
#[path = "../../curtsy-fetch/tests/exchange/site.rs"]
mod site;

const EXCHANGES: u32 = 10_000;
const ROUNDS: usize = 9;
const BODY: usize = 8 * 1024;

fn main() {
    let server = serve();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    let mut rows = Vec::new();
    for round in 0..ROUNDS {
        // Interleaved: what the machine does besides hits both alike.
        let bare = local.block_on(&runtime, bare_hyper(server));
        let ours = local.block_on(&runtime, curtsy(server));
        if round > 0 {
            rows.push((bare, ours));
        }
    }
    println!("client, us of CPU an exchange      least  median");
    show("hyper, connection spawned", rows.iter().map(|r| r.0).collect());
    show("curtsy-fetch, with permit", rows.iter().map(|r| r.1).collect());
    local.block_on(&runtime, lateness());
}

fn show(name: &str, mut costs: Vec<f64>) {
    costs.sort_by(f64::total_cmp);
    println!("{name:<32} {:>7.1} {:>7.1}", costs[0], costs[costs.len() / 2]);
}

/// Answers every request with the same bytes.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {BODY}\r\n\
         Date: Mon, 01 Jan 2024 00:00:00 GMT\r\nETag: \"a\"\r\nCache-Control: max-age=60\r\n\r\n"
    )
    .into_bytes();
    answer.resize(answer.len() + BODY, b'x');
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.unwrap(), answer.clone());
            stream.set_nodelay(true).unwrap();
            std::thread::spawn(move || {
                let mut head = [0; 4096];
                while matches!(stream.read(&mut head), Ok(1..)) {
                    if stream.write_all(&answer).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[allow(clippy::disallowed_methods, reason = "the peer, not a way out")]
async fn bare_hyper(server: SocketAddr) -> f64 {
    let stream = tokio::net::TcpStream::connect(server).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let io = hyper_util::rt::TokioIo::new(stream);
    let (mut send, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::task::spawn_local(connection);
    let began = ThreadTime::now();
    for _ in 0..EXCHANGES {
        send.ready().await.unwrap();
        let request = http::Request::get("/page")
            .header("host", "127.0.0.1")
            .header("user-agent", AGENT)
            .header("accept", "text/html")
            .header("accept-encoding", "gzip")
            .body(Empty::<Bytes>::new())
            .unwrap();
        let answer = send.send_request(request).await.unwrap();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body.len(), BODY);
    }
    began.elapsed().as_secs_f64() * 1e6 / f64::from(EXCHANGES)
}

async fn curtsy(server: SocketAddr) -> f64 {
    let policy = Policy::preset(Preset::Careful);
    let mut settings = FetchSettings::of(&policy);
    settings.allow_net = vec!["127.0.0.0/8".parse().unwrap()];
    let clock = TokioClock::new();
    let fetch = HttpFetch::new(&Outlet::new(&settings).unwrap(), clock);
    let client = Client { fetch, clock };
    let url = format!("http://{server}/page");
    let (approach, _) = client::approach(&url);
    // Beforehand: what is measured is the exchange, not how its permit is granted.
    let permits: Vec<Permit> = (0..EXCHANGES)
        .map(|_| client.permit(client::approach(&url).1, Duration::from_secs(3_600)))
        .collect();
    let request = Request { method: "GET", user_agent: AGENT.to_owned(), ..Request::default() };
    let began = ThreadTime::now();
    for permit in permits {
        let connected = client.line(&approach, Mono(0)).await;
        let Connected { mut line, .. } = connected.expect("the server accepts");
        let written = Cell::new(None);
        let sent = line.send(permit, &request, &written).await;
        assert!(matches!(sent, Sent::Answered { .. }));
        let Reading::Whole(page) = line.body().await else { panic!("the body is whole") };
        assert_eq!(page.body.len(), BODY);
    }
    let cost = began.elapsed().as_secs_f64() * 1e6 / f64::from(EXCHANGES);
    assert_eq!(client.fetch.counts().dialled, 1);
    cost
}

/// How long after its moment a sleeper wakes on an idle runtime.
async fn lateness() {
    let clock = TokioClock::new();
    let cpu = ThreadTime::now();
    let mut late = Vec::new();
    for n in 0..400u64 {
        let until = clock.mono() + Duration::from_micros(3_000 + n * 37 % 2_000);
        clock.sleep_until(until).await;
        late.push((clock.mono() - until).as_micros());
    }
    let cost = cpu.elapsed().as_micros() / 400;
    late.sort_unstable();
    println!(
        "a sleep ends late by {} us (median), {} us (99 %), and costs {cost} us of CPU",
        late[200], late[396]
    );
}

const AGENT: &str = "curtsy/0.1 (+me@example.org)";
