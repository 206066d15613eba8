//! A proxy: the tunnel through it (`CONNECT`, RFC 9110 §9.3.6), and what it answers in a site's place.
//!
//! What a proxy says is never the site's word. A proxy that wants a login, can't reach the site or refuses to is our own side's trouble.

use curtsy_core::host::Problem;
use curtsy_core::limits::Hit;
use curtsy_core::url::CrawlUrl;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use curtsy_engine::Head;

use crate::settings::Proxy;

/// Asks the proxy for a tunnel to a URL's host.
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
    tcp.write_all(request.as_bytes()).await.map_err(|_| Problem::Proxy)?;
    let mut head = Vec::new();
    // Byte by byte: what follows the head belongs to the tunnel.
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

/// Whether an answer is a proxy's own and not the site's, and what that means. Behind a proxy that the user named (`proxied`) it is told by
/// its marks; a status that only proxies and networks give counts without one, too.
pub(crate) fn answered_itself(head: &Head, proxied: bool) -> Option<Problem> {
    // 407: RFC 9110 §15.5.8. 511: RFC 6585 §6, a network that wants a login before it lets anybody out.
    if matches!(head.status, 407 | 511) {
        return Some(Problem::ProxyLogin);
    }
    let failed = proxied && head.status >= 400;
    let marked = head.others.iter().any(|(name, value)| match name.as_str() {
        "x-squid-error" => true,
        // RFC 9209: a proxy that made the answer up says what went wrong.
        "proxy-status" => value.contains("error="),
        "server" => PROXIES.iter().any(|proxy| starts_with(value, proxy)),
        _ => false,
    });
    (failed && marked).then_some(Problem::ProxyRefused)
}

fn starts_with(value: &str, prefix: &str) -> bool {
    value.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix))
}

/// How proxies name themselves in `Server`, where a site's own name would stand.
const PROXIES: [&str; 6] = ["squid", "tinyproxy", "privoxy", "mitmproxy", "bluecoat", "zscaler"];

pub(crate) const HEAD_BYTES_MAX: usize = 8 * 1024;
