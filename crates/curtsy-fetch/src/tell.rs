//! Telling somebody that something is done: a `POST` that a user asked for, to an address that a user gave.
//!
//! It is no request of a crawl: no robots.txt, no pace, no permit. It leaves through the same guarded door as everything else, so it
//! can't be used to reach what a crawl may not reach, and nothing of the answer counts but its status: no redirect is followed, and what comes
//! after the status is dropped. It is read all the same, since whoever is hung up on in the middle of an answer sees an error.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::Problem;
use curtsy_core::url::{CrawlUrl, Scheme};
use curtsy_engine::Clock;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_rustls::TlsConnector;

use crate::egress::To;
use crate::fetch::Inner;
use crate::{HttpFetch, proxy, tls};

/// How long all of it may take.
const WHOLE: Duration = Duration::from_secs(10);
/// Bytes of an answer that are read for its status.
const STATUS_BYTES: usize = 12;
/// What comes after the status is read to its end, but no more of it than this, and no longer.
const REST_BYTES: u64 = 64 * 1024;
const REST: Duration = Duration::from_secs(1);

impl HttpFetch {
    /// Tells the owner of a URL something, as JSON. Gives the status of the answer.
    pub async fn tell(
        &self,
        url: &CrawlUrl,
        user_agent: &str,
        json: &[u8],
    ) -> Result<u16, Problem> {
        let told = self.inner().tell(url, user_agent, json);
        tokio::time::timeout(WHOLE, told).await.unwrap_or(Err(Problem::WholeTimeout))
    }
}

impl Inner {
    async fn tell(&self, url: &CrawlUrl, user_agent: &str, json: &[u8]) -> Result<u16, Problem> {
        let shared = &self.shared;
        let deadline = self.clock.mono() + shared.timeouts.connect;
        let site = self.site_addresses(url, deadline).await?;
        let at = |port: u16| move |ip: &std::net::IpAddr| std::net::SocketAddr::new(*ip, port);
        let tcp = match shared.proxies.of(url) {
            None => {
                let addresses = site.iter().map(at(url.port())).collect();
                self.dial_first(addresses, To::Site(url.host()), deadline).await?.0
            }
            Some(proxy) => {
                let found = self.look_up(&proxy.host, deadline).await?;
                let addresses = found.iter().map(at(proxy.port)).collect();
                let (mut tcp, _) = self.dial_first(addresses, To::Proxy, deadline).await?;
                proxy::tunnel(&mut tcp, proxy, url).await?;
                tcp
            }
        };
        let authority = url.authority();
        let host = match authority.port {
            port if port == authority.scheme.default_port() => authority.host.to_string(),
            port => format!("{}:{port}", authority.host),
        };
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {user_agent}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            url.path_and_query(),
            json.len()
        );
        match url.scheme() {
            Scheme::Http => exchange(tcp, head.as_bytes(), json).await,
            Scheme::Https => {
                let name = match url.ip() {
                    Some(ip) => ServerName::from(ip),
                    None => ServerName::try_from(url.host().as_str().to_owned())
                        .map_err(|_| Problem::Tls)?,
                };
                // One message needs no HTTP/2.
                let mut config: ClientConfig = (*shared.tls).clone();
                config.alpn_protocols.retain(|protocol| protocol != tls::H2);
                let connector = TlsConnector::from(Arc::new(config));
                let secured = connector.connect(name, tcp).await;
                exchange(secured.map_err(|error| tls::problem(&error))?, head.as_bytes(), json)
                    .await
            }
        }
    }
}

async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    head: &[u8],
    body: &[u8],
) -> Result<u16, Problem> {
    let sent = async {
        stream.write_all(head).await?;
        stream.write_all(body).await?;
        stream.flush().await
    };
    sent.await.map_err(|_| Problem::Reset)?;
    let mut start = [0; STATUS_BYTES];
    stream.read_exact(&mut start).await.map_err(|_| Problem::Truncated)?;
    let status = start.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(2..));
    let status = status.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    // Its end, its length and its time are the other side's business: the status is here.
    let mut rest = stream.take(REST_BYTES);
    let _ = tokio::time::timeout(REST, tokio::io::copy(&mut rest, &mut tokio::io::sink())).await;
    status.ok_or(Problem::Malformed)
}
