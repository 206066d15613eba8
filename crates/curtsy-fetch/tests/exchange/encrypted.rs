//! TLS: trusted authorities, causes of failed handshakes, and HTTP/2.

use std::cell::Cell;
use std::time::Duration;

use curtsy_engine::{Connected, Line, Mono, Request, Sent};
use curtsy_fetch::FetchSettings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::client::{Client, approach, request, run};
use crate::secure::{Ca, SecureSite};
use crate::site::{Site, ok};

fn believing(ca: &Ca) -> impl FnOnce(&mut FetchSettings) {
    let pem = ca.pem.clone();
    move |settings| {
        settings.ca_pem = pem;
        settings.pins = vec!["*.test=127.0.0.1".parse().unwrap()];
    }
}

#[test]
fn an_authority_of_ones_own_is_believed_if_it_is_named() {
    let ca = Ca::new();
    let site = SecureSite::saying(ca.server(&["shop.test"], &["http/1.1"]), ok("", "page"));
    let url = format!("https://shop.test:{}/", site.address.port());
    run(async {
        let client = Client::with(believing(&ca));
        assert_eq!(client.get(&url).await.said, "200 page");
        assert_eq!(client.get(&url).await.said, "200 page");
        let stranger = Client::with(believing(&Ca::new()));
        assert_eq!(stranger.get(&url).await.said, "no line: TlsIssuer");
    });
    assert_eq!((site.accepted(), site.heard().len()), (2, 2));
}

#[test]
fn each_fault_of_a_certificate_has_its_name() {
    let ca = Ca::new();
    let check = |config, expected: &str| {
        let site = SecureSite::saying(config, ok("", "page"));
        let url = format!("https://shop.test:{}/", site.address.port());
        let got = run(async { Client::with(believing(&ca)).get(&url).await });
        assert_eq!(got.said, expected);
        assert_eq!(site.heard().len(), 0);
    };
    check(ca.server(&["other.test"], &[]), "no line: TlsName");
    check(ca.expired(&["shop.test"]), "no line: TlsExpired");
    check(Ca::new().server(&["shop.test"], &[]), "no line: TlsIssuer");
}

#[test]
fn a_server_that_speaks_no_tls_or_nothing() {
    let plain = Site::saying("hello\r\n\r\n");
    let ca = Ca::new();
    let url = format!("https://shop.test:{}/", plain.address.port());
    let got = run(async { Client::with(believing(&ca)).get(&url).await });
    assert_eq!(got.said, "no line: ConnectTimeout", "it waits for the end of a line");
    let garbage = Site::new(|talk| {
        talk.say("HTTP/1.1 400 Bad Request\r\n\r\n");
        talk.linger();
    });
    let url = format!("https://shop.test:{}/", garbage.address.port());
    let got = run(async { Client::with(believing(&ca)).get(&url).await });
    assert_eq!(got.said, "no line: TlsAbsent");
}

/// A certificate as `openssl req -x509` creates it: self-signed, and declared to be an authority.
#[test]
fn a_certificate_that_signed_itself_is_believed_if_it_is_named() {
    let ca = Ca::new();
    let site = SecureSite::saying(ca.itself(&["http/1.1"]), ok("", "page"));
    let url = |name: &str| format!("https://{name}:{}/", site.address.port());
    run(async {
        let client = Client::with(believing(&ca));
        assert_eq!(client.get(&url("ca.test")).await.said, "200 page");
        assert_eq!(client.get(&url("other.test")).await.said, "no line: TlsName");
        let stranger = Client::with(believing(&Ca::new()));
        assert_eq!(stranger.get(&url("ca.test")).await.said, "no line: TlsIssuer");
    });
    assert_eq!(site.heard().len(), 1);
}

#[test]
fn http2_is_spoken_where_both_sides_know_it() {
    let ca = Ca::new();
    let config = ca.server(&["shop.test"], &["h2", "http/1.1"]);
    let site = SecureSite::saying_http2(config, b"<p>page</p>");
    let port = site.address.port();
    let url = |path: &str| format!("https://shop.test:{port}{path}");
    run(async {
        let client = Client::with(believing(&ca));
        for n in 0..4 {
            let got = client.get(&url(&format!("/{n}?q"))).await;
            assert_eq!(got.said, "200 <p>page</p>");
            assert_eq!(got.head.content_type.as_deref(), Some("text/html"));
        }
        let head = Request { method: "HEAD", ..request() };
        assert_eq!(client.ask(approach(&url("/")), &head).await.said, "200 ");
    });
    assert_eq!(site.accepted(), 1, "one connection");
    assert_eq!(site.heard()[1], format!("GET https://shop.test:{port}/1?q"));
}

#[test]
fn a_late_permit_sends_nothing_over_http2_either() {
    let ca = Ca::new();
    let site = SecureSite::saying_http2(ca.server(&["shop.test"], &["h2"]), b"page");
    let url = format!("https://shop.test:{}/", site.address.port());
    run(async {
        let client = Client::with(believing(&ca));
        let (ticket, booked) = approach(&url);
        let Connected { mut line, .. } = client.line(&ticket, Mono(0)).await.ok().unwrap();
        let (written, permit) = (Cell::new(None), client.permit(booked, Duration::ZERO));
        std::thread::sleep(Duration::from_millis(2));
        let sent = line.send(permit, &request(), &written).await;
        assert!(matches!(sent, Sent::NotSent));
        drop(line);
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(site.heard().len(), 0);
        // A permit in time is sent.
        assert_eq!(client.get(&url).await.said, "200 page");
    });
    assert_eq!((site.accepted(), site.heard().len()), (2, 1));
}

#[test]
fn http2_can_be_left_out() {
    let ca = Ca::new();
    let config = ca.server(&["shop.test"], &["h2", "http/1.1"]);
    let site = SecureSite::saying(config, ok("", "page"));
    let client = Client::with(|settings| {
        believing(&ca)(settings);
        settings.http2 = false;
    });
    let url = format!("https://shop.test:{}/", site.address.port());
    assert_eq!(run(async { client.get(&url).await.said }), "200 page");
}

/// A frame of HTTP/2: length, type, flags, stream (RFC 9113 §4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut out = length[1..].to_vec();
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
    out
}

/// A server that sends settings, then one frame again and again.
fn flood(ca: &Ca, repeated: Vec<u8>, first: Vec<u8>) -> String {
    let site = SecureSite::new(ca.server(&["shop.test"], &["h2"]), move |mut talk| {
        let (first, repeated) = (first.clone(), repeated.repeat(100));
        async move {
            let _ = talk.stream.write_all(&frame(4, 0, 0, &[])).await;
            let mut heard = [0; 4096];
            let _ = talk.stream.read(&mut heard).await;
            let _ = talk.stream.write_all(&first).await;
            while talk.stream.write_all(&repeated).await.is_ok() {}
        }
    });
    let url = format!("https://shop.test:{}/", site.address.port());
    run(async { Client::with(believing(ca)).get(&url).await.said })
}

#[test]
fn floods_of_frames_end_the_line() {
    let ca = Ca::new();
    let ping = frame(6, 0, 0, &[0; 8]);
    let said = flood(&ca, ping.clone(), Vec::new());
    assert!(
        ["sent, over head", "sent, over interim", "not sent", "sent, Reset"]
            .contains(&said.as_str()),
        "{said}"
    );
    let settings = frame(4, 0, 0, &[]);
    let said = flood(&ca, settings, Vec::new());
    assert!(
        ["sent, over head", "sent, over interim", "not sent", "sent, Reset"]
            .contains(&said.as_str()),
        "{said}"
    );
    // An endless head: HEADERS without its end, then CONTINUATION.
    let header = [&[0x00, 0x01, b'x', 0x7f, 0x00][..], &[b'y'; 127]].concat();
    let begun = frame(1, 0, 1, &[&[0x88][..], &header].concat());
    let said = flood(&ca, frame(9, 0, 1, &header), begun);
    assert!(said.starts_with("sent, "), "{said}");
    // Endless empty data.
    let head = frame(1, 4, 1, &[0x88]);
    let said = flood(&ca, frame(0, 0, 1, &[]), head);
    assert!(
        ["200, over around", "200, Reset", "sent, Reset", "sent, over head"]
            .contains(&said.as_str()),
        "{said}"
    );
}

/// RFC 9113 §5.1.2: a server that permits no streams delays a request, which must not leave later.
#[test]
fn a_server_that_lets_no_stream_begin_is_not_sent_to() {
    let ca = Ca::new();
    let no_streams = frame(4, 0, 0, &[0, 3, 0, 0, 0, 0]);
    let site = SecureSite::new(ca.server(&["shop.test"], &["h2"]), move |mut talk| {
        let said = [no_streams.clone(), frame(6, 0, 0, &[0; 8])].concat();
        async move {
            let _ = talk.stream.write_all(&said).await;
            let _ = talk.stream.flush().await;
            let mut heard = [0; 4096];
            while let Ok(1..) = talk.stream.read(&mut heard).await {}
        }
    });
    run(async {
        let client = Client::with(believing(&ca));
        let url = format!("https://shop.test:{}/", site.address.port());
        let (ticket, booked) = approach(&url);
        let Connected { mut line, .. } = client.line(&ticket, Mono(0)).await.ok().unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(client.send(&mut line, booked, &request()).await.said, "not sent");
    });
}

#[test]
fn a_body_that_tls_does_not_end_is_cut() {
    let ca = Ca::new();
    let site = SecureSite::new(ca.server(&["shop.test"], &["http/1.1"]), |mut talk| async move {
        let mut heard = [0; 4096];
        let _ = talk.stream.read(&mut heard).await;
        let _ = talk.stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhalf a page").await;
        let _ = talk.stream.flush().await;
        // The socket closes without `close_notify`.
    });
    let url = format!("https://shop.test:{}/", site.address.port());
    let got = run(async { Client::with(believing(&ca)).get(&url).await });
    assert_eq!(got.said, "200, Truncated");
}
