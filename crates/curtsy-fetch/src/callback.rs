//! Callbacks: a `POST` to an address that a user of the service gave.
//!
//! A callback is no request of a crawl: it needs no robots.txt, no turn and no permit. So it has a
//! type of its own that can do nothing else. Its guard allows public addresses and the networks that
//! the operator allowed, but no host of this machine that a crawl was given by name. It carries no
//! credentials. The status is all that is used of the answer; redirects are not followed.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::Problem;
use curtsy_core::limits::Hit;
use curtsy_core::url::{CrawlUrl, Scheme};
use curtsy_engine::Clock;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_rustls::TlsConnector;

use crate::egress::To;
use crate::fetch::Inner;
use crate::{OsResolver, Outlet, Resolve, Settings, SettingsError, TokioClock, proxy, tls};

/// The time that one attempt may take.
pub(crate) const WHOLE: Duration = Duration::from_secs(10);
/// The longest message.
pub(crate) const MESSAGE_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of an answer that hold its status.
const STATUS_BYTES: usize = 12;
/// The rest of an answer is read so that the server sees its answer taken, but no more than this,
/// and no longer.
pub(crate) const REST_BYTES: u64 = 64 * 1024;
pub(crate) const REST: Duration = Duration::from_secs(1);

/// The way out for callbacks, with a guard of its own.
///
/// A crawl needs a [`Fetch`](curtsy_engine::Fetch):
///
/// ```
/// fn crawls_with(_: impl curtsy_engine::Fetch) {}
///
/// fn by(fetch: curtsy_fetch::HttpFetch) {
///     crawls_with(fetch);
/// }
/// ```
///
/// A callback is none:
///
/// ```compile_fail,E0277
/// fn crawls_with(_: impl curtsy_engine::Fetch) {}
///
/// fn by(callback: curtsy_fetch::Callback) {
///     crawls_with(callback);
/// }
/// ```
pub struct Callback {
    inner: Inner,
}

impl Callback {
    /// The waits before each attempt.
    pub const TRIES: [Duration; 3] =
        [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(5)];

    /// Returns a way out with the networks, names, proxies and certificates of these settings.
    pub fn new(settings: &Settings) -> Result<Callback, SettingsError> {
        Callback::with_resolver(settings, Arc::new(OsResolver))
    }

    /// Returns the same with another resolver.
    pub fn with_resolver(
        settings: &Settings,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Callback, SettingsError> {
        let own = Settings {
            named: Vec::new(),
            own: Vec::new(),
            connections_max: 1,
            // One message needs no HTTP/2.
            http2: false,
            ..settings.clone()
        };
        let outlet = Outlet::with_resolver(&own, resolver)?;
        Ok(Callback { inner: Inner::new(&outlet, TokioClock::new()) })
    }

    /// Sends a JSON text until an answer has a status of success, at most [`Callback::TRIES`] times.
    /// Returns the status of the last answer. A refusal of the guard ends it at once.
    pub async fn deliver(
        &self,
        url: &CrawlUrl,
        user_agent: &str,
        json: &[u8],
    ) -> Result<u16, Problem> {
        if json.len() > MESSAGE_BYTES_MAX {
            return Err(Problem::OverLimit(Hit::Body));
        }
        let mut last = Err(Problem::Connect);
        for wait in Callback::TRIES {
            tokio::time::sleep(wait).await;
            let posting = self.inner.post(url, user_agent, json);
            last = tokio::time::timeout(WHOLE, posting).await.unwrap_or(Err(Problem::WholeTimeout));
            match last {
                Ok(200..300) => break,
                Err(problem) if problem.is_refusal() => break,
                _ => {}
            }
        }
        last
    }
}

impl Inner {
    async fn post(&self, url: &CrawlUrl, user_agent: &str, json: &[u8]) -> Result<u16, Problem> {
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
            "POST {} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {user_agent}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
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
                let connector = TlsConnector::from(Arc::clone(&shared.tls));
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
    // The status is here: how the rest ends does not matter.
    let mut rest = stream.take(REST_BYTES);
    let _ = tokio::time::timeout(REST, tokio::io::copy(&mut rest, &mut tokio::io::sink())).await;
    status.ok_or(Problem::Malformed)
}
