//! A connection that stands: HTTP/1.1 (hyper) or HTTP/2 (h2), driven by whoever holds it.
//!
//! Neither library's connection future is spawned. It lives beside its request half and is polled in the same call that asks or reads, so a
//! request is encoded, checked and written in one go, and an idle connection costs nothing. One request at a time, HTTP/2 too: slots of a
//! host are few, and a stream that waits behind another is not a start that anybody could time.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use curtsy_core::host::Problem;
use curtsy_core::limits::Hit;
use curtsy_core::url::CrawlUrl;
use curtsy_engine::{Mono, Request};
use http::HeaderMap;
use hyper::body::{Body, Frame, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::sync::OwnedSemaphorePermit;

use crate::TokioClock;
use crate::ask::{Manner, Proxied};
use crate::wire::{Gate, Hears, Speaks, Stream};

/// A look at a connection counts for so long: a turn that comes at once needs no second one. What the other side did in that time may
/// still be on its way anyhow.
const READY_FOR: Duration = Duration::from_millis(10);

/// A connection, in use or idle.
pub(crate) struct Connection {
    talk: Talk,
    pub(crate) gate: Rc<Gate>,
    pub(crate) peer: IpAddr,
    pub(crate) proxied: Proxied,
    /// Since when nobody uses it.
    pub(crate) idle_since: Mono,
    /// When it was last found ready, since it was asked last.
    ready_at: Option<Mono>,
    /// Its library is done with it.
    over: bool,
    quiet: Quiet,
    interim: Arc<AtomicU32>,
    _place: OwnedSemaphorePermit,
}

/// What an idle connection may still be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quiet {
    /// Not a byte.
    Wire,
    /// Tickets, pings and the like, below what is an answer.
    Inside,
}

enum Talk {
    Http1(http1::SendRequest<NoBody>, http1::Connection<TokioIo<Stream>, NoBody>),
    Http2(h2::client::SendRequest<Bytes>, Box<h2::client::Connection<Stream, Bytes>>),
}

/// A request on its way.
pub(crate) enum Answer {
    Http1(Pin<Box<dyn Future<Output = hyper::Result<http::Response<Incoming>>>>>),
    Http2(h2::client::ResponseFuture),
}

/// The head of an answer, as the wire has it.
pub(crate) struct Heading {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) rest: Rest,
    /// Whether its first byte is known only by its head: HTTP/2 has frames that are no answer.
    pub(crate) framed: bool,
}

/// The body of an answer.
pub(crate) enum Rest {
    Http1(Incoming),
    Http2(h2::RecvStream),
}

/// A piece of a body.
pub(crate) enum Piece {
    Data(Bytes),
    /// Trailers, or frames without data.
    Nothing,
    End,
}

impl Connection {
    pub(crate) async fn http1(
        mut stream: Stream,
        clock: TokioClock,
        peer: IpAddr,
        proxied: Proxied,
        place: OwnedSemaphorePermit,
    ) -> Result<Connection, Problem> {
        let quiet = match &stream {
            Stream::Plain(_) => Quiet::Wire,
            Stream::Tls(_) => Quiet::Inside,
        };
        let gate = stream.gated(clock, Speaks::Http1);
        let made = http1::Builder::new()
            .max_headers(HEADERS_MAX)
            .max_header_size(HEAD_BYTES_MAX)
            .max_buf_size(READ_BUFFER)
            .handshake(TokioIo::new(stream))
            .await;
        let (send, connection) = made.map_err(|_| Problem::Connect)?;
        let talk = Talk::Http1(send, connection);
        Ok(Connection { quiet, ..Connection::of(talk, gate, peer, proxied, place) })
    }

    pub(crate) async fn http2(
        mut stream: Stream,
        clock: TokioClock,
        peer: IpAddr,
        place: OwnedSemaphorePermit,
    ) -> Result<Connection, Problem> {
        let gate = stream.gated(clock, Speaks::Http2);
        let made = h2::client::Builder::new()
            .enable_push(false)
            .max_header_list_size(HEAD_BYTES_MAX as u32)
            .initial_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_concurrent_reset_streams(8)
            .handshake(stream)
            .await;
        let (send, connection) = made.map_err(|_| Problem::Connect)?;
        let talk = Talk::Http2(send, Box::new(connection));
        let mut made = Connection::of(talk, gate, peer, Proxied::No, place);
        // The preface and our settings leave here, long before a request is armed.
        std::future::poll_fn(|cx| {
            made.drive(cx);
            let waiting = made.gate.is_blocked() && !made.over;
            if waiting { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        if made.over { Err(Problem::Connect) } else { Ok(made) }
    }

    fn of(
        talk: Talk,
        gate: Rc<Gate>,
        peer: IpAddr,
        proxied: Proxied,
        place: OwnedSemaphorePermit,
    ) -> Connection {
        Connection {
            talk,
            gate,
            peer,
            proxied,
            idle_since: Mono(0),
            ready_at: None,
            over: false,
            quiet: Quiet::Inside,
            interim: Arc::default(),
            _place: place,
        }
    }

    /// Whether bytes that come are frames, of which only some are an answer.
    pub(crate) fn is_framed(&self) -> bool {
        matches!(self.talk, Talk::Http2(..))
    }

    /// Whether it stands, as far as has been heard.
    pub(crate) fn stands(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        !self.over && !self.gate.is_blocked()
    }

    /// Whether it can take a request now. What the other side said meanwhile is read: the end of the connection, or bytes that nobody asked for.
    pub(crate) fn is_ready(&mut self, now: Mono) -> bool {
        if self.ready_at.is_some_and(|at| now - at < READY_FOR) {
            return true;
        }
        let ready = self.look();
        self.ready_at = ready.then_some(now);
        ready
    }

    fn look(&mut self) -> bool {
        if !self.stands() {
            return false;
        }
        let mut cx = Context::from_waker(Waker::noop());
        match self.gate.hears() {
            Hears::Nothing => {}
            Hears::Something if self.quiet == Quiet::Inside => {}
            Hears::Something | Hears::End => return false,
        }
        match &mut self.talk {
            Talk::Http1(send, _) => send.is_ready(),
            // A server that lets no stream begin would hold the request back past its turn.
            Talk::Http2(send, _) => {
                send.current_max_send_streams() > 0
                    && matches!(send.poll_ready(&mut cx), Poll::Ready(Ok(())))
            }
        }
    }

    /// Queues a request. Nothing is written before [`Connection::drive`].
    pub(crate) fn ask(
        &mut self,
        manner: &Manner,
        url: &CrawlUrl,
        request: &Request,
    ) -> Option<Answer> {
        self.ready_at = None;
        match &mut self.talk {
            Talk::Http1(send, _) => {
                let mut request = manner.http1(url, request, self.proxied)?;
                self.interim.store(0, Ordering::Relaxed);
                let interim = Arc::clone(&self.interim);
                hyper::ext::on_informational(&mut request, move |_| {
                    interim.fetch_add(1, Ordering::Relaxed);
                });
                Some(Answer::Http1(Box::pin(send.send_request(request))))
            }
            Talk::Http2(send, _) => {
                let request = manner.http2(url, request)?;
                send.send_request(request, true).ok().map(|(answer, _)| Answer::Http2(answer))
            }
        }
    }

    /// Writes what is queued and reads what is there.
    pub(crate) fn drive(&mut self, cx: &mut Context<'_>) {
        if self.over {
            return;
        }
        self.over = match &mut self.talk {
            Talk::Http1(_, connection) => Pin::new(connection).poll(cx).is_ready(),
            Talk::Http2(_, connection) => Pin::new(connection).poll(cx).is_ready(),
        };
        self.gate.settle();
    }

    /// The head, if it is here; or what is wrong.
    pub(crate) fn poll_head(
        &mut self,
        answer: &mut Answer,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Heading, Problem>> {
        self.drive(cx);
        let polled = match answer {
            Answer::Http1(future) => future.as_mut().poll(cx).map(|made| match made {
                Ok(response) => {
                    let (parts, body) = response.into_parts();
                    Ok((parts, Rest::Http1(body), false))
                }
                Err(error) => Err(http1_failure(&error, Phase::Head)),
            }),
            Answer::Http2(future) => Pin::new(future).poll(cx).map(|made| match made {
                Ok(response) => {
                    let (parts, body) = response.into_parts();
                    Ok((parts, Rest::Http2(body), true))
                }
                Err(error) => Err(http2_failure(&error, Phase::Head)),
            }),
        };
        let flooded = self.interim.load(Ordering::Relaxed) > INTERIM_MAX
            || self.gate.read() > INTERIM_BYTES_MAX;
        match polled {
            Poll::Pending if flooded => Poll::Ready(Err(Problem::OverLimit(Hit::Interim))),
            Poll::Pending if self.over => {
                // The library ended without a word about the request.
                Poll::Ready(Err(Problem::Reset))
            }
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(_)) if flooded && self.interim.load(Ordering::Relaxed) > INTERIM_MAX => {
                Poll::Ready(Err(Problem::OverLimit(Hit::Interim)))
            }
            Poll::Ready(Ok((parts, rest, framed))) => Poll::Ready(Ok(Heading {
                status: parts.status.as_u16(),
                headers: parts.headers,
                rest,
                framed,
            })),
            Poll::Ready(Err(failure)) => Poll::Ready(Err(failure)),
        }
    }

    /// The next piece of a body.
    pub(crate) fn poll_piece(
        &mut self,
        rest: &mut Rest,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Piece, Problem>> {
        // What is read already comes first; then the connection is asked for more.
        if let Poll::Ready(piece) = rest.poll(cx) {
            return Poll::Ready(piece);
        }
        self.drive(cx);
        match rest.poll(cx) {
            Poll::Pending if self.over => Poll::Ready(Err(Problem::Truncated)),
            polled => polled,
        }
    }
}

impl Rest {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Piece, Problem>> {
        match self {
            Rest::Http1(body) => Pin::new(body).poll_frame(cx).map(|frame| match frame {
                None => Ok(Piece::End),
                Some(Ok(frame)) => Ok(frame.into_data().map_or(Piece::Nothing, Piece::Data)),
                Some(Err(error)) => Err(http1_failure(&error, Phase::Body)),
            }),
            Rest::Http2(body) => match body.poll_data(cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(None) => Poll::Ready(Ok(Piece::End)),
                Poll::Ready(Some(Ok(data))) => {
                    // Told at once: the body is bounded by what we read, not by the window.
                    let _ = body.flow_control().release_capacity(data.len());
                    Poll::Ready(Ok(Piece::Data(data)))
                }
                Poll::Ready(Some(Err(error))) => {
                    Poll::Ready(Err(http2_failure(&error, Phase::Body)))
                }
            },
        }
    }

    /// Whether nothing follows, as the head tells.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Rest::Http1(body) => body.is_end_stream(),
            Rest::Http2(body) => body.is_end_stream(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Head,
    Body,
}

impl Phase {
    /// What is too large here, where the library says no more than that.
    const fn over(self) -> Problem {
        match self {
            Phase::Head => Problem::OverLimit(Hit::Head),
            Phase::Body => Problem::OverLimit(Hit::Around),
        }
    }
}

fn http1_failure(error: &hyper::Error, phase: Phase) -> Problem {
    let io = source::<std::io::Error>(error).map(std::io::Error::kind);
    if error.is_parse() {
        // Only servers may ask hyper for the kind; a test holds this text.
        if error.to_string().contains("too large") {
            return phase.over();
        }
        Problem::Malformed
    } else if io == Some(std::io::ErrorKind::InvalidInput)
        || io == Some(std::io::ErrorKind::InvalidData)
    {
        // A chunk that can't be read.
        Problem::Malformed
    } else if phase == Phase::Body && io != Some(std::io::ErrorKind::ConnectionReset) {
        Problem::Truncated
    } else {
        Problem::Reset
    }
}

fn http2_failure(error: &h2::Error, phase: Phase) -> Problem {
    let reset =
        error.get_io().map(std::io::Error::kind) == Some(std::io::ErrorKind::ConnectionReset);
    match error.reason() {
        Some(
            h2::Reason::PROTOCOL_ERROR
            | h2::Reason::FRAME_SIZE_ERROR
            | h2::Reason::COMPRESSION_ERROR,
        ) => Problem::Malformed,
        // Ours for a flood of theirs. Theirs is the host's word that it has enough of us, and no fault of this URL.
        Some(h2::Reason::ENHANCE_YOUR_CALM) if !error.is_remote() => phase.over(),
        // What we complain of is not HTTP.
        Some(h2::Reason::FLOW_CONTROL_ERROR | h2::Reason::STREAM_CLOSED) if !error.is_remote() => {
            Problem::Malformed
        }
        // The connection ended in the middle of a body, as it may in HTTP/1.
        None if phase == Phase::Body && !reset => Problem::Truncated,
        Some(_) | None => Problem::Reset,
    }
}

/// The first of an error's sources that is a `T`.
fn source<'a, T: std::error::Error + 'static>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a T> {
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// The body of a GET: none.
#[derive(Debug, Default)]
pub(crate) struct NoBody;

impl Body for NoBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        hyper::body::SizeHint::with_exact(0)
    }
}

/// Headers of an answer.
pub(crate) const HEADERS_MAX: usize = 128;
/// Bytes of a head, and of trailers.
pub(crate) const HEAD_BYTES_MAX: usize = 64 * 1024;
/// What is read ahead of a body.
const READ_BUFFER: usize = 128 * 1024;
/// Interim (1xx) answers before the one that counts, and their bytes together with its head.
pub(crate) const INTERIM_MAX: u32 = 8;
pub(crate) const INTERIM_BYTES_MAX: u64 = 256 * 1024;
/// What an HTTP/2 server may send ahead.
const WINDOW: u32 = 256 * 1024;
