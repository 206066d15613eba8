//! The way of one worker from a URL to an open connection.

use std::cell::Cell;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use curtsy_core::host::{Approach, Problem};
use curtsy_core::url::{CrawlUrl, HostKey, Scheme};
use curtsy_engine::{Clock, Connected, Fetch, Mono};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::TlsConnector;

use crate::ask::Proxied;
use crate::connection::HttpConnection;
use crate::egress::{To, Undialled, dial};
use crate::guard::GuardRefusal;
use crate::line::HttpLine;
use crate::outlet::{Outlet, OutletShared};
use crate::pool::Pool;
use crate::wire::{GatedSocket, Stream};
use crate::{TokioClock, egress, guard, port, proxy, tls};

/// The [`Fetch`] of one worker. It lives on that worker's thread, in a current-thread runtime.
///
/// Its lines send nothing without a permit:
///
/// ```compile_fail,E0061
/// use std::cell::Cell;
/// use curtsy_engine::{Line, Request};
/// use curtsy_fetch::HttpLine;
///
/// async fn unasked(line: &mut HttpLine, request: &Request) {
///     line.send(request, &Cell::new(None)).await;
/// }
/// ```
pub struct HttpFetch {
    inner: Rc<FetchInner>,
}

pub(crate) struct FetchInner {
    pub(crate) shared: Arc<OutletShared>,
    pub(crate) clock: TokioClock,
    pub(crate) pool: Pool,
    pub(crate) counts: Cell<Counts>,
}

/// Counters of a worker's connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections made.
    pub dialled: u64,
    /// Reuses of an idle connection.
    pub reused: u64,
    /// Refused addresses and ports.
    pub refused: u64,
    /// Requests that were not sent: late, or the connection was closed.
    pub unsent: u64,
    /// Bytes received, without handshakes.
    pub bytes_in: u64,
    /// Bytes sent, without handshakes.
    pub bytes_out: u64,
}

impl HttpFetch {
    /// Returns the connections of a worker with this clock.
    pub fn new(outlet: &Outlet, clock: TokioClock) -> HttpFetch {
        HttpFetch { inner: Rc::new(FetchInner::new(outlet, clock)) }
    }

    /// Returns the counters.
    pub fn counts(&self) -> Counts {
        self.inner.counts.get()
    }

    /// Checks whether a URL could be dialled now: its port, its name and all its addresses. Sends
    /// nothing to the site.
    pub async fn check(&self, url: &CrawlUrl) -> Result<(), Problem> {
        let deadline = self.inner.clock.mono() + self.inner.shared.timeouts.connect;
        self.inner.site_addresses(url, deadline).await.map(drop)
    }

    /// Returns the number of idle connections.
    pub fn idle(&self) -> usize {
        self.inner.pool.len()
    }
}

impl Fetch for HttpFetch {
    type Line = HttpLine;
    type Route = HttpRoute;

    fn standing(&self, approach: &Approach, turn: Mono) -> Option<HttpLine> {
        let inner = &self.inner;
        let connection = inner.pool.take(&approach.authority(), inner.clock.mono(), turn)?;
        inner.count(|counts| counts.reused += 1);
        Some(HttpLine::new(Rc::clone(inner), approach, connection))
    }

    async fn refuses(&self, url: &CrawlUrl) -> Option<Problem> {
        let inner = &self.inner;
        let deadline = inner.clock.mono() + inner.shared.timeouts.connect;
        let refusal = inner.site_addresses(url, deadline).await.err()?;
        refusal.is_refusal().then(|| {
            inner.count(|counts| counts.refused += 1);
            refusal
        })
    }

    async fn route(&self, approach: &Approach) -> Result<HttpRoute, Problem> {
        let inner = &self.inner;
        let place = inner.place().await;
        let route = inner.route(&approach.url, place).await;
        if route.as_ref().is_err_and(|problem| problem.is_refusal()) {
            inner.count(|counts| counts.refused += 1);
        }
        route
    }

    async fn connect(
        &self,
        approach: &Approach,
        route: HttpRoute,
    ) -> Result<Connected<HttpLine>, Problem> {
        let inner = &self.inner;
        let began = inner.clock.mono();
        // Boxed, because it is rare and large: a request on an open connection should not carry it.
        let opened = Box::pin(inner.open(&approach.url, route)).await;
        if opened.as_ref().is_err_and(|problem| problem.is_refusal()) {
            inner.count(|counts| counts.refused += 1);
        }
        let connection = Box::new(opened?);
        inner.count(|counts| counts.dialled += 1);
        let line = HttpLine::new(Rc::clone(inner), approach, connection);
        Ok(Connected { line, took: inner.clock.mono() - began })
    }
}

/// The addresses of a new connection, and its place among the connections of the process.
pub struct HttpRoute {
    /// The addresses to dial, of the site or of the proxy, in order.
    addresses: Vec<SocketAddr>,
    /// Behind a proxy: the site's own address, if it is known.
    site: Option<IpAddr>,
    /// The rest of the time to connect.
    time: Duration,
    place: OwnedSemaphorePermit,
}

impl FetchInner {
    pub(crate) fn new(outlet: &Outlet, clock: TokioClock) -> FetchInner {
        let shared = Arc::clone(&outlet.0);
        FetchInner { shared, clock, pool: Pool::default(), counts: Cell::default() }
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// Returns a place for a connection: a free one, that of our oldest idle connection, or the
    /// next one that becomes free.
    async fn place(&self) -> OwnedSemaphorePermit {
        let places = &self.shared.places;
        loop {
            if let Ok(place) = Arc::clone(places).try_acquire_owned() {
                return place;
            }
            if !self.pool.give_up_oldest() {
                break;
            }
        }
        let _waiting = PlaceWait::begin(&self.shared);
        Arc::clone(places).acquire_owned().await.expect("never closed")
    }

    /// Finds the addresses to dial for a URL.
    async fn route(
        &self,
        url: &CrawlUrl,
        place: OwnedSemaphorePermit,
    ) -> Result<HttpRoute, Problem> {
        let shared = &self.shared;
        let began = self.clock.mono();
        let deadline = began + shared.timeouts.connect;
        // Behind a proxy only the guard needs the lookup. It may fail, and must not use up the
        // proxy's time.
        let proxy = shared.proxies.of(url);
        let lookup_by = match proxy {
            Some(_) => began + shared.timeouts.connect / 2,
            None => deadline,
        };
        let site = self.site_addresses(url, lookup_by).await?;
        let (found, port) = match proxy {
            None => (Arc::clone(&site), url.port()),
            Some(proxy) => {
                let found = self.look_up(&proxy.host, deadline).await;
                (found.map_err(|_| Problem::Proxy)?, proxy.port)
            }
        };
        let addresses = found.iter().map(|ip| SocketAddr::new(*ip, port)).collect();
        let site = site.first().copied().filter(|_| proxy.is_some());
        Ok(HttpRoute { addresses, site, time: deadline - self.clock.mono(), place })
    }

    /// Opens a connection, phase by phase.
    async fn open(&self, url: &CrawlUrl, route: HttpRoute) -> Result<HttpConnection, Problem> {
        let shared = &self.shared;
        let HttpRoute { addresses, site, time, place } = route;
        let deadline = self.clock.mono() + time;
        let proxy = shared.proxies.of(url);
        let (mut tcp, peer) = match proxy {
            None => self.dial_first(addresses, To::Site(url.host()), deadline).await?,
            Some(_) => {
                let dialled = self.dial_first(addresses, To::Proxy, deadline).await;
                let (tcp, peer) = dialled.map_err(|_| Problem::Proxy)?;
                // Requests in flight are counted for the site's own address, if it is known.
                (tcp, site.unwrap_or(peer))
            }
        };
        if url.scheme() == Scheme::Http {
            let proxied = if proxy.is_some() { Proxied::Plainly } else { Proxied::No };
            let stream = Stream::Plain(GatedSocket::new(tcp));
            return HttpConnection::http1(stream, self.clock, peer, proxied, place).await;
        }
        if let Some(proxy) = proxy {
            self.by(deadline, proxy::tunnel(&mut tcp, proxy, url))
                .await
                .unwrap_or(Err(Problem::Proxy))?;
        }
        let deadline = self.clock.mono() + shared.timeouts.tls;
        let secured = self.by(deadline, self.secure(url, tcp, peer, place)).await;
        secured.unwrap_or(Err(Problem::ConnectTimeout))
    }

    /// Returns the addresses of a URL's host. All of them may be dialled. Behind a proxy there may
    /// be none, because the proxy looks names up itself.
    pub(crate) async fn site_addresses(
        &self,
        url: &CrawlUrl,
        deadline: Mono,
    ) -> Result<Arc<[IpAddr]>, Problem> {
        if port::is_spoken_for(url.port()) {
            return Err(Problem::Port);
        }
        let proxied = self.shared.proxies.of(url).is_some();
        let found = match self.look_up(url.host(), deadline).await {
            Ok(found) => found,
            Err(_) if proxied && guard::is_never_public(url.host().as_str()) => {
                return Err(Problem::Guard);
            }
            Err(_) if proxied => Arc::new([]),
            Err(problem) => return Err(problem),
        };
        // All addresses are judged before the first is dialled. Behind a proxy none is dialled
        // here.
        for ip in found.iter() {
            let address = SocketAddr::new(*ip, url.port());
            egress::judge(url.host(), address, &self.shared.guard).map_err(|undialled| {
                if let Undialled::Guard(forbidden) = undialled {
                    self.shared.note_refusal(GuardRefusal::new(url, *ip, forbidden));
                }
                undialled.problem()
            })?;
        }
        Ok(found)
    }

    pub(crate) async fn look_up(
        &self,
        host: &HostKey,
        deadline: Mono,
    ) -> Result<Arc<[IpAddr]>, Problem> {
        if let Some(literal) = host.ip() {
            return Ok(Arc::new([literal]));
        }
        let names = &self.shared.names;
        let found = self
            .by(deadline, names.addresses(host.as_str(), &self.shared.guard))
            .await
            .unwrap_or_else(|| {
                names.gave_up(host.as_str());
                Arc::new([])
            });
        if found.is_empty() { Err(Problem::Dns) } else { Ok(found) }
    }

    /// Dials addresses in order. Each has its share of the remaining time.
    pub(crate) async fn dial_first(
        &self,
        addresses: Vec<SocketAddr>,
        to: To<'_>,
        deadline: Mono,
    ) -> Result<(TcpStream, IpAddr), Problem> {
        let mut problem = Problem::Connect;
        let mut left = addresses.len() as u32;
        for address in addresses {
            let now = self.clock.mono();
            let share = now + (deadline - now) / left;
            left -= 1;
            match self.by(share, dial(address, to, &self.shared.guard)).await {
                Some(Ok(tcp)) => return Ok((tcp, address.ip().to_canonical())),
                Some(Err(undialled)) => match undialled.problem() {
                    refused if refused.is_refusal() => return Err(refused),
                    failed => problem = failed,
                },
                None => problem = Problem::ConnectTimeout,
            }
        }
        Err(problem)
    }

    /// Does the TLS handshake, which also chooses the protocol.
    async fn secure(
        &self,
        url: &CrawlUrl,
        tcp: TcpStream,
        peer: IpAddr,
        place: OwnedSemaphorePermit,
    ) -> Result<HttpConnection, Problem> {
        let connector = TlsConnector::from(Arc::clone(&self.shared.tls));
        let shaken = connector.connect(tls::server_name(url)?, GatedSocket::new(tcp)).await;
        let stream = shaken.map_err(|error| tls::problem(&error))?;
        let http2 = stream.get_ref().1.alpn_protocol() == Some(tls::H2);
        let stream = Stream::Tls(Box::new(stream));
        match http2 {
            true => HttpConnection::http2(stream, self.clock, peer, place).await,
            false => HttpConnection::http1(stream, self.clock, peer, Proxied::No, place).await,
        }
    }

    /// Awaits a future until a deadline.
    async fn by<T>(&self, deadline: Mono, something: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout_at(self.clock.instant(deadline), something).await.ok()
    }
}

/// Counts a worker that waits for a place, until it is dropped.
struct PlaceWait<'a>(&'a OutletShared);

impl PlaceWait<'_> {
    fn begin(shared: &OutletShared) -> PlaceWait<'_> {
        shared.waiting.fetch_add(1, Ordering::Relaxed);
        PlaceWait(shared)
    }
}

impl Drop for PlaceWait<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
