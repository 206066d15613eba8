//! Callbacks: a `POST` to an address that a user of the service gave.
//!
//! A callback is no request of a crawl: it needs no robots.txt, no turn and no permit. So it has a
//! type of its own that can do nothing else. Its guard allows public addresses and the networks
//! that the operator allowed, but no host of this machine that a crawl was given by name. It
//! carries no credentials. The status is all that is used of the answer; redirects are not
//! followed.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::Problem;
use curtsy_core::limits::Hit;
use curtsy_core::url::{CrawlUrl, Scheme};
use curtsy_engine::Clock;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_rustls::TlsConnector;

use crate::egress::To;
use crate::fetch::FetchInner;
use crate::{
    FetchSettings, OsResolver, Outlet, Resolve, SettingsError, TokioClock, ask, proxy, tls,
};

/// The timeout of an attempt.
pub(crate) const WHOLE: Duration = Duration::from_secs(10);
/// The longest message.
pub(crate) const MESSAGE_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of a response up to its status.
const STATUS_BYTES: usize = 12;
/// The rest of a response is read so that the server can finish, but only within these limits.
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
    inner: FetchInner,
}

impl Callback {
    /// The waits before each attempt.
    pub const TRIES: [Duration; 3] =
        [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(5)];

    /// Returns a way out with the networks, names, proxies and certificates of these settings.
    pub fn new(settings: &FetchSettings) -> Result<Callback, SettingsError> {
        Callback::with_resolver(settings, Arc::new(OsResolver))
    }

    /// Returns the same with another resolver.
    pub fn with_resolver(
        settings: &FetchSettings,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Callback, SettingsError> {
        let own = FetchSettings {
            named: Vec::new(),
            own: Vec::new(),
            connections_max: 1,
            // One message needs no HTTP/2.
            http2: false,
            ..settings.clone()
        };
        let outlet = Outlet::with_resolver(&own, resolver)?;
        Ok(Callback { inner: FetchInner::new(&outlet, TokioClock::new()) })
    }

    /// Sends a JSON text until an answer has a status of success, at most [`Callback::TRIES`]
    /// times. Returns the status of the last answer. A refusal of the guard ends it at once.
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

impl FetchInner {
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
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {user_agent}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            url.path_and_query(),
            ask::host(url),
            json.len()
        );
        match url.scheme() {
            Scheme::Http => exchange(tcp, head.as_bytes(), json).await,
            Scheme::Https => {
                let connector = TlsConnector::from(Arc::clone(&shared.tls));
                let secured = connector.connect(tls::server_name(url)?, tcp).await;
                let secured = secured.map_err(|error| tls::problem(&error))?;
                exchange(secured, head.as_bytes(), json).await
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
    // The status is known: how the rest ends does not matter.
    let mut rest = stream.take(REST_BYTES);
    let _ = tokio::time::timeout(REST, tokio::io::copy(&mut rest, &mut tokio::io::sink())).await;
    status.ok_or(Problem::Malformed)
}
