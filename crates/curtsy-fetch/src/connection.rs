//! An open connection: HTTP/1.1 (hyper) or HTTP/2 (h2), polled by its line.
//!
//! The connection future of the library is not spawned. The line polls it in the call that sends or
//! reads, so a request is encoded, checked and written in one step, and an idle connection costs
//! nothing. A connection carries one request at a time, also with HTTP/2: a host has few slots, and
//! the start of a stream that waits behind another could not be timed.

use std::future::Future;
use std::io::ErrorKind;
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
use crate::wire::{Hears, HttpVersion, Stream, WriteGate};

/// How long a check of a connection is valid: a turn that comes at once needs no second check. News
/// of the other side in that time may be in transit anyway.
const READY_FOR: Duration = Duration::from_millis(10);

/// A connection, in use or idle.
pub(crate) struct HttpConnection {
    talk: Talk,
    pub(crate) gate: Rc<WriteGate>,
    pub(crate) peer: IpAddr,
    pub(crate) proxied: Proxied,
    /// Since when it is idle.
    pub(crate) idle_since: Mono,
    /// When it was last found ready, since the last request.
    ready_at: Option<Mono>,
    /// Whether the library has ended it.
    over: bool,
    quiet: Quiet,
    interim: Arc<AtomicU32>,
    _place: OwnedSemaphorePermit,
}

/// What the server may still send on an idle connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quiet {
    /// Nothing.
    Wire,
    /// TLS tickets, HTTP/2 pings and the like.
    Inside,
}

enum Talk {
    Http1(http1::SendRequest<NoBody>, http1::Connection<TokioIo<Stream>, NoBody>),
    Http2(h2::client::SendRequest<Bytes>, Box<h2::client::Connection<Stream, Bytes>>),
}

/// A request in flight.
pub(crate) enum PendingAnswer {
    Http1(Pin<Box<dyn Future<Output = hyper::Result<http::Response<Incoming>>>>>),
    Http2(h2::client::ResponseFuture),
}

/// The head of a response.
pub(crate) struct AnswerHead {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) rest: BodyStream,
    /// Whether only the complete head shows the first byte: HTTP/2 has frames that are no response.
    pub(crate) framed: bool,
}

impl AnswerHead {
    fn of<B>(response: http::Response<B>, rest: fn(B) -> BodyStream, framed: bool) -> AnswerHead {
        let (parts, body) = response.into_parts();
        let (status, headers) = (parts.status.as_u16(), parts.headers);
        AnswerHead { status, headers, rest: rest(body), framed }
    }
}

/// The body of an answer.
pub(crate) enum BodyStream {
    Http1(Incoming),
    Http2(h2::RecvStream),
}

/// A piece of a body.
pub(crate) enum Piece {
    Data(Bytes),
    /// Trailers, or a frame without data.
    Nothing,
    End,
}

impl HttpConnection {
    pub(crate) async fn http1(
        mut stream: Stream,
        clock: TokioClock,
        peer: IpAddr,
        proxied: Proxied,
        place: OwnedSemaphorePermit,
    ) -> Result<HttpConnection, Problem> {
        let quiet = match &stream {
            Stream::Plain(_) => Quiet::Wire,
            Stream::Tls(_) => Quiet::Inside,
        };
        let gate = stream.gated(clock, HttpVersion::Http1);
        let made = http1::Builder::new()
            .max_headers(HEADERS_MAX)
            .max_header_size(HEAD_BYTES_MAX)
            .max_buf_size(READ_BUFFER)
            .handshake(TokioIo::new(stream))
            .await;
        let (send, connection) = made.map_err(|_| Problem::Connect)?;
        let talk = Talk::Http1(send, connection);
        Ok(HttpConnection { quiet, ..HttpConnection::of(talk, gate, peer, proxied, place) })
    }

    pub(crate) async fn http2(
        mut stream: Stream,
        clock: TokioClock,
        peer: IpAddr,
        place: OwnedSemaphorePermit,
    ) -> Result<HttpConnection, Problem> {
        let gate = stream.gated(clock, HttpVersion::Http2);
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
        let mut made = HttpConnection::of(talk, gate, peer, Proxied::No, place);
        // The preface and our settings are written here, long before a request is armed.
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
        gate: Rc<WriteGate>,
        peer: IpAddr,
        proxied: Proxied,
        place: OwnedSemaphorePermit,
    ) -> HttpConnection {
        HttpConnection {
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

    /// Whether the connection has frames, of which only some are a response.
    pub(crate) fn is_framed(&self) -> bool {
        matches!(self.talk, Talk::Http2(..))
    }

    /// Whether the connection is open, as far as is known.
    pub(crate) fn stands(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        !self.over && !self.gate.is_blocked()
    }

    /// Whether the connection can take a request now: the server has neither closed it nor sent
    /// unsolicited bytes.
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
            // A server that permits no stream would delay the request past its turn.
            Talk::Http2(send, _) => {
                send.current_max_send_streams() > 0
                    && matches!(send.poll_ready(&mut cx), Poll::Ready(Ok(())))
            }
        }
    }

    /// Queues a request. Nothing is written before [`HttpConnection::drive`].
    pub(crate) fn ask(
        &mut self,
        manner: &Manner,
        url: &CrawlUrl,
        request: &Request,
    ) -> Option<PendingAnswer> {
        self.ready_at = None;
        match &mut self.talk {
            Talk::Http1(send, _) => {
                let mut request = manner.http1(url, request, self.proxied)?;
                self.interim.store(0, Ordering::Relaxed);
                let interim = Arc::clone(&self.interim);
                hyper::ext::on_informational(&mut request, move |_| {
                    interim.fetch_add(1, Ordering::Relaxed);
                });
                Some(PendingAnswer::Http1(Box::pin(send.send_request(request))))
            }
            Talk::Http2(send, _) => {
                let request = manner.http2(url, request)?;
                send.send_request(request, true)
                    .ok()
                    .map(|(answer, _)| PendingAnswer::Http2(answer))
            }
        }
    }

    /// Writes queued bytes and reads available ones.
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

    /// Returns the head, if it has arrived.
    pub(crate) fn poll_head(
        &mut self,
        answer: &mut PendingAnswer,
        cx: &mut Context<'_>,
    ) -> Poll<Result<AnswerHead, Problem>> {
        self.drive(cx);
        let polled = match answer {
            PendingAnswer::Http1(future) => future.as_mut().poll(cx).map(|made| {
                let response = made.map_err(|error| http1_failure(&error, AnswerPart::Head))?;
                Ok(AnswerHead::of(response, BodyStream::Http1, false))
            }),
            PendingAnswer::Http2(future) => Pin::new(future).poll(cx).map(|made| {
                let response = made.map_err(|error| http2_failure(&error, AnswerPart::Head))?;
                Ok(AnswerHead::of(response, BodyStream::Http2, true))
            }),
        };
        let too_many = self.interim.load(Ordering::Relaxed) > INTERIM_MAX;
        let too_long = self.gate.read() > INTERIM_BYTES_MAX;
        match polled {
            Poll::Pending if too_many || too_long => {
                Poll::Ready(Err(Problem::OverLimit(Hit::Interim)))
            }
            // The library ended without a result for the request.
            Poll::Pending if self.over => Poll::Ready(Err(Problem::Reset)),
            Poll::Ready(Ok(_)) if too_many => Poll::Ready(Err(Problem::OverLimit(Hit::Interim))),
            polled => polled,
        }
    }

    /// Returns the next piece of a body.
    pub(crate) fn poll_piece(
        &mut self,
        rest: &mut BodyStream,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Piece, Problem>> {
        // Buffered bytes come first.
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

impl BodyStream {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Piece, Problem>> {
        match self {
            BodyStream::Http1(body) => Pin::new(body).poll_frame(cx).map(|frame| match frame {
                None => Ok(Piece::End),
                Some(Ok(frame)) => Ok(frame.into_data().map_or(Piece::Nothing, Piece::Data)),
                Some(Err(error)) => Err(http1_failure(&error, AnswerPart::Body)),
            }),
            BodyStream::Http2(body) => match body.poll_data(cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(None) => Poll::Ready(Ok(Piece::End)),
                Poll::Ready(Some(Ok(data))) => {
                    // The limit on the body bounds the memory, not the window.
                    let _ = body.flow_control().release_capacity(data.len());
                    Poll::Ready(Ok(Piece::Data(data)))
                }
                Poll::Ready(Some(Err(error))) => {
                    Poll::Ready(Err(http2_failure(&error, AnswerPart::Body)))
                }
            },
        }
    }

    /// Whether the head says that there is no body.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            BodyStream::Http1(body) => body.is_end_stream(),
            BodyStream::Http2(body) => body.is_end_stream(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AnswerPart {
    Head,
    Body,
}

impl AnswerPart {
    /// Returns the limit that was exceeded, where the library says no more.
    const fn over(self) -> Problem {
        match self {
            AnswerPart::Head => Problem::OverLimit(Hit::Head),
            AnswerPart::Body => Problem::OverLimit(Hit::Around),
        }
    }
}

fn http1_failure(error: &hyper::Error, phase: AnswerPart) -> Problem {
    let io = source::<std::io::Error>(error).map(std::io::Error::kind);
    match io {
        // hyper tells the kind of a parse error to servers only; a test checks this text.
        _ if error.is_parse() && error.to_string().contains("too large") => phase.over(),
        _ if error.is_parse() => Problem::Malformed,
        // A chunk that cannot be read.
        Some(ErrorKind::InvalidInput | ErrorKind::InvalidData) => Problem::Malformed,
        Some(ErrorKind::ConnectionReset) => Problem::Reset,
        _ if phase == AnswerPart::Body => Problem::Truncated,
        _ => Problem::Reset,
    }
}

fn http2_failure(error: &h2::Error, phase: AnswerPart) -> Problem {
    let reset = error.get_io().map(std::io::Error::kind) == Some(ErrorKind::ConnectionReset);
    match error.reason() {
        Some(
            h2::Reason::PROTOCOL_ERROR
            | h2::Reason::FRAME_SIZE_ERROR
            | h2::Reason::COMPRESSION_ERROR,
        ) => Problem::Malformed,
        // Our own reset answers a flood. The server's reset says that the host has enough requests,
        // and is no fault of this URL.
        Some(h2::Reason::ENHANCE_YOUR_CALM) if !error.is_remote() => phase.over(),
        // Our own complaint: this is not HTTP.
        Some(h2::Reason::FLOW_CONTROL_ERROR | h2::Reason::STREAM_CLOSED) if !error.is_remote() => {
            Problem::Malformed
        }
        // The connection ended within a body, as in HTTP/1.1.
        None if phase == AnswerPart::Body && !reset => Problem::Truncated,
        Some(_) | None => Problem::Reset,
    }
}

/// Returns the first source of an error that is a `T`.
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

/// The empty body of a GET.
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

/// The largest number of headers in a response.
pub(crate) const HEADERS_MAX: usize = 128;
/// The largest head, and the largest trailers.
pub(crate) const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Bytes that are read ahead of a body.
const READ_BUFFER: usize = 128 * 1024;
/// The largest number of interim (1xx) responses, and of their bytes with the final head.
pub(crate) const INTERIM_MAX: u32 = 8;
pub(crate) const INTERIM_BYTES_MAX: u64 = 256 * 1024;
/// Bytes that an HTTP/2 server may send ahead.
const WINDOW: u32 = 256 * 1024;
