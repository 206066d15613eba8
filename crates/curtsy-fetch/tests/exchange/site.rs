//! A scripted server on a real socket, which sends exactly the given bytes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A server on loopback. It ends with the process.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    accepted: Arc<AtomicUsize>,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// Runs `script` for every connection, each in a thread of its own.
    pub(crate) fn new(script: impl Fn(&mut Talk) + Send + Sync + 'static) -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (accepted, heard) = (Arc::new(AtomicUsize::new(0)), Arc::default());
        let script = Arc::new(script);
        let (counted, noted) = (Arc::clone(&accepted), Arc::clone(&heard));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
                let connection = counted.fetch_add(1, Ordering::SeqCst);
                let mut talk = Talk { stream, connection, heard: Arc::clone(&noted) };
                let script = Arc::clone(&script);
                std::thread::spawn(move || script(&mut talk));
            }
        });
        Site { address, accepted, heard }
    }

    /// Answers each request with these bytes, and keeps the connection.
    pub(crate) fn saying(answer: impl Into<Vec<u8>>) -> Site {
        let answer = answer.into();
        Site::new(move |talk| while talk.hear().is_some() && talk.say(&answer) {})
    }

    /// Answers one request with these bytes and closes.
    pub(crate) fn saying_once(answer: impl Into<Vec<u8>>) -> Site {
        let answer = answer.into();
        Site::new(move |talk| {
            talk.hear();
            talk.say(&answer);
        })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Connections accepted so far.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// The heads of all requests so far.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

/// A connection, for the server.
pub(crate) struct Talk {
    pub(crate) stream: TcpStream,
    /// Its number.
    pub(crate) connection: usize,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Talk {
    /// Returns the head of the next request; none if the client closed.
    pub(crate) fn hear(&mut self) -> Option<String> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match self.stream.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return None,
            }
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        self.heard.lock().unwrap().push(head.clone());
        Some(head)
    }

    /// Sends bytes. Returns false if the client is gone.
    pub(crate) fn say(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Waits until the client closes, and drops what it sends.
    pub(crate) fn linger(&mut self) {
        let mut rest = [0; 1024];
        while matches!(self.stream.read(&mut rest), Ok(n) if n > 0) {}
    }
}

/// Returns a response with a body and its length.
pub(crate) fn ok(headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    answer("200 OK", headers, body)
}

pub(crate) fn answer(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n");
    [head.as_bytes(), body].concat()
}
