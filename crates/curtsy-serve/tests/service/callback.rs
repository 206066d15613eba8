//! Whoever asks for it is told when a run has ended: through the guard, as every other request.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::life::Life;
use crate::place::{Folder, Service, WAIT_MAX, spec};
use crate::sites::{business, serve};

/// A listener that answers 503 first and 200 then; gives the requests.
fn hears(listener: TcpListener) -> std::thread::JoinHandle<Vec<String>> {
    std::thread::spawn(move || {
        ["503 Not now", "200 Thanks"].map(|status| hear(&listener, Some(status)).0).to_vec()
    })
}

/// Whether a request is there as a whole.
fn ends(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    body.len() >= length.expect("a length").parse().expect("a number")
}

fn called_back(folder: &Folder, trace: &str) -> String {
    let db = rusqlite::Connection::open(folder.0.join("service.db")).unwrap();
    let until = Instant::now() + WAIT_MAX;
    loop {
        let sql = "SELECT called_back FROM run_orders WHERE trace_id = ?1";
        let said: Option<String> = db.query_row(sql, [trace], |row| row.get(0)).unwrap();
        match said {
            Some(said) => return said,
            None => assert!(Instant::now() < until, "nobody was told"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn whoever_asks_is_told_and_a_refusal_is_tried_again() {
    let folder = Folder::new();
    let sites = serve(vec![business("shop.test")]);
    let service = Service::start(spec(folder.store()));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let callback = format!("http://hook.test:{}/done?run=1", listener.local_addr().unwrap().port());
    let heard = hears(listener);
    let url = format!("http://shop.test:{}/", sites.port());
    let asked = json!({"url": url, "mode": "light", "callback": callback});
    let answer = service.post("/api/orbit/shop/ingest", &asked).json();
    let trace = answer["evidence"]["traceId"].as_str().unwrap();
    let heard = heard.join().unwrap();
    let (head, body) = heard[1].split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /done?run=1 HTTP/1.1\r\nHost: hook.test:"), "{head}");
    assert!(!head.to_ascii_lowercase().contains("authorization"), "{head}");
    let told: Value = serde_json::from_str(body).unwrap();
    assert_eq!((&told["traceId"], &told["outcome"]), (&json!(trace), &json!("success")));
    assert_eq!(told["evidence"], answer["evidence"]);
    assert_eq!(called_back(&folder, trace), "told: 200");
}

/// Takes one call and gives its text; without a status it is left without an answer.
fn hear(listener: &TcpListener, status: Option<&str>) -> (String, TcpStream) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut text = Vec::new();
    let mut part = [0; 4096];
    while !ends(&text) {
        let read = stream.read(&mut part).unwrap();
        text.extend_from_slice(&part[..read]);
    }
    if let Some(status) = status {
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").unwrap();
    }
    (String::from_utf8(text).unwrap(), stream)
}

#[test]
fn whoever_was_not_told_before_a_kill_is_told_after_it() {
    let folder = Folder::new();
    let sites = serve(vec![business("shop.test")]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let callback = format!("http://hook.test:{}/done", listener.local_addr().unwrap().port());
    let life = Life::start(&folder);
    let url = format!("http://shop.test:{}/", sites.port());
    let order = json!({"url": url, "mode": "light", "callback": callback});
    let run = life.service.begin("shop", &order);
    // It is being told, and has no answer yet.
    let (first, line) = hear(&listener, None);
    life.kill();
    drop(line);
    let life = Life::start(&folder);
    assert_eq!(life.service.resumed, 0, "the run had ended");
    let (second, _) = hear(&listener, Some("200 Thanks"));
    let body = |text: &str| text.split_once("\r\n\r\n").unwrap().1.to_owned();
    assert_eq!(body(&second), body(&first));
    let trace = run.rsplit('/').next().unwrap();
    assert_eq!(called_back(&folder, trace), "told: 200");
}

#[test]
fn nobody_is_told_at_an_address_that_may_not_be_reached() {
    let folder = Folder::new();
    let sites = serve(vec![business("shop.test")]);
    let mut spec = spec(folder.store());
    // Only the address of the site itself.
    spec.way.allow_net = vec!["127.0.0.1/32".parse().unwrap()];
    let service = Service::start(spec);
    let listener = TcpListener::bind("127.0.0.9:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let callback = format!("http://127.0.0.9:{}/", listener.local_addr().unwrap().port());
    let url = format!("http://shop.test:{}/", sites.port());
    let asked = json!({"url": url, "mode": "light", "callback": callback});
    let answer = service.post("/api/orbit/shop/ingest", &asked).json();
    let trace = answer["evidence"]["traceId"].as_str().unwrap();
    assert_eq!(called_back(&folder, trace), "not told: Guard");
    assert!(listener.accept().is_err(), "somebody came");
}
