//! Takes connections: so many at once, and each has only so much time to say what it wants.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use futures_util::StreamExt;
use futures_util::stream::unfold;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

/// What one client may take up of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Connections at once; who comes then waits until one has ended.
    pub connections: usize,
    /// The time for the head of a request, from the moment it can come: also the limit for idle
    /// connections.
    pub head: Duration,
    /// How long its body may take.
    pub body: Duration,
}

impl Default for Bounds {
    fn default() -> Bounds {
        let (head, body) = (Duration::from_secs(15), Duration::from_secs(30));
        Bounds { connections: 1_024, head, body }
    }
}

/// Answers that are under way when the service ends have so long.
pub(crate) const LAST: Duration = Duration::from_secs(10);
/// When the system has no descriptor for a connection, it is asked again so soon.
const AGAIN: Duration = Duration::from_millis(100);

/// Serves until the end is told, and lets what is under way end.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    bounds: Bounds,
    mut ending: watch::Receiver<bool>,
) {
    let room = Arc::new(Semaphore::new(bounds.connections));
    let under_way = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(bounds.head);
    let taken = async {
        loop {
            // It is never closed.
            let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
            let Ok((stream, peer)) = listener.accept().await else {
                tokio::time::sleep(AGAIN).await;
                continue;
            };
            // What is small is not held back; where that can't be said, it is.
            let _ = stream.set_nodelay(true);
            let router = TowerToHyperService::new(router.clone());
            let service = service_fn(move |request| router.call(met(request, peer, bounds.body)));
            let line = under_way.watch(http.serve_connection(TokioIo::new(stream), service));
            tokio::spawn(async move {
                // A client that goes away, or takes too long, is no fault of ours.
                let _ = line.await;
                drop(place);
            });
        }
    };
    tokio::select! {
        () = taken => {}
        _ = ending.wait_for(|end| *end) => {}
    }
    // Whoever has not heard the end by then does not listen.
    let _ = tokio::time::timeout(LAST, under_way.shutdown()).await;
}

/// A request with whom it comes from, and a body that comes in time or not at all.
fn met(request: Request<Incoming>, peer: SocketAddr, within: Duration) -> Request<Body> {
    let until = Instant::now() + within;
    let mut request = request.map(|body| {
        if hyper::body::Body::is_end_stream(&body) {
            return Body::empty();
        }
        let parts = Body::new(body).into_data_stream();
        Body::from_stream(unfold(Some(parts), move |parts| async move {
            let mut parts = parts?;
            match tokio::time::timeout_at(until, parts.next()).await {
                Ok(part) => Some((part?.map_err(std::io::Error::other), Some(parts))),
                Err(_) => Some((Err(std::io::ErrorKind::TimedOut.into()), None)),
            }
        }))
    });
    request.extensions_mut().insert(ConnectInfo(peer));
    request
}
