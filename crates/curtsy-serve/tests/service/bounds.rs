//! What one client may take up of the service.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use curtsy_serve::Bounds;

use crate::place::{Folder, Service, TOKEN, WAIT_MAX, spec};

/// Longer than any test waits.
const LONG: Duration = Duration::from_secs(3_600);
const SHORT: Duration = Duration::from_millis(200);

fn start(folder: &Folder, bounds: Bounds) -> Service {
    let mut spec = spec(folder.store());
    spec.bounds = bounds;
    Service::start(spec)
}

#[allow(clippy::disallowed_methods, reason = "a client of the service, not the service's way out")]
fn connect(service: &Service) -> TcpStream {
    let stream = TcpStream::connect(service.address).expect("the service listens");
    stream.set_read_timeout(Some(WAIT_MAX)).unwrap();
    stream
}

/// Sends this and gives what comes back until the service closes.
fn until_closed(service: &Service, said: &str) -> String {
    let mut stream = connect(service);
    stream.write_all(said.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it closes");
    text
}

#[test]
fn a_client_that_does_not_say_what_it_wants_is_let_go() {
    let folder = Folder::new();
    let service = start(&folder, Bounds { head: SHORT, ..Bounds::default() });
    let host = service.host();
    let half = format!("GET /healthz HTTP/1.1\r\n{host}\r\nX-Slow: 1");
    for said in ["", "G", "GET /healthz HTT", &half] {
        let answer = until_closed(&service, said);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408 "), "{said:?}: {answer}");
    }
    // One that was answered, and says nothing more.
    let answer = until_closed(&service, &format!("GET /healthz HTTP/1.1\r\n{host}\r\n\r\n"));
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    service.get("/healthz").ends(200);
}

#[test]
fn half_a_body_is_not_waited_for() {
    let folder = Folder::new();
    let service = start(&folder, Bounds { body: SHORT, ..Bounds::default() });
    let head = |path: &str, kind: &str| {
        let host = service.host();
        format!(
            "POST {path} HTTP/1.1\r\n{host}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: {kind}\r\nContent-Length: 100\r\n\r\n"
        )
    };
    let order = head("/api/orbit/shop/ingest", "application/json") + "{\"url\": ";
    let text = head("/api/orbit/shop/import", "text/plain") + "Hello";
    let form = head("/login", "application/x-www-form-urlencoded") + "token=";
    for said in [order, text, form] {
        let answer = until_closed(&service, &said);
        assert!(answer.starts_with("HTTP/1.1 4"), "{said}: {answer}");
    }
    assert_eq!(service.run_count("shop"), 0);
}

#[test]
fn who_comes_when_all_places_are_taken_waits_for_one() {
    let folder = Folder::new();
    let service = start(&folder, Bounds { connections: 2, head: LONG, body: LONG });
    let [first, second] = [connect(&service), connect(&service)];
    let mut third = connect(&service);
    let ask = format!("GET /healthz HTTP/1.1\r\n{}\r\nConnection: close\r\n\r\n", service.host());
    third.write_all(ask.as_bytes()).unwrap();
    third.set_read_timeout(Some(SHORT)).unwrap();
    let nothing = third.read(&mut [0; 1]).expect_err("nobody has read it");
    assert!(matches!(nothing.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{nothing}");
    drop(first);
    third.set_read_timeout(Some(WAIT_MAX)).unwrap();
    let mut answer = String::new();
    third.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    drop(second);
}
