//! Servers with exact bytes: one that records the heads of requests, and a proxy that forwards
//! them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A server on loopback that ends with the process.
pub(crate) struct Raw {
    pub(crate) address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Raw {
    /// Runs `script` for every connection, each in a thread of its own.
    pub(crate) fn new(at: &str, script: impl Fn(&mut Talk) + Send + Sync + 'static) -> Raw {
        let listener = TcpListener::bind(at).unwrap_or_else(|error| panic!("{at}: {error}"));
        let address = listener.local_addr().unwrap();
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let (script, noted) = (Arc::new(script), Arc::clone(&heard));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
                let mut talk = Talk { stream, heard: Arc::clone(&noted) };
                let script = Arc::clone(&script);
                std::thread::spawn(move || script(&mut talk));
            }
        });
        Raw { address, heard }
    }

    /// Has no robots.txt and no sitemaps, and answers every other request with this body.
    pub(crate) fn saying(content_type: &str, body: &str) -> Raw {
        let lines = format!("Content-Type: {content_type}\r\n");
        Raw::answering(move |_| lines.clone(), body)
    }

    /// The same, with header lines that depend on the path.
    pub(crate) fn answering(
        headers: impl Fn(&str) -> String + Send + Sync + 'static,
        body: &str,
    ) -> Raw {
        let body = body.to_owned();
        Raw::new("127.0.0.1:0", move |talk| {
            while let Some(head) = talk.hear() {
                let path = head.split(' ').nth(1).unwrap_or_default();
                let absent = path == "/robots.txt" || path.starts_with("/sitemap");
                let (status, body) =
                    if absent { ("404 Not Found", "") } else { ("200 OK", &*body) };
                let lines = headers(path);
                let length = body.len();
                talk.say(format!(
                    "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{lines}\r\n{body}"
                ));
            }
        })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The heads of all requests so far.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

/// A connection, for the server.
pub(crate) struct Talk {
    stream: TcpStream,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Talk {
    /// Returns the head of the next request; none if the client closed.
    pub(crate) fn hear(&mut self) -> Option<String> {
        let (mut head, mut byte) = (Vec::new(), [0]);
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

    pub(crate) fn say(&mut self, bytes: impl AsRef<[u8]>) {
        // The client may be gone.
        let _ = self.stream.write_all(bytes.as_ref());
    }

    /// Sends bytes to another server for the client, and forwards both directions until one of them
    /// closes.
    fn pass(&mut self, to: SocketAddr, first: &str) {
        #[allow(clippy::disallowed_methods, reason = "the proxy's own side")]
        let mut there = TcpStream::connect(to).unwrap();
        there.write_all(first.as_bytes()).unwrap();
        let (mut from, mut back) = (there.try_clone().unwrap(), self.stream.try_clone().unwrap());
        std::thread::spawn(move || copy(&mut from, &mut back));
        copy(&mut self.stream, &mut there);
    }
}

fn copy(from: &mut TcpStream, to: &mut TcpStream) {
    let mut some = [0; 4096];
    while let Ok(n @ 1..) = from.read(&mut some) {
        if to.write_all(&some[..n]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

/// A proxy that demands `login` (as in `Basic …`, if any), and forwards everything to one address:
/// tunnels and plain requests.
pub(crate) fn proxy(at: &str, login: Option<&'static str>, to: SocketAddr) -> Raw {
    Raw::new(at, move |talk| {
        let Some(head) = talk.hear() else { return };
        let lines = || head.lines().filter_map(|line| line.split_once(": "));
        let given = lines().find(|(name, _)| name.eq_ignore_ascii_case("proxy-authorization"));
        if login.is_some_and(|login| given.map(|(_, value)| value) != Some(login)) {
            let close = "Content-Length: 0\r\nConnection: close\r\n";
            return talk.say(format!("HTTP/1.1 407 Who are you\r\n{close}\r\n"));
        }
        if head.starts_with("CONNECT ") {
            talk.say("HTTP/1.1 200 Go on\r\n\r\n");
            return talk.pass(to, "");
        }
        // `GET http://host:port/path HTTP/1.1` becomes the site's own form, and each connection has
        // one request.
        let whole = head.split(' ').nth(1).unwrap_or_default();
        let path =
            whole.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| &rest[at..]));
        let kept = head.lines().skip(1).filter(|line| {
            let line = line.to_ascii_lowercase();
            !line.is_empty() && !line.starts_with("proxy-") && !line.starts_with("connection:")
        });
        let kept: String = kept.map(|line| format!("{line}\r\n")).collect();
        let path = path.unwrap_or("/");
        talk.pass(to, &format!("GET {path} HTTP/1.1\r\n{kept}Connection: close\r\n\r\n"));
    })
}
