//! A tunnel through a proxy: `CONNECT` (RFC 9110 §9.3.6).

use curtsy_core::host::Problem;
use curtsy_core::url::CrawlUrl;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::settings::Proxy;

/// Asks the proxy for a tunnel to a URL's host. A proxy that refuses is a connection that can't be made.
pub(crate) async fn tunnel(
    tcp: &mut TcpStream,
    proxy: &Proxy,
    url: &CrawlUrl,
) -> Result<(), Problem> {
    let target = format!("{}:{}", url.host(), url.port());
    let login = match &proxy.authorization {
        Some(basic) => format!("Proxy-Authorization: {basic}\r\n"),
        None => String::new(),
    };
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{login}\r\n");
    tcp.write_all(request.as_bytes()).await.map_err(|_| Problem::Connect)?;
    let mut head = Vec::new();
    // Byte by byte: what follows the head belongs to the tunnel.
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == HEAD_BYTES_MAX {
            return Err(Problem::OverLimit);
        }
        head.push(tcp.read_u8().await.map_err(|_| Problem::Connect)?);
    }
    let status = head.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(2..5));
    match status {
        Some([b'2', _, _]) => Ok(()),
        _ => Err(Problem::Connect),
    }
}

pub(crate) const HEAD_BYTES_MAX: usize = 8 * 1024;
