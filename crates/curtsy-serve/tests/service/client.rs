//! A client that says exactly what it is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|e| panic!("{e}: {} {}", self.status, self.body))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Fails with the body unless the status is this one.
    #[track_caller]
    pub(crate) fn ends(self, status: u16) -> Answer {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }

    /// The events of a stream that has ended: their names and data.
    pub(crate) fn events(&self) -> Vec<(String, Value)> {
        let event = |text: &str| {
            let field = |name: &str| {
                text.lines()
                    .find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned))
            };
            Some((field("event")?, serde_json::from_str(&field("data")?).expect("data is JSON")))
        };
        self.body.split("\n\n").filter_map(event).collect()
    }
}

/// Sends a request; `headers` are whole lines, `Host` among them.
pub(crate) fn send(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[String],
    body: &[u8],
) -> Answer {
    let mut head = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n");
    for line in headers {
        head.push_str(line);
        head.push_str("\r\n");
    }
    if !body.is_empty() || method == "POST" {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    send_bytes(address, &[head.as_bytes(), body].concat())
}

/// Sends these bytes and reads what comes back.
#[allow(clippy::disallowed_methods, reason = "a client of the service, not the service's way out")]
pub(crate) fn send_bytes(address: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).expect("the service listens");
    stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    // A server that refuses may close before it has read all of it.
    let _ = stream.write_all(bytes);
    read(stream)
}

fn read(stream: TcpStream) -> Answer {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status");
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        match line.trim_end().split_once(':') {
            Some((name, value)) => {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()))
            }
            None => break,
        }
    }
    let mut bytes = Vec::new();
    let chunked = headers.iter().any(|(n, v)| n == "transfer-encoding" && v == "chunked");
    if chunked {
        loop {
            line.clear();
            reader.read_line(&mut line).unwrap();
            let size = usize::from_str_radix(line.trim(), 16).expect("a size");
            let mut chunk = vec![0; size + 2];
            reader.read_exact(&mut chunk).unwrap();
            bytes.extend_from_slice(&chunk[..size]);
            if size == 0 {
                break;
            }
        }
    } else {
        // A reset after the answer is no answer lost.
        let _ = reader.read_to_end(&mut bytes);
    }
    Answer { status, headers, body: String::from_utf8_lossy(&bytes).into_owned() }
}
