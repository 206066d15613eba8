//! The tunnel through a proxy (`CONNECT`, RFC 9110 §9.3.6), and a proxy's own responses.
//!
//! A proxy's response is never the site's. If the proxy demands a login, cannot reach the site or
//! refuses to, that is a failure on our own side.

use curtsy_core::host::Problem;
use curtsy_core::limits::Hit;
use curtsy_core::url::CrawlUrl;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use curtsy_engine::Head;

use crate::settings::HttpProxy;

/// Requests a tunnel to a URL's host.
pub(crate) async fn tunnel(
    tcp: &mut TcpStream,
    proxy: &HttpProxy,
    url: &CrawlUrl,
) -> Result<(), Problem> {
    let target = format!("{}:{}", url.host(), url.port());
    let login = match &proxy.authorization {
        Some(basic) => format!("Proxy-Authorization: {basic}\r\n"),
        None => String::new(),
    };
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{login}\r\n");
    tcp.write_all(request.as_bytes()).await.map_err(|_| Problem::Proxy)?;
    let mut head = Vec::new();
    // Byte by byte, because the bytes after the head belong to the tunnel.
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == HEAD_BYTES_MAX {
            return Err(Problem::OverLimit(Hit::Proxy));
        }
        head.push(tcp.read_u8().await.map_err(|_| Problem::Proxy)?);
    }
    let status = head.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(2..5));
    match status {
        Some([b'2', _, _]) => Ok(()),
        Some(b"407" | b"511") => Err(Problem::ProxyLogin),
        Some([b'4' | b'5', _, _]) => Err(Problem::ProxyRefused),
        _ => Err(Problem::Proxy),
    }
}

/// Returns the problem if a response is from a proxy and not from the site. A proxy that the user
/// chose (`proxied`) is recognised by its headers. Some statuses are only ever sent by proxies and
/// networks.
pub(crate) fn answered_itself(head: &Head, proxied: bool) -> Option<Problem> {
    // 407: RFC 9110 §15.5.8. 511: RFC 6585 §6, a network that demands a login.
    if matches!(head.status, 407 | 511) {
        return Some(Problem::ProxyLogin);
    }
    let failed = proxied && head.status >= 400;
    let marked = head.others.iter().any(|(name, value)| match name.as_str() {
        "x-squid-error" => true,
        // RFC 9209: a proxy that generated the response states the error.
        "proxy-status" => value.contains("error="),
        "server" => PROXIES.iter().any(|proxy| starts_with(value, proxy)),
        _ => false,
    });
    (failed && marked).then_some(Problem::ProxyRefused)
}

fn starts_with(value: &str, prefix: &str) -> bool {
    value.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix))
}

/// The names of proxies in `Server`.
const PROXIES: [&str; 6] = ["squid", "tinyproxy", "privoxy", "mitmproxy", "bluecoat", "zscaler"];

pub(crate) const HEAD_BYTES_MAX: usize = 8 * 1024;
