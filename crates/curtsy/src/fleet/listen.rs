//! Where a worker tells how it does: `/healthz` (it lives), `/readyz` (it can work), `/metrics`.
//!
//! Three small answers to `GET`, over HTTP/1.1 without keep-alive; on loopback by default. No
//! request changes anything.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The longest request that is read.
pub(crate) const REQUEST_BYTES_MAX: usize = 4096;
/// How long somebody may take to ask and to listen.
pub(crate) const WITHIN: Duration = Duration::from_secs(5);
/// Askers at once.
pub(crate) const ASKERS_MAX: usize = 64;

/// Whether a worker can work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerHealth {
    /// What keeps it from working, if anything does.
    pub trouble: Vec<String>,
}

/// What is told to whoever asks.
pub(super) trait WorkerPage {
    fn health(&self) -> WorkerHealth;
    fn metrics(&self) -> String;
}

/// Answers whoever asks, for ever.
pub(super) async fn serve(listener: &TcpListener, told: &impl WorkerPage) {
    let mut askers = FuturesUnordered::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if askers.len() < ASKERS_MAX => match accepted {
                Ok((stream, _)) => askers.push(tokio::time::timeout(WITHIN, answer(stream, told))),
                // No descriptor to be had: others are waited for.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
            // Whoever leaves early needs no answer.
            Some(_) = askers.next(), if !askers.is_empty() => {}
        }
    }
}

async fn answer(mut stream: TcpStream, told: &impl WorkerPage) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut buffer).await?;
        if read == 0 || request.len() + read > REQUEST_BYTES_MAX {
            return Ok(());
        }
        request.extend_from_slice(&buffer[..read]);
    }
    let line = String::from_utf8_lossy(request.split(|b| *b == b'\r').next().unwrap_or_default());
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let (status, kind, body) = match (method, path) {
        ("GET" | "HEAD", "/healthz") => ("200 OK", "text/plain", "alive\n".to_owned()),
        ("GET" | "HEAD", "/readyz") => match told.health().trouble {
            trouble if trouble.is_empty() => ("200 OK", "text/plain", "ready\n".to_owned()),
            trouble => ("503 Service Unavailable", "text/plain", trouble.join("\n") + "\n"),
        },
        ("GET" | "HEAD", "/metrics") => ("200 OK", "text/plain; version=0.0.4", told.metrics()),
        ("GET" | "HEAD", _) => {
            ("404 Not Found", "text/plain", "try /healthz, /readyz or /metrics\n".to_owned())
        }
        _ => ("405 Method Not Allowed", "text/plain", "only GET\n".to_owned()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    if method != "HEAD" {
        stream.write_all(body.as_bytes()).await?;
    }
    stream.shutdown().await
}

/// Asks a worker how it does, as `http://127.0.0.1:9100/readyz`: the status and what it says.
pub fn ask(url: &str) -> std::io::Result<(u16, String)> {
    use std::io::{Read, Write};
    let wrong = |why: &str| std::io::Error::new(std::io::ErrorKind::InvalidInput, why.to_owned());
    let rest = url.strip_prefix("http://").ok_or_else(|| wrong("only http:// is asked"))?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, "healthz"));
    let address: SocketAddr =
        authority.parse().map_err(|_| wrong("give an address and a port, as 127.0.0.1:9100"))?;
    #[expect(clippy::disallowed_methods, reason = "the operator's own address, no site")]
    let mut stream = std::net::TcpStream::connect_timeout(&address, WITHIN)?;
    stream.set_read_timeout(Some(WITHIN))?;
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.take(1 << 20).read_to_string(&mut text)?;
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Ok((status, body.trim_end().to_owned()))
}
