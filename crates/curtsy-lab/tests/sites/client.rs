//! A plain client: writes what a test wants written and reads answers as a careful reader would.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use curtsy_lab::sites::{Host, Scene, Sites, SitesSettings};

/// Serves these hosts.
pub(crate) fn serve(hosts: impl IntoIterator<Item = Host>) -> Sites {
    let scene = Scene { seed: 7, hosts: hosts.into_iter().collect(), ..Scene::default() };
    Sites::start(scene, SitesSettings::default()).unwrap()
}

/// One connection.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    name: String,
    read: Vec<u8>,
}

/// One answer, as far as it came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Whether the body is all there, by its framing.
    pub(crate) whole: bool,
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

impl Client {
    #[expect(clippy::disallowed_methods, reason = "a test's client")]
    pub(crate) fn of(sites: &Sites, host: usize) -> Client {
        let served = &sites.hosts()[host];
        let stream = TcpStream::connect(served.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Client { stream, name: served.name.clone(), read: Vec::new() }
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).unwrap();
    }

    /// Asks, with more header lines.
    pub(crate) fn request(&mut self, path: &str, headers: &str) {
        let name = self.name.clone();
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: {name}\r\n{headers}\r\n"));
    }

    pub(crate) fn get(&mut self, path: &str) -> Reply {
        self.get_with(path, "")
    }

    pub(crate) fn get_with(&mut self, path: &str, headers: &str) -> Reply {
        self.request(path, headers);
        self.reply().unwrap_or_else(|| panic!("no answer to {path}"))
    }

    /// The next answer; `None` if the connection ends before its head does.
    pub(crate) fn reply(&mut self) -> Option<Reply> {
        self.reply_of(false)
    }

    pub(crate) fn reply_of(&mut self, head_only: bool) -> Option<Reply> {
        let end = loop {
            match self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                Some(at) => break at + 4,
                None if self.more() => {}
                None => return None,
            }
        };
        let head: String = String::from_utf8(self.read.drain(..end).collect()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut reply = Reply { status, head, body: Vec::new(), whole: true };
        if head_only || matches!(status, 204 | 304) {
            return Some(reply);
        }
        if let Some(length) = reply.header("Content-Length") {
            let length: usize = length.parse().unwrap();
            while self.read.len() < length && self.more() {}
            reply.whole = self.read.len() >= length;
            reply.body = self.read.drain(..length.min(self.read.len())).collect();
        } else if reply.header("Transfer-Encoding").is_some() {
            (reply.body, reply.whole) = self.chunks();
        } else {
            while self.more() {}
            reply.body = std::mem::take(&mut self.read);
        }
        Some(reply)
    }

    fn chunks(&mut self) -> (Vec<u8>, bool) {
        let mut body = Vec::new();
        loop {
            let Some(line) = self.read.windows(2).position(|two| two == b"\r\n") else {
                if self.more() {
                    continue;
                }
                return (body, false);
            };
            let size = std::str::from_utf8(&self.read[..line]).unwrap();
            let size = usize::from_str_radix(size, 16).unwrap();
            while self.read.len() < line + 2 + size + 2 {
                if !self.more() {
                    return (body, false);
                }
            }
            body.extend_from_slice(&self.read[line + 2..line + 2 + size]);
            self.read.drain(..line + 2 + size + 2);
            if size == 0 {
                return (body, true);
            }
        }
    }

    /// Reads more; false at the end.
    fn more(&mut self) -> bool {
        let mut bytes = [0; 16 << 10];
        match self.stream.read(&mut bytes) {
            Ok(count) => {
                self.read.extend_from_slice(&bytes[..count]);
                count > 0
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) => panic!("the server says nothing: {error}"),
        }
    }

    /// How the connection ends, once it does: `true` by a reset.
    pub(crate) fn ends_by_reset(&mut self) -> bool {
        let mut bytes = [0; 1024];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return true,
                Err(error) => panic!("the server says nothing: {error}"),
            }
        }
    }
}
